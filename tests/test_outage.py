"""An outage in the middle of a transfer: what was sent in vain, and the backoff of the timer behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation

import multitracer as mt
from multitracer.layers.tcp.transit import data_spans


def outage(expiries: int, *, answered: bool = True, last: int = 1000) -> tuple[Conversation, float]:
    """Two segments that are lost, so many timeouts of the first; the last, of `last` bytes, is answered."""
    talk = Conversation()
    talk.handshake()
    first = talk.warm_up(5)
    for at in range(2):
        talk.data(1200 + at, first + 1000 * at)
    t_ms, rto_ms = 1201.0, 300.0
    for at in range(expiries):
        t_ms, rto_ms = t_ms + rto_ms, 2 * rto_ms
        talk.data(t_ms, first, last if at == expiries - 1 else 1000)
    if answered:
        talk.ack(t_ms + 100, first + last)
        talk.data(t_ms + 101, first + 1000)
        talk.ack(t_ms + 201, first + 2000)
    return talk, t_ms


def said(path: Path) -> list[str]:
    found: list[dict[str, Any]] = mt.analyze(mt.read(path)).to_dict()["diagnosis"]
    return [one["text"] for one in found if one["kind"] == "outage"]


def test_several_timeouts_in_a_row_are_an_outage(tmp_path: Path) -> None:
    """The last answer but one was awaited in vain until the next expiry: that is backoff."""
    talk, _ = outage(5)
    (text,) = said(talk.write(tmp_path / "talk.pcap"))
    assert text.startswith("an outage of at least 4.5 s: nothing sent from 1.2 s to 5.7 s was answered")
    assert "The timer had doubled 4 times (backoff): the next retransmission, 4.8 s later" in text
    assert "ended a wait of 9.3 s" in text


@pytest.mark.parametrize("expiries", [1, 2])
def test_few_timeouts_are_none(tmp_path: Path, expiries: int) -> None:
    talk, _ = outage(expiries)
    assert said(talk.write(tmp_path / "talk.pcap")) == []


def test_a_path_that_takes_shorter_segments_had_no_outage(tmp_path: Path) -> None:
    talk, _ = outage(5, last=500)
    assert said(talk.write(tmp_path / "talk.pcap")) == []


def test_who_heard_of_the_other_end_meanwhile_had_no_outage(tmp_path: Path) -> None:
    talk, _ = outage(5)
    talk.ack(4000, 5001)
    talk.packets.sort(key=lambda one: one[0])
    assert said(talk.write(tmp_path / "talk.pcap")) == []


def test_a_transfer_that_broke_off_lasted_until_its_last_timeout(tmp_path: Path) -> None:
    """Its link was idle while the timer ran, so that no share of it leaves that time out."""
    talk, t_ms = outage(5, answered=False)
    measured = mt.read(talk.write(tmp_path / "talk.pcap"))
    assert said(tmp_path / "talk.pcap") == []
    ((_, end_ns),) = data_spans(measured).tolist()
    assert measured.seconds(end_ns) == pytest.approx(t_ms / 1e3)
    (found,) = mt.analyze(measured).to_dict()["connections"]
    assert found["data_s"] == pytest.approx(0.9), "rates are over the time until the last ACK"
