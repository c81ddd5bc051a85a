"""Requests and responses of one connection: which end let the other wait, by times written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation

import multitracer as mt

Object = dict[str, Any]
REQUEST, RESPONSE = 100, 1000
RTT_MS = 40.0


def analysed(tmp_path: Path, talk: Conversation) -> Object:
    path = tmp_path / "a.pcap"
    talk.write(path)
    found: Object = mt.analyze(mt.read(path)).to_dict()
    summed_up = mt.analyze(mt.read(path, detail="summary")).to_dict()
    for kept, summary in zip(found["connections"], summed_up["connections"], strict=True):
        assert summary["exchanges"] == kept["exchanges"]
    waits = [
        [one["text"] for one in some if "requests" in one["text"]]
        for some in (found["diagnosis"], summed_up["diagnosis"])
    ]
    assert waits[0] == waits[1]
    return found


def asked(turns: int, think_ms: float, serve_ms: float) -> Conversation:
    """A client at the capture asks, and waits for each response; the last request is answered too."""
    talk = Conversation()
    talk.handshake(rtt_ms=RTT_MS)
    t_ms = 100.0
    for turn in range(turns):
        own, other = 1 + turn * REQUEST, 1 + turn * RESPONSE
        talk.segment(t_ms, True, own, other, 0x18, bytes(REQUEST))
        t_ms += RTT_MS + serve_ms
        talk.segment(t_ms, False, other, own + REQUEST, 0x18, bytes(RESPONSE))
        talk.segment(t_ms + 0.01, True, own + REQUEST, other + RESPONSE, 0x10)
        t_ms += think_ms
    return talk


@pytest.mark.parametrize(
    ("think_ms", "serve_ms", "words"),
    [
        (
            300.0,
            5.0,
            "took 2.70 s between a response and its next request, the server at most 50 ms to respond",
        ),
        (
            5.0,
            300.0,
            "took 45 ms between a response and its next request, the server at most 3.00 s to respond",
        ),
    ],
)
def test_who_waited_for_whom(tmp_path: Path, think_ms: float, serve_ms: float, words: str) -> None:
    contract = analysed(tmp_path, asked(10, think_ms, serve_ms))
    (connection,) = contract["connections"]
    assert connection["exchanges"] == {
        "count": 10,
        "requests": 10,
        "client_sends_data": False,
        "request_wait_s": pytest.approx(9 * think_ms / 1e3, abs=1e-5),
        "response_wait_s": pytest.approx(10 * (RTT_MS + serve_ms) / 1e3, abs=1e-5),
    }
    (said,) = (one["text"] for one in contract["diagnosis"] if one["kind"] == "idle_application")
    assert words in said, said
    assert "the path at least 400 ms, in all" in said, said


@pytest.mark.parametrize("turns", [1, 2])
def test_two_responses_tell_of_no_requests(tmp_path: Path, turns: int) -> None:
    (connection,) = analysed(tmp_path, asked(turns, 300.0, 5.0))["connections"]
    assert connection["exchanges"] is None


def test_ends_that_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """Both send all the time: what one sends next never acknowledges what the other sent last."""
    talk = Conversation()
    talk.handshake(rtt_ms=RTT_MS)
    for turn in range(20):
        own, other = 1 + turn * REQUEST, 1 + turn * RESPONSE
        behind = max(turn - 2, 0)
        talk.segment(100 + 10.0 * turn, True, own, 1 + behind * RESPONSE, 0x18, bytes(REQUEST))
        talk.segment(105 + 10.0 * turn, False, other, 1 + behind * REQUEST, 0x18, bytes(RESPONSE))
    (connection,) = analysed(tmp_path, talk)["connections"]
    assert connection["exchanges"] is None
