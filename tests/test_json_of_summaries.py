"""Entries that the core writes from its summaries are, byte for byte, those put together as dictionaries."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import multitracer as mt
from multitracer import jsontext
from multitracer.contract import analysis_object
from multitracer.derived import Derived
from multitracer.results import Analysis

ROOT = Path(__file__).parent.parent
CAPTURES = sorted(ROOT.glob("sample_traces/*/*.pcap"))
RAW = 101
V4 = [bytes([10, 0, 0, 1]), bytes([192, 168, 255, 254])]
V6 = [bytes(15) + b"\x01", b"\x20\x01\x0d\xb8" + bytes(11) + b"\x02"]

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


def capture(path: Path, segments: list[tuple[int, int, bool, bool, int, int, int, int, int, bytes]]) -> Path:
    """Whatever the segments say, as a capture without payload in nanoseconds."""
    t_ns = 1_700_000_000_123_456_789
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, RAW))
        for step, port, first, six, seq, ack, flags, length, window, options in segments:
            t_ns += step
            ends = (V6 if six else V4)[:: 1 if first else -1]
            ports = (1000 + port, 80) if first else (80, 1000 + port)
            offset = (20 + len(options)) << 2
            tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, offset, flags, window, 0, 0) + options
            if six:
                ip = struct.pack(">IHBB", 6 << 28, len(tcp) + length, 6, 64) + ends[0] + ends[1]
            else:
                total = 20 + len(tcp) + length
                ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, total, 0, 0, 64, 6, 0, ends[0], ends[1])
            packet = ip + tcp
            held = (t_ns // 10**9, t_ns % 10**9, len(packet), len(packet) + length)
            file.write(struct.pack("<IIII", *held) + packet)
    return path


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


@given(segments=SEGMENTS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_segments_say(tmp_path: Path, segments: list) -> None:  # type: ignore[type-arg]
    path = capture(tmp_path / 'd\u00e9j\u00e0 "vu".pcap', segments)
    written, made = both_ways(mt.analyze(mt.read(path, detail="summary")))
    assert written == made


def test_more_than_are_written_at_once(tmp_path: Path) -> None:
    """Commas and numbers where one piece ends and the next begins."""
    syn = [(1000, 0, True, False, number, 0, 0x02, 0, 500, b"") for number in range(300)]
    analysis = mt.analyze(mt.read(capture(tmp_path / "many.pcap", syn), detail="summary"))
    written, made = both_ways(analysis)
    assert written == made
    assert [one["index"] for one in json.loads(written)["connections"]] == list(range(300))


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


def test_with_other_results_the_dictionaries_are_written() -> None:
    """A connection of whom more is known than its summary is put together, not written by the core."""
    analysis = mt.analyze(mt.read(CAPTURES[0]))
    written = analysis_object(analysis.measurement, analysis.results)["connections"]
    assert isinstance(written, Derived)
    assert written.text is None
