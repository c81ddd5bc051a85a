"""Captures of DCCP to each other: the same packets, seen twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multitracer.alignment.relation import Nominal, Pairs, Relation
from multitracer.clocks import fit
from multitracer.table import Array
from multitracer.trace import Flow, Trace

_FEW_MATCHES = 3


@dataclass(frozen=True)
class _Seen:
    """The packets of a capture that it has once, by a key that both captures share."""

    key: dict[tuple[object, ...], int]
    t_ns: Array
    record: Array
    forward: Array
    length: Array


def join(
    a: int, b: int, trace_a: Trace, trace_b: Trace, nominal: Nominal, span_ns: tuple[int, int]
) -> Relation | None:
    """Join capture `b` to `a` by the sequence numbers that both saw once; None if they share too few.

    Which capture is nearer to the sender of the data shows in the differences of the clocks' readings: larger
    for what goes one way than for what goes the other, by a round trip (as for TCP, `captures.order_of`).

    Reference: RFC 4340 section 7.1: a sequence number is used once in a connection.
    """
    first, second = _seen(trace_a), _seen(trace_b)
    shared = [(row, second.key[key]) for key, row in first.key.items() if key in second.key]
    if len(shared) < _FEW_MATCHES:
        return None
    rows_a, rows_b = (np.array(rows) for rows in zip(*shared, strict=True))
    t_a, t_b = first.t_ns[rows_a], second.t_ns[rows_b]
    data = first.forward[rows_a] == _bulk(first)
    apart = (t_b - t_a) - int((t_b - t_a)[0])
    if data.all() or not data.any():
        return None
    a_is_near = float(np.median(apart[data])) >= float(np.median(apart[~data]))
    if trace_a.source.point is None and trace_b.source.point is None:
        trace_a.source.point, trace_b.source.point = ("snd", "rcv") if a_is_near else ("rcv", "snd")

    def pairs(mask: Array) -> Pairs:
        return Pairs(t_a[mask], t_b[mask], first.record[rows_a[mask]], second.record[rows_b[mask]])

    a_first, b_first = pairs(data == a_is_near), pairs(data != a_is_near)
    fitted = fit(
        a_first.points(nominal.apply(a_first.t_a, a_first.record_a)),
        b_first.points(nominal.apply(b_first.t_a, b_first.record_a)),
        span_ns,
    )
    evidence = {"matches": len(shared), **fitted.evidence}
    return Relation(a, b, a_first, b_first, "hull", fitted, None, evidence)


def _bulk(seen: _Seen) -> bool:
    """Whether more data goes from the lesser end of its flow to the greater."""
    return bool(seen.length[seen.forward].sum() >= seen.length[~seen.forward].sum())


def _seen(trace: Trace) -> _Seen:
    packets = trace.tables["dccp_packets"]
    turned = np.array([_ends(flow) != tuple(flow) for flow in trace.flows], dtype=bool)
    forward = (packets["dir"] == 0) != turned[packets["flow"]]
    found: dict[tuple[object, ...], int] = {}
    twice: set[tuple[object, ...]] = set()
    ends = [_ends(flow) for flow in trace.flows]
    columns = (packets["flow"].tolist(), forward.tolist(), packets["kind"].tolist(), packets["seq"].tolist())
    for row, (flow, *rest) in enumerate(zip(*columns, strict=True)):
        key = (ends[flow], *rest)
        if key in found:
            twice.add(key)
        found[key] = row
    for key in twice:
        del found[key]
    return _Seen(found, packets["t_ns"], packets["record"], forward, packets["length"])


def _ends(flow: Flow) -> tuple[str, int, str, int]:
    """The two ends in an order that does not depend on who spoke first."""
    here, there = (flow.local_address, flow.local_port), (flow.remote_address, flow.remote_port)
    low, high = min(here, there), max(here, there)
    return (*low, *high)
