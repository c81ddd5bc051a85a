"""``/proc/net/tcpprobe`` of kernels before 4.16 (docs/formats/tcpprobe.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model import fileoptions, schema
from multitracer.model.errors import CorruptTrace, Issue, UsageError
from multitracer.model.fileoptions import HOST
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Array, Table
from multitracer.model.trace import Flow, Source, Trace

_LINE = re.compile(
    rb"^\d+\.\d+[ \t]+" + HOST + rb":\d+[ \t]+" + HOST + rb":\d+[ \t]+\d+[ \t]+(0x[0-9a-f]+|0)[ \t]+"
    rb"(0x[0-9a-f]+|0)[ \t]+\d+[ \t]+\d+[ \t]+\d+[ \t]+\d+([ \t]+\d+){0,30}[ \t]*\r?$",
    re.MULTILINE,
)
# What the kernel's unit of srtt can be: microseconds since 3.15, jiffies before.
_UNITS = {"us": 1e-6, "jiffies_1000": 1e-3, "jiffies_250": 4e-3, "jiffies_100": 1e-2}
_FEW = 5
_COLUMNS = ("time", "src", "dst", "length", "snd_nxt", "snd_una", "cwnd", "ssthresh", "snd_wnd", "srtt")
_ALL_COLUMNS = (*_COLUMNS, "rcv_wnd", "rttvar", "rto", "retrans", "unacked", "-")


def sniff(head: bytes) -> bool:
    """Whether there are lines of tcpprobe's ten or more columns."""
    return _LINE.search(head) is not None


def parse(path: str) -> Trace:
    """Read a tcpprobe log: `tcp_states`, in order of time.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no line of it can be used.

    Notes
    -----
    Times count from the opening of the file, so the clock is "unknown". The unit of srtt is not in the file:
    it is found by the delay with which `snd_una` reaches what `snd_nxt` was, which is one RTT.

    Reference: Linux ``net/ipv4/tcp_probe.c`` up to 4.15.
    """
    return configured(path, {})


def configured(path: str, settings: Mapping[str, Any]) -> Trace:
    """As `parse`, with ``units = { srtt = "us" }`` and ``columns = ["time", "src", ...]`` where given."""
    columns = fileoptions.names(settings, path, "columns")
    for name in columns or []:
        if name not in _ALL_COLUMNS:
            raise UsageError(
                f"measurement.toml: column {name!r} of {path} is none of {', '.join(_ALL_COLUMNS)}"
            )
    asked = fileoptions.words(settings, path, "units").get("srtt")
    declared = None if asked is None else fileoptions.unit(asked, fileoptions.SECONDS, path)
    scan = native.scan("tcpprobe", path, columns=columns)
    raw = scan.tables["tcp_states"]
    if not len(raw["t_ns"]):
        raise CorruptTrace(f"{path}: no line of a tcpprobe log can be read; is it cut or another format?")
    issues = list(scan.issues)
    unit, factor = asked, declared
    if declared is None and np.any(raw["srtt"] > 0):
        ratio = _seconds_per_unit(raw)
        if ratio is None:
            detail = "srtt: too few ACKs to compare with"
            issues.append(Issue("unknown-unit", detail=detail, path=path))
        else:
            unit = min(_UNITS, key=lambda name: abs(np.log(_UNITS[name] / ratio)))
            factor = _UNITS[unit]
            detail = f"srtt in {unit}: by the ACKs, one of it is {ratio * 1e6:.3g} us"
            issues.append(Issue("guessed-unit", detail=detail, path=path))
    times = {name: raw.pop(name) for name in ("srtt", "rttvar", "rto")}
    for name, values in times.items():
        raw[f"{name}_ns"] = _nanoseconds(values, factor)
    states = Table.in_time(schema.TCP_STATES, raw)
    source = Source(
        path=path,
        format="tcpprobe",
        layer="kernel",
        records=len(states),
        clock="unknown",
        first_ns=int(states["t_ns"][0]),
        last_ns=int(states["t_ns"][-1]),
        resolution_ns=scan.facts["resolution_ns"],
        details={
            "columns": scan.facts["columns"],
            "srtt_unit": unit,
            "srtt_unit_by": "measurement.toml" if asked else "guess",
        },
    )
    return Trace(source, {"tcp_states": states}, issues, [Flow(*flow) for flow in scan.facts["flows"]])


def _seconds_per_unit(raw: dict[str, Array]) -> float | None:
    """What srtt is written in, by the time from a byte's being the next to be sent to its acknowledgment."""
    ratios = []
    for flow in range(int(raw["flow"].max()) + 1):
        rows = np.flatnonzero((raw["flow"] == flow) & (raw["snd_una"] >= 0) & (raw["snd_nxt"] >= 0))
        if len(rows) < _FEW:
            continue
        base = raw["snd_una"][rows[0]]
        una = (raw["snd_una"][rows] - base) & 0xFFFFFFFF
        nxt = (raw["snd_nxt"][rows] - base) & 0xFFFFFFFF
        t = raw["t_ns"][rows]
        una = np.maximum.accumulate(una)
        # what an event shows as sent was sent after the one before it, whose ACK let it go
        grown = 1 + np.flatnonzero(np.diff(nxt) > 0)
        answer = np.searchsorted(una, nxt[grown], side="left")
        # una of an event is from before its segment: the ACK was the event before the one that shows it
        known = (answer < len(rows)) & (answer - 1 > grown)
        srtt = raw["srtt"][rows][answer[known]]
        delay_s = (t[answer[known] - 1] - t[grown[known] - 1]) / 1e9
        ratios.append(delay_s[srtt > 0] / srtt[srtt > 0])
    found = np.concatenate(ratios) if ratios else np.empty(0)
    found = found[found > 0]
    return float(np.median(found)) if len(found) >= _FEW else None


def _nanoseconds(values: Array, factor: float | None) -> Array:
    if factor is None:
        return np.full(len(values), -1, dtype=np.int64)
    scaled = values.astype(np.float64) * factor * 1e9
    return np.where((values >= 0) & (scaled < 9e18), np.rint(np.minimum(scaled, 9e18)), -1).astype(np.int64)


PARSER = Parser(
    name="tcpprobe",
    title="/proc/net/tcpprobe of Linux before 4.16, 10 to 16 columns and patched ones",
    layer="kernel",
    sniff=sniff,
    parse=parse,
    configured=configured,
)
