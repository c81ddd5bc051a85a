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
            "took 2.70 s between responses and its next requests, the server at most 50 ms to respond",
        ),
        (
            5.0,
            300.0,
            "took 45 ms between responses and its next requests, the server at most 3.00 s to respond",
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
        "requests_held": 0,
        "requests_held_s": 0.0,
        "responses_held": 0,
        "responses_held_s": 0.0,
    }
    (said,) = (one["text"] for one in contract["diagnosis"] if one["kind"] == "idle_application")
    assert words in said, said
    assert "one at a time: in all" in said, said
    assert "the path at least 400 ms" in said, said


@pytest.mark.parametrize("turns", [1, 2])
def test_one_response_tells_of_its_request(tmp_path: Path, turns: int) -> None:
    """From the handshake's end at 40 ms to the first response at 145 ms, the server had nothing to send."""
    (connection,) = analysed(tmp_path, asked(turns, 300.0, 5.0))["connections"]
    exchanges, limits = connection["exchanges"], connection["limits"]
    assert (exchanges["requests"], exchanges["count"]) == (turns, turns)
    assert exchanges["response_wait_s"] == pytest.approx(0.045 * turns, abs=1e-5)
    assert exchanges["request_wait_s"] == pytest.approx(0.3 * (turns - 1), abs=1e-5)
    waited_s = 0.105 + 0.345 * (turns - 1)
    assert limits["application"] * limits["seconds"] == pytest.approx(waited_s, abs=1e-3)
    assert limits["seconds"] == pytest.approx(0.04 + waited_s, abs=1e-3)


def test_a_request_without_a_response_tells_nothing(tmp_path: Path) -> None:
    talk = Conversation()
    talk.handshake(rtt_ms=RTT_MS)
    talk.segment(100.0, True, 1, 1, 0x18, bytes(REQUEST))
    talk.segment(140.0, False, 1, 1 + REQUEST, 0x10)
    (connection,) = analysed(tmp_path, talk)["connections"]
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


def large_requests(turns: int, tail_ms: float, pause_ms: float = 50) -> Conversation:
    """Each request is three full segments, acknowledged after 40 ms, and its rest so long after them."""
    talk = Conversation()
    talk.handshake(rtt_ms=RTT_MS)
    t_ms = 100.0
    for turn in range(turns):
        own, other = 1 + turn * 3300, 1 + turn * REQUEST
        for number in range(3):
            talk.segment(t_ms, True, own + 1000 * number, other, 0x10, bytes(1000))
        acked = (t_ms + RTT_MS, False, other, own + 3000, 0x10)
        tail = (t_ms + tail_ms, True, own + 3000, other, 0x18, bytes(300))
        for segment in sorted([acked, tail]):
            talk.segment(*segment)
        t_ms += tail_ms + RTT_MS + 5
        talk.segment(t_ms, False, other, own + 3300, 0x18, bytes(REQUEST))
        t_ms += pause_ms
    return talk


@pytest.mark.parametrize(("tail_ms", "held"), [(RTT_MS + 0.02, True), (0.01, False), (RTT_MS + 15, False)])
def test_what_nagle_held(tmp_path: Path, tail_ms: float, held: bool) -> None:
    """Held until the ACK; sent at once; written later."""
    contract = analysed(tmp_path, large_requests(10, tail_ms))
    (connection,) = contract["connections"]
    exchanges, limits = connection["exchanges"], connection["limits"]
    # The first request passed before there was a response.
    assert (exchanges["requests_held"], exchanges["responses_held"]) == (9 if held else 0, 0)
    assert exchanges["requests_held_s"] == pytest.approx(9 * tail_ms / 1e3 if held else 0.0)
    held_s = exchanges["requests_held_s"]
    assert limits["application_nagle"] == pytest.approx(held_s / limits["seconds"], abs=1e-4)
    # No congestion window did: what was held behind full segments is the application's time, too.
    assert limits["application"] > 0.9
    assert limits["congestion_window"] < 0.08
    said = " ".join(one["text"] for one in contract["diagnosis"])
    words = "Nagle's algorithm held the end of at least 9 requests"
    assert ("until what was before it was acknowledged, at least 360 ms in all" in said) == held
    assert (words in said) == held, said


@pytest.mark.parametrize(("pause_ms", "first"), [(5, True), (200, False)])
def test_what_nagle_held_is_said_first_where_it_took_most(
    tmp_path: Path, pause_ms: float, first: bool
) -> None:
    contract = analysed(tmp_path, large_requests(10, RTT_MS + 0.02, pause_ms))
    said = next(one["text"] for one in contract["diagnosis"] if one["kind"] == "idle_application")
    nagle = "limited by requests and responses of several writes each: Nagle's algorithm held the end of"
    assert said.startswith(nagle) == first
    assert said.count("Nagle's algorithm held the end of at least 9 requests") == 1


def responses_of_two_writes(turns: int, *, held: bool) -> Conversation:
    """At the client: a header of 80 bytes, three full segments at once, and their rest.

    The rest left the server with them, or when the ACK of the header had reached it.
    """
    talk = Conversation()
    talk.handshake(rtt_ms=RTT_MS)
    t_ms = 100.0
    for turn in range(turns):
        own, other = 1 + turn * REQUEST, 1 + turn * 3380
        talk.segment(t_ms, True, own, other, 0x18, bytes(REQUEST))
        t_ms += RTT_MS
        talk.segment(t_ms, False, other, own + REQUEST, 0x18, bytes(80))
        talk.segment(t_ms + 0.01, True, own + REQUEST, other + 80, 0x10)
        for number in range(3):
            passed_ms = t_ms + 0.6 * (number + 1)
            talk.segment(passed_ms, False, other + 80 + 1000 * number, own + REQUEST, 0x10, bytes(1000))
            talk.segment(passed_ms + 0.01, True, own + REQUEST, other + 1080 + 1000 * number, 0x10)
        t_ms += RTT_MS + 0.05 if held else 2.4
        talk.segment(t_ms, False, other + 3080, own + REQUEST, 0x18, bytes(300))
        talk.segment(t_ms + 0.01, True, own + REQUEST, other + 3380, 0x10)
        t_ms += 5.0
    return talk


@pytest.mark.parametrize("held", [True, False])
def test_what_nagle_held_for_an_ack_that_others_followed(tmp_path: Path, held: bool) -> None:
    """Linux holds what is short for the last short segment (Minshall): later ACKs released nothing."""
    contract = analysed(tmp_path, responses_of_two_writes(12, held=held))
    (connection,) = contract["connections"]
    exchanges = connection["exchanges"]
    assert (exchanges["requests_held"], exchanges["responses_held"]) == (0, 11 if held else 0)
    # Since the last full segment.
    assert exchanges["responses_held_s"] == pytest.approx(11 * (RTT_MS - 1.75) / 1e3 if held else 0.0)
    assert ("Nagle's algorithm held the end of at least 11 responses" in str(contract["diagnosis"])) is held


@pytest.mark.parametrize("lost", [True, False])
def test_a_response_that_was_lost_leaves_a_number_out(tmp_path: Path, lost: bool) -> None:
    """At the client: one of twelve responses was lost before it, and a timer sent it again."""
    talk = Conversation()
    talk.handshake(rtt_ms=RTT_MS)
    t_ms = 100.0
    for turn in range(12):
        own, other = 1 + turn * REQUEST, 1 + turn * RESPONSE
        talk.segment(t_ms, True, own, other, 0x18, bytes(REQUEST))
        late = lost and turn == 7
        if late:
            talk.idents[1] += 1
        t_ms += RTT_MS + (260.0 if late else 0.0)
        talk.segment(t_ms, False, other, own + REQUEST, 0x18, bytes(RESPONSE))
        talk.segment(t_ms + 0.01, True, own + REQUEST, other + RESPONSE, 0x10)
        t_ms += 100.0
    (connection,) = analysed(tmp_path, talk)["connections"]
    assert connection["losses"]["possible"] == (1 if lost else 0)
