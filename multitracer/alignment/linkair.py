"""A log of a link of whole packets to captures at its ends, packet by packet: as read, or by their order.

A packet that a capture next to the link has seen go in was there before the frame that carried it had come;
one that came out was seen after that. A monitor's acknowledgements come too late to show this: the receiver
hands a packet on when its frame has come, and if it was retransmitted, perhaps when it had first arrived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multitracer.alignment import captures
from multitracer.alignment.anchors import stated_payload
from multitracer.alignment.clocks import Int, fit
from multitracer.alignment.path import FEW_MATCHES, outward
from multitracer.alignment.relation import Nominal, Pairs, Relation
from multitracer.layers.framemap.order import by_arrival, carried_ns
from multitracer.model.table import Array, Table

if TYPE_CHECKING:
    from multitracer.alignment.state import AlignmentState

_AGREED = 0.9


class _Direction(NamedTuple):
    """Frames of one entity: all, their first transmissions, and when each had come; -1 if never known."""

    sent: Table
    first: Table
    received_ns: Int


class _Found(NamedTuple):
    """Packets of one direction, and their frames.

    Rows of the captures before and behind the link (-1: not there), the row of the frame's first
    transmission, and whether that was the only one.
    """

    near: Array
    far: Array
    frame: Array
    once: Array


def may_hold_packets(state: AlignmentState, log: int) -> bool:
    """Whether frames may hold a packet each: a monitor's do, or the log names no size of a full frame."""
    trace = state.traces[log]
    return _is_monitored(state, log) or (not trace.links and stated_payload(trace) is None)


def _is_monitored(state: AlignmentState, log: int) -> bool:
    links = state.traces[log].links
    return bool(links) and all(link.observer == "monitor" and link.unit == "packet" for link in links)


def join(
    state: AlignmentState, log: int, on: tuple[int, int], coarse: Relation | None, lossy_monitor: bool
) -> list[Relation]:
    """Join such a log to the captures before and behind the link, `on`; no relation if they do not fit.

    Parameters
    ----------
    state : AlignmentState
    log : int
        The link log among the sources.
    on : (int, int)
        The captures at the sides of the link.
    coarse : Relation or None
        Where the log was put by causality alone; frames that cannot be read are sought near it, else near
        their time as stamped.
    lossy_monitor : bool
        The monitor missed so much that order shows nothing of clocks: only what could be read counts.

    Returns
    -------
    list of Relation
        One for each side; empty if they do not fit.
    """
    nominal = state.identity(log) if coarse is None else Nominal(coarse.fit.pieces)
    directions = {}
    for entity in range(len(state.traces[log].entities)):
        side = state.entity_sides.get((log, entity))
        if side is None:
            return []
        near, far = on if side == 0 else on[::-1]
        direction = _direction_of(state.traces[log].tables["link_frames"], entity)
        found = _read(state, log, direction, (near, far), side)
        if found is None and not lossy_monitor:
            found = _counted(state, direction, (near, far), side, nominal)
        if found is None:
            return []
        if not _is_monitored(state, log):
            # The receiver itself records when a frame arrived, and hands its packet on then.
            found = found._replace(once=direction.received_ns[found.frame] >= 0)
        directions[side] = direction, found
    if set(directions) != {0, 1}:
        return []
    relations = [_relation(state, log, capture, side, directions) for side, capture in enumerate(on)]
    return [relation for relation in relations if relation is not None]


def _direction_of(frames: Table, entity: int) -> _Direction:
    frames = frames.sorted_by("t_ns")
    snd, rcv = (frames["action"] == frames.code("action", word) for word in ("snd", "rcv"))
    mine = frames["entity"] == entity
    sent = frames.where(snd & mine & (frames["offset"] >= 0) & (frames["length"] > 0))
    first = sent.where(np.sort(np.unique(sent["offset"], return_index=True)[1]))
    received = frames.where(rcv & ~mine & (frames["duplicate"] == 0))
    offsets, at = np.unique(received["offset"], return_index=True)
    if not len(offsets) or not len(first):
        return _Direction(sent, first, np.full(len(first), -1, dtype=np.int64))
    place = np.minimum(np.searchsorted(offsets, first["offset"]), len(offsets) - 1)
    known = offsets[place] == first["offset"]
    return _Direction(sent, first, np.where(known, received["t_ns"][at[place]], -1))


def _once(direction: _Direction) -> Array:
    """For each frame, whether it was sent once only, by the monitor's frames and the retry bit."""
    _, inverse, count = np.unique(direction.sent["offset"], return_inverse=True, return_counts=True)
    again = np.bincount(inverse, weights=direction.sent["attempt"] > 0) > 0
    order = np.argsort(np.argsort(direction.first["offset"], kind="stable"), kind="stable")
    return np.asarray(((count == 1) & ~again)[order])


def _read(
    state: AlignmentState, log: int, direction: _Direction, ends: tuple[int, int], side: int
) -> _Found | None:
    """Packets that the monitor could read."""
    path = state.traces[log].source.path
    inside = [i for i, trace in enumerate(state.traces) if trace.source.path == path and i in state.own]
    if not inside:
        return None
    within = state.own[inside[0]]
    rows = np.flatnonzero(np.isin(within["record"], direction.first["record"]))
    order = np.argsort(direction.first["record"], kind="stable")
    frame = np.full(len(within), -1, dtype=np.int64)
    frame[rows] = order[np.searchsorted(direction.first["record"][order], within["record"][rows])]
    seen = []
    for capture in ends:
        matched = captures.match(state.own[capture], within)
        mine = outward(state, state.own[capture])[matched.first] == (side == 0)
        row = np.full(len(within), -1, dtype=np.int64)
        row[matched.second[mine]] = matched.first[mine]
        seen.append(row)
    known = (frame >= 0) & ((seen[0] >= 0) | (seen[1] >= 0))
    if np.count_nonzero(known) < FEW_MATCHES:
        return None
    return _Found(seen[0][known], seen[1][known], frame[known], _once(direction)[frame[known]])


def _counted(
    state: AlignmentState, direction: _Direction, ends: tuple[int, int], side: int, nominal: Nominal
) -> _Found | None:
    """Packets of frames that cannot be read, by their order, where there is a capture at either end."""
    near, far = ends
    if near == far or not len(direction.first):
        return None
    before, behind = state.mapped(near), state.mapped(far)
    rows = np.flatnonzero((before["conn"] >= 0) & (outward(state, before) == (side == 0)))
    matched = captures.match(state.own[near], state.own[far])
    partner = np.full(len(before), -1, dtype=np.int64)
    partner[matched.first] = matched.second
    # In the order in which they went into the link.
    rows = rows[np.argsort(before["record"][rows], kind="stable")]
    arrived = np.where(partner[rows] >= 0, behind["t_ns"][partner[rows]], -1)
    first, sent = (
        table.replace(t_ns=nominal.apply(table["t_ns"], table["record"]))
        for table in (direction.first, direction.sent)
    )
    received_ns = np.where(
        direction.received_ns >= 0, nominal.apply(direction.received_ns, direction.first["record"]), -1
    )
    paired = by_arrival(
        first["ns"].astype(np.int64),
        first["length"].astype(np.int64),
        carried_ns(first, sent, received_ns),
        before["ip_length"][rows].astype(np.int64),
        arrived,
    )
    frame = np.flatnonzero(paired.sure & (paired.packet >= 0))
    if paired.agreement < _AGREED or len(frame) < FEW_MATCHES:
        return None
    row = rows[paired.packet[frame]]
    return _Found(row, partner[row], frame, _once(direction)[frame])


def _relation(
    state: AlignmentState, log: int, capture: int, side: int, directions: dict[int, tuple[_Direction, _Found]]
) -> Relation | None:
    """What one capture and the log have in common: packets into the link, and out of it."""
    own = state.own[capture]
    direction, found = directions[side]
    into = found.near >= 0
    row, frame = found.near[into], found.frame[into]
    before = Pairs(
        own["t_ns"][row], direction.first["t_ns"][frame], own["record"][row], direction.first["record"][frame]
    )
    direction, found = directions[1 - side]
    out = (found.far >= 0) & found.once
    row, frame = found.far[out], found.frame[out]
    come_ns = direction.first["t_ns"] if _is_monitored(state, log) else direction.received_ns
    after = Pairs(own["t_ns"][row], come_ns[frame], own["record"][row], direction.first["record"][frame])
    if not len(before) or not len(after):
        return None
    nominal = state.nominal[capture]
    lower, upper = (pairs.points(nominal.apply(pairs.t_a, pairs.record_a)) for pairs in (before, after))
    fitted = fit(lower, upper, state.span(log), steps=False)
    evidence = {"packets_in": len(before), "packets_out": len(after), **fitted.evidence}
    return Relation(capture, log, before, after, "causality", fitted, None, evidence)
