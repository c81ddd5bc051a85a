"""Each kind of disagreement in docs/disagreements.md, with its packets: what the other tool says, and we."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from support_conversation import FIN, RST, SYN, Conversation, checksum
from support_samples import SAMPLES

import multitracer as mt
from multitracer import native
from multitracer.model import schema

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


def tshark(name: str, flag: str) -> frozenset[int]:
    """Packets of a sample that tshark gives a flag."""
    return tshark_of(SAMPLES / name, flag)


@functools.cache
def tshark_of(path: Path, flag: str) -> frozenset[int]:
    """Packets that tshark gives a flag."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-r", str(path), "-Y", f"tcp.analysis.{flag}", "-T", "fields", "-e"]
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
Ends = tuple[tuple[str, str], tuple[str, str]]
Counts = dict[Ends, list[Pair]]


def enter(found: Counts, ends: Ends, pair: Pair) -> None:
    """Under the lower end first: who opened a connection that began before the capture is a guess."""
    low = ends if ends[0] <= ends[1] else ends[::-1]
    found.setdefault((low[0], low[1]), []).append(pair if low == ends else pair[::-1])


def tcptrace(path: Path, *options: str) -> Counts:
    """Unique and retransmitted bytes per direction, by host and port."""
    if shutil.which("tcptrace") is None:
        pytest.skip("tcptrace is not installed")
    done = subprocess.run(
        ["tcptrace", "-lnr", "--csv", *options, str(path)], capture_output=True, text=True, errors="replace"
    )
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("#")]
    found: Counts = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines)), skipinitialspace=True):
        a, b = (
            (str(ip_address((row[f"host_{end}"] or "").strip())), (row[f"port_{end}"] or "").strip())
            for end in "ab"
        )
        ahead, back = (
            (int(row[f"unique_bytes_sent_{way}"]), int(row[f"rexmt_data_bytes_{way}"]))
            for way in ("a2b", "b2a")
        )
        enter(found, (a, b), (ahead, back))
    return found


def ours(path: Path) -> Counts:
    """The same of MultiTracer."""
    found: Counts = {}
    for one in native.read_capture(str(path), keep_segments=False)["connections"]:
        a, b = ((str(address), str(port)) for address, port in one["endpoints"])
        ahead, back = (
            (one[name]["unique_bytes"], one[name]["duplicate_bytes"]) for name in schema.DIRECTIONS
        )
        enter(found, (a, b), (ahead, back))
    return found


# What tcptrace makes of the only connection of these samples, and we: the page says who is right.
DIFFERENT: dict[str, tuple[list[Pair], list[Pair]]] = {
    "tcp_rst_data-trunc.pcap": ([((0, 0), (58, 0))], [((0, 0), (0, 0))]),
    "bigtcp-ipv6-hbh.pcap": ([((0, 0), (0, 0))], [((0, 0), (80_000, 0))]),
    "bigtcp-ipv6.pcap": ([((0, 0), (0, 0))], [((79_968, 0), (0, 0))]),
    "timestamp_invalid_micro.pcap": ([((0, 0), (0, 0))] * 2, [((0, 0), (0, 0))]),
    "timestamp_invalid_nano.pcap": ([((0, 0), (0, 0))] * 2, [((0, 0), (0, 0))]),
}


def test_bytes_equal_tcptrace_on_all_samples(shared: Path) -> None:
    """Every connection that tcptrace finds in any capture, but for those that are written down."""
    compared: dict[str, int] = {}
    for path in sorted((shared / "samples").rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        theirs = tcptrace(path)
        if not theirs:
            continue
        mine = ours(path)
        for key, pairs in theirs.items():
            if path.name in DIFFERENT:
                assert (pairs, mine.get(key)) == DIFFERENT[path.name], path.name
            else:
                assert mine.get(key) == pairs, f"{path.name}: {key}"
        compared[path.name] = sum(map(len, theirs.values()))
    assert len(compared) >= 17
    assert sum(count for name, count in compared.items() if name not in DIFFERENT) >= 16
    assert set(DIFFERENT) < set(compared)


def test_damaged_segments() -> None:
    path = SAMPLES / "link-resets-vj" / "rcv.pcap"
    ((pair,),) = ours(path).values()
    assert sorted(duplicate for _, duplicate in pair) == [0, 944]
    ((lax,),) = tcptrace(path).values()
    ((strict,),) = tcptrace(path, "--checksum").values()
    assert sorted(duplicate for _, duplicate in lax) == [0, 11328]
    assert strict == pair


def both(c: Conversation, path: Path, *options: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Unique and duplicate bytes of A's direction: ours, tcptrace's."""
    ((mine,),) = ours(c.write(path)).values()
    ((theirs,),) = tcptrace(path, *options).values()
    return mine[0], theirs[0]


def test_syn_and_fin_again_are_no_bytes(tmp_path: Path) -> None:
    c = Conversation()
    c.segment(0, True, 0, None, SYN)
    c.segment(1000, True, 0, None, SYN)
    c.handshake(3000)
    c.data(3200, 1, 50)
    c.segment(3300, True, 51, 1, FIN)
    c.segment(3700, True, 51, 1, FIN)
    c.ack(3800, 52)
    mine, theirs = both(c, tmp_path / "again.pcap")
    assert (mine, theirs) == ((50, 0), (50, 3))
    found = native.read_capture(str(tmp_path / "again.pcap"), keep_segments=False)["connections"][0]
    assert found["forward"]["retransmissions"]["total"] == 3, "they are retransmissions all the same"


def test_text_in_a_reset_is_no_data(tmp_path: Path) -> None:
    c = Conversation()
    c.segment(0, True, 1, 1, RST, b"go away" * 8)
    assert both(c, tmp_path / "reset.pcap") == ((0, 0), (56, 0))


def seen_twice(c: Conversation, change: Callable[[bytes], bytes], late_ms: float) -> None:
    """Every packet a second time."""
    c.packets = [copy for t_ms, data in c.packets for copy in ((t_ms, data), (t_ms + late_ms, change(data)))]


def behind_a_router(packet: bytes) -> bytes:
    """TTL one less, and the header's checksum again."""
    head = bytearray(packet[:20])
    head[8] -= 1
    head[10:12] = bytes(2)
    head[10:12] = checksum(bytes(head)).to_bytes(2, "big")
    return bytes(head) + packet[20:]


@pytest.mark.parametrize(
    ("change", "late_ms"), [(bytes, 0.01), (behind_a_router, 8.0)], ids=["mirror port", "router"]
)
def test_copies_of_records(change: Callable[[bytes], bytes], late_ms: float, tmp_path: Path) -> None:
    """A mirror port shows a packet twice; on a shared segment it also comes by behind its router."""
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.data(3000, seq)
    c.data(3400, seq)
    c.ack(3500, seq + 1000)
    seen_twice(c, change, late_ms)
    mine, theirs = both(c, tmp_path / "twice.pcap")
    assert mine == (11_000, 1000), "the one real retransmission"
    assert theirs == (11_000, 13_001), "and the copy of every record, the SYN's too"
    codes = {
        code for code, *_ in native.read_capture(str(tmp_path / "twice.pcap"), keep_segments=False)["issues"]
    }
    assert "duplicate-record" in codes
    assert len(tshark_of(tmp_path / "twice.pcap", "retransmission")) >= 11


def hops(packet: bytes, ttl: int) -> bytes:
    """The packet with this TTL."""
    return behind_a_router(packet[:8] + bytes([ttl + 1]) + packet[9:])


def test_copies_that_reach_the_receiver(tmp_path: Path) -> None:
    """A bridge gives the receiver each packet of the sender again, behind a router.

    The receiver answers the copies with duplicate ACKs, and three of them bring a fast retransmission: it has
    an identification of its own, a copy has that of the packet. Both hosts number the packets of all their
    connections, so identifications that the receiver left out are no lost ACKs.
    """
    c, copies, again = Conversation(sack=False), [], []
    c.handshake()
    for turn in range(30):
        t_ms, seq = 1000.0 + 20 * turn, 1 + 4000 * turn
        for place in range(3):
            c.data(t_ms + place, seq + 1000 * place)
            copies.append((t_ms + 4 + place, c.packets[-1][1]))
            if turn % 3 or place:
                c.ack(t_ms + place + 0.3, seq + 1000 * (place + 1))
            else:  # a delayed ACK; another connection takes its number
                c.idents[1] += 1
        c.data(t_ms + 3.5, seq + 3000)
        for place in range(3):
            c.ack(t_ms + 4.1 + place, seq + 3000)
        c.data(t_ms + 7, seq + 3000)
        again.append(t_ms + 7)
        c.ack(t_ms + 7.5, seq + 4000)
    c.packets = [(t_ms, hops(data, 128)) for t_ms, data in c.packets]
    c.packets += [(t_ms, hops(data, 127)) for t_ms, data in copies]
    c.packets.sort(key=lambda one: one[0])
    found = c.read(tmp_path / "bridge.pcap")
    rows = found["retransmissions"]
    assert [c.packets[int(record) - 1][0] for record in rows["record"]] == again
    assert {CAUSE[int(cause)] for cause in rows["cause"]} == {"fast"}
    assert [issue[:2] for issue in found["issues"]] == [("duplicate-record", len(copies))]
    assert found["connections"][0]["forward"]["acks_lost"] is None


def test_offload(tmp_path: Path) -> None:
    """A super-segment of four packets is sent again: one retransmission to the tools, four to the kernel."""
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.data(3000, seq, 4500)
    c.ack(3100, seq, [(seq + 4000, seq + 4500)])
    c.data(3100.1, seq, 4000)
    c.ack(3200, seq + 4500)
    path = tmp_path / "offload.pcap"
    mine, theirs = both(c, path)
    assert mine == theirs == (14_500, 4000)
    found = native.read_capture(str(path), keep_segments=False)["connections"][0]["forward"]
    assert found["retransmissions"]["fast"] == 4
    assert len(tshark_of(path, "retransmission") | tshark_of(path, "out_of_order")) == 1
    printed = subprocess.run(["tcptrace", "-lnr", str(path)], capture_output=True, text=True).stdout
    assert re.search(r"rexmt data pkts:\s+1 ", printed)


def closed_window(next_byte: bool) -> Conversation:
    """Two probes into a closed window, then the data: the next byte, or the one before it."""
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    c.data(3000, seq)
    c.ack(3100, seq + 1000, window=0)
    for t_ms in (3400, 4000):
        c.data(t_ms, seq + 1000 if next_byte else seq + 999, 1)
        c.ack(t_ms + 100, seq + 1000, window=0)
    c.ack(6000, seq + 1000)
    c.data(6000.1, seq + 1000)
    c.ack(6100.1, seq + 2000)
    return c


@pytest.mark.parametrize("next_byte", [True, False])
def test_probes_into_a_closed_window(next_byte: bool, tmp_path: Path) -> None:
    path = tmp_path / "closed.pcap"
    mine, theirs = both(closed_window(next_byte), path)
    assert mine == theirs == (12_000, 0)
    found = native.read_capture(str(path), keep_segments=False)["connections"][0]["forward"]
    assert found["probe_segments"] == 2
    assert found["retransmissions"]["total"] == 0
