"""802.11 frames, the headers that captures put in front of them, and captures of them, byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

STA, AP, OTHER_AP, STRANGER = (bytes.fromhex(f"0200000000{n:02x}") for n in (1, 0x11, 0x12, 0x99))
BEGIN_NS = 1_700_000_000_000_000_000
RETRY, POWER, PROTECTED = 0x0800, 0x1000, 0x4000
LLC_IP = bytes.fromhex("aaaa030000000800")
RADIOTAP, BARE, PRISM, AVS, PPI = 127, 105, 119, 163, 192


class Heard(NamedTuple):
    """A frame without its check sequence, and what the radio header says of it."""

    t_us: int
    frame: bytes
    rate: int = 22  # in 500 kb/s
    aggregate: int | None = None


def data(
    sequence: int,
    body: bytes = LLC_IP + bytes(40),
    *,
    down: bool = False,
    flags: int = 0,
    tid: int | None = 0,
    fragment: int = 0,
    ap: bytes = AP,
) -> bytes:
    """A data frame between the station and its access point."""
    control = (0x0088 if tid is not None else 0x0008) | (0x0200 if down else 0x0100) | flags
    addresses = STA + ap + ap if down else ap + STA + ap
    head = struct.pack("<HH", control, 0) + addresses + struct.pack("<H", sequence << 4 | fragment)
    return head + (struct.pack("<H", tid) if tid is not None else b"") + body


def null(power: bool) -> bytes:
    """A null frame by which the station says whether it will doze."""
    control = 0x0048 | 0x0100 | (POWER if power else 0)
    return struct.pack("<HH", control, 0) + AP + STA + AP + struct.pack("<H", 0)


def ack(to: bytes = STA) -> bytes:
    """An acknowledgement, which has no sender."""
    return struct.pack("<HH", 0x00D4, 0) + to


def block_ack(start: int, bits: int, *, to: bytes = STA, by: bytes = AP, tid: int = 0) -> bytes:
    """A compressed block ACK of 64 frames."""
    return struct.pack("<HH", 0x0094, 0) + to + by + struct.pack("<HHQ", tid << 12 | 5, start << 4, bits)


def block_ack_of(control: int, rest: bytes, *, to: bytes = STA, by: bytes = AP) -> bytes:
    """A block ACK of any kind: its BA control and what follows."""
    return struct.pack("<HH", 0x0094, 0) + to + by + struct.pack("<H", control) + rest


def msdu(packets: Iterable[bytes]) -> bytes:
    """The body of an A-MSDU: each packet behind its LLC header, addresses and a length."""
    body = b""
    for packet in packets:
        body += bytes(-len(body) % 4) + AP + STA + struct.pack(">H", len(packet)) + packet
    return body


def segment(seq: int, length: int = 100) -> bytes:
    """A packet of TCP in the clear, with its LLC header."""
    tcp = struct.pack(">HHIIBBHHH", 40000, 5001, seq, 1, 0x50, 0x10, 65535, 0, 0) + bytes(length)
    ends = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), seq % 65536, 0, 64, 6, 0)
    return LLC_IP + head + ends + tcp


def beacon(held: int = 0, *, ap: bytes = AP) -> bytes:
    """A beacon that announces something for stations whose identifiers are bits of `held` (below 16)."""
    fixed = struct.pack("<QHH", 0, 100, 0x0421)
    control = struct.pack("<HH", 0x0080, 0) + b"\xff" * 6 + ap + ap + struct.pack("<H", 0)
    return control + fixed + bytes([5, 5, 0, 1, 0]) + struct.pack("<H", held)


def ps_poll(aid: int) -> bytes:
    """A dozing station asks for what is held back."""
    return struct.pack("<HH", 0x00A4, 0xC000 | aid) + AP + STA


def management(subtype: int, body: bytes = b"", *, down: bool = False, ap: bytes = AP) -> bytes:
    """Deauthentication is 12, authentication 11, reassociation request 2."""
    addresses = STA + ap + ap if down else ap + STA + ap
    return struct.pack("<HH", subtype << 4, 0) + addresses + struct.pack("<H", 0) + body


def radiotap(heard: Heard) -> bytes:
    """TSFT, rate, channel, signal, and the A-MPDU that it was part of."""
    present = 0x2D | (1 << 20 if heard.aggregate is not None else 0)
    fields = struct.pack("<QBxHHb", heard.t_us, heard.rate, 2437, 0x00A0, -50)
    if heard.aggregate is not None:
        fields += bytes(-(8 + len(fields)) % 4) + struct.pack("<IHBB", heard.aggregate, 0, 0, 0)
    return struct.pack("<BBHI", 0, 0, 8 + len(fields), present) + fields


def ppi(heard: Heard) -> bytes:
    """A PPI header with the 802.11 common field."""
    field = struct.pack("<QHHHHBBbb", heard.t_us, 0, heard.rate, 2437, 0x00A0, 0, 0, -50, -90)
    return struct.pack("<BBHI", 0, 0, 8 + 4 + len(field), BARE) + struct.pack("<HH", 2, len(field)) + field


def prism(heard: Heard) -> bytes:
    """The header of linux-wlan-ng with time, channel, signal and rate."""
    items = {2: heard.t_us & 0xFFFFFFFF, 3: 6, 6: -50 & 0xFFFFFFFF, 8: heard.rate}
    body = b"".join(
        struct.pack("<IHHI", n << 16 | 0x44, n not in items, 4, items.get(n, 0)) for n in range(1, 11)
    )
    return struct.pack("<II16s", 0x44, 24 + len(body), b"wlan0") + body


def avs(heard: Heard) -> bytes:
    """The header of AVS capture."""
    time = struct.pack(">QQ", heard.t_us, 0)
    words = (4, 6, heard.rate * 5, 0, 0, 2, -50 & 0xFFFFFFFF, -90 & 0xFFFFFFFF, 2, 0)
    return struct.pack(">II", 0x80211001, 64) + time + struct.pack(">10I", *words)


HEADERS = {RADIOTAP: radiotap, BARE: lambda _: b"", PRISM: prism, AVS: avs, PPI: ppi}


def exchange(t_us: int, frame: bytes, *, answered: bool = True) -> list[Heard]:
    """A data frame, and the acknowledgement that follows."""
    down = frame[1] & 0x02
    answer = [Heard(t_us + 300, ack(AP if down else STA))] if answered else []
    return [Heard(t_us, frame), *answer]


def conversation(packets: int = 40) -> list[Heard]:
    """TCP in the clear, every fifth packet sent twice, a gap; the station leaves and returns."""
    heard: list[Heard] = []
    for n in range(packets):
        down, t_us = n % 4 == 3, n * 5000 + (2_000_000 if n > packets // 2 else 0)
        segment = struct.pack(">HHIIBBHHH", 40000, 5001, n * 100, 1, 0x50, 0x10, 65535, 0, 0) + bytes(100)
        if down:
            segment = struct.pack(">HHIIBBHHH", 5001, 40000, 1, n * 100, 0x50, 0x10, 65535, 0, 0)
        ends = bytes([10, 0, 0, 2, 10, 0, 0, 1] if down else [10, 0, 0, 1, 10, 0, 0, 2])
        packet = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), n, 0, 64, 6, 0) + ends + segment
        number = 3 * n if n == packets // 4 else n
        frame = data(number, LLC_IP + packet, down=down)
        if n % 5 == 0:
            heard.append(Heard(t_us, frame))
            frame, t_us = data(number, LLC_IP + packet, down=down, flags=RETRY), t_us + 900
        heard += exchange(t_us, frame)
        if n == packets // 2:
            heard.append(Heard(t_us + 1000, management(12, b"\3\0")))
    return heard


def content(frames: Iterable[Heard], link_type: int = RADIOTAP) -> bytes:
    """A pcap in nanoseconds."""
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link_type)]
    for heard in frames:
        packet = HEADERS[link_type](heard) + heard.frame
        seconds, rest = divmod(BEGIN_NS + heard.t_us * 1000, 10**9)
        out.append(struct.pack("<IIII", seconds, rest, len(packet), len(packet)) + packet)
    return b"".join(out)


def capture(path: Path, frames: Iterable[Heard], link_type: int = RADIOTAP) -> Path:
    """A capture of these frames."""
    path.write_bytes(content(frames, link_type))
    return path


def encrypted(plain: bytes) -> bytes:
    """A radiotap capture with the bodies of its QoS data frames as CCMP would leave them."""
    out, at = [plain[:24]], 24
    while at < len(plain):
        seconds, rest, kept, _ = struct.unpack_from("<IIII", plain, at)
        packet = plain[at + 16 : at + 16 + kept]
        at += 16 + kept
        begin = struct.unpack_from("<H", packet, 2)[0]
        frame = packet[begin:]
        if frame[0] == 0x88:
            body = (
                bytes.fromhex("0100002000000000")
                + bytes(b ^ 0x5A for b in frame[26:-4])
                + bytes(8)
                + frame[-4:]
            )
            control = struct.unpack_from("<H", frame)[0] | PROTECTED
            packet = packet[:begin] + struct.pack("<H", control) + frame[2:26] + body
        out.append(struct.pack("<IIII", seconds, rest, len(packet), len(packet)) + packet)
    return b"".join(out)
