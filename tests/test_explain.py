"""Explanations: every sentence of a story is held to the capture, the kernel's log and the other analyses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support_samples import SAMPLES, Run

import multitracer as mt
from multitracer.diagnosis.explain import Explanation, explain
from multitracer.diagnosis.explain.rules import RULES, VOTES
from multitracer.model.errors import UsageError
from multitracer.model.schema import CAUSES, VOTES as WORDS

MS = 1_000_000


def story(name: str, **wanted: int | float) -> Explanation:
    return explain(mt.analyze(mt.read(SAMPLES / name)), **wanted)  # type: ignore[arg-type]


def said(found: Explanation, about: str) -> str:
    return " / ".join(line["text"] for line in found.lines if line["about"] == about)


def test_spurious_timeout_is_told_whole() -> None:
    found = story("spurious-timeouts", packet=149)
    assert found.kind == "retransmission"
    assert "RFC 6298" in said(found, "rule")
    assert "spurious" in said(found, "verdict")
    assert "certain, by both captures: this transmission was needless" in said(found, "receiver")
    assert "receiver: spurious" in said(found, "vote")
    assert "sent 2 times" in said(found, "copies")
    assert said(found, "copies").count("arrived at") == 2


def test_where_the_link_lost_the_first_copy() -> None:
    found = story("local-drops", packet=59)
    assert "packet 28 at 3.159101 s (lost: dropped in front of the link)" in said(found, "copies")


def test_fast_retransmit_names_the_lost_copy() -> None:
    found = story("link-resets-sack", packet=44)
    assert "RFC 5681" in said(found, "rule")
    assert "(lost" in said(found, "copies")
    assert "needed: no earlier copy arrived" in said(found, "receiver")
    assert "tcp_retransmit_skb" in said(found, "kernel")
    assert "Recovery" in said(found, "kernel")


def test_every_retransmission_of_the_samples_has_a_story(sample: Path) -> None:
    analysis = mt.analyze(mt.read(sample))
    m = analysis.measurement
    table = m.table("retransmissions")
    own = table.where(table["source"] == m.snd)
    assert bool(len(own)) == (sample.name != "flow-control")
    for row in range(min(len(own), 40)):
        found = explain(analysis, packet=int(own["record"][row]))
        cause = CAUSES[int(own["cause"][row])]
        assert RULES[cause].name in found.title
        assert said(found, "evidence")
        for line in found.lines:
            assert all(1 <= record <= m.sources[found.source].records for record in line["records"])
        json.dumps(found.to_dict(), allow_nan=False)


def test_a_time_finds_the_same_retransmission() -> None:
    by_packet = story("link-resets-sack", packet=44)
    by_time = story("link-resets-sack", at_s=by_packet.t_s, conn=0)
    assert by_time.to_dict() == by_packet.to_dict()


def test_stall_by_a_full_window() -> None:
    found = story("spurious-timeouts", at_s=20.0)
    assert found.kind == "stall"
    assert "the advertised window was full" in said(found, "why")
    assert float(re.findall(r"for (\d+\.\d+) s", said(found, "stall"))[0]) > 1


def test_stall_before_a_timeout() -> None:
    timeout = story("spurious-timeouts", packet=149)
    found = story("spurious-timeouts", at_s=timeout.t_s - 0.3)
    assert found.record == 149
    assert found.kind == "stall"
    assert "waited for ACKs until it retransmitted" in said(found, "why")
    assert said(found, "verdict")


def test_ack_and_first_transmission() -> None:
    assert "acknowledges up to byte" in said(story("flow-control", packet=2), "says")
    data = story("flow-control", packet=4)
    assert data.kind == "data"
    assert "was sent once" in said(data, "copies")


def test_receivers_capture_alone_says_so() -> None:
    analysis = mt.analyze(mt.read(SAMPLES / "flow-control" / "rcv.pcap"))
    found = explain(analysis, packet=4)
    assert "not the sender's" in said(found, "seen from")
    assert "no capture of the other end" in said(found, "receiver")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({}, "needs --packet N or --at SECONDS"),
        ({"packet": 1, "at_s": 1.0}, "needs --packet N or --at SECONDS"),
        ({"packet": 10**9}, "there is no packet 1,000,000,000; it has 440 packets"),
        ({"packet": 1, "conn": 7}, "no connection 7"),
        ({"at_s": 1e6}, "sent nothing near that time"),
        ({"at_s": -50.0}, "sent nothing near that time"),
    ],
)
def test_requests_that_make_no_sense(wanted: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        story("flow-control", **wanted)


def test_rules_cover_all_causes_and_votes() -> None:
    assert set(RULES) == set(CAUSES) - {""}
    for meanings in VOTES.values():
        assert set(meanings) == set(WORDS) - {"abstains"}


def test_command(run: Run) -> None:
    done = run("explain", SAMPLES / "link-resets-sack", "--packet", 44)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Packet 44 at ")
    as_json = run("explain", SAMPLES / "link-resets-sack", "--packet", 44, "--json")
    found = json.loads(as_json.stdout)
    assert found["record"] == 44
    assert found["kind"] == "retransmission"


@pytest.mark.parametrize("words", [[], ["--at", "nan"], ["--packet", "0"], ["--at", "1", "--packet", "2"]])
def test_command_refuses(words: list[str], run: Run) -> None:
    assert run("explain", SAMPLES / "flow-control", *words).returncode == 2


def test_how_the_link_carried_a_packet(sample: Path) -> None:
    analysis = mt.analyze(mt.read(sample))
    m = analysis.measurement
    every = m.frame_map.frames
    every = every.where(every["source"] == m.snd)
    often, once = (int(every["record"][pick(every["attempts"])]) for pick in (np.argmax, np.argmin))
    for packet in (often, once):
        frames = every.where(every["record"] == packet)
        told = said(explain(analysis, packet=packet), "link")
        first, last = int(frames["frame_record"].min()), int(frames["last_record"].max())
        assert f"carried it in {len(frames)} frame" in told
        assert f"(rlp.log.gz, records {first:,} to {last:,})" in told
        again, most = int((frames["attempts"] > 1).sum()), int(frames["attempts"].max())
        words = f"{again} of these frames had to be retransmitted; one was transmitted up to {most} times"
        assert (words in told) == (again > 0)


def test_nothing_is_said_of_a_link_without_a_log() -> None:
    analysis = mt.analyze(mt.read(SAMPLES / "link-burst" / "snd.pcap"))
    assert said(explain(analysis, packet=40), "link") == ""
