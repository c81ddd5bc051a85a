"""Numbers over and in a figure: those of the text, of the connection that is drawn, with unit and scope."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation
from support_samples import SAMPLES

import multitracer as mt
from multitracer import registry
from multitracer.cli import words
from multitracer.model.analysis import Result
from multitracer.plots.panel import Figure
from multitracer.plots.plot import PlotOptions
from multitracer.report import sections


@functools.cache
def analysis(name: str) -> Any:
    return mt.analyze(mt.read(SAMPLES / name))


def drawn(found: Any, kind: str, **options: Any) -> Figure:
    return registry.load(registry.PLOTS[kind]).build(found.measurement, found.results, PlotOptions(**options))


def two_flows(path: Path) -> Any:
    """Two connections of unlike size, one behind the other."""
    small, large = Conversation(port_a=4000), Conversation(port_a=4001)
    for one, start_ms, rounds in ((small, 0.0, 3), (large, 2000.0, 6)):
        one.handshake(start_ms)
        one.rounds(start_ms + 200, 1, rounds, 100)
    both = Conversation(packets=sorted(small.packets + large.packets, key=lambda one: one[0]))
    return mt.analyze(mt.read(both.write(path / "two.pcap")))


@pytest.mark.parametrize("name", ["link-resets-vj", "bbr", "flow-control", "host-queue"])
def test_page_and_figure_have_the_goodput_of_the_text_with_its_span(name: str) -> None:
    found = analysis(name)
    contract = found.contract(99)
    most = max(contract["connections"], key=lambda one: one["bytes"]["unique"])
    head = sections.subtitle(contract)
    stated = re.search(r"([\d,]+) bytes, goodput ([\d.,]+ \S+) over ([\d.,]+ \S+?)(?:;|$)", head)
    assert stated is not None, head
    size, rate, seconds = stated.groups()
    text = words.rates(most)
    assert re.search(rf"goodput {re.escape(rate)}\b", text)
    assert f"over {seconds} from" in text
    assert f"{size} bytes, goodput {rate} over {seconds}, " in drawn(found, "multilayer").subtitle


def test_a_utilization_of_several_connections_is_told_as_theirs(tmp_path: Path) -> None:
    found = two_flows(tmp_path)
    results = {**found.results, "utilization": Result("utilization", {"value": 0.5})}
    built = registry.load(registry.PLOTS["multilayer"]).build(found.measurement, results, PlotOptions())
    assert built.subtitle.endswith("utilization 50.0% by all 2 connections")
    assert "by all" not in drawn(analysis("link-resets-vj"), "multilayer").subtitle
