"""A capture summed up says the same of its connections as one that is kept whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import multitracer as mt
from multitracer.cli.main import group
from multitracer.native import memory

SAMPLES = sorted(Path(__file__).parent.parent.glob("sample_traces/*/snd.pcap"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.parent.name)
def test_connections_are_the_same(path: Path) -> None:
    whole = mt.analyze(mt.read(path)).to_dict()
    summed = mt.analyze(mt.read(path, detail="summary")).to_dict()
    assert (whole["detail"], summed["detail"]) == ("full", "summary")
    assert summed["sources"][0]["point"] == whole["sources"][0]["point"] == "snd"
    for one, other in zip(whole["connections"], summed["connections"], strict=True):
        for key in (
            "endpoints",
            "bytes",
            "packets",
            "retransmissions",
            "rtt_ms",
            "start",
            "end",
            "data_direction",
        ):
            assert one[key] == other[key], key
        assert one["timeouts"]["total"] == other["timeouts"]["total"]


def test_what_stays_open_is_said() -> None:
    summed = mt.analyze(mt.read(SAMPLES[0], detail="summary"))
    assert "--full" in str(summed["throughput"].inconclusive)
    assert summed["link_resets"].inconclusive == "needs a link log"


def test_the_user_decides() -> None:
    for flag, detail in (("--full", "full"), ("--summary", "summary")):
        outcome = CliRunner().invoke(group, ["analyze", "--json", flag, str(SAMPLES[0])])
        assert outcome.exit_code == 0, outcome.output
        assert json.loads(outcome.output)["detail"] == detail


def test_large_files_are_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multitracer.api.pipeline.SUMMARY_BYTES", 1000)
    assert mt.read(SAMPLES[0], detail="auto").summarised
    assert not mt.read(SAMPLES[0].parent, detail="auto").summarised
    assert not mt.read(SAMPLES[0]).summarised


def test_a_large_file_whose_segments_are_kept_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(*given: object) -> None:
        raise AssertionError("read once more, to count its connections")

    monkeypatch.setattr("multitracer.api.pipeline.SUMMARY_BYTES", 1000)
    monkeypatch.setattr("multitracer.api.pipeline.summarised", twice)
    assert len(mt.read(SAMPLES[0], detail="bounded").table("segments"))


@pytest.mark.parametrize(("many", "given_back"), [(10**9, 0), (10, 1)])
def test_memory_of_reading_is_given_back_where_it_was_much(
    monkeypatch: pytest.MonkeyPatch, many: int, given_back: int
) -> None:
    done: list[int] = []
    give_back = memory.give_back

    def noted() -> None:
        done.append(1)
        give_back()

    monkeypatch.setattr(memory, "MANY", many)
    monkeypatch.setattr(memory, "give_back", noted)
    assert len(mt.open_trace(SAMPLES[0]).tables["segments"]) > 10
    assert len(done) == given_back
    measurement = mt.read(SAMPLES[0])
    done.clear()
    mt.analyze(measurement)
    assert bool(done) == bool(given_back)
