"""trace.dat of trace-cmd: what it says is what trace-cmd says, in both versions, cut or damaged."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import support_tracedat as made
from support_tracedat import Made, data_event, page, probe, version_6, version_7, word, written

import multitracer as mt
from multitracer import registry
from multitracer.model.errors import CorruptTrace, MultiTracerError, UnreadableFile
from multitracer.model.trace import Trace
from multitracer.parsers._helpers import tracedatfile, tracedatlines as tracedat

SAMPLES = sorted(made.FOLDER.glob("*.gz"))
_EVENT = re.compile(r"-(\d+) +\[(\d+)\] *(\d+(?:\.\d+)?): +(\w+): *(.*)")


def parse(path: str | Path) -> Trace:
    return registry.parsers()["trace-dat"].parse(str(path))


def of(tmp_path: Path, content: bytes) -> Trace:
    return parse(written(tmp_path / "some.file", content))


def issues(trace: Trace) -> dict[str, int]:
    return {issue.code: issue.count for issue in trace.issues}


def cwnds(trace: Trace) -> list[int]:
    return trace.tables["tcp_states"]["cwnd"].tolist()


def times(trace: Trace) -> list[int]:
    return trace.tables["tcp_states"]["t_ns"].tolist()


def probes(*pairs: tuple[int, int], begin: int = 0, order: str = "<") -> list[bytes]:
    """One page of events: pairs of a time and a congestion window."""
    content, before = b"", begin
    for t, cwnd in pairs:
        content += data_event(probe(cwnd, order), t - before, order)
        before = t
    return [page(begin, content, order)]


ONE = Made({0: probes((5, 1), (9, 2), (30, 3))})


# -- against trace-cmd


def _plain(text: str) -> str:
    """The text of an event without what trace-cmd writes in its own way: symbols, null pointers, 0x of 0."""
    text = re.sub(r"location=\S+", "", text).replace("(nil)", "0x0")
    return " ".join(re.sub(r"=0x0(?=\s|$)", "=0", text).split())


def _events(lines: list[str]) -> list[tuple[str, ...]]:
    found = [match for line in lines if (match := _EVENT.search(line))]
    return [(*match.groups()[:4], _plain(match[5])) for match in found]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_event_is_as_trace_cmd_prints_it(path: Path) -> None:
    report = gzip.decompress((made.REPORTS / f"{path.name.removesuffix('.gz')}.report.gz").read_bytes())
    theirs = _events(report.decode().splitlines())
    ours = _events([line.decode() for line in tracedat.lines(str(path))])
    assert len(ours) > 200
    assert ours == theirs
    assert {name for *_, name, _ in ours} >= {"tcp_probe", "kfree_skb", "qdisc_dequeue", "net_dev_start_xmit"}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_tables_are_those_of_the_text(path: Path, tmp_path: Path) -> None:
    """The same events, read from what `trace-cmd report -t` printed of the file."""
    report = gzip.decompress((made.REPORTS / f"{path.name.removesuffix('.gz')}.report.gz").read_bytes())
    text = registry.parsers()["ftrace"].parse(written(tmp_path / "report", report))
    trace = parse(path)
    assert trace.tables.keys() == text.tables.keys()
    for name, table in trace.tables.items():
        assert len(table) == len(text.tables[name]) > 0
        for column in table:
            theirs = text.tables[name][column]
            if column == "record":  # the report begins with a line of its own: `cpus=2`
                theirs = theirs - 1
            elif column == "sk":  # a null pointer, as trace-cmd prints it, is read as not known
                theirs = np.where(table[column] == 0, 0, theirs)
            assert np.array_equal(table[column], theirs), (name, column)
    assert (trace.flows, trace.issues) == (text.flows, [])
    assert trace.source.clock == "monotonic"
    assert trace.source.details["trace_clock"] == "mono"


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="needs trace-cmd")
@pytest.mark.parametrize("version", [6, 7])
def test_trace_cmd_reads_what_the_tests_write(version: int, tmp_path: Path) -> None:
    """So that a file made by hand is one of trace-cmd's, and our reading is held against theirs."""
    both = Made({0: probes((5, 1), (30, 3)), 1: probes((9, 2))})
    path = written(tmp_path / "made", version_6(both) if version == 6 else version_7(both))
    said = subprocess.run(["trace-cmd", "report", "-t", path], capture_output=True, text=True, check=True)
    theirs = _events(said.stdout.splitlines())
    assert [event[2] for event in theirs] == ["0.000000005", "0.000000009", "0.000000030"]
    assert theirs == _events([line.decode() for line in tracedat.lines(path)])


# -- the container


@pytest.mark.parametrize("compression", ["none", "zlib"])
def test_both_versions_say_the_same(compression: str, tmp_path: Path) -> None:
    older, _ = made.taken(SAMPLES[0])
    first = of(tmp_path, version_6(older))
    second = of(tmp_path, version_7(older, compression))
    assert first.source.records == second.source.records > 150
    for name, table in first.tables.items():
        assert all(np.array_equal(table[column], second.tables[name][column]) for column in table), name


def test_cpus_are_merged_in_time_order(tmp_path: Path) -> None:
    trace = of(tmp_path, version_7(Made({0: probes((5, 1), (30, 4)), 3: probes((5, 2), (9, 3), (40, 5))})))
    assert times(trace) == [5, 5, 9, 30, 40]
    assert cwnds(trace) == [1, 2, 3, 4, 5]
    assert trace.tables["tcp_states"]["record"].tolist() == [1, 2, 3, 4, 5]
    assert trace.source.details["cpus"] == 2


@pytest.mark.parametrize("write", [version_6, version_7])
def test_instances_are_read(write: object, tmp_path: Path) -> None:
    both = Made({0: probes((5, 1))}, instances={"mine": ("mono", {0: probes((3, 7), (8, 8))})})
    trace = of(tmp_path, write(both))  # type: ignore[operator]
    assert cwnds(trace) == [7, 1, 8]
    assert trace.source.details["instances"] == ["mine"]


def test_instances_on_another_clock_are_left_out_and_named(tmp_path: Path) -> None:
    two = [*probes((3, 7)), *probes((8, 8), begin=4)]
    trace = of(tmp_path, version_7(Made({0: two}, instances={"tsc": ("x86-tsc", {0: probes((5, 1))})})))
    assert cwnds(trace) == [7, 8]
    assert "tsc" in next(issue.detail for issue in trace.issues if issue.code == "unparsed-line")


def test_a_machine_with_other_bytes(tmp_path: Path) -> None:
    """Big endian, and a kernel of 32 bits."""
    large = Made(
        {
            0: [
                page(
                    7, data_event(probe(9, ">"), 1, ">") + data_event(probe(10, ">", pad=200), 2, ">"), ">", 4
                )
            ]
        },
        order=">",
        long=4,
    )
    for content in (version_6(large), version_7(large, "zlib")):
        trace = of(tmp_path, content)
        assert (times(trace), cwnds(trace)) == ([8, 10], [9, 10])
        assert str(trace.flows[0].remote_address) == "10.0.0.2"


def test_what_is_between_events(tmp_path: Path) -> None:
    """Time extends, absolute times, discarded and long events, the empty rest of a page."""
    content = data_event(probe(1), 1)
    content += word(30, 5) + struct.pack("<I", 2)  # 5 and twice 2^27 later
    content += data_event(probe(2), 1)
    content += word(29, 100) + struct.pack("<I", 8) + bytes(4)  # discarded, but its time passed
    content += data_event(probe(3, pad=150), 1)
    content += word(31, 7) + struct.pack("<I", 1 << 10)  # absolute: 2^37 + 7
    content += data_event(probe(4), 1) + word(29, 0) + b"\xff" * 8
    trace = of(tmp_path, version_7(Made({0: [page(10, content)]})))
    second = 11 + 5 + (2 << 27) + 1
    assert times(trace) == [11, second, second + 101, (1 << 37) + 8]
    assert cwnds(trace) == [1, 2, 3, 4]
    assert not trace.issues


def test_lost_events_are_counted(tmp_path: Path) -> None:
    event = data_event(probe(1), 1)
    pages = [page(0, event), page(5, event, flags=3 << 30, lost=12), page(9, event, flags=1 << 31)]
    assert issues(of(tmp_path, version_7(Made({0: pages})))) == {"lost-events": 13}
    stats = b"CPU: 0\nentries: 9\noverrun: 40\ncommit overrun: 2\ndropped events: 1\n\0"
    assert issues(of(tmp_path, version_6(Made({0: pages}, options=[(2, stats)])))) == {"lost-events": 43}


@pytest.mark.parametrize(
    ("clock", "options", "expected", "first_ns"),
    [
        ("mono", [], "monotonic", 5),
        ("local", [], "monotonic", 5),
        ("tai", [], "unknown", 5),
        ("counter", [], "unknown", 5),
        ("x86-tsc", [], "unknown", 5),
        ("x86-tsc", [(12 + 2, struct.pack("<IIQ", 3 << 20, 20, 99))], "unknown", 15),
        ("mono", [(7, b"1000\0")], "monotonic", 1005),
        ("mono", [(7, b"-5\0")], "monotonic", 0),
        ("mono", [(1, b"0x64\0")], "realtime", 100_005),
        ("mono", [(7, b"soon\0")], "monotonic", 5),
    ],
)
def test_clocks(
    clock: str, options: list[tuple[int, bytes]], expected: str, first_ns: int, tmp_path: Path
) -> None:
    one = Made(ONE.cpus, clock=clock, options=options)
    for content in (version_6(one), version_7(one)):
        trace = of(tmp_path, content)
        assert (trace.source.clock, times(trace)[0]) == (expected, first_ns)


def test_other_events_are_counted_by_name(tmp_path: Path) -> None:
    other = made.format_file("sched_switch", 9, "", '"%s", not_to_be_followed(REC->x)')
    strange = made.format_file("tcp_new", 10, "", '"%s", not_to_be_followed(REC->x)')
    short = made.format_file(
        "tcp_rto", 11, "\tfield:int a;\toffset:100;\tsize:4;\tsigned:1;\n", '"%d", REC->a'
    )
    heads = [struct.pack("<HBBi", number, 0, 0, 1) for number in (9, 9, 10, 11, 12)]
    content = (
        b"".join(data_event(head, 1) for head in heads) + data_event(probe(3), 1) + data_event(b"1234", 1)
    )
    formats = (("tcp", made.PROBE_FORMAT), ("sched", other), ("tcp", strange), ("tcp", short))
    trace = of(tmp_path, version_7(Made({0: [page(0, content)]}, formats)))
    names = {"sched_switch": 2, "tcp_new_unreadable": 1, "tcp_rto_unreadable": 1, "unknown": 1}
    assert trace.source.details["ignored_tracepoints"] == names
    assert issues(trace) == {"bad-number": 2}
    assert trace.tables["tcp_states"]["record"].tolist() == [6]


# -- recognition


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_recognised_by_content_whatever_the_name(pack: object, tmp_path: Path, run: object) -> None:
    path = written(tmp_path / "notes.txt", pack(version_7(ONE)))  # type: ignore[operator]
    result = run("info", path, "--json")  # type: ignore[operator]
    assert '"format": "trace-dat"' in result.stdout


def test_text_of_a_tracer_is_no_table_of_events(tmp_path: Path) -> None:
    with pytest.raises(CorruptTrace, match="no buffer of events"):
        of(tmp_path, version_6(ONE).replace(b"flyrecord\0", b"latency  \0"))


def test_a_file_without_our_events_says_what_to_record(tmp_path: Path) -> None:
    with pytest.raises(CorruptTrace, match=r"record tcp:\* and sock:\*"):
        of(tmp_path, version_7(Made({0: []})))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_recording_without_calls_is_analysed(path: Path) -> None:
    """No sock_send_length in it: nothing is said of what the application wrote."""
    host = mt.analyze(mt.read(path)).to_dict()["host"]
    assert host["drops"] == {"QDISC_DROP": 13 if "6" in path.name else 14}
    assert host["qdisc"]["packets"] > 10
    assert host["application"]["connections"] == []


def test_a_pipe_is_refused_with_what_to_do(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableFile, match="save it to a file"):
        parse(tmp_path / "pipe")


# -- damage


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_cut_anywhere(path: Path, tmp_path: Path) -> None:
    """Headers cut: an error that says so. Events cut: what is there, and an issue."""
    content = gzip.decompress(path.read_bytes())
    whole, usable = parse(path).source.records, []
    for size in range(11, len(content), 97):
        try:
            trace = of(tmp_path, content[:size])
        except CorruptTrace:
            continue
        usable.append(trace.source.records)
        assert trace.source.records <= whole
        assert "truncated-file" in issues(trace), size
    assert len(set(usable)) > 1
    assert usable[-1] == whole or path.name.startswith("version-6")


def test_a_file_that_lost_its_end_is_read_without_its_last_options(tmp_path: Path) -> None:
    both = Made({0: [*probes((5, 1)), *probes((30, 3), begin=20)], 1: probes((9, 2), begin=2)})
    for content in (version_7(both), version_7(both, "zlib")):
        cut = content[: content.index(b"options\0") - 90]
        trace = of(tmp_path, cut)
        assert (times(trace), cwnds(trace)) == ([5, 9, 30], [1, 2, 3])
        assert issues(trace) == {"truncated-file": 1}


def test_damaged_pages_are_left_at_that_place(tmp_path: Path) -> None:
    good = data_event(probe(1), 1)
    pages = [page(0, good + word(20, 1)), page(10, good), page(20, good)]
    pages[1] = pages[1][:8] + struct.pack("<Q", 5000) + pages[1][16:]
    trace = of(tmp_path, version_7(Made({0: pages})))
    assert times(trace) == [1, 21]
    assert issues(trace) == {"bad-record": 2}


def test_a_damaged_chunk_costs_its_cpu_alone(tmp_path: Path) -> None:
    content = bytearray(version_7(Made({0: probes((5, 1)), 1: probes((9, 2))}, clock="mono"), "zlib"))
    place = content.rindex(b"\x78\x9c", 0, content.rindex(b"\x78\x9c"))  # the first CPU's chunk
    content[place + 2 : place + 8] = b"\xff" * 6
    trace = of(tmp_path, bytes(content))
    assert times(trace) == [9]
    assert issues(trace) == {"bad-record": 1}


def test_compression_that_is_not_known_is_named(tmp_path: Path) -> None:
    content = version_7(ONE, "zlib").replace(b"zlib\x00", b"lzma\x00", 1)
    with pytest.raises(CorruptTrace, match=r"lzma.*--compression none"):
        of(tmp_path, content)


def test_what_compressed_files_grow_to_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [one for at in range(40) for one in probes((at * 10 + 5, 1), begin=at * 10)]
    content = version_7(Made({0: many}), "zlib")
    whole = of(tmp_path, content)
    assert whole.source.records == 40
    monkeypatch.setattr(tracedatfile, "_FREE_BYTES", 1 << 16)
    monkeypatch.setattr(tracedatfile, "_MOST_RATIO", 0)
    trace = of(tmp_path, content)
    assert 0 < trace.source.records < 40
    assert issues(trace) == {"decompression-limit": 1}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_lengths_and_counts_beyond_reason(path: Path, tmp_path: Path) -> None:
    """Every place of the headers holds a huge number once: an error or data, soon, and no memory."""
    content = gzip.decompress(path.read_bytes())
    began, outcomes = time.monotonic(), set()
    places = [*range(10, 400, 3), *range(400, len(content), len(content) // 60)]
    for at in places:
        damaged = content[:at] + b"\xff" * 8 + content[at + 8 :]
        try:
            outcomes.add(of(tmp_path, damaged).source.format)
        except MultiTracerError as error:
            outcomes.add("error" if str(tmp_path) in str(error) else "an error without its file")
    assert outcomes == {"trace-dat", "error"}
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("seed", range(6))
def test_random_damage(seed: int, tmp_path: Path) -> None:
    """Bytes of everything are changed: data, an issue or an error of the package, nothing else."""
    random = np.random.default_rng(seed)
    both = Made({0: probes((5, 1), (30, 3)), 1: probes((9, 2))})
    contents = [version_6(both), version_7(both, "zlib"), gzip.decompress(SAMPLES[seed % 2].read_bytes())]
    for _ in range(40):
        content = bytearray(contents[int(random.integers(len(contents)))])
        for at in random.integers(10, len(content), int(random.integers(1, 12))):
            content[at] = int(random.integers(256))
        try:
            trace = of(tmp_path, bytes(content))
        except MultiTracerError:
            continue
        assert trace.source.records > 0
        assert trace.source.first_ns is not None
