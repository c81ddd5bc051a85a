"""The events of a trace.dat as lines of text, in order of time, and the trace that they make."""

from __future__ import annotations

import heapq
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace

from multitracer import native
from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.trace import ClockKind, Trace
from multitracer.native.call import Scan
from multitracer.parsers._helpers import printformat, tracepoints
from multitracer.parsers._helpers.binaryfile import Content, Cut
from multitracer.parsers._helpers.cexpression import Unsupported
from multitracer.parsers._helpers.eventformat import EventFormat
from multitracer.parsers._helpers.ringbuffer import PageFaults, events
from multitracer.parsers._helpers.tracedatfile import Reader
from multitracer.parsers._helpers.tracedatmagic import MAGIC
from multitracer.parsers._helpers.tracedatparts import Buffer, CpuPages

SYSTEMS = frozenset({"tcp", "sock", "skb", "qdisc", "net"})
"""Subsystems whose events are written out; of others the name, to be counted."""

_CLOCKS: dict[str, ClockKind] = {
    "mono": "monotonic",
    "mono_raw": "monotonic",
    "boot": "monotonic",
    "local": "monotonic",
    "global": "monotonic",
    "perf": "monotonic",
    "uptime": "monotonic",
}
"""Trace clocks that count from the boot; that of others is unknown."""
_TICKS = ("counter", "x86-tsc")
_BLOCK_LINES = 512
_LONGEST_LINE = 60_000
_MOST_NS = 1 << 63
_SHORTEST = 8
"""Bytes of a record: type, flags, preemption count, process."""


def trace_of(path: str) -> Trace:
    """See `multitracer.parsers.tracedat.parse`."""
    with closing(Content(path, MAGIC)) as content:
        recording = _Recording(path, Reader(path, content, SYSTEMS))
        scan = _scanned(path, recording)
    trace = tracepoints.trace_of(path, scan, "trace-dat")
    trace.source.clock = recording.clock
    trace.source.details |= recording.details()
    trace.issues = recording.issues() + trace.issues
    return trace


def lines(path: str) -> Iterator[bytes]:
    """The events of a file as lines of text, in order of time.

    Raises
    ------
    UnreadableFile, CorruptTrace
    """
    with closing(Content(path, MAGIC)) as content:
        yield from _Recording(path, Reader(path, content, SYSTEMS)).lines()


class _Recording:
    """Events of all CPUs, as text."""

    def __init__(self, path: str, reader: Reader) -> None:
        self._path, self._reader, self._file = path, reader, reader.trace
        self._buffers = _of_one_clock(self._file.buffers)
        self._faults: list[PageFaults] = []
        self._shown: dict[int, tuple[str, printformat.Shown | None]] = {}
        self._unread: dict[str, int] = {}
        self._unknown = 0
        self._record, self._first_unread = 0, 0

    def lines(self) -> Iterator[bytes]:
        """One line an event."""
        streams = [
            self._events(buffer, place)
            for buffer in self._buffers
            for place in sorted(buffer.cpus, key=lambda one: one.cpu)
            if _is_full(place)
        ]
        order = self._file.layout.order
        number = struct.Struct(order + "H").unpack_from
        task = struct.Struct(order + "i").unpack_from
        ticks = self._ticks
        for t, _, cpu, record in heapq.merge(*streams):
            if len(record) < _SHORTEST:
                self._unknown += 1
                continue
            self._record += 1
            name, text = self._text(number(record)[0], record)
            stamp = f"{t}" if ticks else f"{t // 1_000_000_000}.{t % 1_000_000_000:09d}"
            line = f"-{task(record, 4)[0] & 0x7FFFFFFF} [{cpu:03d}] {stamp}: {name}: {text}"
            yield line[:_LONGEST_LINE].encode() + b"\n"

    def _events(self, buffer: Buffer, place: CpuPages) -> Iterator[tuple[int, int, int, bytes]]:
        """Time, order among equal times, CPU and record of one CPU's events."""
        faults = PageFaults()
        self._faults.append(faults)
        offset, factor = self._file.offset_ns, self._factor
        rank = len(self._faults)
        pages = self._reader.pages(buffer, place)
        try:
            for t, record in events(pages, self._file.layout, faults):
                t = (t * factor[0] >> factor[1]) + offset
                if 0 <= t < _MOST_NS:
                    yield t, rank, place.cpu, record
                else:
                    self._unknown += 1
        except (Cut, CorruptTrace) as error:
            faults.add(str(error).removeprefix(f"{self._path}: ") or "the file ends in it")

    def _text(self, number: int, record: bytes) -> tuple[str, str]:
        """Name and text of an event; no text of one that is not ours, or that cannot be shown."""
        if number not in self._shown:
            self._shown[number] = self._compiled(self._file.formats.get(number))
        name, shown = self._shown[number]
        if shown is None:
            return name, ""
        try:
            return name, shown(record)
        except (ValueError, IndexError, TypeError, struct.error, OverflowError):
            self._unread[name] = self._unread.get(name, 0) + 1
            self._first_unread = self._first_unread or self._record
            return f"{name}_unreadable", ""

    def _compiled(self, known: EventFormat | None) -> tuple[str, printformat.Shown | None]:
        if known is None:
            return "unknown", None
        if known.system not in SYSTEMS:
            return known.name, None
        try:
            return known.name, printformat.compiled(
                known.print_fmt, known.fields, self._file.layout.order, self._file.long_bytes
            )
        except Unsupported:
            return f"{known.name}_unreadable", None

    @property
    def _factor(self) -> tuple[int, int]:
        factor, shift = self._file.tsc or (1, 0)
        return (factor, shift & 63) if factor else (1, 0)

    @property
    def _ticks(self) -> bool:
        """Whether times are ticks of a counter that nothing makes seconds of."""
        return self._name in _TICKS and self._file.tsc is None

    @property
    def _name(self) -> str:
        return self._buffers[0].clock or self._file.clock

    @property
    def clock(self) -> ClockKind:
        """Which clock times are on."""
        if self._file.dated:
            return "realtime"
        # As of text, which does not name its clock.
        return "unknown" if self._ticks else _CLOCKS.get(self._name or "local", "unknown")

    def details(self) -> dict[str, object]:
        """What `info` shows in addition."""
        return {
            "version": self._file.version,
            "trace_clock": self._name or "local",
            "cpus": sum(_is_full(place) for buffer in self._buffers for place in buffer.cpus),
            **({"time_shift": "of a guest, not applied"} if self._file.shifted else {}),
            "instances": [buffer.name for buffer in self._buffers if buffer.name],
        }

    def issues(self) -> list[Issue]:
        """Damage, after all events were read."""
        found = []
        if self._file.cut:
            found.append(Issue("truncated-file", 1, 0, self._file.cut, self._path))
        if self._reader.limited:
            found.append(Issue("decompression-limit", 1, 0, self._reader.limited, self._path))
        bad = sum(faults.bad for faults in self._faults)
        if bad and not self._file.cut:
            first = next(faults.first_bad for faults in self._faults if faults.bad)
            found.append(Issue("bad-record", bad, 0, first, self._path))
        lost = max(sum(faults.lost for faults in self._faults), self._file.overruns)
        if lost:
            found.append(Issue("lost-events", lost, 0, "a CPU's ring buffer overran", self._path))
        if self._unread or self._unknown:
            names = ", ".join(f"{name} ({count})" for name, count in sorted(self._unread.items()))
            count = sum(self._unread.values()) + self._unknown
            detail = (
                f"events that contradict their format: {names}" if names else "events without a type or time"
            )
            found.append(Issue("bad-number", count, self._first_unread, detail[:200], self._path))
        others = [buffer for buffer in _full(self._file.buffers) if buffer not in self._buffers]
        if others:
            names = ", ".join(buffer.name or "the top one" for buffer in others)
            detail = f"left out, as another trace clock than {self._name} is in use: instance {names[:150]}"
            found.append(Issue("unparsed-line", len(others), 0, detail, self._path))
        return found


def _is_full(place: CpuPages) -> bool:
    """Whether a CPU has events: without any, a compressed one has the number of its chunks alone."""
    return place.size > 4 if place.compressed else place.size > 0


def _full(buffers: list[Buffer]) -> list[Buffer]:
    return [buffer for buffer in buffers if any(map(_is_full, buffer.cpus))]


def _of_one_clock(buffers: list[Buffer]) -> list[Buffer]:
    """The instances with events that share the clock of the one with most."""
    full = _full(buffers) or buffers[:1]
    largest = max(full, key=lambda buffer: sum(place.size for place in buffer.cpus))
    return [buffer for buffer in full if buffer.clock == largest.clock]


def _scanned(path: str, recording: _Recording) -> Scan:
    """What the scanner of text finds in the lines, which it reads from a pipe while they are made."""
    read, write = os.pipe()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with open(write, "wb", buffering=0) as out, suppress(BrokenPipeError):
                block: list[bytes] = []
                for line in recording.lines():
                    block.append(line)
                    if len(block) == _BLOCK_LINES:
                        _write(out, b"".join(block))
                        block.clear()
                _write(out, b"".join(block))
        except BaseException as error:  # handed to the thread that waits
            failed.append(error)

    place = f"/dev/fd/{read}"
    writer = threading.Thread(target=work, name="trace-dat", daemon=True)
    writer.start()
    try:
        scan = native.scan("ftrace", place)
    except CorruptTrace as error:
        raise CorruptTrace(str(error).replace(place, path)) from error
    finally:
        os.close(read)
        writer.join()
    if failed:
        raise failed[0]
    return Scan(scan.tables, [replace(issue, path=path) for issue in scan.issues], scan.facts)


def _write(out: object, block: bytes) -> None:
    left = memoryview(block)
    while left:
        left = left[out.write(left) :]  # type: ignore[attr-defined]
