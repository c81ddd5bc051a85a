"""Three and more captures along a path: which stretch lost the data, and what each took."""

from __future__ import annotations

import json
import os
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from multitracer.cli.main import main
from multitracer.diagnosis.findings.hops import lossy_hops

MSS = 1000
SEGMENTS = 60
HANDSHAKE_NS = 40_000_000
SND, RCV = b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02"


def packet(forward: bool, ip_id: int, ttl: int, seq: int, ack: int, flags: int, length: int) -> bytes:
    """Make an IPv4 packet of TCP; checksums are left out."""
    ends = (SND, RCV) if forward else (RCV, SND)
    ports = (5000, 80) if forward else (80, 5000)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40 + length, ip_id, 0x4000, ttl, 6, 0, *ends)
    return ip + struct.pack("!HHIIBBHHH", *ports, seq, ack, 0x50, flags, 60_000, 0, 0) + bytes(length)


def write(path: Path, packets: list[tuple[int, bytes]]) -> None:
    """Write a capture with nanoseconds and raw IP."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 101)]
    for t_ns, data in sorted(packets, key=lambda one: one[0]):
        parts.append(struct.pack("<IIII", *divmod(t_ns, 10**9), len(data), len(data)) + data)
    path.write_bytes(b"".join(parts))


def transfer(folder: Path, points: int, lost: dict[int, int]) -> list[str]:
    """Captures at so many points, 5 ms apart; `lost` has the hop that lost the first copy of a segment."""
    step_ns, start_ns = 5_000_000, 10**18
    seen: list[list[tuple[int, bytes]]] = [[] for _ in range(points)]

    def send(t_ns: int, forward: bool, until: int, *fields: int) -> None:
        """Pass the points in the way it goes, up to the one before `until`."""
        order = range(points) if forward else range(points - 1, -1, -1)
        for hop, place in enumerate(order):
            if hop > until:
                break
            seen[place].append(
                (start_ns + t_ns + hop * step_ns, packet(forward, fields[0], 64 - hop, *fields[1:]))
            )

    whole = points
    way_ns = (points - 1) * step_ns
    send(0, True, whole, 1, 100, 0, 0x02, 0)
    send(way_ns, False, whole, 1, 500, 101, 0x12, 0)
    send(2 * way_ns, True, whole, 2, 101, 501, 0x10, 0)
    t_ns, ip_id = 2 * way_ns + HANDSHAKE_NS, 3
    for number in range(SEGMENTS):
        seq = 101 + number * MSS
        for copy in range(1 + (number in lost)):
            until = lost[number] if number in lost and copy == 0 else whole
            send(t_ns + copy * 400_000_000, True, until, ip_id, seq, 501, 0x18, MSS)
            ip_id += 1
        t_ns += 400_000_000 if number in lost else 0
        send(t_ns + way_ns, False, whole, 10 + number, 501, seq + MSS, 0x10, 0)
        t_ns += 2 * way_ns + 1_000_000
    paths = [folder / f"{name}.pcap" for name in ("a", "b", "c", "d")[:points]]
    for path, packets in zip(paths, seen, strict=True):
        write(path, packets)
    return [str(path) for path in paths]


def told(capsys: pytest.CaptureFixture[str], *paths: str) -> dict[str, Any]:
    """What `analyze --json` says."""
    assert main(["analyze", *paths, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.parametrize("points", [3, 4])
@pytest.mark.parametrize("turned", [False, True])
def test_each_stretch_has_what_it_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], points: int, turned: bool
) -> None:
    """Whatever order the files are given in."""
    lost = {5: 1, 9: 1, 20: 0, 33: points - 2, 40: 1}
    paths = transfer(tmp_path, points, lost)
    found = told(capsys, *(reversed(paths) if turned else paths))
    hops = found["hops"]
    assert [one["source"] for one in hops["captures"]] == paths
    assert [(one["from"], one["to"]) for one in hops["hops"]] == list(pairwise(paths))
    by_hop = [list(lost.values()).count(hop) for hop in range(points - 1)]
    assert [one["lost"] for one in hops["hops"]] == by_hop
    left = SEGMENTS + len(lost)
    for one, gone in zip(hops["hops"], by_hop, strict=True):
        assert one["packets"] == left == one["arrived"] + one["lost"] + one["damaged"] + one["unknown"]
        left -= gone
        off_ms = abs(one["delay_ms"]["median"] - 5.0)
        assert off_ms <= one["delay_bound_ms"] + 1e-6
        assert one["delay_ms"]["over_min_p95"] == pytest.approx(0.0, abs=0.01)
    texts = [one["text"] for one in found["diagnosis"] if one["kind"] == "loss"]
    assert any("between b.pcap and c.pcap: " in text for text in texts), found["diagnosis"]


def test_two_captures_have_no_stretches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is lost between them is in `losses`."""
    first, _, last = transfer(tmp_path, 3, {5: 1})
    assert "hops" not in told(capsys, first, last)


def test_files_of_one_name_are_told_with_their_folders() -> None:
    """The worst stretch comes first."""
    hops = [
        {"from": "x/c.pcap", "to": "y/c.pcap", "lost": 1},
        {"from": "y/c.pcap", "to": "z/c.pcap", "lost": 1200},
    ]
    said = "between y/c.pcap and z/c.pcap: 1,200 of 1,201, between x/c.pcap and y/c.pcap: 1 of 1,201"
    assert lossy_hops({"hops": hops}) == said
    assert lossy_hops({}) == ""


SHARED = os.environ.get("MULTITRACER_SHARED")


@pytest.mark.skipif(not SHARED, reason="MULTITRACER_SHARED is not set: no measurements with truth")
@pytest.mark.parametrize("name", ["router-drop"])
def test_the_router_that_dropped_is_named(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """All that its queue dropped was lost behind the tap before it."""
    folder = Path(SHARED or "") / "everyday" / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    drops = json.loads((folder / "truth.json").read_text())["drops"]
    found = told(capsys, *(str(folder / f"{point}.pcap.gz") for point in ("mid", "rcv", "snd")))
    assert [one["lost"] for one in found["hops"]["hops"]] == [0, drops]
    said = f"between mid.pcap.gz and rcv.pcap.gz: {drops:,} of {drops:,}"
    assert any(said in one["text"] for one in found["diagnosis"])
