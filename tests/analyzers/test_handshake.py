"""Facts of handshakes: hand-written segments, a sample, and what a batch and the JSON object make of them."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from support_segments import Segment, capture

import multitracer as mt
from multitracer.analyzers.handshake import ANALYZER, _ecn
from multitracer.batch.comparison import METRICS
from multitracer.batch.rows import COLUMNS, NUMERIC, record_of
from multitracer.output.contract import analysis_object

SYN, ACK, ECE, CWR, AE = 2, 16, 64, 128, 256
MS = 1_000_000


def options(mss: int | None, scale: int | None = None, sack: bool = False, stamps: bool = False) -> bytes:
    """TCP options as an operating system writes them."""
    parts = b"" if mss is None else struct.pack(">BBH", 2, 4, mss)
    parts += b"" if scale is None else bytes((3, 3, scale))
    parts += bytes((4, 2)) if sack else b""
    parts += struct.pack(">BBII", 8, 10, 1, 0) if stamps else b""
    return parts + bytes(-len(parts) % 4)


FULL = options(1460, 7, True, True)


def opening(
    first: bytes = FULL,
    second: bytes = FULL,
    syn: int = SYN,
    answer: int = SYN | ACK,
    data: int = 0,
    taken: int = 0,
) -> list[Segment]:
    """SYN, SYN-ACK 20 ms later, ACK 1 ms later, one segment with data and its ACK."""
    return [
        (0, 1, True, False, 100, 0, syn, data, 64_000, first),
        (20 * MS, 1, False, False, 500, 101 + taken, answer, 0, 64_000, second),
        (1 * MS, 1, True, False, 101 + taken, 501, ACK, 0, 64_000, b""),
        (1 * MS, 1, True, False, 101 + taken, 501, ACK, 1000, 64_000, b""),
        (20 * MS, 1, False, False, 501, 1101 + taken, ACK, 0, 64_000, b""),
    ]


def of(segments: list[Segment], folder: Path, detail: str = "full") -> dict[str, Any]:
    """What the analyzer says of the only connection."""
    analysis = mt.analyze(mt.read(capture(folder / "a.pcap", segments), detail=detail))
    (entry,) = analysis.results["handshake"].summary["connections"]
    return dict(entry)


def codes(entry: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in entry["warnings"]]


def test_everything_agreed(tmp_path: Path) -> None:
    entry = of(opening(), tmp_path)
    assert entry["in_use"] == {"window_scaling": True, "sack": True, "timestamps": True}
    assert entry["offered"]["forward"] == {
        "mss": 1460,
        "window_scale": 7,
        "sack_permitted": True,
        "timestamps": True,
    }
    assert entry["opened_by"] == "10.0.0.1:1001"
    assert entry["rtt_ms"] == {"syn_to_synack": 20.0, "synack_to_ack": 1.0, "total": 21.0}
    assert entry["complete"]
    assert entry["syn_retransmissions"] == 0
    assert not entry["warnings"]


def test_one_side_without_window_scaling_limits_both(tmp_path: Path) -> None:
    entry = of(opening(second=options(1460, None, True, True)), tmp_path)
    assert entry["in_use"]["window_scaling"] is False
    assert codes(entry) == ["no-window-scaling"]
    # 65,535 bytes in 21 ms
    text = entry["warnings"][0]["text"]
    assert "not offered: reverse" in text
    assert "window limited to 64 KiB, 26.2 Mbit/s at the min RTT of 20 ms" in text
    assert "1,000 bytes were in flight" in text


def test_a_window_scale_of_zero_is_an_offer(tmp_path: Path) -> None:
    entry = of(opening(first=options(1460, 0), second=options(1460, 0)), tmp_path)
    assert entry["in_use"]["window_scaling"] is True
    assert codes(entry) == ["no-sack", "no-timestamps"]


def test_missing_and_small_mss(tmp_path: Path) -> None:
    entry = of(opening(options(None, 7, True, True), options(472, 7, True, True)), tmp_path)
    assert codes(entry) == ["no-mss", "small-mss"]
    assert "at most 536 bytes" in entry["warnings"][0]["text"]


def test_a_repeated_syn_has_no_round_trip(tmp_path: Path) -> None:
    segments = opening()
    entry = of([segments[0], (1000 * MS, *segments[0][1:]), *segments[1:]], tmp_path)
    assert entry["syn_retransmissions"] == 1
    assert entry["rtt_ms"] is None
    assert codes(entry) == ["syn-retransmitted"]


def test_without_the_syns_nothing_is_claimed(tmp_path: Path) -> None:
    entry = of(opening()[2:], tmp_path)
    assert entry["offered"] == {"forward": None, "reverse": None}
    assert set(entry["in_use"].values()) == {None}
    assert entry["ecn"] is entry["opened_by"] is entry["rtt_ms"] is None
    assert codes(entry) == ["syn-not-captured"]


@pytest.mark.parametrize(("taken", "accepted"), [(0, False), (300, True)])
def test_data_in_the_syn(tmp_path: Path, taken: int, accepted: bool) -> None:
    entry = of(opening(data=300, taken=taken), tmp_path)
    assert entry["syn_bytes"] == 300
    assert entry["fast_open"] is accepted


@pytest.mark.parametrize(
    ("syn", "answer", "expected"),
    [
        (SYN, SYN | ACK, "not offered"),
        (SYN | ECE | CWR, SYN | ACK, "refused"),
        (SYN | ECE | CWR, SYN | ACK | ECE, "classic"),
        (SYN | ECE | CWR, SYN | ACK | ECE | CWR, "refused"),
        (SYN, SYN | ACK | ECE, "not offered"),
    ],
)
def test_ecn(tmp_path: Path, syn: int, answer: int, expected: str) -> None:
    assert of(opening(syn=syn, answer=answer), tmp_path)["ecn"] == expected


@pytest.mark.parametrize(
    ("bits", "expected"),
    # RFC 9768, Table 2: answers to a SYN with AE, CWR and ECE
    [
        (CWR, "accurate"),
        (CWR | ECE, "accurate"),
        (AE, "accurate"),
        (AE | CWR, "accurate"),
        (AE | ECE, "classic"),
        (ECE, "classic"),
        (0, "refused"),
        (AE | CWR | ECE, "refused"),
    ],
)
def test_accurate_ecn(bits: int, expected: str) -> None:
    assert _ecn(SYN | AE | CWR | ECE, SYN | ACK | bits) == expected


OFFERS = st.builds(
    options, st.none() | st.integers(0, 65535), st.none() | st.integers(0, 14), st.booleans(), st.booleans()
)


@pytest.mark.slow
@given(OFFERS, OFFERS, st.integers(0, 4))
def test_a_summary_says_the_same_of_options(first: bytes, second: bytes, left_out: int) -> None:
    """Whatever was offered, and from whichever segment on the capture begins."""
    with tempfile.TemporaryDirectory() as name:
        segments = opening(first, second)[left_out:]
        whole, summed = (of(segments, Path(name), detail) for detail in ("full", "summary"))
    only_of_segments = {"opened_by", "ecn", "syn_bytes", "fast_open", "rtt_ms"}
    shared = whole.keys() - only_of_segments - {"point"}  # where it was captured is told by other means
    assert {key: whole[key] for key in shared} == {key: summed[key] for key in shared}
    assert all(summed[key] is None for key in only_of_segments)


def test_options_that_the_path_changed(samples: Path, tmp_path: Path) -> None:
    """The sample's SYN with another MSS at the receiver: both captures are true, the path clamped it."""
    folder = tmp_path / "clamped"
    folder.mkdir()
    for name in ("snd.pcap", "rcv.pcap"):
        content = (samples / "flow-control" / name).read_bytes()
        option = struct.pack(">BBH", 2, 4, 472)
        assert option in content
        if name == "rcv.pcap":
            content = content.replace(option, struct.pack(">BBH", 2, 4, 400))
        (folder / name).write_bytes(content)
    (entry,) = mt.analyze(mt.read(folder)).results["handshake"].summary["connections"]
    changed = [
        warning["text"] for warning in entry["warnings"] if warning["code"] == "option-changed-on-path"
    ]
    assert changed == [
        "mss of the forward SYN differs: 472 at snd, 400 at rcv",
        "mss of the reverse SYN differs: 472 at snd, 400 at rcv",
    ]


def test_key_of_the_object_and_columns_of_a_batch(tmp_path: Path) -> None:
    analysis = mt.analyze(mt.read(capture(tmp_path / "a.pcap", opening(second=options(1460)))))
    found = analysis_object(analysis.measurement, analysis.results)
    assert found["handshake"]["warnings"] == {"no-sack": 1, "no-timestamps": 1, "no-window-scaling": 1}
    assert "handshake" not in found["other"]
    (row,) = record_of(found, {})["connections"]
    assert row["handshake_rtt_ms"] == 21.0
    assert row["syn_retransmissions"] == 0
    assert row["handshake_warnings"] == "no-window-scaling no-sack no-timestamps"
    assert {column.name for column in ANALYZER.batch} <= COLUMNS.keys()
    assert "handshake_rtt_ms" in METRICS
    assert "handshake_warnings" not in NUMERIC


def test_without_tcp_the_key_is_null(samples: Path) -> None:
    analysis = mt.analyze(mt.read(samples / "flow-control" / "rlp.log.gz"))
    assert analysis_object(analysis.measurement, analysis.results)["handshake"] is None
