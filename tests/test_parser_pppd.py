"""pppd's record files, made of what the independent framing and compression of multitracer.lab.ppp give."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from support_lab import tcp

import multitracer as mt
from multitracer.lab.ppp import hdlc
from multitracer.lab.ppp.vj import VjCompressor
from multitracer.model.errors import CorruptTrace
from multitracer.model.trace import Trace

START = 1_795_249_751
SENT, RECEIVED = 1, 2
PROTOCOLS = {"ip": 0x21, "compressed": 0x2D, "uncompressed": 0x2F}


def framed(packets: Sequence[bytes]) -> list[bytes]:
    """Each packet, compressed and framed, as octets of the line."""
    compressor = VjCompressor()
    lines = []
    for packet in packets:
        kind, data = compressor.compress(packet)
        lines.append(hdlc.encode(PROTOCOLS[kind], data, opening_flag=True))
    return lines


def recording(records: Sequence[tuple[int, bytes]]) -> bytes:
    """A record file: octets by direction, a tenth of a second apart."""
    found = [struct.pack(">BI", 7, START)]
    for kind, octets in records:
        found.append(struct.pack(">BH", kind, len(octets)) + octets + bytes((6, 1)))
    return b"".join([*found, b"\x03"])


def opened(folder: Path, records: Sequence[tuple[int, bytes]]) -> Trace:
    path = folder / "line.rec"
    path.write_bytes(recording(records))
    return mt.open_trace(path)


def transfer(count: int = 20) -> list[bytes]:
    return [tcp(1 + at * 400, 1, bytes([at]) * 400, ip_id=at + 5) for at in range(count)]


def events(trace: Trace) -> list[tuple[str, str, int]]:
    table = trace.tables["link_events"]
    return list(zip(table.words("action"), table.words("kind"), table["record"].tolist(), strict=True))


def test_frames_of_both_directions(tmp_path: Path) -> None:
    lines = framed(transfer())
    trace = opened(tmp_path, [(SENT if at % 2 else RECEIVED, line) for at, line in enumerate(lines)])
    assert trace.source.format == "pppd"
    assert trace.source.records == len(lines)
    assert trace.source.first_ns == START * 10**9


def test_a_healthy_line_has_nothing_to_tell(tmp_path: Path) -> None:
    lines = framed(transfer())
    trace = opened(tmp_path, [(SENT, line) for line in lines])
    assert trace.source.details["packets_by_kind"] == {"vj_compressed": 19, "vj_uncompressed": 1}
    assert not trace.issues
    assert events(trace) == []
    frames = trace.tables["link_frames"]
    assert frames["offset"].tolist()[1] >= len(lines[0]) - 1
    assert trace.source.details["octets"] == {"sent": sum(map(len, lines)), "received": 0}


def test_a_lost_frame_leaves_the_decompressor_wrong_until_an_uncompressed_packet(tmp_path: Path) -> None:
    packets = transfer()
    lines = framed(packets[:12])
    again = framed(packets[12:])  # a compressor that begins anew: its first packet is uncompressed
    lost = [(RECEIVED, line) for line in [*lines[:5], *lines[6:], *again]]
    trace = opened(tmp_path, lost)
    # records: the start, then octets and a step each
    first_wrong, fresh = 2 + 2 * 5, 2 + 2 * 11
    assert events(trace) == [("rcv", "desync", first_wrong), ("rcv", "resync", fresh)]
    issue = {issue.code: (issue.count, issue.first_record) for issue in trace.issues}
    assert issue == {"header-desync": (6, first_wrong)}
    assert trace.source.details["wrong_headers"] == {"sent": 0, "received": 6}


def test_a_damaged_frame_is_shown_and_what_it_does(tmp_path: Path) -> None:
    lines = framed(transfer())
    damaged = bytearray(lines[7])
    damaged[20] ^= 0x55
    records = [(SENT, bytes(damaged) if at == 7 else line) for at, line in enumerate(lines)]
    trace = opened(tmp_path, records)
    assert [event[1] for event in events(trace)] == ["damaged", "desync"]
    assert {issue.code: issue.count for issue in trace.issues} == {"bad-frame": 1, "header-desync": 12}


def test_unknown_connection_and_empty_file(tmp_path: Path) -> None:
    lines = framed(transfer())
    trace = opened(tmp_path, [(SENT, line) for line in lines[1:]])
    assert events(trace)[0][1] == "desync"
    path = tmp_path / "other.rec"
    path.write_bytes(recording([]))
    with pytest.raises(CorruptTrace, match="no PPP frame"):
        mt.open_trace(path, format="pppd")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 1500), min_size=1, max_size=30), st.data())
def test_any_transfer_is_restored_as_the_compressor_meant_it(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], data: st.DataObject
) -> None:
    seq, ack, packets = 1, 1, []
    for at, length in enumerate(lengths):
        ack += data.draw(st.integers(0, 3000))
        flags = data.draw(st.sampled_from([0x10, 0x18]))
        window = data.draw(st.integers(0, 65535))
        packets.append(tcp(seq, ack, bytes(length), window=window, flags=flags, ip_id=at * 3))
        seq += length
    trace = opened(tmp_path_factory.mktemp("line"), [(SENT, line) for line in framed(packets)])
    assert events(trace) == []
    assert trace.source.records == len(packets)
