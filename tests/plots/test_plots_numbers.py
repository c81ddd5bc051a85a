"""Numbers over and in a figure: those of the text, of the connection that is drawn, with unit and scope."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_conversation import Conversation
from support_samples import SAMPLES

import multitracer as mt
from multitracer import registry
from multitracer.cli import words
from multitracer.model.analysis import Result
from multitracer.model.arrays.regression import fit
from multitracer.plots.figures import cwnd
from multitracer.plots.panel import Figure, Role, Series
from multitracer.plots.plot import PlotOptions
from multitracer.plots.series.trends import is_straight
from multitracer.plots.theme import THEMES
from multitracer.report import sections


@functools.cache
def analysis(name: str) -> Any:
    return mt.analyze(mt.read(SAMPLES / name))


def drawn(found: Any, kind: str, **options: Any) -> Figure:
    return registry.load(registry.PLOTS[kind]).build(found.measurement, found.results, PlotOptions(**options))


def two_flows(path: Path) -> Any:
    """Two connections of unlike size, one behind the other."""
    small, large = Conversation(port_a=4000), Conversation(port_a=4001)
    for one, start_ms, rounds in ((small, 0.0, 3), (large, 2000.0, 6)):
        one.handshake(start_ms)
        one.rounds(start_ms + 200, 1, rounds, 100)
    both = Conversation(packets=sorted(small.packets + large.packets, key=lambda one: one[0]))
    return mt.analyze(mt.read(both.write(path / "two.pcap")))


@pytest.mark.parametrize("name", ["link-resets-vj", "bbr", "flow-control", "host-queue"])
def test_page_and_figure_have_the_goodput_of_the_text_with_its_span(name: str) -> None:
    found = analysis(name)
    contract = found.contract(99)
    most = max(contract["connections"], key=lambda one: one["bytes"]["unique"])
    head = sections.subtitle(contract)
    stated = re.search(r"([\d,]+) bytes, goodput ([\d.,]+ \S+) over ([\d.,]+ \S+?)(?:;|$)", head)
    assert stated is not None, head
    size, rate, seconds = stated.groups()
    text = words.rates(most)
    assert re.search(rf"goodput {re.escape(rate)}\b", text)
    assert f"over {seconds} from" in text
    assert f"{size} bytes, goodput {rate} over {seconds}, " in drawn(found, "multilayer").subtitle


def test_a_utilization_of_several_connections_is_told_as_theirs(tmp_path: Path) -> None:
    found = two_flows(tmp_path)
    results = {**found.results, "utilization": Result("utilization", {"value": 0.5})}
    built = registry.load(registry.PLOTS["multilayer"]).build(found.measurement, results, PlotOptions())
    assert built.subtitle.endswith("utilization 50.0% by all 2 connections")
    assert "by all" not in drawn(analysis("link-resets-vj"), "multilayer").subtitle


def connection(found: Any, **changes: Any) -> dict[str, Result]:
    """The answers, with the entry of the only connection changed."""
    (entry,) = found.results["connections"].summary["connections"]
    return {**found.results, "connections": Result("connections", {"connections": [{**entry, **changes}]})}


def test_the_queue_in_bytes_needs_a_rate_not_a_log(tmp_path: Path) -> None:
    small = Conversation()
    small.handshake()
    small.warm_up()
    found = mt.analyze(mt.read(small.write(tmp_path / "one.pcap")))
    build = registry.load(registry.PLOTS["queue"]).build
    bare = build(found.measurement, found.results, PlotOptions())
    assert any("the rate of the link is not known" in note for note in bare.notes)
    known = connection(found, bottleneck={"rate_bps": 8e6, "rates_bps": None, "rate_exact": True})
    built = build(found.measurement, known, PlotOptions())
    assert built.panel("queue").series[0].name == "bdp queue"
    assert any("link 8 Mbit/s (IP packets, from the captures)" in note for note in built.notes)


def test_figures_have_the_min_rtt_of_the_text() -> None:
    found = analysis("link-resets-vj")
    said = words.rtt(found.contract(99)["connections"][0]).partition(",")[0].removeprefix("min ")
    line = next(one for one in drawn(found, "rtt").panel("rtt").series if one.name == "TcpSnd_min_rtt")
    assert line.label == f"min RTT: {said}"
    assert drawn(found, "queue").notes[0].startswith(f"min RTT {said}, ")
    short = connection(found, rtt={"base_ms": 0.029})
    built = registry.load(registry.PLOTS["queue"]).build(found.measurement, short, PlotOptions())
    assert built.notes[0].startswith("min RTT 29 µs, ")


def test_idle_phases_are_drawn_of_all_connections(tmp_path: Path) -> None:
    found = two_flows(tmp_path)
    phases = [
        {"start": 0.5, "end": 0.500024, "cause": "application", "conn": 0},
        {"start": 2.5, "end": 2.9, "cause": "receiver_window", "conn": 1},
    ]
    results = {**found.results, "idle_phases": Result("idle_phases", {"phases": phases})}
    build = registry.load(registry.PLOTS["idle"]).build
    built = build(found.measurement, results, PlotOptions())
    assert built.window[0] <= 0.5 < 2.9 <= built.window[1]
    assert built.notes[0] == "link of 2 connections idle for 400 ms in 2 phases"
    total = built.panel("total")
    assert total.y.unit == "ms"
    assert {one.label for one in total.series} == {"application: 24 µs", "receiver window: 400 ms"}
    assert build(found.measurement, results, PlotOptions(from_s=2.0, to_s=2.6)).window == (2.0, 2.6)


def test_a_letter_of_a_figure_is_in_its_legend_and_has_one_meaning() -> None:
    meanings: dict[str, set[str]] = {}
    for kind in ("multilayer", "cwnd", "tsg"):
        for name in ("link-resets-vj", "spurious-timeouts", "bbr", "backoff"):
            built = drawn(analysis(name), kind)
            for one in (mark for panel in built.panels for mark in panel.marks if mark.letter):
                entry = one.words((-1e9, 1e9))
                assert entry.startswith(f"{one.letter}: ")
                meanings.setdefault(one.letter, set()).add(
                    entry.partition(": ")[2].partition(" ")[0].strip(",")
                )
    assert meanings["R"] == {"retransmission"}
    assert meanings["T"] <= {"timeout", "RTO"}
    assert "F" in meanings
    assert "3" not in meanings or meanings["3"] == {"third"}


def test_samples_of_the_congestion_window_are_dots() -> None:
    found = analysis("link-resets-vj")
    panel = drawn(found, "multilayer", from_s=25.0, to_s=45.0).panel("window")
    line, dots = (
        next(one for one in panel.series if one.name == f"TcpSnd_cwnd{end}") for end in ("", " samples")
    )
    assert dots.kind == "points"
    assert dots.x.tolist() == line.x.tolist()


def test_a_trend_is_drawn_where_a_line_fits() -> None:
    x = np.linspace(0.0, 10.0, 50)
    straight, bent = 100.0 * x, np.minimum(300.0 * x, 600.0 + 60.0 * (x - 2.0))
    for y, fits in ((straight, True), (bent, False)):
        line = fit(x, y)
        assert line is not None
        assert is_straight(line, x, y) is fits


def test_idle_causes_and_arrivals_have_colours_of_their_own() -> None:
    for theme in THEMES.values():
        roles: tuple[Role, ...] = ("idle_application", "idle_last_ack", "idle_pacing", "idle_handshake")
        idle = {theme.looks[role].color for role in roles}
        assert len(idle) == 4
        assert theme.looks["rcv_data"].color not in idle


def test_the_lane_of_windows_is_empty_only_where_a_window_is_not_known() -> None:
    """Between segments less than 10 ms apart, too."""
    x = np.arange(0.0, 1.0, 0.004)
    flight = Series(
        "TcpSnd_flight", "flight", x, np.where(np.arange(len(x)) % 2, 9_000.0, 10_000.0), kind="steps"
    )
    limit = Series("TcpSnd_cwnd", "cwnd", np.array([0.5]), np.array([10_000.0]), kind="steps")
    (spans,) = cwnd._limits((flight, limit), flight, 1_000)
    assert spans.label == "congestion window"
    assert spans.start.tolist() == pytest.approx([0.5], abs=0.005)
    assert spans.end.tolist() == pytest.approx([x[-1]])
    (note,) = cwnd._blank((flight, limit), (0.0, 1.0))
    assert note == "congestion window not known before 0.5 s: the log's first sample"
