"""Packets of other protocols share a link with TCP: what TCP left of it need not have been idle."""

from __future__ import annotations

from typing import Any

import pytest
from support_samples import SAMPLES

import multitracer as mt
from multitracer.layers.other_traffic import other_traffic

CAPTURE = SAMPLES / "call-dropped" / "snd.pcap"


def analysed(**others: int) -> tuple[Any, dict[str, Any]]:
    """The sample, as if packets of other kinds were in its capture."""
    m = mt.read(CAPTURE)
    m.traces[0].source.details["packets_by_kind"].update(others)
    return m, mt.analyze(m).to_dict()


def statements(found: dict[str, Any]) -> list[str]:
    return [
        one["text"] for one in found["other"]["observation"]["statements"] if one["code"] == "other_traffic"
    ]


def test_what_other_protocols_may_have_filled_was_not_idle_for_certain() -> None:
    _, alone = analysed()
    m, shared = analysed(udp=5_000, icmp=9, gre=60)
    assert alone["utilization"]["idle_low"] > 0.3
    assert statements(alone) == []
    assert shared["utilization"]["idle_low"] == 0
    for key in ("value", "low", "high", "idle_high"):
        assert shared["utilization"][key] == alone["utilization"][key]
    (text,) = statements(shared)
    assert "5,060 packets of UDP and GRE" in text
    found = other_traffic(m)
    assert found is not None
    tcp = m.traces[0].source.details["packets_by_kind"]["tcp"]
    assert (found.packets, found.names) == (5_060, ("UDP", "GRE"))
    assert found.share == pytest.approx(5_060 / (5_060 + tcp))


def test_a_few_packets_of_other_protocols_fill_no_link() -> None:
    m, found = analysed(udp=10, icmp=90_000)
    assert other_traffic(m) is None
    assert statements(found) == []
    assert found["utilization"]["idle_low"] > 0.3
