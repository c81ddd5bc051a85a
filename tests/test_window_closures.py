"""How often a receiver closed its window, and for how long, by times written by hand, however it is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_conversation import RST, Conversation

import multitracer as mt


@pytest.mark.parametrize(
    ("windows", "closures"),
    [
        ([60_000, 60_000, 60_000], (0, 0.0, 0.0)),
        ([60_000, 0, 0, 60_000, 60_000], (1, 2.0, 2.0)),
        ([0, 60_000, 0, 0, 0, 500], (2, 3.0, 4.0)),
        ([60_000, 0, 0, 0], (1, 2.0, 2.0)),
    ],
)
@pytest.mark.parametrize("reset", [False, True])
def test_times_of_a_closed_window(
    windows: list[int], closures: tuple[int, float, float], reset: bool, tmp_path: Path
) -> None:
    """Each lasts until a window that is none, the RST, or the last ACK; the window of a RST says nothing."""
    talk = Conversation()
    talk.handshake()
    for at, window in enumerate(windows):
        talk.segment(200 + 1000 * at, True, 1 + 1000 * at, 1, 0x10, bytes(1000))
        talk.segment(300 + 1000 * at, False, 1, 1001 + 1000 * at, 0x10, window=window)
    if reset:
        talk.segment(60_000, False, 1, 1 + 1000 * len(windows), RST, window=0)
    talk.write(tmp_path / "a.pcap")
    count, longest_s, total_s = closures
    if reset and windows[-1] == 0:
        longest_s = total_s = 58.7
    for detail in ("full", "summary"):
        (found,) = mt.analyze(mt.read(tmp_path / "a.pcap", detail=detail)).to_dict()["connections"]
        assert found["window_closures"] == {"count": count, "longest_s": longest_s, "total_s": total_s}
        assert found["zero_windows"] == windows.count(0)


@pytest.mark.parametrize("probed", [False, True])
def test_a_window_that_never_opens_again_is_the_limit_until_the_end(probed: bool, tmp_path: Path) -> None:
    """Probes show that there was more to send; without any, the transfer may have been complete."""
    talk = Conversation()
    talk.handshake()
    for at in range(20):
        talk.segment(200 + at, True, 1 + 1000 * at, 1, 0x10, bytes(1000))
        talk.segment(300 + at, False, 1, 1001 + 1000 * at, 0x10, window=19_000 - 1000 * at)
    for t_ms in (800, 1600, 3200) if probed else ():
        talk.segment(t_ms, True, 20_000, 1, 0x10)
        talk.segment(t_ms + 100, False, 1, 20_001, 0x10, window=0)
    talk.segment(10_319, False, 1, 20_001, RST | 0x10)
    talk.write(tmp_path / "a.pcap")
    for detail in ("full", "summary"):
        contract = mt.analyze(mt.read(tmp_path / "a.pcap", detail=detail)).to_dict()
        limits = contract["connections"][0]["limits"]
        closed_s = limits["receiver_window"] * limits["seconds"]
        assert closed_s == pytest.approx(10.0 if probed else 0.0, abs=0.1)
        assert ("receiver's window" in contract["diagnosis"][0]["text"]) == probed
        assert contract["connections"][0]["data_s"] < 0.2
