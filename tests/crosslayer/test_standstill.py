"""A path that stands still both ways, and a queue that holds up one of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support_measurement import ack, data, measurement
from support_segments import Segment, capture

import multitracer as mt
from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.diagnosis.chains.standstill import standstill_chains
from multitracer.diagnosis.field import idle
from multitracer.layers.tcp.standstill import carried_on
from multitracer.model.timeline import Timeline

DELAY_MS = 20.0
MS = 1_000_000


def path(pauses: list[tuple[float, float]], *, back: bool = True) -> Timeline:
    """A segment each 10 ms for 5 s, each acknowledged; the path (or the way there alone) pauses."""

    def out(t_ms: float, held: bool) -> float:
        for begin, end in pauses if held else []:
            if begin <= t_ms + DELAY_MS < end:
                return end + (t_ms + DELAY_MS - begin) * 1e-3  # what was held up comes in a burst, in order
        return t_ms + DELAY_MS

    rows = []
    for number in range(500):
        left, seq = 10.0 * number, 1 + 60 * number
        came = out(left, True)
        mark = {"ip_id": number + 1}
        rows += [data(left, seq, **mark), data(came, seq, source=1, **mark)]
        answer = ack(came, seq + 60) | mark
        rows += [answer | {"source": 1}, answer | {"t_ms": out(came, back)}]
    return measurement(rows)


def found(m: Timeline) -> list[tuple[float, float]]:
    chains, _ = standstill_chains(Evidence(m, {}), [])
    return [(m.seconds(one.t_ns), one.silence_ns / 1e9) for one in chains]


def test_both_directions_stood_still() -> None:
    (first, second) = found(path([(1_000, 1_900), (3_000, 3_800)]))
    assert first == pytest.approx((1.0, 0.9), abs=0.05)
    assert second == pytest.approx((3.0, 0.8), abs=0.05)


def test_one_direction_is_no_path() -> None:
    assert not found(path([(1_000, 1_900)], back=False))


def test_a_short_pause_fires_no_timer() -> None:
    assert not found(path([(1_000, 1_150)]))


def test_one_capture_cannot_tell() -> None:
    m = path([(1_000, 1_900)])
    assert not standstill_chains(Evidence(measurement(m.table("segments"), rcv=None), {}), [])[0]


def out(step_ms: float, seq: int, length: int = 0, flags: int = 0x10, options: bytes = b"") -> Segment:
    return int(step_ms * MS), 1, True, False, seq, 1, flags, length, 60_000, options


def back(step_ms: float, ack: int, flags: int = 0x10, options: bytes = b"") -> Segment:
    return int(step_ms * MS), 1, False, False, 1, ack, flags, 0, 60_000, options


def opened() -> list[Segment]:
    """A handshake, and 40 segments one by one, each acknowledged after 20 ms."""
    mss = b"\2\4\3\xe8"
    said = [out(1, 0, 0, 0x02, mss), back(20, 1, 0x12, mss), out(1, 1)]
    for at in range(40):
        said += [out(1, 1 + 1000 * at, 1000), back(20, 1001 + 1000 * at)]
    return said


@pytest.mark.parametrize(("flags", "stands"), [(0x10, True), (0x11, False)])
def test_a_host_that_closes_answers_nothing(flags: int, stands: bool, tmp_path: Path) -> None:
    """At the sender: three segments wait for 3 s. A FIN may acknowledge what had arrived long before."""
    said = opened()
    said += [out(1, 40_001 + 1000 * at, 1000) for at in range(3)]
    said += [back(3000, 43_001, flags), out(1, 43_001, 1000), back(20, 44_001)]
    found = mt.analyze(mt.read(capture(tmp_path / "one.pcap", said), point="snd")).to_dict()
    kinds = [one["kind"] for one in found["diagnosis"]]
    assert ("standstill" in kinds) == stands, kinds


@pytest.mark.parametrize(("one_by_one", "stood"), [(True, True), (False, False)])
def test_acks_one_by_one_answer_what_had_waited(one_by_one: bool, stood: bool, tmp_path: Path) -> None:
    """At the sender, eight segments are in flight, and its timer repeats the first one twice in 1.2 s.

    If the ACKs then advance by a segment each, all had waited. One ACK for all of them may as well answer a
    copy of the first, which alone had been lost.
    """
    said = opened()
    said += [out(1, 40_001 + 1000 * at, 1000) for at in range(8)]
    said += [out(300, 40_001, 1000), out(600, 40_001, 1000)]
    if one_by_one:
        said += [back(300 if at == 0 else 3, 41_001 + 1000 * at) for at in range(8)]
    else:
        said += [back(20, 48_001)]
    for at in range(10):
        said += [out(1, 48_001 + 1000 * at, 1000), back(20, 49_001 + 1000 * at)]
    (entry,) = mt.analyze(mt.read(capture(tmp_path / "one.pcap", said), point="snd")).to_dict()["connections"]
    found = [one["length_s"] for one in entry["standstills"]]
    assert found == ([pytest.approx(1.2, abs=0.05)] if stood else []), entry["standstills"]


def test_a_link_goes_on_while_the_path_stalls_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link of a byte for each millisecond: what its queue held comes at once behind a stall."""
    stall = (1_000 * MS, 1_400 * MS)

    def went_on(behind: list[tuple[int, int]]) -> int:
        steady = [(t_ms, t_ms) for t_ms in range(0, 1_001, 10)]
        t_ms, reached = np.array([*steady, *behind]).T
        rows = {"t_ns": t_ms * MS, "ack": reached, "sack_high": 0 * reached}
        monkeypatch.setattr(carried_on, "valid_acks", lambda *_: rows)
        return carried_on.carried_on_ns(None, None, 0, stall, 1_000.0, 100 * MS) // MS

    # All that it carried for 150 ms came with the end, and it was idle then until new data reached it.
    assert went_on([(1_400, 1_150), *((t_ms, t_ms - 250) for t_ms in range(1_410, 1_700, 10))]) == 150
    assert went_on([(1_400, 1_150), *((t_ms, t_ms - 300) for t_ms in range(1_480, 1_700, 10))]) == 100
    # Nothing that stood in front of it passed.
    assert went_on([(t_ms, t_ms - 400) for t_ms in range(1_401, 1_700, 10)]) <= 1
    # The ACKs alone stalled.
    assert went_on([(t_ms, t_ms) for t_ms in range(1_400, 1_700, 10)]) == 400


def test_each_stall_before_a_capture_behind_the_link_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "carried_on_ns", lambda *_, before: 7 if before else 5)
    m: Any = SimpleNamespace(connection=lambda index: None, nanoseconds=lambda s: round(s * 1e9))
    stalls = [
        {"start": at, "length_s": 0.5, "upstream": up} for at, up in ((1.0, True), (2.0, True), (3.0, False))
    ]
    one = {"index": 0, "source": 0, "standstills": stalls}
    assert [ns for *_, ns in idle.went_on(m, one, 1.0, behind=True)] == [7, 7, 5]
    assert [ns for *_, ns in idle.went_on(m, one, 1.0, behind=False)] == [5]
