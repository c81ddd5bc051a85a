"""The ARQ link as a monitor hears it: frames, answers, stations that leave, what the truth says beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_lab import SECOND, payload, run

from multitracer.lab.models import build_link
from multitracer.lab.radiotap import RadiotapWriter
from multitracer.model.errors import UsageError
from multitracer.model.trace import Trace
from multitracer.parsers.wifi import configured

BEGIN_NS = 1_700_000_000 * SECOND


def heard(path: Path, **settings: Any) -> tuple[Trace, Any]:
    """The capture of a simulated transfer of 300 packets, and its link."""
    packets = [(BEGIN_NS + n * 4_000_000, n % 3 // 2, payload(n, 200 + 9 * (n % 90))) for n in range(300)]
    given = {
        "model": "arq",
        "radiotap": True,
        "air": {"kind": "gilbert_elliott", "loss_good": 0.2},
    } | settings
    link = run(given, packets, limit_s=2e9).link
    frames = link.monitor.frames
    with RadiotapWriter(str(path), BEGIN_NS, frames.rate_bps, frames.ack_rate_bps) as writer:
        for frame in link.drain_frames():
            writer.write(frame.t_ns, frame.side, frame.data)
    return configured(str(path), {"retry_limit": link.settings.retry_limit}), link


def test_a_monitor_that_hears_all_tells_the_truth(tmp_path: Path) -> None:
    trace, link = heard(tmp_path / "wifi.pcap", retry_limit=2)
    counts, frames, events = link.truth.counts, trace.tables["link_frames"], trace.tables["link_events"]
    for side in (0, 1):
        sent = (frames["entity"] == side) & (frames.words("action") == "snd")
        assert int(sent.sum()) == counts["frames_sent"][side]
        assert int((sent & (frames["attempt"] > 0)).sum()) == counts["link_retransmissions"][side]
        gone = (events["entity"] == side) & (events.words("kind") == "discard")
        lost = [
            event for event in link.truth.events if event["what"] == "packet_lost" and event["side"] == side
        ]
        assert int(gone.sum()) == len(lost)
        radio = trace.tables["link_radio"]
        ours = int(radio["airtime_ns"][radio["entity"] == side].sum())
        assert abs(ours - counts["airtime_ns"][side]) < counts["frames_sent"][side]
    assert not trace.issues
    assert bool((np.diff(frames["t_ns"]) >= 0).all())


def test_what_the_monitor_misses_is_told_as_not_seen(tmp_path: Path) -> None:
    trace, link = heard(tmp_path / "wifi.pcap", monitor_loss=0.1)
    missed = link.truth.counts
    sent = trace.tables["link_frames"].words("action") == "snd"
    seen = (
        sum(missed["frames_sent"])
        - sum(missed["monitor_missed_first"])
        - sum(missed["monitor_missed_retries"])
    )
    assert int(sent.sum()) == seen
    assert [issue.code for issue in trace.issues] == ["not-seen"]
    assert not np.any(trace.tables["link_events"].words("kind") == "discard")


@pytest.mark.parametrize("cause", ["deauth", "roam"])
def test_a_station_that_leaves_and_returns(cause: str, tmp_path: Path) -> None:
    trace, link = heard(tmp_path / "wifi.pcap", leave_at_s=[0.3, 0.8], away_ms=120, leave_cause=cause)
    true = [event for event in link.truth.events if event["what"] == "reset"]
    events = trace.tables["link_events"]
    resets = np.flatnonzero(events.words("kind") == "reset")
    assert events.words("cause")[resets].tolist() == [event["cause"] for event in true] == [cause] * 2
    frames = trace.tables["link_frames"]
    for row, event in zip(resets.tolist(), true, strict=True):
        assert abs(int(events["t_ns"][row]) - event["t_ns"]) < 10_000_000
        inside = (frames["t_ns"] > event["t_ns"]) & (frames["t_ns"] < event["until_ns"])
        assert not np.any(inside)


def test_idle_times_are_in_the_truth(tmp_path: Path) -> None:
    _, link = heard(tmp_path / "wifi.pcap")
    idle = [event for event in link.truth.events if event["what"] == "idle_until"]
    assert {event["side"] for event in idle} == {0, 1}
    assert all(event["since_ns"] < event["t_ns"] for event in idle)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rate_bps": 3e6}, "no rate of 802.11"),
        ({"half_duplex": False}, "half_duplex"),
        ({"leave_cause": "bored"}, "leave_cause"),
        ({"monitor_loss": 1.5}, "monitor_loss"),
        ({"leave_at_s": [-1.0]}, "leave_at_s"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        build_link({"model": "arq", "radiotap": True, **settings}, 1)
