"""Captures that continue in the next file (tcpdump -C, -G, -W; dumpcap -b), found and read as one.

Names only make candidates; what counts is content (docs/decisions/0012-rotating-captures.md).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from multitracer import native
from multitracer.model.errors import MultiTracerError
from multitracer.native.rotated import Parts

_DIGITS = re.compile(r"\d+")
# tcpdump -C writes x, x1, x2 ...; with -z, each is compressed.
_LAST_NUMBER = re.compile(r"#(?=(\.(?:gz|zst|xz|bz2|lz4))?$)")
_HEAD_BYTES = 4096


def joined(paths: Sequence[str]) -> list[str]:
    """`paths`, with captures that continue each other taken together as one `Parts`.

    They do if their names differ in numbers only, and each begins when the one before has ended, on the same
    kind of link, and with a connection of it still going on (of captures of LTE or NR PDUs: with the numbers
    of its bearers).
    """
    families: dict[str, list[str]] = {}
    for path in paths:
        families.setdefault(_family(path), []).append(path)
    parts: dict[str, Parts | None] = {}
    for family in families.values():
        whole = _continued(family) if len(family) > 1 else None
        if whole is not None:
            parts.update(dict.fromkeys(family))
            parts[family[0]] = whole
    found = [parts.get(path, path) for path in paths]
    return [path for path in found if path is not None]


def _family(path: str) -> str:
    directory, name = os.path.split(path)
    return os.path.join(directory, _LAST_NUMBER.sub("", _DIGITS.sub("#", name)))


def _continued(family: list[str]) -> Parts | None:
    try:
        if not all(os.path.isfile(path) and _is_capture(path) for path in family):
            return None
        order = native.continuation(family)
        if order is None and native.sniff_rlc(native.head(family[0], _HEAD_BYTES)):
            order = native.continuation_rlc(family)
    except MultiTracerError:
        return None  # each reports its own errors
    return None if order is None else Parts([family[index] for index in order])


def _is_capture(path: str) -> bool:
    return native.capture_format(native.head(path, _HEAD_BYTES)) is not None
