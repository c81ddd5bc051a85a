"""What every parser promises, over every file at hand: the right sniffer only, damage survived, no chance."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_samples import SAMPLES

from multitracer import native, registry
from multitracer.model import schema
from multitracer.model.errors import ISSUE_KINDS, CorruptTrace, MultiTracerError, UnreadableFile
from multitracer.model.trace import Trace
from multitracer.parsers._helpers import tracedatlines as tracedat

HEAD_BYTES = 1 << 16
CUTS = 24

# The format by file name, in the measurements of this repository and the shared ones.
NAMES = {
    "snd.pcap": "pcap",
    "rcv.pcap": "pcap",
    "rlp.log.gz": "rlpdump",
    "ss.log.gz": "ss",
    "tcp_probe.txt.gz": "ftrace",
    "capture.pcap": "pcap",
    "kernel.trace.gz": "ftrace",
    "sockets.ss.gz": "ss",
    "counters.log.gz": "counters",
    "rlp.pcap": "gsmtap",
    "rlp.pcap.gz": "gsmtap",
}
# Real public files by folder; of other folders is only known that two parsers must not want the same file.
FOLDERS = {
    "ftrace_tcp": "ftrace",
    "ss": "ss",
    "tcpprobe_procfs": "tcpprobe",
    "siftr": "siftr",
    "iperf3": "iperf3",
    "mlab": "tcpinfo",
    "gsm_rlp": "gsmtap",
    "ns2": "ns2",
    "wifi": "wifi",
    "link_traces": "mahimahi",
}
# Of simulators: by the end of the name.
SIMULATORS = ("ns3", "omnetpp")
ENDINGS = {
    ".tr": "ns3-ascii",
    ".pcap": "pcap",
    ".data": "ns3-series",
    ".cwnd": "ns3-series",
    ".flowmonitor": "flowmonitor",
    "RlcStats.txt": "ns3-lena",
    ".vec": "omnetpp",
    ".vci": "omnetpp",
    ".sca": "omnetpp",
}
# Constructed ones (tests/support_format_samples.py), one folder per format.
CONSTRUCTED = Path(__file__).parent / "data" / "formats"
CAPTURES = ("pcap", "pcapng", "gsmtap", "wifi")
BINARY = ("trace-dat",)  # records are events, in order of time; a cut shows wherever it is
DOCUMENTS = ("iperf3", "ndt7", "pppd", "flowmonitor", "flent")  # records are no lines
NO_TRACES = (".json", ".md", ".toml", ".err", "SOURCE.txt", ".bin", ".out")


def _shared(*parts: str) -> Iterator[Path]:
    folder = os.environ.get("MULTITRACER_SHARED")
    if folder:
        yield from (path for path in sorted(Path(folder, *parts).rglob("*")) if path.is_file())


MEASURED = [*sorted(path for path in SAMPLES.rglob("*") if path.is_file()), *_shared("traces")]
FOREIGN = list(_shared("samples"))
MADE = sorted(path for path in CONSTRUCTED.rglob("*") if path.is_file())


def expected(path: Path) -> str | None:
    """The format that a file is known to have; None if it is no trace."""
    if CONSTRUCTED in path.parents:
        return path.parent.name
    if (path.parent.name in ("iperf3", "mlab") and path.suffix == ".json") or path.name == "iperf3.json":
        return "ndt7" if path.name.startswith("ndt7") else "iperf3"
    if path.name.endswith(NO_TRACES) or path.name in ("rlp_test.ok", "rlp_vectors.txt"):
        return None
    if path.name == "iperf3_v6.txt":
        return "iperf3-text"
    if path.parent.name == "link_traces" and path.suffix != ".up":
        return None  # lines of READMEs
    if path.parent.name in SIMULATORS:
        return next((name for ending, name in ENDINGS.items() if path.name.endswith(ending)), None)
    return NAMES.get(path.name) or FOLDERS[path.parent.name]


KNOWN = [path for path in MEASURED if expected(path)]
KNOWN += [path for path in FOREIGN if path.parent.name in (*FOLDERS, *SIMULATORS) and expected(path)]
KNOWN += MADE
USABLE = [path for path in KNOWN if path.name != "ss_tOni_public_mptcp.txt"]  # that one has no time stamps


def claims(path: Path) -> list[str]:
    head = native.head(str(path), HEAD_BYTES)
    return [name for name, parser in registry.parsers().items() if parser.sniff(head)]


def parse(path: Path, of: Path | None = None) -> Trace:
    name = expected(of or path)
    assert name is not None
    return registry.parsers()[name].parse(str(path))


def content(path: Path) -> bytes:
    return native.head(str(path), 1 << 28)


def id_of(path: Path) -> str:
    return "/".join(path.parts[-3:])


every_usable = pytest.mark.parametrize("path", USABLE, ids=id_of)
# What takes longest: quickly with the small file of each format, in `make test` with all measurements too.
small_first = pytest.mark.parametrize(
    "path",
    [path if path in MADE else pytest.param(path, marks=pytest.mark.slow) for path in USABLE],
    ids=id_of,
)


@pytest.mark.parametrize("path", [*MEASURED, *MADE], ids=id_of)
def test_only_the_right_sniffer_matches(path: Path) -> None:
    name = expected(path)
    assert claims(path) == ([name] if name else [])


def test_only_the_right_sniffer_matches_foreign_files(shared: Path) -> None:
    assert FOREIGN, shared
    for path in FOREIGN:
        found = claims(path)
        assert len(found) <= 1, path
        if path.parent.name in (*FOLDERS, *SIMULATORS):
            assert found == ([expected(path)] if expected(path) else []), path
        else:
            assert not set(found) - {"pcap", "pcapng", "dccp", "wifi", "rlc", "srsran", "mobileinsight"}, path


@pytest.mark.parametrize("name", registry.PARSERS)
def test_sniffers_never_raise(name: str) -> None:
    sniff = registry.parsers()[name].sniff
    random = np.random.default_rng(1)
    heads = [b"", b"\x00", b"\n" * 9, b"0" * HEAD_BYTES, b"1.5: " * 9999, b"\xff" * HEAD_BYTES]
    heads += [random.bytes(int(size)) for size in random.integers(1, 500, 200)]
    assert not any(sniff(head) for head in heads)


@every_usable
def test_trace_is_whole(path: Path) -> None:
    name, trace = expected(path), parse(path)
    parser = registry.parsers()[str(name)]
    source = trace.source
    assert (source.path, source.format, source.layer) == (
        str(path),
        name,
        "link" if trace.entities else parser.layer,
    )
    assert source.records > 0
    assert source.first_ns is not None
    assert source.last_ns is not None
    assert source.first_ns <= source.last_ns
    assert all(
        issue.code in ISSUE_KINDS and issue.path == str(path) and issue.count > 0 for issue in trace.issues
    )
    for table_name, table in trace.tables.items():
        assert table.schema is schema.SCHEMAS[table_name]
        assert np.all(np.diff(table["t_ns"]) >= 0) or name in ("pcap", "pcapng")
        assert np.all(table["record"] >= 1)
        if len(table):
            assert source.first_ns <= table["t_ns"].min() <= table["t_ns"].max() <= source.last_ns
        for column, known in (("flow", trace.flows), ("entity", trace.entities)):
            if column in table.columns and table_name != "host_events":
                assert np.all((table[column] >= 0) & (table[column] < len(known)))
    of_sockets = not {"series", "host_counters"} & set(trace.tables)
    if parser.layer == "kernel" and of_sockets and trace.source.layer == "kernel":
        assert trace.flows
        assert all("::ffff:" not in flow.local_address + flow.remote_address for flow in trace.flows)


@every_usable
def test_reading_is_deterministic(path: Path) -> None:
    first, second = parse(path), parse(path)
    assert first.source == second.source
    assert first.issues == second.issues
    assert (first.flows, first.entities, first.connections) == (
        second.flows,
        second.entities,
        second.connections,
    )
    assert first.tables.keys() == second.tables.keys()
    for name, table in first.tables.items():
        for column in table:
            assert np.array_equal(table[column], second.tables[name][column]), (name, column)


@every_usable
def test_record_resolves_to_the_source(path: Path) -> None:
    trace = parse(path)
    if trace.source.format in DOCUMENTS:
        return  # records are parts of a document
    lines = [] if trace.source.format in CAPTURES else as_lines(path, trace)
    for table in trace.tables.values():
        for at in np.unique(np.linspace(0, len(table) - 1, 50).astype(int)) if len(table) else []:
            row = {name: table[name].tolist()[at] for name in table}
            if lines:
                assert _tells(trace, row, lines[row["record"] - 1])
            else:
                packet = native.packet(str(path), row["record"])
                assert packet is not None
                assert packet.t_ns == row["t_ns"]


def as_lines(path: Path, trace: Trace) -> list[str]:
    """The lines that records number."""
    if trace.source.format == "trace-dat":
        return [line.decode() for line in tracedat.lines(str(path))]
    return content(path).decode().splitlines()


def _tells(trace: Trace, row: dict[str, Any], line: str) -> bool:
    """Whether a line is the one that a row came from."""
    name = trace.source.format
    if name in ("tcpinfo", "bcc", "csv", "omnetpp", "mahimahi", "ping", "iperf3-text") or name.startswith(
        ("ns2", "ns3")
    ):
        return _tells_loosely(trace, row, line)
    seconds = f"{row['t_ns'] // 10**9}.{row['t_ns'] % 10**9:09d}"
    if trace.source.format == "ss":
        flow = trace.flows[row["flow"]]
        return f":{flow.local_port} " in line and f":{flow.remote_port}" in line
    if name == "amarisoft":  # a row sums up the blocks of a second, of which the last one is named
        return "[PHY]" in line
    if name == "retis":
        return str(row["skb"] % (1 << 64)) in line
    if name == "counters":
        return str(row["value"]) in line and row["name"].rpartition(".")[2] in line
    if "skb" in row:
        return seconds[:-3] in line
    if name == "oai" and "TX" in line:  # rates are what counters grew by since the line before
        return row["record"] > 1
    if not trace.flows and "series" in trace.tables:
        # No stamp in the line: one of the record's values stands in it, in whatever unit of ten.
        series = trace.tables["series"]
        values = series["value"][series["record"] == row["record"]].tolist()
        return any(value and _digits(value) in _digits(line) for value in values)
    who = trace.entities[row["entity"]] if "entity" in row else f"{trace.flows[row['flow']].remote_port}"
    return seconds[:-3] in line and who in line


def _digits(value: object) -> str:
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return "".join(filter(str.isdigit, text)).strip("0")


def _tells_loosely(trace: Trace, row: dict[str, Any], line: str) -> bool:
    """The same for formats that write times in their own ways."""
    if trace.source.format == "tcpinfo":
        return f".{row['t_ns'] // 10**6 % 1000:03d}Z" in line
    if trace.source.format == "omnetpp":  # an index sums up several lines, of which the row names the first
        return float(line.split()[-1]) == row["value"] or trace.source.path.endswith(".vci")
    if trace.source.format == "mahimahi":  # a step names its last event
        return int(line.split()[0]) * 10**6 <= row["t_ns"]
    if trace.source.format == "ping":
        return row["name"] == "probe_lost" or f"{row['value']:g}" in line
    if trace.source.format == "iperf3-text":
        return f"{row['value']:.0f}".rstrip("0")[:1] in line and "sec" in line
    seconds = row["t_ns"] // 10**9
    if trace.source.format.startswith(("ns2", "ns3")):
        return str(row["t_ns"] / 1e9) in {str(float(word)) for word in line.split()[:3] if word[0].isdigit()}
    if trace.source.format == "bcc":
        return line.startswith(f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}")
    return line.startswith(str(seconds))


def _pppd_records(data: bytes) -> set[int]:
    ends, at = set(), 0
    while at < len(data):
        at += {7: 5, 6: 2}.get(data[at]) or 3 + struct.unpack(">H", data[at + 1 : at + 3])[0]
        ends.add(at)
    return ends


def boundaries(path: Path, data: bytes) -> set[int]:
    """Lengths at which a cut file is a shorter whole one."""
    if expected(path) == "pppd":
        return _pppd_records(data)
    if expected(path) in DOCUMENTS and path.suffix != ".jsonl":
        return {len(data.rstrip()), len(data)}
    if expected(path) in BINARY:
        return {len(data)}
    if expected(path) not in CAPTURES:
        return {at + 1 for at, byte in enumerate(data) if byte == 0x0A}
    order = "<" if data[0] in (0xD4, 0x4D) else ">"
    ends, at = {24}, 24
    while at + 16 <= len(data):
        at += 16 + struct.unpack(f"{order}I", data[at + 8 : at + 12])[0]
        ends.add(at)
    return ends


def places(size: int) -> list[int]:
    """Where to cut: the first bytes, then spread over the file, off any rhythm of its records."""
    spread = np.linspace(0, size - 1, CUTS).astype(int) + np.arange(CUTS) % 7
    fixed = {0, 1, 2, 3, 10, 23, 24, 30, size - 1}
    return sorted(at for at in fixed | set(spread.tolist()) if 0 <= at < size)


@small_first
def test_truncation_gives_data_and_an_issue_or_a_clear_error(path: Path, tmp_path: Path) -> None:
    whole, data = parse(path).source.records, content(path)
    ends, cut_file = boundaries(path, data), tmp_path / "cut"
    usable = 0
    for size in places(len(data)):
        cut_file.write_bytes(data[:size])
        try:
            trace = parse(cut_file, of=path)
        except CorruptTrace:
            continue
        usable += 1
        assert trace.source.records <= whole
        if size not in ends:
            assert "truncated-file" in {issue.code for issue in trace.issues}, size
    assert usable > 3 or len(ends) < 10


@pytest.mark.parametrize("path", [path for path in USABLE if path.suffix == ".gz"], ids=id_of)
def test_truncated_compression_gives_data_and_an_issue_or_a_clear_error(path: Path, tmp_path: Path) -> None:
    raw, cut_file = path.read_bytes(), tmp_path / "cut.gz"
    for size in places(len(raw)):
        cut_file.write_bytes(raw[:size])
        try:
            trace = parse(cut_file, of=path)
        except CorruptTrace:
            continue
        assert "truncated-file" in {issue.code for issue in trace.issues}, size


def strangers(path: Path) -> list[str]:
    """Three parsers that the file is not for; every parser is a stranger to some files."""
    others = [name for name in registry.PARSERS if name != expected(path)]
    first = USABLE.index(path) * 3
    return [others[(first + step) % len(others)] for step in range(3)]


def test_every_parser_meets_foreign_damage() -> None:
    assert {name for path in USABLE for name in strangers(path)} == set(registry.PARSERS)


@small_first
def test_damaged_bytes_never_crash(path: Path, tmp_path: Path) -> None:
    random, data, file = np.random.default_rng(7), content(path), tmp_path / "damaged"
    names = [str(expected(path)), *strangers(path)]
    for _ in range(8):
        damaged = bytearray(data[:60_000])
        for at in random.integers(0, len(damaged), 40):
            damaged[at] = int(random.integers(0, 256))
        file.write_bytes(damaged)
        for name in names:
            message, issues = str(file), []
            try:
                issues = registry.parsers()[name].parse(str(file)).issues
            except MultiTracerError as error:
                message = str(error)
            assert str(file) in message
            assert all(issue.code in ISSUE_KINDS for issue in issues)


@pytest.mark.parametrize("name", registry.PARSERS)
def test_what_cannot_be_read_is_unreadable(name: str, tmp_path: Path) -> None:
    parser = registry.parsers()[name]
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(UnreadableFile, match=path.name):
            parser.parse(str(path))
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(CorruptTrace, match="empty"):
        parser.parse(str(empty))
