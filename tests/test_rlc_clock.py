"""A bearer whose packets can be read and a capture beside it: joined packet by packet, not by guesses."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from support_lab import SECOND, Outcome, tcp
from support_rlc import record

import multitracer as mt

MS = 1_000_000
LATE_NS = 200_000
LOSSY = {"kind": "gilbert_elliott", "loss_good": 0.02, "p_good_to_bad": 0.01, "loss_bad": 0.9}

BEARER = {"air": LOSSY, "max_retransmissions": 1000, "tti_ms": 5, "pdus_per_tti": 8, "payload_bytes": 200}


def download(seed: int) -> list[tuple[int, int, bytes]]:
    """Data down at uneven times, and small acknowledgements up, nearly as close as transmission intervals."""
    rng = np.random.default_rng(seed)
    found, down, up = [], SECOND, SECOND + 60 * MS
    for at in range(150):
        down += int(rng.integers(4 * MS, 16 * MS))
        up = max(up + int(rng.integers(5 * MS, 15 * MS)), down + 400 * MS)
        found.append((down, 1, tcp(1 + at * 900, 1, bytes([at]) * 900, ip_id=at)))
        ack = tcp(1, 1 + at * 900, ip_id=at, ports=(80, 1025), options=b"\1\1\1\0")
        found.append((up, 0, ack[:12] + ack[16:20] + ack[12:16] + ack[20:]))
    return sorted(found, key=lambda one: one[0])


def raw_pcap(packets: list[tuple[int, bytes]], shift_ns: int) -> bytes:
    records = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)]
    for t_ns, data in sorted(packets, key=lambda one: one[0]):
        seconds, rest = divmod(t_ns + shift_ns, SECOND)
        records.append(struct.pack("<IIII", seconds, rest, len(data), len(data)) + data)
    return b"".join(records)


def beside(outcome: Outcome, packets: list[tuple[int, int, bytes]], shift_ns: int) -> bytes:
    """What a host at the base station captures: before packets go in, and soon after they come out."""
    sent = [(t_ns, data) for t_ns, side, data in packets if side == 1]
    came = [(one.t_ns + LATE_NS, one.packet) for one in outcome.deliveries if one.side == 1]
    return raw_pcap(sent + came, shift_ns)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("shift_ns", [0, 7_300_000_000])
def test_the_order_of_packets_bounds_the_clock(tmp_path: Path, seed: int, shift_ns: int) -> None:
    packets = download(seed)
    outcome, log, capture = record(tmp_path, BEARER, packets, seed)
    host = tmp_path / "snd.pcap"
    host.write_bytes(beside(outcome, packets, shift_ns))
    log.unlink()
    m = mt.read(host, capture)
    assert {issue.code for issue in m.issues} <= {"missing-handshake"}, m.issues
    (clock,) = {(c.offset_ns, c.uncertainty_ns) for c in m.clocks if m.sources[c.source].format == "rlc"}
    assert clock[1] is not None
    assert abs(clock[0] - shift_ns) <= clock[1] < 6 * MS


def test_a_clock_declared_right_contradicts_nothing(tmp_path: Path) -> None:
    packets = download(4)
    outcome, log, _ = record(tmp_path, BEARER, packets, 4)
    (tmp_path / "snd.pcap").write_bytes(beside(outcome, packets, 0))
    log.unlink()
    declared = "".join(
        f'[sources."{name}"]\nclock_offset_s = 0.0\nclock_uncertainty_s = 0.001\n'
        for name in ("snd.pcap", "rlc.pcapng")
    )
    (tmp_path / "measurement.toml").write_text(declared, encoding="utf-8")
    assert not [issue for issue in mt.read(tmp_path).issues if issue.code == "inconsistent-metadata"]
