"""Faults of texts: numbers, lines, columns, times, JSON, characters."""

from __future__ import annotations

import json
import random
import re
from copy import deepcopy
from typing import Any

from fuzzing.raw import NUMBERS, Fault

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_TIME = re.compile(rb"(?<![\d.])\d+\.\d{3,9}(?![\d.])")
_YEAR = re.compile(rb"\b20[0-3]\d(?=-[01]\d-[0-3]\d)")
_WORDS = (
    *(str(one) for one in NUMBERS), "-1", "nan", "-inf", "1e308", "-9e18", "0.0000000001", "", "9" * 400,
    "1e-320", "٣", "0x10", "1_0", "+5",
)  # fmt: skip
_SPANS_S = (1.0, 86_400.0, 3.2e8, 1.7e9, 2.0**31, 2.0**33, 9.3e9, 2.0**63)
_HOSTILE = (
    b"\x1b[2J\x1b]0;x\x07", b"=cmd|' /C calc'!A0", b"\xff\xfe", b"\0", b"\r", "\u202e".encode(),
    b"</script><script>",
    b"\xef\xbb\xbf", b"A" * 70_000, b"\x85", b"'\"`,;\t", "\ud800".encode("utf-8", "surrogatepass"),
)  # fmt: skip
_LEAVES: tuple[Any, ...] = (
    None, True, "", "x", [], {}, [[]], -1, 0, 1e308, float("nan"), float("inf"), 2**63, -(2**63), 10**400,
    "1e9", "\u0000", {"": None}, [1, "2", None],
)  # fmt: skip


def number(data: bytearray, chance: random.Random) -> None:
    """Replace numbers by some that are too large, too small or none."""
    found = list(_NUMBER.finditer(data))
    some = chance.sample(found, min(len(found), chance.choice((1, 3, 20))))
    for match in sorted(some, key=lambda m: -m.start()):
        data[match.start() : match.end()] = chance.choice(_WORDS).encode()


def line(data: bytearray, chance: random.Random) -> None:
    """Exchange, repeat or leave out lines, or shuffle the words of one."""
    lines = data.split(b"\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(6):
        case 0:
            lines[at], lines[other] = lines[other], lines[at]
        case 1:
            lines[at:at] = [lines[other]] * chance.choice((1, 50))
        case 2:
            words = lines[at].split(b" ")
            chance.shuffle(words)
            lines[at] = b" ".join(words)
        case 3:
            del lines[min(at, other) : max(at, other)]
        case 4:
            lines.reverse()
        case 5:
            block = lines[at : at + 200]
            chance.shuffle(block)
            lines[at : at + 200] = block
    data[:] = b"\n".join(lines)


def column(data: bytearray, chance: random.Random) -> None:
    """Empty, leave out, repeat, exchange or rename a column, in all lines or in some."""
    lines = data.split(b"\n")
    first = next((one for one in lines if one.strip()), b"")
    separator = max((b",", b"\t", b";", b" "), key=first.count)
    width = first.count(separator) + 1
    at, other = chance.randrange(width), chance.randrange(width)
    how = chance.randrange(6)
    share = chance.choice((0.01, 0.5, 1.0))
    value = chance.choice((b"", b"-", b"nan", b"x", b"-1", b"9223372036854775808", b"1e308"))
    for place, text in enumerate(lines):
        cells = text.split(separator)
        if len(cells) <= max(at, other) or (chance.random() > share and place):
            continue
        if how == 0:
            cells[at] = value if place else cells[at]
        elif how == 1:
            del cells[at]
        elif how == 2:
            cells[at:at] = [cells[at]]
        elif how == 3:
            cells[at], cells[other] = cells[other], cells[at]
        elif how == 4:
            cells[at] = cells[other] if place == 0 else cells[at]
        elif place == 0:
            cells[at] = value
        lines[place] = separator.join(cells)
    data[:] = b"\n".join(lines)


def times(data: bytearray, chance: random.Random) -> None:
    """Move times: of a part (two epochs), of single lines, to one value, backwards, or by decades."""
    matches = list(_TIME.finditer(data))
    if not matches:
        return
    values = []
    for match in matches:
        try:
            values.append(float(match[0]))
        except ValueError:
            return
    first, last = sorted((chance.randrange(len(matches)), chance.randrange(len(matches))))
    by = chance.choice(_SPANS_S) * chance.choice((-1, 1))
    match chance.randrange(5):
        case 0:
            values[first:last] = [one + by for one in values[first:last]]
        case 1:
            values[first] += by
        case 2:
            values = [values[0]] * len(values)
        case 3:
            values.reverse()
        case 4:
            start = values[0]
            values = [start + (one - start) * chance.choice((1e-9, 1e3, 1e7)) for one in values]
    parts, end = [], 0
    for match, value in zip(matches, values, strict=True):
        parts += [data[end : match.start()], f"{value:.6f}".encode()]
        end = match.end()
    data[:] = b"".join([*parts, data[end:]])


def years(data: bytearray, chance: random.Random) -> None:
    """Write another year into some dates."""
    year = chance.choice((b"0000", b"0001", b"1970", b"2038", b"9999", b"1899"))
    share = chance.choice((0.02, 0.5, 1.0))
    data[:] = _YEAR.sub(lambda match: year if chance.random() < share else match[0], bytes(data))


def structured(data: bytearray, chance: random.Random) -> None:
    """Replace, leave out or rename a value of a JSON text; else write nested brackets."""
    lines = data.split(b"\n")
    whole = True
    try:
        value = json.loads(bytes(data))
    except (ValueError, RecursionError):
        whole = False
        at = chance.randrange(len(lines))
        try:
            value = json.loads(bytes(lines[at]))
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, dict | list) or chance.random() < 0.02:
        place = chance.randrange(len(data) + 1)
        data[place:place] = chance.choice((b"[", b'{"a":', b"<a>")) * chance.choice((3, 2_000, 200_000))
        return
    for _ in range(chance.choice((1, 3))):
        _replace(value, chance)
    text = json.dumps(value).encode()
    if whole:
        data[:] = text
    else:
        lines[at] = text
        data[:] = b"\n".join(lines)


def _replace(value: Any, chance: random.Random) -> None:
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = chance.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.85:
            value = inner
            continue
        how = chance.randrange(4)
        if how == 0:
            del value[key]
        elif how == 1 and isinstance(value, dict):
            value[key + "x"] = value.pop(key)
        elif how == 2 and isinstance(value, list):
            value.insert(0, deepcopy(chance.choice(_LEAVES)))
        else:
            value[key] = deepcopy(chance.choice(_LEAVES))
        return


def characters(data: bytearray, chance: random.Random) -> None:
    """Insert characters that mean something elsewhere, or change the encoding of the text."""
    how = chance.random()
    if how < 0.1:
        data[:] = data.decode("utf-8", "replace").encode(chance.choice(("utf-16", "utf-8-sig", "utf-32")))
    elif how < 0.2:
        data[:] = data.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\n\n", b"")))
    else:
        for _ in range(chance.choice((1, 5))):
            place = chance.randrange(len(data) + 1)
            data[place:place] = chance.choice(_HOSTILE)


TEXT: tuple[Fault, ...] = (
    number,
    number,
    number,
    line,
    line,
    column,
    column,
    times,
    times,
    years,
    characters,
)
JSON: tuple[Fault, ...] = (structured,) * 6
