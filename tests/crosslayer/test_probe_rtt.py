"""BBR's ProbeRTT: a congestion window of four segments that no loss explains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support_measurement import ack, data, measurement, table

from multitracer.layers.crosslayer.idlecause import Reasons, cause_of
from multitracer.layers.tcp.senderstate import sender_states
from multitracer.model import schema

MS = 1_000_000

START = 10_010 * MS


def reasons(cwnd: list[tuple[int, int]], *, lost: bool = False, unsent: int = 600) -> Reasons:
    """Four segments in flight from 10.0 s on, after a long time with forty; `cwnd` as (ms, segments)."""
    rows: list[dict[str, Any]] = []
    for number in range(40):
        rows += [data(number, 1 + 60 * number), ack(9_000 + number, 61 + 60 * number)]
    for number in range(40, 44):
        rows.append(data(10_000 + number - 40, 1 + 60 * number))
    if lost:
        rows.append(data(10_005, 1 + 60 * 40))
    rows += [ack(10_100, 1 + 60 * 44), data(10_100.1, 1 + 60 * 44), ack(10_200, 1 + 60 * 45)]
    m = measurement(rows, rcv=None)
    states = [
        {"t_ns": t_ms * MS, "source": 0, "conn": 0, "dir": 0, "cwnd": segments, "mss": 60, "notsent": unsent}
        for t_ms, segments in cwnd
    ]
    m.tables["tcp_states"] = table(schema.TCP_STATES, states)
    found = sender_states(m, m.connections)
    assert found is not None
    every = [found.one(at) for at in range(len(found.connections))]
    return Reasons(m, 0, every, {}, np.array([START]))


@pytest.mark.parametrize(
    ("cwnd", "lost", "word"),
    [
        ([(1, 40), (9_999, 4)], False, "probe_rtt"),
        ([(1, 40), (10_050, 4)], False, "probe_rtt"),
        ([(1, 40), (9_999, 20)], False, "application"),
        ([(1, 4), (9_999, 4)], False, "handshake/slow_start"),
        ([(1, 40), (9_999, 4)], True, "recovery_stall"),
    ],
)
def test_four_segments_without_a_loss(cwnd: list[tuple[int, int]], lost: bool, word: str) -> None:
    unsent = 0 if word == "application" else 600
    found = cause_of(reasons(cwnd, lost=lost, unsent=unsent), START, 10_100 * MS)
    assert found.word == word, found.because
    assert found.wake_record > 0
