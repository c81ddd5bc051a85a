"""Results of NDT7, M-Lab's speed test (docs/formats/ndt7.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model import fileoptions, schema
from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Array, Table
from multitracer.model.trace import Flow, Source, Trace
from multitracer.parsers._helpers import jsonlog

_HEAD = re.compile(rb'\s*\{\s*"GitShortCommit"\s*:')
_KEYS = re.compile(rb'"(Download|Upload|ServerMeasurements)"\s*:')
_US = 1000
_INFINITE = 0x7FFFFFFF
_LATEST_NS = (1 << 63) - 1
_UNKNOWN = -(1 << 63)
_TESTS = ("download", "upload")


def sniff(head: bytes) -> bool:
    """Whether it begins like a result of NDT7."""
    return bool(_HEAD.match(head) and _KEYS.search(head))


def parse(path: str) -> Trace:
    """Read the server's measurements: one row of `tcp_states` each, at `StartTime` plus `ElapsedTime`.

    `record` is the number of the measurement, from 1, download before upload.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no measurement with TCPInfo can be used.

    Notes
    -----
    The socket is the server's. Reference: M-Lab's NDT7 data format, ``spec/data-format.md`` of ndt-server.
    """
    scan = native.scan("ndt7", path, most_bytes=jsonlog.most_bytes())
    facts, rows = scan.facts, scan.tables["tcp_states"]
    if not facts["is_whole"]:
        raise CorruptTrace(f"{path}: the JSON ends early or is damaged; copy the file again")
    about = {key: jsonlog.parsed(text) for key, text in facts["about"].items()}
    details: dict[str, Any] = {"version": str(about.get("Version", ""))[:40], "tests": []}
    starts = [_UNKNOWN, _UNKNOWN]
    for place, test in enumerate(facts["tests"]):
        if test is not None:
            start_ns = jsonlog.time_ns(jsonlog.parsed(test[0]))
            starts[place] = _UNKNOWN if start_ns is None else start_ns
            details["tests"].append(_TESTS[place])
            details["uuid"] = str(jsonlog.parsed(test[1]))[:100]
    start = np.array(starts, np.int64)[rows["test"]]
    elapsed = rows["elapsed_ns"]
    timed = (start != _UNKNOWN) & (elapsed >= 0) & (start <= _LATEST_NS - np.maximum(elapsed, 0))
    flows, places = _flows(about, facts["sockets"], rows["socket"][timed])
    flow = np.where(timed, places[rows["socket"]], -1)
    good = np.flatnonzero(flow >= 0)
    if not len(good):
        raise CorruptTrace(f"{path}: no server measurement with TCPInfo can be read")
    t_ns = start[good] + elapsed[good]
    columns = {
        name: jsonlog.fitting(schema.TCP_STATES, name, column[good])
        for name, column in rows.items()
        if name in schema.TCP_STATES.by_name
    }
    columns |= {"t_ns": t_ns, "record": good + 1, "flow": flow[good]}
    columns["ssthresh"] = np.where(columns["ssthresh"] < _INFINITE, columns["ssthresh"], -1)
    columns["app_limited"] = np.where(columns["app_limited"] <= 1, columns["app_limited"], -1)
    states = Table.filled(schema.TCP_STATES, len(good), columns).sorted_by("t_ns")
    issues = [*_unusable(path, timed, flow), *_disorder(path, t_ns, good + 1)]
    source = Source(
        path=path,
        format="ndt7",
        layer="kernel",
        records=len(states),
        clock="realtime",
        first_ns=int(states["t_ns"][0]),
        last_ns=int(states["t_ns"][-1]),
        resolution_ns=_US,
        details=details,
    )
    return Trace(source, {"tcp_states": states}, issues, flows)


def _flows(
    about: Mapping[str, Any], sockets: list[tuple[bytes, bytes]], used: Array
) -> tuple[list[Flow], Array]:
    """Sockets in order of appearance, and the place of each pair of ends among them; -1 if there is none."""
    found: dict[Flow, int] = {}
    places = np.full(len(sockets), -1)
    seen, first = np.unique(used, return_index=True)
    for at in seen[np.argsort(first)].tolist():
        flow = _flow(about, *(jsonlog.parsed(end) for end in sockets[at]))
        if flow is not None:
            places[at] = found.setdefault(flow, len(found))
    return list(found), places


def _flow(about: Mapping[str, Any], server: Any, client: Any) -> Flow | None:
    """Server, then client: of this measurement, else of the result."""
    if not isinstance(server, str) or not isinstance(client, str):
        server, client = (
            f"[{about.get(f'{side}IP')}]:{about.get(f'{side}Port')}" for side in ("Server", "Client")
        )
    return fileoptions.flow(server, client)


def _unusable(path: str, timed: Array, flow: Array) -> list[Issue]:
    """An issue if there are measurements without a time or a socket."""
    bad = np.flatnonzero(flow < 0)
    if not len(bad):
        return []
    what = "addresses and ports" if timed[bad[0]] else "TCPInfo, or without a time"
    return [Issue("bad-number", len(bad), int(bad[0]) + 1, f"a measurement without {what}", path)]


def _disorder(path: str, t_ns: Array, record: Array) -> list[Issue]:
    """An issue if measurements are not in order of time."""
    back = np.flatnonzero(t_ns[1:] < t_ns[:-1])
    if not len(back):
        return []
    at = int(back[0])
    detail = f"{int(t_ns[at]) - int(t_ns[at + 1])} ns older than the row before"
    return [Issue("out-of-order-lines", len(back), int(record[at + 1]), detail, path)]


PARSER = Parser(
    name="ndt7",
    title="results of M-Lab's NDT7 speed test, with the server's TCPInfo",
    layer="kernel",
    sniff=sniff,
    parse=parse,
    whole_test=True,
)
