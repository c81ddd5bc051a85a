"""OMNeT++: every value of a result file, and an index that says what its vectors say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import multitracer as mt
from multitracer import registry
from multitracer.model.errors import CorruptTrace

FOLDER = Path(__file__).parent / "data" / "formats" / "omnetpp"
PARSER = registry.parsers()["omnetpp"]


def check_vectors(path: Path) -> None:
    """Every line of a vector is a row, and nothing else is."""
    trace = PARSER.parse(str(path))
    series = trace.tables["series"].sorted_by("record")
    declared, told = {}, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if line.startswith("vector"):
            declared[words[1]] = line.split(maxsplit=2)[2].rsplit(maxsplit=1)[0].replace('"', "")
        elif line[:1].isdigit():
            told.append((number, declared[words[0]], float(words[-2]), float(words[-1])))
    assert not trace.issues
    assert series["record"].tolist() == [row[0] for row in told]
    assert ["".join(name.split()) for name in series["name"]] == ["".join(row[1].split()) for row in told]
    assert (series["t_ns"] / 1e9).tolist() == pytest.approx([row[2] for row in told], abs=1e-9)
    assert series["value"].tolist() == [row[3] for row in told]


def check_index(vectors: Path, index: Path) -> None:
    """What an index says of vectors is so."""
    series, scalars = PARSER.parse(str(vectors)).tables["series"], PARSER.parse(str(index)).tables["scalars"]
    said = {
        (f"{module} {name.rpartition(':')[0]}", name.rpartition(":")[2]): value
        for module, name, value in zip(scalars["module"], scalars["name"], scalars["value"], strict=True)
    }
    names = set(series["name"].tolist())
    assert {name for name, _ in said} == names
    for name in names:
        values = series["value"][series["name"] == name]
        assert said[name, "count"] == len(values)
        assert said[name, "min"] == pytest.approx(values.min())
        assert said[name, "max"] == pytest.approx(values.max())
        assert said[name, "mean"] == pytest.approx(values.mean())


def test_vectors() -> None:
    check_vectors(FOLDER / "small.vec")
    check_index(FOLDER / "small.vec", FOLDER / "small.vci")


def test_scalars() -> None:
    trace = PARSER.parse(str(FOLDER / "small.sca"))
    scalars = trace.tables["scalars"]
    assert list(zip(scalars["module"], scalars["name"], scalars["value"], strict=True)) == [
        ("Net.client.tcp", "segments sent again", 7.0),
        ("Net.client.tcp", "dropped:count", 0.0),
        ("Net.server.app[0]", "delay:histogram:count", 30.0),
        ("Net.server.app[0]", "delay:histogram:mean", 0.0345),
        ("Net.server.app[0]", "delay:histogram:stddev", 0.0088),
    ]
    details = trace.source.details
    assert details["attributes"] == {"configname": "General", "network": "Two hosts", "loss": "0.01"}
    assert (details["histogram_cells_passed_over"], details["values_that_are_no_numbers"]) == (3, 1)


def test_results_of_one_run_are_on_one_clock() -> None:
    m = mt.read(FOLDER)
    assert {clock.offset_ns for clock in m.clocks} == {0}
    assert len(m.table("series")) == 70
    assert len(m.table("scalars")) == 13


def test_nothing_of_it_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "x.sca"
    file.write_text("version 2\nrun x\nattr a b\n")
    assert PARSER.sniff(file.read_bytes())
    with pytest.raises(CorruptTrace, match=r"x\.sca"):
        PARSER.parse(str(file))


def test_public_results(shared: Path) -> None:
    folder = shared / "samples" / "omnetpp"
    check_vectors(folder / "General-0.vec")
    check_index(folder / "General-0.vec", folder / "General-0.vci")
    scalars = PARSER.parse(str(folder / "General-0.sca")).tables["scalars"]
    text = (folder / "General-0.sca").read_text()
    words = [line.split() for line in text.splitlines() if line.startswith(("scalar ", "field "))]
    values = np.array([float(line[-1]) for line in words])
    assert scalars["value"].tolist() == values[np.isfinite(values)].tolist()
