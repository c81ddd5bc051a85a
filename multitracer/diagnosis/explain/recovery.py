"""Sentences about a loss recovery: its episode, whether it was needed, the timer behind it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.diagnosis.explain.rules import RULES, VOTES, span_text
from multitracer.model import schema
from multitracer.model.quantities import voter
from multitracer.model.table import Table

_TRIGGERS = {
    "timer": "the retransmission timer (RFC 6298)",
    "duplicate_acks": "duplicate ACKs (RFC 5681)",
    "sack": "selective acknowledgments above it, three segments or more (RFC 6675)",
    "rack": "the delivery of something sent later (RFC 8985)",
}
_UNDONE = {
    "loss": "a Linux sender restores cwnd (TCPLossUndo): an ACK echoed a timestamp from before the "
    "retransmission, or the receiver reported every retransmission as a duplicate",
    "frto": "a Linux sender restores cwnd by F-RTO (TCPSpuriousRTOs), unless that is off",
    "full": "a Linux sender restores cwnd at the end of recovery (TCPFullUndo)",
    "partial": "a Linux sender restores cwnd during recovery (TCPPartialUndo)",
    "dsack": "a Linux sender restores cwnd (TCPDSACKUndo): the receiver reported every "
    "retransmission as a duplicate",
}
_VOTERS = ("too_early", "dsack", "eifel")


def episode_sentences(episodes: Table, number: int) -> Iterator[tuple[str, int]]:
    """What began, ended and judged an episode of a direction, with the packet that shows it."""
    found = np.flatnonzero(episodes["episode"] == number)
    if not len(found):
        return
    row = int(found[0])
    trigger = schema.TRIGGERED_BY[int(episodes["trigger"][row])]
    entry, recover = int(episodes["entry"][row]), int(episodes["recover"][row])
    yield (
        f"started by {_TRIGGERS[trigger]}, with all before byte {entry:,} acknowledged; "
        f"it ends when all before byte {recover:,} is",
        int(episodes["record"][row]),
    )
    end_record, lasted_ns = int(episodes["end_record"][row]), int(episodes["duration_ns"][row])
    if end_record:
        yield f"packet {end_record:,} ended it, {span_text(lasted_ns)} after it began", end_record
    undone = schema.UNDONE[int(episodes["undone"][row])]
    if undone:
        yield _UNDONE[undone], end_record


def verdict_sentences(retransmissions: Table, row: int) -> Iterator[tuple[str, str, int]]:
    """Whether one retransmission was needed, by the sender's capture alone: heading, sentence, packet."""
    alternative = schema.CAUSES[int(retransmissions["alternative"][row])]
    if alternative:
        yield (
            "or",
            f"{RULES[alternative].name}: the same packets fit both, and nothing that followed decides",
            0,
        )
    verdict = schema.VERDICTS[int(retransmissions["verdict"][row])]
    answer = int(retransmissions["answer_record"][row])
    decided = f"; packet {answer:,} answered it" if answer else ""
    reasons = {
        "spurious": f"it was spurious: an earlier copy had arrived{decided}",
        "genuine": f"it was needed: the ACK acknowledges this transmission{decided}",
        "inconclusive": f"no ACK shows whether it was needed{decided}",
    }
    yield "verdict", reasons[verdict], answer
    for name in _VOTERS:
        vote = schema.VOTES[int(retransmissions[name][row])]
        if vote != "abstains":
            yield "vote", f"{voter(name)}: {vote}; {VOTES[name][vote]}", 0


def timer_sentence(timeouts: Table, row: int) -> str:
    """How long the timer ran, against what was estimated, and whether the stack caps it."""
    backoff = int(timeouts["backoff"][row])
    times = f", doubled {backoff} times" if backoff > 1 else ", doubled once" if backoff else ""
    rto_ns, waited_ns = int(timeouts["rto_ns"][row]), int(timeouts["waited_ns"][row])
    text = f"the sender had been idle for {span_text(int(timeouts['silence_ns'][row]))}"
    if rto_ns >= 0:
        text += f"; the timer was {span_text(rto_ns)}{times}"
        if abs(waited_ns - (rto_ns << backoff)) > (rto_ns << backoff) // 5:
            text += f", and had run for {span_text(waited_ns)}"
    rto_max_ns = int(timeouts["rto_max_ns"][row])
    if rto_max_ns >= 0:
        text += f"; this stack lets it grow to {span_text(rto_max_ns)} at most (tcp_rto_max_ms or its like)"
    return text
