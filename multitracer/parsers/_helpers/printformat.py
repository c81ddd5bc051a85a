"""Text of a tracepoint's event out of its binary fields, as the kernel's own ``print fmt`` defines it.

A ``print fmt`` is a format of printf and C expressions over the fields of the event. It comes from an
untrusted file: it is parsed, never executed, and its numbers stay within 64 bits.

Reference: Linux ``Documentation/trace/events.rst`` ("Event formats") and
``Documentation/core-api/printk-formats.rst``.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from multitracer.parsers._helpers import cexpression
from multitracer.parsers._helpers.cexpression import Getter, Unsupported
from multitracer.parsers._helpers.eventformat import Field

Shown = Callable[[bytes], str]
"""The text of an event, by the bytes of its record."""

_MOST_TEXT = 1 << 18
_MOST_WIDTH = 64
_LONGEST_TEXT = 4096
"""Characters of one string in an event; a line has at most 64 KiB."""
_DIRECTIVE = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d*|\*)(?:\.(?P<precision>\d*|\*))?(?P<length>hh|h|ll|l|L|q|z|t|j)?"
    r"(?P<kind>[diuxXocsp%])(?P<form>(?<=p)[A-Za-z0-9]*)?"
)
_BITS = {"hh": 8, "h": 16, "": 32, "l": 64, "ll": 64, "L": 64, "q": 64, "z": 64, "t": 64, "j": 64}
_AF_INET, _AF_INET6 = 2, 10  # as Linux has them, wherever the file is read


class _Piece(NamedTuple):
    """One directive: how Python writes it, and what of a value it writes."""

    text: str
    convert: Callable[[Any], Any]


def compiled(print_fmt: str, fields: Mapping[str, Field], order: str, long_bytes: int) -> Shown:
    """How an event's text is made.

    Parameters
    ----------
    print_fmt : str
        What follows ``print fmt:`` in the format file of an event.
    fields : mapping of str to Field
        The fields of the event by name.
    order : {"<", ">"}
        Byte order of the kernel that wrote the file, as of `struct`.
    long_bytes : int
        Size of its ``long``: 4 or 8.

    Returns
    -------
    callable
        ``shown(record: bytes) -> str``. Raises ValueError, struct.error or IndexError for a record that is
        too short or has a value that no field of its type has.

    Raises
    ------
    Unsupported
        If it is no format, or calls what is not known here.
    """
    if len(print_fmt) > _MOST_TEXT:
        raise Unsupported("a print fmt that is too long")
    literal, arguments = cexpression.call_arguments(print_fmt, fields, order, long_bytes)
    template, getters = [], []
    given = iter(arguments)
    at = 0
    for found in _DIRECTIVE.finditer(literal):
        template.append(_plain(literal[at : found.start()]))
        at = found.end()
        if found["kind"] == "%":
            template.append("%%")
            continue
        piece = _piece(found, order, long_bytes)
        try:
            getter = next(given)
        except StopIteration:
            raise Unsupported("fewer arguments than the format asks for") from None
        form = found["form"] or ""
        # What follows `%p` belongs to it only if the kernel knows it.
        template.append(piece.text + _plain(form[len(_form(form)) :]))
        getters.append(_both(getter, piece.convert))
    template.append(_plain(literal[at:]))
    return partial(_shown, "".join(template), tuple(getters))


def _shown(template: str, getters: Sequence[Getter], record: bytes) -> str:
    return template % tuple([getter(record) for getter in getters])


def _plain(text: str) -> str:
    if "%" in text:
        raise Unsupported(f"a directive that is not known: {text[:20]}")
    return text


def _both(getter: Getter, convert: Callable[[Any], Any]) -> Getter:
    return lambda record: convert(getter(record))


_FORMS = (
    "ISpfsc",
    "ISpc",
    "ISp",
    "ISc",
    "IS",
    "I4",
    "I6c",
    "I6",
    "i4",
    "i6",
    "S",
    "s",
    "F",
    "f",
    "B",
    "x",
    "K",
    "M",
    "m",
)


def _form(word: str) -> str:
    """What of the letters after ``%p`` is a form of the kernel's printf; the longest that fits."""
    return next((form for form in _FORMS if word.startswith(form)), "")


def _piece(found: re.Match[str], order: str, long_bytes: int) -> _Piece:
    kind, flags, width, precision = found["kind"], found["flags"], found["width"], found["precision"] or ""
    if "*" in width + precision:
        raise Unsupported("a width that is an argument")
    if any(int(number[:6]) > _MOST_WIDTH for number in (width, precision) if number):
        width = precision = ""
    if kind == "p":
        return _Piece("%s", _pointer(_form(found["form"] or ""), order, long_bytes))
    if kind == "s":
        dot = f".{precision}" if precision else ""
        return _Piece(f"%{'-' * ('-' in flags)}{width}{dot}s", _string)
    if kind == "c":
        return _Piece("%s", lambda value: chr(_number(value) & 0x7F))
    length = found["length"] or ""
    bits = long_bytes * 8 if length in ("l", "z", "t") else _BITS[length]
    if kind in "di":
        return _Piece(f"%{flags.replace('#', '')}{width}d", partial(cexpression.signed, bits=bits))
    mask = (1 << bits) - 1
    letter = "d" if kind == "u" else kind
    flags = flags.replace("#", "") if kind == "u" else flags
    return _Piece(f"%{flags}{width}{letter}", lambda value: _number(value) & mask)


def _number(value: Any) -> int:
    if isinstance(value, int):
        return value
    raise ValueError("not a number")


def _string(value: Any) -> str:
    """A string without what would end a line."""
    if isinstance(value, bytes):
        value = value.partition(b"\0")[0][:_LONGEST_TEXT].decode(errors="replace")
    elif not isinstance(value, str):
        raise ValueError("not a string")
    return value if value.isprintable() else "".join(c if c.isprintable() else " " for c in value)


def _pointer(form: str, order: str, long_bytes: int) -> Callable[[Any], str]:
    if form in ("I4", "i4"):
        return _ipv4
    if form in ("I6", "I6c", "i6"):
        return _ipv6
    if form.startswith("IS"):
        return partial(_socket_address, order=order, port="p" in form)
    mask = (1 << 8 * long_bytes) - 1
    return lambda value: f"0x{_number(value) & mask:x}"


def _bytes(value: Any, count: int) -> bytes:
    if not isinstance(value, bytes) or len(value) < count:
        raise ValueError("not an address")
    return value


@lru_cache(maxsize=4096)
def _ipv4(value: Any) -> str:
    return socket.inet_ntop(socket.AF_INET, _bytes(value, 4)[:4])


@lru_cache(maxsize=4096)
def _ipv6(value: Any) -> str:
    return socket.inet_ntop(socket.AF_INET6, _bytes(value, 16)[:16])


@lru_cache(maxsize=4096)
def _socket_address(value: Any, order: str, port: bool) -> str:
    """``10.0.0.1:80`` or ``[2001:db8::1]:80`` of a struct sockaddr."""
    family = struct.unpack_from(order + "H", _bytes(value, 4))[0]
    number = struct.unpack_from(">H", value, 2)[0]
    if family == _AF_INET:
        address = _ipv4(value[4:8])
        return f"{address}:{number}" if port else address
    if family == _AF_INET6:
        address = _ipv6(value[8:24])
        return f"[{address}]:{number}" if port else address
    raise ValueError(f"address family {family}")
