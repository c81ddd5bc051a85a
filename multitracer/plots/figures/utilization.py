"""Utilization of many transfers: how many reached how much, and at which throughput.

References
----------
Paper 5.1, Figure 6. Its figures are rounded up: 99 to 100 percent counts as 100 (footnote 5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multitracer.model.analysis import summary_of
from multitracer.model.quantities import count
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Pieces, Series
from multitracer.plots.plot import Plot, PlotOptions, Subject
from multitracer.plots.series.result_marks import Results, number

FLAGGED = 95  # percent at which, and under which, the paper looked for a cause


def build_rows(rows: Sequence[Mapping[str, Any]], options: PlotOptions | None = None) -> Figure:
    """The histogram of a table of summary rows.

    Parameters
    ----------
    rows : sequence of mapping
        One transfer each: ``utilization`` (0 to 1) and ``goodput_bps`` (bit/s, may be missing), and ``name``.
        Rows without a utilization are counted in the notes, and those whose call was dropped
        (``call_dropped``): the paper leaves them out (4.1).

    Raises
    ------
    UsageError
        If no row has a utilization.
    """
    dropped = sum(bool(row.get("call_dropped")) for row in rows)
    counted_rows = [row for row in rows if not row.get("call_dropped")]
    known = [(row, value) for row in counted_rows if (value := number(row.get("utilization"))) is not None]
    if not known:
        raise base.nothing(PLOT.name, f"none of {count(len(rows), 'measurement')} has a utilization")
    # Rounded first: 0.99 stored as a float must not count as 100.
    percent = np.array([math.ceil(round(100 * value, 6)) for _, value in known])
    classes, counts = np.unique(percent, return_counts=True)
    share = 100.0 * counts / len(known)
    window = (float(min(classes[0], 90)) - 0.9, 100.9)
    histogram = Series(
        "utilization",
        "histogram",
        classes.astype(np.float64),
        share,
        kind="bars",
        width=0.8,
        label="share of all measurements",
    )
    counted = Marks(
        "count",
        "note",
        classes.astype(np.float64),
        share,
        texts=tuple(f"{number:,}" for number in counts.tolist()),
        details=tuple(_names(known, percent, one) for one in classes.tolist()),
        label="",
    )
    panels = [
        Panel("utilization", Axis("Measurements", "%"), (histogram,), (counted,), zero=True, height=1.0),
        _throughput([row for row, _ in known], percent),
    ]
    low = int(np.count_nonzero(percent <= FLAGGED))
    good = int(np.count_nonzero(percent >= 98))
    notes = []
    if panels[1] is not None and panels[1].log:
        notes.append(base.APART_NOTE.format("goodputs"))
    if dropped:
        what = count(dropped, "measurement whose call was dropped", "measurements whose call was dropped")
        notes.append(f"left out: {what} (Paper 4.1)")
    if len(known) + dropped < len(rows):
        unknown = len(rows) - dropped - len(known)
        notes.append(f"left out: {count(unknown, 'measurement')} without a utilization")
    return Figure(
        PLOT.name,
        f"Utilization of {count(len(known), 'transfer')}",
        tuple(panel for panel in panels if panel is not None),
        window,
        subtitle=f"{good:,} of {len(known):,} at 98% or more; {low:,} at {FLAGGED}% or less; "
        f"lowest {100 * min(value for _, value in known):.1f}%",
        notes=tuple(notes),
        x=Axis("Utilization, rounded up", "%"),
        theme="dark" if options is not None and options.dark else "light",
    )


def _names(known: Sequence[tuple[Mapping[str, Any], float]], percent: Any, wanted: int) -> str:
    names = [
        str(row.get("name", ""))
        for (row, _), one in zip(known, percent.tolist(), strict=True)
        if one == wanted
    ]
    return f"{wanted}%: " + ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _throughput(rows: Sequence[Mapping[str, Any]], percent: Any) -> Panel | None:
    """The range of throughput of the measurements of one utilization."""
    rates = np.array([number(row.get("goodput_bps")) or np.nan for row in rows])
    usable = np.isfinite(rates)
    if not usable.any():
        return None
    unit, size = base.unit_of(float(np.median(rates[usable])))
    rates = rates / size
    classes = np.unique(percent[usable])
    low = np.array([np.nanmin(rates[percent == one]) for one in classes])
    high = np.array([np.nanmax(rates[percent == one]) for one in classes])
    several = low < high  # one measurement has no range
    x, low, high = classes[several].astype(np.float64), low[several], high[several]
    label = "range at one utilization"
    ranges = [Pieces("range", "range", x, low, x, high, ends="dimension", label=label)] if len(x) else []
    each = Series(
        "throughput", "range", percent[usable].astype(np.float64), rates[usable], label="each measurement"
    )
    order = np.argsort(each.x, kind="stable")
    each = Series("throughput", "range", each.x[order], each.y[order], label="each measurement")
    apart = base.far_apart(rates[usable].tolist())
    return Panel(
        "throughput",
        Axis("Goodput", unit),
        (each,),
        pieces=tuple(ranges),
        height=0.6,
        zero=not apart,
        log=apart,
    )


def rows_of(subjects: Sequence[Subject]) -> list[dict[str, Any]]:
    """Summary rows of analysed measurements: the connection with most data stands for each."""
    rows = []
    largest: Mapping[str, Any]
    for subject in subjects:
        connections = summary_of(subject.results, "connections").get("connections") or ()
        largest = max(connections, key=lambda one: _acked(one), default={})
        rows.append(
            {
                "name": subject.name,
                "utilization": summary_of(subject.results, "utilization").get("value"),
                "goodput_bps": largest.get("goodput_bps"),
                "call_dropped": summary_of(subject.results, "utilization").get("call_dropped"),
            }
        )
    return rows


def _acked(connection: Mapping[str, Any]) -> float:
    counts = connection.get("bytes")
    return number(counts.get("acked")) or 0.0 if isinstance(counts, Mapping) else 0.0


def build_many(subjects: Sequence[Subject], options: PlotOptions) -> Figure:
    """The histogram of several measurements."""
    return build_rows(rows_of(subjects), options)


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """The histogram of one measurement: one bar."""
    return build_many([Subject("", measurement, results)], options)


PLOT = Plot(
    "utilization",
    "Utilization of several measurements, with their range of throughput (Figure 6)",
    build,
    build_many,
)
