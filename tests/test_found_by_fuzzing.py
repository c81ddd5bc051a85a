"""What `make fuzz` found, as small files: each ended in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support_samples import Run

from multitracer.diagnosis.findings import logs as findings

PING = """\
PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
[1700000000.100000] 64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=1.00 ms
[1700000001.100000] 64 bytes from 10.0.0.2: icmp_seq=2 ttl=64 time={0} ms
[1700000002.100000] 64 bytes from 10.0.0.2: icmp_seq=3 ttl=64 time={0} ms
[1700000003.100000] 64 bytes from 10.0.0.2: icmp_seq=4 ttl=64 time=2.00 ms
"""


@pytest.mark.parametrize("number", ["1e308", "9" * 300 + ".0", "9" * 25, "0"])
def test_round_trips_of_any_length(number: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "ping.log"
    path.write_text(PING.format(number), encoding="ascii")
    for words in (("analyze",), ("analyze", "--json")):
        with np.errstate(all="raise"):
            done = run(words[0], path, *words[1:])
        assert done.returncode in (0, 2, 3), done.stderr
        assert "Traceback" not in done.stderr
        if words[-1] == "--json" and not done.returncode:
            json.loads(done.stdout)


def test_a_smallest_round_trip_of_nothing_says_nothing_of_a_queue() -> None:
    rtt = {"kind": "rtt", "min": 0.0, "median": 500.0, "p95": 600.0, "kernel_min": None, "samples": 100}
    one = {"rtt_ms": rtt, "name": "ping"}
    assert not findings._queued(one)
    assert not findings._queued({"rtt_ms": rtt | {"min": 20.0, "kernel_min": 0.0}})
