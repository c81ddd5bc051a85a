"""Bytes on the wire of segments that the sender's interface divides: each packet has headers of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_conversation import Conversation
from support_entries import entry

import multitracer as mt
from multitracer.diagnosis.field.offered import Offered
from multitracer.layers.tcp.bottleneck import bottleneck

PAYLOAD = 1_000_000


@pytest.mark.parametrize(
    ("mss", "timestamps", "packet_bytes"), [(536, False, 576), (1460, False, 1500), (1460, True, 1500)]
)
def test_a_packet_is_no_longer_than_was_agreed_on(mss: int, timestamps: bool, packet_bytes: int) -> None:
    """Of ten long segments; without timestamps a header is 12 bytes shorter."""
    facts = {"mss": mss, "timestamps": timestamps, "rate": 8e6, "full": 1.0, "unique": PAYLOAD}
    one = entry(0, bandwidth=1.0, **facts)
    one["packets"]["data"] = 10
    offered = Offered([one])
    assert offered.packet_bytes == packet_bytes
    payload = packet_bytes - 40 - 12 * timestamps
    assert offered.wire_bytes == pytest.approx(PAYLOAD * packet_bytes / payload)


def test_a_queue_takes_the_headers_of_each_packet(tmp_path: Path) -> None:
    """Segments of four packets of 536 bytes each, and a short one behind them."""
    said = Conversation(scale=3)
    said.handshake(0, 40, mss=536)
    seq = 1
    for at in range(60):
        said.data(100 + 20 * at, seq, 4 * 536 + 100)
        seq += 4 * 536 + 100
        said.ack(145 + 20 * at, seq)
    said.packets.sort(key=lambda packet: packet[0])
    found = bottleneck(mt.read(said.write(tmp_path / "snd.pcap"), point="snd"))
    assert found is not None
    assert set(found.size.tolist()) == {4 * 576 + 140}


def test_of_a_segment_that_is_divided_the_part_that_is_sent_again_was_lost(tmp_path: Path) -> None:
    """The second of four packets is; and all of a segment behind it, which is one packet."""
    said = Conversation(scale=3)
    said.handshake(0, 40, mss=1000)
    seq = 1
    for at in range(40):
        said.data(100 + 20 * at, seq, 4000, ident=3 + 4 * at)
        seq += 4000
        said.ack(145 + 20 * at, seq)
    said.packets.sort(key=lambda packet: packet[0])
    said.data(1000, seq, 4000, ident=163)
    said.data(1001, seq + 4000, 1000, ident=167)
    for at in range(3):
        said.ack(1042 + at, seq + 1000)
    said.data(1046, seq + 1000, 1000, ident=168)
    said.data(1047, seq + 4000, 1000, ident=169)
    said.ack(1090, seq + 5000)
    found = bottleneck(mt.read(said.write(tmp_path / "snd.pcap"), point="snd"))
    assert found is not None
    assert found.again[-4:].tolist() == [0.25, 1.0, 0.0, 0.0]
    assert not found.again[:-4].any()
