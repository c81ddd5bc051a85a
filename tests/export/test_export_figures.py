"""Figures for other plotting tools: parsed back, opened by the tools themselves, safe with hostile words."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support_samples import PATIENCE_S, SAMPLES

import multitracer as mt
from multitracer import registry
from multitracer.export import files, gnuplot, perfetto, xgraph, xplot
from multitracer.model.errors import UsageError
from multitracer.plots.panel import Axis, Figure, Marks, Panel, Pieces, Series, Spans
from multitracer.plots.plot import PlotOptions

HOSTILE = "'; system('touch /tmp/owned'); `id` \"\\ $(id) @x\n<script>\x1b[31m../../etc/passwd"


@functools.cache
def figure(kind: str, name: str = "link-resets-vj") -> Figure:
    found = mt.analyze(mt.read(SAMPLES / name))
    options = PlotOptions(offset_bytes=0)
    return registry.load(registry.PLOTS[kind]).build(found.measurement, found.results, options)


def hostile() -> Figure:
    x = np.arange(5.0)
    panel = Panel(
        HOSTILE,
        Axis(HOSTILE, HOSTILE),
        (
            Series(HOSTILE, "snd_data", x, x, label=HOSTILE),
            Series("CASE", "snd_ack", x, x, kind="steps"),
            Series("case", "flight", x, np.array([1, np.nan, np.inf, 2, 3]), kind="line"),
            Series("bars", "histogram", x, x, kind="bars", width=0.5),
        ),
        (
            Marks(HOSTILE, "timeout", x, x, letter=HOSTILE, label=HOSTILE, details=(HOSTILE,) * 5),
            Marks("line", "link_reset", x, label=HOSTILE),
        ),
        (Spans(HOSTILE, "reset_gap", x, x + 0.5, label=HOSTILE),),
        pieces=(Pieces(HOSTILE, "dimension", x, x, x + 1, x, ends="dimension", label=HOSTILE),),
    )
    lanes = Panel("lanes", Axis("", ""), spans=(Spans("s", "pause", x, x + 1, lane="a"),), lanes=("a",))
    return Figure(HOSTILE, HOSTILE, (lanes, panel), (0.0, 4.0))


def test_names_are_made_of_letters_only():
    assert files.file_name(HOSTILE) == files.file_name(files.file_name(HOSTILE))
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,60}", files.file_name(HOSTILE))
    assert files.file_name("../..") == "series"
    assert files.distinct(["a", "A", "a", "b"]) == ["a", "A-2", "a-3", "b"]


def test_a_failed_file_leaves_nothing(tmp_path):
    target = tmp_path / "x"
    target.write_text("old")
    with pytest.raises(ValueError), files.writing(str(target)) as file:
        file.write(str(int("half a file")))
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert target.read_text() == "old"
    with pytest.raises(UsageError, match="cannot be written"), files.writing(str(tmp_path / "no" / "x")):
        pass
    with pytest.raises(UsageError, match="cannot create this directory"):
        files.folder(str(target))


def read_xplot(text: str) -> list[tuple[str, str, list[float]]]:
    """Commands of an xplot file with the colour in force: (colour, command, numbers)."""
    lines = iter(text.splitlines())
    assert next(lines) == "double double"
    color, found = "", []
    for line in lines:
        word, *rest = line.split()
        if word in ("title", "xlabel", "ylabel"):
            next(lines)
        elif word == "atext":
            found.append((color, next(lines), [float(value) for value in rest]))
        elif rest:
            found.append((color, word, [float(value) for value in rest]))
        elif word != "go":
            color = word
    return found


def test_xplot_has_tcptraces_colours_and_marks(tmp_path):
    built = figure("tsg")
    (path,) = xplot.write(built, str(tmp_path / "a.xpl"))
    commands = read_xplot(Path(path).read_text(encoding="ascii"))
    bars = {piece.name: piece for piece in built.panel("sequence").pieces}
    white = [numbers for color, word, numbers in commands if (color, word) == ("white", "darrow")]
    assert [x for x, _ in white] == pytest.approx(bars["data"].x.tolist(), abs=1e-8)
    assert [y for _, y in white] == bars["data"].y.tolist()
    again = [numbers for color, word, numbers in commands if (color, word) == ("red", "R")]
    assert len(again) == sum(len(one.x) for name, one in bars.items() if name != "data")
    assert {color for color, word, _ in commands if word == "line"} >= {"white", "green", "yellow", "red"}


def test_xplot_writes_every_panel(tmp_path):
    paths = xplot.write(figure("multilayer"), str(tmp_path / "m.xpl"))
    assert [Path(path).name for path in paths] == ["m.xpl", "m-window.xpl"]
    assert any("TcpSnd" in one.name for one in figure("multilayer").panel("window").series)


@pytest.fixture(scope="module")
def display():
    """The name of an X display without a screen; the server itself chooses a number that is free."""
    if not shutil.which("xplot.org") or not shutil.which("Xvfb"):
        pytest.skip("needs xplot-xplot.org and xvfb")
    reads, writes = os.pipe()
    words = ["Xvfb", "-displayfd", str(writes), "-screen", "0", "640x480x24", "-nolisten", "tcp"]
    server = subprocess.Popen(words, pass_fds=[writes], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writes)
    try:
        with os.fdopen(reads) as pipe:
            yield f":{int(pipe.readline())}"
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


def opened(path: str, display: str) -> subprocess.CompletedProcess:
    """xplot.org with a file, for two seconds: status 124 if it was still open then."""
    words = ["timeout", "2", "xplot.org", path]
    where = {**os.environ, "DISPLAY": display}
    return subprocess.run(words, env=where, capture_output=True, text=True, timeout=PATIENCE_S)


@pytest.mark.parametrize("kind", ["tsg", "multilayer", "hostile"])
def test_xplot_opens_it(kind, tmp_path, display):
    built = hostile() if kind == "hostile" else figure(kind)
    for path in xplot.write(built, str(tmp_path / "a.xpl")):
        done = opened(path, display)
        # It stays open until it is closed; what it cannot read it refuses at once.
        assert (done.returncode, done.stderr) == (124, ""), done.stdout


def test_xplot_says_what_it_cannot_read(tmp_path, display):
    """The test above can fail."""
    path = tmp_path / "bad.xpl"
    path.write_text("double double\nnonsense 1 2\n")
    assert opened(str(path), display).returncode not in (0, 124)


def read_xgraph(path: Path) -> tuple[str, np.ndarray]:
    header, _, body = path.read_text(encoding="ascii").partition('\n"')
    assert header.startswith("TitleText: ")
    name, _, numbers = body.partition("\n")
    rows = [[float(value) for value in line.split()] for line in numbers.splitlines()]
    return name, np.array(rows).reshape(-1, 2)


def test_xgraph_has_a_file_per_series_of_the_paper(tmp_path):
    built = figure("multilayer")
    paths = [Path(path) for path in xgraph.write(built, str(tmp_path / "xg"))]
    papers = {"TcpSnd_data", "TcpSnd_ack", "TcpSnd_cwnd", "TcpRcv_data", "TcpRcv_ack", "RlpSnd_data"}
    papers |= {"RlpSnd_rexmt", "RlpSnd_rst"}
    assert papers <= {path.stem for path in paths}
    for panel in built.panels:
        for series in panel.series:
            name, rows = read_xgraph(tmp_path / "xg" / f"{files.file_name(series.name)}.xg")
            assert name == files.line(series.name)
            assert rows[:, 0] == pytest.approx(series.x, abs=1e-8)
            assert rows[:, 1] == pytest.approx(series.y)


@pytest.mark.parametrize("kind", ["multilayer", "corrupted-segments", "layers", "utilization", "hostile"])
def test_gnuplot_draws_it(kind, tmp_path):
    if not shutil.which("gnuplot"):
        pytest.skip("needs gnuplot")
    built = hostile() if kind == "hostile" else figure(kind)
    paths = gnuplot.write(built, str(tmp_path / "gp"))
    words = ["gnuplot", Path(paths[0]).name]
    done = subprocess.run(words, cwd=tmp_path / "gp", capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr.lower() or kind in ("layers", "hostile")
    assert (tmp_path / "gp" / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in (tmp_path / "gp").iterdir()} == {Path(path).name for path in paths} | {
        "figure.png"
    }


def test_gnuplot_data_is_the_figures(tmp_path):
    built = figure("multilayer")
    gnuplot.write(built, str(tmp_path))
    data = next(one for one in built.panel("sequence").series if one.name == "TcpSnd_data")
    rows = np.loadtxt(tmp_path / "TcpSnd_data.dat")
    assert rows == pytest.approx(np.stack([data.x, data.y], axis=1))


@pytest.mark.parametrize("kind", ["multilayer", "hostile"])
def test_perfetto_events_keep_the_format(kind, tmp_path):
    built = hostile() if kind == "hostile" else figure(kind)
    if kind == "hostile":
        panel = built.panels[1]
        built = replace(built, panels=(built.panels[0], replace(panel, series=panel.series[:2])))
    path = tmp_path / "p.json"
    count = perfetto.write(built, str(path))
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    assert len(events) == count
    for event in events:
        assert event["ph"] in ("M", "X", "i", "C")
        assert event["ph"] == "M" or isinstance(event["ts"], float)
        assert event["ph"] != "X" or event["dur"] >= 0
    tracks = [event["tid"] for event in events if event["ph"] == "M"]
    assert len(tracks) == len(set(tracks))
    if kind == "multilayer":
        gaps = [event for event in events if event.get("cat") == "reset_gap"]
        spans = next(one for one in built.panel("lanes").spans if one.role == "reset_gap")
        assert [event["ts"] / 1e6 for event in gaps] == pytest.approx(spans.start.tolist())
        cwnd = [event for event in events if event["name"] == "TcpSnd_cwnd"]
        assert all(list(event["args"]) == ["bytes"] for event in cwnd)
        assert cwnd
