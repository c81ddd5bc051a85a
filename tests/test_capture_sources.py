"""Where captures come from: compressed files, pipes, standard input, URLs, several files, pcapng."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import pickle
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support_samples import PATIENCE_S, SAMPLES, Run
from test_text_of_many import flood

import multitracer as mt
from multitracer import native, registry
from multitracer.api.inventory import inspect
from multitracer.model.errors import CorruptTrace, UnreadableFile, UsageError
from multitracer.native import whole_packet as packet
from multitracer.native.rotated import Parts
from multitracer.parsers import pcap
from multitracer.reading import remote
from multitracer.reading.discovery import discover
from multitracer.reading.opening import open_trace

CAPTURE = SAMPLES / "link-resets-vj" / "snd.pcap"
LOG = SAMPLES / "link-resets-vj" / "rlp.log.gz"


def summary(path: Path | str) -> tuple[int, int, list[dict[str, object]]]:
    trace = open_trace(path)
    return trace.source.records, len(trace.tables["segments"]), trace.connections


def tool(name: str) -> Callable[[bytes], bytes]:
    def compress(data: bytes) -> bytes:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
        return subprocess.run([name, "-c"], input=data, capture_output=True, check=True).stdout

    return compress


COMPRESSIONS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": tool("zstd"),
    "lz4": tool("lz4"),
}


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_compressed_captures_and_logs(name: str, tmp_path: Path) -> None:
    packed = tmp_path / "no-ending"
    packed.write_bytes(COMPRESSIONS[name](CAPTURE.read_bytes()))
    assert summary(packed) == summary(CAPTURE)
    assert open_trace(packed).source.details["compressed"] == name
    log = tmp_path / "log"
    log.write_bytes(COMPRESSIONS[name](gzip.decompress(LOG.read_bytes())))
    mine, theirs = open_trace(log), open_trace(LOG)
    assert mine.source.format == "rlpdump"
    assert mine.source.records == theirs.source.records
    for table in (packed, log):
        raw = table.read_bytes()
        table.write_bytes(raw[: len(raw) * 2 // 3])
        try:
            codes = {issue.code for issue in open_trace(table).issues}
        except CorruptTrace:
            continue  # bzip2 and zstd give whole blocks, of which there may be none
        assert "truncated-file" in codes


def test_a_bomb_is_given_up_and_may_be_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "bomb.bz2"
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 20, 101)
    record = struct.pack("<IIII", 1, 0, 1 << 20, 1 << 20) + bytes(1 << 20)
    packer = bz2.BZ2Compressor()
    # One stream of 8 MB, repeated: 40,000 to 1.
    stream = packer.compress(record * 8) + packer.flush()
    bomb.write_bytes(bz2.compress(header) + stream * 36)
    trace = native.read_capture(str(bomb), keep_segments=False)
    assert [code for code, *_ in trace["issues"]] == ["decompression-limit", "malformed-packet"]
    assert 240 <= trace["info"]["records"] < 280
    monkeypatch.setenv("MULTITRACER_MAX_RATIO", "1000000")
    trace = native.read_capture(str(bomb), keep_segments=False)
    assert trace["info"]["records"] == 8 * 36
    monkeypatch.delenv("MULTITRACER_MAX_RATIO")
    log = tmp_path / "log.bz2"
    lines = bz2.compress(b"# rlpdump 1\n")
    packer = bz2.BZ2Compressor()
    log.write_bytes(lines + (packer.compress(b"\n" * (8 << 20)) + packer.flush()) * 36)
    issues = {issue.code: issue for issue in native.scan("rlpdump", str(log)).issues}
    assert "MULTITRACER_MAX_RATIO" in issues["decompression-limit"].detail


def feed(path: Path, data: bytes) -> threading.Thread:
    def write() -> None:
        with path.open("wb") as pipe:
            pipe.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


@pytest.mark.parametrize("source", [CAPTURE, LOG])
def test_a_pipe_is_read_as_the_file(source: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    thread = feed(fifo, source.read_bytes())
    trace = open_trace(fifo)
    thread.join(PATIENCE_S)
    expected = open_trace(source)
    assert trace.source.records == expected.source.records
    assert trace.source.format == expected.source.format


def test_a_pipe_of_no_known_format_is_let_go(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    broken = threading.Event()

    def write() -> None:
        try:
            with fifo.open("wb") as pipe:
                pipe.write(b"nothing known\n" * 100_000)
        except BrokenPipeError:
            broken.set()

    thread = threading.Thread(target=write)
    thread.start()
    with pytest.raises(mt.errors.UnknownFormat, match="not a trace"):
        open_trace(fifo)
    thread.join(PATIENCE_S)
    assert broken.is_set()


def test_pipes_of_a_directory_are_left_alone(tmp_path: Path) -> None:
    shutil.copy(CAPTURE, tmp_path / "snd.pcap")
    os.mkfifo(tmp_path / "pipe")
    assert discover([tmp_path]).found == [str(tmp_path / "snd.pcap")]


def test_standard_input(run: Run) -> None:
    words = [sys.executable, "-m", "multitracer", "info", "-", "--json"]
    with CAPTURE.open("rb") as stdin:
        piped = subprocess.run(
            words, stdin=stdin, capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
    assert '"records": 449' in piped.stdout
    assert '"path": "-"' in piped.stdout
    done = subprocess.run(words, input=b"", capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 3
    assert b"empty" in done.stdout
    twice = run("analyze", "-", "-")
    assert twice.returncode == 2
    assert "twice" in twice.stderr


def test_interrupted_while_waiting_for_a_pipe(tmp_path: Path) -> None:
    fifo = tmp_path / "silent"
    os.mkfifo(fifo)
    words = [sys.executable, "-m", "multitracer", "info", str(fifo)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        # It opens the pipe when it is ready to wait for it.
        descriptor = os.open(fifo, os.O_WRONLY)
        try:
            process.send_signal(2)
            assert process.wait(PATIENCE_S) == 130
        finally:
            os.close(descriptor)


def test_urls(tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/captures/snd.pcap", CAPTURE.read_bytes())
    memory.pipe("/captures/text", b"nothing known\n" * 50_000)
    url = "memory://captures/snd.pcap"
    trace = open_trace(url)
    assert trace.source.path == url
    assert trace.source.records == 449
    assert {issue.path for issue in trace.issues} == {url}
    assert mt.read(url).sources[0].path == url
    assert open_trace(CAPTURE.resolve().as_uri()).source.records == 449
    with pytest.raises(mt.errors.UnknownFormat, match="memory://captures/text"):
        open_trace("memory://captures/text")
    with pytest.raises(UnreadableFile, match=r"memory://captures/absent: .*; check the address"):
        open_trace("memory://captures/absent")
    with pytest.raises(UsageError, match="nosuch"):
        open_trace("nosuch://captures/snd.pcap")
    with pytest.raises(UsageError, match="twice"):
        discover([url, url])


def test_the_reason_is_known_before_the_end_of_the_data_is_seen(tmp_path: Path) -> None:
    fifo = tmp_path / "stream"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    seen: list[bytes | type[OSError]] = []

    class Feed(remote._Feed):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "error" and value is not None:
                try:
                    seen.append(os.read(reader, 1))
                except BlockingIOError as error:
                    seen.append(type(error))
            super().__setattr__(name, value)

    feed = Feed(remote._open("memory://captures/absent"), str(fifo))
    feed.run()
    assert os.read(reader, 1) == b""
    os.close(reader)
    assert isinstance(feed.error, FileNotFoundError)
    assert seen == [BlockingIOError]  # the writer's end was open still


def test_urls_without_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UsageError, match="pip install fsspec"):
        open_trace("s3://bucket/snd.pcap")


# several files


def split(directory: Path, names: list[str], source: Path = CAPTURE) -> list[Path]:
    """The capture in equal parts, as tcpdump -C leaves it."""
    data = source.read_bytes()
    records, at = [], 24
    while at < len(data):
        end = at + 16 + struct.unpack("<I", data[at + 8 : at + 12])[0]
        records.append(data[at:end])
        at = end
    each = -(-len(records) // len(names))
    paths = [directory / name for name in names]
    for index, path in enumerate(paths):
        path.write_bytes(data[:24] + b"".join(records[index * each : (index + 1) * each]))
    return paths


@pytest.mark.parametrize(
    "names",
    [
        ["cap", "cap1", "cap2", "cap3"],
        ["cap.pcap2", "cap.pcap3", "cap.pcap0", "cap.pcap1"],
        ["cap_00001_20260101120000.pcap", "cap_00002_20260101120013.pcap"],
        ["2026-01-01_12:00:00.pcap", "2026-01-01_12:01:00.pcap", "2026-01-01_12:02:00.pcap"],
    ],
    ids=["-C", "-C -W", "dumpcap", "-G"],
)
def test_a_rotating_capture_is_one(names: list[str], tmp_path: Path) -> None:
    paths = split(tmp_path, names)
    whole = mt.read(CAPTURE)
    for measurement in (mt.read(tmp_path), mt.read(*reversed(paths))):
        assert [source.records for source in measurement.sources] == [449]
        assert measurement.sources[0].details["files"] == [str(path) for path in paths]
        mine, theirs = measurement.tables["segments"], whole.tables["segments"]
        for name in theirs:
            assert np.array_equal(mine[name], theirs[name]), name
        assert measurement.packet(449, 0).data.seq == whole.packet(449, 0).data.seq
        assert measurement.packet(1, 0).data.seq == whole.packet(1, 0).data.seq
        with pytest.raises(UsageError, match="450"):
            measurement.packet(450, 0)
    assert [trace.source.records for trace in inspect([tmp_path]).traces] == [449]


def test_issues_of_parts_count_through(tmp_path: Path) -> None:
    paths = split(tmp_path, ["cap0", "cap1"])
    whole = {issue.code: issue for issue in open_trace(CAPTURE).issues}
    mine = {issue.code: issue for issue in open_trace(Parts([str(path) for path in paths])).issues}
    assert {(i.code, i.count, i.first_record) for i in mine.values()} == {
        (i.code, i.count, i.first_record) for i in whole.values()
    }


def test_what_only_looks_like_a_rotating_capture(tmp_path: Path) -> None:
    # Both ends at the same time; the same twice; a text among them; one that cannot be read.
    for end, name in (("snd", "host1.pcap"), ("rcv", "host2.pcap")):
        shutil.copy(CAPTURE.with_name(f"{end}.pcap"), tmp_path / name)
    assert len(discover([tmp_path]).found) == 2
    other = tmp_path / "other"
    other.mkdir()
    paths = split(other, ["cap0", "cap1", "cap2"])
    paths[1].write_bytes(b"no capture")
    assert len(discover([other]).found) == 3
    paths[1].write_bytes(paths[0].read_bytes()[:20])
    assert len(discover([other]).found) == 3
    # One after the other, but without a connection in common.
    apart = tmp_path / "apart"
    apart.mkdir()
    first, second = split(apart, ["run1.pcap", "run2.pcap"])
    data = bytearray(second.read_bytes())
    at = 24
    while at < len(data):
        length = struct.unpack("<I", data[at + 8 : at + 12])[0]
        header = at + 16
        data[header + 20 : header + 24] = b"\x01\x02\x03\x04"  # raw IP: both ports
        at += 16 + length
    second.write_bytes(data)
    assert discover([apart]).found == [str(first), str(second)]


def test_parts_are_a_path_that_survives_a_pickle() -> None:
    parts = Parts(["a", "b"])
    again = pickle.loads(pickle.dumps(parts))
    assert (again, again.files, os.fspath(again)) == ("a", ("a", "b"), "a")


# pcapng


def pcapng(packets: list[bytes], comments: dict[int, bytes], link_type: int = 101) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    def option(code: int, value: bytes) -> bytes:
        return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)

    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + option(4, b"test") + bytes(4))
    out += block(1, struct.pack("<HHI", link_type, 0, 0) + option(2, b"eth7") + bytes(4))
    for number, data in enumerate(packets, 1):
        body = struct.pack("<IIIII", 0, 0, number, len(data), len(data)) + data + bytes(-len(data) % 4)
        if number in comments:
            body += option(1, comments[number]) + bytes(4)
        out += block(6, body)
    return out


def raw_packets(path: Path, count: int) -> list[bytes]:
    found = [native.packet(str(path), number) for number in range(1, count + 1)]
    return [packet.data for packet in found if packet is not None]


def test_pcapng_through_the_package(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_bytes(pcapng(raw_packets(CAPTURE, 20), {3: b"look here", 5: b"</script>"}))
    trace = open_trace(path)
    details = trace.source.details
    assert (trace.source.format, trace.source.records, trace.source.tcp_segments) == ("pcapng", 20, 20)
    assert details["comments"] == [
        {"record": 3, "text": "look here"},
        {"record": 5, "text": "</script>"},
    ]
    assert details["interfaces"][0]["name"] == "eth7"
    assert (details["application"], details["blocks"]["enhanced-packet"]) == ("test", 20)
    assert packet.decode(str(path), 20).data.seq == packet.decode(str(CAPTURE), 20).data.seq
    assert [parser.name for parser in registry.parsers().values() if parser.sniff(path.read_bytes())] == [
        "pcapng"
    ]


def test_icmp_errors_reach_the_measurement(tmp_path: Path) -> None:
    packets = raw_packets(CAPTURE, 10)
    quoted = packets[4]
    header = bytes.fromhex("4500003800010000400100000a4d01fe0a4d1f01")
    unreachable = header + bytes([3, 1, 0, 0, 0, 0, 0, 0]) + quoted[:28]
    stranger = header + bytes([11, 0, 0, 0, 0, 0, 0, 0]) + quoted[:20] + bytes(8)
    path = tmp_path / "capture"
    path.write_bytes(pcapng([*packets, unreachable, stranger], {}))
    measurement = mt.read(path)
    errors, segments = measurement.tables["icmp_errors"], measurement.tables["segments"]
    assert errors["record"].tolist() == [11, 12]
    assert errors["conn"].tolist() == [0, -1]
    assert errors["type"].tolist() == [3, 11]
    assert errors["reporter"].tolist() == ["10.77.1.254"] * 2
    assert errors["seq"].tolist() == [segments["seq"][4], -1]
    assert errors["dir"][0] == segments["dir"][4]
    assert errors["source_end"][0] == ":".join(
        map(str, measurement.connections[0].endpoints[errors["dir"][0]])
    )


@pytest.mark.parametrize("code", ["bad-block", "no-packet-time", "capture-drops", "duplicate-record"])
def test_issues_of_captures_come_through(code: str, tmp_path: Path) -> None:
    packets = raw_packets(CAPTURE, 10)
    data = pcapng(packets, {})
    extra = {
        "bad-block": struct.pack("<IIIIIIII", 6, 32, 9, 0, 0, 0, 0, 32),
        "no-packet-time": struct.pack("<III", 3, 16 + 40, 40) + packets[0][:40] + struct.pack("<I", 56),
        "capture-drops": struct.pack("<IIIIIHHQII", 5, 40, 0, 0, 0, 5, 8, 7, 0, 40),
        "duplicate-record": b"",
    }[code]
    if code == "duplicate-record":
        data = pcapng([packet for packet in packets for _ in range(2)], {})
    path = tmp_path / "capture"
    path.write_bytes(data + extra)
    issues = {issue.code: issue for issue in pcap.parse(str(path)).issues}
    assert code in issues
    assert issues[code].kind.advice


def piped(content: bytes, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "multitracer", *words]
    return subprocess.run(command, input=content, capture_output=True, check=False, timeout=PATIENCE_S)


@pytest.mark.parametrize("most", [100, 1 << 20])
def test_held_standard_input_is_given_again(most: int, tmp_path: Path) -> None:
    content = bytes(range(256)) * 2000
    (tmp_path / "input").write_bytes(content)
    code = (
        "import os\n"
        "from multitracer.reading.standard_input import HeldInput\n"
        "def all_of():\n"
        "    with open(os.dup(0), 'rb') as file: return file.read()\n"
        f"held = HeldInput({most})\n"
        "with held:\n"
        f"    assert held.goes_on == ({most} < {len(content)})\n"
        "    once = all_of()\n"
        "    if not held.goes_on:\n"
        "        held.again()\n"
        "        assert all_of() == once\n"
        "import sys; sys.stdout.buffer.write(once)\n"
    )
    for how in ("file", "pipe"):
        with (tmp_path / "input").open("rb") as file:
            given = {"stdin": file} if how == "file" else {"input": content}
            done = subprocess.run(  # type: ignore[call-overload]
                [sys.executable, "-c", code], capture_output=True, check=True, timeout=PATIENCE_S, **given
            )
        assert done.stdout == content


def test_a_pipe_of_too_many_connections_is_summed_up(tmp_path: Path) -> None:
    path = flood(tmp_path / "flood.pcap", 100_001)
    for how in ([], ["--full"]):
        done = piped(path.read_bytes(), "analyze", "-", *how)
        assert done.returncode == 0, done.stderr
        assert b"too-many-connections" in done.stdout
        assert b"100,001 attempts never answered" in b" ".join(done.stdout.split())
