"""The interactive renderer: layers as data, packing as a property, the layout as Bokeh has it."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bokeh.embed import json_item
from bokeh.models import HoverTool
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import multitracer as mt
from multitracer.model.errors import UsageError
from multitracer.plots.bokeh import page
from multitracer.plots.bokeh.layers import SMALL, Layer, layers
from multitracer.plots.bokeh.pack import pack, pack_words
from multitracer.plots.folding import folded
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Pieces, Series, Spans


def unpacked(packed: dict[str, Any]) -> dict[str, np.ndarray]:
    """As assets/unpack.js does it."""
    data = zlib.decompress(base64.b64decode(packed["data"]))
    rows, at, found = packed["rows"], 0, {}
    for head in packed["columns"]:
        if head["kind"] == "float":
            found[head["name"]] = np.frombuffer(data, "<f8", rows, at)
            at += 8 * rows
        else:
            planes = np.frombuffer(data, np.uint8, 4 * rows, at).reshape(4, rows)
            steps = np.ascontiguousarray(planes.T).view("<i4").ravel()
            found[head["name"]] = (head["base"] + np.cumsum(steps, dtype=np.float64)) / head["scale"]
            at += 4 * rows
    return found


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(np.float64, st.integers(0, 60), elements=st.floats(-1e7, 1e12, allow_nan=False)),
    st.sampled_from([1, 1_000, 1_000_000]),
)
def test_what_is_packed_comes_back(values, step):
    times = np.rint(np.sort(values) / 1e6 * 1e9 / step) * step / 1e9
    whole = np.rint(values / 1e3)
    found = unpacked(pack({"x": times, "y": whole, "z": values}))
    np.testing.assert_allclose(found["x"], times, rtol=1e-15, atol=1e-9)
    np.testing.assert_array_equal(found["y"], whole)
    np.testing.assert_array_equal(found["z"], values)


def test_words_come_back():
    words = ["</script>", "é\u2028", ""]
    assert json.loads(zlib.decompress(base64.b64decode(pack_words(words)))) == words


def test_packing_is_small():
    t = np.cumsum(np.random.default_rng(1).exponential(2e-4, 100_000)).round(6)
    packed = pack({"x": t, "y": np.arange(100_000) * 1448.0, "record": np.arange(100_000)})
    assert len(packed["data"]) < 3 * 100_000  # less than 3 bytes a point, in place of 24


def test_times_of_other_layers_are_not_packed_again():
    rng = np.random.default_rng(1)
    sent, acks = (np.cumsum(rng.exponential(2e-4, rows)).round(6) for rows in (4_000, 2_000))
    both = np.sort(np.concatenate([sent, acks]))
    before = {"L0": sent, "L1": acks}
    assert pack({"x": acks}, before)["columns"] == [{"name": "x", "kind": "times", "of": ["L1"]}]
    assert pack({"x": both}, before)["columns"] == [{"name": "x", "kind": "times", "of": ["L0", "L1"]}]
    other = both.copy()
    other[7] += 1e-6
    np.testing.assert_allclose(unpacked(pack({"x": other}, before))["x"], other, atol=1e-9)


def figure(*panels: Panel) -> Figure:
    return Figure("f", "t", panels, (0.0, 10.0))


def test_layers_are_sorted_finite_and_in_their_place():
    x = np.array([3.0, 1.0, np.nan, 2.0])
    panel = Panel(
        "p",
        Axis("y", "bytes"),
        marks=(
            Marks("m", "timeout", x, x, letter="R", texts=("a", "b", "c", ""), details=("A", "B", "C", "D")),
        ),
        pieces=(Pieces("d", "packet_path", np.array([5.0]), np.zeros(1), np.array([4.0]), np.ones(1)),),
    )
    pieces, marks = layers(figure(panel))
    assert marks.columns["x"].tolist() == [1.0, 2.0, 3.0]
    assert marks.words == ("B", "D", "A")
    assert marks.texts == ("R b", "R", "R a")
    assert (pieces.columns["x"][0], pieces.columns["x1"][0], pieces.columns["y"][0]) == (4.0, 5.0, 1.0)
    assert pieces.reach == 1.0


def test_spans_lie_in_their_lanes_or_behind():
    spans = Spans("s", "reset_gap", np.array([1.0]), np.array([2.0]), lane="b")
    lanes = Panel("lanes", Axis("", ""), spans=(spans,), lanes=("a", "b"))
    behind = Panel("p", Axis("", ""), spans=(Spans("s", "reset_gap", np.array([1.0]), np.array([2.0])),))
    found = layers(figure(lanes, behind))
    assert [layer.kind for layer in found] == ["bands", "shades"]
    assert found[0].columns["y"].tolist() == [pytest.approx(0.62)]


def layer(kind: str, count: int, **columns: Any) -> Layer:
    x = np.linspace(0, 10, count)
    return Layer("L", "p", kind, "n", "snd_data", "", "", {"x": x, **columns})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["points", "steps", "bands"])
def test_large_layers_are_thinned_and_small_ones_are_not(kind):
    count = 10 * SMALL
    y = np.random.default_rng(2).integers(0, 1000, count).astype(float)
    extent = {"x1": np.linspace(0, 10, count) + 1e-4, "y1": y} if kind == "bands" else {}
    large = layer(kind, count, y=y, **extent)
    seen = large.seen((0.0, 10.0), (0.0, 1000.0), 300, 100)
    assert 300 <= len(seen) < count
    assert np.all(np.diff(seen) > 0)
    if kind != "bands":
        assert {y[seen].min(), y[seen].max()} == {y.min(), y.max()}
    small = layer(kind, SMALL, y=y[:SMALL], **{k: v[:SMALL] for k, v in extent.items()})
    assert len(small.seen((0.0, 1.0), (0.0, 1000.0), 300, 100)) == SMALL


def test_the_layout_shares_one_time_axis(samples):
    layout = mt.plot(mt.read(samples / "flow-control"), interactive=True)
    panels = [model for model in layout.references() if str(model.name).startswith("panel:")]
    assert {model.name for model in panels} == {"panel:lanes", "panel:sequence", "panel:window"}
    assert len({model.x_range.id for model in panels}) == 1
    frames = [r for p in panels for r in p.renderers if "attempt" in getattr(r, "data_source", r).data]
    assert frames
    assert all({"length", "record"} <= set(r.data_source.data) for r in frames)


def test_an_interactive_figure_is_not_saved(samples, tmp_path):
    with pytest.raises(UsageError, match="multitracer report"):
        mt.plot(mt.read(samples / "flow-control"), path=tmp_path / "a.png", interactive=True)
    assert list(tmp_path.iterdir()) == []


def test_absolute_time_has_a_clock(samples):
    layout = mt.plot(mt.read(samples / "flow-control"), interactive=True, absolute_time=True, dark=True)
    assert {"DatetimeAxis"} <= {type(model).__name__ for model in layout.references()}


def test_a_folded_figure_on_its_own_has_places_and_true_times() -> None:
    x = np.array([0.0, 1.0, 2.0, 50.0, 51.0])
    points = Series("points", "snd_data", x, x, label="points")
    figure = Figure("f", "t", (Panel("sequence", Axis("y", "bytes"), (points,)),), (0.0, 51.0))
    figure = folded(figure, 10.0)
    assert figure.fold is not None
    layout = page.draw(figure)
    source = next(iter(layout.select({"name": "data:L0"})))
    assert source.data["t"].tolist() == x.tolist()
    assert source.data["x"].tolist() == figure.fold.place(x).tolist()
    hover = next(iter(layout.select({"type": HoverTool})))
    assert ("at", "@t{0.000000} s") in hover.tooltips
    cuts = next(iter(layout.select({"name": "cuts"})))
    assert cuts.visible
    assert cuts.data_source.data["right"] - cuts.data_source.data["left"] == pytest.approx(figure.fold.shown)


def test_the_page_embeds_what_bokeh_would(samples: Path) -> None:
    figure = mt.plot(mt.read(samples / "bbr" / "snd.pcap"), interactive=True)
    theirs: Any = json_item(figure, "figure")
    ours = page.item(figure, "figure")
    # Its own models are numbered on.
    for one in (ours, theirs):
        del one["doc"]["config"]
    assert ours == theirs
