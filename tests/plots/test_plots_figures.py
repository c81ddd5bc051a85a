"""The paper's figures by name, as data: each finds its window on the samples, or says what is missing."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
import support_plots
from support_samples import SAMPLES

import multitracer as mt
from multitracer import registry
from multitracer.model import schema
from multitracer.model.analysis import Result
from multitracer.model.errors import UsageError
from multitracer.model.table import Table
from multitracer.plots.figures import corrupted_segments, utilization
from multitracer.plots.mpl import renderer as mpl
from multitracer.plots.panel import Figure, Panel, Pieces, Series
from multitracer.plots.plot import PlotOptions, Subject, build


@functools.cache
def analysis(name: str):
    return mt.analyze(mt.read(SAMPLES / name))


def figure(kind: str, name: str, **options) -> Figure:
    found = analysis(name)
    return registry.load(registry.PLOTS[kind]).build(found.measurement, found.results, PlotOptions(**options))


def pieces(built: Figure, name: str) -> Pieces:
    return next(one for panel in built.panels for one in panel.pieces if one.name == name)


def series(built: Figure, name: str) -> Series:
    return next(one for panel in built.panels for one in panel.series if one.name == name)


def lengths(one: Pieces) -> np.ndarray:
    return one.x_end - one.x


def all_pieces(built: Figure, name: str) -> list[Pieces]:
    return [one for panel in built.panels for one in panel.pieces if one.name == name]


def test_sender_measures_what_can_be_read_off():
    built = figure("sender", "local-drops")
    lanes = built.panel("lanes")
    assert lanes.lanes == ("slow start", "pause")
    data, acks = series(built, "TcpSnd_data"), series(built, "TcpSnd_ack")
    rtt = pieces(built, "RTT")
    # It runs from a segment to the ACK that reaches its end.
    assert rtt.x[0] in data.x
    at = int(np.searchsorted(acks.x, rtt.x_end[0]))
    assert acks.y[at] == rtt.y[0]
    flight = pieces(built, "outstanding")
    sent = data.y[data.x <= flight.x[0]].max() + 460
    acked = acks.y[acks.x <= flight.x[0]].max()
    assert (flight.y[0], flight.y_end[0]) == (acked, sent)
    pause = next(one for one in lanes.spans if one.name == "pause")
    new = np.maximum.accumulate(data.y)
    inside = (data.x > pause.start[0]) & (data.x < pause.end[0])
    assert not np.any(np.diff(new, prepend=0)[inside] > 0)


def test_sender_says_what_it_does_not_find():
    assert any("no fast retransmit" in note for note in figure("sender", "flow-control").notes)


def test_layer_rates_compares_the_rates():
    built = figure("layer-rates", "flow-control")
    note = built.notes[0]
    rates = {
        name: next(s for s in built.panel("sequence").series if s.name == f"{name} trend")
        for name in ("RlpSnd_data", "TcpRcv_data")
    }
    slopes = {name: (s.y[1] - s.y[0]) / (s.x[1] - s.x[0]) for name, s in rates.items()}
    assert f"{100 * slopes['TcpRcv_data'] / slopes['RlpSnd_data']:.1f}%" in note


@pytest.mark.parametrize(
    ("value", "percent"), [(0.99, 99), (0.9901, 100), (1.0, 100), (0.95, 95), (0.9201, 93)]
)
def test_utilization_rounds_as_the_paper_does(value, percent):
    built = utilization.build_rows([{"name": "a", "utilization": value, "goodput_bps": 7000.0}])
    assert built.panel("utilization").series[0].x.tolist() == [percent]


def test_utilization_counts_and_ranges():
    rows = [
        {"name": "a", "utilization": 0.991, "goodput_bps": 7000.0},
        {"name": "b", "utilization": 0.999, "goodput_bps": 9000.0},
        {"name": "c", "utilization": 0.913, "goodput_bps": None},
        {"name": "d", "utilization": None},
        {"name": "e", "utilization": 0.985, "goodput_bps": 8000.0},
    ]
    built = utilization.build_rows(rows)
    bars = built.panel("utilization").series[0]
    assert dict(zip(bars.x.tolist(), bars.y.tolist(), strict=True)) == {92: 25.0, 99: 25.0, 100: 50.0}
    ranges = built.panel("throughput").pieces[0]
    assert (ranges.y[-1], ranges.y_end[-1]) == (7.0, 9.0)
    assert "3 of 4 at 98% or more; 1 at 95% or less; lowest 91.3%" in built.subtitle
    assert "1 measurement without" in built.notes[0]
    with pytest.raises(UsageError, match="none of 1 measurement has a utilization"):
        utilization.build_rows([{"utilization": None}])


def test_dropped_calls_are_no_transfers():
    rows = [
        {"name": "a", "utilization": 0.99, "goodput_bps": 7000.0},
        {"name": "b", "utilization": 0.98, "goodput_bps": 900.0, "call_dropped": 1},
    ]
    built = utilization.build_rows(rows)
    assert built.title == "Utilization of 1 transfer"
    assert any("1 measurement whose call was dropped" in note for note in built.notes)
    assert [panel.y.label for panel in built.panels][-1] == "Goodput"


def test_utilization_of_several_measurements():
    subjects = [
        Subject(name, analysis(name).measurement, analysis(name).results)
        for name in ("flow-control", "link-resets-vj")
    ]
    built = build(registry.load(registry.PLOTS["utilization"]), subjects)
    assert built.panel("utilization").series[0].y.tolist() == [50.0, 50.0]


def test_local_drop_shows_a_drop_that_stands_alone():
    built = figure("local-drop", "local-drops")
    repair = pieces(built, "repair")
    drops = analysis("local-drops").results["local_drops"].tables["local_drops"]
    t0 = analysis("local-drops").measurement.t0_ns
    row = int(np.argmin(np.abs(drops["t_ns"] - t0 - repair.x[0] * 1e9)))
    assert repair.x_end[0] == pytest.approx((drops["recovered_ns"][row] - t0) / 1e9)
    others = np.delete((drops["t_ns"] - t0) / 1e9, row)
    assert not np.any((others > repair.x[0]) & (others < repair.x_end[0]))
    assert {panel.name for panel in built.panels} == {"sequence", "window"}


@pytest.mark.parametrize("size", [(16.0, 10.0), (13.0, 8.0), (9.0, 6.0)])
def test_reset_gaps_hides_no_line_behind_its_words(size):
    drawn = mpl.draw(figure("reset-gaps", "link-resets-vj"), size=size)
    axes = drawn.axes[0]
    boxes = [words.get_window_extent() for words in axes.texts if words.get_text().startswith("gap of")]
    assert len(boxes) == 3
    for line in axes.lines:
        corners = line.get_transform().transform(np.column_stack([*line.get_data()]))
        if line.get_marker() != "None":  # the strokes at the ends of the gaps' lines
            assert not any(box.count_contains(corners) for box in boxes)
    for collection in axes.collections:
        for path in collection.get_paths() if collection.get_gid() == "reset gap" else ():
            begin, end = collection.get_transform().transform(path.vertices)
            along = begin + np.linspace(0, 1, 200)[:, None] * (end - begin)
            assert not any(box.count_contains(along) for box in boxes)


def test_reset_gaps_measures_every_gap():
    built = figure("reset-gaps", "link-resets-vj")
    gaps = all_pieces(built, "reset gap")
    told = analysis("link-resets-vj").results["link_resets"].summary["resets"]
    assert [float(lengths(one)[0]) for one in gaps] == pytest.approx([one["gap_s"] for one in told])
    assert all("discarded" in one.texts[0] or "lost" in one.texts[0] for one in gaps)
    assert built.window[0] <= min(float(one.x[0]) for one in gaps)


def test_corrupted_segments_puts_ruined_segments_where_they_belong():
    built = figure("corrupted-segments", "link-resets-vj")
    shift = pieces(built, "shift")
    off = shift.y_end - shift.y
    lost = next(one for one in built.panel("sequence").marks if one.name == "TcpSnd_lost")
    # Two whole segments were lost, and every header behind them is off by just these bytes.
    assert len(lost.x) == 2
    assert set(off.tolist()) == {2.0 * 472}
    # The proof that needs none of our reasoning: with the number put right, TCP's own checksum is right.
    assert f"right in {len(off)} of {len(off)}" in built.notes[-1]


def test_multilayer_puts_the_same_segments_there():
    ruined = {one.name: one for one in figure("multilayer", "link-resets-vj").panel("sequence").marks}
    shown = next(
        one
        for one in figure("corrupted-segments", "link-resets-vj").panel("sequence").marks
        if one.role == "corrupted_true"
    )
    belong = ruined["TcpRcv_corrupted_true"]
    assert {*zip(shown.x.tolist(), shown.y.tolist(), strict=True)} <= {
        *zip(belong.x.tolist(), belong.y.tolist(), strict=True)
    }
    assert len(belong.x) == len(ruined["TcpRcv_corrupted"].x) == 22


def test_corrupted_segments_checksum_is_no_formality():
    found = analysis("link-resets-vj")
    selection = corrupted_segments.select(found.measurement, PlotOptions())
    entry = corrupted_segments._worst(found.results["link_resets"].summary["resets"], PlotOptions())
    corruption = corrupted_segments.corruption_between(selection, entry["gap_start"], entry["gap_end"])
    wrong = corruption._replace(true=corruption.true + 472)
    assert corrupted_segments._checked(selection, wrong) == (0, len(corruption.segments))


def timeouts(backoffs: list[int], times: list[float], silences: list[float]) -> dict[str, Result]:
    count = len(backoffs)
    rows = {
        "t_ns": support_plots.seconds(times),
        "source": np.zeros(count),
        "record": np.arange(count) + 100,
        "conn": np.zeros(count),
        "seq": np.full(count, 5001),
        "length": np.full(count, 500),
        "backoff": backoffs,
        "silence_ns": np.array(silences) * 1e9,
    }
    table = Table.filled(schema.TIMEOUTS, count, rows)
    return support_plots.results() | {"timeouts": Result("timeouts", {}, {"timeouts": table})}


def test_rto_backoff_measures_the_waits_of_the_longest_run():
    plot = registry.load(registry.PLOTS["rto-backoff"])
    found = timeouts([0, 0, 1, 2, 0], [3, 7, 9, 13, 18], [1, 1, 2, 4, 1])
    built = plot.build(support_plots.measurement(), found, PlotOptions())
    waits = all_pieces(built, "wait")
    assert [float(lengths(one)[0]) for one in waits] == [1.0, 2.0, 4.0]
    assert [one.texts[0].split(" = ")[1].split()[0] for one in waits] == ["1", "2", "4"]
    assert "3 timeouts in a row" in built.notes[0]
    assert "4 times" in built.notes[0]
    once = timeouts([0, 0], [3, 7], [1, 1])
    with pytest.raises(UsageError, match="no timeout expired twice in a row"):
        plot.build(support_plots.measurement(), once, PlotOptions())


def test_rto_backoff_follows_a_timer_that_doubles_from_segment_to_segment():
    built = figure("rto-backoff", "backoff")
    waits = [float(lengths(one)[0]) for one in all_pieces(built, "wait")]
    assert waits == pytest.approx([1.46, 2.96, 5.92], abs=0.01)
    assert "bytes 1, 4,721, 5,193, no RTT was measured in between" in built.notes[0]
    assert "4 times" in built.notes[0]


def test_link_burst_measures_burst_and_hole():
    built = figure("link-burst", "link-resets-sack")
    burst, hole = pieces(built, "burst"), pieces(built, "gap")
    again = series(built, "RlpSnd_rexmt")
    new = series(built, "RlpSnd_data")
    inside = (burst.x[0], burst.x_end[0])
    assert not new.inside(inside).any()
    assert again.inside(inside).sum() > 10
    data = series(built, "TcpRcv_data")
    between = (data.x > hole.x[0]) & (data.x < hole.x_end[0])
    assert not between.any()
    assert "no retransmission timer fired" in built.notes[0]
    told = [one["t"] for one in analysis("link-resets-sack").results["link_resets"].summary["resets"]]
    assert not any(inside[0] - 1 < t < inside[1] + 1 for t in told)


def test_flow_control_shows_both_slopes_and_the_gaps():
    built = figure("flow-control", "flow-control")
    labels = [one.label for one in built.panel("sequence").series]
    assert any(label.startswith("trend: ") for label in labels)
    assert any(label.startswith("between XOFFs: ") for label in labels)
    gaps = [float(lengths(one)[0]) for one in all_pieces(built, "gap")]
    told = analysis("flow-control").results["flow_control"].summary["gap_ms"]
    assert len(gaps) == 4
    assert all(told["min"] / 1e3 - 1e-6 <= gap <= told["max"] / 1e3 + 1e-6 for gap in gaps)


@pytest.mark.parametrize(
    ("kind", "sample", "words"),
    [
        ("local-drop", "flow-control", "no segment was dropped"),
        ("reset-gaps", "flow-control", "no link reset"),
        ("corrupted-segments", "link-resets-sack", "no segment was corrupted"),
        ("rto-backoff", "flow-control", "no retransmission timeout"),
        ("flow-control", "local-drops", "no XOFF"),
    ],
)
def test_nothing_of_the_kind_is_said_clearly(kind, sample, words):
    with pytest.raises(UsageError, match=f"{kind}: nothing to show: .*{words}"):
        figure(kind, sample)


@pytest.mark.parametrize("kind", registry.PLOT_ALIASES.values())
@pytest.mark.parametrize("layers", [("snd",), ("rcv",), ("link",), ("kernel",), ("snd", "rcv")])
def test_any_layer_may_be_missing(kind, layers):
    plot = registry.load(registry.PLOTS[kind])
    for found in (support_plots.results(), {}):
        try:
            built = plot.build(support_plots.measurement(*layers), found, PlotOptions())
        except UsageError:
            continue
        assert built.panels
        assert all(isinstance(panel, Panel) for panel in built.panels)


def test_the_users_window_goes_before_the_figures_own():
    built = figure("reset-gaps", "link-resets-vj", from_s=20.0, to_s=45.0)
    assert built.window == (20.0, 45.0)


def test_one_line_for_every_plot(run, tmp_path: Path):
    done = run("plot", "--list")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(registry.PLOTS)
    assert all(len(line) <= 110 for line in lines)
    # the number of the paper's figure is an alias
    refused = run("plot", SAMPLES / "flow-control", "-k", "figure-9", "-o", tmp_path / "x.png")
    assert refused.returncode == 2
    assert "corrupted-segments: nothing to show" in refused.stderr
