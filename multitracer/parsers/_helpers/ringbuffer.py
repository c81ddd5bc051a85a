"""Events out of pages of the kernel's ring buffer, as `trace_pipe_raw` gives them and trace.dat keeps them.

Reference: Linux ``include/linux/ring_buffer.h``, ``Documentation/trace/ring-buffer-design.rst``, and the
files ``events/header_page`` and ``events/header_event`` of tracefs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

_PADDING, _TIME_EXTEND, _TIME_STAMP = 29, 30, 31
_DELTA_BITS = 27
_STAMP_BITS = 59
_COMMIT = (1 << 27) - 1
_MISSED, _MISSED_COUNTED = 1 << 31, 1 << 30
_MOST_LOST = 1 << 40


class PageLayout(NamedTuple):
    """Where a page's header has what: the file ``header_page``.

    Attributes
    ----------
    order : {"<", ">"}
        Byte order, as of `struct`.
    commit_bytes : int
        Size of the length of the data: the kernel's ``long``.
    data_at : int
        Where the data begins.
    """

    order: str
    commit_bytes: int = 8
    data_at: int = 16


@dataclass
class PageFaults:
    """What was wrong with the pages of one CPU.

    Attributes
    ----------
    lost : int
        Events that the kernel reports as lost; at least one where it does not report how many.
    first_lost : int
        The first page after a loss, from 1; 0 if none.
    bad : int
        Places that make no sense.
    first_bad : str
        What is wrong with the first of them; "" if none.
    """

    lost: int = 0
    first_lost: int = 0
    bad: int = 0
    first_bad: str = ""

    def add(self, sentence: str) -> None:
        """Count a place that makes no sense."""
        self.bad += 1
        self.first_bad = self.first_bad or sentence


def events(pages: Iterable[bytes], layout: PageLayout, faults: PageFaults) -> Iterator[tuple[int, bytes]]:
    """Time and record of each event, in the order of the pages.

    Parameters
    ----------
    pages : iterable of bytes
        Each with its header.
    layout : PageLayout
    faults : PageFaults
        Losses and damage are noted here. A page of which a part makes no sense is left at that place.

    Yields
    ------
    int, bytes
        Units of the trace clock; the event's record, which begins with ``common_type``.
    """
    header = struct.Struct(layout.order + ("QQ" if layout.commit_bytes == 8 else "QI"))
    for number, page in enumerate(pages, 1):
        if len(page) < max(header.size, layout.data_at):
            faults.add(f"page {number} has {len(page)} bytes")
            continue
        start, commit = header.unpack_from(page)
        end = layout.data_at + (commit & _COMMIT)
        if commit & _MISSED:
            faults.lost += _lost(page, end, commit, layout)
            faults.first_lost = faults.first_lost or number
        if end > len(page):
            faults.add(f"page {number} claims {commit & _COMMIT} bytes of data")
            continue
        yield from _page(page, number, start, end, layout, faults)


def _lost(page: bytes, end: int, commit: int, layout: PageLayout) -> int:
    """How many events were lost before this page; the kernel writes the number after the data if it fits."""
    if commit & _MISSED_COUNTED and end + layout.commit_bytes <= len(page):
        count = int.from_bytes(
            page[end : end + layout.commit_bytes], "little" if layout.order == "<" else "big"
        )
        if 0 < count < _MOST_LOST:
            return count
    return 1


def _page(
    page: bytes, number: int, t: int, end: int, layout: PageLayout, faults: PageFaults
) -> Iterator[tuple[int, bytes]]:
    little = layout.order == "<"
    unpack = struct.Struct(layout.order + "I").unpack_from
    at = layout.data_at
    while at + 4 <= end:
        word = unpack(page, at)[0]
        kind, delta = (
            (word & 31, word >> 5) if little else (word >> _DELTA_BITS, word & (1 << _DELTA_BITS) - 1)
        )
        if 0 < kind < _PADDING:
            t += delta
            stop = at + 4 + 4 * kind
            if stop > end:
                break
            yield t, page[at + 4 : stop]
            at = stop
            continue
        if kind == _PADDING and delta == 0:
            return  # the rest of the page is empty
        if at + 8 > end:
            break
        more = unpack(page, at + 4)[0]
        if kind == _TIME_EXTEND:
            t += (more << _DELTA_BITS) + delta
            at += 8
        elif kind == _TIME_STAMP:
            # The upper bits of the time are not in it: those of the time before.
            t = (more << _DELTA_BITS) + delta | t >> _STAMP_BITS << _STAMP_BITS
            at += 8
        else:
            t += delta
            # A discarded event counts its own length's word; one of data does, too.
            stop = at + 4 + (more + 3 & ~3)
            if more < 4 or stop > end:
                break
            if kind == 0:
                yield t, page[at + 8 : at + 4 + more]
            at = stop
    else:
        if at == end:
            return
    faults.add(f"page {number} has an event beyond its data")
