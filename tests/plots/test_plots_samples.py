"""The multi-layer plot of the five sample measurements: the story of each is in its figure."""

from __future__ import annotations

import pytest
from support_samples import SAMPLES

import multitracer as mt
from multitracer.plots.figures import multilayer
from multitracer.plots.mpl import renderer as mpl
from multitracer.plots.panel import Figure
from multitracer.plots.plot import PlotOptions


def figure(name: str, **options) -> Figure:
    analysis = mt.analyze(mt.read(SAMPLES / name))
    return multilayer.build(analysis.measurement, analysis.results, PlotOptions(**options))


def marks(figure: Figure) -> dict[str, int]:
    return {one.name: len(one.x) for panel in figure.panels for one in panel.marks}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("flow-control", {}),
        ("link-resets-sack", {"RlpSnd_rst": 3, "timeout:genuine": 1, "retransmission:fast": 6}),
        ("link-resets-vj", {"RlpSnd_rst": 3, "TcpRcv_corrupted": 22, "retransmission:slow_start": 32}),
        ("local-drops", {"TcpSnd_local_drop": 10, "retransmission:fast": 10}),
        ("spurious-timeouts", {"timeout:spurious": 1}),
    ],
)
def test_marks_are_what_happened(name, shown):
    found = marks(figure(name))
    assert {key: found.get(key) for key in shown} == shown
    assert ("RlpSnd_rst" in found) == ("RlpSnd_rst" in shown)
    assert ("TcpSnd_local_drop" in found) == ("TcpSnd_local_drop" in shown)


def test_flow_control_shows_both_slopes():
    shown = figure("flow-control", from_s=30, to_s=45)
    xoff = next(s for s in shown.panel("lanes").spans if s.name == "RlpSnd_xoff")
    assert int(xoff.inside(shown.window).sum()) == 3
    slopes = {s.name: (s.y[1] - s.y[0]) / (s.x[1] - s.x[0]) for s in shown.panel("sequence").series[2:4]}
    # 24 bytes every 20 ms while the link may send; about 20 % less over all (Paper 5.5).
    assert slopes["RlpSnd_data slope"] == pytest.approx(1200, rel=0.01)
    assert 880 < slopes["RlpSnd_data trend"] < 960


def test_a_zoomed_reset_gap_is_drawn(tmp_path):
    shown = figure("link-resets-vj", from_s=105, to_s=137)
    mpl.draw(shown, tmp_path / "gap.png")
    assert "RlpSnd_rst: link resets (1)" in {one.words(shown.window) for one in shown.panel("sequence").marks}
