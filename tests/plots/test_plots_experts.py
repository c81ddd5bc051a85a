"""The experts' figures as data, against the tables that they are made of."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
import support_plots
from hypothesis import given, strategies as st
from support_samples import SAMPLE_NAMES, SAMPLES

import multitracer as mt
from multitracer import registry
from multitracer.layers.link.path import link_path
from multitracer.model.errors import UsageError
from multitracer.plots.figures import throughput
from multitracer.plots.mpl import renderer as mpl
from multitracer.plots.panel import Figure, Series
from multitracer.plots.plot import PlotOptions, Subject, build

KINDS = [name for name in registry.PLOTS if name not in {*registry.PLOT_ALIASES.values(), "multilayer"}]


@functools.cache
def analysis(name: str):
    return mt.analyze(mt.read(SAMPLES / name))


def figure(kind: str, name: str, **options) -> Figure:
    found = analysis(name)
    return registry.load(registry.PLOTS[kind]).build(found.measurement, found.results, PlotOptions(**options))


def series(built: Figure, name: str) -> Series:
    return next(one for panel in built.panels for one in panel.series if one.name == name)


def test_tsg_has_a_bar_for_every_segment_and_an_r_for_every_repeat():
    built = figure("tsg", "link-resets-vj")
    bars = built.panel("sequence").pieces
    told = analysis("link-resets-vj").results["connections"].summary["connections"][0]
    assert sum(float((one.y_end - one.y).sum()) for one in bars) == told["bytes"]["sent"]
    again = next(one for one in built.panel("sequence").marks if one.letter == "R")
    assert len(again.x) == told["retransmissions"]["total"]
    assert {one.name: len(one.x) for one in bars if one.name != "data"} == {
        cause: count for cause, count in told["retransmissions"].items() if count and cause != "total"
    }


def test_tsg_marks_third_duplicates_sacks_and_the_window():
    built = figure("tsg", "link-resets-sack")
    letters = {one.letter for one in built.panel("sequence").marks}
    assert {"R", "S"} <= letters
    ack, edge = series(built, "TcpSnd_ack"), series(built, "TcpSnd_edge")
    assert np.all(np.diff(edge.y) >= 0)
    assert np.all(edge.y >= ack.y[np.searchsorted(ack.x, edge.x)])


def test_tsg_counts_duplicates_anew_after_each_advance():
    built = figure("tsg", "local-drops")
    third = next(one for one in built.panel("sequence").marks if one.letter == "3")
    m = analysis("local-drops").measurement
    rows = m.table("segments")
    acks = rows.where((rows["source"] == m.snd) & (rows["dir"] == 1)).sorted_by("t_ns")
    expected, run = [], 0
    for kind, t_ns in zip(acks.words("ack_kind"), acks["t_ns"].tolist(), strict=True):
        run = 0 if kind == "advance" else run + (kind == "duplicate")
        if kind == "duplicate" and run == 3:
            expected.append((t_ns - m.t0_ns) / 1e9)
    assert third.x.tolist() == pytest.approx(expected)
    assert expected


def test_rtt_samples_are_those_of_the_analysis():
    built = figure("rtt", "flow-control")
    told = analysis("flow-control").results["connections"].summary["connections"][0]["rtt_ms"]
    samples = series(built, "TcpSnd_rtt")
    assert len(samples.x) == told["samples"]
    scale = {"s": 1e3, "ms": 1.0}[built.panel("rtt").y.unit]
    assert samples.y.min() * scale == pytest.approx(told["min"], abs=1e-3)
    assert samples.y.max() * scale == pytest.approx(told["max"], abs=1e-3)
    assert {"TcpSnd_srtt", "TcpSnd_rto"} <= {one.name for one in built.panel("rtt").series}


def test_rtt_shows_what_karns_rule_leaves_out():
    again = series(figure("rtt", "link-resets-sack"), "TcpSnd_rtt_timestamp")
    told = analysis("link-resets-sack").results["round_trips"].summary["connections"][0]["timestamp"]
    assert len(again.x) == told["of_what_was_sent_again"] == 7
    assert again.y.max() == pytest.approx(told["max_ms"] / 1e3, abs=1e-3)
    names = {one.name for one in figure("rtt", "link-resets-vj").panel("rtt").series}
    assert "TcpSnd_rtt_timestamp" not in names, "no timestamps option"


def test_cwnd_says_what_limits():
    built = figure("cwnd", "link-resets-vj")
    spans = built.panel("lanes").spans
    edges = np.sort(np.concatenate([np.stack([one.start, one.end], axis=1) for one in spans]), axis=0)
    assert np.all(edges[1:, 0] >= edges[:-1, 1] - 1e-9)
    receiver = next(one for one in spans if one.role == "limit_receiver")
    # Between 12 s and 24 s cwnd is far above the 8 KB that the receiver offers.
    inside = (receiver.start < 24) & (receiver.end > 12)
    held = np.minimum(receiver.end[inside], 24) - np.maximum(receiver.start[inside], 12)
    assert held.sum() > 11.5


@given(
    st.lists(st.tuples(st.floats(0, 99.9), st.integers(0, 10_000)), min_size=1, max_size=200),
    st.sampled_from([0.1, 1.0, 2.0, 10.0]),
)
def test_binned_rates_lose_no_byte(pairs, step):
    t = np.sort(np.array([pair[0] for pair in pairs]))
    size = np.array([pair[1] for pair in pairs])
    starts, rate = throughput.binned_rate(t, size, (0.0, 100.0), step)
    assert float(rate.sum()) * step / 8 == pytest.approx(size.sum())
    assert starts[0] == 0
    assert np.all(np.diff(starts) == pytest.approx(step))


def test_throughput_holds_all_bytes():
    built = figure("throughput", "local-drops")
    told = analysis("local-drops").results["connections"].summary["connections"][0]["bytes"]
    panel = built.panel("throughput")
    size = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6}[panel.y.unit]
    step = float(built.notes[0].split()[-2])
    for name, count in (("throughput", told["sent"]), ("goodput", told["acked"])):
        assert series(built, name).y.sum() * size * step / 8 == pytest.approx(count)


def test_queue_is_rtt_less_the_smallest():
    rtt, queue = figure("rtt", "flow-control"), figure("queue", "flow-control")
    samples = series(rtt, "TcpSnd_rtt").y
    assert series(queue, "queueing delay").y == pytest.approx(samples - samples.min(), abs=1e-4)
    assert series(queue, "bdp queue").y.max() < 16_384  # no more than the receiver's window can be queued


def test_one_way_delays_state_their_bound():
    built = figure("owd", "link-resets-vj")
    assert {one.name for one in built.panel("owd").series} == {"owd_data", "owd_ack"}
    assert all(np.all(one.y > 0) for one in built.panel("owd").series)
    clocks = analysis("link-resets-vj").measurement.clocks
    ends = (analysis("link-resets-vj").measurement.snd, analysis("link-resets-vj").measurement.rcv)
    bound = sum(clock.uncertainty_ns or 0 for clock in clocks if clock.source in ends) / 1e6
    assert f"{bound:.3g} ms" in built.notes[0]


def test_layers_obey_time():
    """Nothing arrives before it is sent, on any layer; packets take the frames that their size asks for."""
    built = figure("layers", "link-resets-sack")
    pieces = {one.name: one for one in built.panel("layers").pieces}
    assert {"down", "up", "ack_down", "ack_up", "frames", "again", "lost"} <= set(pieces)
    for one in pieces.values():
        assert np.all(one.x_end >= one.x - 0.005), one.name
    # Data goes down the lanes, ACKs go up.
    assert (pieces["down"].y[0], pieces["down"].y_end[0], pieces["up"].y_end[0]) == (0, 1, 3)
    assert (pieces["ack_down"].y[0], pieces["ack_down"].y_end[0], pieces["ack_up"].y_end[0]) == (3, 2, 0)
    frames = [int(words.split(", ")[1].split()[0]) for words in pieces["down"].details]
    assert 18 <= np.median(frames) <= 26  # 520 bytes in frames of 24
    # What a line says leaves TCP leaves it: every start is a packet of the sender's capture.
    m = analysis("link-resets-sack").measurement
    rows = m.table("segments")
    sent = rows["t_ns"][(rows["source"] == m.snd) & (rows["dir"] == 0)]
    assert np.isin(np.round(pieces["down"].x, 6), np.round((sent - m.t0_ns) / 1e9, 6)).all()


def test_layers_show_each_transmission_once():
    """Copies that arrive twice are logged without their place: they were not lost."""
    m = analysis("local-drops").measurement
    pieces = {one.name: one for one in figure("layers", "local-drops").panel("layers").pieces}
    truth = json.loads((SAMPLES / "local-drops" / "truth.json").read_text())
    assert len(pieces["lost"].x) == truth["frames_lost_on_air"][0]
    sent = link_path(m).sent
    assert len(pieces["again"].x) == np.count_nonzero(sent["attempt"] > 0)
    assert sum(len(pieces[name].x) for name in ("frames", "again", "lost")) == len(sent)


def test_idle_adds_up():
    built = figure("idle", "link-resets-vj")
    told = analysis("link-resets-vj").results["utilization"].summary["idle_s"]
    ends = [float(one.y[-1]) for one in built.panel("total").series]
    assert sum(ends) == pytest.approx(told, abs=1e-3)
    assert built.panel("lanes").lanes == tuple(
        one.label.rpartition(":")[0] for one in built.panel("total").series
    )


def test_cdf_ends_at_all_samples():
    built = figure("cdf", "link-resets-vj")
    for one in built.panel("cdf").series:
        assert np.all(np.diff(one.x) >= 0)
        assert one.y[-1] == 100.0
    assert built.x.unit in ("s", "ms")


def test_compare_takes_several_and_others_refuse():
    names = SAMPLE_NAMES[:2]
    subjects = [Subject(name, analysis(name).measurement, analysis(name).results) for name in names]
    for kind in ("compare", "cdf"):
        built = build(registry.load(registry.PLOTS[kind]), subjects)
        assert [one.name for one in built.panels[0].series] == list(names)
        roles = [one.role for one in built.panels[0].series]
        assert len(set(roles)) == len(roles)
    with pytest.raises(UsageError, match="shows one measurement"):
        build(registry.load(registry.PLOTS["rtt"]), subjects)
    with pytest.raises(UsageError, match="at most 8"):
        build(registry.load(registry.PLOTS["compare"]), subjects * 5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given_layers", [("snd",), ("rcv",), ("link",), ("kernel",), ("snd", "rcv"), ()])
def test_any_layer_may_be_missing(kind, given_layers):
    plot = registry.load(registry.PLOTS[kind])
    for found in (support_plots.results(), {}):
        try:
            built = plot.build(support_plots.measurement(*given_layers), found, PlotOptions())
        except UsageError:
            continue
        assert all(panel.lanes or np.isfinite(panel.limits(built.window)).all() for panel in built.panels)


@pytest.mark.parametrize("kind", ["tsg", "layers", "cwnd"])
def test_they_are_drawn(kind, tmp_path):
    path = tmp_path / "figure.png"
    mpl.draw(figure(kind, "link-resets-vj"), path, size=(8.0, 5.0), theme="dark")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_command_line_compares(run, tmp_path):
    target = tmp_path / "all.png"
    done = run(
        "plot",
        *(SAMPLES / name for name in SAMPLE_NAMES[:2]),
        SAMPLES / "README.md",
        "-k",
        "compare",
        "-o",
        target,
    )
    assert done.returncode == 0, done.stderr
    assert target.stat().st_size > 10_000
