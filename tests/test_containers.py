"""However a capture is stored or comes, every analyzer answers the same: formats, compression, pipes."""

from __future__ import annotations

import bz2
import functools
import gzip
import json
import lzma
import os
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support_samples import PATIENCE_S, SAMPLES

import multitracer as mt
from multitracer.api.analysis import Analysis
from multitracer.model.errors import UnreadableFile

NAMES = sorted(path.name for path in SAMPLES.iterdir() if (path / "snd.pcap").exists())
ENDS = ("snd.pcap", "rcv.pcap")


def records(data: bytes) -> list[tuple[bytes, bytes]]:
    """Headers and bytes of a capture of this machine's byte order."""
    found, at = [], 24
    while at < len(data):
        end = at + 16 + struct.unpack_from("<I", data, at + 8)[0]
        found.append((data[at : at + 16], data[at + 16 : end]))
        at = end
    return found


def pcapng(data: bytes) -> bytes:
    """The same capture as pcapng, its time stamps in nanoseconds."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    unit = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[struct.unpack_from("<I", data)[0]]
    snaplen, link_type = struct.unpack_from("<II", data, 16)
    out = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(
            1,
            struct.pack("<HHI", link_type, 0, snaplen)
            + struct.pack("<HHB3xI", 9, 1, 9 if unit == 1 else 6, 0),
        ),
    ]
    for header, kept in records(data):
        seconds, fraction, captured, original = struct.unpack("<IIII", header)
        units = seconds * (10**9 // unit) + fraction
        out.append(
            block(6, struct.pack("<IIIII", 0, units >> 32, units & 0xFFFFFFFF, captured, original) + kept)
        )
    return b"".join(out)


def tool(name: str, data: bytes) -> bytes:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return subprocess.run([name, "-c"], input=data, capture_output=True, check=True).stdout


def plain(store: Callable[[bytes], bytes], path: Path, data: bytes) -> None:
    path.write_bytes(store(data))


def rotated(store: Callable[[bytes], bytes], path: Path, data: bytes) -> None:
    """In three files, as ``tcpdump -C`` leaves them."""
    packets = records(data)
    each = -(-len(packets) // 3)
    for part in range(3):
        mine = packets[part * each : (part + 1) * each]
        name = f"{path}{part or ''}"
        Path(name).write_bytes(store(data[:24] + b"".join(header + kept for header, kept in mine)))


def fifo(store: Callable[[bytes], bytes], path: Path, data: bytes) -> None:
    content = store(data)
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb") as pipe:
            pipe.write(content)

    threading.Thread(target=write, daemon=True).start()


def same(data: bytes) -> bytes:
    return data


zstd = functools.partial(tool, "zstd")
# Of each pair, one is for the sender's capture and the other for the receiver's.
WAYS: dict[str, tuple[Callable[[Path, bytes], None], Callable[[Path, bytes], None]]] = {
    "pcapng and zstd": (functools.partial(plain, pcapng), functools.partial(plain, zstd)),
    "gzip and xz": (functools.partial(plain, gzip.compress), functools.partial(plain, lzma.compress)),
    "lz4 and bzip2": (
        functools.partial(plain, functools.partial(tool, "lz4")),
        functools.partial(plain, bz2.compress),
    ),
    "rotated and a pipe": (functools.partial(rotated, same), functools.partial(fifo, same)),
    "a pipe of pcapng, zstd and rotated pcapng, gzip": (
        functools.partial(fifo, lambda data: zstd(pcapng(data))),
        functools.partial(rotated, lambda data: gzip.compress(pcapng(data))),
    ),
}


def answers(analysis: Analysis, directory: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """All that is said, and all tables, without where it was read."""
    # Files in parts have the name of the first, all others keep theirs.
    said = json.loads(analysis.to_json().replace(f"{directory}/", "").replace(str(directory), "."))
    for source in said["sources"]:
        for key in ("format", "details"):
            source.pop(key, None)
    tables = {
        f"{name} {table}": rows.frame().to_csv()
        for name, result in analysis.results.items()
        for table, rows in result.tables.items()
    }
    return said, tables


@functools.cache
def expected(name: str) -> tuple[dict[str, Any], dict[str, str]]:
    return answers(mt.analyze(mt.read(*files(SAMPLES / name))), SAMPLES / name)


def files(directory: Path) -> list[Path]:
    """In one order, however they are stored: pipes must be named."""
    return sorted(path for path in directory.iterdir() if not path.is_dir() and path.suffix != ".json")


def stored(name: str, directory: Path, ways: tuple[Callable[[Path, bytes], None], ...]) -> list[Path]:
    """The files of a sample, its captures stored in other ways."""
    for path in files(SAMPLES / name):
        if path.name not in ENDS:
            shutil.copy(path, directory / path.name)
    for end, store in zip(ENDS, ways, strict=True):
        store(directory / end, (SAMPLES / name / end).read_bytes())
    return files(directory)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_every_analyzer_answers_the_same(name: str, way: str, tmp_path: Path) -> None:
    found = answers(mt.analyze(mt.read(*stored(name, tmp_path, WAYS[way]))), tmp_path)
    for mine, theirs in zip(found, expected(name), strict=True):
        assert sorted(mine) == sorted(theirs)
        for key in theirs:
            assert mine[key] == theirs[key], key


@pytest.mark.parametrize("which", ENDS)
def test_standard_input(which: str, tmp_path: Path) -> None:
    """The map of frames needs the bytes of packets a second time."""
    directory = SAMPLES / "link-resets-vj"
    other = next(end for end in ENDS if end != which)
    words = [sys.executable, "-m", "multitracer", "analyze", "--json", "-"]
    words += [str(directory / name) for name in (other, "rlp.log.gz")]
    done = subprocess.run(
        words,
        input=pcapng((directory / which).read_bytes()),
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    expected = mt.analyze(mt.read(*(directory / name for name in (which, other, "rlp.log.gz"))))
    found = json.loads(done.stdout)["frame_map"]
    assert found == json.loads(expected.to_json())["frame_map"]
    assert sum(one["exact"] for one in found["directions"]) == 463


def test_a_packet_of_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    fifo(same, path, (SAMPLES / "link-resets-vj" / "snd.pcap").read_bytes())
    measurement = mt.read(path)
    with pytest.raises(UnreadableFile, match="pipe"):
        measurement.packet(1)
