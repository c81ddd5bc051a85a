"""Every analysis runs with any subset of a measurement's files, and says what it lacks."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import pytest
from support_samples import SAMPLE_NAMES, SAMPLES

from multitracer import pipeline
from multitracer.alignment import align

FILES = ("snd.pcap", "rcv.pcap", "rlp.log.gz", "ss.log.gz", "tcp_probe.txt.gz")
SUBSETS = [
    subset for size in range(1, len(FILES) + 1) for subset in itertools.combinations(range(len(FILES)), size)
]
NEEDS_LINK = ("link_resets", "link_retransmissions", "flow_control", "local_drops", "frame_map")
NEEDS_CAPTURE = ("chains", "queueing", "diagnosis", "utilization", "throughput")


@pytest.fixture(scope="module")
def traces() -> dict[str, list[Any]]:
    return {name: [pipeline.open_trace(SAMPLES / name / file) for file in FILES] for name in SAMPLE_NAMES}


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
        assert bool(contract["diagnosis"]) == captured, have
        assert all(reason.strip() for reason in missing.values())
