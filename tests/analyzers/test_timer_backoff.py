"""The timer as the kernel has it: RTO without backoff, and how often it was doubled."""

from __future__ import annotations

import gzip
import re

from support_samples import SAMPLES

import multitracer as mt


def test_an_ack_of_what_was_sent_again_takes_no_backoff_back() -> None:
    """Without timestamps no RTT sample follows: `ss` says rto 1432, 2864 backoff 1, 5728 backoff 2."""
    text = gzip.decompress((SAMPLES / "backoff" / "ss.log.gz").read_bytes()).decode()
    timers = re.findall(r"rto:(\d+)(?: backoff:(\d+))?", text)
    kernel = [(int(rto), int(backoff or 0)) for rto, backoff in timers]
    found = mt.analyze(mt.read(SAMPLES / "backoff")).results["timeouts"].summary["timeouts"]
    in_force = [(round(one["rto_s"] * 1000 * 2 ** one["backoff"]), one["backoff"]) for one in found]
    assert [backoff for _, backoff in in_force] == [0, 1, 2, 0, 0]
    for rto_ms, backoff in in_force[:3]:
        assert any(abs(rto_ms - told) <= 1 and backoff == doubled for told, doubled in kernel), rto_ms
