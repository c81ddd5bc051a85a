"""The map of segments to frames: against a simulated link's own record, and on the samples."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpkt
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support_lab import SECOND, run, tcp
from support_samples import SAMPLES

import multitracer as mt
from multitracer import native
from multitracer.lab.ppp import hdlc
from multitracer.lab.ppp.vj import VjCompressor, ip_checksum
from multitracer.layers.framemap.sizes import Framing, sizes
from multitracer.layers.framemap.stream import holds_packets
from multitracer.model.errors import MultiTracerError, UsageError

START = 1_700_000_000 * SECOND
HOSTS = (b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02")


def addressed(packet: bytes, side: int) -> bytes:
    """Give a packet of `support_lab.tcp` the addresses and ports of its side."""
    ip = dpkt.ip.IP(packet)
    ip.src, ip.dst = HOSTS[side], HOSTS[1 - side]
    ip.data.sport, ip.data.dport = (1025, 80) if side == 0 else (80, 1025)
    ip.sum = ip.data.sum = 0
    return bytes(ip)


def transfer(count: int, seed: int) -> list[tuple[int, int, bytes]]:
    """Bulk data from side 0 in bursts, with pauses in which the link runs empty, and ACKs from side 1."""
    draw = random.Random(seed)
    packets = [
        (START, 0, addressed(tcp(999, 0, flags=0x02, ip_id=1), 0)),
        (START + SECOND, 1, addressed(tcp(4999, 1000, flags=0x12, ip_id=1), 1)),
    ]
    t_ns, seq = START + 3 * SECOND, 1000
    for index in range(count):
        length = draw.choice((24, 120, 300, 460))
        data = draw.randbytes(length)
        packets.append((t_ns, 0, addressed(tcp(seq, 5000, data, ip_id=2 + index), 0)))
        seq += length
        packets.append((t_ns + SECOND, 1, addressed(tcp(5000, seq, ip_id=2 + index), 1)))
        t_ns += draw.choice((10_000_000, 50_000_000, 2 * SECOND))
    return sorted(packets, key=lambda one: one[0])


def recorded(tmp_path: Path, link: dict[str, Any], count: int = 40, snaplen: int = 65535) -> Any:
    outcome = run(link, transfer(count, 7), limit_s=1_700_001_000)
    sent: list[list[tuple[int, bytes]]] = [[], []]
    for t_ns, side, packet in transfer(count, 7):
        sent[side].append((t_ns, packet))
    for delivery in outcome.deliveries:
        sent[delivery.side].append((delivery.t_ns, delivery.packet))
    for name, rows in zip(("snd.pcap", "rcv.pcap"), sent, strict=True):
        with (tmp_path / name).open("wb") as file:
            file.write(bytes.fromhex("4d3cb2a1020004000000000000000000") + (65535).to_bytes(4, "little"))
            file.write((101).to_bytes(4, "little"))
            for t_ns, packet in sorted(rows, key=lambda one: one[0]):
                kept = packet[:snaplen]
                stamp = (t_ns // SECOND, t_ns % SECOND, len(kept), len(packet))
                file.write(b"".join(value.to_bytes(4, "little") for value in stamp) + kept)
    header = outcome.link.log_header()
    (tmp_path / "rlp.log").write_text("\n".join([header, *outcome.log]) + "\n")
    measurement = mt.read(tmp_path / "snd.pcap", tmp_path / "rcv.pcap", tmp_path / "rlp.log")
    return measurement, outcome


def truth(outcome: Any, side: int) -> list[tuple[int, int]]:
    events = outcome.link.truth.events
    return [(e["first"], e["end"]) for e in events if e["what"] == "packet" and e["side"] == side]


LINKS = {
    "plain": {"model": "rlp"},
    "escaped": {"model": "rlp", "accm": 0xFFFFFFFF},
    "vj": {"model": "rlp", "vj": True},
    "vj without slots": {"model": "rlp", "vj": True, "vj_compress_slot": True},
    "losses": {"model": "rlp", "vj": True, "air": {"loss_good": 0.05}},
}


@pytest.mark.parametrize("name", LINKS)
def test_every_byte_range_is_that_of_the_link(name: str, tmp_path: Path) -> None:
    measurement, outcome = recorded(tmp_path, LINKS[name])
    spans = measurement.frame_map.spans
    for side, entity in enumerate(("ms", "iwf")):
        mine = spans.where(spans["entity"] == measurement.entities.index(entity))
        expected = np.array(truth(outcome, side))
        assert len(mine) == len(expected)
        off = np.maximum(np.abs(mine["first"] - expected[:, 0]), np.abs(mine["end"] - expected[:, 1]))
        assert np.all(off <= mine["error"]), (entity, measurement.frame_map.facts)
        assert off.max() <= 1
        assert set(mine.words("fate").tolist()) == {"carried"}


def test_a_cut_capture_gives_ranges_within_their_error(tmp_path: Path) -> None:
    measurement, outcome = recorded(tmp_path, LINKS["plain"], snaplen=80)
    spans = measurement.frame_map.spans
    mine = spans.where(spans["entity"] == measurement.entities.index("ms"))
    expected = np.array(truth(outcome, 0))
    off = np.maximum(np.abs(mine["first"] - expected[:, 0]), np.abs(mine["end"] - expected[:, 1]))
    assert np.all(off <= mine["error"])
    assert off.max() < 24


def test_both_ways_agree(tmp_path: Path) -> None:
    measurement, _ = recorded(tmp_path, LINKS["losses"], count=15)
    found = measurement.frame_map
    for record in measurement.table("link_frames")["record"].tolist():
        for packet, source in zip(
            *(found.packets_of(record)[n].tolist() for n in ("record", "source")), strict=True
        ):
            frames = found.frames_of(packet, source)
            assert record in {
                *frames["frame_record"].tolist(),
                *frames["last_record"].tolist(),
                *other_lines(measurement, frames),
            }


def other_lines(measurement: Any, frames: Any) -> list[int]:
    """Lines of further transmissions and of receptions of the same frames."""
    rows = measurement.table("link_frames")
    return [int(line) for line in rows["record"][np.isin(rows["offset"], frames["offset"])]]


def test_frames_of_a_packet_hold_all_of_it(tmp_path: Path) -> None:
    measurement, _ = recorded(tmp_path, LINKS["vj"], count=15)
    found = measurement.frame_map
    spans = found.spans
    for row in np.flatnonzero(spans["source"] == measurement.snd).tolist():
        frames = found.frames_of(int(spans["record"][row]))
        assert frames["share"].sum() == spans["end"][row] - spans["first"][row]
        assert len(frames) == spans["frames"][row]


def test_what_is_not_on_the_map_is_refused(tmp_path: Path) -> None:
    measurement, _ = recorded(tmp_path, LINKS["plain"], count=3)
    with pytest.raises(UsageError, match="not on the map"):
        measurement.frame_map.frames_of(10_000)
    with pytest.raises(UsageError, match="not a data frame"):
        measurement.frame_map.packets_of(10_000)


def test_a_capture_alone_has_no_map() -> None:
    measurement = mt.read(SAMPLES / "local-drops" / "snd.pcap")
    assert len(measurement.frame_map.spans) == 0
    assert "link log" in str(mt.analyze(measurement, only=["frame_map"]).frame_map.inconclusive)


def test_samples_arrive_when_their_last_frame_did(analyzed: Callable[[str], dict[str, Any]]) -> None:
    for name in ("link-resets-vj", "spurious-timeouts"):
        measurement = mt.read(SAMPLES / name)
        spans = measurement.frame_map.spans
        exact = (spans["error"] == 0) & (spans["complete_ns"] >= 0) & (spans["arrived_ns"] >= 0)
        lag = (spans["arrived_ns"] - spans["complete_ns"])[exact] / 1e6
        assert exact.mean() > 0.9
        assert np.median(np.abs(lag)) < 1.0
        assert lag.min() > -1.0


@given(st.binary(max_size=300), st.sampled_from((0, 0x000A0000, 0xFFFFFFFF)))
@settings(max_examples=60, deadline=None)
def test_sizes_are_those_of_the_encoder(data: bytes, accm: int) -> None:
    packet = b"\x45" + bytes(19) + data
    framed = hdlc.encode(hdlc.PPP_IP, packet, accm)
    assert sizes(Framing("", accm=accm), [(len(packet), packet)]).known.tolist() == [len(framed)]


_VJ_PROTOCOLS = {
    "ip": hdlc.PPP_IP,
    "compressed": hdlc.PPP_VJ_COMPRESSED,
    "uncompressed": hdlc.PPP_VJ_UNCOMPRESSED,
}


def _conversation(seed: int) -> list[tuple[int, bytes]]:
    """Packets of a few connections whose headers move on as they like; some are cut by the capture."""
    pick = random.Random(seed).choice
    seq, ack, before = [5] * 20, [9] * 20, [0] * 20
    found = []
    for number in range(40):
        one = pick((0, 0, 0, 0, 1, 2, number % 20))
        payload = b"~a"[number % 2 :][:1] * pick((0, 1, 100, 100, 460))
        seq[one] += pick((before[one], before[one], 0, 300, 70_000))
        ack[one] += pick((0, 0, before[one], 1, 300))
        before[one] = len(payload)
        flags = pick((0x10, 0x10, 0x18, 0x10, 0x30, 0x50, 0x12))
        window, urgent = pick((500, 500, 500, 900)), pick((0,) * 9 + (7,))
        options = pick((b"",) * 9 + (b"\1\1\1\0",))
        size = (5 + len(options) // 4) << 4
        tcp_header = (1000 + one, 80, seq[one], ack[one], size, flags, window, 0xBEEF - number, urgent)
        body = struct.pack("!HHIIBBHHH", *tcp_header) + options + payload
        ident = pick((number, number, number, 7 * number, number - 1 & 0xFFFF))
        protocol = pick((6,) * 9 + (17,))
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), ident, 0, 64, protocol, 0)
        head += bytes((10, 0, 0, 1, 10, 0, 0, 2))
        packet = head[:10] + ip_checksum(head).to_bytes(2, "big") + head[12:] + body
        found.append((len(packet), packet[: pick((len(packet),) * 3 + (96, 50, 30))]))
    return found


@given(st.integers(0, 2**32), st.booleans(), st.booleans(), st.sampled_from((0, 0xFFFFFFFF)))
@settings(max_examples=100, deadline=None)
def test_sizes_are_those_of_the_links_compressor(
    seed: int, leave_out: bool, special: bool, accm: int
) -> None:
    packets = _conversation(seed)
    framing = Framing("", accm=accm, vj=True, leave_slot_out=leave_out, special_cases=special)
    found = sizes(framing, packets)
    compressor = VjCompressor(compress_slot=leave_out, special_cases=special)
    escaped = framing.specials()
    for row, (length, data) in enumerate(packets):
        unseen = length - len(data)
        kind, information = compressor.compress(data + bytes(unseen))
        if not unseen:
            expected = len(hdlc.encode(_VJ_PROTOCOLS[kind], information, accm))
        else:
            content = b"\xff\x03" + _VJ_PROTOCOLS[kind].to_bytes(2, "big") + information[:-unseen]
            expected = len(content) + sum(byte in escaped for byte in content) + unseen + 3
        assert found.known[row] == expected
        assert found.unseen[row] == (unseen + 2 if unseen else 0)


@given(st.binary(max_size=400))
@settings(max_examples=80, deadline=None)
def test_any_bytes_as_a_capture_end_in_packets_or_an_error(tmp_path_factory: Any, data: bytes) -> None:
    path = tmp_path_factory.mktemp("raw") / "x.pcap"
    for magic in (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b""):
        path.write_bytes(magic + data)
        for content in (None, path.read_bytes()):
            try:
                found = native.ip_packets(str(path), content)
            except MultiTracerError:
                continue
            assert found is not None
            assert all(packet.record >= 1 and len(packet.data) <= packet.length for packet in found)


def test_what_is_sent_between_being_told_and_the_answer_is_not_lost() -> None:
    """The entity told of a reset sends on at once; the one that gave up has the answer 0.2 s later."""
    measurement = mt.read(SAMPLES / "link-resets-vj")
    spans = measurement.frame_map.spans.where(measurement.frame_map.spans["source"] == measurement.snd)
    fates = dict(zip(spans["record"].tolist(), spans.words("fate").tolist(), strict=True))
    assert [fates[record] for record in (108, 110, 112, 114)] == ["cut", "flushed", "carried", "carried"]


def test_fates_are_those_of_the_link_through_resets(tmp_path: Path) -> None:
    """Behind a reset the rest of a cut packet and the next one are one PPP frame, if no flag parts them."""
    air = {
        "kind": "gilbert_elliott",
        "loss_good": 0.002,
        "loss_bad": 0.95,
        "p_good_to_bad": 0.004,
        "p_bad_to_good": 0.02,
    }
    link = {"model": "rlp", "n2": 3, "vj": True, "air": air}
    measurement, outcome = recorded(tmp_path, link, count=60)
    events = outcome.link.truth.events
    assert sum(event["what"] == "reset" for event in events) >= 3
    spans = measurement.frame_map.spans
    wrong, spoiled = 0, 0
    for side, entity in enumerate(("ms", "iwf")):
        mine = spans.where(spans["entity"] == measurement.entities.index(entity))
        mine = mine.where((mine["first"] >= 0) & (mine.words("fate") != "waiting"))
        lost = {e["end"] for e in events if e["what"] == "packet_lost" and e["side"] == side}
        for row, (_, end) in zip(range(len(mine)), truth(outcome, side), strict=False):
            fate = str(mine.words("fate")[row])
            wrong += (fate != "carried") != (end in lost)
            spoiled += fate == "spoiled"
    assert spoiled == sum(e["what"] == "packet_lost" and e["cause"] == "bad_fcs" for e in events) == 1
    assert wrong == 0


def test_small_packets_in_frames_of_their_own_are_no_stream() -> None:
    packets = np.array([44, 40, 168, 168, 168, 40])
    assert holds_packets(np.array([44, 40, 168, 168]), packets)
    # The same bytes in frames of 100, or of 24 as RLP has them: the last one of each run is shorter.
    assert not holds_packets(np.array([100, 100, 52, 100, 68]), packets)
    assert not holds_packets(np.array([24, 20, 24, 24]), packets)
