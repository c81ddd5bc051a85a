"""Faults of captures: times, order, copies, gaps, headers, options, encapsulations, blocks of pcapng."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

from fuzzing.raw import NUMBERS, extreme

MAGICS = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")
SECTION = b"\x0a\x0d\x0d\x0a"
_HEADER_BYTES = {1: 14, 12: 0, 101: 0, 113: 16, 276: 20, 0: 4, 228: 0, 9: 4}
_LINK_TYPES = (
    0, 1, 6, 7, 9, 12, 50, 51, 101, 104, 105, 107, 108, 113, 119, 127, 129, 147, 163, 192, 217, 228, 229, 276,
    65535,
)  # fmt: skip
_SPANS_S = (1, 3600, 86_400, 10 * 365 * 86_400, 2**31, 2**32 - 1)


@dataclass(frozen=True)
class Record:
    """A packet of a classic capture, its time in the file's units."""

    seconds: int
    fraction: int
    length: int
    data: bytes


Records = list[Record]
RecordFault = Callable[[Records, int, random.Random], Records]


def read(data: bytes) -> Records:
    """The complete records of a little-endian pcap file."""
    found, at = [], 24
    while at + 16 <= len(data):
        seconds, fraction, size, length = struct.unpack_from("<IIII", data, at)
        if at + 16 + size > len(data):
            break
        found.append(Record(seconds, fraction, length, bytes(data[at + 16 : at + 16 + size])))
        at += 16 + size
    return found


def written(head: bytes, records: Records) -> bytes:
    """A file of these records."""
    parts = [head]
    for one in records:
        fields = (one.seconds, one.fraction, len(one.data), one.length)
        parts += [struct.pack("<IIII", *(field % 2**32 for field in fields)), one.data]
    return b"".join(parts)


def clock(records: Records, _skip: int, chance: random.Random) -> Records:
    """Two epochs, one wrong time, the same time for all, times backwards, or fractions beyond a second."""
    first, last = sorted((chance.randrange(len(records)), chance.randrange(len(records))))
    by = chance.choice(_SPANS_S) * chance.choice((-1, 1))
    how = chance.randrange(5)
    if how == 0:
        return [
            replace(one, seconds=one.seconds + by) if first <= at < last else one
            for at, one in enumerate(records)
        ]
    if how == 1:
        records[first] = replace(records[first], seconds=records[first].seconds + by)
    elif how == 2:
        return [replace(one, seconds=records[0].seconds, fraction=records[0].fraction) for one in records]
    elif how == 3:
        stamps = [(one.seconds, one.fraction) for one in records]
        return [
            replace(one, seconds=seconds, fraction=fraction)
            for one, (seconds, fraction) in zip(records, reversed(stamps), strict=True)
        ]
    else:
        records[first] = replace(records[first], fraction=chance.choice(NUMBERS))
    return records


def order(records: Records, _skip: int, chance: random.Random) -> Records:
    """Shuffle some or all records, or reverse them."""
    how = chance.randrange(3)
    if how == 0:
        records.reverse()
    else:
        at = chance.randrange(len(records)) if how == 1 else 0
        some = records[at : at + (20 if how == 1 else len(records))]
        chance.shuffle(some)
        records[at : at + len(some)] = some
    return records


def copies(records: Records, skip: int, chance: random.Random) -> Records:
    """Repeat records some packets later, with the same or a smaller TTL."""
    share, later, less = chance.choice((0.05, 1.0)), chance.choice((0, 1, 50, 1000)), chance.choice((0, 1))
    found = [(float(at), one) for at, one in enumerate(records)]
    for at, one in enumerate(records):
        if chance.random() < share:
            data = bytearray(one.data)
            if len(data) > skip + 20 and data[skip] >> 4 == 4:
                data[skip + 8] = (data[skip + 8] - less) % 256
            until = records[min(at + later, len(records) - 1)]
            copy = Record(until.seconds, until.fraction, one.length, bytes(data))
            found.append((at + later + 0.5, copy))
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def gaps(records: Records, skip: int, chance: random.Random) -> Records:
    """Leave out some records, the first ones, or one direction."""
    how = chance.randrange(3)
    if how == 0:
        share = chance.choice((0.02, 0.5, 0.95))
        return [one for one in records if chance.random() > share]
    if how == 1:
        return records[chance.randrange(len(records)) :]
    source = records[0].data[skip + 12 : skip + 16]
    return [one for one in records if one.data[skip + 12 : skip + 16] != source]


def snapped(records: Records, _skip: int, chance: random.Random) -> Records:
    """Keep the first bytes of some or all packets."""
    size, share = chance.choice((0, 14, 20, 34, 40, 54, 60, 68)), chance.choice((0.1, 1.0))
    return [replace(one, data=one.data[:size]) if chance.random() < share else one for one in records]


def headers(records: Records, skip: int, chance: random.Random) -> Records:
    """Write extreme values into one field of the IP and TCP headers of some or all packets."""
    place, size = chance.choice(
        (
            (0, 1), (2, 2), (4, 2), (6, 2), (8, 1), (9, 1), (12, 4), (16, 4),
            (20, 2), (22, 2), (24, 4), (28, 4), (32, 1), (33, 1), (34, 2), (38, 2), (40, 4), (48, 4),
        )
    )  # fmt: skip
    share = chance.choice((0.01, 0.2, 1.0))
    value = chance.choice((*NUMBERS, None, None))
    found = []
    for one in records:
        if chance.random() < share and len(one.data) >= skip + place + size:
            data = bytearray(one.data)
            new = chance.getrandbits(64) if value is None else value
            data[skip + place : skip + place + size] = (new % (1 << 8 * size)).to_bytes(size, "big")
            one = replace(one, data=bytes(data))
        found.append(one)
    return found


def jumps(records: Records, skip: int, chance: random.Random) -> Records:
    """Add to sequence or acknowledgment numbers, or time stamps, from one record on."""
    at, place = chance.randrange(len(records)), chance.choice((24, 28, 44, 48))
    by = chance.choice((1, -1, 1460, 2**16, 2**30, 2**31 - 1, 2**31, -(2**31) + 1))
    for number in range(at, len(records)):
        data = bytearray(records[number].data)
        if len(data) >= skip + place + 4:
            (old,) = struct.unpack_from(">I", data, skip + place)
            struct.pack_into(">I", data, skip + place, (old + by) % 2**32)
            records[number] = replace(records[number], data=bytes(data))
    return records


def options(records: Records, skip: int, chance: random.Random) -> Records:
    """Write TCP options of any kind and length where options are, or follow."""
    share = chance.choice((0.05, 1.0))
    for number, one in enumerate(records):
        if chance.random() < share and len(one.data) > skip + 41:
            data = bytearray(one.data)
            data[skip + 32] = chance.choice((0x50, 0x60, 0x80, 0xF0, 0x40))
            kind, size = (
                chance.choice((0, 1, 2, 3, 4, 5, 8, 30, 34, 254)),
                chance.choice((0, 1, 2, 10, 18, 255)),
            )
            data[skip + 40 : skip + 42] = bytes((kind, size))
            records[number] = replace(one, data=bytes(data))
    return records


def flood(records: Records, skip: int, chance: random.Random) -> Records:
    """Give each packet ports of its own."""
    found = []
    for one in records:
        data = bytearray(one.data)
        if len(data) >= skip + 24:
            data[skip + 20 : skip + 22] = chance.randbytes(2)
        found.append(replace(one, data=bytes(data)))
    return found


def wrapped(records: Records, skip: int, chance: random.Random) -> Records:
    """Put packets into IP in IP, GRE, GTP-U or VXLAN, many times over, in some packets or all."""
    outer = bytes.fromhex("45000000000000004000000a0000010a000002")
    layers = {
        4: b"",
        47: bytes.fromhex("00000800"),
        17: bytes.fromhex("086808680000000030ff000000000001"),
        132: bytes.fromhex("0001"),
    }
    share, depth = chance.choice((0.1, 1.0)), chance.choice((1, 2, 40, 300))
    protocols = [chance.choice(list(layers)) for _ in range(depth)]
    found = []
    for one in records:
        if chance.random() < share:
            inner = one.data[skip:]
            for protocol in protocols:
                body = layers[protocol] + inner
                head = bytearray(outer[:9] + bytes((protocol,)) + outer[9:] + bytes(20))[:20]
                struct.pack_into(">H", head, 2, min(20 + len(body), 65535))
                inner = bytes(head) + body
            one = replace(one, data=one.data[:skip] + inner, length=skip + len(inner))
        found.append(one)
    return found


FAULTS: tuple[RecordFault, ...] = (
    clock, clock, order, copies, gaps, snapped, headers, headers, headers, jumps, jumps, options, flood,
    wrapped,
)  # fmt: skip


def packets(data: bytearray, chance: random.Random) -> None:
    """One fault of the records of a pcap file; seldom another link type or snap length."""
    head = bytearray(data[:24])
    records = read(bytes(data))
    if len(head) < 24 or not records:
        return
    link = struct.unpack_from("<I", head, 20)[0]
    if chance.random() < 0.06:
        struct.pack_into("<I", head, 20, chance.choice(_LINK_TYPES))
    if chance.random() < 0.03:
        struct.pack_into("<I", head, 16, chance.choice(NUMBERS) % 2**32)
    records = chance.choice(FAULTS)(records, _HEADER_BYTES.get(link, 14), chance)
    data[:] = written(bytes(head), records)


def record_field(data: bytearray, chance: random.Random) -> None:
    """Write extreme values into the fields of records, or into the first bytes of their packets."""
    places, at = [], 24
    while at + 16 <= len(data) and len(places) < 20_000:
        places.append(at)
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
    for place in chance.sample(places, min(len(places), chance.choice((1, 5, 50)))):
        at = place + chance.choice((0, 0, 4, 8, 12, 16 + chance.randrange(60)))
        if at + 4 <= len(data):
            struct.pack_into("<I", data, at, chance.choice(NUMBERS) % 2**32)


def blocks(data: bytearray, chance: random.Random) -> None:
    """Leave out, repeat, exchange or change blocks of a little-endian pcapng file."""
    found, at = [], 0
    while at + 12 <= len(data):
        size = struct.unpack_from("<I", data, at + 4)[0]
        if size < 12 or at + size > len(data):
            break
        found.append(bytearray(data[at : at + size]))
        at += size
    if not found:
        return
    rest = data[at:]
    # The first few blocks describe all others.
    at, other = (
        chance.randrange(min(len(found), 4)) if chance.random() < 0.4 else chance.randrange(len(found))
        for _ in range(2)
    )
    match chance.randrange(6):
        case 0:
            del found[at]
        case 1:
            found[other:other] = [bytearray(found[at])] * chance.choice((1, 30))
        case 2:
            found[at], found[other] = found[other], found[at]
        case 3:
            body = found[at][8:-4]
            if body:
                extreme(body, chance)
                found[at][8:-4] = body
        case 4:
            struct.pack_into(
                "<I", found[at], 0, chance.choice((1, 2, 3, 4, 5, 6, 10, 0x0A0D0D0A, 0xBAD, 0x80000001))
            )
        case 5:
            _interface(found, chance)
    data[:] = b"".join(bytes(one) for one in found) + rest


def _interface(found: list[bytearray], chance: random.Random) -> None:
    """Interfaces with another resolution, offset or link type."""
    for place, block in enumerate(found):
        if block[:4] == b"\x01\0\0\0":
            code, value = chance.choice(
                (
                    (9, bytes((chance.choice((0, 1, 9, 12, 18, 19, 20, 127, 128, 138, 191, 255)),))),
                    (14, struct.pack("<q", chance.choice((2**62, 2**63 - 1, -(2**63), -1, 10**10)))),
                    (2, b"\x1b[2J=1+1"),
                    (9, b""),
                    (14, b"\1"),
                )
            )
            option = struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4) + bytes(4)
            body = bytes(block[8:16]) + option
            if chance.random() < 0.2:
                body = struct.pack("<H", chance.choice(_LINK_TYPES)) + body[2:]
            size = struct.pack("<I", len(body) + 12)
            found[place] = bytearray(b"\x01\0\0\0" + size + body + size)
