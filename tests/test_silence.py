"""Silence behind the last data: no response, data that stopped; idle connections are none of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import FIN, PSH, RST, Conversation

import multitracer as mt


def answer(talk: Conversation, t_ms: float, seq: int, length: int, ack: int, flags: int = PSH) -> None:
    """B sends `length` bytes."""
    talk.segment(t_ms, False, seq, ack, flags, bytes(length))


def analysed(tmp_path: Path, talk: Conversation) -> dict[str, Any]:
    return mt.analyze(mt.read(talk.write(tmp_path / "talk.pcap"))).to_dict()


def request(length: int = 200) -> Conversation:
    """A opens the connection, and sends a request that B acknowledges."""
    talk = Conversation()
    talk.handshake(0, 50)
    talk.data(51, 1, length, PSH)
    talk.ack(101, 1 + length)
    return talk


def response(talk: Conversation, segments: int = 10, *, last: int = PSH) -> int:
    """B answers in segments of 1,000 bytes, every second with PSH, the last with `last`; the next byte."""
    for at in range(segments):
        flags = last if at == segments - 1 else PSH * (at % 2)
        answer(talk, 150 + at, 1 + 1000 * at, 1000, 201, flags)
        talk.segment(150.2 + at, True, 201, 1001 + 1000 * at)
    return 1 + 1000 * segments


def close(talk: Conversation, t_ms: float, seq: int, number: int) -> None:
    """A closes first, and B answers."""
    talk.segment(t_ms, True, seq, number, FIN)
    talk.segment(t_ms + 50, False, number, seq + 1, FIN)
    talk.segment(t_ms + 50.1, True, seq + 1, number + 1)


def test_a_request_without_a_response_comes_first(tmp_path: Path) -> None:
    talk = request()
    close(talk, 6101, 201, 1)
    found = analysed(tmp_path, talk)
    assert found["diagnosis"][0]["text"] == (
        "the request of 10.0.0.1 (200 bytes) was acknowledged, and no response came: nothing passed for "
        "6.0 s; then 10.0.0.1 closed the connection"
    )
    silence = found["connections"][0]["silence"]
    assert (silence["shown_by"], silence["ended_by"], silence["answered"]) == ("no_response", "sender", True)
    assert silence["end"] - silence["start"] == pytest.approx(6.0)
    assert found["diagnosis"][0]["evidence"][0]["record"] == silence["record"] == 6


def test_a_second_request_without_a_response(tmp_path: Path) -> None:
    """Not so a short message behind a response, which may be none."""
    for length, said in ((200, 1), (40, 0)):
        talk = request()
        number = response(talk)
        talk.segment(400, True, 201, number, PSH, bytes(length))
        talk.segment(450, False, number, 201 + length)
        talk.segment(9450, False, number, 201 + length, RST)
        found = analysed(tmp_path, talk)
        texts = [one["text"] for one in found["diagnosis"] if one["kind"] == "silence"]
        assert len(texts) == said
        assert all("nothing passed for 9.0 s; then 10.0.0.2 reset the connection" in text for text in texts)


@pytest.mark.parametrize("by_server", [False, True])
def test_an_idle_connection_behind_a_response_is_no_silence(tmp_path: Path, by_server: bool) -> None:
    talk = request()
    number = response(talk)
    if by_server:
        talk.segment(15_000, False, number, 201, FIN)
        talk.segment(15_050, True, 201, number + 1, FIN)
        talk.segment(15_051, False, number + 1, 202)
    else:
        close(talk, 15_000, 201, number)
    found = analysed(tmp_path, talk)
    assert "silence" not in found["connections"][0]
    assert "silence" not in [one["kind"] for one in found["diagnosis"]]


def test_data_that_stopped_in_the_middle(tmp_path: Path) -> None:
    talk = request()
    number = response(talk, last=0)
    talk.segment(14_159, True, 201, number, FIN)
    found = analysed(tmp_path, talk)
    assert found["diagnosis"][0]["text"] == (
        "the data of 10.0.0.2 stopped at 159 ms, in the middle of what it sent: nothing passed for 14.0 s; "
        "then 10.0.0.1 closed the connection; no answer to its FIN was captured"
    )
    assert found["connections"][0]["silence"]["shown_by"] == "mid_stream"


def test_later_sequence_numbers_show_data_that_never_came(tmp_path: Path) -> None:
    talk = request()
    number = response(talk)
    talk.segment(9000, True, 201, number, FIN)
    talk.segment(9050, False, number + 5001, 202)
    found = analysed(tmp_path, talk)
    assert found["connections"][0]["silence"]["unseen_bytes"] == 5000
    assert "at least 5,000 bytes more that it had sent never passed" in found["diagnosis"][0]["text"]


@pytest.mark.parametrize(("fins", "first"), [(1, False), (3, True)])
def test_a_fin_without_an_answer(tmp_path: Path, fins: int, first: bool) -> None:
    """One alone may be what the capture ends with: it stands behind the main cause."""
    talk = request()
    number = response(talk)
    for at in range(fins):
        talk.segment(14_000 + 300 * at, True, 201, number, FIN)
    found = analysed(tmp_path, talk)
    kinds = [one["kind"] for one in found["diagnosis"]]
    assert "silence" in kinds
    assert (kinds[0] == "silence") == first


def test_the_terminal_names_the_end(tmp_path: Path, run: Any) -> None:
    talk = request()
    close(talk, 6101, 201, 1)
    talk.write(tmp_path / "talk.pcap")
    printed = " ".join(run("analyze", str(tmp_path / "talk.pcap")).stdout.split())
    assert "Ended closed by the sender, 6.00 s after the last data or ACK" in printed
