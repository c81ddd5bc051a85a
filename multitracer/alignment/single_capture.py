"""A measurement out of one capture that was only summarised: no tables, memory by connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from multitracer import native
from multitracer.alignment.roles import most_data, observed
from multitracer.model import declared
from multitracer.model.derived import Derived
from multitracer.model.timeline import Clock, Connection, Timeline
from multitracer.model.trace import Trace

_DIRECTIONS = ("forward", "reverse")


def align_single(trace: Trace, settings: dict[str, Any]) -> Timeline:
    """The capture as its own reference.

    Where it was made follows from all that the connection with most data shows of it
    (docs/limits.md), or is declared.
    """
    known = trace.connections
    first_ns, largest = _overview(known)
    source = trace.source
    declared_point = declared.point(settings, source.path)
    if declared_point is not None:
        source.point = declared_point
        source.details["point_by"] = "declared"
    elif not source.point and largest is not None:
        source.point = _point(_connection(largest, known[largest]))
    clock = Clock(0, None, 0, 0.0, 0, "reference", "reference")
    return Timeline(
        traces=[trace],
        clocks=[clock],
        connections=Derived(
            len(known), lambda at: _connection(at, known[at]), origin=known, digest=_digest(known)
        ),
        entities=[],
        tables={},
        snd=0 if source.point == "snd" else None,
        rcv=0 if source.point == "rcv" else None,
        t0_ns=(source.first_ns or 0) if first_ns is None else first_ns,
        settings=settings,
        summarised=True,
    )


def _digest(known: Sequence[dict[str, Any]]) -> Callable[[int], dict[str, Any]] | None:
    """How the core sums up what it holds; None of plain dictionaries."""
    return partial(native.digest, known) if native.are_summaries(known) else None


def _overview(known: Sequence[dict[str, Any]]) -> tuple[int | None, int | None]:
    """Time of the first segment of all, and which connection has most payload in one direction."""
    if native.are_summaries(known):
        return native.overview(known)
    first_ns = min((summary["first_ns"] for summary in known), default=None)
    sent = [max(summary[name]["data_bytes"] for name in _DIRECTIONS) for summary in known]
    return first_ns, sent.index(max(sent)) if sent else None


def _connection(index: int, summary: dict[str, Any]) -> Connection:
    sent, unseen = (
        [summary[name][count] for name in _DIRECTIONS] for count in ("data_bytes", "unseen_acked_bytes")
    )
    ends = tuple((str(address), int(port)) for address, port in summary["endpoints"])
    return Connection(index, (ends[0], ends[1]), most_data(sent, unseen), {0: summary})


def _point(largest: Connection) -> str | None:
    found = observed(largest.summaries[0], largest.data_dir)
    return None if found is None else found["point"]
