"""What nuttcp prints of a test: throughput, retransmissions and cwnd by interval (docs/formats/nuttcp.md)."""

from __future__ import annotations

import re
from typing import Any

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Source, Trace

_LINE = re.compile(
    rb"^(?: *\d+\.\d{4} MB / +\d+\.\d\d sec = +\d+\.\d{4} Mbps\b"
    rb"|megabytes=\d+\.\d{4} real_sec(?:onds)?=\d+\.\d\d rate_Mbps=\d)",
    re.MULTILINE,
)
_SERIES = (("throughput_bps", "rate_bps"), ("retransmissions", "retrans"), ("cwnd_bytes", "cwnd_bytes"))


def sniff(head: bytes) -> bool:
    """Whether a line is that of an interval or of a whole test, in the usual form or that of ``-fparse``."""
    return bool(_LINE.search(head))


def parse(path: str) -> Trace:
    """Read a test: `series` with the throughput, retransmissions and cwnd of each interval, at its end.

    A test without ``-i`` is one interval. Of several tests in one file the first is read: when the others
    began is not told (issue `unparsed-line` for what belongs to them).

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If there is no line about an interval or a test.

    Notes
    -----
    Times begin with the test, at 0: nuttcp prints no time of day, and the clock is "unknown". The length of
    an interval is that of bytes over rate, which are printed with more digits than its seconds are.

    Reference: nuttcp(8), versions 6.1.2 to 8.2.
    """
    scan = native.scan("nuttcp", path)
    raw, total, tests = scan.tables["intervals"], scan.facts["total"], scan.facts["tests"]
    if total is not None and not len(raw["t_ns"]):
        record, length_ns, _, rate_bps, retrans, _ = total
        raw = {
            "t_ns": np.array([length_ns]),
            "record": np.array([record]),
            "rate_bps": np.array([rate_bps]),
            "retrans": np.array([retrans]),
            "cwnd_bytes": np.array([-1]),
        }
    rows = len(raw["t_ns"])
    if not rows:
        raise CorruptTrace(f"{path}: no line of nuttcp can be read; is it cut or another format?")
    issues = [*scan.issues, Issue("no-date", rows, int(raw["record"][0]), "times since the test began", path)]
    if tests > 1:
        detail = f"{tests - 1} more tests in the file; their starting times are not in the file"
        issues.append(Issue("unparsed-line", tests - 1, 0, detail, path))
    series = _series(raw)
    return Trace(
        Source(
            path=path,
            format="nuttcp",
            layer="kernel",
            records=rows,
            clock="unknown",
            first_ns=0,
            last_ns=int(series["t_ns"][-1]),
            resolution_ns=scan.facts["resolution_ns"],
            details=_details(total, tests, dict(scan.facts["settings"])),
        ),
        {"series": series},
        issues,
    )


def _series(raw: dict[str, Any]) -> Table:
    parts = []
    for name, column in _SERIES:
        known = raw[column] >= 0
        count = int(known.sum())
        parts.append(
            {
                "t_ns": raw["t_ns"][known],
                "record": raw["record"][known],
                "name": np.full(count, name, dtype=object),
                "value": raw[column][known].astype(np.float64),
            }
        )
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Table.filled(schema.SERIES, len(columns["t_ns"]), columns).sorted_by("t_ns")


def _details(total: tuple[Any, ...] | None, tests: int, settings: dict[str, str]) -> dict[str, Any]:
    details: dict[str, Any] = {"tests": tests, "settings": settings, "starts_ns": 0}
    if total is not None:
        _, length_ns, size, rate_bps, retrans, rtt_ns = total
        details |= {
            "duration_s": length_ns / 1e9,
            "bytes": size,
            "throughput_bps": rate_bps,
            "retransmissions": retrans if retrans >= 0 else None,
            "rtt_ms": rtt_ns / 1e6 if rtt_ns >= 0 else None,
        }
    return details


PARSER = Parser(
    name="nuttcp",
    title="nuttcp: throughput, retransmissions and cwnd by interval (-i; also -fparse)",
    layer="kernel",
    sniff=sniff,
    parse=parse,
    whole_test=True,
)
