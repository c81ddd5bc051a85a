"""LENA: every number of a file is in the table; damage is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import multitracer as mt
from multitracer import registry
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace

DATA = Path(__file__).parent / "data"
FILES = sorted((DATA / "formats" / "ns3-lena").iterdir())
PARSER = registry.parsers()["ns3-lena"]
TITLES = FILES[0].read_text().splitlines()[0] + "\n"
NAMES = [
    name
    for name in schema.BEARER_TOTALS.by_name
    if name not in ("source", "record", "layer", "direction", "t_ns")
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_totals_are_the_file(path: Path) -> None:
    trace = PARSER.parse(str(path))
    totals = trace.tables["bearer_totals"]
    lines = [line.split() for line in path.read_text().splitlines()[1:]]
    assert len(totals) == len(lines) > 10
    assert not trace.issues
    for name, place in zip(["t_ns", *NAMES], range(18), strict=True):
        scale = 1e9 if name.endswith("_ns") else 1
        assert totals[name].tolist() == pytest.approx([float(words[place]) * scale for words in lines])
    assert totals.words("layer")[0] == ("pdcp" if "Pdcp" in path.name else "rlc")
    assert totals.words("direction")[0] == ("uplink" if path.name.startswith("Ul") else "downlink")


def test_the_layers_agree() -> None:
    m = mt.read(*FILES)
    totals = m.table("bearer_totals").frame()
    sums = totals.groupby(["direction", "layer"], observed=True)[["tx_bytes", "rx_bytes", "rx_pdus"]].sum()
    # RLC carries what PDCP gave it, with headers of its own; nothing is received that was not sent.
    assert (sums["rx_bytes"] <= sums["tx_bytes"]).all()
    for direction in ("downlink", "uplink"):
        assert sums["rx_bytes"][direction, "rlc"] > sums["rx_bytes"][direction, "pdcp"] > 0
    assert {clock.offset_ns for clock in m.clocks} == {0}
    assert {source.point for source in m.sources} == {None}


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("0 1 1 1 1 3 5 6 7", ["unparsed-line"]),
        ("0 1 1 1 1 3 5 6 7 8 nan nan nan nan nan nan nan nan", []),
        ("0 1 1 1 1 3 5 6 7 8", []),
        ("0 1 1 1 1 3 5 6 7 x", ["bad-number"]),
        ("0 1 1 1 1 3 5 6 7 -8", ["bad-number"]),
        ("0 1e30 1 1 1 3 5 6 7 8", ["bad-number"]),
        ("0 1 99999999999 1 1 3 5 6 7 8", ["bad-number"]),
        ("2 1 1 1 1 3 5 6 7 8", ["bad-number"]),
        ("0 inf 1 1 1 3 5 6 7 8", ["bad-number"]),
    ],
)
def test_lines(line: str, codes: list[str], tmp_path: Path) -> None:
    file = tmp_path / "stats.txt"
    file.write_text(TITLES + FILES[0].read_text().splitlines()[1] + "\n" + line + "\n")
    trace = PARSER.parse(str(file))
    assert [issue.code for issue in trace.issues] == codes
    assert trace.source.records == 1 + (not codes)
    assert trace.source.details["layer"] is trace.source.details["direction"] is None


def test_nothing_of_it_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "stats.txt"
    file.write_text(TITLES)
    with pytest.raises(CorruptTrace, match=r"stats\.txt"):
        PARSER.parse(str(file))


def test_public_files(shared: Path) -> None:
    for name in ("DlRlcStats.txt", "UlRlcStats.txt"):
        path = shared / "samples" / "ns3" / name
        trace = PARSER.parse(str(path))
        lines = path.read_text().splitlines()
        assert trace.source.records == len(lines) - 1 - (not path.read_text().endswith("\n"))
        assert trace.tables["bearer_totals"]["tx_bytes"][0] == int(lines[1].split()[7])
