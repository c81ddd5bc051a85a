from __future__ import annotations

from hypothesis import given, strategies as st

from multitracer.lab.ppp import hdlc


def feed(stream: bytes, cuts: list[int]) -> list[hdlc.PppFrame]:
    decoder, frames, begin = hdlc.HdlcDecoder(), [], 0
    for cut in [*sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]:
        frames += decoder.feed(stream[begin:cut], begin)
        begin = cut
    return frames


protocols = st.sampled_from([hdlc.PPP_IP, hdlc.PPP_IPV6, hdlc.PPP_VJ_COMPRESSED, hdlc.PPP_VJ_UNCOMPRESSED])
accms = st.sampled_from([0, 0xFFFFFFFF, 0x000A0000])


@given(
    st.lists(st.tuples(protocols, st.binary(max_size=200))),
    accms,
    st.booleans(),
    st.lists(st.integers(0, 9999)),
)
def test_framing_survives_any_bytes_and_any_cuts(packets, accm, flag, cuts) -> None:
    stream, ends = b"", []
    for protocol, data in packets:
        stream += hdlc.encode(protocol, data, accm, flag)
        ends.append(len(stream))
    frames = feed(stream, cuts)
    assert [(frame.protocol, frame.information) for frame in frames] == packets
    assert [frame.end for frame in frames] == ends


@given(st.binary(max_size=300), accms)
def test_nothing_on_the_line_is_a_flag_or_escaped_character(data, accm) -> None:
    line = hdlc.encode(hdlc.PPP_IP, data, accm)
    assert line.count(hdlc.FLAG) == 1
    assert not [byte for byte in line if byte < 32 and accm >> byte & 1]


@given(st.binary(max_size=400))
def test_any_stream_gives_frames_or_nothing(stream) -> None:
    for frame in hdlc.HdlcDecoder().feed(stream):
        assert frame.protocol == -1 or frame.protocol & 1


@given(st.binary(min_size=5, max_size=100), st.data())
def test_lost_bytes_are_noticed(packet, data) -> None:
    first, second = hdlc.encode(hdlc.PPP_IP, packet), hdlc.encode(hdlc.PPP_IP, b"next")
    begin = data.draw(st.integers(0, len(first) - 2))
    end = data.draw(st.integers(begin + 1, len(first) - 1))
    frames = feed(first[:begin] + first[end:] + second, [])
    good = [frame.information for frame in frames if frame.protocol != -1]
    assert good[-1] == b"next"
    # Sixteen bits of check sequence catch every burst of up to two bytes, and nearly every longer one.
    assert end - begin > 2 or good == [b"next"] or packet in good


def test_seven_bytes_of_overhead() -> None:
    """Paper 4.6: 59 bytes of overhead are 40 of header, 12 of timestamps and 7 of PPP."""
    line = hdlc.encode(hdlc.PPP_IP, b"\x45" * 100)
    assert len(line) - line.count(hdlc.ESCAPE) == 100 + 7
    assert line.startswith(b"\xff\x03\x00\x21\x45")
    assert line.endswith(b"\x7e")


def test_fcs_of_a_known_string() -> None:
    """CRC-16/X-25 of the usual check string is 0x906e."""
    assert hdlc.fcs16(b"123456789") ^ 0xFFFF == 0x906E


def test_an_endless_frame_does_not_grow() -> None:
    decoder = hdlc.HdlcDecoder(mru=100)
    assert decoder.feed(b"x" * 10_000) == []
    assert len(decoder._frame) <= 110
    assert [frame.protocol for frame in decoder.feed(b"\x7e")] == [-1]


def test_compressed_address_and_protocol_fields_are_understood() -> None:
    content = b"\x21" + b"data"
    fcs = hdlc.fcs16(content) ^ 0xFFFF
    frames = hdlc.HdlcDecoder().feed(content + bytes((fcs & 0xFF, fcs >> 8)) + b"\x7e")
    assert frames == [hdlc.PppFrame(len(content) + 3, hdlc.PPP_IP, b"data")]
