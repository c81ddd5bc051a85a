"""Loss recovery rule by rule, each in a conversation where only that rule decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_conversation import CWR, ECE, FIN, Conversation, sender

from multitracer.model.schema import ACK_KINDS, CAUSES, VERDICTS, VOTES


def again(found: dict[str, Any]) -> list[tuple[int, str]]:
    """First byte and cause of what was sent again."""
    rows = found["retransmissions"]
    return [(int(seq), CAUSES[int(cause)]) for seq, cause in zip(rows["seq"], rows["cause"], strict=True)]


def talk(**options: Any) -> tuple[Conversation, int]:
    """A warmed-up conversation with five segments out at 3000 ms, and the first byte of them."""
    c = Conversation(**options)
    c.handshake()
    seq = c.warm_up()
    for i in range(5):
        c.data(3000 + i, seq + 1000 * i)
    return c, seq


def kinds(found: dict[str, Any]) -> list[str]:
    rows = found["segments"]
    return [ACK_KINDS[int(kind)] for kind in rows["ack_kind"][rows["dir"] == 1]]


# SACK scoreboard (RFC 2018, 6675)


def test_scoreboard_holds_what_is_above_the_cumulative_point(tmp_path: Path) -> None:
    c, seq = talk()
    c.ack(3100, seq, [(seq + 1000, seq + 2000)])
    c.ack(3101, seq, [(seq + 3000, seq + 4000), (seq + 1000, seq + 2000)])
    c.ack(3102, seq, [(seq + 3000, seq + 5000), (seq + 1000, seq + 2000)])
    c.data(3103, seq)
    c.ack(3203, seq + 2000, [(seq + 3000, seq + 5000)])
    c.data(3204, seq + 2000)
    found = c.read(tmp_path / "c.pcap")
    assert again(found) == [(seq, "fast"), (seq + 2000, "fast")]
    assert found["retransmissions"]["sacked"].tolist() == [3000, 2000]
    assert sender(found)["sack_segments"] == 4


def test_sack_of_what_was_never_sent_is_ignored(tmp_path: Path) -> None:
    c, seq = talk()
    c.ack(3100, seq, [(seq + 8000, seq + 9000)])
    c.data(3100.1, seq)
    found = c.read(tmp_path / "c.pcap")
    assert again(found) == [(seq, "unknown")], "no evidence of a loss"
    assert found["retransmissions"]["sacked"].tolist() == [0]


@pytest.mark.parametrize(
    "above", [[], [(3000, 5000)]], ids=["below the cumulative point", "inside the second block"]
)
def test_duplicate_sack_in_either_form(above: list[tuple[int, int]], tmp_path: Path) -> None:
    """RFC 2883 section 4: the first block reports what came twice."""
    c, seq = talk()
    blocks = [(seq + left, seq + right) for left, right in above]
    twice = (seq + 3000, seq + 4000) if above else (seq, seq + 1000)
    c.ack(3100, seq + 1000, blocks)
    c.ack(3110, seq + 1000, [twice, *blocks])
    assert sender(c.read(tmp_path / "c.pcap"))["dsacks"] == 1


# episodes, RACK, PRR, limited transmit


def test_two_losses_of_one_window_are_one_episode_and_later_ones_another(tmp_path: Path) -> None:
    c, seq = talk()
    c.ack(3100, seq, [(seq + 1000, seq + 2000), (seq + 3000, seq + 5000)])
    c.data(3101, seq)
    c.data(3102, seq + 2000)
    c.ack(3202, seq + 5000)
    for i in range(5, 10):
        c.data(3300 + i, seq + 1000 * i)
    c.ack(3410, seq + 5000, [(seq + 6000, seq + 10000)])
    c.data(3411, seq + 5000)
    c.ack(3511, seq + 10000)
    found = c.read(tmp_path / "c.pcap")
    assert [cause for _, cause in again(found)] == ["fast"] * 3
    assert found["retransmissions"]["episode"].tolist() == [1, 1, 2]


def test_a_lost_retransmission_is_found_by_what_was_sent_after_it(tmp_path: Path) -> None:
    """RACK (RFC 8985): no counting of duplicate ACKs can tell that a retransmission was lost.

    The timer, 300 ms after the first retransmission, would be due too: what was sent after it decides.
    """
    c, seq = talk()
    c.ack(3100, seq, [(seq + 1000, seq + 5000)])
    c.data(3101, seq)
    c.data(3290, seq + 5000)
    c.ack(3391, seq, [(seq + 1000, seq + 6000)])
    c.data(3392, seq)
    c.ack(3492, seq + 6000)
    found = c.read(tmp_path / "c.pcap")
    assert again(found) == [(seq, "fast"), (seq, "fast")]
    assert found["retransmissions"]["transmission"].tolist() == [2, 3]
    assert len(found["timeouts"]["t_ns"]) == 0


def test_one_ack_may_release_a_burst(tmp_path: Path) -> None:
    """Proportional rate reduction (RFC 6937): several at once, all of them fast retransmits."""
    c, seq = talk()
    for i in range(5, 8):
        c.data(3005 + i, seq + 1000 * i)
    c.ack(3100, seq, [(seq + 5000, seq + 8000)])
    for i in range(5):
        c.data(3100.1 + i / 10, seq + 1000 * i)
    c.ack(3201, seq + 8000)
    found = c.read(tmp_path / "c.pcap")
    assert again(found) == [(seq + 1000 * i, "fast") for i in range(5)]
    assert set(found["retransmissions"]["episode"].tolist()) == {1}


def test_limited_transmit_is_new_data(tmp_path: Path) -> None:
    """RFC 3042: the first two duplicate ACKs let one new segment go each, the third the retransmission."""
    c, seq = talk(sack=False)
    for i in range(2):
        c.ack(3100 + i, seq)
        c.data(3100.1 + i, seq + 1000 * (5 + i))
    c.ack(3102, seq)
    c.data(3102.1, seq)
    c.ack(3202, seq + 7000)
    found = c.read(tmp_path / "c.pcap")
    assert again(found) == [(seq, "fast")]
    assert found["retransmissions"]["dupacks"].tolist() == [3]
    assert sender(found)["new_data_probes"] == 0
    assert sender(found)["unique_bytes"] == 17_000


def test_congestion_without_loss(tmp_path: Path) -> None:
    """ECN (RFC 3168): marks and echoes are counted, and nothing is called lost."""
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    for i in range(4):
        c.data(3000 + i, seq + 1000 * i, ecn=3 if i == 1 else 2)
    for i in range(4):
        c.ack(3100 + i, seq + 1000 * (i + 1), flags=ECE if 1 <= i < 3 else 0)
    c.data(3104, seq + 4000, flags=CWR, ecn=2)
    c.ack(3204, seq + 5000)
    found = c.read(tmp_path / "c.pcap")
    assert again(found) == []
    assert sender(found)["ce"] == 1
    assert found["connections"][0]["reverse"]["ece"] == 2


# timers


def test_tail_loss_probe_with_new_data(tmp_path: Path) -> None:
    """RFC 8985 section 7.3: a new segment, if there is one, is the probe."""
    c, seq = talk()
    c.data(3214, seq + 5000)
    c.ack(3314, seq + 6000)
    found = c.read(tmp_path / "c.pcap")
    assert again(found) == []
    assert sender(found)["new_data_probes"] == 1


def test_no_probe_without_sack(tmp_path: Path) -> None:
    """The same silence and the same segment: without SACK only the timer is left."""
    c, seq = talk(sack=False)
    c.data(3310, seq)
    c.ack(3410, seq + 5000)
    assert again(c.read(tmp_path / "c.pcap")) == [(seq, "timeout")]


def test_timeout_is_known_by_the_floor_of_200_ms(tmp_path: Path) -> None:
    """Round trips of 2 ms: the timer is 202 ms, far from three round trips (Linux; RFC 6298 says 1 s)."""
    c = Conversation(sack=False)
    c.handshake(rtt_ms=2)
    for i in range(30):
        c.data(10 + 5 * i, 1 + 1000 * i)
        c.ack(12 + 5 * i, 1001 + 1000 * i)
    c.data(500, 30_001)
    c.data(703, 30_001)
    c.ack(705, 31_001)
    found = c.read(tmp_path / "c.pcap")
    assert again(found) == [(30_001, "timeout")]
    assert found["timeouts"]["rto_ns"][0] == pytest.approx(202e6, rel=0.02)
    assert found["timeouts"]["silence_ns"][0] == 203_000_000


def test_backoff_steps(tmp_path: Path) -> None:
    c, seq = talk(sack=False)
    for t_ms in (3310, 3910, 5110, 7510):
        c.data(t_ms, seq)
    c.ack(7610, seq + 5000)
    found = c.read(tmp_path / "c.pcap")
    assert again(found) == [(seq, "timeout")] * 4
    assert found["timeouts"]["backoff"].tolist() == [0, 1, 2, 3]
    assert found["retransmissions"]["transmission"].tolist() == [2, 3, 4, 5]


def test_timer_in_recovery_without_sack(tmp_path: Path) -> None:
    """NewReno (RFC 6582): only the timer finds a lost retransmission, however many duplicate ACKs come."""
    c, seq = talk(sack=False)
    end = seq + 5000
    for i in range(3):
        c.ack(3100 + i, seq)
    c.data(3102.1, seq)
    for i in range(30):  # each segment that leaves the network lets a new one in
        c.ack(3110 + 10 * i, seq)
        c.data(3110.1 + 10 * i, end)
        end += 1000
    c.data(3405, seq)  # 303 ms after the retransmission, 5 ms after an ACK
    c.ack(3505, seq + 2000)
    c.data(3505.1, seq + 2000)
    c.ack(3605, end)
    found = c.read(tmp_path / "c.pcap")
    assert again(found) == [(seq, "fast"), (seq, "timeout"), (seq + 2000, "slow_start")]


@pytest.mark.parametrize(
    ("second", "vote"), [("new", "spurious"), ("duplicate", "genuine"), ("sent again", "abstains")]
)
def test_f_rto(second: str, vote: str, tmp_path: Path) -> None:
    """RFC 5682: after the timer the head alone goes again, then new data; the second ACK decides."""
    c, seq = talk(sack=False)
    c.data(3310, seq)
    c.ack(3420, seq + 1000)
    if second == "sent again":
        c.data(3421, seq + 1000)
    else:
        c.data(3421, seq + 5000)
        c.data(3421.5, seq + 6000)
    c.ack(3430, seq + (1000 if second == "duplicate" else 2000))
    c.ack(3600, seq + 7000)
    found = c.read(tmp_path / "c.pcap")
    assert [VOTES[int(code)] for code in found["timeouts"]["frto"]] == [vote]


def test_f_rto_says_nothing_behind_a_first_duplicate(tmp_path: Path) -> None:
    """RFC 5682, step 2a: others of the flight are missing, too; this one may have been late only."""
    c, seq = talk(sack=False)
    c.data(3310, seq)
    c.ack(3350, seq)
    c.ack(3420, seq + 1000)
    c.data(3421, seq + 5000)
    c.ack(3430, seq + 1000)
    c.ack(3600, seq + 6000)
    found = c.read(tmp_path / "c.pcap")
    assert [VOTES[int(code)] for code in found["timeouts"]["frto"]] == ["abstains"]


@pytest.mark.parametrize(("echo_ms", "vote"), [(3000, "spurious"), (3310, "genuine")])
def test_eifel(echo_ms: int, vote: str, tmp_path: Path) -> None:
    """RFC 3522: the first ACK that covers it echoes the stamp of the original, or of the copy."""
    c, seq = talk(timestamps=True, sack=False)
    c.data(3310, seq)
    c.ack(3450, seq + 1000, echo_ms=echo_ms)
    found = c.read(tmp_path / "c.pcap")
    assert [VOTES[int(code)] for code in found["timeouts"]["eifel"]] == [vote]
    assert sender(found)["timeouts"][vote] == 1


def test_fin_sent_again_by_the_timer(tmp_path: Path) -> None:
    c = Conversation(sack=False)
    c.handshake()
    seq = c.warm_up()
    c.segment(3000, True, seq, 1, FIN)
    c.segment(3310, True, seq, 1, FIN)
    c.ack(3410, seq + 1)
    found = c.read(tmp_path / "c.pcap")
    assert again(found) == [(seq, "timeout")]
    assert sender(found)["duplicate_bytes"] == 0
    assert sender(found)["fin"] == 2


def test_verdict_words_of_the_summary(tmp_path: Path) -> None:
    c, seq = talk(sack=False)
    c.data(3310, seq)
    found = c.read(tmp_path / "c.pcap")
    counts = sender(found)["timeouts"]
    assert counts == {"total": 1, "inconclusive": 1, "spurious": 0, "genuine": 0}
    assert set(counts) - {"total"} == set(VERDICTS)


# duplicate ACKs (RFC 5681 section 2)


def by_rule(rule: str, c: Conversation, seq: int) -> None:
    """After one ACK for the first of five segments: the next one breaks one rule, or none."""
    if rule == "nothing outstanding":
        c.ack(3101, seq + 5000)
        c.ack(3102, seq + 5000)
    elif rule == "carries data":
        c.ack(3101, seq + 1000, payload=b"hello")
    elif rule == "is a FIN":
        c.ack(3101, seq + 1000, flags=FIN)
    elif rule == "is not the highest":
        c.ack(3101, seq)
    elif rule == "changes the window":
        c.ack(3101, seq + 1000, window=50_000)
    else:
        c.ack(3101, seq + 1000)


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("none broken", "duplicate"),
        ("nothing outstanding", "repeat"),
        ("carries data", "repeat"),
        ("is a FIN", "repeat"),
        ("is not the highest", "old"),
        ("changes the window", "window_update"),
    ],
)
def test_the_five_rules_of_a_duplicate_ack(rule: str, kind: str, tmp_path: Path) -> None:
    c, seq = talk(sack=False)
    c.ack(3100, seq + 1000)
    by_rule(rule, c, seq)
    found = c.read(tmp_path / "c.pcap")
    assert kinds(found)[-1] == kind
    assert sender(found)["duplicate_acks"] == (1 if rule == "none broken" else 0)
    assert sender(found)["window_updates"] == (1 if rule == "changes the window" else 0)


def test_round_trips_leave_out_what_was_sent_twice(tmp_path: Path) -> None:
    """Karn's rule: the ACK after a retransmission measures nothing."""
    c, seq = talk(sack=False)
    c.data(3310, seq)
    c.ack(3412, seq + 5000)
    found = c.read(tmp_path / "c.pcap")
    rows = found["segments"]
    assert rows["rtt_ns"][-1] == -1
    assert sender(found)["rtt"]["samples"] == 11, "the SYN and ten segments"
    assert sender(found)["rtt"]["max_ns"] == 100_000_000
