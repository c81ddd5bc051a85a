"""Files of trace-cmd made by hand: headers, options and ring-buffer pages of versions 6 and 7.

The samples in ``tests/data/formats/trace-dat`` were recorded by trace-cmd 3.1.6 on Linux 6.18, between two
network namespaces made for it (10.77.1.1 to 10.77.1.2, veth, tbf 20 Mbit/s, 100,000 bytes), and then cut
down by `main`: only formats of events that occur, no kernel symbols, no names of processes and machines.
Pages of events, and the zstd chunks that hold those of version 7, are as recorded. ``tests/data/trace-dat``
holds what ``trace-cmd report -t`` printed of them.
"""

from __future__ import annotations

import gzip
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "formats" / "trace-dat"
REPORTS = Path(__file__).parent / "data" / "trace-dat"
PAGE = 4096
HEADER_PAGE = (
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
    "\tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n"
    "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
    "\tfield: char data;\toffset:{data};\tsize:{rest};\tsigned:1;\n"
)
COMMON = (
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
)
PROBE = 7
"""Number of the tracepoint that `probe` makes records of."""


def format_file(name: str, number: int, fields: str, print_fmt: str) -> bytes:
    return f"name: {name}\nID: {number}\nformat:\n{COMMON}{fields}\nprint fmt: {print_fmt}\n".encode()


PROBE_FORMAT = format_file(
    "tcp_probe",
    PROBE,
    "\tfield:__u8 saddr[28];\toffset:8;\tsize:28;\tsigned:0;\n"
    "\tfield:__u8 daddr[28];\toffset:36;\tsize:28;\tsigned:0;\n"
    "\tfield:__u32 snd_nxt;\toffset:64;\tsize:4;\tsigned:0;\n"
    "\tfield:__u32 snd_cwnd;\toffset:68;\tsize:4;\tsigned:0;\n"
    "\tfield:__u32 srtt;\toffset:72;\tsize:4;\tsigned:0;\n",
    '"src=%pISpc dest=%pISpc snd_nxt=%#x snd_una=%#x snd_cwnd=%u srtt=%u", REC->saddr, REC->daddr, '
    "REC->snd_nxt, REC->snd_nxt, REC->snd_cwnd, REC->srtt",
)


def probe(cwnd: int, order: str = "<", pid: int = 42, pad: int = 0) -> bytes:
    """A record of `PROBE_FORMAT`; `pad` makes it longer."""
    ends = [struct.pack(">H", port) + bytes([10, 0, 0, last]) for port, last in ((5000, 1), (80, 2))]
    addresses = b"".join((struct.pack(order + "H", 2) + end).ljust(28, b"\0") for end in ends)
    head = struct.pack(order + "HBBi", PROBE, 0, 0, pid)
    return head + addresses + struct.pack(order + "III", 1, cwnd, 5) + bytes(pad)


def data_event(record: bytes, delta: int, order: str = "<") -> bytes:
    """A record as the ring buffer has it."""
    padded = record + bytes(-len(record) % 4)
    if len(padded) <= 112:
        return word(len(padded) // 4, delta, order) + padded
    return word(0, delta, order) + struct.pack(order + "I", len(padded) + 4) + padded


def word(kind: int, delta: int, order: str = "<") -> bytes:
    """The first word of an event in the ring buffer."""
    return struct.pack(order + "I", kind | delta << 5 if order == "<" else kind << 27 | delta)


def page(begin: int, content: bytes, order: str = "<", long: int = 8, flags: int = 0, lost: int = 0) -> bytes:
    """A page of the ring buffer."""
    head = struct.pack(order + ("QQ" if long == 8 else "QI"), begin, len(content) | flags)
    behind = lost.to_bytes(long, "little" if order == "<" else "big") if lost else b""
    made = head + content + behind
    assert len(made) <= PAGE
    return made.ljust(PAGE, b"\0")


@dataclass
class Made:
    """What a file is to hold."""

    cpus: dict[int, list[bytes]] = field(default_factory=dict)
    formats: Sequence[tuple[str, bytes]] = (("tcp", PROBE_FORMAT),)
    order: str = "<"
    long: int = 8
    clock: str = "mono"
    options: Sequence[tuple[int, bytes]] = ()
    instances: dict[str, tuple[str, dict[int, list[bytes]]]] = field(default_factory=dict)

    def number(self, value: int, size: int) -> bytes:
        return value.to_bytes(size, "little" if self.order == "<" else "big")

    def start(self, version: int) -> bytes:
        flags = bytes([self.order == ">", 8])
        return b"\x17\x08\x44tracing" + str(version).encode() + b"\0" + flags + self.number(PAGE, 4)

    def header_info(self) -> bytes:
        data = 8 + self.long
        page_text = HEADER_PAGE.format(long=self.long, data=data, rest=PAGE - data).encode()
        event_text = b"# compressed entry header\n"
        return b"".join(
            name + self.number(len(text), 8) + text
            for name, text in ((b"header_page\0", page_text), (b"header_event\0", event_text))
        )

    def event_formats(self) -> bytes:
        systems = dict.fromkeys(system for system, _ in self.formats)
        made = self.number(len(systems), 4)
        for system in systems:
            own = [text for of, text in self.formats if of == system]
            made += system.encode() + b"\0" + self.number(len(own), 4)
            made += b"".join(self.number(len(text), 8) + text for text in own)
        return made

    def option(self, number: int, data: bytes) -> bytes:
        return self.number(number, 2) + self.number(len(data), 4) + data

    def clock_option(self) -> bytes:
        return self.option(4, f"local global [{self.clock}] boot\n\0".encode())


def version_6(made: Made) -> bytes:
    """The file of version 6."""
    head = made.start(6) + made.header_info() + made.number(0, 4) + made.event_formats()
    head += made.number(0, 4) + made.number(0, 4) + made.number(0, 8)
    cpus = max((*made.cpus, 0)) + 1
    head += made.number(cpus, 4) + b"options  \0" + made.clock_option()
    head += b"".join(made.option(number, data) for number, data in made.options)
    names = {name: made.option(3, bytes(8) + name.encode() + b"\0") for name in made.instances}
    size = len(head) + sum(map(len, names.values())) + 2 + 10 + 16 * cpus
    body = b""
    tops: dict[str, bytes] = {}
    for name, (_, pages) in made.instances.items():
        start = -(-(size + len(body)) // PAGE) * PAGE - size
        body = body.ljust(start, b"\0")
        places, data = _places(made, pages, size + len(body) + 10 + 16 * cpus, cpus)
        tops[name] = made.option(3, made.number(size + len(body), 8) + name.encode() + b"\0")
        body += b"flyrecord\0" + places + data
    head += b"".join(tops.values()) + made.number(0, 2) + b"flyrecord\0"
    places, data = _places(made, made.cpus, size + len(body), cpus)
    assert len(head) + len(places) == size
    return head + places + body + data


def _places(made: Made, cpus: dict[int, list[bytes]], at: int, count: int) -> tuple[bytes, bytes]:
    places, data = b"", b""
    for cpu in range(count):
        begin = -(-(at + len(data)) // PAGE) * PAGE
        pages = b"".join(cpus.get(cpu, []))
        places += made.number(begin, 8) + made.number(len(pages), 8)
        data = data.ljust(begin - at, b"\0") + pages
    return places, data


def version_7(made: Made, compression: str = "none", chunks: dict[int, bytes] | None = None) -> bytes:
    """The file of version 7; `chunks`: the compressed data of each CPU, as it is to be written."""
    packed = compression != "none"
    start = made.start(7) + compression.encode() + b"\0" + b"1\0"
    content, places = start + bytes(8), {}
    for kind, data in ((16, made.header_info()), (18, made.event_formats())):
        places[kind] = len(content)
        content += _section(made, kind, data, packed and chunks is None)
    first = len(content)
    options = b"".join(made.option(kind, made.number(place, 8)) for kind, place in places.items())
    options += made.clock_option() + b"".join(made.option(number, data) for number, data in made.options)
    behind = first + 16 + len(options) + 14
    buffers, body = b"", b""
    for name, (clock, cpus) in {"": (made.clock, made.cpus), **made.instances}.items():
        place = behind + len(body)
        at = -(-(place + 16) // PAGE) * PAGE
        data, rows = b"", b""
        for cpu in chunks if chunks is not None else cpus:
            own = chunks[cpu] if chunks is not None else b"".join(cpus[cpu])
            if packed and chunks is None:
                own = _chunked(made, cpus[cpu])
            rows += made.number(cpu, 4) + made.number(at + len(data), 8)
            rows += made.number(
                len(own) - (4 if packed else 0), 8
            )  # trace-cmd leaves out the number of chunks
            data += own
        head = (
            made.number(3, 2)
            + made.number(packed, 2)
            + bytes(4)
            + made.number(at - place - 16 + len(data), 8)
        )
        body += head.ljust(at - place, b"\0") + data
        option = made.number(place, 8) + name.encode() + b"\0" + clock.encode() + b"\0" + made.number(PAGE, 4)
        buffers += made.option(3, option + made.number(len(rows) // 20, 4) + rows)
    options += made.option(0, made.number(behind + len(body), 8))
    last = _section(made, 0, buffers + made.option(0, bytes(8)), False)
    strings = _section(made, 15, b"options\0", False)
    head = start + made.number(first, 8) + content[len(start) + 8 :]
    return head + _section(made, 0, options, False) + body + last + strings


def _section(made: Made, kind: int, data: bytes, packed: bool) -> bytes:
    if packed:
        small = zlib.compress(data)
        data = made.number(len(small), 4) + made.number(len(data), 4) + small
    return made.number(kind, 2) + made.number(packed, 2) + bytes(4) + made.number(len(data), 8) + data


def _chunked(made: Made, pages: Sequence[bytes], each: int = 2) -> bytes:
    blocks = [b"".join(pages[at : at + each]) for at in range(0, len(pages), each)]
    rows = [(zlib.compress(block), len(block)) for block in blocks]
    made_chunks = [made.number(len(small), 4) + made.number(size, 4) + small for small, size in rows]
    return made.number(len(rows), 4) + b"".join(made_chunks)


def taken(path: Path) -> tuple[Made, dict[int, bytes]]:
    """What a recording holds, without what tells of the machine; chunks of version 7 as they are."""
    from multitracer.parsers._helpers import tracedatlines as tracedat
    from multitracer.parsers._helpers.binaryfile import Content
    from multitracer.parsers._helpers.tracedatfile import Reader
    from multitracer.parsers._helpers.tracedatmagic import MAGIC

    content = Content(str(path), MAGIC)
    reader = Reader(str(path), content, tracedat.SYSTEMS)
    buffer = reader.trace.buffers[0]
    pages = {place.cpu: list(reader.pages(buffer, place)) for place in buffer.cpus if place.size}
    chunks = {
        place.cpu: content.at(place.offset, place.size + 4) for place in buffer.cpus if place.compressed
    }
    seen = {line.split()[3].rstrip(b":").decode() for line in tracedat.lines(str(path))}
    formats = [(one.system, one.text.encode()) for one in reader.trace.formats.values() if one.name in seen]
    content.close()
    return Made(pages, formats, clock=buffer.clock or reader.trace.clock), chunks


def main(six: Path, seven: Path) -> None:
    """Write the samples from two recordings, and what trace-cmd says of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    REPORTS.mkdir(parents=True, exist_ok=True)
    older, _ = taken(six)
    newer, chunks = taken(seven)
    files = {"version-6.dat": version_6(older), "version-7.dat": version_7(newer, "zstd", chunks)}
    for name, content in files.items():
        (FOLDER / f"{name}.gz").write_bytes(gzip.compress(content, 9, mtime=0))
        plain = REPORTS / name
        plain.write_bytes(content)
        said = subprocess.run(["trace-cmd", "report", "-t", plain], capture_output=True, check=True).stdout
        plain.unlink()
        (REPORTS / f"{name}.report.gz").write_bytes(gzip.compress(said, 9, mtime=0))


def written(path: Path, content: bytes | Iterable[bytes]) -> str:
    """A file with this content; its path."""
    path.write_bytes(content if isinstance(content, bytes) else b"".join(content))
    return str(path)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
