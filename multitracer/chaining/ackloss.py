"""The way back: recoveries of data that had arrived, because its ACKs were lost or late."""

from __future__ import annotations

import numpy as np

from multitracer.chaining.chain import MOST_EVENTS, Chain, Event
from multitracer.chaining.evidence import Episode, Evidence
from multitracer.chaining.recovery import add_episode
from multitracer.losses import arrival_ns
from multitracer.table import Table
from multitracer.transit import Times, data_at, valid_acks

_WAITED = ("timeout", "tail_loss_probe")


def ack_loss_chains(evidence: Evidence, episodes: list[Episode]) -> tuple[list[Chain], list[Episode]]:
    """Chains of timers that fired although the data had arrived, and the other episodes.

    The receiver had acknowledged the first byte that was sent again before the timer fired, and no such ACK
    had come by then: all of them were lost or late. Needs both captures.

    References
    ----------
    Paper 5.3 (Figure 10), 5.4.
    """
    chains, left = [], []
    for episode in episodes:
        found = _acks(evidence, episode) if episode.cause in _WAITED else None
        if found is None:
            left.append(episode)
            continue
        acks, arrived = found
        chain = Chain("ack_path", int(acks["t_ns"][0]), episode.conn)
        last = 0
        for row in range(min(len(acks), MOST_EVENTS)):
            late = (int(arrived[row]) - episode.start_ns) / 1e9
            lost = arrived[row] < 0
            last = chain.add(
                Event(
                    "ack_lost" if lost else "ack_late",
                    int(acks["t_ns"][row]),
                    "left the receiver and never came"
                    if lost
                    else f"came {late:.2f} s after the timer fired",
                    end_ns=int(arrived[row]),
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
    """ACKs for the first byte sent again that left before that, and when each came; None if not so."""
    m = evidence.m
    connection = next((one for one in m.connections if one.index == episode.conn), None)
    if m.snd is None or m.rcv is None or connection is None or evidence.source != m.snd:
        return None
    sent = data_at(m, connection, m.rcv, reverse=True)
    sent = sent.where((sent["ack"] > episode.repeats["seq"][0]) & (sent["t_ns"] < episode.start_ns))
    if not len(sent):
        return None
    arrived = arrival_ns(sent, valid_acks(m, connection, m.snd))
    if np.any((arrived >= 0) & (arrived <= episode.start_ns)):
        return None
    return sent, arrived
