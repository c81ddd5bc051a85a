"""When a link was idle, from the sender's capture alone: against a link whose answer is known."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation

import multitracer as mt
from multitracer.diagnosis.findings.whole import headline
from multitracer.output.used import idle_share, nearly_all

Object = dict[str, Any]

SIZE, HEADERS = 1460, 40
PACKET_MS = 5.0
RATE_BPS = 8 * (SIZE + HEADERS) / PACKET_MS * 1e3
PATH_MS = 40.0
SEGMENTS = 600
SCALE = 8
START_MS = 100.0


class Link:
    """A full link behind the sender's capture: a window of segments, of which a pause may hold some back.

    In a standstill of the link, from a time for so long, no packet begins to cross it.
    """

    def __init__(
        self,
        window: int,
        pauses: dict[int, float],
        jitter_ms: float = 0.0,
        offered: int = 60_000,
        still_ms: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.offered = offered
        drawn = random.Random(1)
        sent_ms: list[float] = []
        answered_ms: list[float] = []
        free_ms, last_ms, busy_ms, held_ms = 0.0, 0.0, 0.0, 0.0
        for at in range(SEGMENTS):
            due_ms = answered_ms[at - window] if at >= window else START_MS + at * 0.01
            if at in pauses:
                held_ms = max(due_ms, sent_ms[-1]) + pauses[at]
            sent_ms.append(max(due_ms, held_ms, sent_ms[-1] + 0.01 if sent_ms else 0.0))
            begins_ms = max(free_ms, sent_ms[-1])
            if still_ms[0] <= begins_ms < sum(still_ms):
                begins_ms = sum(still_ms)
            free_ms = begins_ms + PACKET_MS
            busy_ms += PACKET_MS
            last_ms = max(last_ms + 0.01, free_ms + PATH_MS + drawn.uniform(0, jitter_ms))
            answered_ms.append(last_ms)
        self.sent_ms, self.answered_ms = sent_ms, answered_ms
        self.span_s = (answered_ms[-1] - sent_ms[0]) / 1e3
        self.idle_s = self.span_s - busy_ms / 1e3

    def analysed(self, tmp_path: Path) -> Object:
        talk = Conversation(scale=3)
        talk.handshake(rtt_ms=PATH_MS, mss=SIZE)
        events = [(t_ms, True, at) for at, t_ms in enumerate(self.sent_ms)]
        events += [(t_ms, False, at) for at, t_ms in enumerate(self.answered_ms)]
        for t_ms, is_data, at in sorted(events):
            if is_data:
                talk.data(t_ms, 1 + at * SIZE, SIZE)
            else:
                talk.ack(t_ms, 1 + (at + 1) * SIZE, window=self.offered)
        path = tmp_path / "snd.pcap"
        talk.write(path)
        found: Object = mt.analyze(mt.read(path)).to_dict()
        return found

    def with_a_timeout(self, tmp_path: Path, lost: int) -> Object:
        """The first of two lone segments is lost, and its timer is waited for; the others follow later."""
        talk = Conversation(scale=3)
        talk.handshake(rtt_ms=PATH_MS, mss=SIZE)
        t_ms = self.answered_ms[lost - 1] + 1.0
        events = [(at_ms, True, at) for at, at_ms in enumerate(self.sent_ms[:lost])]
        events += [(at_ms, False, at + 1) for at, at_ms in enumerate(self.answered_ms[:lost])]
        events += [(t_ms, True, lost), (t_ms + 20, True, lost + 1), (t_ms + 70, False, lost)]
        events += [(t_ms + 260, True, lost), (t_ms + 305, False, lost + 2)]
        later_ms = t_ms + 310 - self.sent_ms[lost + 2]
        for at in range(lost + 2, SEGMENTS):
            events += [
                (self.sent_ms[at] + later_ms, True, at),
                (self.answered_ms[at] + later_ms, False, at + 1),
            ]
        for at_ms, is_data, at in sorted(events):
            if is_data:
                talk.data(at_ms, 1 + at * SIZE, SIZE)
            else:
                talk.ack(at_ms, 1 + at * SIZE, window=self.offered)
        path = tmp_path / "snd.pcap"
        talk.write(path)
        found: Object = mt.analyze(mt.read(path)).to_dict()
        return found


def phases_s(found: Object) -> float:
    return sum(float(one["end"] - one["start"]) for one in found["idle_phases"])


def test_a_pause_of_the_sender_does_not_idle_a_link_whose_queue_lasts(tmp_path: Path) -> None:
    """Forty packets are on the way, of which thirty wait: 150 ms of work. The sender is still for 100 ms."""
    link = Link(window=40, pauses=dict.fromkeys(range(100, SEGMENTS, 100), 100.0))
    found = link.analysed(tmp_path)
    used = found["utilization"]
    assert used["told_from"] == "ACKs"
    assert used["idle_s"] == pytest.approx(link.idle_s, abs=0.02 * link.span_s)
    assert phases_s(found) <= used["idle_s"] + 1e-6
    assert not [one for one in found["idle_phases"] if one["start"] > 0.5 and one["end"] < link.span_s - 0.1]
    assert nearly_all(used) is True


@pytest.mark.parametrize("jitter_ms", [0.0, 4.0])
def test_a_longer_pause_idles_it_when_the_queue_is_empty(tmp_path: Path, jitter_ms: float) -> None:
    link = Link(window=40, pauses=dict.fromkeys(range(100, SEGMENTS, 100), 300.0), jitter_ms=jitter_ms)
    found = link.analysed(tmp_path)
    used = found["utilization"]
    assert link.idle_s > 0.5
    assert used["idle_low"] * used["span_s"] <= link.idle_s <= used["idle_high"] * used["span_s"]
    assert used["idle_s"] == pytest.approx(link.idle_s, rel=0.15)
    assert phases_s(found) == pytest.approx(used["idle_s"], rel=0.1)
    assert nearly_all(used) is False
    assert idle_share(used) == ("about ", used["idle_share"])
    text = next(one["text"] for one in found["diagnosis"] if one["kind"] == "utilization")
    assert "the link was idle for about" in text


@pytest.mark.parametrize("jitter_ms", [3.0, 12.0])
def test_what_ends_a_phase_is_sent_after_its_queue_is_empty(tmp_path: Path, jitter_ms: float) -> None:
    """The lone segment before the timeout is carried when the phase begins: it ended no wait."""
    found = Link(window=24, pauses={}, jitter_ms=jitter_ms).with_a_timeout(tmp_path, 300)
    waits = [one for one in found["idle_phases"] if 0.2 < one["end"] - one["start"] < 0.26]
    assert [one["cause"] for one in waits] == ["timeout_wait"]
    (timeout,) = found["connections"][0]["timeouts"]["events"]
    assert waits[0]["wake_record"] == timeout["record"]


def test_a_standstill_of_the_path_is_one_idle_phase(tmp_path: Path) -> None:
    """A segment that is sent in it is not carried in it."""
    link = Link(24, {300: 250.0}, still_ms=(1500.0, 400.0))
    in_it_ms = [at_ms for at_ms in link.sent_ms if 1600.0 < at_ms < 1850.0]
    assert in_it_ms
    found = link.analysed(tmp_path)
    (stall,) = found["connections"][0]["standstills"]
    phases = [one for one in found["idle_phases"] if one["cause"] == "stalled_path"]
    assert [one["conn"] for one in phases] == [0]
    assert phases[0]["end"] - phases[0]["start"] == pytest.approx(stall["length_s"], abs=0.15)
    assert phases[0]["start"] < in_it_ms[0] / 1e3 < phases[0]["end"]


def test_a_queue_is_not_served_while_the_path_stands_still(tmp_path: Path) -> None:
    """Fifteen packets wait in front of the link when it stops: they are carried after that, and not in it."""
    link = Link(24, {}, still_ms=(1500.0, 400.0))
    found = link.analysed(tmp_path)
    seconds = {one["cause"]: one["end"] - one["start"] for one in found["idle_phases"]}
    assert seconds["stalled_path"] == pytest.approx(0.4, abs=0.01)
    assert sum(seconds.values()) == pytest.approx(link.idle_s, abs=0.015)


def test_a_window_in_each_round_trip_is_no_rate_of_a_link(tmp_path: Path) -> None:
    """Six packets of 5 ms in an RTT of 45 ms: evenly spaced by jitter, and the link is idle for a third."""
    link = Link(window=6, pauses={}, jitter_ms=6.0, offered=6 * SIZE // SCALE)
    found = link.analysed(tmp_path)
    text = " ".join(one["text"] for one in found["diagnosis"])
    assert "the link was full" not in text
    assert "nearly all" not in text
    rate = found["connections"][0]["bottleneck"]["rate_bps"]
    assert rate is None or rate == pytest.approx(RATE_BPS, rel=0.1)


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (0.944, 0.90, 0.98, None),
        (0.944, 0.90, 0.96, False),
        (0.946, 0.90, 0.99, True),
        (0.946, 0.70, 0.99, None),
    ],
)
def test_an_estimate_near_the_threshold_decides_nothing(
    value: float, low: float, high: float, said: bool | None
) -> None:
    found = {"basis": "estimate from captures", "value": value, "low": low, "high": high}
    assert nearly_all(found) is said


@pytest.mark.parametrize(
    ("share", "low", "high", "said"),
    [
        (0.03, 0.0, 0.06, ("at most ", 0.06)),
        (0.47, 0.46, 0.54, ("about ", 0.47)),
        (0.47, 0.46, 0.68, ("at least ", 0.46)),
        (0.47, 0.30, 0.48, ("at most ", 0.48)),
    ],
)
def test_what_is_not_resolved_is_a_bound(
    share: float, low: float, high: float, said: tuple[str, float]
) -> None:
    found = {"basis": "estimate from captures", "idle_share": share, "idle_low": low, "idle_high": high}
    assert idle_share(found) == said
    assert idle_share({"basis": "link log", "idle_share": 0.03}) == ("", 0.03)


def used(value: float, low: float) -> dict[str, Any]:
    """An estimate of the utilization of 10 s, of which the link was idle for what is left at most."""
    return {
        "value": value, "low": low, "high": 1.0,
        "idle_share": 1 - value, "idle_low": 0.0, "idle_high": 1 - low,
        "basis": "estimate from captures", "span_s": 10.0, "idle_s": 10 * (1 - value), "sent_bytes": 1000,
        "duplicate_bytes": 0, "carried_twice_bytes": 0, "duplicate_share": 0.0, "rate_bytes_per_s": 100.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "low", "words"),
    [
        (0.99, 0.9, ": TCP used nearly all of the link's capacity"),
        (0.99, 0.7, " (70% to 100%, estimated from captures)"),
        (0.8, 0.7, ": the link was idle for at most 3.0 s of 10.0 s"),
    ],
)
def test_how_little_is_known_of_nearly_all_is_no_idle_time(
    samples: Path, value: float, low: float, words: str
) -> None:
    said = headline(mt.read(samples / "local-drops" / "snd.pcap"), used(value, low))
    assert said is not None
    assert said.text.endswith(words)
