"""A sender whose window congestion marks keep small: the cause, what is counted, the packets behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support_conversation import CWR, ECE, Conversation

from multitracer.cli.main import main

ROUNDS, WINDOW = 40, 4


def marked(folder: Path) -> tuple[Path, list[int]]:
    """A capture at the sender with a window of four segments, and its packets that say it was reduced."""
    talk, seq, reduced = Conversation(), 1, []
    talk.handshake()
    for number in range(ROUNDS):
        t_ms = 200.0 + 100.2 * number
        for place in range(WINDOW):
            first = place == 0 and number % 8 == 7
            if first:
                reduced.append(len(talk.packets) + 1)
            talk.data(t_ms + 0.01 * place, seq + 1000 * place, flags=CWR if first else 0, ecn=2)
        seq += 1000 * WINDOW
        talk.ack(t_ms + 100.1, seq, flags=ECE if number % 8 == 6 else 0)
    return talk.write(folder / "snd.pcap"), reduced


def test_the_cause_its_numbers_and_its_packets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, reduced = marked(tmp_path)
    main(["analyze", "--json", str(path)])
    found = json.loads(capsys.readouterr().out)
    assert found["connections"][0]["ecn"] == {"ce": 0, "ece": 5, "cwr": 5}
    first = found["diagnosis"][0]
    assert first["kind"] == "congestion_marks"
    assert "reduced its congestion window 5 times" in first["text"]
    assert [one["record"] for one in first["evidence"]] == reduced


def test_a_summary_has_the_same_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = marked(tmp_path)
    main(["analyze", "--json", "--summary", str(path)])
    found = json.loads(capsys.readouterr().out)
    assert found["connections"][0]["ecn"] == {"ce": 0, "ece": 5, "cwr": 5}
    assert found["diagnosis"][0]["kind"] == "congestion_marks"
