"""Loss recoveries from captures: entry, exit, verdict, what is taken back, reordering, capped timeouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import Conversation
from support_samples import SAMPLES

import multitracer as mt
from multitracer.diagnosis.explain import explain
from multitracer.model.analysis import Result


def recoveries(path: Path) -> Result:
    return mt.analyze(mt.read(path), only=["recoveries"]).results["recoveries"]


def reordered(timestamps: bool = True) -> tuple[Conversation, int]:
    """The head of eight segments arrives late; it was sent again at 3102 ms meanwhile."""
    c = Conversation(timestamps=timestamps)
    c.handshake()
    seq = c.warm_up()
    for i in range(8):
        c.data(3000, seq + 1000 * i)
    c.ack(3101, seq, [(seq + 1000, seq + 5000)], echo_ms=2000)
    c.data(3102, seq)
    return c, seq


def test_a_needless_fast_retransmit(tmp_path: Path) -> None:
    c, seq = reordered()
    c.ack(3105, seq + 8000, echo_ms=3000)
    c.ack(3203, seq + 8000, [(seq, seq + 1000)], echo_ms=3000)
    result = recoveries(c.write(tmp_path / "c.pcap"))
    assert {key: result.summary[key] for key in ("total", "spurious", "genuine")} == {
        "total": 1,
        "spurious": 1,
        "genuine": 0,
    }
    (episode,) = result.summary["episodes"]
    assert (episode["cause"], episode["trigger"], episode["undone"]) == ("fast", "sack", "full")
    assert (episode["entry"], episode["recover"]) == (seq, seq + 8000)
    assert episode["votes"] == {"too_early": "spurious", "dsack": "spurious", "eifel": "spurious"}
    assert (episode["duration_s"], episode["end_record"]) == (pytest.approx(0.003), len(c.packets) - 1)


def test_a_needed_fast_retransmit(tmp_path: Path) -> None:
    c, seq = reordered()
    c.ack(3203, seq + 8000, echo_ms=3102)
    (episode,) = recoveries(c.write(tmp_path / "c.pcap")).summary["episodes"]
    assert (episode["verdict"], episode["votes"]) == ("genuine", {"eifel": "genuine"})
    assert episode["undone"] is None


def test_without_evidence_nothing_is_guessed(tmp_path: Path) -> None:
    c, seq = reordered(timestamps=False)
    c.ack(3210, seq + 8000)
    (episode,) = recoveries(c.write(tmp_path / "c.pcap")).summary["episodes"]
    assert (episode["verdict"], episode["votes"]) == ("inconclusive", {})


def test_a_capture_without_loss_has_none(tmp_path: Path) -> None:
    c = Conversation()
    c.handshake()
    c.warm_up()
    result = recoveries(c.write(tmp_path / "c.pcap"))
    assert result.inconclusive is None
    assert (result.summary["total"], result.summary["directions"], result.summary["episodes"]) == (0, [], [])


def test_reordering_is_counted_where_nothing_was_sent_again(tmp_path: Path) -> None:
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    for i in range(4):
        c.data(3000, seq + 1000 * i)
    c.ack(3100, seq, [(seq + 1000, seq + 4000)])
    c.ack(3101, seq + 4000)
    (direction,) = recoveries(c.write(tmp_path / "c.pcap")).summary["directions"]
    assert direction["reordering"] == {"by_sack": 1, "by_timestamp": 0, "extent_bytes": 4000}
    assert direction["episodes"] == 0


def capped() -> Conversation:
    """Round trips of 4 s, and a timer that never waits longer than 3.07 s."""
    c = Conversation()
    c.handshake()
    for i in range(4):
        c.data(5000 * i + 200, 1 + 1000 * i)
        c.ack(5000 * i + 4200, 1001 + 1000 * i)
    for i in range(3):
        c.data(20_000, 4001 + 1000 * i)
    for t_ms in (23_070, 26_140, 29_210):
        c.data(t_ms, 4001)
    return c


def test_a_low_cap_on_the_timeout_is_told_with_its_evidence(tmp_path: Path) -> None:
    path = capped().write(tmp_path / "c.pcap")
    analysis = mt.analyze(mt.read(path))
    (direction,) = analysis.results["recoveries"].summary["directions"]
    found: dict[str, Any] = direction["rto_max"]
    assert (found["at_most_s"], found["waits"]) == (3.07, 3)
    assert found["estimated_s"] > 4
    events = analysis.results["timeouts"].summary["timeouts"]
    assert [event["rto_max_s"] for event in events] == [None, 3.07, 3.07]
    assert all(event["waited_s"] == 3.07 for event in events)
    last = events[-1]["record"]
    told = " ".join(line["text"] for line in explain(analysis, packet=last).lines)
    assert "lets it grow to 3.070 s at most" in told


def test_lost_acks_make_a_timeout_needed_though_the_data_was_there() -> None:
    """Packet 200 answers packet 199, reports it as a duplicate and echoes an old timestamp."""
    analysis = mt.analyze(mt.read(SAMPLES / "link-resets-sack"))
    (event,) = analysis.results["timeouts"].summary["timeouts"]
    assert (event["record"], event["verdict"]) == (199, "genuine")
    assert event["votes"]["ack_path"] == "genuine"
    assert "eifel" not in event["votes"]
    episodes = analysis.results["recoveries"].summary["episodes"]
    (timer,) = [one for one in episodes if one["cause"] == "timeout"]
    assert (timer["verdict"], timer["undone"]) == ("genuine", "loss"), "the kernel was misled: TCPLossUndo 1"


def test_the_receivers_capture_overrides_an_inference() -> None:
    analysis = mt.analyze(mt.read(SAMPLES / "local-drops"))
    result = analysis.results["recoveries"]
    assert (result.summary["total"], result.summary["genuine"]) == (4, 4)
    assert all(one["votes"]["receiver"] == "genuine" for one in result.summary["episodes"])
    alone = mt.analyze(mt.read(SAMPLES / "local-drops" / "snd.pcap")).results["recoveries"]
    assert alone.summary["genuine"] == 4
    assert all("receiver" not in one["votes"] for one in alone.summary["episodes"])


def test_explain_tells_the_episode_and_the_verdict() -> None:
    found = explain(mt.analyze(mt.read(SAMPLES / "link-resets-sack")), packet=44)
    text = {about: " / ".join(one["text"] for one in found.lines if one["about"] == about) for about in
            ("episode", "verdict", "vote")}  # fmt: skip
    assert "started by the delivery of something sent later (RFC 8985)" in text["episode"]
    assert "packet 57 ended it, 9.500 s after it began" in text["episode"]
    assert text["verdict"].startswith("it was needed")
    assert "eifel: genuine" in text["vote"]
