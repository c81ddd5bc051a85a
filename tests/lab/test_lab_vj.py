from __future__ import annotations

from hypothesis import given, settings, strategies as st
from support_lab import checksum_good, tcp

from multitracer.lab.ppp.vj import VjCompressor, VjDecompressor

FIN, PSH, ACK, URG, ECE, CWR = 0x01, 0x08, 0x10, 0x20, 0x40, 0x80

steps = st.lists(
    st.tuples(
        st.integers(0, 5),  # connection
        st.sampled_from([0, 0, 1, 460, 1460, 70_000, -460]),  # what SEQ moves by, beside the data before
        st.sampled_from([0, 0, 1, 460, 300, 65_536, 2**31]),  # what ACK moves by
        st.sampled_from([8192, 8192, 8000, 0, 65_535]),  # window
        st.sampled_from(
            [ACK, ACK, ACK | PSH, ACK | URG, ACK | PSH | URG, ACK | FIN, ACK | ECE, ACK | CWR, 0x02]
        ),
        st.sampled_from([0, 1, 5, 460]),  # data
        st.sampled_from([1, 1, 0, 2, 300]),  # IP identification
        st.sampled_from([b"", b"", b"\x01\x01\x08\x0a" + bytes(8)]),
        st.sampled_from([0, 0, 1, 300]),  # urgent pointer
        st.sampled_from([0, 2, 3]),  # TOS with ECN
    ),
    max_size=60,
)


def flow(plan) -> list[bytes]:
    seqs, acks, lengths, ids = [100] * 6, [200] * 6, [0] * 6, [0] * 6
    packets = []
    for conn, seq, ack, window, flags, length, ip_id, options, urgent, tos in plan:
        seqs[conn] += lengths[conn] + seq
        acks[conn] += ack
        ids[conn] += ip_id
        lengths[conn] = length
        data = bytes(i & 0xFF for i in range(length))
        extra = {"window": window, "flags": flags, "options": options, "urgent": urgent, "tos": tos}
        packets.append(tcp(seqs[conn], acks[conn], data, ip_id=ids[conn], ports=(1024 + conn, 80), **extra))
    return packets


@settings(max_examples=200, deadline=None)
@given(steps, st.sampled_from([3, 16]), st.booleans())
def test_compression_is_the_identity_on_any_flow(plan, slots, compress_slot) -> None:
    compressor, decompressor = VjCompressor(slots, compress_slot), VjDecompressor(slots)
    for packet in flow(plan):
        kind, data = compressor.compress(packet)
        assert decompressor.decompress(kind, data) == packet
        assert len(data) <= len(packet)


@given(st.lists(st.tuples(st.sampled_from(["ip", "compressed", "uncompressed"]), st.binary(max_size=60))))
def test_any_bytes_decompress_to_something_or_nothing(packets) -> None:
    decompressor = VjDecompressor(3)
    for kind, data in packets:
        restored = decompressor.decompress(kind, data)
        assert restored is None or isinstance(restored, bytes)


@given(st.lists(st.binary(max_size=80), max_size=20))
def test_packets_that_are_not_tcp_pass(packets) -> None:
    compressor, decompressor = VjCompressor(), VjDecompressor()
    for packet in packets:
        assert decompressor.decompress(*compressor.compress(packet)) == packet


def bulk(count: int, size: int = 460) -> list[bytes]:
    return [tcp(1000 + i * size, 5000, bytes([i]) * size, ip_id=i + 1) for i in range(count)]


def test_bulk_data_costs_three_bytes_of_header() -> None:
    """RFC 1144 section 3.2.3: special case D leaves the mask and the checksum."""
    compressor = VjCompressor()
    sizes = [len(compressor.compress(packet)[1]) for packet in bulk(5)]
    assert sizes[2:] == [463] * 3
    with_slot = VjCompressor(compress_slot=False)
    assert [len(with_slot.compress(packet)[1]) for packet in bulk(5)][2:] == [464] * 3


def test_urgent_data_followed_by_a_special_case() -> None:
    """The RFC's own code leaves URG set here; the packet must come out as it went in."""
    compressor, decompressor = VjCompressor(), VjDecompressor()
    packets = [tcp(i * 460, 5, b"x" * 460, ip_id=i, flags=ACK | (URG if i == 2 else 0)) for i in range(5)]
    assert [decompressor.decompress(*compressor.compress(packet)) for packet in packets] == packets
    assert compressor.compress(tcp(5 * 460, 5, b"x" * 460, ip_id=5))[1][0] & 0x0F == 0x0F


def lose(lost: range, compress_slot: bool, damaged: bool, packets: list[bytes]) -> list[bytes | None]:
    compressor, decompressor = VjCompressor(16, compress_slot), VjDecompressor()
    out = []
    for index, packet in enumerate(packets):
        kind, data = compressor.compress(packet)
        if index not in lost:
            out.append(decompressor.decompress(kind, data))
        elif damaged:
            decompressor.error()
    return out


@given(st.integers(1, 5), st.integers(3, 10), st.booleans())
def test_lost_deltas_shift_every_later_segment(lost, at, compress_slot) -> None:
    """Paper 5.3, Figure 9: segment i + 5 is decoded as segment i, and only the TCP checksum shows it."""
    packets = bulk(20)
    out = lose(range(at, at + lost), compress_slot, False, packets)
    assert out[:at] == packets[:at]
    for index, restored in enumerate(out[at:], at):
        assert restored is not None
        assert restored[24:28] == packets[index][24:28]  # the sequence number of `lost` segments before
        assert restored[40:] == packets[index + lost][40:]
        assert not checksum_good(restored)


def test_a_retransmission_synchronises_again() -> None:
    """RFC 1144 section 4.1: TCP's own retransmission goes uncompressed."""
    packets = bulk(12)
    again = [tcp(1000 + 4 * 460, 5000, bytes([4]) * 460, ip_id=20), *bulk(14)[12:]]
    again[1] = tcp(1000 + 5 * 460, 5000, bytes([5]) * 460, ip_id=21)
    out = lose(range(4, 6), False, False, packets + again[:2])
    assert not any(checksum_good(restored) for restored in out[4:10])
    assert out[10:] == again[:2]


def test_after_damage_packets_without_a_slot_are_tossed() -> None:
    packets = [*bulk(10), bulk(3)[2]]  # the last one is a retransmission
    out = lose(range(4, 5), True, True, packets)
    assert out[:4] == packets[:4]
    assert out[4:9] == [None] * 5
    assert out[9] == packets[10]


def test_after_damage_an_explicit_slot_ends_the_tossing() -> None:
    out = lose(range(4, 5), False, True, bulk(10))
    assert all(restored is not None and not checksum_good(restored) for restored in out[4:])


def test_a_lost_pure_ack_ruins_the_acks_behind_it() -> None:
    """Paper 5.3, Figure 10: the variant with ACKs."""
    acks = [tcp(1, 5000 + i * 460, ip_id=i + 1) for i in range(8)]
    out = lose(range(3, 4), False, False, acks)
    assert not any(checksum_good(restored) for restored in out[3:])
