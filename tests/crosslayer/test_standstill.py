"""A path that stands still both ways, and a queue that holds up one of them."""

from __future__ import annotations

import pytest
from support_measurement import ack, data, measurement

from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.diagnosis.chains.standstill import standstill_chains
from multitracer.model.timeline import Timeline

DELAY_MS = 20.0


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
