"""Whether the first RTT shows an application that writes more slowly than its link carries."""

from types import SimpleNamespace
from typing import Any

import pytest
from support_entries import entry
from support_measurement import MS, data, measurement

from multitracer.diagnosis.field.offered import Offered
from multitracer.diagnosis.findings.finding import Finding
from multitracer.diagnosis.findings.priced import _may_write_slowly, from_captures
from multitracer.layers.tcp.first_writes import first_writes_bps


def pace_bps(step_ms: float, number: int = 10, first: int = 1) -> float | None:
    """Of segments of 60 bytes, 20 ms being the RTT."""
    m = measurement([data(step_ms * at, first + 60 * at) for at in range(number)])
    return first_writes_bps(m, m.connections[0], 0, 20 * MS)


@pytest.mark.parametrize(
    ("step_ms", "number", "first", "known"),
    [
        (2.0, 10, 1, True),  # nine steps take 18 of 20 ms
        (4.0, 40, 1, False),  # four are not many
        (1.0, 10, 1, False),  # a window that is paced over half an RTT
        (0.01, 10, 1, False),  # all at once
        (2.0, 10, 6001, False),  # what was before was not captured
    ],
)
def test_who_still_writes_after_most_of_the_first_rtt_may_have_a_clock(
    step_ms: float, number: int, first: int, known: bool
) -> None:
    found = pace_bps(step_ms, number, first)
    assert found == (pytest.approx(8 * 60 / 2e-3) if known else None)


@pytest.mark.parametrize(("rate_bps", "slowly"), [(1e6, True), (0.25e6, False), (None, False)])
def test_a_loss_may_have_cost_nothing_where_the_application_may_write_slowly(
    rate_bps: float | None, slowly: bool
) -> None:
    """240 kbit/s in the first RTT: a link of 250 kbit/s stretches what is written at once as much."""
    m = measurement([data(2.0 * at, 1 + 60 * at) for at in range(10)])
    shares: Any = {"bandwidth": 0.5, "loss_recovery": 0.5, "full": 0.5, "unique": 1_000_000}
    one = {**entry(rate=rate_bps, base=20.0, **shares), "source": 0}
    assert _may_write_slowly(m, Offered([one]), rate_bps) == slowly
    assert not _may_write_slowly(m, Offered([one, one]), rate_bps)
    summarised: Any = SimpleNamespace(summarised=True)
    assert not _may_write_slowly(summarised, Offered([one]), rate_bps)
    (found,), _ = from_captures(m, [Finding("", 10.0, "loss")], [one], [], None)
    if slowly:
        assert found.between_s[0] == 0 < found.cost_s
