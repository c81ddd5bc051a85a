"""Every analysis runs with any subset of a measurement's files, and says what it lacks."""

from __future__ import annotations

import copy
import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from support_samples import SAMPLE_NAMES, SAMPLES

from multitracer.api import pipeline
from multitracer.api.measurement import align
from multitracer.reading.opening import open_trace

FILES = ("snd.pcap", "rcv.pcap", "rlp.log.gz", "ss.log.gz", "tcp_probe.txt.gz")
SHARE = 0.34  # of each file: the first reset of `link-resets-vj` is over by then
SUBSETS = [
    subset for size in range(1, len(FILES) + 1) for subset in itertools.combinations(range(len(FILES)), size)
]
NEEDS_LINK = ("link_resets", "link_retransmissions", "flow_control", "local_drops", "frame_map")
NEEDS_CAPTURE = ("chains", "queueing", "utilization", "throughput")
KERNEL_LOGS = {"ss.log.gz", "tcp_probe.txt.gz"}


def head(path: Path, folder: Path) -> Path:
    """The first part of a sample's file: with all that the samples show, and quick to align 31 times."""
    target = folder / path.name.removesuffix(".gz")
    if path.suffix == ".pcap":
        raw, at, ends = path.read_bytes(), 24, [24]
        while at + 16 <= len(raw):
            at += 16 + int.from_bytes(raw[at + 8 : at + 12], "little")
            ends.append(at)
        target.write_bytes(raw[: ends[round(SHARE * (len(ends) - 1))]])
    else:
        with gzip.open(path, "rt") as file:
            lines = file.readlines()
        target.write_text("".join(lines[: round(SHARE * len(lines))]))
    return target


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    folders = {name: tmp_path_factory.mktemp(name) for name in SAMPLE_NAMES}
    return {
        name: [open_trace(head(SAMPLES / name / file, folders[name])) for file in FILES]
        for name in SAMPLE_NAMES
    }


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_any_subset(name: str, traces: dict[str, list[Any]]) -> None:
    for subset in SUBSETS:
        chosen = [copy.deepcopy(traces[name][index]) for index in subset]
        analysis = pipeline.analyze(align(chosen, {}))
        contract = analysis.to_dict()
        json.dumps(contract, allow_nan=False)
        missing = contract["inconclusive"]
        have = {FILES[index] for index in subset}
        captured = bool(have & {"snd.pcap", "rcv.pcap"})
        for question in NEEDS_LINK if "rlp.log.gz" not in have else ():
            assert "link log" in missing[question] or "capture" in missing[question], (have, question)
        for question in NEEDS_CAPTURE if not captured else ():
            assert "capture" in missing[question] or "TCP" in missing[question], (have, question)
        # A kernel's log alone is an answer, too.
        assert bool(contract["diagnosis"]) == (captured or bool(have & KERNEL_LOGS)), have
        if not contract["diagnosis"]:
            assert "TCP" in missing["diagnosis"], have
        assert all(reason.strip() for reason in missing.values())
