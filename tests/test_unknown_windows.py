"""What a capture lacks is unknown: the scale of windows, options, the other direction, a host's own queue."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support_conversation import ACK, PSH, RST, SYN, Conversation

import multitracer as mt
from multitracer.analyzers.observation import ANALYZER as OBSERVATION
from multitracer.cli import words

RECORD_HEADER = 16
RAWS = (3120, 3080, 3040)


def analyzed(path: Path) -> mt.Analysis:
    return mt.analyze(mt.read(path))


def entry(path: Path) -> dict[str, Any]:
    (found,) = analyzed(path).results["connections"].summary["connections"]
    return dict(found)


def said(path: Path) -> str:
    return " ".join(one["text"] for one in analyzed(path).results["diagnosis"].summary["sentences"])


def filled(path: Path, shift: int, *, raws: Sequence[int] = RAWS, short: int = 0, rounds: int = 60) -> Path:
    """A sender whose SYN is missing sends a window each RTT of 100 ms, `short` of its edge."""
    talk = Conversation(timestamps=True)
    seq, t_ms = 1, 0.0
    talk.ack(t_ms, seq, window=3120)
    for number in range(rounds):
        raw = raws[number % len(raws)]
        left = (raw << shift) - short
        sent = seq
        while left > 0:
            length = min(left, 2896)
            payload = bytes(length)
            stamps = talk._stamps(t_ms, t_ms)
            talk.segment(t_ms, True, sent, 1, PSH, payload, options=stamps)
            sent, left, t_ms = sent + length, left - length, t_ms + 0.02
        seq, t_ms = sent, t_ms + 100
        following = raws[(number + 1) % len(raws)]
        talk.ack(t_ms, seq, window=0, echo_ms=t_ms - 100)
        t_ms += 1
        talk.ack(t_ms, seq, window=following, echo_ms=t_ms - 101)
        t_ms += 0.05
    return talk.write(path)


def test_a_window_filled_to_its_edge_limits_whatever_its_scale(tmp_path: Path) -> None:
    limits = entry(filled(tmp_path / "filled.pcap", 2))["limits"]
    assert limits["receiver_window"] > 0.7
    assert limits["application"] < 0.1


def test_of_windows_that_are_never_filled_nothing_is_known(tmp_path: Path) -> None:
    """Fewer than ten segments are in flight, and a window of unknown scale may be as small."""
    limits = entry(filled(tmp_path / "unfilled.pcap", 2, raws=(3120,), short=896))["limits"]
    assert limits["application"] < 0.05
    assert limits["receiver_window"] < 0.1


def test_zero_windows_count_without_their_scale(tmp_path: Path) -> None:
    assert entry(filled(tmp_path / "closed.pcap", 2, rounds=20))["zero_windows"] == 20


def cut(path: Path, kept: int, *, syn_options: bytes) -> Path:
    """A capture of which so many bytes of each packet are kept."""
    talk = Conversation()
    talk.segment(0, True, 0, None, SYN, options=syn_options)
    talk.segment(50, False, 0, 1, SYN, options=syn_options)
    talk.segment(50, True, 1, 1)
    seq = 1
    for number in range(30):
        talk.data(60 + 50 * number, seq)
        talk.ack(105 + 50 * number, seq + 1000)
        seq += 1000
    talk.write(path)
    data = path.read_bytes()
    out, at = data[:24], 24
    while at < len(data):
        seconds, nanos, length, wire = struct.unpack_from("<IIII", data, at)
        at += RECORD_HEADER
        held = min(length, kept)
        out += struct.pack("<IIII", seconds, nanos, held, wire) + data[at : at + held]
        at += length
    path.write_bytes(out)
    return path


OPTIONS = b"\x02\x04\x05\xb4\x04\x02\x01\x01\x01\x01\x01\x03\x03\x0a\x00\x00"


def test_options_that_the_capture_cut_are_unknown(tmp_path: Path) -> None:
    for kept, scaling, agreed in ((20 + 20 + 8, None, None), (200, "agreed", True)):
        path = cut(tmp_path / f"{kept}.pcap", kept, syn_options=OPTIONS)
        analysis = analyzed(path)
        (found,) = analysis.results["connections"].summary["connections"]
        (opened,) = analysis.results["handshake"].summary["connections"]
        assert found["window_scaling"] == scaling
        assert opened["in_use"]["window_scaling"] is agreed
        assert opened["in_use"]["timestamps"] is (None if agreed is None else False)
        codes = {warning["code"] for warning in opened["warnings"]}
        assert ("options-not-captured" in codes) == (agreed is None)
        assert not codes & {"no-window-scaling", "no-mss"}
        assert ("no-timestamps" in codes) == (agreed is not None)
    assert opened["offered"]["forward"]["window_scale"] == 10


def one_way(path: Path, *, data: bool) -> Path:
    talk = Conversation()
    seq = 1
    for number in range(40):
        if data:
            talk.data(10 * number, seq)
        else:
            talk.ack(10 * number + 5, seq)
        seq += 1000
    return talk.write(path)


def test_acks_alone_tell_how_much_arrived(tmp_path: Path) -> None:
    path = one_way(tmp_path / "acks.pcap", data=False)
    found, text = entry(path), said(path)
    assert "only the direction of the ACKs was captured" in text
    assert "at least 38,999 bytes" in text
    assert found["packets"] == {"sent": 0, "data": 0, "received": 40}
    assert words.data(found["bytes"], packets=found["packets"]) == "none captured in this direction"
    statements = analyzed(path).results[OBSERVATION.name].summary["statements"]
    assert any("acknowledgments of at least 38,999 bytes, no data" in one["text"] for one in statements)


def test_without_acks_nothing_is_said_to_be_in_flight(tmp_path: Path) -> None:
    path = one_way(tmp_path / "data.pcap", data=True)
    found = entry(path)
    assert "in flight when the capture ended" not in said(path)
    text = words.data(found["bytes"], packets=found["packets"])
    assert text == "40,000 bytes; their ACKs were not captured; no bytes passed more than once"


def test_a_lone_reset_is_one_packet(tmp_path: Path) -> None:
    talk = Conversation()
    talk.segment(0, True, 1, 1, RST | ACK)
    path = talk.write(tmp_path / "reset.pcap")
    found = entry(path)
    assert "one packet, a RST, passed this capture, and no data" in said(path)
    assert words.data(found["bytes"], packets=found["packets"]) == "0 bytes"


@pytest.mark.parametrize("same_host", [True, False])
def test_a_capture_next_to_a_host_is_next_to_it_for_all_its_connections(
    tmp_path: Path, same_host: bool
) -> None:
    """Its own queue makes one of two connections answer late; the other shows where the capture is."""
    talks = [Conversation(timestamps=True, port_a=4000), Conversation(timestamps=True, port_a=4001)]
    packets = []
    for talk, near_ms, ttl in zip(talks, (0.02, 3.0), (64, 64 if same_host else 60), strict=True):
        talk.segment(0, True, 0, None, SYN, options=talk._stamps(0, 0))
        talk.segment(1, False, 0, 1, SYN, options=talk._stamps(1, 0))
        talk.segment(1 + near_ms, True, 1, 1, options=talk._stamps(1 + near_ms, 1))
        t_ms, seq = 5.0, 1
        for _ in range(200):
            for number in range(2):
                talk.segment(
                    t_ms + 0.01 * number, True, seq + 1000 * number, 1, 0, bytes(1000),
                    options=talk._stamps(t_ms, t_ms - near_ms),
                )  # fmt: skip
            talk.ack(t_ms + 8, seq + 2000, echo_ms=t_ms)
            t_ms, seq = t_ms + 8 + near_ms, seq + 2000
        packets += [(t, with_ttls(data, ttl)) for t, data in talk.packets]
    whole = Conversation(packets=sorted(packets, key=lambda one: one[0]))
    found = analyzed(whole.write(tmp_path / "two.pcap")).results["connections"].summary["connections"]
    first, second = (one["observation"]["evidence"]["toward_sender_ms"] for one in found)
    assert first < 1
    assert (second < 1) == same_host


def with_ttls(data: bytes, ttl_a: int) -> bytes:
    """Packets of A have one TTL, those of B came through two routers."""
    ttl = ttl_a if data[12:16].endswith(b"\x01") else 62
    return data[:8] + bytes([ttl]) + data[9:]
