"""The return path: recoveries of data that had arrived, because its ACKs were lost or late."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.diagnosis.chains.chain import MOST_EVENTS, Chain, Event
from multitracer.diagnosis.chains.episodes import Episode
from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.diagnosis.chains.recovery import add_episode
from multitracer.layers.tcp.transit import Times
from multitracer.model.table import Table

_WAITED = ("timeout", "tail_loss_probe")


def ack_loss_chains(evidence: Evidence, episodes: Sequence[Episode]) -> tuple[list[Chain], Sequence[Episode]]:
    """Chains of timers that fired although the data had arrived, and the other episodes.

    The receiver had acknowledged the first retransmitted byte before the timer fired, and no such ACK had
    arrived by then: all of them were lost or late. Needs both captures.

    References
    ----------
    Paper 5.3 (Figure 10), 5.4.
    """
    m = evidence.m
    if m.snd is None or m.rcv is None or evidence.source != m.snd:
        return [], episodes
    chains, left = [], []
    for episode in episodes:
        found = _acks(evidence, episode) if episode.cause in _WAITED else None
        if found is None:
            left.append(episode)
            continue
        acks, arrived = found
        chain = Chain("ack_path", int(acks["t_ns"][0]), episode.conn)
        last = 0
        repeated = _sent_again(evidence, acks)
        for row in range(min(len(acks), MOST_EVENTS)):
            late = (int(arrived[row]) - episode.start_ns) / 1e9
            lost = arrived[row] < 0
            again = f", its frames retransmitted {int(repeated[row])} times" if repeated[row] else ""
            last = chain.add(
                Event(
                    "ack_lost" if lost else "ack_late",
                    int(acks["t_ns"][row]),
                    "left the receiver and never arrived"
                    if lost
                    else f"arrived {late:.2f} s after the timer fired{again}",
                    end_ns=int(arrived[row]),
                    wait_ns=-1 if lost else int(arrived[row] - acks["t_ns"][row]),
                    number=1 + int(repeated[row]),
                    source=int(acks["source"][row]),
                    record=int(acks["record"][row]),
                    conn=episode.conn,
                    seq=int(acks["ack"][row]),
                )
            )
        add_episode(evidence, chain, episode, last)
        chains.append(chain)
    return chains, left


def _acks(evidence: Evidence, episode: Episode) -> tuple[Table, Times] | None:
    """ACKs for the first retransmitted byte that left before that, and when each arrived; None if not so."""
    known = evidence.acks(episode.conn)
    if known is None:
        return None
    sent, arrived = known
    before = int(np.searchsorted(sent["t_ns"], episode.start_ns))
    rows = np.flatnonzero(sent["ack"][:before] > episode.values("seq")[0])
    if not len(rows) or np.any((arrived[rows] >= 0) & (arrived[rows] <= episode.start_ns)):
        return None
    return sent.where(rows), arrived[rows]


def _sent_again(evidence: Evidence, acks: Table) -> Times:
    """How often the link sent frames of each ACK again; 0 without a log of the link."""
    spans = evidence.spans
    found = np.zeros(len(acks), dtype=np.int64)
    for row in range(min(len(acks), MOST_EVENTS)):
        mine = (spans["source"] == acks["source"][row]) & (spans["record"] == acks["record"][row])
        found[row] = int((spans["attempts"] - spans["frames"])[mine].max(initial=0))
    return np.maximum(found, 0)
