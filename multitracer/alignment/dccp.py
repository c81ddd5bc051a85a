"""Captures of DCCP to each other: the same packets, seen twice."""

from __future__ import annotations

import numpy as np

from multitracer.alignment.captures import seen_once_by_both
from multitracer.alignment.clocks import fit
from multitracer.alignment.relation import Nominal, Pairs, Relation
from multitracer.model.table import Array
from multitracer.model.trace import Flow, Trace

_FEW_MATCHES = 3


def join(
    a: int, b: int, trace_a: Trace, trace_b: Trace, nominal: Nominal, span_ns: tuple[int, int]
) -> Relation | None:
    """Join capture `b` to `a` by the sequence numbers that both saw once; None if they share too few.

    Which capture is nearer to the sender of the data shows in the differences of the clocks' readings: larger
    for what goes one way than for what goes the other, by an RTT (as for TCP, `captures.order_of`).

    Reference: RFC 4340 section 7.1: a sequence number is used once in a connection.

    Parameters
    ----------
    a, b : int
        The captures among the sources.
    trace_a, trace_b : Trace
        The captures.
    nominal : Nominal
        What puts the times of `a` on the reference timeline.
    span_ns : (int, int)
        First and last time of `b`, as stamped.
    """
    numbers: dict[tuple[str, int, str, int], int] = {}
    first, second = (trace.tables["dccp_packets"] for trace in (trace_a, trace_b))
    forward, forward_b = _forward(trace_a), _forward(trace_b)
    shared = seen_once_by_both(_columns(trace_a, forward, numbers), _columns(trace_b, forward_b, numbers))
    if len(shared) < _FEW_MATCHES:
        return None
    order = np.argsort(first["t_ns"][shared.first], kind="stable")
    rows_a, rows_b = shared.first[order], shared.second[order]
    t_a, t_b = first["t_ns"][rows_a], second["t_ns"][rows_b]
    data = forward[rows_a] == _bulk(first["length"], forward)
    apart = (t_b - t_a) - int((t_b - t_a)[0])
    if data.all() or not data.any():
        return None
    a_is_near = float(np.median(apart[data])) >= float(np.median(apart[~data]))
    if trace_a.source.point is None and trace_b.source.point is None:
        trace_a.source.point, trace_b.source.point = ("snd", "rcv") if a_is_near else ("rcv", "snd")

    def pairs(mask: Array) -> Pairs:
        return Pairs(t_a[mask], t_b[mask], first["record"][rows_a[mask]], second["record"][rows_b[mask]])

    a_first, b_first = pairs(data == a_is_near), pairs(data != a_is_near)
    fitted = fit(
        a_first.points(nominal.apply(a_first.t_a, a_first.record_a)),
        b_first.points(nominal.apply(b_first.t_a, b_first.record_a)),
        span_ns,
    )
    evidence = {"matches": len(shared), **fitted.evidence}
    return Relation(a, b, a_first, b_first, "hull", fitted, None, evidence)


def _bulk(length: Array, forward: Array) -> bool:
    """Whether more data goes from the lesser end of its flow to the greater."""
    return bool(length[forward].sum() >= length[~forward].sum())


def _forward(trace: Trace) -> Array:
    """For each packet, whether it goes from the lesser end of its flow to the greater."""
    packets = trace.tables["dccp_packets"]
    turned = np.array([_ends(flow) != tuple(flow) for flow in trace.flows], dtype=bool)
    return np.asarray((packets["dir"] == 0) != turned[packets["flow"]], dtype=np.bool_)


def _columns(trace: Trace, forward: Array, numbers: dict[tuple[str, int, str, int], int]) -> list[Array]:
    """What names a packet in any capture; flows get the same number in all."""
    packets = trace.tables["dccp_packets"]
    number = np.array([numbers.setdefault(_ends(flow), len(numbers)) for flow in trace.flows], dtype=np.int64)
    return [number[packets["flow"]], forward, packets["kind"], packets["seq"]]


def _ends(flow: Flow) -> tuple[str, int, str, int]:
    """The two ends in an order that does not depend on who spoke first."""
    here, there = (flow.local_address, flow.local_port), (flow.remote_address, flow.remote_port)
    low, high = min(here, there), max(here, there)
    return (*low, *high)
