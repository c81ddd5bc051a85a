"""JSON of iperf3, either end, as one document or as a stream (docs/formats/iperf3.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import ClockKind, Flow, Source, Trace
from multitracer.parsers._helpers import iperf3udp, jsonlog

_DOCUMENT = re.compile(rb'\s*\{\s*"(title|extra_data|start)"\s*:')
_KEYS = re.compile(rb'"(connected|sock_bufsize|connecting_to|tcp_mss_default|accepted_connection)"\s*:')
_STREAM = re.compile(rb'\s*\{\s*"event"\s*:\s*"(start|interval|end|error)"')
_S = 10**9
_NEVER = (1 << 63) - 1
_COOKIE_BYTES = 37  # what the client writes into each stream before the test


def sniff(head: bytes) -> bool:
    """Whether it begins like a document or a stream of iperf3."""
    return bool(_STREAM.match(head) or (_DOCUMENT.match(head) and _KEYS.search(head)))


def parse(path: str) -> Trace:
    """Read the intervals of iperf3: a row of `tcp_states` per stream and interval, at its end; UDP: `series`.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If it holds no interval of a TCP or UDP stream, or is too large to be held in memory.

    Notes
    -----
    `record` is the number of the part (start, interval ...) or the line of a stream. The wall clock is known
    to whole seconds. `snd_cwnd` is bytes in the file; it is divided by the segment size.

    Reference: iperf3 ``src/iperf_api.c``.
    """
    streamed = _STREAM.match(native.head(path, 4096)) is not None
    scan = (
        native.scan("iperf3", path)
        if streamed
        else native.scan("iperf3_documents", path, most_bytes=jsonlog.most_bytes())
    )
    facts, rows = scan.facts, scan.tables["tcp_states"]
    error = str(jsonlog.parsed(facts["error"]))[:200] if facts["error"] else None
    count = len(rows["t_ns"])
    if not count:
        ended = jsonlog.mapping(jsonlog.parsed(facts["end"]))
        about = {**_started(jsonlog.mapping(jsonlog.parsed(facts["start"]))), **_ended(ended)}
        datagrams = iperf3udp.trace(path, about)
        if datagrams is not None:
            return datagrams
        why = f": iperf3 reports {error!r}" if error else ""
        raise CorruptTrace(f"{path}: no interval of a TCP or UDP stream can be read{why}")
    columns = {name: jsonlog.fitting(schema.TCP_STATES, name, column) for name, column in rows.items()}
    states = Table.filled(schema.TCP_STATES, count, columns).sorted_by("t_ns")
    clock: ClockKind = "realtime" if facts["has_base"] else "unknown"
    source = Source(
        path=path,
        format="iperf3",
        layer="kernel",
        records=count,
        clock=clock,
        first_ns=min(facts["start_ns"], int(states["t_ns"][0])),
        last_ns=int(states["t_ns"][-1]),
        resolution_ns=_S if clock == "realtime" else 1000,
        details={
            **_started(jsonlog.mapping(jsonlog.parsed(facts["start"]))),
            **_ended(jsonlog.mapping(jsonlog.parsed(facts["end"]))),
            "streamed": streamed,
            "intervals": facts["intervals"],
            "stream_starts_ns": [start if start < _NEVER else None for start in facts["starts"]],
            **({"sums_left_out": facts["whole_tests"]} if facts["whole_tests"] else {}),
            "error": error,
        },
    )
    return Trace(source, {"tcp_states": states}, scan.issues, [Flow(*ends) for ends in facts["flows"]])


def _started(start: Mapping[str, Any]) -> dict[str, Any]:
    """What the last test is."""
    asked = jsonlog.mapping(start.get("test_start"))
    client = "connecting_to" in start
    return {
        "version": str(start.get("version", ""))[:60],
        "system": str(start.get("system_info", ""))[:120],
        "side": "client" if client else "server",
        "protocol": asked.get("protocol") if isinstance(asked.get("protocol"), str) else None,
        "cookie": cookie[:60] if isinstance(cookie := start.get("cookie"), str) else None,
        "reverse": bool(asked.get("reverse")),
        "bidirectional": bool(asked.get("bidir")),
        "block_bytes": jsonlog.whole(asked, "blksize"),
        "duration_s": jsonlog.number(asked, "duration"),
        "bytes_before_writing": _COOKIE_BYTES if client else 0,
        "bytes_before_reading": 0 if client else _COOKIE_BYTES,
    }


def _ended(end: Mapping[str, Any]) -> dict[str, Any]:
    """What the last test came to."""
    sides = {side: jsonlog.mapping(end.get(side)) for side in ("sum_sent", "sum_received")}
    return {
        side: {key: jsonlog.number(total, key) for key in ("bytes", "bits_per_second")}
        for side, total in sides.items()
        if total
    }


PARSER = Parser(
    name="iperf3",
    title="iperf3 -J and --json-stream, of client or server",
    layer="kernel",
    sniff=sniff,
    parse=parse,
    whole_test=True,
)
