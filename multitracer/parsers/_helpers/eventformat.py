"""Format files of tracepoints: which fields an event has, and where.

Reference: Linux ``Documentation/trace/events.rst`` ("Event formats").
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import cached_property
from typing import Any

from multitracer.model.frozen import frozen

_MOST_FIELDS = 256
_LARGEST = 1 << 16
"""Bytes of an event's record at most: one does not go beyond the ring buffer's page."""
_NAME = re.compile(r"^name:\s*(\w{1,100})\s*$", re.MULTILINE | re.ASCII)
_ID = re.compile(r"^ID:\s*(\d{1,9})\s*$", re.MULTILINE | re.ASCII)
_FIELD = re.compile(
    r"^\s*field:(?P<declared>[^;\n]{1,400});\s*offset:(?P<offset>\d{1,6});\s*size:(?P<size>\d{1,6});"
    r"(?:\s*signed:(?P<signed>[01]);)?",
    re.MULTILINE | re.ASCII,
)
_DECLARED = re.compile(r"(?P<type>.*?)\s*(?P<name>\w+)\s*(?:\[(?P<count>[^\]]*)\])?\s*", re.ASCII | re.DOTALL)
_PRINT = re.compile(r"^print fmt:\s*(.*)\Z", re.MULTILINE | re.DOTALL)
_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}


@frozen
class Field:
    """A field of an event.

    Attributes
    ----------
    name : str
    offset, size : int
        Where it is in the record, bytes.
    signed : bool
    array : bool
        Whether it is more than one value.
    location : {"", "data", "relative"}
        Where its value is if not here: the field then holds the offset (in the record, or from the field's
        end on) in the lower 16 bits and the length in the upper ones.
    """

    name: str
    offset: int
    size: int
    signed: bool
    array: bool = False
    location: str = ""

    def getter(self, order: str) -> Callable[[bytes], Any]:
        """How its value is taken out of a record: int, or bytes of an array or string.

        Parameters
        ----------
        order : {"<", ">"}
            Byte order, as of `struct`.

        Returns
        -------
        callable
            Raises struct.error or ValueError for a record that does not hold it.
        """
        if self.location:
            return self._elsewhere(order)
        begin, end = self.offset, self.offset + self.size
        if self.array or self.size not in _CODES:

            def some(record: bytes) -> bytes:
                if len(record) < end:
                    raise ValueError(f"no {self.name} in a record of {len(record)} bytes")
                return record[begin:end]

            return some
        code = _CODES[self.size]
        unpack = struct.Struct(order + (code if self.signed else code.upper())).unpack_from
        return lambda record: unpack(record, begin)[0]

    def _elsewhere(self, order: str) -> Callable[[bytes], bytes]:
        unpack = struct.Struct(order + "I").unpack_from
        base = self.offset + self.size if self.location == "relative" else 0

        def found(record: bytes) -> bytes:
            place = unpack(record, self.offset)[0]
            begin, length = base + (place & 0xFFFF), place >> 16
            if begin + length > len(record):
                raise ValueError(f"{self.name} is outside of its record")
            return record[begin : begin + length]

        return found


@frozen
class EventFormat:
    """One tracepoint as its format file has it.

    Attributes
    ----------
    system, name : str
        ``tcp`` and ``tcp_probe``.
    number : int
        ``common_type`` of its records.
    text : str
        The file.
    """

    system: str
    name: str
    number: int
    text: str

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Its fields by name; those with impossible places are left out."""
        found: dict[str, Field] = {}
        for match in _FIELD.finditer(self.text.partition("print fmt:")[0]):
            offset, size = int(match["offset"]), int(match["size"])
            declared = _DECLARED.fullmatch(match["declared"])
            if declared is None or offset + size > _LARGEST or len(found) >= _MOST_FIELDS:
                continue
            kind = declared["type"]
            location = "data" if "__data_loc" in kind else "relative" if "__rel_loc" in kind else ""
            array = declared["count"] is not None
            found[declared["name"]] = Field(
                declared["name"], offset, size, match["signed"] == "1", array, location if size == 4 else ""
            )
        return found

    @property
    def print_fmt(self) -> str:
        """What follows ``print fmt:``; "" if nothing does."""
        found = _PRINT.search(self.text)
        return found[1].strip() if found else ""


def event_format(system: str, content: bytes) -> EventFormat | None:
    """The tracepoint that a format file describes.

    Parameters
    ----------
    system : str
        The subsystem that it is of.
    content : bytes
        The file.

    Returns
    -------
    EventFormat or None
        None if it has no name or number.
    """
    text = content.decode(errors="replace")
    head = text[:1000]
    name, number = _NAME.search(head), _ID.search(head)
    if name is None or number is None:
        return None
    return EventFormat(system, name[1], int(number[1]), text)
