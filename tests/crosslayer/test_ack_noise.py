"""ACKs that hosts delay for microseconds are no ACK compression."""

from __future__ import annotations

import pytest
from support_measurement import ack, data, measurement

from multitracer.diagnosis.chains.acks import ack_chains
from multitracer.diagnosis.chains.evidence import Evidence

SEGMENTS = 60


@pytest.mark.parametrize(("held_ms", "chains"), [(0.3, 0), (40.0, 1)])
def test_only_what_a_queue_can_delay_is_compression(held_ms: float, chains: int) -> None:
    """Ten ACKs, a fifth of the time apart in which they are held, arrive at once; the RTT is 0.1 ms."""
    rows, step_ms = [], held_ms / 5
    for number in range(SEGMENTS):
        left, seq, mark = number * step_ms, 1 + 100 * number, {"ip_id": number + 1}
        came = left + 0.05
        rows += [data(left, seq, **mark), data(came, seq, source=1, **mark)]
        answer = ack(came, seq + 100) | mark
        until = (30 * step_ms + 0.05, 35 * step_ms + held_ms / 5)
        back = until[1] + number * 1e-3 if until[0] <= came <= until[1] else came + 0.05
        rows += [answer | {"source": 1}, answer | {"t_ms": back}]
    assert len(ack_chains(Evidence(measurement(rows), {}))) == chains
