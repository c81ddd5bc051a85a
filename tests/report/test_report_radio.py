"""Tables of the page about the air and a bearer, and where a sentence without a chain leads to."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import support_wifi as wifi

import multitracer as mt
from multitracer.output.contract import analysis_object
from multitracer.report.facts import facts
from multitracer.report.radio_tables import radio_tables

DELAY = {"min": 5.0, "median": 30.0, "mean": 41.0, "p95": 70.0, "max": 145.0}
WAY: dict[str, Any] = {
    "entity": "bs",
    "receiver": "<ue>",
    "pdus": {"sent": 3123, "again": 120, "transmissions_max": 4},
    "polls": {"sent": 108, "answered": 107, "delay_ms": DELAY},
    "reports": {"count": 160, "nacks": 290},
    "reordering": None,
    "discards": {"total": 2},
}


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    m = mt.read(wifi.capture(tmp_path_factory.mktemp("air") / "wifi.pcap", wifi.conversation()))
    return dict(analysis_object(m, mt.analyze(m).results))


def test_the_air_has_its_rows(contract: dict[str, Any]) -> None:
    page = str(radio_tables(contract))
    assert "Use of the channel" in page
    assert "this link" in page
    assert "other stations" not in page
    for entity in contract["air"]["entities"]:
        for rate in entity["rates"]:
            assert f">{rate['transmissions']:,}</td>" in page
            assert f">{100 * rate['retry_share']:.1f}%</td>" in page


def test_a_bearer_has_a_row_for_each_direction(contract: dict[str, Any]) -> None:
    given = copy.deepcopy(contract)
    given["air"] = None
    given["other"]["bearer"] = {"directions": [WAY, {**WAY, "entity": "ue", "pdus": None}]}
    page = str(radio_tables(given))
    assert "bs to &lt;ue&gt;" in page
    assert "<ue>" not in page
    assert page.count("145 ms</td>") == 2
    assert page.count(">3,123</td>") == 1


def test_no_radio_link_no_table(contract: dict[str, Any]) -> None:
    given = copy.deepcopy(contract)
    given["air"] = None
    given["other"].pop("bearer", None)
    assert str(radio_tables(given)) == ""


def test_a_sentence_leads_to_what_its_command_draws(contract: dict[str, Any]) -> None:
    given = copy.deepcopy(contract)
    sentence = {
        "kind": "air_retries",
        "text": "x",
        "cost_s": 0.0,
        "cost_bounds_s": [0.0, 0.0],
        "evidence": [],
        "command": "multitracer plot 'a b' --kind air --from 2 --to 5 -o air.png",
        "chains": [],
    }
    given["diagnosis"] = [sentence, {**sentence, "command": "multitracer plot x -o air.png"}]
    assert [one.places for one in facts(given)] == [((2.0, 5.0),), ()]
