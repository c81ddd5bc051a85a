"""The words of explanations: rules by cause, what votes mean, times."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """Why a sender retransmits."""

    name: str
    text: str
    reference: str


RULES = {
    "timeout": Rule(
        "RTO",
        "the retransmission timer expired: the oldest unacknowledged segment is retransmitted, and no ACK "
        "had triggered it",
        "RFC 6298 section 5",
    ),
    "fast": Rule(
        "fast retransmit",
        "ACKs showed that later data had arrived: three duplicate ACKs, selective acknowledgments above it, "
        "or a segment sent later that was delivered",
        "RFC 5681 section 3.2, RFC 6675, RFC 8985",
    ),
    "slow_start": Rule(
        "slow start after an RTO (go-back-N)",
        "after an RTO all data in flight counts as lost and is retransmitted as ACKs arrive; so is data that "
        "a SYN carried and its SYN-ACK did not acknowledge",
        "RFC 5681 section 3.1, RFC 6675 section 5.1, RFC 7413 section 4.2.1",
    ),
    "tail_loss_probe": Rule(
        "tail loss probe",
        "two RTTs passed without an ACK, so the last segment is retransmitted to trigger one",
        "RFC 8985 section 7",
    ),
    "unneeded_probe": Rule(
        "keep-alive or window probe",
        "it carries a byte that was acknowledged, or that the window forbids, to make the peer answer",
        "RFC 9293 sections 3.8.4 and 3.8.6.1",
    ),
    "unknown": Rule(
        "cause unknown",
        "neither an expired timer nor an ACK that triggers it is visible here",
        "no rule applies",
    ),
    "handshake": Rule(
        "answer to a repeated SYN",
        "the peer retransmitted its SYN, so the SYN-ACK is retransmitted",
        "RFC 9293 section 3.10.7.4",
    ),
}

VOTES = {
    "eifel": {
        "spurious": "the ACK echoes a timestamp older than the retransmission: the original's (RFC 3522)",
        "genuine": "the ACK echoes the retransmission's timestamp (RFC 3522)",
    },
    "dsack": {
        "spurious": "the receiver reported the bytes as a duplicate (RFC 2883)",
        "genuine": "the receiver reported no duplicate (RFC 2883)",
    },
    "frto": {
        "spurious": "the next ACKs advanced over data that was not retransmitted (RFC 5682)",
        "genuine": "the next ACK was a duplicate: the originals after it did not arrive (RFC 5682)",
    },
    "too_early": {
        "spurious": "the ACK came sooner after the retransmission than the min RTT allows",
        "genuine": "the ACK came no sooner than the min RTT allows",
    },
    "receiver": {
        "spurious": "an earlier copy had arrived at the receiver's capture and its ACK was in transit",
        "genuine": "no earlier copy arrived at the receiver's capture",
    },
    "ack_path": {
        "spurious": "the data had arrived and an ACK for it came through",
        "genuine": "the data had arrived, but all ACKs for it were lost: the timer was needed",
    },
    "link": {
        "spurious": "the link delivered all frames of the original",
        "genuine": "the link lost frames of the original",
    },
    "kernel": {
        "spurious": "the kernel undid its congestion response",
        "genuine": "the kernel did not undo its congestion response",
    },
}


def seconds_text(seconds: float) -> str:
    """A time on the timeline."""
    return f"{seconds:.6f} s"


def span_text(span_ns: int) -> str:
    """A duration with three digits or so."""
    if abs(span_ns) >= 1_000_000_000:
        return f"{span_ns / 1e9:.3f} s"
    if abs(span_ns) >= 1_000_000:
        return f"{span_ns / 1e6:.1f} ms"
    return f"{span_ns / 1e3:.0f} us"
