"""A measurement out of one capture that was only summarised: no tables, memory by connections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from multitracer import native
from multitracer.alignment.roles import TELLING_NS, point_by_share
from multitracer.model.derived import Derived
from multitracer.model.timeline import Clock, Connection, Timeline
from multitracer.model.trace import Trace

_DIRECTIONS = ("forward", "reverse")


def align_single(trace: Trace, settings: dict[str, Any]) -> Timeline:
    """The capture as its own reference.

    Where it was made follows from the two parts of the round trip of the connection with most data: its
    smallest RTT from data to ACK against the smallest from what the other side sent to its ACK.
    """
    known = trace.connections
    first_ns, largest = _overview(known)
    source = trace.source
    if not source.point and largest is not None:
        source.point = _point(_connection(largest, known[largest]))
    clock = Clock(0, None, 0, 0.0, 0, "reference", "reference")
    return Timeline(
        traces=[trace],
        clocks=[clock],
        connections=Derived(len(known), lambda at: _connection(at, known[at]), origin=known),
        entities=[],
        tables={},
        snd=0 if source.point == "snd" else None,
        rcv=0 if source.point == "rcv" else None,
        t0_ns=(source.first_ns or 0) if first_ns is None else first_ns,
        settings=settings,
        summarised=True,
    )


def _overview(known: Sequence[dict[str, Any]]) -> tuple[int | None, int | None]:
    """Time of the first segment of all, and which connection has most payload in one direction."""
    if native.are_summaries(known):
        return native.overview(known)
    first_ns = min((summary["first_ns"] for summary in known), default=None)
    sent = [max(summary[name]["data_bytes"] for name in _DIRECTIONS) for summary in known]
    return first_ns, sent.index(max(sent)) if sent else None


def _connection(index: int, summary: dict[str, Any]) -> Connection:
    sent = [summary[name]["data_bytes"] for name in _DIRECTIONS]
    ends = tuple((str(address), int(port)) for address, port in summary["endpoints"])
    return Connection(index, (ends[0], ends[1]), int(sent[1] > sent[0]), {0: summary})


def _point(largest: Connection) -> str | None:
    far = largest.summaries[0][_DIRECTIONS[largest.data_dir]]["rtt"]
    near = largest.summaries[0][_DIRECTIONS[1 - largest.data_dir]]["rtt"]
    if not far or not near or far["min_ns"] + near["min_ns"] < TELLING_NS:
        return None
    return point_by_share(near["min_ns"] / (far["min_ns"] + near["min_ns"]))
