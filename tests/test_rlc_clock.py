"""A bearer whose packets can be read and a capture beside it: joined packet by packet, not by guesses."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_lab import Outcome
from support_rlc import download, raw_pcap, record

import multitracer as mt

MS = 1_000_000
LATE_NS = 200_000
LOSSY = {"kind": "gilbert_elliott", "loss_good": 0.02, "p_good_to_bad": 0.01, "loss_bad": 0.9}

BEARER = {"air": LOSSY, "max_retransmissions": 1000, "tti_ms": 5, "pdus_per_tti": 8, "payload_bytes": 200}


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
