"""A measurement out of one capture that was only summarised: no tables, memory by connections."""

from __future__ import annotations

from typing import Any

from multitracer.alignment.roles import TELLING_NS, point_by_share
from multitracer.measurement import Clock, Connection, Measurement
from multitracer.trace import Trace

_DIRECTIONS = ("forward", "reverse")


def alone(trace: Trace, settings: dict[str, Any]) -> Measurement:
    """The capture as its own reference.

    Where it was made follows from the two parts of the round trip of the connection with most data: its
    smallest RTT from data to ACK against the smallest from what the other side sent to its ACK.
    """
    connections = []
    for index, summary in enumerate(trace.connections):
        sent = [summary[name]["data_bytes"] for name in _DIRECTIONS]
        ends = tuple((str(address), int(port)) for address, port in summary["endpoints"])
        connections.append(Connection(index, (ends[0], ends[1]), int(sent[1] > sent[0]), {0: summary}))
    source = trace.source
    source.point = source.point or _point(connections)
    clock = Clock(0, None, 0, 0.0, 0, "reference", "reference")
    return Measurement(
        traces=[trace],
        clocks=[clock],
        connections=connections,
        entities=[],
        tables={},
        snd=0 if source.point == "snd" else None,
        rcv=0 if source.point == "rcv" else None,
        t0_ns=min((c.summaries[0]["first_ns"] for c in connections), default=source.first_ns or 0),
        settings=settings,
        summarised=True,
    )


def _point(connections: list[Connection]) -> str | None:
    largest = max(
        connections,
        key=lambda c: c.summaries[0][_DIRECTIONS[c.data_dir]]["data_bytes"],
        default=None,
    )
    if largest is None:
        return None
    far = largest.summaries[0][_DIRECTIONS[largest.data_dir]]["rtt"]
    near = largest.summaries[0][_DIRECTIONS[1 - largest.data_dir]]["rtt"]
    if not far or not near or far["min_ns"] + near["min_ns"] < TELLING_NS:
        return None
    return point_by_share(near["min_ns"] / (far["min_ns"] + near["min_ns"]))
