"""Kernel log to capture: the ACK rule.

tcp_probe runs before the ACK is processed, so event i is the ACK whose number equals ``snd_una`` of
event i + 1 of the same socket. The number is absolute: no common clock is needed, and none is assumed
(ftrace counts from the boot, procfs tcpprobe from the opening of its file). The capture sees the packet
microseconds before the kernel event.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.alignment.clocks import Fit, fit, fit_median
from multitracer.alignment.flows import Seen, Socket, seen, sockets
from multitracer.alignment.joining import Captures, Log
from multitracer.alignment.relation import Pairs, Relation
from multitracer.alignment.voting import best_shift
from multitracer.model.table import Array, Table

_FEW = 3
_LOCAL_NS = 1_000_000  # residuals within this: the capture is on the kernel's own host
_TIGHT_NS = 200_000
_RESOLUTION_NS = 1_000


def join(log: Log, captures: Captures) -> Relation | None:
    """Join a kernel log to the capture whose ACKs it matches best.

    Parameters
    ----------
    log : Log
    captures : Captures
        Of those after the first, one is taken only if it fits clearly better.

    Returns
    -------
    Relation or None
        None if nothing matches.
    """
    best: tuple[int, Relation] | None = None
    found = sockets(log.trace.flows, captures.merged)
    for capture in captures.preferred:
        for candidate in _candidates(log, found, captures.segments[capture], capture):
            half = candidate.fit.pieces[0].half_width_ns
            if best is None or half * 4 < best[0]:
                best = (half, candidate)
        if best is not None and best[0] <= _LOCAL_NS:
            break
    return None if best is None else best[1]


def _candidates(log: Log, own: Sequence[Socket], segments: Table, capture: int) -> list[Relation]:
    """One relation per rule: ACK numbers, arrivals of data, retransmissions."""
    index, trace, span_ns = log.index, log.trace, log.span_ns
    states = trace.tables.get("tcp_states")
    events = trace.tables.get("kernel_events")
    by_ack: list[tuple[Array, Array]] = []
    by_arrival: list[tuple[Array, Array]] = []
    by_resend: list[tuple[Array, Array]] = []
    by_next: list[tuple[Array, Array]] = []
    by_packet: list[tuple[Array, Array]] = []
    carrying = segments["length"] > 0
    if states is not None:
        for one in seen(states, own, segments):
            by_ack.append(_by_ack_number(states, one.states, segments, one.received))
            arrivals = one.states[states["data_length"][one.states] > 0]
            by_arrival.append((arrivals, one.received[carrying[one.received]]))
            by_next.append(_by_next_number(states, one.states, segments, one.sent[carrying[one.sent]]))
            by_packet += _by_trigger(states, one)
    if events is not None:
        resent = events["kind"] == events.code("kind", "retransmit")
        by_resend = [
            (one.states[resent[one.states]], one.sent[carrying[one.sent]])
            for one in seen(events, own, segments)
        ]
    found = []
    if states is not None:
        relation = _from_rows(index, capture, by_ack, states, segments, span_ns, "ack number")
        if relation is not None and relation.fit.pieces[0].half_width_ns <= _LOCAL_NS:
            return [relation]
        relation = _by_time(index, capture, by_arrival, states, segments, span_ns, "arrival of data")
        if relation is not None:
            return [relation]
    if states is not None:
        # each on its own: of a log of both ends, one end's packets pass the capture late
        rule = "packets sent and received"
        single = [_by_time(index, capture, [group], states, segments, span_ns, rule) for group in by_packet]
        joined = [one for one in single if one is not None]
        if joined:
            return [min(joined, key=lambda one: one.fit.pieces[0].half_width_ns)]
    if events is not None:
        relation = _by_time(index, capture, by_resend, events, segments, span_ns, "retransmission")
        if relation is not None:
            return [relation]
    if states is not None:
        relation = _from_afar(index, capture, by_ack, by_next, states, segments, span_ns)
        if relation is not None:
            found.append(relation)
    return found


def _by_ack_number(states: Table, rows: Array, segments: Table, acks: Array) -> tuple[Array, Array]:
    """Rows of events and of segments that are the same ACK."""
    una = states["snd_una"][rows]
    moved = np.flatnonzero((una[1:] != una[:-1]) & (una[1:] >= 0) & (una[:-1] >= 0))
    numbers, at_event = np.unique(una[moved + 1], return_index=True)
    raw = segments["ack_raw"][acks].astype(np.int64)
    valid = segments["ack"][acks] >= 0
    captured, at_segment = np.unique(raw[valid], return_index=True)
    _, i, j = np.intersect1d(numbers, captured, assume_unique=True, return_indices=True)
    return rows[moved[at_event[i]]], acks[valid][at_segment[j]]


def _by_next_number(states: Table, rows: Array, segments: Table, data: Array) -> tuple[Array, Array]:
    """Rows of the last events before a segment was sent, and of the segment."""
    nxt = states["snd_nxt"][rows][::-1]
    numbers, at_event = np.unique(nxt, return_index=True)
    raw, at_segment = np.unique(segments["seq_raw"][data].astype(np.int64), return_index=True)
    _, i, j = np.intersect1d(numbers, raw, assume_unique=True, return_indices=True)
    return rows[::-1][at_event[i]], data[at_segment[j]]


def _by_trigger(states: Table, one: Seen) -> list[tuple[Array, Array]]:
    """Rows that a segment sent or received made, and the packets among which it is (siftr)."""
    trigger = states["trigger"][one.states]
    return [
        (one.states[trigger == states.code("trigger", word)], packets)
        for word, packets in (("received", one.received), ("sent", one.sent))
    ]


def _from_afar(
    index: int,
    capture: int,
    by_ack: list[tuple[Array, Array]],
    by_next: list[tuple[Array, Array]],
    states: Table,
    segments: Table,
    span_ns: tuple[int, int],
) -> Relation | None:
    """Join to a capture on the other side of the path, by order alone.

    The ACK passed there before the kernel got it; what is beyond ``snd_nxt`` passed there after the event.
    """
    if not by_ack or not by_next:
        return None

    def paired(groups: list[tuple[Array, Array]]) -> Pairs:
        rows, packets = (np.concatenate([group[i] for group in groups]) for i in (0, 1))
        return Pairs(
            segments["t_ns"][packets],
            states["t_ns"][rows],
            segments["record"][packets],
            states["record"][rows],
        )

    packet_first, event_first = paired(by_ack), paired(by_next)
    if len(packet_first) < _FEW or len(event_first) < _FEW:
        return None
    fitted = fit(
        packet_first.points(packet_first.t_a), event_first.points(event_first.t_a), span_ns, steps=False
    )
    if fitted.violations_ns or fitted.bound_ns is None:
        return None
    evidence = {"rule": "order of ACK numbers and snd_nxt", **fitted.evidence}
    return Relation(
        capture, index, Pairs.none(), Pairs.none(), "ack-match", fitted, fitted.bound_ns, evidence
    )


def _by_time(
    index: int,
    capture: int,
    groups: list[tuple[Array, Array]],
    table: Table,
    segments: Table,
    span_ns: tuple[int, int],
    rule: str,
) -> Relation | None:
    """Join by the only shift at which the events of the log fall on packets of the capture."""
    pairs = []
    for rows, packets in groups:
        if len(rows) < _FEW or len(packets) < _FEW:
            continue
        t_event, t_packet = table["t_ns"][rows], np.sort(segments["t_ns"][packets])
        shift = best_shift(t_event, t_packet, before_ns=_TIGHT_NS, after_ns=_TIGHT_NS)
        if shift is None:
            continue
        place = np.searchsorted(t_packet, t_event + shift)
        near = np.clip(place, 1, len(t_packet) - 1)
        near -= (t_event + shift - t_packet[near - 1]) < (t_packet[near] - t_event - shift)
        close = np.abs(t_packet[near] - t_event - shift) <= 5 * _TIGHT_NS
        order = np.argsort(segments["t_ns"][packets], kind="stable")
        pairs.append((rows[close], packets[order[near[close]]]))
    return _from_rows(index, capture, pairs, table, segments, span_ns, rule)


def _from_rows(
    index: int,
    capture: int,
    groups: list[tuple[Array, Array]],
    table: Table,
    segments: Table,
    span_ns: tuple[int, int],
    rule: str,
) -> Relation | None:
    if not groups:
        return None
    rows = np.concatenate([group[0] for group in groups])
    packets = np.concatenate([group[1] for group in groups])
    if len(rows) < _FEW:
        return None
    t_event, t_packet = table["t_ns"][rows], segments["t_ns"][packets]
    fitted: Fit = fit_median(t_event, t_packet, table["record"][rows], span_ns, _RESOLUTION_NS)
    nothing = Pairs.none()
    evidence = {"rule": rule, **fitted.evidence}
    half = fitted.pieces[0].half_width_ns
    return Relation(capture, index, nothing, nothing, "ack-match", fitted, half, evidence)
