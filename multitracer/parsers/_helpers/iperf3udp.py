"""UDP tests of iperf3: rates, lost packets and jitter by interval, as the table `series`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multitracer.model.trace import ClockKind, Source, Trace
from multitracer.parsers._helpers import jsonlog, testlog

_S = 10**9


def trace(path: str, details: Mapping[str, Any]) -> Trace | None:
    """What a UDP test reports; None if it is none, or no interval can be read.

    `record` is the number of the interval, from 1. Times are those of the intervals' ends.
    """
    text = jsonlog.document(path)
    document = jsonlog.mapping(jsonlog.parsed(text))
    start, parts = jsonlog.mapping(document.get("start")), document.get("intervals")
    if not isinstance(parts, list):
        start, parts = _streamed(text)
    if jsonlog.mapping(start.get("test_start")).get("protocol") != "UDP":
        return None
    stated = jsonlog.number(jsonlog.mapping(start.get("timestamp")), "timesecs")
    base_ns = testlog.nanoseconds(stated) if stated else None
    values, sides = testlog.Values(), set()
    for record, part in enumerate(parts, 1):
        for label, t_ns, side, found in _rows(jsonlog.mapping(part)):
            sides.add(side)
            for name, value in found.items():
                values.add(t_ns, record, name, value, label)
    if not len(values):
        return None
    series = values.table(base_ns or 0)
    clock: ClockKind = "realtime" if base_ns else "unknown"
    return Trace(
        Source(
            path=path,
            format="iperf3",
            layer="kernel",
            records=len(parts),
            clock=clock,
            first_ns=base_ns or 0,
            last_ns=int(series["t_ns"][-1]),
            resolution_ns=_S if base_ns else 1000,
            details={
                **details,
                "counted": "sent in UDP packets" if sides == {True} else "received in UDP packets",
                "sends": sides == {True} if len(sides) == 1 else None,
                "starts_ns": base_ns or 0,
            },
        ),
        {"series": series},
        [],
    )


def _streamed(text: bytes) -> tuple[Mapping[str, Any], list[Any]]:
    """Start and intervals of a stream of events, one a line."""
    start: Mapping[str, Any] = {}
    parts = []
    for line in text.split(b"\n"):
        event = jsonlog.mapping(jsonlog.parsed(line)) if line.strip() else {}
        if event.get("event") == "start":
            start = jsonlog.mapping(event.get("data"))
        elif event.get("event") == "interval":
            parts.append(event.get("data"))
    return start, parts


def _rows(part: Mapping[str, Any]) -> Iterator[tuple[str, int, bool, dict[str, float]]]:
    """Stream, end, whether it sends, and values of each stream of an interval."""
    streams = part.get("streams")
    for stream in streams if isinstance(streams, list) else []:
        known = jsonlog.mapping(stream)
        end, rate = (jsonlog.number(known, key) for key in ("end", "bits_per_second"))
        t_ns = None if end is None else testlog.nanoseconds(end)
        if t_ns is None or t_ns <= 0 or rate is None or rate < 0:
            continue
        found = {"throughput_bps": float(rate)}
        for key, name in (
            ("packets", "packets"),
            ("lost_packets", "lost_packets"),
            ("jitter_ms", "jitter_ms"),
        ):
            value = jsonlog.number(known, key)
            if value is not None and value >= 0:
                found[name] = float(value)
        sends = known.get("sender") is True
        if sends:
            found.pop("lost_packets", None)
        yield f"socket {jsonlog.whole(known, 'socket')}", t_ns, sends, found
