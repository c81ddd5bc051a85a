"""Which cause is told first: what held the transfer longest, unless another surely cost more."""

from __future__ import annotations

import pytest

from multitracer.analyzers.diagnosis import _dearest_first
from multitracer.diagnosis.findings.finding import Finding


@pytest.mark.parametrize(
    ("first", "other", "kinds"),
    [
        ((0.248, 0.996), (1.27, 1.27), ["standstill", "loss"]),
        ((0.041, 1.35), (0.5, 1.08), ["loss", "standstill"]),
    ],
)
def test_what_surely_cost_more_is_first(
    first: tuple[float, float], other: tuple[float, float], kinds: list[str]
) -> None:
    found = [Finding("a", 0.6, "loss", bounds_s=first), Finding("b", 1.0, "standstill", bounds_s=other)]
    assert [one.kind for one in _dearest_first(found, {})] == kinds


def test_a_full_link_costs_nothing_and_stays_first() -> None:
    found = [
        Finding("a", 0.0, "bottleneck", bounds_s=(0.0, 0.0)),
        Finding("b", 1.0, "loss", bounds_s=(0.9, 1.0)),
    ]
    assert _dearest_first(found, {}) == found


@pytest.mark.parametrize(
    ("idle_low", "kinds"), [(0.3, ["bottleneck", "pacing"]), (0.56, ["pacing", "bottleneck"])]
)
def test_a_link_that_was_mostly_idle_is_not_first_for_being_full(idle_low: float, kinds: list[str]) -> None:
    """Five connections filled it for 2 of 6 s, and one that paced kept it waiting for the rest."""
    found = [
        Finding("a", 0.0, "bottleneck", bounds_s=(0.0, 0.0)),
        Finding("b", 2.87, "pacing", bounds_s=(2.84, 2.87)),
    ]
    assert [one.kind for one in _dearest_first(found, {"idle_low": idle_low})] == kinds


def test_what_is_measured_lies_between_itself() -> None:
    assert Finding("a", 0.6, "loss").between_s == (0.6, 0.6)
