"""A DCCP connection on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multitracer.cli import words

Object = Mapping[str, Any]


def heading(found: Object) -> str:
    """``DCCP address:port -> address:port``, the sender first."""
    begin, end = (":".join(map(str, found[name])) for name in ("from", "to"))
    return f"DCCP {begin} -> {end}"


def lines(found: Object) -> Iterator[tuple[str, str]]:
    """Label and text of each line, of an entry of ``dccp.connections`` (docs/json.md)."""
    data = words.count(found["data_packets"], "packet"), words.count(found["data_bytes"], "byte")
    yield "Data", ", ".join(data)
    yield "Not in capture", words.count(found["missing"], "sequence number")
    if found["rtt"] is not None:
        low, middle, high = (words.duration(found["rtt"][f"{name}_s"]) for name in ("min", "median", "max"))
        yield "RTT", f"min {low}, median {middle}, max {high}"
    if found["queue_packets"] is not None:
        yield "Queue", f"about {found['queue_packets']:.0f} packets at the largest RTT"
    if found["loss_event_rate"] is not None:
        yield "Loss event rate", f"{found['loss_event_rate']:.3%} in the last report"
    if found["late_notice_s"] is not None:
        late = words.duration(found["late_notice_s"])
        yield "Loss report", f"first loss reported {late} after the queue had doubled the RTT"
    if found["x_calc"]["bps"] is not None:
        yield "X_calc", f"{found['x_calc']['bps'] / 1e3:.0f} kbit/s by the throughput equation"
