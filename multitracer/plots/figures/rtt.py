"""Round-trip times: every sample, by segment and by timestamp, and what the kernel makes of them (SRTT, RTO).

References
----------
RFC 6298, 7323; Karn and Partridge, SIGCOMM 1987; Paper 5.2 (an inflated RTT inflates the timer).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.model.quantities import duration
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Role, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import result_marks
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import Selection, select


def samples(selection: Selection) -> tuple[Table, Floats]:
    """ACKs that measure an RTT (Karn's rule), and the RTTs in seconds."""
    source = selection.snd if selection.snd is not None else selection.rcv
    acks = selection.segments(source, data=False)
    acks = acks.where(acks["rtt_ns"] >= 0)
    return acks, acks["rtt_ns"] / 1e9


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """Samples, min RTT, SRTT and RTO; timeouts where they fired."""
    selection = select(measurement, options)
    acks, seconds = samples(selection)
    states = selection.states()
    kernel = [
        ("TcpSnd_srtt", "srtt", "kernel's SRTT", states["srtt_ns"]),
        ("TcpSnd_rto", "rto", "kernel's RTO", states["rto_ns"]),
    ]
    known = [seconds, *(values[values >= 0] / 1e9 for _, _, _, values in kernel)]
    unit, size = base.time_unit(np.concatenate(known))
    series: list[Series] = []
    if len(acks):
        x = selection.seconds(acks["t_ns"])
        label = "samples (Karn's rule)"
        source = int(acks["source"][0])
        series.append(
            Series(
                "TcpSnd_rtt",
                "rtt_sample",
                x,
                seconds * size,
                label=label,
                record=acks["record"],
                source=source,
            )
        )
    series += _by_timestamp(selection, results, size)
    series += _kernel(selection, states, kernel, size)
    window = base.window_of(series, series, options)
    if len(acks):
        least_s = result_marks.min_rtt_s(selection, results)
        name = "smallest sample" if least_s is None else "min RTT"
        least_s = float(seconds.min()) if least_s is None else least_s
        x = np.array([max(window[0], float(series[0].x[0])), float(series[0].x[-1])])
        label = f"{name}: {duration(least_s, 'µs')}"
        low = np.full(2, least_s * size)
        series.append(Series("TcpSnd_min_rtt", "min_rtt", x, low, kind="line", label=label))
    panel = Panel("rtt", Axis("RTT", unit), tuple(series), tuple(_timeouts(selection, results)), zero=True)
    notes = []
    if len(states) == 0 or not np.any(states["rto_ns"] >= 0):
        notes.append("no kernel log with SRTT and RTO")
    if selection.snd is None:
        notes.append("no capture at the sender: ACK delays as seen at the other end")
    return base.figure(PLOT.name, selection, results, (panel,), window, options, notes=notes)


def _by_timestamp(selection: Selection, results: Results, size: float) -> Iterator[Series]:
    """Samples of retransmissions, by echoed timestamps: where Karn's rule has none."""
    found = results.get("round_trips")
    rows = found.tables.get("rtt_samples") if found is not None else None
    if rows is None or selection.snd is None or selection.connection is None:
        return
    mine = (rows["conn"] == selection.connection.index) & (rows["source"] == selection.snd)
    rows = rows.where(mine & (rows["way"] == rows.code("way", "timestamp")) & (rows["again"] > 0))
    if len(rows):
        yield Series(
            "TcpSnd_rtt_timestamp",
            "curve_5",
            selection.seconds(rows["t_ns"]),
            rows["rtt_ns"] / 1e9 * size,
            label="of retransmissions (timestamps)",
            record=rows["record"],
            source=selection.snd,
        )


def _kernel(
    selection: Selection, states: Table, curves: list[tuple[str, str, str, Array]], size: float
) -> Iterator[Series]:
    role: Role
    for name, look, label, values in curves:
        known = values >= 0
        if known.any():
            role = "srtt" if look == "srtt" else "rto"
            x, y = selection.seconds(states["t_ns"][known]), values[known] / 1e9 * size
            yield Series(
                name, role, x, y, kind="steps", label=label, group="kernel", record=states["record"][known]
            )


def _timeouts(selection: Selection, results: Results) -> Iterator[Marks]:
    rows = result_marks.timeout_rows(selection, results)
    if rows is not None:
        verdicts = tuple(f"timeout, {verdict}" for verdict in rows.words("verdict").tolist())
        yield Marks("timeouts", "timeout", selection.seconds(rows["t_ns"]), label="timeouts", texts=verdicts)


PLOT = Plot("rtt", "RTT samples with the kernel's SRTT and RTO", build)
