"""Each kind of disagreement in docs/disagreements.md, with its packets: what the other tool says, and we."""

from __future__ import annotations

import csv
import functools
import io
import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support_samples import SAMPLES

import multitracer as mt
from multitracer import native, schema

CAUSE = schema.CAUSES
SUFFIXES = (".pcap", ".cap", ".dmp")


@functools.cache
def read(name: str) -> dict[str, Any]:
    return native.read_capture(str(SAMPLES / name), keep_segments=True)


def causes(name: str) -> dict[int, str]:
    rows = read(name)["retransmissions"]
    return {
        int(record): CAUSE[int(cause)] for record, cause in zip(rows["record"], rows["cause"], strict=True)
    }


def ack_kinds(name: str) -> dict[int, str]:
    rows = read(name)["segments"]
    return {
        int(record): schema.ACK_KINDS[int(kind)]
        for record, kind in zip(rows["record"], rows["ack_kind"], strict=True)
    }


@functools.cache
def tshark(name: str, flag: str) -> frozenset[int]:
    """Packets that tshark gives a flag."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-r", str(SAMPLES / name), "-Y", f"tcp.analysis.{flag}", "-T", "fields", "-e"]
    printed = subprocess.run([*command, "frame.number"], capture_output=True, text=True, check=True).stdout
    return frozenset(map(int, printed.split()))


def kernel(name: str, counter: str) -> int:
    return int(json.loads((SAMPLES / name / "kernel.json").read_text())["sender"].get(counter, 0))


def test_fast_retransmits_called_out_of_order() -> None:
    found = causes("local-drops/snd.pcap")
    assert {found[record] for record in (42, 193, 368)} == {"fast"}
    assert list(found.values()).count("fast") == kernel("local-drops", "TcpExtTCPFastRetrans") == 10
    assert {42, 193, 368} <= tshark("local-drops/snd.pcap", "out_of_order")


@pytest.mark.parametrize(
    ("name", "records", "count"), [("local-drops", (54, 57, 59), 10), ("link-resets-sack", (41, 44, 208), 6)]
)
def test_fast_retransmits_called_plain(name: str, records: tuple[int, ...], count: int) -> None:
    found = causes(f"{name}/snd.pcap")
    assert {found[record] for record in records} == {"fast"}
    assert list(found.values()).count("fast") == kernel(name, "TcpExtTCPFastRetrans") == count
    assert set(records) <= tshark(f"{name}/snd.pcap", "retransmission")
    assert not set(records) & tshark(f"{name}/snd.pcap", "fast_retransmission")


def test_refill_after_a_timeout() -> None:
    found = causes("link-resets-vj/snd.pcap")
    refill = {record for record, cause in found.items() if cause == "slow_start"}
    assert {129, 130, 131} <= refill
    assert len(refill) == kernel("link-resets-vj", "TcpExtTCPSlowStartRetrans") == 32
    assert refill <= tshark("link-resets-vj/snd.pcap", "retransmission")


def test_a_needed_timeout_called_spurious() -> None:
    rows = read("link-resets-vj/snd.pcap")["segments"]
    (ack,) = (rows["record"] == 126).nonzero()[0]
    assert schema.CHECKSUMS[int(rows["checksum"][ack])] == "bad"
    (again,) = (rows["record"] == 127).nonzero()[0]
    assert rows["ack"][ack] >= rows["seq"][again] + rows["length"][again], "it acknowledges these very bytes"
    result = mt.analyze(mt.read(SAMPLES / "link-resets-vj"), only=["timeouts"]).results["timeouts"]
    (event,) = [event for event in result.summary["timeouts"] if event["record"] == 127]
    assert event["verdict"] == "genuine"
    assert event["votes"] == {"ack_path": "genuine"}
    assert 127 in tshark("link-resets-vj/snd.pcap", "spurious_retransmission")


def test_a_spurious_timeout_called_a_retransmission() -> None:
    result = mt.analyze(mt.read(SAMPLES / "spurious-timeouts"), only=["timeouts"]).results["timeouts"]
    (event,) = result.summary["timeouts"]
    assert (event["record"], event["verdict"]) == (149, "spurious")
    assert {"eifel", "dsack", "frto", "receiver", "kernel"} <= set(event["votes"])
    assert 149 in tshark("spurious-timeouts/snd.pcap", "retransmission")
    assert 149 not in tshark("spurious-timeouts/snd.pcap", "spurious_retransmission")


def test_first_arrivals_at_the_receiver() -> None:
    rows = read("link-resets-sack/rcv.pcap")["segments"]
    duplicate = dict(zip(rows["record"].tolist(), rows["duplicate"].tolist(), strict=True))
    assert {duplicate[record] for record in (52, 54, 210, 212, 214, 216)} == {0}
    name = "link-resets-sack/rcv.pcap"
    assert {52, 54, 210} <= tshark(name, "out_of_order")
    assert {212, 214, 216} <= tshark(name, "retransmission")


@pytest.mark.parametrize(
    ("name", "records"),
    [("link-resets-sack", {201}), ("spurious-timeouts", {153}), ("link-resets-vj", {131, 173})],
)
def test_no_duplicate_ack_without_outstanding_data(name: str, records: set[int]) -> None:
    path = f"{name}/rcv.pcap"
    kinds = ack_kinds(path)
    assert not any(kinds[record] == "duplicate" for record in records)
    assert records <= tshark(path, "duplicate_ack")


def test_news_makes_a_duplicate_ack_whatever_the_window() -> None:
    name = "local-drops/snd.pcap"
    rows = read(name)["segments"]
    (one,) = (rows["record"] == 64).nonzero()[0]
    (before,) = (rows["record"] == 61).nonzero()[0]
    assert rows["window"][one] != rows["window"][before]
    assert rows["ack"][one] == rows["ack"][before]
    assert rows["sack_high"][one] > rows["sack_high"][before]
    assert ack_kinds(name)[64] == "duplicate"
    assert 64 not in tshark(name, "duplicate_ack")


# tcptrace


Pair = tuple[tuple[int, int], tuple[int, int]]


def tcptrace(path: Path, *options: str) -> dict[tuple[str, ...], list[Pair]]:
    """Unique and retransmitted bytes per direction, by host and port."""
    if shutil.which("tcptrace") is None:
        pytest.skip("tcptrace is not installed")
    done = subprocess.run(
        ["tcptrace", "-lnr", "--csv", *options, str(path)], capture_output=True, text=True, errors="replace"
    )
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("#")]
    found: dict[tuple[str, ...], list[Pair]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines)), skipinitialspace=True):
        key = tuple((row[name] or "").strip() for name in ("host_a", "port_a", "host_b", "port_b"))
        counts = [
            (int(row[f"unique_bytes_sent_{way}"]), int(row[f"rexmt_data_bytes_{way}"]))
            for way in ("a2b", "b2a")
        ]
        found.setdefault(key, []).append((counts[0], counts[1]))
    return found


def ours(path: Path) -> dict[tuple[str, ...], list[Pair]]:
    found: dict[tuple[str, ...], list[Pair]] = {}
    for one in native.read_capture(str(path), keep_segments=False)["connections"]:
        key = tuple(str(value) for end in one["endpoints"] for value in end)
        forward, reverse = (
            (one[name]["unique_bytes"], one[name]["duplicate_bytes"]) for name in schema.DIRECTIONS
        )
        found.setdefault(key, []).append((forward, reverse))
        found.setdefault(key[2:] + key[:2], []).append((reverse, forward))
    return found


def test_bytes_equal_tcptrace_on_all_samples(shared: Path) -> None:
    """Every connection of every capture that both read; text in a RST is no data here."""
    compared = 0
    for path in sorted((shared / "samples").rglob("*")):
        if path.suffix not in SUFFIXES or path.name == "tcp_rst_data-trunc.pcap":
            continue
        try:
            mine = ours(path)
        except mt.errors.MultiTracerError:
            continue
        theirs = tcptrace(path)
        for key, pairs in theirs.items():
            for own, pair in zip(mine.get(key, []), pairs, strict=False):
                assert own == pair, f"{path.name}: {key}"
                compared += 1
    assert compared >= 15


def test_damaged_segments() -> None:
    path = SAMPLES / "link-resets-vj" / "rcv.pcap"
    (pairs,) = {tuple(pairs) for key, pairs in ours(path).items() if key[3] == "5001"}
    assert pairs[0][0][1] == 944
    ((lax,),) = tcptrace(path).values()
    ((strict,),) = tcptrace(path, "--checksum").values()
    assert lax[0][1] == 11328
    assert strict == pairs[0]


def packet(seq: int, ack: int, flags: int, payload: bytes = b"", back: bool = False, ident: int = 0) -> bytes:
    ends = (b"\x0a\0\0\x01", b"\x0a\0\0\x02", 4000, 80)
    source, target, sport, dport = (ends[1], ends[0], ends[3], ends[2]) if back else ends
    tcp = struct.pack(">HHIIBBHHH", sport, dport, seq, ack, 0x50, flags, 8000, 0, 0) + payload
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), ident, 0, 64, 6, 0, source, target)
    total = sum(struct.unpack(">10H", head))
    total = (total >> 16) + (total & 0xFFFF)
    return head[:10] + struct.pack(">H", 0xFFFF - total % 0xFFFF) + head[12:] + tcp


def capture(path: Path, packets: list[bytes]) -> Path:
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for number, data in enumerate(packets):
            file.write(struct.pack("<IIII", 1000 + number, 0, len(data), len(data)) + data)
    return path


SYN, ACK, FIN, RST = 0x02, 0x10, 0x01, 0x04


def test_syn_and_fin_again_are_no_bytes(tmp_path: Path) -> None:
    packets = [packet(99, 0, SYN, ident=1), packet(99, 0, SYN, ident=2), packet(99, 0, SYN, ident=3)]
    packets += [packet(499, 100, SYN | ACK, back=True, ident=1), packet(100, 500, ACK, ident=4)]
    packets += [packet(100, 500, ACK, b"x" * 50, ident=5), packet(150, 500, ACK | FIN, ident=6)]
    packets += [packet(150, 500, ACK | FIN, ident=7), packet(500, 151, ACK, back=True, ident=2)]
    path = capture(tmp_path / "again.pcap", packets)
    (pair,) = ours(path)[("10.0.0.1", "4000", "10.0.0.2", "80")]
    assert pair[0] == (50, 0)
    found = native.read_capture(str(path), keep_segments=False)["connections"][0]["forward"]
    assert sum(found["retransmissions"].values()) == 3, "they are retransmissions all the same"
    ((theirs,),) = tcptrace(path).values()
    assert theirs[0] == (50, 3)


def test_text_in_a_reset_is_no_data(tmp_path: Path) -> None:
    path = capture(tmp_path / "reset.pcap", [packet(100, 500, ACK | RST, b"go away" * 8, ident=1)])
    (pair,) = ours(path)[("10.0.0.1", "4000", "10.0.0.2", "80")]
    assert pair == ((0, 0), (0, 0))
    ((theirs,),) = tcptrace(path).values()
    assert theirs[0][0] == 56
