"""Transfers through a link that one connection fills: for how long it was full, and what else took time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation

import multitracer as mt
from multitracer.cli.words import limits as limits_line

Object = dict[str, Any]

EACH_MS = 8.0
"""What the link takes for each packet."""
BASE_MS = 100.0
PACKETS = 250


def through_link(
    path: Path,
    *,
    window: int = 40,
    stalls_ms: tuple[tuple[float, float, float], ...] = (),
    at_link: bool = False,
    withheld_ms: float = 0.0,
) -> Object:
    """A transfer as the capture next to its sender has it, each packet acknowledged.

    Parameters
    ----------
    path : Path
    window : int
        Segments: what the path does not hold of it waits at the link.
    stalls_ms : tuple of (float, float, float)
        What would arrive between the first two comes at the third.
    at_link : bool
        Whether the link itself stands still then, or what is behind it.
    withheld_ms : float
        The receiver acknowledges two packets at once, and withholds the ACK of one for so long.
    """
    events: list[tuple[float, bool, int]] = []
    acked_ms: list[float] = []
    free_ms = arrived_ms = 0.0
    pending: tuple[int, float] | None = None
    for number in range(PACKETS):
        sent_ms = BASE_MS + 1.0
        if number >= 10:
            needed = next(acks for acks in range(number + 1) if number < acks + min(window, 10 + acks))
            while len(acked_ms) < needed and pending is not None:
                # Its timer expires.
                acked_ms += [pending[1] + withheld_ms] * (pending[0] + 1 - len(acked_ms))
                events.append((pending[1] + withheld_ms, False, pending[0]))
                pending = None
            sent_ms = acked_ms[needed - 1]
        free_ms = max(free_ms, sent_ms) + EACH_MS
        for start_ms, end_ms, until_ms in stalls_ms if at_link else ():
            if start_ms <= free_ms < end_ms:
                free_ms = until_ms + EACH_MS
        would_ms = free_ms + BASE_MS / 2
        held_ms = () if at_link else (until for start, end, until in stalls_ms if start <= would_ms < end)
        arrived_ms = max(would_ms, arrived_ms + 0.01, *held_ms)
        back_ms = arrived_ms + BASE_MS / 2
        events.append((sent_ms, True, number))
        if withheld_ms and pending is None and number + 1 < PACKETS:
            pending = (number, back_ms)
            continue
        if withheld_ms and pending is not None and back_ms > pending[1] + withheld_ms:
            acked_ms += [pending[1] + withheld_ms] * (pending[0] + 1 - len(acked_ms))
            events.append((pending[1] + withheld_ms, False, pending[0]))
            pending = (number, back_ms)
            continue
        acked_ms += [back_ms] * (number + 1 - len(acked_ms))
        events.append((back_ms, False, number))
        pending = None
    said = Conversation(scale=7)
    said.handshake(0, BASE_MS)
    for t_ms, data, number in sorted(events, key=lambda event: (event[0], event[1], event[2])):
        if data:
            said.data(t_ms + number * 1e-5, 1 + 1000 * number)
        else:
            said.ack(t_ms, 1 + 1000 * (number + 1))
    (one,) = mt.analyze(mt.read(said.write(path / "one.pcap"), point="snd")).to_dict()["connections"]
    found: Object = one
    return found


def seconds(one: Object, name: str) -> float:
    share: float = one["limits"][name]
    return share * float(one["limits"]["seconds"])


def test_no_link_is_full_for_longer_than_what_it_carried_takes(tmp_path: Path) -> None:
    """Behind the last data no more crosses it: an RTT of the empty path until its ACK."""
    one = through_link(tmp_path)
    assert seconds(one, "congestion_window_after_data") == pytest.approx(BASE_MS / 1e3, abs=2 * EACH_MS / 1e3)
    assert seconds(one, "bandwidth") == pytest.approx(PACKETS * EACH_MS / 1e3, rel=0.02)


def test_a_link_goes_on_while_what_is_behind_it_stands_still(tmp_path: Path) -> None:
    """What waits at it lasts for 220 ms: a stall of 150 ms takes none of its time, one of 400 ms the rest."""
    for stall_ms, idle_ms in ((150.0, 0.0), (400.0, 180.0)):
        one = through_link(tmp_path, stalls_ms=((1000.0, 1000.0 + stall_ms, 1000.0 + stall_ms),))
        (stall,) = one["standstills"]
        assert stall["length_s"] == pytest.approx(stall_ms / 1e3, abs=0.02)
        assert stall["length_s"] - stall["carried_on_s"] == pytest.approx(idle_ms / 1e3, abs=0.025)
        shares = dict(part.rsplit(" ", 1) for part in limits_line(one).split(" of ")[0].split(", "))
        idle = idle_ms / 1e3 / one["limits"]["seconds"]
        assert float(shares.get("stalled path", "0%").strip("%")) / 100 == pytest.approx(idle, abs=0.015)
        needed = PACKETS * EACH_MS / 1e3 / one["limits"]["seconds"]
        assert float(shares["bandwidth"].strip("%")) / 100 == pytest.approx(needed, abs=0.02)


def test_what_passes_in_the_middle_of_a_stall_shows_nothing_of_what_follows(tmp_path: Path) -> None:
    """In 400 ms one packet comes after 130 ms; what waits at the link lasts for 60 ms."""
    one = through_link(tmp_path, window=20, stalls_ms=((1000.0, 1008.0, 1130.0), (1008.0, 1400.0, 1400.0)))
    (stall,) = one["standstills"]
    assert stall["length_s"] - stall["carried_on_s"] == pytest.approx(0.34, abs=0.02)


def test_a_stall_began_before_an_ack_that_its_receiver_withheld(tmp_path: Path) -> None:
    """The link stands still for 600 ms; a packet that had passed alone is acknowledged 60 ms later."""
    lengths = []
    for start_ms in (1000.0, 1000.0 + EACH_MS):
        one = through_link(
            tmp_path,
            stalls_ms=((start_ms, start_ms + 600.0, start_ms + 600.0),),
            at_link=True,
            withheld_ms=60.0,
        )
        (stall,) = one["standstills"]
        lengths.append(stall["length_s"])
    assert lengths == pytest.approx([0.6, 0.6], abs=0.03)
