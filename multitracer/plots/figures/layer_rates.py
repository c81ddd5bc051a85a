"""A typical measurement: all layers with their trend lines, and the difference between the two rates.

References
----------
Paper 4.5, Figure 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from multitracer.model.arrays.regression import fit
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures import multilayer
from multitracer.plots.panel import Figure, Series
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import trends
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import select
from multitracer.plots.series.window_layer import segment_size


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """The multi-layer plot with both rates compared; logs alone have no two rates to compare."""
    figure = multilayer.build(measurement, results, replace(options, trends=True))
    if not any(panel.name == "sequence" for panel in figure.panels):
        raise base.nothing(PLOT.name, "neither segments nor frames of a link")
    selection = select(measurement, options)
    mss = segment_size(selection, selection.states())
    notes = [*_rates(figure.panel("sequence").series, figure.window, mss), *figure.notes]
    return replace(figure, name=PLOT.name, notes=tuple(notes))


def _rates(series: tuple[Series, ...], window: tuple[float, float], mss: int | None) -> Iterator[str]:
    rate: dict[str, float] = {}
    for name in ("RlpSnd_data", "TcpRcv_data"):
        one = base.by_name(series, name)
        found = None if one is None else fit(one.x[one.inside(window)], one.y[one.inside(window)])
        if found is None or not np.isfinite(found.rate) or found.rate <= 0:
            return
        rate[name] = found.rate
    link, tcp = rate["RlpSnd_data"], rate["TcpRcv_data"]
    words = f"link {trends.rate_words(link)}, TCP {trends.rate_words(tcp)}: {100 * tcp / link:.1f}% of it"
    if mss and link > tcp:
        more = mss * (link / tcp - 1)
        words += f"; headers, framing and link retransmissions take {more:.0f} bytes per segment of {mss}"
    yield words


PLOT = Plot(
    "layer-rates", "A typical transfer: all layers with trend lines and their rates (Figure 5)", build
)
