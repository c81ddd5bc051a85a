"""Segments that are neither plain data nor plain ACKs, and captures that show them changed: end to end."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_conversation import ACK, FIN, RST, SYN, Conversation, sender

import multitracer as mt
from multitracer.model.schema import CHECKSUMS

OFFER = struct.pack(">BBH", 2, 4, 1000) + b"\x04\x02"


def connection(path: Path) -> dict[str, Any]:
    result = mt.analyze(mt.read(path), only=["connections"]).results["connections"]
    (found,) = result.summary["connections"]
    return dict(found)


# probes and windows


@pytest.mark.parametrize("payload", [0, 1])
def test_keep_alive(payload: int, tmp_path: Path) -> None:
    """RFC 9293 section 3.8.4: the byte before the next one, with or without payload."""
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    for t_ms in (60_000, 120_000):
        c.data(t_ms, seq - 1, payload)
        c.ack(t_ms + 100, seq)
    found = sender(c.read(tmp_path / "c.pcap"))
    assert (found["probe_segments"], found["duplicate_bytes"], found["data_bytes"]) == (2, 0, 10_000)
    entry = connection(tmp_path / "c.pcap")
    assert entry["probe_segments"] == 2
    assert entry["retransmissions"]["total"] == 0


def test_zero_window_from_close_to_update(tmp_path: Path) -> None:
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.data(3000, seq)
    c.ack(3100, seq + 1000, window=0)
    for t_ms in (3400, 4000, 5200):
        c.data(t_ms, seq + 999, 0)
        c.ack(t_ms + 100, seq + 1000, window=0)
    c.ack(6000, seq + 1000, window=60_000)
    c.data(6000.1, seq + 1000)
    c.ack(6100.1, seq + 2000)
    path = c.write(tmp_path / "snd.pcap")
    results = mt.analyze(mt.read(path), only=["acks", "connections"]).results
    (entry,) = results["connections"].summary["connections"]
    assert entry["probe_segments"] == 3
    assert entry["zero_windows"] == 4
    assert entry["retransmissions"]["total"] == 0
    window = results["acks"].summary["connections"][0]["window"]
    assert window["zero_s"] == 2.9
    assert window["updates"] == 1


def test_probe_with_the_next_byte_into_a_closed_window(tmp_path: Path) -> None:
    """As Solaris sends it: refused, then the byte goes with the data when the window opens."""
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.data(3000, seq)
    c.ack(3100, seq + 1000, window=0)
    c.data(3400, seq + 1000, 1)
    c.ack(3500, seq + 1000, window=0)
    c.ack(4000, seq + 1000, window=60_000)
    c.data(4000.1, seq + 1000)
    c.ack(4100.1, seq + 2000)
    found = sender(c.read(tmp_path / "c.pcap"))
    assert (found["probe_segments"], found["duplicate_bytes"], found["unique_bytes"]) == (1, 0, 12_000)


# opening and closing


def test_syn_sent_again_and_answered_again(tmp_path: Path) -> None:
    c = Conversation()
    for t_ms in (0, 1000):
        c.segment(t_ms, True, 0, None, SYN, options=OFFER)
    for t_ms in (1100, 1110):
        c.segment(t_ms, False, 0, 1, SYN, options=OFFER)
    c.segment(1110, True, 1, 1)
    found = c.read(tmp_path / "c.pcap")
    ahead, back = found["connections"][0]["forward"], found["connections"][0]["reverse"]
    assert ahead["retransmissions"]["timeout"] == 1
    assert back["retransmissions"]["timeout"] + back["retransmissions"]["handshake"] == 1
    assert ahead["duplicate_bytes"] == back["duplicate_bytes"] == 0
    assert found["timeouts"]["silence_ns"][0] == 1_000_000_000


def test_syn_answered_again_because_it_came_again(tmp_path: Path) -> None:
    c = Conversation()
    c.segment(0, True, 0, None, SYN, options=OFFER)
    c.segment(1, False, 0, 1, SYN, options=OFFER)
    c.segment(1000, True, 0, None, SYN, options=OFFER)
    c.segment(1001, False, 0, 1, SYN, options=OFFER)
    c.segment(1002, True, 1, 1)
    found = c.read(tmp_path / "c.pcap")
    assert found["connections"][0]["reverse"]["retransmissions"]["handshake"] == 1
    assert found["connections"][0]["reverse"]["retransmissions"]["timeout"] == 0


def test_data_in_the_syn(tmp_path: Path) -> None:
    """TCP Fast Open (RFC 7413): bytes count from the SYN on, and its ACK measures."""
    c = Conversation()
    cookie = b"\x22\x0a" + b"cookie!!" + b"\x01\x01"
    c.segment(0, True, 0, None, SYN, b"x" * 100, options=OFFER + cookie)
    c.segment(100, False, 0, 101, SYN, options=OFFER)
    c.data(100.1, 101, 900)
    c.ack(200.1, 1001)
    found = c.read(tmp_path / "c.pcap")
    ahead = sender(found)
    assert (ahead["unique_bytes"], ahead["duplicate_bytes"], ahead["acked_bytes"]) == (1000, 0, 1000)
    assert ahead["unseen_acked_bytes"] == 0
    assert ahead["rtt"]["samples"] == 2
    rows = found["segments"]
    assert (rows["seq"][0], rows["length"][0], rows["seq"][2]) == (0, 100, 101)


def refused() -> Conversation:
    c = Conversation()
    c.segment(0, True, 0, None, SYN, b"x" * 100, options=OFFER)
    c.segment(100, False, 0, 1, SYN, options=OFFER)
    c.data(100.1, 1, 100)
    c.ack(200.1, 101)
    return c


def test_cause_of_refused_data(tmp_path: Path) -> None:
    """Linux 6.18 counts it in TCPSlowStartRetrans, as what follows a loss."""
    ahead = sender(refused().read(tmp_path / "c.pcap"))
    assert (ahead["retransmissions"]["slow_start"], ahead["retransmissions"]["unknown"]) == (1, 0)


def test_refused_data_in_two_pieces(tmp_path: Path) -> None:
    """What fitted the SYN does not fit a segment with timestamps."""
    c = Conversation()
    c.segment(0, True, 0, None, SYN, b"x" * 100, options=OFFER)
    c.segment(100, False, 0, 1, SYN, options=OFFER)
    c.data(100.1, 1, 88)
    c.data(100.1, 89, 12)
    c.data(100.2, 101, 900)
    c.ack(200.1, 1001)
    ahead = sender(c.read(tmp_path / "c.pcap"))
    assert (ahead["retransmissions"]["slow_start"], ahead["retransmissions"]["unknown"]) == (2, 0)
    assert (ahead["unique_bytes"], ahead["duplicate_bytes"]) == (1000, 100)


def test_data_behind_the_handshake_sent_again_is_not_refused_data(tmp_path: Path) -> None:
    """The first data sent twice within a round trip, as by a broken sender: nothing calls for it."""
    c = Conversation()
    c.handshake()
    c.data(100.2, 1, 100)
    c.segment(102, False, 1, 1)
    c.data(102.1, 1, 100)
    c.ack(200.1, 101)
    ahead = sender(c.read(tmp_path / "c.pcap"))
    assert (ahead["retransmissions"]["slow_start"], ahead["retransmissions"]["unknown"]) == (0, 1)


def test_data_in_the_syn_refused(tmp_path: Path) -> None:
    """The server took the SYN and left its data: it is sent once more, without any timer."""
    found = refused().read(tmp_path / "c.pcap")
    assert sender(found)["duplicate_bytes"] == 100
    assert len(found["retransmissions"]["t_ns"]) == 1
    assert len(found["timeouts"]["t_ns"]) == 0


@pytest.mark.parametrize("from_a", [True, False])
def test_reset_connection(from_a: bool, tmp_path: Path) -> None:
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.data(3000, seq)
    c.segment(3050, from_a, seq + 1000 if from_a else 1, 1 if from_a else seq, RST)
    entry = connection(c.write(tmp_path / "c.pcap"))
    assert entry["closed"] == "reset"
    assert entry["bytes"] == {"sent": 11_000, "unique": 11_000, "duplicate": 0, "acked": 10_000}


@pytest.mark.parametrize("reset", [False, True])
def test_closed_by_fin(reset: bool, tmp_path: Path) -> None:
    """A reset that answers what came once both FINs were acknowledged closes nothing."""
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.segment(3000, True, seq, 1, FIN)
    c.segment(3100, False, 1, seq + 1, FIN)
    c.segment(3100, True, seq + 1, 2)
    if reset:
        c.segment(3120, False, 2, 0, RST)
    entry = connection(c.write(tmp_path / "c.pcap"))
    assert entry["closed"] == "fin"
    assert entry["bytes"]["unique"] == entry["bytes"]["acked"] == 10_000


def test_a_reset_before_the_last_fin_is_acknowledged_closes(tmp_path: Path) -> None:
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.segment(3000, True, seq, 1, FIN)
    c.segment(3100, False, 1, seq + 1, FIN)
    c.segment(3120, True, seq + 1, 0, RST)
    assert connection(c.write(tmp_path / "c.pcap"))["closed"] == "reset"


def test_ports_used_again_with_another_isn(tmp_path: Path) -> None:
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.segment(3000, True, seq, 1, RST)
    c.isn_a, c.isn_b = 77, 4_000_000_000
    c.handshake(5000)
    c.data(5200, 1)
    c.data(5600, 1)
    c.ack(5700, 1001)
    first, second = c.read(tmp_path / "c.pcap")["connections"]
    assert (first["forward"]["unique_bytes"], second["forward"]["unique_bytes"]) == (10_000, 1000)
    assert (first["forward"]["duplicate_bytes"], second["forward"]["duplicate_bytes"]) == (0, 1000)
    assert (first["forward"]["rst"], second["forward"]["rst"]) == (1, 0)


# offload, copies, interfaces


def test_super_segment_sent_again_is_several_packets(tmp_path: Path) -> None:
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.data(3000, seq, 4500)
    c.ack(3100, seq, [(seq + 4000, seq + 4500)])
    c.data(3100.1, seq, 4000)
    c.ack(3200, seq + 4500)
    found = sender(c.read(tmp_path / "c.pcap"))
    assert found["retransmissions"]["fast"] == 4
    assert (found["duplicate_bytes"], found["data_segments"]) == (4000, 12)
    assert found["largest_segment"] == 4500


@pytest.mark.parametrize("lost", [(2,), (1, 2)])
def test_packets_of_a_super_segment_are_followed_one_by_one(tmp_path: Path, lost: tuple[int, ...]) -> None:
    """The sender's capture holds one segment of four packets, of which the receiver's capture lacks some."""
    near, far = Conversation(), Conversation()
    for c, late in ((near, 0), (far, 20)):
        c.handshake(late, rtt_ms=60)
        c.data(200 + late, 1, 1000, ident=100)
    far.packets[1] = (40, far.packets[1][1])  # the SYN+ACK passes the far capture first
    near.data(300, 1001, 4000, ident=200)
    for i in sorted({0, 1, 2, 3} - set(lost)):
        far.data(320 + i, 1001 + 1000 * i, ident=200 + i)
    for i in lost:
        near.data(400 + i, 1001 + 1000 * i, 1000, ident=300 + i)
        far.data(420 + i, 1001 + 1000 * i, 1000, ident=300 + i)
    for c, early in ((near, 0), (far, 20)):
        c.ack(250 - early, 1001)
        c.ack(450 - early, 5001)
        c.packets.sort(key=lambda packet: packet[0])
    paths = [near.write(tmp_path / "snd.pcap"), far.write(tmp_path / "rcv.pcap")]
    result = mt.analyze(mt.read(*paths), only=["losses"]).results["losses"]
    found = result.summary["directions"][0]
    assert (found["packets"], found["arrived"], found["lost"]) == (5 + len(lost), 5, len(lost))
    assert found["data_lost"] == len(lost)
    assert found["certain"]


def test_coalesced_segments_at_the_receiver(tmp_path: Path) -> None:
    """Receive offload: one record for two packets, the first of them for the second time."""
    c = Conversation()
    c.handshake()
    c.data(200, 1, 1000)
    c.data(210, 1, 2000)
    c.ack(211, 2001)
    found = sender(c.read(tmp_path / "c.pcap"))
    assert (found["unique_bytes"], found["duplicate_bytes"], found["acked_bytes"]) == (2000, 1000, 2000)


def cooked(packet: bytes, kind: int, interface: int) -> bytes:
    """LINUX_SLL2: protocol, interface, ARPHRD, whether sent or received, address."""
    return struct.pack(">HHIHBB8s", 0x0800, 0, interface, 1, kind, 6, bytes(8)) + packet


def test_every_packet_on_two_interfaces(tmp_path: Path) -> None:
    """`-i any` on a router: in through one interface, out through the other, then a real retransmission."""
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.data(3000, seq)
    c.data(3400, seq)
    c.ack(3500, seq + 1000)
    path = tmp_path / "any.pcap"
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 276))
        for t_ms, data in c.packets:
            for interface, kind, late_ns in ((2, 0, 0), (3, 4, 30_000)):
                t_ns, body = round(t_ms * 1e6) + late_ns, cooked(data, kind, interface)
                file.write(struct.pack("<IIII", t_ns // 10**9, t_ns % 10**9, len(body), len(body)) + body)
    entry = connection(path)
    once = connection(c.write(tmp_path / "once.pcap"))
    assert (
        entry["bytes"]
        == once["bytes"]
        == {"sent": 12_000, "unique": 11_000, "duplicate": 1000, "acked": 11_000}
    )
    assert entry["retransmissions"] == once["retransmissions"]


def test_merged_interfaces_of_different_links(tmp_path: Path) -> None:
    """pcapng with an Ethernet interface in microseconds and a raw one in nanoseconds."""
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.data(3000, seq)
    c.data(3400, seq)
    c.ack(3500, seq + 1000)

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack("<HHI", 1, 0, 0))
    out += block(1, struct.pack("<HHIHHBxxxI", 101, 0, 0, 9, 1, 9, 0))
    for t_ms, data in c.packets:
        frame = bytes(12) + b"\x08\x00" + data
        for interface, packet, ticks in (
            (0, frame, round(t_ms * 1e3)),
            (1, data, round(t_ms * 1e6) + 40_000),
        ):
            head = struct.pack("<IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(packet), len(packet))
            out += block(6, head + packet)
    path = tmp_path / "merged.pcapng"
    path.write_bytes(out)
    measurement = mt.read(path)
    assert "duplicate-record" in {issue.code for issue in measurement.traces[0].issues}
    entry = connection(path)
    once = connection(c.write(tmp_path / "once.pcap"))
    assert entry["bytes"] == once["bytes"]
    assert entry["retransmissions"] == once["retransmissions"]
    assert entry["retransmissions"]["total"] == 1


# two captures override inference


def both_ends(tmp_path: Path, lost: bool) -> tuple[Path, Path]:
    """A timeout that nothing at the sender can judge: whether the original arrived, the far end knows."""
    near, far = Conversation(sack=False), Conversation(sack=False)
    for c, late in ((near, 0.0), (far, 50.0)):
        c.handshake(late, rtt_ms=100 - 2 * late or 0.001)
        for i in range(10):
            c.data(200 + 200 * i + late, 1 + 1000 * i, ident=100 + i)
            c.ack(300 + 200 * i - late, 1001 + 1000 * i)
    near.data(3000, 10_001, ident=500)
    near.data(3310, 10_001, ident=501)
    near.ack(3430, 11_001)
    if not lost:
        far.data(3320, 10_001, ident=500)
        far.ack(3325, 11_001)
    far.data(3360, 10_001, ident=501)
    far.ack(3380 if lost else 3361, 11_001)
    if not lost:
        near.ack(3440, 11_001)
    return near.write(tmp_path / "snd.pcap"), far.write(tmp_path / "rcv.pcap")


@pytest.mark.parametrize(("lost", "verdict"), [(True, "genuine"), (False, "spurious")])
def test_two_captures_decide_what_one_cannot(lost: bool, verdict: str, tmp_path: Path) -> None:
    near, far = both_ends(tmp_path, lost)
    (alone,) = mt.analyze(mt.read(near), only=["timeouts"]).results["timeouts"].summary["timeouts"]
    assert alone["verdict"] == "inconclusive"
    (event,) = mt.analyze(mt.read(near, far), only=["timeouts"]).results["timeouts"].summary["timeouts"]
    assert event["verdict"] == verdict
    assert event["votes"] == {"receiver": verdict}, "labelled with what decided"


def test_the_receivers_capture_overrides_an_inference(tmp_path: Path) -> None:
    """F-RTO takes the advance of a delayed ACK for proof; the receiver never had the original."""
    near, far = Conversation(sack=False), Conversation(sack=False)
    for c, late in ((near, 0.0), (far, 50.0)):
        c.handshake(late, rtt_ms=100 - 2 * late or 0.001)
        for i in range(10):
            c.data(200 + 200 * i + late, 1 + 1000 * i, ident=100 + i)
            c.ack(300 + 200 * i - late, 1001 + 1000 * i)
    for i in range(3):
        near.data(3000 + i, 10_001 + 1000 * i, ident=500 + i)
    near.data(3310, 10_001, ident=510)
    far.data(3360, 10_001, ident=510)
    far.ack(3360.1, 11_001)
    far.data(3361, 11_001, ident=501)
    far.data(3362, 12_001, ident=502)
    far.ack(3362.1, 13_001)
    near.ack(3420, 11_001)
    near.ack(3422, 13_001)
    paths = near.write(tmp_path / "snd.pcap"), far.write(tmp_path / "rcv.pcap")
    (alone,) = mt.analyze(mt.read(paths[0]), only=["timeouts"]).results["timeouts"].summary["timeouts"]
    assert (alone["verdict"], alone["votes"]) == ("spurious", {"frto": "spurious"})
    (event,) = mt.analyze(mt.read(*paths), only=["timeouts"]).results["timeouts"].summary["timeouts"]
    assert event["verdict"] == "genuine"
    assert event["votes"] == {"receiver": "genuine", "frto": "spurious"}


def test_checksums_of_these_conversations_are_right(tmp_path: Path) -> None:
    """Else the tests above would test how damage is treated."""
    c = Conversation(timestamps=True, scale=3)
    c.handshake()
    c.warm_up(3)
    rows = c.read(tmp_path / "c.pcap")["segments"]
    assert set(np.unique(rows["checksum"])) == {CHECKSUMS.index("good")}
    assert (rows["flags"] & ACK).astype(bool).sum() == len(rows["flags"]) - 1
    assert rows["window"][-1] == 60_000 << 3
