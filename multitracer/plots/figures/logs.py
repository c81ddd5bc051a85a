"""What logs alone report of transfers over time: throughput, RTT, windows, retransmissions; values of links.

References
----------
RFC 6298 (SRTT); RFC 5681 (cwnd, rwnd).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from multitracer.layers.logged import Condition, LoggedFlow, Samples, conditions, uncaptured
from multitracer.model.quantities import duration, rate
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Role, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series.result_marks import Results

MOST = 8
"""Transfers that are drawn: those with most data."""
MOST_CONDITIONS = 4
_CURVES: tuple[Role, ...] = (
    "curve_1",
    "curve_2",
    "curve_3",
    "curve_4",
    "curve_5",
    "curve_6",
    "curve_7",
    "curve_8",
)


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """One curve for each transfer; of one alone, in the colours of its quantities."""
    flows = uncaptured(measurement)
    words = [one for one in conditions(measurement) if ":" in one.name]
    others = [one for one in conditions(measurement) if ":" not in one.name]
    if not flows and not others and not words:
        raise base.nothing(PLOT.name, "no log of a transfer that no capture holds, and no values of a link")
    flows.sort(key=lambda one: -_size(one))
    shown = flows[:MOST]
    panels = [*_panels(measurement, shown), *_conditions(measurement, others[:MOST_CONDITIONS])]
    if panels and words:
        panels[0] = replace(panels[0], marks=(*panels[0].marks, _changes(measurement, words)))
    everything = [series for panel in panels for series in panel.series]
    window = base.window_of(everything, everything, options)
    notes = []
    if len(flows) > MOST:
        notes.append(f"the {MOST} of {len(flows)} transfers with most data")
    if len(others) > MOST_CONDITIONS:
        names = ", ".join(one.name for one in others[MOST_CONDITIONS:])
        notes.append(f"not drawn: {names}")
    return Figure(
        PLOT.name,
        _title(measurement, shown),
        tuple(panels),
        window,
        subtitle=_facts(shown),
        notes=tuple(notes),
        x=Axis("Time since the log begins", "s"),
        t0_ns=measurement.t0_ns,
        absolute=options.absolute_time and base.on_wall_clock(measurement),
        theme="dark" if options.dark else "light",
    )


def _size(flow: LoggedFlow) -> float:
    return float(np.nansum(flow.rates.size)) if flow.rates else 0.0


def _title(m: Timeline, flows: Sequence[LoggedFlow]) -> str:
    if not flows:
        return "Values of a link, by its log"
    if len(flows) > 1:
        return f"{len(flows)} transfers, from logs"
    return _name(m, flows[0])


def _name(m: Timeline, flow: LoggedFlow) -> str:
    ends = m.traces[flow.source].flows
    if 0 <= flow.flow < len(ends):
        one = ends[flow.flow]
        local, remote = (
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            for host, port in ((one.local_address, one.local_port), (one.remote_address, one.remote_port))
        )
        arrow = "\N{LEFTWARDS ARROW}" if flow.sends is False else "\N{RIGHTWARDS ARROW}"
        return f"{local} {arrow} {remote}"
    return flow.label or os.path.basename(m.sources[flow.source].path)


def _facts(flows: Sequence[LoggedFlow]) -> str:
    if len(flows) != 1 or not flows[0].rates:
        return ""
    rates = flows[0].rates
    size, length = _size(flows[0]), float((rates.end_ns - rates.begin_ns).sum()) / 1e9
    mean = rate(size * 8 / length)
    text = f"{round(size):,} bytes {flows[0].counted} in {duration(length)}, {mean} on average"
    again = flows[0].retransmissions
    return text if again is None else f"{text}, {round(float(again.value.sum())):,} retransmitted segments"


def _panels(m: Timeline, flows: Sequence[LoggedFlow]) -> Iterator[Panel]:
    rates = [(at, one) for at, one in enumerate(flows) if one.rates]
    if rates:
        most = max(float(one.rates.rate_bps.max(initial=0.0)) for _, one in rates if one.rates)
        unit, size = base.unit_of(most)
        found = [
            _steps(m, one, at, len(flows), "throughput", "throughput", one.rates.rate_bps / size)
            for at, one in rates
            if one.rates
        ]
        yield Panel("rate", Axis("Throughput", unit), tuple(found), zero=True)
    rtts = [(at, one.rtt) for at, one in enumerate(flows) if one.rtt]
    if rtts:
        unit, size = base.time_unit(np.concatenate([one.value for _, one in rtts]))
        words = {flows[at].rtt_kind for at, _ in rtts}
        name = "Smoothed RTT" if words == {"srtt"} else "RTT"
        yield Panel(
            "rtt",
            Axis(name, unit),
            tuple(_held(m, flows[at], at, len(flows), "rtt", "srtt", one, size, name) for at, one in rtts),
            zero=True,
        )
    drawn: tuple[tuple[str, Role, str], ...] = (
        ("cwnd", "cwnd", "cwnd"),
        ("rwnd", "rwnd", "advertised window"),
    )
    windows = [
        _held(m, flows[at], at, len(flows), name, role, one, 1.0, words)
        for name, role, words in drawn
        for at, one in ((at, getattr(flow, name)) for at, flow in enumerate(flows))
        if one and (name == "cwnd" or len(flows) == 1)
    ]
    if windows:
        yield Panel(
            "windows", Axis("Windows" if len(flows) == 1 else "cwnd", "bytes"), tuple(windows), zero=True
        )
    else:
        packets = [
            _held(m, one, at, len(flows), "cwnd", "cwnd", one.cwnd_packets, 1.0, "cwnd")
            for at, one in enumerate(flows)
            if one.cwnd_packets
        ]
        if packets:
            yield Panel("windows", Axis("cwnd", "packets"), tuple(packets), zero=True)
    again = [
        Series(
            f"retransmitted {at}",
            _role("other_retransmission", at, len(flows)),
            _seconds(m, one.retransmissions),
            np.cumsum(one.retransmissions.value),
            kind="steps",
            label=_label(m, one, len(flows), "retransmitted segments, cumulative"),
            record=one.retransmissions.record,
            source=one.source,
        )
        for at, one in enumerate(flows)
        if one.retransmissions
    ]
    if any(float(one.y[-1]) > 0 for one in again):
        yield Panel("retransmissions", Axis("Retrans.", "segments"), tuple(again), height=0.6, zero=True)


def _role(role: Role, at: int, count: int) -> Role:
    return role if count == 1 else _CURVES[at]


def _label(m: Timeline, flow: LoggedFlow, count: int, words: str) -> str:
    return words if count == 1 else _name(m, flow)


def _steps(m: Timeline, flow: LoggedFlow, at: int, count: int, name: str, role: Role, y: Floats) -> Series:
    """Intervals as steps: the value of each from its begin on, the last one to its end."""
    rates = flow.rates
    assert rates is not None
    x = np.append(rates.begin_ns, rates.end_ns[-1])
    return Series(
        f"{name} {at}",
        _role(role, at, count),
        (x - m.t0_ns) / 1e9,
        np.append(y, y[-1]),
        kind="steps",
        label=_label(m, flow, count, f"throughput: bytes {flow.counted}"),
        record=np.append(rates.record, rates.record[-1]),
        source=flow.source,
    )


def _held(
    m: Timeline,
    flow: LoggedFlow,
    at: int,
    count: int,
    name: str,
    role: Role,
    found: Samples,
    size: float,
    words: str,
) -> Series:
    return Series(
        f"{name} {at}",
        _role(role, at, count),
        _seconds(m, found),
        found.value * size,
        kind="steps",
        label=_label(m, flow, count, words),
        record=found.record,
        source=flow.source,
    )


def _seconds(m: Timeline, found: Samples) -> Floats:
    seconds: Floats = (found.t_ns - m.t0_ns).astype(np.float64) / 1e9
    return seconds


def _changes(m: Timeline, found: Sequence[Condition]) -> Marks:
    """Changes of values in words (technology, cell), each a line with the word."""
    x = np.concatenate([_seconds(m, one.samples) for one in found])
    texts = [one.name.partition(":")[2] for one in found for _ in range(len(one.samples.t_ns))]
    order = np.argsort(x, kind="stable")
    return Marks(
        "changes",
        "note",
        x[order],
        texts=tuple(texts[at] for at in order.tolist()),
        label="changes of the link",
    )


def _conditions(m: Timeline, found: Sequence[Condition]) -> Iterator[Panel]:
    for at, one in enumerate(found):
        series = Series(
            f"condition {at}",
            _CURVES[(at + 4) % len(_CURVES)],
            _seconds(m, one.samples),
            one.samples.value,
            kind="points" if len(one.samples.t_ns) == 1 else "steps",
            label=one.name,
            record=one.samples.record,
            source=one.source,
        )
        yield Panel(f"condition {at}", Axis(one.words, one.unit), (series,), height=0.6)


PLOT = Plot(
    "logs", "Logs without a capture: throughput, RTT, windows, retransmissions, values of the link", build
)
