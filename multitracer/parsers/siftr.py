"""FreeBSD's siftr (docs/formats/siftr.md)."""

from __future__ import annotations

import re
from typing import Any

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Array, Table
from multitracer.model.trace import Flow, Source, Trace

_FIRST = re.compile(rb"enable_time_secs=\d+\tenable_time_usecs=\d+\tsiftrver=")
_HOST = rb"[0-9A-Fa-f.:]+,\d+,"
_LINE = re.compile(
    rb"^[io],(0x[0-9a-f]+,)?\d+\.\d{6}," + _HOST + _HOST + rb"(\d+,){16,}\d+\r?$", re.MULTILINE
)


def sniff(head: bytes) -> bool:
    """Whether it begins with siftr's first line, or there are its lines of values."""
    return bool(_FIRST.match(head) or _LINE.search(head))


def parse(path: str) -> Trace:
    """Read a siftr log: one row of `tcp_states` per packet, in order of time.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no line of values can be used.

    Notes
    -----
    Windows of bytes are divided by the segment size. Rows of received segments are from before TCP processed
    them, rows of sent ones from after (`trigger`).

    Reference: siftr(4), FreeBSD ``sys/netinet/siftr.c``.
    """
    scan = native.scan("siftr", path)
    columns = scan.tables["tcp_states"]
    if not len(columns["t_ns"]):
        raise CorruptTrace(f"{path}: no packet of a siftr log can be read; was the log cut, or never filled?")
    enabled = dict(scan.facts["enabled"])
    issues = list(scan.issues)
    srtt, rto = _units_s(enabled, scan.facts["hashed"])
    if srtt is None:
        detail = "srtt and rto: the first line with hz and tcp_rtt_scale is missing"
        issues.append(Issue("unknown-unit", detail=detail, path=path))
    columns["srtt_ns"] = _nanoseconds(columns.pop("srtt"), srtt)
    columns["rto_ns"] = _nanoseconds(columns.pop("rto"), rto)
    states = Table.in_time(schema.TCP_STATES, columns)
    disabled = dict(scan.facts["disabled"])
    details: dict[str, Any] = {
        "version": enabled.get("siftrver"),
        "system": " ".join(enabled[key] for key in ("sysname", "sysver") if key in enabled) or None,
        "complete": bool(enabled and disabled),
    }
    counts = {key: int(value) for key, value in disabled.items() if _is_count(key, value)}
    details["packets_by_kind"] = {
        "received": int(np.count_nonzero(states["trigger"] == 1)),
        "sent": int(np.count_nonzero(states["trigger"] == 2)),
    }
    if counts:
        details["counts"] = counts
    source = Source(
        path=path,
        format="siftr",
        layer="kernel",
        records=len(states),
        clock="realtime",
        first_ns=int(states["t_ns"][0]),
        last_ns=int(states["t_ns"][-1]),
        resolution_ns=scan.facts["resolution_ns"],
        details=details,
    )
    return Trace(source, {"tcp_states": states}, issues, [Flow(*flow) for flow in scan.facts["flows"]])


def _is_count(key: str, value: str) -> bool:
    return key.endswith("_pkts") and value.isascii() and value.isdigit() and len(value) < 19


def _units_s(enabled: dict[str, str], hashed: bool) -> tuple[float | None, float | None]:
    """Seconds per unit of srtt and rto: ticks, scaled, up to version 1.2; microseconds since."""
    if not hashed and "hz" not in enabled:
        return 1e-6, 1e-6
    numbers = [enabled.get(key, "") for key in ("hz", "tcp_rtt_scale")]
    if not all(text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) for text in numbers):
        return None, None
    hz, scale = map(int, numbers)
    return 1 / (hz * scale), 1 / hz


def _nanoseconds(values: Array, unit_s: float | None) -> Array:
    if unit_s is None:
        return np.full(len(values), -1, dtype=np.int64)
    scaled = values.astype(np.float64) * (unit_s * 1e9)
    return np.where((values >= 0) & (scaled < 9e18), np.rint(np.minimum(scaled, 9e18)), -1).astype(np.int64)


PARSER = Parser(
    name="siftr",
    title="FreeBSD's siftr, versions 1.2.2 to 1.3.0",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
