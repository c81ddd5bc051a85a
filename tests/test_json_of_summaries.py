"""Entries that the core writes from its summaries are, byte for byte, those put together as dictionaries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support_segments import capture

import multitracer as mt
from multitracer.api.analysis import Analysis
from multitracer.cli.main import main
from multitracer.model.derived import Derived
from multitracer.output import jsontext
from multitracer.output.contract import analysis_object
from multitracer.output.digest import digest

ROOT = Path(__file__).parent.parent
CAPTURES = sorted(ROOT.glob("sample_traces/*/*.pcap"))

SEGMENTS = st.lists(
    st.tuples(
        st.integers(0, 3_000_000_000),  # step of the clock, ns
        st.integers(0, 3),  # port
        st.booleans(),  # from the first end
        st.booleans(),  # IPv6
        st.integers(0, 6000),  # sequence number
        st.integers(0, 6000),  # acknowledgment number
        st.sampled_from([0x10, 0x18, 0x02, 0x12, 0x11, 0x04, 0x14]),
        st.integers(0, 1500),  # payload
        st.sampled_from([0, 1, 500, 65_535]),
        st.sampled_from(
            [b"", bytes([2, 4, 5, 180, 4, 2, 1, 1]), bytes([1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8])]
        ),
    ),
    max_size=60,
)


def both_ways(analysis: Analysis) -> tuple[str, str]:
    """The text that the core writes, and that of the same dictionaries."""
    contract = analysis_object(analysis.measurement, analysis.results)
    written = contract["connections"]
    assert not len(written) or (isinstance(written, Derived) and written.text is not None)
    return "".join(jsontext.pieces(contract)), json.dumps(analysis.to_dict(), indent=2, allow_nan=False)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_samples(path: Path) -> None:
    written, made = both_ways(mt.analyze(mt.read(path, detail="summary")))
    assert written == made


@pytest.mark.slow
@given(segments=SEGMENTS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_segments_say(tmp_path: Path, segments: list) -> None:  # type: ignore[type-arg]
    path = capture(tmp_path / 'd\u00e9j\u00e0 "vu".pcap', segments)
    analysis = mt.analyze(mt.read(path, detail="summary"))
    written, made = both_ways(analysis)
    assert written == made
    found = analysis_object(analysis.measurement, analysis.results)["connections"]
    assert digest(found, 3) == digest(list(found), 3)


def test_more_than_are_written_at_once(tmp_path: Path) -> None:
    """Commas and numbers where one piece ends and the next begins."""
    syn = [(1000, 0, True, False, number, 0, 0x02, 0, 500, b"") for number in range(1500)]
    analysis = mt.analyze(mt.read(capture(tmp_path / "many.pcap", syn), detail="summary"))
    written, made = both_ways(analysis)
    assert written == made
    assert [one["index"] for one in json.loads(written)["connections"]] == list(range(1500))


def test_times_before_the_first_and_long_after(tmp_path: Path) -> None:
    """A clock that was set back, and one that stands for years."""
    back = [
        (0, 0, True, False, 1, 0, 0x02, 0, 1, b""),
        (-5_000_000_001, 1, True, False, 1, 0, 0x02, 0, 1, b""),
    ]
    later = [
        (5 * 10**17 + 1, 2, True, False, 1, 0, 0x02, 9, 1, b""),
        (1, 2, False, False, 1, 9, 0x10, 0, 1, b""),
    ]
    written, made = both_ways(
        mt.analyze(mt.read(capture(tmp_path / "c.pcap", back + later), detail="summary"))
    )
    assert written == made


def test_the_worst_and_the_largest_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty connections: one repeats its data, one sends more than the others, one is reset."""
    monkeypatch.setenv("COLUMNS", "160")
    told = []
    for number in range(40):
        ports = (number,)
        told += [
            (1000, *ports, True, False, 100, 0, 0x02, 0, 500, b""),
            (1000, *ports, False, False, 200, 101, 0x12, 0, 500, b""),
            (1000, *ports, True, False, 101, 201, 0x18, 900 if number == 7 else 100, 500, b""),
        ]
        if number == 3:
            told += [(3_000_000_000, *ports, True, False, 101, 201, 0x18, 100, 500, b"")]
        told += [(1000, *ports, False, False, 201, 1001, 0x14 if number == 5 else 0x10, 0, 500, b"")]
    path = capture(tmp_path / "many.pcap", told)
    texts = []
    for detail in ("--summary", "--full"):
        assert main(["analyze", str(path), detail]) == 0
        texts.append(capsys.readouterr().out)
    for text in texts:
        lines = [" ".join(line.split()) for line in text.splitlines()]
        assert "40 connections" in lines
        assert "Data 4,800 bytes, 4,700 acknowledged; 100 bytes passed more than once" in lines
        again = [line for line in lines if "1 segment; causes inferred: 1 " in line]
        assert any(line.endswith("1 connection") for line in again)
        assert "Ends 1 reset, 39 open at the end" in lines
        rows = [line.split() for line in lines if " -> " in line]
        assert [int(row[0]) for row in rows] == [3, 7, *range(3), 4, 5, 6, *range(8, 12)]
        assert rows[1][4:6] == ["900", "B"]
        assert "... and 28 more" in lines
        assert "--conn N shows one connection in full (tcp.stream eq N in Wireshark); --json has all" in lines


def test_with_other_results_the_dictionaries_are_written() -> None:
    """A connection of whom more is known than its summary is put together, not written by the core."""
    analysis = mt.analyze(mt.read(CAPTURES[0]))
    written = analysis_object(analysis.measurement, analysis.results)["connections"]
    assert isinstance(written, Derived)
    assert written.text is None
