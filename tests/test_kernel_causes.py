"""Where a kernel's log tells in which state TCP retransmitted, that is the cause."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support_samples import SAMPLES

import multitracer as mt

COUNTERS = {
    "fast": "TcpExtTCPFastRetrans",
    "slow_start": "TcpExtTCPSlowStartRetrans",
    "timeout": "TcpExtTCPTimeouts",
}


@pytest.mark.parametrize("name", ["backoff", "link-resets-sack", "link-resets-vj", "local-drops", "bbr"])
def test_causes_are_those_that_the_kernel_counted(name: str) -> None:
    counted = json.loads((SAMPLES / name / "kernel.json").read_text(encoding="utf-8"))
    kernel = counted.get("ms", counted)
    kernel = next(
        (one for one in kernel.values() if isinstance(one, dict) and "TcpRetransSegs" in one), kernel
    )
    analysis = mt.analyze(mt.read(SAMPLES / name))
    found = analysis.results["connections"].summary["connections"][0]["retransmissions"]
    for cause, counter in COUNTERS.items():
        assert found[cause] == kernel.get(counter, 0), cause
    assert found["unknown"] == 0


def test_tables_and_counts_change_together() -> None:
    """What the captures alone tell of `backoff` is what the kernel's log says."""
    folder = SAMPLES / "backoff"
    alone = mt.read(folder / "snd.pcap", folder / "rcv.pcap")
    logged = mt.read(folder)
    for m, unknown, fast in ((alone, 0, 4), (logged, 0, 4)):
        assert m.snd is not None
        counts = m.connections[0].summaries[m.snd]["forward"]["retransmissions"]
        assert (counts["unknown"], counts["fast"]) == (unknown, fast)
        for name in ("retransmissions", "segments"):
            rows = m.table(name)
            words = rows.words("cause")[rows["source"] == m.snd]
            assert np.count_nonzero(words == "unknown") == unknown
            assert np.count_nonzero(words == "fast") == fast
