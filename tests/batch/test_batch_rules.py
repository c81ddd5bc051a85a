"""Rules for continuous integration, and the files that tell of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from support_samples import SAMPLES

import multitracer as mt
from multitracer.batch.outcome import Batch
from multitracer.batch.rules import Broken, broken, parse_rule, slowdown
from multitracer.batch.verdicts import junit, markdown
from multitracer.cli.main import group
from multitracer.model.errors import UsageError


def record(name: str, *connections: dict[str, Any], kind: str = "loss") -> dict[str, Any]:
    return {
        "name": name,
        "status": "done",
        "utilization": {"value": connections[0].get("utilization") if connections else None},
        "diagnosis": [
            {"kind": "utilization", "text": "Utilization 50%.", "title": "Utilization", "cost_s": None},
            {"kind": kind, "text": f"Because of {kind} <b>.", "title": kind, "cost_s": 1.0},
        ],
        "connections": [{"bytes": 1, "goodput_bps": 1.0} | one for one in connections],
        "parameters": {},
    }


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("utilization<95", "utilization is 80%"),
        ("utilization < 80", ""),
        ("utilization<=80%", "utilization is 80%"),
        ("timeouts_spurious>0", "timeouts_spurious is 3"),
        ("timeouts_spurious>=4", ""),
        ("link_resets=0", "link_resets is unknown: not checked"),
        ("cause=loss", "Because of loss <b>."),
        ("cause=bottleneck", ""),
    ],
)
def test_rules(rule: str, said: str) -> None:
    one = record(
        "a", {"utilization": 0.8, "timeouts_spurious": 0}, {"utilization": 0.8, "timeouts_spurious": 3}
    )
    found = broken([parse_rule(rule)], [one])
    assert [(item.measurement, item.rule, item.text) for item in found] == (
        [("a", rule, said)] if said else []
    )


@pytest.mark.parametrize(
    ("rule", "advice"),
    [
        ("utilisation<95", "did you mean utilization"),
        ("utilization", "write METRIC<NUMBER"),
        ("utilization<much", "is no number"),
        ("sender=x", "a column of text"),
        ("cause>loss", "cause=KIND"),
        ("slowdown<5", "slowdown>PERCENT"),
    ],
)
def test_slips_are_answered(rule: str, advice: str) -> None:
    with pytest.raises(UsageError, match=advice):
        parse_rule(rule)


def test_what_failed_breaks_no_rule() -> None:
    failed = {"name": "x", "status": "failed", "error": {"kind": "unreadable", "text": "no"}}
    assert broken([parse_rule("utilization<95")], [failed]) == []


def test_slowdown_needs_more_than_chance() -> None:
    rule = parse_rule("slowdown>5")
    assert slowdown(rule, 0.2, tested=False) is None
    assert slowdown(rule, 0.04, tested=True) is None
    found = slowdown(rule, 0.2, tested=True)
    assert found is not None
    assert found.text == "20.0% slower than the baseline"


def test_junit_and_markdown_hold_anything() -> None:
    hostile = "a|b\x00\ud800<script>]]>`"
    done = record(hostile, {"utilization": 0.5})
    failed = {"name": "x", "status": "failed", "error": {"kind": "unreadable", "text": hostile}}
    found = Batch([done, failed])
    wrong = [Broken(hostile, "utilization<95", "utilization is 50%"), Broken("", "slowdown>5", "slower")]
    suite = ElementTree.fromstring(junit(found, wrong)).find("testsuite")
    assert suite is not None
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "3", "failures": "2", "errors": "1",
    }  # fmt: skip
    text = markdown(found, wrong)
    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.replace("\\|", "").count("|") in (4, 5, 3) for line in rows)


def test_the_cause_of_a_rule_is_the_main_cause_that_the_pages_name() -> None:
    one = record("x", {"utilization": 0.9})
    kinds = ("utilization", "link_burst_harmless", "queue", "ack_compression")
    one["diagnosis"] = [{"kind": kind, "text": f"Of {kind}."} for kind in kinds]
    assert [bad.text for bad in broken([parse_rule("cause=queue")], [one])] == ["Of queue."]
    assert not broken([parse_rule("cause=ack_compression")], [one])
    assert [bad.rule for bad in broken([parse_rule("cause=link_burst_harmless")], [one])]


def test_a_known_value_that_breaks_a_rule_is_named_before_an_unknown_one() -> None:
    one = record("x", {"utilization": 0.5})
    one["connections"] = [{"utilization": None}, {"utilization": 0.5}]
    (found,) = broken([parse_rule("utilization<95")], [one])
    assert found.text == "utilization is 50%"
    (unknown,) = broken([parse_rule("utilization<40")], [one])
    assert unknown.text == "utilization is unknown: not checked"


def test_a_batch_with_rules(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(
        group,
        ["batch", str(SAMPLES / "link-resets-vj"), "-o", str(out), "--pages", "none", "-j", "1",
         "--fail-on", "utilization<95", "--fail-on", "cause=well"],
    )  # fmt: skip
    assert done.exit_code == 5, done.output
    assert "utilization is 78" in done.output
    state = json.loads((out / "batch.json").read_text())
    assert [one["rule"] for one in state["broken"]] == ["utilization<95"]
    page = (out / "index.html").read_text()
    assert page.index("Rules broken") < page.index("All measurements")
    suite = ElementTree.parse(out / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "1"
    assert "utilization is 78" in (out / "summary.md").read_text()


def test_a_batch_against_its_baseline(tmp_path: Path) -> None:
    mt.batch(SAMPLES / "flow-control", tmp_path / "before", pages="none", processes=1)
    with pytest.raises(UsageError, match="needs --baseline"):
        mt.batch(SAMPLES / "flow-control", tmp_path / "after", fail_on=["slowdown>5"])
    found = mt.batch(
        SAMPLES / "link-resets-vj",
        tmp_path / "after",
        pages="none",
        processes=1,
        baseline=str(tmp_path / "before"),
        fail_on=["slowdown>5"],
    )
    assert [one.measurement for one in found.broken] == [""]
    assert "Difference" in (tmp_path / "after" / "index.html").read_text()


def test_a_cause_that_no_diagnosis_names_is_refused() -> None:
    with pytest.raises(UsageError, match="no kind of cause 'bogus'"):
        parse_rule("cause=bogus")
