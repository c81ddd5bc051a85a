"""Two captures of one bearer in a measurement: of both ends, of both directions, of a file that goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_lab import SECOND, Outcome, tcp
from support_rlc import raw_pcap, record

import multitracer as mt

MS = 1_000_000
LOSSY = {"kind": "gilbert_elliott", "loss_good": 0.03, "p_good_to_bad": 0.01, "loss_bad": 0.8}
BEARER = {"air": LOSSY, "tti_ms": 5, "payload_bytes": 120, "pdus_per_tti": 3, "max_retransmissions": 1000}
FRAMES = ("t_ns", "entity", "action", "ns", "offset", "length", "attempt", "duplicate")


def packets(count: int = 120) -> list[tuple[int, int, bytes]]:
    """Segments down, acknowledgements up."""
    found = []
    for at in range(count):
        t_ns = SECOND + at * 12 * MS
        found.append((t_ns, 1, tcp(1 + at * 500, 1, bytes([at % 251]) * 500, ip_id=at)))
        ack = tcp(1, 1 + at * 500, ip_id=at, ports=(80, 1025))
        found.append((t_ns + 5 * MS, 0, ack[:12] + ack[16:20] + ack[12:16] + ack[20:]))
    return found


def bearer(folder: Path, more: dict[str, Any], seed: int = 1) -> tuple[Outcome, Path, list[Any]]:
    """A run: its outcome, its capture of both ends, and the frames in that."""
    kept: list[Any] = []
    outcome, log, capture = record(folder, {**BEARER, **more}, packets(), seed, kept)
    log.unlink()
    return outcome, capture, kept


def captured(path: Path, frames: list[tuple[int, bytes]]) -> Path:
    path.write_bytes(raw_pcap(frames, 0, 149))
    return path


def by_side(kept: list[Any], side: int, shift_ns: int = 0) -> list[tuple[int, bytes]]:
    return [(one.t_ns + shift_ns, one.data) for one in kept if one.side == side]


def rows(m: mt.Measurement, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    table = m.table("link_frames")
    # Entities may stand in another order.
    names_of = np.array(m.entities)[table["entity"]]
    columns = [names_of.tolist() if name == "entity" else table[name].tolist() for name in names]
    return sorted(zip(*columns, strict=True))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("shift_ns", [0, 3 * SECOND, 40 * MS])
@pytest.mark.parametrize("more", [{}, {"handover_at_s": [0.6], "handover_ms": 200}, {"resegment_bytes": 50}])
def test_both_ends_are_one_link(tmp_path: Path, seed: int, shift_ns: int, more: dict[str, Any]) -> None:
    _, whole, kept = bearer(tmp_path, more, seed)
    one = mt.read(whole)
    ue = captured(tmp_path / "a.pcap", by_side(kept, 0))
    bs = captured(tmp_path / "b.pcap", by_side(kept, 1, shift_ns))
    m = mt.read(bs, ue)
    assert m.entities == one.entities or m.entities == one.entities[::-1]
    assert all(m.link_type(entity).tells("arrivals") for entity in (0, 1))
    untimed = FRAMES[1:]
    assert rows(m, untimed) == rows(one, untimed)
    told, true = (mt.analyze(each, only=["bearer"]).results["bearer"].summary for each in (m, one))
    for name in ("ue", "bs"):
        (ours,), (theirs,) = (
            [way for way in summary["directions"] if way["entity"] == name] for summary in (told, true)
        )
        for key in ("pdus", "sdus", "segmentation", "reports", "discards", "polls"):
            assert ours[key] == theirs[key], (name, key)
        assert ours["reordering"]["delay_ms"] == theirs["reordering"]["delay_ms"]


def test_each_direction_in_a_file_of_its_own(tmp_path: Path) -> None:
    _, _, kept = bearer(tmp_path, {})
    sent = [one for one in kept if one.direction == "snd"]
    whole = captured(tmp_path / "air.pcap", [(one.t_ns, one.data) for one in sent])
    up = captured(tmp_path / "up.pcap", [(one.t_ns, one.data) for one in sent if one.side == 0])
    down = captured(tmp_path / "down.pcap", [(one.t_ns, one.data) for one in sent if one.side == 1])
    one, m = mt.read(whole), mt.read(up, down)
    assert rows(m, FRAMES) == rows(one, FRAMES)
    told, true = (mt.analyze(each, only=["bearer"]).results["bearer"].summary for each in (m, one))
    assert told["directions"] == true["directions"]
    assert any(way["polls"]["answered"] for way in told["directions"])


def test_what_is_not_one_bearer_stays_apart(tmp_path: Path) -> None:
    _, _, kept = bearer(tmp_path, {}, 1)
    (tmp_path / "other").mkdir()
    _, _, others = bearer(tmp_path / "other", {"payload_bytes": 90}, 2)
    one = captured(tmp_path / "a.pcap", by_side(kept, 0))
    other = captured(tmp_path / "b.pcap", by_side(others, 1))
    m = mt.read(one, other)
    assert not any(m.link_type(entity).tells("arrivals") for entity in range(len(m.entities)))


def test_a_capture_that_goes_on_in_the_next_file(tmp_path: Path) -> None:
    _, _, kept = bearer(tmp_path, {})
    ue = by_side(kept, 0)
    half = len(ue) // 2
    whole = captured(tmp_path / "whole.pcap", ue)
    parts = tmp_path / "parts"
    parts.mkdir()
    captured(parts / "ue1.pcap", ue[:half])
    captured(parts / "ue2.pcap", ue[half:])
    one, m = mt.read(whole), mt.read(parts)
    assert rows(m, (*FRAMES, "record")) == rows(one, (*FRAMES, "record"))
    assert len({source.path for source in m.sources}) == 1
    # Another run of the same bearer begins anew: it is another capture.
    (tmp_path / "runs").mkdir()
    captured(tmp_path / "runs" / "run1.pcap", ue)
    captured(tmp_path / "runs" / "run2.pcap", [(t_ns + 60 * SECOND, data) for t_ns, data in ue])
    assert len({source.path for source in mt.read(tmp_path / "runs").sources}) == 2
