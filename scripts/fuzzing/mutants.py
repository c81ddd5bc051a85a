"""A mutant: the content of a file with one to four faults that fit it."""

from __future__ import annotations

import gzip
import random

from fuzzing import captures, raw, texts


def mutant(content: bytes, chance: random.Random) -> bytes:
    """The content with one to four faults; of a compressed file, mostly with faults inside.

    Parameters
    ----------
    content : bytes
        Of an intact file.
    chance : random.Random
        All choices are made with it.
    """
    if content[:2] == b"\x1f\x8b" and chance.random() < 0.9:
        return _packed(mutant(gzip.decompress(content), chance), chance)
    data = bytearray(content)
    faults = list(raw.ANY)
    if content[:4] in captures.MAGICS:
        faults += [captures.packets] * 8 + [captures.record_field] * 2
    elif content[:4] == captures.SECTION:
        faults += [captures.blocks] * 8
    elif b"\0" not in content[:4096]:
        faults += texts.TEXT
        if content.lstrip()[:1] in (b"{", b"["):
            faults += texts.JSON
    else:
        faults += [raw.extreme] * 2
    for _ in range(chance.randint(1, 4)):
        if data:
            chance.choice(faults)(data, chance)
    if chance.random() < 0.03:
        return raw.compressed(bytes(data), chance)
    return bytes(data)


def _packed(content: bytes, chance: random.Random) -> bytes:
    return raw.compressed(content, chance) if chance.random() < 0.1 else gzip.compress(content, 1)
