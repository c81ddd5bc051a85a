"""The container of trace-cmd, trace.dat: headers, formats of events, options, and the pages of each CPU.

Every length, count and offset comes out of the file and is held against what the file can have.

Reference: the manual pages trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5).
"""

from __future__ import annotations

import re
import tempfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress

from multitracer import native
from multitracer.model.errors import CorruptTrace
from multitracer.parsers._helpers.binaryfile import Content, Cursor, Cut
from multitracer.parsers._helpers.eventformat import event_format
from multitracer.parsers._helpers.ringbuffer import PageLayout
from multitracer.parsers._helpers.tracedatmagic import MAGIC
from multitracer.parsers._helpers.tracedatparts import Buffer, CpuPages, TraceDat

_MOST_SECTION = 256 << 20
_MOST_CHUNK = 64 << 20
_FREE_BYTES, _MOST_RATIO = 256 << 20, 250  # as for every compressed file (rust/core/src/input/limit.rs)
_MOST_EVENTS = 1 << 16
_MOST_FORMAT = 1 << 20
_MOST_CPUS = 4096
_MOST_OPTIONS = 1 << 16
_MOST_OPTION = 16 << 20
_PAGE_BYTES = range(512, (16 << 20) + 1)
_SECTION_BYTES = 16
_COMPRESSED = 1
_OPTIONS, _HEADER_INFO, _FORMATS = 0, 16, 18
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_DATE, _BUFFER, _CLOCK, _OFFSET, _CPU_COUNT, _VERSION, _SHIFT, _TSC = 1, 3, 4, 7, 8, 9, 12, 14
_CPU_STATS, _UNAME = 2, 5
_TEXT_BUFFER = 22
_NAMES_BYTES = 400
"""Of a format file, what holds the event's name and number."""
_COMMIT_FIELD = re.compile(rb"\bcommit;\s*offset:8;\s*size:([48]);")
_DATA_FIELD = re.compile(rb"\bdata;\s*offset:(\d{1,3});")


class Reader:
    """Reads the container; then `pages` returns the pages of each CPU.

    Parameters
    ----------
    path : str
    content : Content
    systems : collection of str
        Subsystems whose formats of events are kept whole; of others the name.

    Raises
    ------
    CorruptTrace
        If nothing of the file can be used: no event can be read without their formats, and no page without
        its place.
    """

    def __init__(self, path: str, content: Content, systems: Collection[str]) -> None:
        self._path, self._content, self._systems = path, content, systems
        self._grown, self._limit = 0, max(_FREE_BYTES, _MOST_RATIO * content.size)
        self._compression = ""
        self.limited = ""
        self.trace = TraceDat(cut=content.cut)
        try:
            self._read()
        except Cut:
            if not self.limited:
                self.trace.cut = self.trace.cut or "the file ends inside its headers"
        if not self.trace.formats or not self.trace.buffers:
            raise CorruptTrace(
                f"{path}: {self.trace.cut or 'no buffer of events in it'}; end a recording "
                "with Ctrl-C, once: trace-cmd then writes the rest"
            )

    # -- the two versions

    def _read(self) -> None:
        order = "<"
        cursor = Cursor(self._content, order, len(MAGIC))
        version = cursor.string()
        self.trace.version = (
            int(version) if version.isascii() and version.isdigit() and len(version) < 4 else 0
        )
        order = ">" if cursor.number(1) else "<"
        cursor = Cursor(self._content, order, cursor.place)
        self._order = order
        self.trace.layout = PageLayout(order)
        self.trace.long_bytes = cursor.number(1)
        page_bytes = cursor.number(4)
        if self.trace.version == 6:
            self._version_6(cursor, page_bytes)
        elif self.trace.version >= 7:
            self._compression = cursor.string()
            cursor.string()
            self._version_7(cursor.number(8), page_bytes)
        else:
            raise CorruptTrace(f"{self._path}: version {version[:10]!r} of trace.dat; 6 and 7 are read")

    def _version_6(self, cursor: Cursor, page_bytes: int) -> None:
        self._header_info(cursor)
        for _ in range(self._count(cursor, _MOST_EVENTS)):
            cursor.skip(self._length(cursor.number(8), _MOST_FORMAT))  # of tracers, not of events
        self._event_formats(cursor)
        cursor.skip(self._length(cursor.number(4), _MOST_SECTION))  # kallsyms
        cursor.skip(self._length(cursor.number(4), _MOST_SECTION))  # printk formats
        cursor.skip(self._length(cursor.number(8), _MOST_SECTION))  # names of processes
        cpus = self._count(cursor, _MOST_CPUS)
        kind = cursor.take(10)
        instances: list[tuple[int, str]] = []
        if kind == b"options  \0":
            cpus = self._options_6(cursor, instances) or cpus
            kind = cursor.take(10)
        if kind == b"flyrecord\0":
            self._places_6(cursor, "", page_bytes, cpus)
        elif kind != b"latency  \0":
            raise CorruptTrace(f"{self._path}: neither events nor text behind its headers")
        for offset, name in instances:
            inside = Cursor(self._content, self._order, offset)
            with suppress(Cut):
                if inside.take(10) == b"flyrecord\0":
                    self._places_6(inside, name, page_bytes, cpus)

    def _options_6(self, cursor: Cursor, instances: list[tuple[int, str]]) -> int:
        cpus = 0
        for _ in range(_MOST_OPTIONS):
            option = cursor.number(2)
            if option == 0:
                break
            data = cursor.take(self._length(cursor.number(4), _MOST_OPTION))
            if option == _BUFFER:
                inside = Cursor(data, self._order)
                with suppress(Cut):
                    instances.append((inside.number(8), inside.string()))
            elif option == _CPU_COUNT and len(data) >= 4:
                cpus = min(Cursor(data, self._order).number(4), _MOST_CPUS)
            else:
                self._option(option, data)
        return cpus

    def _places_6(self, cursor: Cursor, name: str, page_bytes: int, cpus: int) -> None:
        buffer = Buffer(name, self.trace.clock, page_bytes)
        for cpu in range(cpus):
            buffer.cpus.append(CpuPages(cpu, cursor.number(8), cursor.number(8), False))
        self._add(buffer)

    def _version_7(self, offset: int, page_bytes: int) -> None:
        seen: set[int] = set()
        end = self._content.size
        while offset and offset not in seen and len(seen) < _MOST_OPTIONS:
            seen.add(offset)
            try:
                content, end = self._section(offset, _OPTIONS)
            except Cut:
                self.trace.cut = "the file ends before its last options, which locate the events of each CPU"
                if len(seen) > 1:
                    self._salvaged(end, page_bytes)
                return
            offset = self._options_7(Cursor(content, self._order))
        while end < self._content.size:
            try:
                end = self._section_end(Cursor(self._content, self._order, end))[2]
            except Cut:
                end = self._content.size + 1
        if end > self._content.size:
            self.trace.cut = self.trace.cut or "the file ends inside its last section"

    def _options_7(self, cursor: Cursor) -> int:
        """Take the options of one section; where the next such section is, 0 if nowhere."""
        for _ in range(_MOST_OPTIONS):
            option = cursor.number(2)
            inside = Cursor(data := cursor.take(self._length(cursor.number(4), _MOST_OPTION)), self._order)
            if option == _OPTIONS:
                return inside.number(8)
            if option == _BUFFER:
                self._buffer_7(inside)
            elif option == _HEADER_INFO:
                self._header_info(Cursor(self._section(inside.number(8), option)[0], self._order))
            elif option == _FORMATS:
                self._event_formats(Cursor(self._section(inside.number(8), option)[0], self._order))
            else:
                self._option(option, data)
        return 0

    def _section_end(self, cursor: Cursor) -> tuple[int, int, int]:
        """Kind and flags of a section, and the place after it, from its header."""
        kind, flags = cursor.number(2), cursor.number(2)
        cursor.skip(4)
        size = cursor.number(8)
        if size > self._content.size:
            raise Cut
        return kind, flags, cursor.place + size

    def _salvaged(self, place: int, page_bytes: int) -> None:
        """Find the events of a file that lost its end: the CPUs follow each other after the options.

        Which CPU it was is not known then: they are counted from 0, in their order.
        """
        cursor = Cursor(self._content, self._order, place)
        kind, flags = cursor.number(2), cursor.number(2)
        if kind != _BUFFER or page_bytes not in _PAGE_BYTES:
            return
        buffer = Buffer("", self.trace.clock, page_bytes)
        place = -(-(place + _SECTION_BYTES) // page_bytes) * page_bytes
        for begin, end in self._streams(place, page_bytes, bool(flags & _COMPRESSED)):
            buffer.cpus.append(CpuPages(len(buffer.cpus), begin, end - begin, bool(flags & _COMPRESSED)))
            if len(buffer.cpus) == _MOST_CPUS:
                break
        self.trace.buffers.append(buffer)

    def _streams(self, place: int, page_bytes: int, compressed: bool) -> Iterator[tuple[int, int]]:
        """Begin and end of the data of each CPU, one after the other up to the end of the file."""
        if compressed:
            while place < self._content.size:
                begin, cursor = place, Cursor(self._content, self._order, place)
                with suppress(Cut):
                    for _ in range(min(cursor.number(4), self._content.size // 8)):
                        packed = cursor.number(4)
                        cursor.skip(packed + 4)
                place = max(cursor.place, begin + 4)
                yield begin, min(place, self._content.size)
            return
        # The pages of one CPU are in order of time: where that goes back, the next CPU begins.
        begin, before = place, -1
        for at in range(place, self._content.size, page_bytes):
            head = self._content.at(at, 8)
            now = int.from_bytes(head, "little" if self._order == "<" else "big")
            if now < before:
                yield begin, at
                begin = at
            before = now
        if begin < self._content.size:
            yield begin, self._content.size

    def _section(self, offset: int, wanted: int) -> tuple[bytes, int]:
        """The content of a section, and the place after it."""
        cursor = Cursor(self._content, self._order, offset)
        kind, flags, end = self._section_end(cursor)
        if kind != wanted:
            raise CorruptTrace(f"{self._path}: section {kind} where section {wanted} should be")
        if flags & _COMPRESSED:
            packed, grown = cursor.number(4), cursor.number(4)
            content = cursor.take(self._length(packed, _MOST_SECTION))
            return self._unpacked(content, grown, _MOST_SECTION), end
        return cursor.take(self._length(end - cursor.place, _MOST_SECTION)), end

    def _buffer_7(self, cursor: Cursor) -> None:
        offset, name, clock = cursor.number(8), cursor.string(), cursor.string()
        buffer = Buffer(name, clock, cursor.number(4))
        if not self.trace.clock and not name:
            self.trace.clock = clock
        count = self._count(cursor, _MOST_CPUS)
        compressed = bool(Cursor(self._content, self._order, offset + 2).number(2) & _COMPRESSED)
        for _ in range(count):
            cpu = cursor.number(4)
            buffer.cpus.append(CpuPages(cpu, cursor.number(8), cursor.number(8), compressed))
        self._add(buffer)

    def _add(self, buffer: Buffer) -> None:
        if buffer.page_bytes not in _PAGE_BYTES:
            raise CorruptTrace(f"{self._path}: pages of {buffer.page_bytes} bytes")
        for pages in buffer.cpus:
            if pages.size and pages.offset + pages.size > self._content.size:
                self.trace.cut = "the file ends before the events of every CPU do"
        self.trace.buffers.append(buffer)

    # -- parts that both have

    def _header_info(self, cursor: Cursor) -> None:
        if cursor.take(12) != b"header_page\0":
            raise CorruptTrace(f"{self._path}: no header_page in it")
        page = cursor.take(self._length(cursor.number(8), _MOST_FORMAT))
        if cursor.take(13) != b"header_event\0":
            raise CorruptTrace(f"{self._path}: no header_event in it")
        cursor.skip(self._length(cursor.number(8), _MOST_FORMAT))
        commit, data = _COMMIT_FIELD.search(page), _DATA_FIELD.search(page)
        if commit is not None:
            self.trace.long_bytes = int(commit[1])
        begin = int(data[1]) if data is not None else 8 + self.trace.long_bytes
        self.trace.long_bytes = 4 if self.trace.long_bytes == 4 else 8
        self.trace.layout = PageLayout(self._order, self.trace.long_bytes, max(begin, 12))

    def _event_formats(self, cursor: Cursor) -> None:
        left = _MOST_EVENTS
        for _ in range(self._count(cursor, _MOST_EVENTS)):
            system = cursor.string()
            count = self._count(cursor, left)
            left -= count
            for _ in range(count):
                content = cursor.take(self._length(cursor.number(8), _MOST_FORMAT))
                content = content if system in self._systems else content[:_NAMES_BYTES]
                if (found := event_format(system, content)) is not None:
                    self.trace.formats.setdefault(found.number, found)

    def _option(self, option: int, data: bytes) -> None:
        trace, text = self.trace, data.partition(b"\0")[0][:10_000].decode(errors="replace")
        if option == _CLOCK:
            chosen = re.search(r"\[([\w-]{1,40})\]", text)
            trace.clock = chosen[1] if chosen else trace.clock
        elif option in (_DATE, _OFFSET):
            with suppress(ValueError):
                number = int(text.strip()[:32], 0)
                trace.offset_ns += number * (1000 if option == _DATE else 1)
                trace.dated |= option == _DATE
        elif option == _SHIFT:
            trace.shifted = True
        elif option == _TSC and len(data) >= 8:
            cursor = Cursor(data, self._order)
            trace.tsc = (cursor.number(4), cursor.number(4))
        elif option == _CPU_STATS:
            for found in re.finditer(
                r"^(?:(?:commit )?overrun|dropped events): (\d{1,15})\s*$", text, re.MULTILINE
            ):
                trace.overruns += int(found[1])
        elif option == _UNAME:
            trace.release = text[:200].strip()

    def _count(self, cursor: Cursor, most: int) -> int:
        return self._length(cursor.number(4), most)

    def _length(self, value: int, most: int) -> int:
        if value > most:
            raise CorruptTrace(f"{self._path}: a length or count of {value:,}; at most {most:,} makes sense")
        return value

    # -- pages

    def pages(self, buffer: Buffer, place: CpuPages) -> Iterator[bytes]:
        """The pages of one CPU.

        Parameters
        ----------
        buffer : Buffer
        place : CpuPages
            One of its CPUs.

        Yields
        ------
        bytes
            Each with its header; the last may be shorter if the file ends in it.
        """
        if place.compressed:
            yield from self._unpacked_pages(buffer, place)
            return
        step = max(buffer.page_bytes, (1 << 18) // buffer.page_bytes * buffer.page_bytes)
        at, end = place.offset, min(place.offset + place.size, self._content.size)
        while at < end:
            block = self._content.at(at, min(step, end - at))
            if not block:
                return
            yield from _cut_up(block, buffer.page_bytes)
            at += len(block)

    def _unpacked_pages(self, buffer: Buffer, place: CpuPages) -> Iterator[bytes]:
        cursor = Cursor(self._content, self._order, place.offset)
        try:
            # Chunks of 8 bytes and more each: more than fit into the file are never there.
            for _ in range(min(cursor.number(4), self._content.size // 8)):
                packed, grown = cursor.number(4), cursor.number(4)
                chunk = cursor.take(self._length(packed, _MOST_CHUNK))
                block = self._unpacked(chunk, grown, _MOST_CHUNK)
                yield from _cut_up(block, buffer.page_bytes)
                if len(block) < grown:
                    raise CorruptTrace(f"{self._path}: a compressed chunk is damaged")
        except Cut:
            if self.limited:
                return
            self.trace.cut = self.trace.cut or "the file ends before the events of every CPU do"

    def _unpacked(self, packed: bytes, grown: int, most: int) -> bytes:
        """What compressed bytes hold: at most as many as are announced."""
        grown = self._length(grown, most)
        self._grown += grown
        if self._grown > self._limit:
            self.limited = f"more than {self._limit:,} bytes out of a file of {self._content.size:,}"
            raise Cut
        if self._compression == "zlib":
            try:
                return zlib.decompressobj().decompress(packed, grown) if grown else b""
            except zlib.error as error:
                raise CorruptTrace(f"{self._path}: zlib: {error}") from error
        if self._compression == "zstd":
            if not packed.startswith(_ZSTD_MAGIC):
                raise CorruptTrace(f"{self._path}: a chunk that is no zstd frame")
            with tempfile.NamedTemporaryFile(prefix="multitracer-") as file:
                file.write(packed)
                file.flush()
                return native.head(file.name, grown) if grown else b""
        raise CorruptTrace(
            f"{self._path}: compressed with {self._compression[:20]!r}, which is not known here; "
            "trace-cmd convert --compression none makes it readable"
        )


def _cut_up(block: bytes, page_bytes: int) -> Iterator[bytes]:
    for at in range(0, len(block), page_bytes):
        yield block[at : at + page_bytes]
