"""Costs, their total and the utilization of one measurement do not contradict each other."""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from multitracer.cli.main import main
from multitracer.output.costs import definition, is_printed, tag

Object = dict[str, Any]
SAMPLES = Path(__file__).parents[1] / "sample_traces"
SHARED = os.environ.get("MULTITRACER_SHARED")
POINTS = ("snd", "mid", "rcv")
FIRST = ("kernel_count", "unfinished", "silence", "outage", "other_direction", "link_reset", "call_dropped")
"""Kinds that stand where they do whatever they cost."""
ROUNDED_S = 0.0005


def _captures(folder: Path) -> list[Path]:
    names = (f"{point}.pcap{end}" for point in POINTS for end in ("", ".gz"))
    return [folder / name for name in names if (folder / name).is_file()]


def _alone() -> list[Any]:
    """Each capture of the samples, and of the measurements that MULTITRACER_SHARED has, by itself."""
    roots = [SAMPLES] if SHARED is None else [SAMPLES, Path(SHARED, "everyday"), Path(SHARED, "random")]
    folders = [folder for root in roots if root.is_dir() for folder in sorted(root.iterdir())]
    return [
        pytest.param([path], id=f"{folder.name}-{path.name.split('.')[0]}")
        for folder in folders
        for path in _captures(folder)
    ]


def _together() -> list[Any]:
    """Each sample whole, with its logs."""
    found = []
    for folder in sorted(SAMPLES.iterdir()):
        if _captures(folder):
            paths = sorted(path for path in folder.iterdir() if path.suffix in (".pcap", ".gz"))
            found.append(pytest.param(paths, id=folder.name))
    return found


def _told(capsys: pytest.CaptureFixture[str], paths: list[Path]) -> Object:
    main(["analyze", "--json", *map(str, paths)])
    found: Object = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("paths", [*_alone(), *_together()])
def test_costs_and_total_agree(capsys: pytest.CaptureFixture[str], paths: list[Path]) -> None:
    """No cost is more than the total, in its value or its upper bound, nor are all together."""
    found = _told(capsys, paths)
    loss, said = found["loss"], found["diagnosis"]
    if loss is None:
        assert not any(one["cost_s"] for one in said)
        return
    low_s, high_s = loss["bounds_s"]
    assert 0 <= low_s <= loss["s"] <= high_s <= loss["transfer_s"]
    for one in said:
        least_s, most_s = one["cost_bounds_s"]
        assert 0 <= least_s <= one["cost_s"] <= most_s, one["text"]
        assert one["cost_s"] <= loss["s"] + ROUNDED_S, one["text"]
        assert most_s <= high_s + ROUNDED_S, one["text"]
    causes_s = [one["cost_s"] for one in said if one["kind"] != "utilization"]
    assert sum(causes_s) <= loss["s"] + ROUNDED_S * (len(causes_s) + 1)


@pytest.mark.parametrize("paths", _alone())
def test_causes_behind_the_main_one_stand_by_their_cost(
    capsys: pytest.CaptureFixture[str], paths: list[Path]
) -> None:
    """What one capture shows is told with the main cause first, then by cost."""
    said = _told(capsys, paths)["diagnosis"]
    ordered = [one for one in said if one["kind"] not in ("utilization", *FIRST)][1:]
    for before, after in pairwise(ordered):
        assert before["cost_s"] >= after["cost_s"], (before["text"], after["text"])


@pytest.mark.parametrize("paths", _alone())
def test_an_estimate_of_the_utilization_claims_no_more_than_it_shows(
    capsys: pytest.CaptureFixture[str], paths: list[Path]
) -> None:
    """Its value is within its bounds, it costs nothing, and only the receiver's end proves duplicates."""
    found = _told(capsys, paths)
    utilization = found["utilization"] or {}
    if utilization.get("basis") != "estimate from captures":
        return
    assert 0 <= utilization["low"] <= utilization["value"] <= utilization["high"] <= 1
    for one in found["diagnosis"]:
        if one["kind"] == "utilization":
            assert one["cost_s"] == 0
            if not paths[0].name.startswith("rcv"):
                assert not re.search(r"bytes .* were duplicates", one["text"])


def test_the_total_is_no_less_than_a_cost_that_stands_alone() -> None:
    """A cost without bounds is said as a number, though it has some: the total begins no lower."""
    contract = {"loss": {"transfer_s": 4.0, "s": 0.9, "bounds_s": [0.7, 1.1]}, "connections": []}
    said = [
        {"kind": "standstill", "cost_s": 0.855, "cost_bounds_s": [0.71, 0.9]},
        {"kind": "loss", "cost_s": 0.045, "cost_bounds_s": [0.0, 0.3]},
    ]
    assert definition(contract, said).endswith("without all of these, 855 ms to 1.10 s sooner.")


def test_the_total_counts_no_idle_time_twice() -> None:
    """What the utilization was lost to has the idle times of every cause in it."""
    contract = {
        "loss": {"transfer_s": 6.1, "s": 2.645, "bounds_s": [2.411, 2.645]},
        "utilization": {"basis": "link log"},
        "connections": [],
    }
    whole = {"kind": "utilization", "cost_s": 2.411, "cost_bounds_s": [2.411, 2.411]}
    part = {"kind": "link_loss", "cost_s": 2.33, "cost_bounds_s": [2.33, 2.33]}
    assert definition(contract, [whole, part]).endswith("without all of these, 2.41 s sooner.")
    most = {"kind": "link_reset", "cost_s": 1.65, "cost_bounds_s": [0.0, 1.65]}
    assert definition(contract, [whole, most]).endswith("without all of these, 2.41 s sooner.")


def test_the_total_covers_two_limits_of_which_one_would_take_the_place_of_the_other() -> None:
    contract = {
        "loss": {"transfer_s": 2.7, "s": 2.66, "bounds_s": [0.0, 2.66], "together_s": 2.65},
        "connections": [],
    }
    said = [
        {"kind": "idle_receiver_window", "cost_s": 1.94, "cost_bounds_s": [0.0, 1.94]},
        {"kind": "idle_handshake_slow_start", "cost_s": 0.249, "cost_bounds_s": [0.0, 0.249]},
    ]
    assert definition(contract, said).endswith("without all of these, at most 2.65 s sooner.")


@pytest.mark.parametrize(
    ("loss", "basis", "words"),
    [
        ((0.0, 3.9), None, "unknown"),
        ((0.0, 3.9), "estimate from captures", "unknown"),
        ((0.0, 3.9), "link log", "at most 3.90 s"),
        ((2.0, 3.9), None, "at most 3.90 s"),
    ],
)
def test_a_bound_that_leaves_all_open_is_none(
    loss: tuple[float, float], basis: str | None, words: str
) -> None:
    """Of 4 s, anything up to 3.9 s: without a link that was full, nobody knows how long they have to be."""
    contract = {
        "loss": {"transfer_s": 4.0, "s": 3.9, "bounds_s": list(loss)},
        "utilization": basis and {"basis": basis},
        "connections": [],
    }
    vague = {"kind": "loss", "cost_s": 3.9, "cost_bounds_s": [0.0, 3.9]}
    known = {"kind": "standstill", "cost_s": 0.9, "cost_bounds_s": [0.8, 0.9]}
    assert tag(contract, vague) == f"cost {words}"
    assert tag(contract, known) == "cost 900 ms"
    for said in ([vague], [vague, known]):
        assert definition(contract, said).endswith(
            "not observed full for long enough to determine its rate."
        ) == (words == "unknown")
    assert definition(contract, [known]).endswith("the cause and its consequences.")
    assert is_printed(contract, vague)
    # Who waits for an application waits for it on any link.
    assert is_printed(contract, vague | {"kind": "idle_application"}) == (words != "unknown")
