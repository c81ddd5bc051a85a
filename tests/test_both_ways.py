"""Connections that carry data in both directions: each has its lines, and the sentences name theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation
from support_samples import Run

import multitracer as mt


def exchange(back: int) -> Conversation:
    """A sends 100 segments in ten rounds; B sends `back` bytes in each segment that acknowledges one."""
    talk = Conversation()
    talk.handshake()
    for at in range(100):
        t_ms = 101 + 100 * (at // 10) + at % 10
        talk.segment(t_ms, True, 1 + 1000 * at, 1 + back * max(at - 10, 0), payload=bytes(1000))
    for at in range(100):
        t_ms = 201 + 100 * (at // 10) + at % 10
        talk.segment(t_ms, False, 1 + back * at, 1001 + 1000 * at, payload=bytes(back))
    talk.segment(1200, True, 100_001, 1 + back * 100)
    talk.packets.sort(key=lambda one: one[0])
    return talk


def analysed(path: Path) -> dict[str, Any]:
    return mt.analyze(mt.read(path)).to_dict()


def test_the_other_direction_has_an_entry_and_lines_of_its_own(tmp_path: Path, run: Run) -> None:
    path = exchange(500).write(tmp_path / "talk.pcap")
    (found,) = analysed(path)["connections"]
    assert found["data_direction"] == "forward"
    other = found["reverse"]
    assert other["data_direction"] == "reverse"
    assert other["bytes"] == found["reverse_bytes"]
    assert other["bytes"]["acked"] == 50_000
    assert other["goodput_bps"] == pytest.approx(8 * 50_000 / other["data_s"])
    assert "reverse" not in other
    printed = " ".join(run("analyze", str(path)).stdout.split())
    assert "Connection 0, other direction: 10.0.0.1:4000 <- 10.0.0.2:80 Data 50,000 bytes" in printed


def test_sentences_name_their_direction(tmp_path: Path) -> None:
    texts = {
        one["kind"]: one["text"] for one in analysed(exchange(500).write(tmp_path / "a.pcap"))["diagnosis"]
    }
    assert texts["other_direction"].startswith("from 10.0.0.2 to 10.0.0.1 (50,000 bytes): ")
    assert any(text.startswith("from 10.0.0.1 to 10.0.0.2: ") for text in texts.values())


def test_a_little_data_back_is_none(tmp_path: Path) -> None:
    found = analysed(exchange(20).write(tmp_path / "talk.pcap"))
    assert "reverse" not in found["connections"][0]
    assert "other_direction" not in [one["kind"] for one in found["diagnosis"]]
