"""A radio bearer beside a capture in the core, whose packets are in GTP-U: joined by bytes and time."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support_rlc import download, raw_pcap, record
from test_rlc_clock import BEARER

import multitracer as mt
from multitracer.lab.ppp.vj import ip_checksum

MS = 1_000_000
CORE, STATION = bytes([192, 168, 9, 1]), bytes([192, 168, 9, 2])
TEIDS = (0x11223344, 0x0A0B0C0D)  # towards the core, towards the base station
BACKHAUL_NS = 3 * MS
LATE_NS = 300_000


def in_gtpu(packet: bytes, uplink: bool, extended: bool) -> bytes:
    """An IP packet in a tunnel, in Ethernet; `extended`: with the PDU session container of 5G."""
    container = bytes([0, 0, 0, 0x85, 1, 0x10 * uplink, 9, 0]) if extended else b""
    head = struct.pack(
        ">BBHI", 0x34 if extended else 0x30, 0xFF, len(packet) + len(container), TEIDS[not uplink]
    )
    payload = head + container + packet
    udp = struct.pack(">HHHH", 2152, 2152, 8 + len(payload), 0) + payload
    source, destination = (STATION, CORE) if uplink else (CORE, STATION)
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, source, destination)
    header = header[:10] + ip_checksum(header).to_bytes(2, "big") + header[12:]
    return bytes(12) + b"\x08\x00" + header + udp


def captured(path: Path, frames: list[tuple[int, bytes]], shift_ns: int) -> None:
    path.write_bytes(raw_pcap(frames, shift_ns, 1))


@pytest.mark.parametrize("shift_ns", [0, 2_500_000_000])
@pytest.mark.parametrize("extended", [False, True])
def test_a_bearer_and_the_core_are_one_measurement(tmp_path: Path, shift_ns: int, extended: bool) -> None:
    packets = download(6)
    outcome, log, capture = record(tmp_path, BEARER, packets, 6)
    log.unlink()
    down = [(t_ns - BACKHAUL_NS, in_gtpu(data, False, extended)) for t_ns, side, data in packets if side == 1]
    up = [
        (one.t_ns + BACKHAUL_NS + LATE_NS, in_gtpu(one.packet, True, extended))
        for one in outcome.deliveries
        if one.side == 1
    ]
    captured(tmp_path / "core.pcap", down + up, shift_ns)
    core = mt.open_trace(tmp_path / "core.pcap")
    assert core.source.details["tunnels"] == {"gtp-u": len(down) + len(up)}
    m = mt.read(tmp_path / "core.pcap", capture)
    assert len(m.connections) == 1
    assert not [issue for issue in m.issues if issue.code != "missing-handshake"]
    (clock,) = {(c.offset_ns, c.uncertainty_ns) for c in m.clocks if m.sources[c.source].format == "rlc"}
    assert clock[1] is not None
    assert abs(clock[0] - shift_ns) <= clock[1] < 12 * MS
    analysis = mt.analyze(m)
    facts = {one["entity"]: one for one in analysis.results["frame_map"].summary["directions"]}
    # Every packet of the core's capture is found in its PDUs, byte by byte.
    assert facts["bs"]["exact"] == 150
    spans = m.frame_map.spans
    assert set(spans["source"].tolist()) <= set(range(len(m.sources)))
    assert analysis.results["bearer"].inconclusive is None
    assert analysis.results["utilization"].summary["basis"] == "link log"
