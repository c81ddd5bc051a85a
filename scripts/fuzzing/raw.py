"""Faults of any bytes, and of compressed ones."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable

NUMBERS = [0, 1, 127, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
Fault = Callable[[bytearray, random.Random], None]


def bits(data: bytearray, chance: random.Random) -> None:
    """Invert some bits."""
    for _ in range(chance.choice((1, 4, 32))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def cut(data: bytearray, chance: random.Random) -> None:
    """Leave out the end."""
    del data[chance.randrange(len(data)) :]


def moved(data: bytearray, chance: random.Random) -> None:
    """Repeat or move a block."""
    first = chance.randrange(len(data))
    block = data[first : first + chance.choice((1, 4, 16, 200, 5000))]
    if chance.random() < 0.5:
        del data[first : first + len(block)]
    place = chance.randrange(len(data) + 1)
    data[place:place] = block


def extreme(data: bytearray, chance: random.Random) -> None:
    """Write an extreme number over one to eight bytes, in either byte order."""
    size = chance.choice((1, 2, 4, 8))
    value = chance.choice(NUMBERS) % (1 << 8 * size)
    place = chance.randrange(max(len(data) - size, 1))
    data[place : place + size] = value.to_bytes(size, chance.choice(("little", "big")))


def repeated(data: bytearray, chance: random.Random) -> None:
    """Append the file to itself, or its end."""
    data += data[chance.choice((0, len(data) // 2)) :]


ANY: tuple[Fault, ...] = (bits, cut, moved, extreme, repeated)


def compressed(content: bytes, chance: random.Random) -> bytes:
    """The content compressed; often damaged or cut, in two parts, or followed by other bytes."""
    how = chance.choice((gzip.compress, gzip.compress, bz2.compress, lzma.compress))
    packed = bytearray(how(content))
    match chance.randrange(6):
        case 0:
            del packed[chance.randrange(len(packed)) :]
        case 1:
            bits(packed, chance)
        case 2:
            half = len(content) // 2
            packed = bytearray(how(content[:half]) + how(content[half:]))
        case 3:
            packed += chance.randbytes(30)
        case 4:
            packed = bytearray(gzip.compress(bytes(packed)))
    return bytes(packed)
