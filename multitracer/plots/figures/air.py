"""The air over time, as a monitor received it: who used it, how often and how fast frames were sent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.layers.events import sender_entity
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures.throughput import binned_rate, step_of
from multitracer.plots.panel import Axis, Figure, Panel, Role, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series.result_marks import Results, reset_marks, resets
from multitracer.plots.series.selection import Selection, select
from multitracer.plots.series.transfer_panel import transfer_panel

_LEAST_STEP_S = 0.1  # the rows of `link_air`
_OWNERS: tuple[tuple[str, Role, str], ...] = (
    ("own", "throughput", "this link"),
    ("others", "rto", "other stations and networks"),
    ("everybody", "goodput", "beacons and frames to groups"),
    ("damaged", "flight", "damaged frames, from any sender"),
)


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """TCP's data, shares of the air, attempts of the data sender's frames, and rate and signal that vary."""
    selection = select(measurement, options)
    air, radio = selection.link("link_air"), selection.link("link_radio")
    sender = sender_entity(measurement)
    if not len(air):
        raise base.nothing(PLOT.name, "needs a capture of 802.11 frames by a monitor")
    radio = radio.where(radio["entity"] == (-1 if sender is None else sender))
    tcp = transfer_panel(selection, results)
    t = selection.seconds(air["t_ns"])
    ruling = [Series("heard", "throughput", t, t)] if tcp is None else [*tcp.series]
    window = base.window_of(ruling, ruling, options)
    step = max(step_of(window), _LEAST_STEP_S)
    shares = [
        Series(name, role, *_shares(air, name, t, window, step), kind="steps", label=words)
        for name, role, words in _OWNERS
        if np.any(air[f"{name}_ns"])
    ]
    lines = tuple(reset_marks(resets(selection, results, selection.link("link_events")), "", "Wifi"))
    panels = [tcp, Panel("air", Axis("On the air", "%"), tuple(shares), lines, zero=True)]
    panels += _radio(selection, measurement, radio)
    notes = [f"shares of airtime: averages over {step:g} s of the frames that the monitor received"]
    return base.figure(PLOT.name, selection, results, panels, window, options, notes=notes)


def _shares(
    air: Table, name: str, t: np.ndarray, window: tuple[float, float], step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Per cent of the air in steps over the window."""
    start, bits = binned_rate(t, air[f"{name}_ns"], window, step)
    # A frame counts where it began: one that reaches into the next step makes a busy one overfull.
    return start, np.minimum(bits / 8.0 / 1e9 * 100.0, 100.0)


def _radio(selection: Selection, m: Timeline, radio: Table) -> Iterator[Panel]:
    """How the data sender's frames went; a rate or signal that never changes is no picture."""
    known = radio.where(radio["attempt"] >= 0)
    if not len(known):
        return
    who = m.entities[int(known["entity"][0])]
    yield _panel(selection, known, "attempt", f"Attempt, {who}", "", 1.0)
    rates = radio.where(radio["rate_bps"] > 0)
    if len(np.unique(rates["rate_bps"])) > 1:
        yield _panel(selection, rates, "rate_bps", f"Rate, {who}", "Mbit/s", 1e-6)
    signal = radio.where(radio["signal_dbm"] != 0)
    if len(np.unique(signal["signal_dbm"])) > 1:
        yield _panel(selection, signal, "signal_dbm", f"Signal, {who}", "dBm", 1.0)


def _panel(selection: Selection, rows: Table, column: str, title: str, unit: str, size: float) -> Panel:
    series = []
    for name, role, words, kept in (
        ("first", "link_data", "sent for the first time", rows["attempt"] <= 0),
        ("again", "link_retransmission", "retry", rows["attempt"] > 0),
    ):
        some = rows.where(kept)
        if len(some):
            y = some[column].astype(np.float64) * size + (column == "attempt")
            series.append(
                Series(
                    f"{column}:{name}",
                    role,  # type: ignore[arg-type]
                    selection.seconds(some["t_ns"]),
                    y,
                    label=words if column == "attempt" else "",
                    record=some["record"],
                    source=int(some["source"][0]),
                )
            )
    return Panel(column, Axis(title, unit), tuple(series), height=0.6, zero=column != "signal_dbm")


PLOT = Plot("air", "Use of the Wi-Fi channel; attempts, rates and signal strength of data frames", build)
