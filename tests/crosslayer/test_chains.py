"""Chains of the samples: everything is charged once, events follow from each other, costs add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support_samples import SAMPLE_NAMES, SAMPLES

import multitracer as mt
from multitracer.results import Analysis


@pytest.fixture(scope="module")
def analyses() -> dict[str, Analysis]:
    return {name: mt.analyze(mt.read(SAMPLES / name)) for name in SAMPLE_NAMES}


def chains(analysis: Analysis, kind: str) -> list[dict[str, Any]]:
    return [chain for chain in analysis.results["chains"].summary["chains"] if chain["kind"] == kind]


def events(chain: dict[str, Any], what: str) -> list[dict[str, Any]]:
    return [event for event in chain["events"] if event["what"] == what]


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_every_timeout_and_repeat_has_a_chain(name: str, analyses: dict[str, Analysis]) -> None:
    links = analyses[name].results["chains"].tables["chain_links"]
    behind = links.where(np.isin(links["what"].astype(str), ["timeout", "repeat"]))
    assert np.all(behind["chain"] > 0)


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_idle_time_and_duplicates_are_charged_once(name: str, analyses: dict[str, Analysis]) -> None:
    results = analyses[name].results
    links = results["chains"].tables["chain_links"]
    phases = results["idle_phases"].tables["idle_phases"]
    idle = links.where(links["what"] == "idle")
    assert sorted(idle["t_ns"].tolist()) == sorted(phases["t_ns"].tolist())
    charged = np.isin(phases["t_ns"], idle["t_ns"][idle["chain"] > 0])
    table = results["chains"].tables["chains"]
    assert table["idle_ns"].sum() == (phases["end_ns"] - phases["t_ns"])[charged].sum()
    assert table["duplicate"].sum() == results["utilization"].summary["duplicate_bytes"]


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_events_follow_from_earlier_ones_by_a_rule(name: str, analyses: dict[str, Analysis]) -> None:
    for chain in analyses[name].results["chains"].summary["chains"]:
        assert chain["events"], chain
        for event in chain["events"]:
            assert event["rule"]
            assert (event["parent"] or 0) < event["event"]


def test_the_three_resets_with_compression(analyses: dict[str, Analysis]) -> None:
    found = chains(analyses["link-resets-vj"], "link_reset")
    assert [len(events(chain, "segment_lost")) for chain in found] == [2, 7, 2]
    assert [len(events(chain, "segment_ruined")) for chain in found] == [8, 0, 14]
    assert [len(events(chain, "timeout")) for chain in found] == [1, 1, 1]
    assert sum(len(events(chain, "slow_start")) for chain in found) == 3
    cut = events(found[0], "segment_lost")[0]
    assert (cut["record"], cut["frames"]) == (108, "2910-3102")
    assert "446 bytes" in cut["rule"]


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_chains_and_resets_count_the_same_losses(name: str, analyses: dict[str, Analysis]) -> None:
    resets = analyses[name].results["link_resets"].summary.get("resets", [])
    found = chains(analyses[name], "link_reset")
    assert len(found) == len(resets)
    for reset, chain in zip(resets, found, strict=True):
        counted = [reset[key] for key in ("segments_lost", "acks_lost", "segments_discarded")]
        assert counted == [
            len(events(chain, what)) for what in ("segment_lost", "ack_lost", "segment_ruined")
        ]


def test_a_burst_that_fires_a_timer_and_bursts_that_do_not(analyses: dict[str, Analysis]) -> None:
    found = chains(analyses["spurious-timeouts"], "link_burst")
    fired = [chain for chain in found if events(chain, "timeout")]
    assert len(fired) == 1
    assert "spurious" in events(fired[0], "timeout")[0]["rule"]
    assert all(events(chain, "no_timeout") for chain in found if chain is not fired[0])


def test_drops_and_their_recovery(analyses: dict[str, Analysis]) -> None:
    found = chains(analyses["local-drops"], "local_drop")
    assert sum(len(events(chain, "drop")) for chain in found) == 10
    assert sum(chain["duplicate_bytes"] for chain in found) == 4600


def test_an_inflated_timer_names_what_it_would_have_been(analyses: dict[str, Analysis]) -> None:
    found = chains(analyses["link-resets-vj"], "queue_timeout")
    assert len(found) == 3
    assert all(chain["silence_s"] > 9 for chain in found)


def test_xoff_and_the_round_trip_behind_it(analyses: dict[str, Analysis]) -> None:
    (chain,) = chains(analyses["flow-control"], "xoff")
    assert len(events(chain, "xoff")) == 26
    assert len(events(chain, "rtt")) > 20


def test_ruined_segments_are_known_from_a_cut_capture_too(tmp_path: Any) -> None:
    """Without checksums to verify: by what the receiver never acknowledged."""
    sample = SAMPLES / "link-resets-vj"
    paths = []
    for name in ("snd.pcap", "rcv.pcap"):
        raw, out, at = (sample / name).read_bytes(), bytearray(), 24
        out += raw[:24]
        while at + 16 <= len(raw):
            kept = int.from_bytes(raw[at + 8 : at + 12], "little")
            short = min(kept, 96)
            out += raw[at : at + 8] + short.to_bytes(4, "little") + raw[at + 12 : at + 16]
            out += raw[at + 16 : at + 16 + short]
            at += 16 + kept
        (tmp_path / name).write_bytes(out)
        paths.append(tmp_path / name)
    analysis = mt.analyze(mt.read(*paths, sample / "rlp.log.gz"))
    found = chains(analysis, "link_reset")
    assert [len(events(chain, "segment_ruined")) for chain in found] == [8, 0, 14]
    assert [len(events(chain, "segment_lost")) for chain in found] == [2, 7, 2]
    assert "never acknowledged" in events(found[0], "segment_ruined")[0]["rule"]
