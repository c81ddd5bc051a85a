"""Link log to capture where packets inside the link's frames can be read: packet by packet, nothing guessed.

A packet that a capture next to the link has seen go in was there before the last of its bytes was sent for
the first time; one that came out was seen after the bytes of it that the link's other entity received.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multitracer.alignment import captures
from multitracer.alignment.clocks import fit
from multitracer.alignment.path import FEW_MATCHES, outward
from multitracer.alignment.relation import Pairs, Relation
from multitracer.model.table import Array, Table
from multitracer.model.trace import Trace

if TYPE_CHECKING:
    from multitracer.alignment.state import AlignmentState

_HEADERS_BYTES = 40  # of any packet with TCP: that much after its first byte is still of it


def is_readable(state: AlignmentState, log: int) -> bool:
    """Whether the packets in the log's frames are known, and where each is in the stream."""
    return _inside(state, log) is not None and not state.traces[log].links[0].slotted


def join(state: AlignmentState, log: int, entity: int, capture: int, side: int) -> Relation | None:
    """Join one entity of a link log to the capture on its side; None if they share too few packets.

    Parameters
    ----------
    state : AlignmentState
    log : int
        The link log among the sources.
    entity : int
        Which of the log's entities.
    capture : int
        The capture next to the entity, among the sources.
    side : int
        Side of the link at which the entity is: 0 that of the sender of the bulk of the data, 1 the other.
    """
    inside = _inside(state, log)
    if inside is None:
        return None
    own, within = state.own[capture], state.own[inside]
    places = state.traces[inside].places
    if places is None or len(places) != len(within):
        return None
    found = captures.match(own, within)
    if len(found) < FEW_MATCHES:
        return None
    into = outward(state, own)[found.first] == (side == 0)
    a, b = found.first[into], found.second[into]
    before = Pairs(own["t_ns"][a], within["t_ns"][b], own["record"][a], within["record"][b])
    a, b = found.first[~into], found.second[~into]
    received_ns, received_record = _received(state.traces[log], entity, places[b], within["length"][b])
    known = received_ns >= 0
    after = Pairs(own["t_ns"][a][known], received_ns[known], own["record"][a][known], received_record[known])
    if not len(before) or not len(after):
        return None
    nominal = state.nominal[capture]
    lower, upper = (pairs.points(nominal.apply(pairs.t_a, pairs.record_a)) for pairs in (before, after))
    fitted = fit(lower, upper, state.span(log), steps=False)
    evidence = {"entity": state.traces[log].entities[entity], "matches": len(found), **fitted.evidence}
    return Relation(capture, log, before, after, "causality", fitted, None, evidence)


def _inside(state: AlignmentState, log: int) -> int | None:
    path = state.traces[log].source.path
    for index, trace in enumerate(state.traces):
        if trace.source.path == path and trace.places is not None and index in state.own:
            return index
    return None


def _received(trace: Trace, entity: int, place: Array, length: Array) -> tuple[Array, Array]:
    """When the entity had the last byte that is surely of each packet, and the record; -1 if never."""
    frames: Table = trace.tables["link_frames"]
    received = (frames["entity"] == entity) & (frames["action"] == frames.code("action", "rcv"))
    rows = np.flatnonzero(received & (frames["duplicate"] <= 0) & (frames["offset"] >= 0))
    rows = rows[np.argsort(frames["offset"][rows], kind="stable")]
    none = np.full(len(place), -1, dtype=np.int64)
    if not len(rows):
        return none, none
    last = place + length + _HEADERS_BYTES - 1
    at = np.searchsorted(frames["offset"][rows], last, side="right") - 1
    row = rows[np.maximum(at, 0)]
    good = (at >= 0) & (place >= 0) & (frames["offset"][row] + frames["length"][row] > last)
    return np.where(good, frames["t_ns"][row], -1), np.where(good, frames["record"][row], -1)
