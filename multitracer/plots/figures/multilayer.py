"""The multi-layer time/sequence plot: TCP sender, link sender and TCP receiver on one time axis.

Three panels: events (XOFF, reset gaps, idle phases) as lanes; the sequence numbers of all layers, their
graphs moved apart; the sender's windows.

References
----------
Paper 4.5, Figure 5; with a time window, Figures 7 to 12.
"""

from __future__ import annotations

from collections.abc import Iterator

from multitracer.layers.logged import conditions, uncaptured
from multitracer.model.arrays.regression import fit
from multitracer.model.linktype import RLP
from multitracer.model.timeline import Timeline
from multitracer.plots import base
from multitracer.plots.figures import logs
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Axis, Figure, Panel, Series, Spans
from multitracer.plots.plot import Plot, PlotOptions
from multitracer.plots.series import link_layer, result_marks, tcp_layer, trends
from multitracer.plots.series.corrupted import corruption_between, true_marks
from multitracer.plots.series.headline import missing_layers, title_words
from multitracer.plots.series.result_marks import Results
from multitracer.plots.series.selection import select
from multitracer.plots.series.window_layer import window_panel

LANES = {"xoff": "XOFF", "reset": "link reset", "gap": "reset gap", "idle": "link idle"}
# More intervals than this are shown in the lanes only: a striped background would hide the curves.
SHADED = 40


def build(measurement: Timeline, results: Results, options: PlotOptions) -> Figure:
    """The figure of one connection; of logs alone that of `logs`; see `Plot.build`."""
    selection = select(measurement, options)
    frames, events = selection.link("link_frames"), selection.link("link_events")
    if (
        selection.connection is None
        and not len(frames)
        and (uncaptured(measurement) or conditions(measurement))
    ):
        return logs.build(measurement, results, options)
    entity = link_layer.sending_entity(frames)
    kind = RLP if entity is None else measurement.link_type(entity)
    step = options.offset_bytes
    groups = {name: _group(name, rank * step) for name, rank in (("TCP sender", 1), ("TCP receiver", 0))}
    groups["link"] = _group(kind.short, 2 * step)

    rlp = (
        []
        if entity is None
        else [*link_layer.frame_series(selection, frames, entity, 2 * step, groups["link"])]
    )
    snd = [*tcp_layer.data_series(selection, "Snd", step, groups["TCP sender"])]
    rcv = [*tcp_layer.data_series(selection, "Rcv", 0, groups["TCP receiver"])]
    window = base.window_of([*snd, *rcv] or rlp, [*rlp, *snd, *rcv], options)

    starts, ends = result_marks.xoff(selection, results, events, entity)
    resets = result_marks.resets(selection, results, events)
    if options.trends:
        rlp += _link_trends(rlp, starts, ends, window, groups["link"])
        rcv += _trend(rcv, "TcpRcv_data", window, groups["TCP receiver"])

    judged = result_marks.timeout_rows(selection, results)
    marks = [*result_marks.reset_marks(resets, groups["link"], kind.prefix)]
    if judged is not None:
        marks += result_marks.timeout_marks(selection, judged, step, groups["TCP sender"])
    marks += tcp_layer.retransmission_marks(
        selection, step, groups["TCP sender"], without=None if judged is None else judged["record"]
    )
    marks += result_marks.local_drop_marks(selection, results, events, step, groups["TCP sender"])
    marks += tcp_layer.corrupted_marks(selection, 0, groups["TCP receiver"])
    if selection.rcv is not None:
        corruptions = [corruption_between(selection, *reset.gap) for reset in resets if reset.gap is not None]
        marks += true_marks(selection, corruptions, 0, groups["TCP receiver"])

    shades = [*result_marks.gap_spans(resets, ""), *result_marks.xoff_spans(starts, ends, "", kind.prefix)]
    sequence = Panel(
        "sequence",
        Axis("Sequence number" if step == 0 else "Sequence number (layers offset)", "bytes"),
        (*rlp, *snd, *rcv),
        tuple(marks),
        tuple(spans for spans in shades if int(spans.inside(window).sum()) <= SHADED),
    )
    lanes = _lanes(
        [
            *result_marks.xoff_spans(starts, ends, LANES["xoff"], kind.prefix),
            *result_marks.handshake_spans(resets, LANES["reset"]),
            *result_marks.gap_spans(resets, LANES["gap"]),
            *result_marks.idle_spans(results, LANES["idle"]),
        ],
        window,
    )
    windows = window_panel(selection, base.asked(options))
    title, subtitle = title_words(selection, results)
    return Figure(
        PLOT.name,
        title,
        tuple(panel for panel in (lanes, sequence, windows) if panel is not None),
        window,
        subtitle=subtitle,
        notes=tuple(missing_layers(selection, entity)),
        t0_ns=measurement.t0_ns,
        absolute=options.absolute_time and base.on_wall_clock(measurement),
        theme="dark" if options.dark else "light",
    )


def _group(name: str, shift: int) -> str:
    return f"{name} (+{shift:,} bytes)" if shift else name


def _trend(series: list[Series], name: str, window: tuple[float, float], group: str) -> Iterator[Series]:
    for one in series:
        if one.name == name:
            inside = one.inside(window)
            x, y = one.x[inside], one.y[inside]
            found = fit(x, y)
            if found is not None and trends.is_straight(found, x, y):
                label = f"trend: {trends.rate_words(found.rate)}"
                yield trends.series(f"{name} trend", found, "trend", label=label, group=group)


def _link_trends(
    series: list[Series], starts: Floats, ends: Floats, window: tuple[float, float], group: str
) -> Iterator[Series]:
    """The link's rate over all, and while it is not flow controlled (Figure 12)."""
    yield from _trend(series, "RlpSnd_data", window, group)
    inside = (starts < window[1]) & (ends > window[0])
    if not inside.any():
        return
    for one in series:
        if one.name != "RlpSnd_data":
            continue
        rate = link_layer.rate_between(one, starts[inside], ends[inside], window)
        run = link_layer.longest_run(one, starts[inside], ends[inside], window)
        found = fit(run.x, run.y) if run is not None else None
        if rate is not None and found is not None:
            # Drawn beyond its stretch, so that the two slopes can be distinguished.
            until = min(window[1], found.end + max(found.end - found.start, 0.08 * (window[1] - window[0])))
            label = f"between XOFFs: {trends.rate_words(rate)}"
            yield trends.series(
                "RlpSnd_data slope", found, "trend_between", label=label, group=group, until=until
            )


def _lanes(spans: list[Spans], window: tuple[float, float]) -> Panel | None:
    shown = {one.lane for one in spans if one.inside(window).any()}
    used = tuple(lane for lane in LANES.values() if lane in shown)
    if not used:
        return None
    return Panel("lanes", Axis("", ""), spans=tuple(spans), lanes=used, height=0.07 * len(used))


PLOT = Plot(
    "multilayer", "Sequence numbers of all layers over time, with windows and verdicts (Figure 5)", build
)
