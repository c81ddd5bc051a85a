"""Captures of 802.11 frames: block ACKs, aggregates, fragments, airtime, the air, power save, returns."""

from __future__ import annotations

import struct
import subprocess
from itertools import pairwise
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import support_wifi as wifi
from support_wifi import AP, STA, Heard, capture, data, exchange, msdu, segment

import multitracer as mt
from multitracer.model.trace import Trace
from multitracer.parsers.wifi import configured, parse

TSHARK = pytest.mark.skipif(which("tshark") is None, reason="tshark is not installed")
MORE = 0x0400
EAPOL = bytes.fromhex("aaaa03000000888e") + bytes(95)


def of(tmp_path: Path, heard: list[Heard], **settings: Any) -> Trace:
    return configured(str(capture(tmp_path / "air.pcap", heard)), settings)


def received(trace: Trace) -> list[int]:
    """Sequence numbers of frames that answers from 900 us on acknowledged, in order."""
    frames = trace.tables["link_frames"]
    told = (frames.words("action") == "rcv") & (frames["t_ns"] >= wifi.BEGIN_NS + 900_000)
    return [int(ns) for ns in frames["ns"][told]]


def burst(first: int = 10, count: int = 4, tid: int = 0) -> list[Heard]:
    return [Heard(n, data(first + n, tid=tid), aggregate=1) for n in range(count)]


def bits(*numbers: int, size: int = 8) -> bytes:
    return sum(1 << number for number in numbers).to_bytes(size, "little")


@pytest.mark.parametrize("fragment_and_size", [(0, 8), (2, 16), (4, 32), (6, 4), (8, 64), (10, 128)])
def test_bitmaps_of_all_lengths(fragment_and_size: tuple[int, int], tmp_path: Path) -> None:
    fragment, size = fragment_and_size
    last = 8 * size - 1
    heard = [*burst(10, 2), Heard(5, data(10 + last), aggregate=1)]
    body = struct.pack("<H", 10 << 4 | fragment) + bits(0, last, size=size)
    assert received(of(tmp_path, [*heard, Heard(900, wifi.block_ack_of(2 << 1, body))])) == [10, 10 + last]


def test_a_basic_block_ack_counts_fragments(tmp_path: Path) -> None:
    first = [Heard(n, data(10, fragment=n, flags=MORE if n < 2 else 0)) for n in range(3)]
    maps = struct.pack("<64H", 0b101, 0b1, *[0] * 62)
    answer = wifi.block_ack_of(0, struct.pack("<H", 10 << 4) + maps)
    trace = of(tmp_path, [*first, Heard(3, data(11)), Heard(900, answer)])
    assert received(trace) == [10, 10, 11]
    assert [issue.code for issue in trace.issues] == ["not-seen"]


def test_counters_in_one_block_ack(tmp_path: Path) -> None:
    one = [struct.pack("<HHQ", tid << 12, 10 << 4, 0b1011) for tid in (0, 5)]
    answer = wifi.block_ack_of(1 << 12 | 3 << 1, b"".join(one))
    trace = of(tmp_path, [*burst(), *burst(tid=5), Heard(900, answer)])
    assert received(trace) == [10, 11, 13, 10, 11, 13]


def test_stations_in_one_block_ack(tmp_path: Path) -> None:
    """By the identifier that the access point gave: a bitmap, all of a transmission, one of a counter."""
    associated = wifi.management(1, struct.pack("<HHH", 0x0421, 0, 0xC007), down=True)
    everybody = b"\xff" * 6

    def answer(*parts: bytes, to: bytes = everybody) -> bytes:
        return wifi.block_ack_of(11 << 1, b"".join(parts), to=to)

    bitmap = struct.pack("<HHQ", 7, 10 << 4, 0b0110)
    whole = struct.pack("<H", 7 | 1 << 11 | 14 << 12)
    other = struct.pack("<HHQ", 8, 10 << 4, 0b1111)
    before = [Heard(0, associated)]
    told = of(tmp_path, [*before, *burst(), Heard(900, answer(other, bitmap))])
    assert received(told) == [11, 12]
    assert [issue.code for issue in told.issues if issue.code != "not-seen"] == ["block-ack-unread"]
    assert received(of(tmp_path, [*before, *burst(), Heard(900, answer(whole))])) == [10, 11, 12, 13]
    alone = of(tmp_path, [*burst(), Heard(900, answer(bitmap, to=STA))])
    assert received(alone) == [11, 12]


def test_what_cannot_be_read_is_said_once(tmp_path: Path) -> None:
    odd = [wifi.block_ack_of(kind << 1, bytes(16)) for kind in (4, 7, 15)]
    heard = [*burst(), *(Heard(900 + n, one) for n, one in enumerate(odd)), Heard(950, odd[0][:-12])]
    trace = of(tmp_path, heard)
    issue = next(issue for issue in trace.issues if issue.code == "block-ack-unread")
    assert issue.count == trace.source.details["block_acks_unread"] == 4
    assert received(trace) == []


def test_requests_and_group_answers_are_counted(tmp_path: Path) -> None:
    request = struct.pack("<HH", 0x0084, 0) + AP + STA + struct.pack("<HH", 5, 10 << 4)
    group = wifi.block_ack_of(6 << 1, struct.pack("<H", 10 << 4) + b"\x01\0\x5e\0\0\1" + bytes(8))
    trace = of(
        tmp_path, [*burst(), Heard(900, request), Heard(1000, wifi.block_ack(10, 0b1111)), Heard(2000, group)]
    )
    details = trace.source.details
    assert (details["block_ack_requests"], details["block_acks"]) == (1, 2)
    assert received(trace) == [10, 11, 12, 13]
    assert not trace.issues


def inside(trace: Trace) -> list[tuple[int, int, int]]:
    """Sequence number, length and record of the TCP that was in the clear."""
    (tcp,) = trace.others
    segments = tcp.tables["segments"]
    return list(zip(*(segments[name].tolist() for name in ("seq_raw", "length", "record")), strict=True))


def in_pieces(packet: bytes, number: int, *cuts: int) -> list[bytes]:
    edges = [0, *cuts, len(packet)]
    return [
        data(number, packet[begin:end], fragment=n, flags=MORE if end < len(packet) else 0)
        for n, (begin, end) in enumerate(pairwise(edges))
    ]


AGGREGATED = struct.pack("<HH", 0x0188, 0) + AP + STA + AP + struct.pack("<HH", 30 << 4, 0x80)


def mixed() -> list[Heard]:
    """An A-MSDU of three packets sent twice, one in three fragments, of which one comes twice."""
    together = AGGREGATED + msdu([segment(1), segment(101, 37), segment(138)])
    again = together[:1] + bytes([together[1] | 0x08]) + together[2:]
    first, second, third = in_pieces(segment(238), 31, 60, 110)
    second_again = second[:1] + bytes([second[1] | 0x08]) + second[2:]
    frames = [data(29, segment(0xFFFFFF00, 257)), together, again, first, second, second_again, third]
    return [
        one for n, frame in enumerate([*frames, data(32, segment(338))]) for one in exchange(n * 5000, frame)
    ]


def test_packets_of_an_aggregate_and_of_fragments(tmp_path: Path) -> None:
    trace = of(tmp_path, mixed())
    assert inside(trace) == [
        (0xFFFFFF00, 257, 1),
        (1, 100, 3),
        (101, 37, 3),
        (138, 100, 3),
        (238, 100, 13),
        (338, 100, 15),
    ]
    assert {issue.code for issue in trace.others[0].issues} == {"missing-handshake"}


@TSHARK
def test_packets_of_an_aggregate_and_of_fragments_equal_tshark(tmp_path: Path) -> None:
    path = capture(tmp_path / "air.pcap", mixed())
    ours = inside(parse(str(path)))
    theirs = []
    preferences = ["-o", "tcp.relative_sequence_numbers:FALSE", "-o", "wlan.defragment:TRUE"]
    for row in tshark(
        path, "frame.number", "tcp.seq", "tcp.len", only="tcp && !(wlan.fc.retry == 1)", more=preferences
    ):
        sequence, lengths = ([int(one) for one in row[at].split(",")] for at in (1, 2))
        theirs += [(seq, length, int(row[0])) for seq, length in zip(sequence, lengths, strict=True)]
    assert ours == theirs


def tshark(path: Path, *fields: str, only: str = "wlan", more: list[str] | None = None) -> list[list[str]]:
    words = [
        "tshark",
        "-r",
        str(path),
        *(more or []),
        "-Y",
        only,
        "-T",
        "fields",
        *(f"-e{field}" for field in fields),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    return [line.split("\t") for line in done.stdout.splitlines()]


def high_efficiency(mcs: int, width: int, guard: int, streams: int) -> bytes:
    known = 0x0020 | 0x0040 | 0x0080 | 0x4000
    part = width | guard << 4 | 2 << 6
    fields = struct.pack("<6H", known, 0x0002, mcs << 8 | 0x2000, 0, part, streams)
    return struct.pack("<BBHIBx", 0, 0, 22, 1 << 23 | 2, 0x10) + fields


def very_high(mcs: int, width: int, short: bool, streams: int) -> bytes:
    user = bytes([mcs << 4 | streams, 0, 0, 0])
    fields = struct.pack("<HBB4sBBH", 0x44, 4 if short else 0, width, user, 0, 0, 0)
    return struct.pack("<BBHIBx", 0, 0, 22, 1 << 21 | 2, 0x10) + fields


def high_throughput(mcs: int, wide: bool, short: bool) -> bytes:
    return struct.pack("<BBHIB", 0, 0, 12, 1 << 19 | 2, 0x10) + bytes([0x1F, wide | (4 if short else 0), mcs])


def behind(path: Path, headers: list[bytes]) -> Path:
    """The same frame behind each of these radiotap headers."""
    frame = data(5, wifi.LLC_IP + bytes(1468)) + bytes(4)
    records = [
        struct.pack("<IIII", 1_700_000_000 + n, 0, len(head + frame), len(head + frame)) + head + frame
        for n, head in enumerate(headers)
    ]
    path.write_bytes(wifi.content([]) + b"".join(records))
    return path


@TSHARK
def test_rates_of_802_11n_ac_and_ax_equal_tshark(tmp_path: Path) -> None:
    """tshark (4.0) times no frames of HE; those of VHT without delimiter, tail, SIG-B and whole symbols;
    those of HT in 40 MHz as if they had twice the subcarriers of 20 MHz, not 108.
    """
    old = [high_throughput(mcs, wide, short) for wide in (0, 1) for mcs in range(32) for short in (0, 1)]
    headers = [
        very_high(mcs, width, short, streams)
        for mcs in range(9)
        for width in (0, 1, 4, 11)
        for short in (False, True)
        for streams in (1, 2, 4)
    ]
    headers += [
        high_efficiency(mcs, width, guard, streams)
        for mcs in range(12)
        for width in (0, 1, 2, 3)
        for guard in (0, 1, 2)
        for streams in (1, 2, 8)
    ]
    path = behind(tmp_path / "rates.pcap", [*old, *headers])
    radio = parse(str(path)).tables["link_radio"]
    rows = tshark(path, "wlan_radio.data_rate", "wlan_radio.duration")
    ours = zip(radio["rate_bps"].tolist(), radio["airtime_ns"].tolist(), strict=True)
    for n, ((rate_bps, airtime_ns), theirs) in enumerate(zip(ours, rows, strict=True)):
        assert abs(rate_bps / 1e6 - float(theirs[0])) < 0.11, n
        assert airtime_ns > 0
        if n < len(old) // 2:
            assert abs(airtime_ns / 1000 - int(theirs[1])) < 1, n


def test_who_had_the_air(tmp_path: Path) -> None:
    stranger = struct.pack("<HH", 0x0148, 0) + wifi.OTHER_AP + wifi.STRANGER + wifi.OTHER_AP + bytes(2)
    heard = [one for n in range(20) for one in exchange(n * 100_000, data(n))]
    heard += [Heard(n * 100_000 + 3000, wifi.beacon(), rate=2) for n in range(20)]
    heard += [Heard(4_500_000, stranger, rate=2)]
    path = capture(tmp_path / "air.pcap", sorted(heard))
    air = mt.analyze(mt.read(path)).results["air"].summary
    # 82 bytes with the frame check sequence at 11 Mb/s, 14 of the ACK, behind long preambles.
    own_ns = 2 * 192_000 + (78 * 8 + 14 * 8) * 1000 // 11
    assert air["shares"]["own"] * air["span_s"] == pytest.approx(20 * own_ns / 1e9, rel=1e-3)
    assert air["shares"]["everybody"] * air["span_s"] == pytest.approx(20 * (192e-6 + 47 * 8e-6), rel=1e-2)
    assert air["shares"]["others"] * air["span_s"] == pytest.approx(192e-6 + 28 * 8e-6, rel=1e-2)
    assert air["shares"]["damaged"] == 0
    assert air["silences"]["count"] == 1
    assert air["silences"]["longest"]["s"] == pytest.approx(2.5)
    sta = next(entity for entity in air["entities"] if entity["entity"] == "sta")
    assert (sta["transmissions"], sta["retries"], sta["signal_dbm"]["median"]) == (20, 0, -50)
    assert [(rate["rate_bps"], rate["share"]) for rate in sta["rates"]] == [(11_000_000, 1.0)]


def test_a_capture_without_radio_headers_tells_no_shares(tmp_path: Path) -> None:
    path = capture(tmp_path / "bare.pcap", exchange(0, data(1)), wifi.BARE)
    air = mt.analyze(mt.read(path)).results["air"].summary
    assert air["shares"] is None
    assert air["unknown_frames"] == air["frames"] == 2


def test_what_is_held_back_for_a_station_that_dozes(tmp_path: Path) -> None:
    associated = wifi.management(1, struct.pack("<HHH", 0x0421, 0, 0xC003), down=True)
    heard = [
        Heard(0, associated),
        *exchange(10_000, data(1)),
        Heard(20_000, wifi.beacon(1 << 3)),
        *exchange(30_000, wifi.null(True)),
        Heard(120_000, wifi.beacon(1 << 2)),
        Heard(220_000, wifi.beacon(1 << 3)),
        Heard(320_000, wifi.beacon(1 << 3)),
        *exchange(330_000, wifi.ps_poll(3)),
        Heard(420_000, wifi.beacon(1 << 3)),
        *exchange(450_000, wifi.null(False)),
        *exchange(460_000, data(2)),
    ]
    details = of(tmp_path, heard).source.details
    assert (details["ps_polls"], details["beacons"], details["asked_for"]) == (1, 5, 1)
    assert (details["held_back"], details["held_back_s"]) == (2, 0.14)


def test_how_long_a_station_takes_to_return(tmp_path: Path) -> None:
    request = wifi.management(11, struct.pack("<HHH", 2, 1, 0), ap=wifi.OTHER_AP)
    answer = wifi.management(3, struct.pack("<HHH", 0x0421, 0, 0xC001), down=True, ap=wifi.OTHER_AP)
    keys = [data(n, EAPOL, ap=wifi.OTHER_AP, down=n % 2 == 0) for n in range(4)]
    heard = [
        *exchange(0, data(1)),
        Heard(100_000, request),
        Heard(130_000, answer),
        *(Heard(150_000 + 20_000 * n, frame) for n, frame in enumerate(keys)),
        *exchange(260_000, data(9, ap=wifi.OTHER_AP)),
    ]
    trace = of(tmp_path, heard)
    (arrival,) = trace.source.details["arrivals"]
    assert arrival == {
        "t_s": 0.1,
        "took_ms": 160.0,
        "association_ms": 30.0,
        "keys_ms": 60.0,
        "first_data_ms": 50.0,
        "fast_transition": True,
    }
    events = trace.tables["link_events"]
    resets = events.words("kind") == "reset"
    assert events.words("cause")[resets].tolist() == ["roam"]
