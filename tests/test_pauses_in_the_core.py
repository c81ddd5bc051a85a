"""Spans of transfers and what held senders back by the core, and by a plain definition of each value."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from support_flows import PAIRS, Pair, Row, laid_out, payload, valid_acks

from multitracer.model.schema.results import LIMITS
from multitracer.native import limits
from multitracer.native.spans import spans

CLOCK_NS = 4_000_000
"""A step of the clock: a segment that an ACK releases leaves within two."""
MOST = 2
NEVER = 1 << 62

Phase = tuple[int, int, int, str, int, int, int]


@given(PAIRS)
def test_spans_are_as_defined(connections: list[Pair]) -> None:
    segments, data, acks = laid_out(connections)
    begin_ns, end_ns, carrying = spans(segments, data, acks)
    found = zip(begin_ns.tolist(), end_ns.tolist(), carrying.tolist(), strict=True)
    assert list(found) == [(*_span(*pair), bool(payload(pair[0]))) for pair in connections]


def _span(sent: list[Row], received: list[Row]) -> tuple[int, int]:
    data = payload(sent)
    if not data:
        return 0, 0
    begin = data[0]["t_ns"]
    last = max(row["seq"] + row["length"] for row in data)
    acks = [row for row in valid_acks(received) if row["t_ns"] >= begin]
    if not acks:
        return begin, data[-1]["t_ns"]
    reached = min(max(row["ack"] for row in acks), last)
    return begin, next(row["t_ns"] for row in acks if row["ack"] >= reached)


@given(PAIRS)
def test_limits_are_as_defined(connections: list[Pair]) -> None:
    segments, data, acks = laid_out(connections, CLOCK_NS)
    flows = limits.Flows(data, acks, spans(segments, data, acks)[1])
    expected: list[list[Phase]] = []
    for at, (pair, until_ns) in enumerate(zip(connections, flows.until_ns.tolist(), strict=True)):
        expected.append(_merged([(at, *pause) for pause in _pauses(*pair, until_ns)]))
    rows = zip(*(column.tolist() for column in limits.phases(segments, flows)), strict=True)
    found = [(of, begin, end, LIMITS[code], *facts) for of, begin, end, code, *facts in rows]
    assert found == [phase for phases in expected for phase in phases]
    held = limits.longest(segments, flows, MOST)
    assert held.phases.tolist() == [len(phases) for phases in expected]
    assert held.length_ns.tolist() == [sum(end - begin for _, begin, end, *_ in one) for one in expected]
    begins = [
        (of, begin)
        for of, phases in enumerate(expected)
        for _, begin, *_ in sorted(phases, key=lambda phase: phase[1] - phase[2])[:MOST]
    ]
    assert list(zip(held.longest.of.tolist(), held.longest.t_ns.tolist(), strict=True)) == begins
    known = [
        bool(payload(sent)) and any(row["window"] >= 0 for row in valid_acks(received))
        for sent, received in connections
    ]
    assert held.window_known.tolist() == known


def _merged(pauses: list[Phase]) -> list[Phase]:
    phases: list[Phase] = []
    for pause in pauses:
        if phases and phases[-1][3] == pause[3]:
            phases[-1] = (*phases[-1][:2], pause[2], *phases[-1][3:])
        else:
            phases.append(pause)
    return phases


def _pauses(sent: list[Row], received: list[Row], until_ns: int) -> list[tuple[int, int, str, int, int, int]]:
    data, acks = payload(sent), valid_acks(received)
    if not data or not acks:
        return []
    size = max(row["length"] for row in data)
    recoveries = _recoveries(data, acks)
    inside = [row for row in data if row["t_ns"] * CLOCK_NS <= until_ns]
    found = []
    for row, following in zip(inside, [*inside[1:], None], strict=True):
        begin = row["t_ns"] * CLOCK_NS
        end = max(until_ns, begin) if following is None else following["t_ns"] * CLOCK_NS
        nxt = max(one["seq"] + one["length"] for one in data[: data.index(row) + 1])
        came = [one for one in acks if one["t_ns"] * CLOCK_NS <= end]
        gap = end - came[-1]["t_ns"] * CLOCK_NS if came else NEVER
        released = gap <= 10_000_000 and gap < max(end - begin, 1)
        known = came[:-1] if released else came
        una = max((one["ack"] for one in known), default=data[0]["seq"])
        edge = max((one["ack"] + one["window"] for one in known if one["window"] >= 0), default=-1)
        outstanding, room = max(nxt - una, 0), max(edge - nxt, 0) if edge >= 0 else -1
        moment = max((end - gap if released else end) - 1, begin)
        recovers = all(any(low <= at < high for low, high in recoveries) for at in (begin, moment))
        if recovers or (following is not None and following["duplicate"] > 0):
            limit = "recovery"
        elif following is None:
            limit = "application"
        elif known and known[-1]["window"] == 0 and room == 0:
            limit = "zero_window"
        elif edge >= 0 and outstanding and room < min(size, following["length"]):
            limit = "receiver_window"
        elif not outstanding:
            limit = "application"
        elif not released and end - begin > 10_000_000:
            limit = "application" if edge >= 0 else "unknown"
        else:
            limit = "congestion_window"
        found.append((begin, end, limit, outstanding, room, following["record"] if following else 0))
    return found


def _recoveries(data: list[Row], acks: list[Row]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for at, row in enumerate(data):
        begin = row["t_ns"] * CLOCK_NS
        if row["duplicate"] <= 0 or (found and begin <= found[-1][1]):
            continue
        sent = max(one["seq"] + one["length"] for one in data[: at + 1])
        acked = np.maximum.accumulate([one["ack"] for one in acks])
        done = np.flatnonzero(acked >= sent)
        end = acks[int(done[0])]["t_ns"] * CLOCK_NS if len(done) else NEVER
        found.append((begin, max(end, begin + 1)))
    return found
