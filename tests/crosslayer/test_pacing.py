"""Phases in which a sender paces: by the kernel data waits, its window has room, and no ACK releases it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support_measurement import ack, data, measurement, table

from multitracer.layers.crosslayer.idlecause import Cause, Reasons, cause_of
from multitracer.layers.tcp.senderstate import sender_states
from multitracer.model import schema
from multitracer.model.schema.tcp import CAUSES

MS = 1_000_000


def cause(unsent: int, *, sample_ms: int = 1_010, probed: bool = False, window: int = 8000) -> Cause:
    """Three segments each 118 ms, acknowledged at once; what the kernel says at one time.

    One that is `probed` gets its ACK only when a tail loss probe asks for it, at the end of the phase.
    """
    rows: list[dict[str, Any]] = []
    for number in range(30):
        t_ms = 118 * (number // 3) + number % 3 * 0.1
        rows.append(data(t_ms, 1 + 60 * number))
        if not (probed and number == 26):
            rows.append(ack(t_ms + 0.3, 61 + 60 * number, window=window))
        elif probed:
            again = {"duplicate": 60, "cause": CAUSES.index("tail_loss_probe")}
            rows += [data(1_061, 1 + 60 * 26, **again), ack(1_061.3, 61 + 60 * 26, window=window)]
    m = measurement(rows, rcv=None)
    known = {"t_ns": sample_ms * MS, "source": 0, "conn": 0, "dir": 0, "cwnd": 20, "mss": 60}
    m.tables["tcp_states"] = table(schema.TCP_STATES, [known | {"notsent": unsent}])
    found = sender_states(m, m.connections)
    assert found is not None
    start_ns = 945 * MS
    return cause_of(Reasons(m, 0, [found.one(0)], {}, np.array([start_ns])), start_ns, 1_062 * MS)


@pytest.mark.parametrize(("sample_ms", "unsent"), [(1_010, 60), (500, 3_000)])
def test_data_that_waits_is_paced(sample_ms: int, unsent: int) -> None:
    """A sample within the phase shows it, or an earlier one of more than was sent since."""
    found = cause(unsent, sample_ms=sample_ms)
    assert found.word == "pacing", found.because
    assert found.because.startswith("data was waiting, 0 bytes in flight")


@pytest.mark.parametrize(("sample_ms", "unsent"), [(1_010, 0), (500, 600)])
def test_nothing_unsent_is_the_application(sample_ms: int, unsent: int) -> None:
    found = cause(unsent, sample_ms=sample_ms)
    assert found.word == "application", found.because


@pytest.mark.parametrize(("window", "word"), [(8000, "timeout_wait"), (60, "receiver_window")])
def test_a_tail_loss_probe_is_no_recovery(window: int, word: str) -> None:
    """Nothing was lost: the sender waited for the timer of its probe, or for the receiver's window."""
    found = cause(600, probed=True, window=window)
    assert found.word == word, found.because
