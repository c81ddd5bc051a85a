"""What is said about the samples: order, numbers, commands, and quiet where all is well."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from support_samples import SAMPLE_NAMES, SAMPLES, Run

import multitracer as mt

Analyzed = Callable[[str], dict[str, Any]]


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_costs_fall_and_add_up(name: str, analyzed: Analyzed) -> None:
    found = analyzed(name)["diagnosis"]
    costs = [sentence["cost_s"] for sentence in found[1:]]
    assert costs == sorted(costs, reverse=True)
    loss = analyzed(name)["loss"]
    assert sum(costs) <= loss["s"] + 0.01
    assert loss["s"] + loss["ideal_s"] == pytest.approx(loss["transfer_s"], abs=0.01)
    for sentence in found:
        low, high = sentence["cost_bounds_s"]
        assert low <= sentence["cost_s"] <= high
    if found[0]["kind"] == "utilization" and analyzed(name)["utilization"]["flagged"]:
        # What TCP itself left of the link is told in whole; the link's own repeats come on top.
        assert sum(costs) >= 0.95 * found[0]["cost_s"] - 0.6


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("flow-control", ["utilization", "queue", "xoff"]),
        ("link-resets-sack", ["utilization", "link_reset", "link_burst_harmless", "queue"]),
        ("link-resets-vj", ["utilization", "link_reset", "link_burst_harmless", "ack_compression", "queue"]),
        ("local-drops", ["utilization", "local_drop", "queue"]),
        (
            "spurious-timeouts",
            [
                "utilization",
                "link_burst_harmless",
                "idle_receiver_window",
                "ack_loss",
                "ack_compression",
            ],
        ),
    ],
)
def test_what_is_said(name: str, kinds: list[str], analyzed: Analyzed) -> None:
    said = [sentence["kind"] for sentence in analyzed(name)["diagnosis"]]
    assert said == kinds


def test_a_standing_queue_is_no_well(analyzed: Analyzed) -> None:
    """Eight times the BDP in flight: nothing is lost, and everything waits 8 s (Paper 5.2)."""
    queue = analyzed("flow-control")["diagnosis"][1]
    entry = analyzed("flow-control")["connections"][0]["bottleneck"]
    assert entry["standing_queue_ms"]["median"] == pytest.approx(8030, abs=5)
    base = "a base RTT of 997 ms (full segment; 497 ms for a SYN)"
    assert f"added 8.03 s (median; 95th percentile 8.37 s) to {base}" in queue["text"]
    assert "8.5 times the BDP of 808 bytes in flight" in queue["text"]


def test_what_the_queue_dropped_costs_the_link_nothing(analyzed: Analyzed) -> None:
    """Ten segments never were on the link: sending them again is their first time there."""
    whole, drop, _ = analyzed("local-drops")["diagnosis"]
    assert "4,600 duplicate bytes (the first copies never crossed the link)" in drop["text"]
    assert drop["cost_s"] < 0.1
    assert whole["cost_s"] == pytest.approx(analyzed("local-drops")["utilization"]["idle_s"], abs=0.01)


def test_the_numbers_of_the_resets(analyzed: Analyzed) -> None:
    text = analyzed("link-resets-vj")["diagnosis"][1]["text"]
    for words in (
        "3 link resets (N2 exceeded)",
        "lost 11 segments and 14 ACKs",
        "22 segments after the loss arrived corrupted by header decompression and were discarded",
        "corrupted by header decompression",
        "3 timeouts",
        "16,520 duplicate bytes",
    ):
        assert words in text


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_evidence_names_records_that_exist(name: str, analyzed: Analyzed) -> None:
    found = analyzed(name)
    records = {source["path"]: source["records"] for source in found["sources"]}
    for sentence in found["diagnosis"]:
        for one in sentence["evidence"]:
            assert 1 <= one["record"] <= records[one["source"]] + 1  # a log begins with its settings


def test_the_command_draws_the_picture(run: Run, analyzed: Analyzed, tmp_path: Any) -> None:
    command = analyzed("link-resets-vj")["diagnosis"][1]["command"]
    words = shlex.split(command)
    assert words[:2] == ["multitracer", "plot"]
    words[-1] = str(tmp_path / "picture.png")
    done = run(*words[1:])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_the_answer_is_printed_once(run: Run) -> None:
    done = run("analyze", SAMPLES / "flow-control")
    assert done.returncode == 0, done.stderr
    answer = "Utilization 99.0%: the link was idle for 1.0 s of 124 s."
    assert done.stdout.count(answer) == 1
    assert answer in done.stdout.split("\n\n")[0]
    last = done.stdout.split("\nEvidence\n")[1]
    assert "multitracer plot" in last
    assert "Connection 0" not in last


def test_the_first_words_on_the_terminal(run: Run) -> None:
    done = run("analyze", SAMPLES / "link-resets-vj", columns=200)
    first = [line.rstrip() for line in done.stdout.split("\n\n")[0].strip().splitlines()]
    assert first[:2] == [
        "In short",
        "1.  Utilization 78.5%: the link was idle for 10.7 s of 138 s and 16,520 of 116,520 bytes sent were "
        "duplicates. [cost 26.89 s]",
    ]
    assert first[2].startswith(
        "2.  3 link resets (N2 exceeded) flushed 5,690 bytes and lost 11 segments and 14 ACKs; "
    )
    assert sum(line[:1].isdigit() for line in first) == 5


def test_explain_prints_chains_with_packets_and_frames(run: Run) -> None:
    done = run("analyze", SAMPLES / "link-resets-vj", "--explain")
    assert done.returncode == 0, done.stderr
    for words in ("Chain 2: link reset", "segment lost", "snd.pcap", "frames", "slow start"):
        assert words in done.stdout


def test_nothing_to_say_about_a_link_log_alone(run: Run) -> None:
    done = run("analyze", SAMPLES / "local-drops" / "rlp.log.gz", "--json")
    found = json.loads(done.stdout)
    assert found["diagnosis"] == []
    assert "diagnosis" in found["inconclusive"]


def test_utilization_from_captures_alone_is_an_estimate_with_bounds(analyzed: Analyzed) -> None:
    for name in SAMPLE_NAMES:
        told = analyzed(name)["utilization"]
        estimate = told["estimate"]
        assert estimate["basis"] == "estimate from captures"
        assert estimate["low"] <= estimate["value"] <= estimate["high"]
        assert estimate["value"] == pytest.approx(told["value"], abs=0.025), name
    alone = mt.analyze(mt.read(SAMPLES / "link-resets-vj" / "snd.pcap")).results["diagnosis"].summary
    assert "estimated from captures" in alone["sentences"][0]["text"]


def test_load_is_told_in_bytes_and_seconds(analyzed: Analyzed) -> None:
    (entry,) = analyzed("flow-control")["queueing"]["connections"]
    assert entry["rtt_min_s"] == pytest.approx(0.497, abs=0.001)
    assert entry["queueing_delay_s"]["median"] == pytest.approx(8.03, abs=0.01)
    assert entry["drain_s"]["median"] == pytest.approx(entry["queueing_delay_s"]["median"], rel=0.15)
    assert entry["smaller_window"]["window_bytes"] < entry["load_bytes"]["median"]


def said_of(name: str, *files: str) -> list[dict[str, Any]]:
    found = mt.analyze(mt.read(*(SAMPLES / name / file for file in files)))
    sentences: list[dict[str, Any]] = found.results["diagnosis"].summary["sentences"]
    return sentences


def test_a_receivers_capture_alone_never_says_that_all_is_well() -> None:
    for name in SAMPLE_NAMES:
        assert not any("all is well" in one["text"] for one in said_of(name, "rcv.pcap")), name
    every = {one["kind"]: one for one in said_of("link-resets-vj", "rcv.pcap")}
    assert list(every) == ["utilization", "loss", "outage", "bottleneck", "arrivals"]
    # By the log of the link 78.5% of it was used.
    assert "utilization about 67% (61% to 84%" in every["utilization"]["text"]
    one = every["arrivals"]
    assert one["text"].startswith("22 segments arrived damaged and had to be discarded, 944 of 100,944 bytes")
    # The silences are those behind the three resets; the packets that end them are the evidence.
    assert "no data came for 16.5 s, and 2 more times for over 4.2 s" in one["text"]
    assert [place["record"] for place in one["evidence"]] == [412, 130, 172]
    assert one["command"].split()[2].endswith("rcv.pcap")


def test_costs_of_a_sender_alone_are_no_more_than_the_loss() -> None:
    """From one capture: the sum of all costs is within the loss, and the loss within the transfer."""
    for name in SAMPLE_NAMES:
        summary = mt.analyze(mt.read(SAMPLES / name / "snd.pcap")).results["diagnosis"].summary
        told = sum(one["cost_s"] for one in summary["sentences"] if one["kind"] != "utilization")
        loss = summary["loss"]
        assert told <= loss["s"] + 0.01, name
        assert 0 <= loss["bounds_s"][0] <= loss["s"] <= loss["bounds_s"][1] <= loss["transfer_s"], name
