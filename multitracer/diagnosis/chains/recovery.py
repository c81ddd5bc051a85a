"""Episodes of loss recovery as parts of a chain, and chains that begin with a drop, a loss or a queue."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from multitracer.diagnosis.chains.chain import MOST_EVENTS, Chain, Event
from multitracer.diagnosis.chains.episodes import Episode
from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.model.quantities import count

_QUEUED = 1.5  # an RTO of so many min RTTs was inflated by a queue
_LINUX_MIN_RTO_NS = 200_000_000

SENT = "first transmission of the retransmitted data"
LOST_BETWEEN = "in the sender's capture, never in the receiver's"

CONVERGED = 8
"""SRTT takes an eighth of each sample (RFC 6298 section 2.3): with fewer, the first one decides the RTO."""


def add_episode(evidence: Evidence, chain: Chain, episode: Episode, parent: int) -> None:
    """Append timeouts, retransmissions and what they repeat.

    Parameters
    ----------
    evidence : Evidence
    chain : Chain
        The chain to which the events are added.
    episode : Episode
        One recovery of one direction of a connection.
    parent : int
        Number, from 1, of the chain's event that caused the recovery.
    """
    chain.conn = episode.conn
    last = parent
    for row in evidence.timeout_rows(episode)[:MOST_EVENTS]:
        expired = {name: values[row] for name, values in evidence.timeout_values.items()}
        silence, rto, verdict = expired["silence_ns"], expired["rto_ns"], expired["verdict"]
        chain.silence_ns = max(chain.silence_ns, silence)
        last = chain.add(
            Event(
                "timeout",
                expired["t_ns"],
                timeout_rule(verdict, silence, rto, expired["backoff"]),
                last,
                source=expired["source"],
                record=expired["record"],
                conn=episode.conn,
                seq=expired["seq"],
                length=expired["length"],
                wait_ns=silence,
                cause=verdict,
            )
        )
    begin, end = episode.begin, episode.end
    causes = episode.of.causes
    t_ns, source, record, seq, duplicate = episode.of.sent_again
    words = dict.fromkeys(causes[begin:end])
    rows: Sequence[int] = range(begin, end)
    for word in words:
        if len(words) > 1:
            rows = [row for row in range(begin, end) if causes[row] == word]
        first, number = rows[0], len(rows)
        one = number == 1
        length = duplicate[first] if one else sum([duplicate[row] for row in rows])
        chain.duplicate += length
        chain.events.append(
            Event(
                word if word != "timeout" else "timeout_retransmission",
                t_ns[first],
                repeated(number),
                last,
                end_ns=t_ns[rows[-1]],
                source=source[first],
                record=record[first],
                conn=episode.conn,
                seq=seq[first] if one else min([seq[row] for row in rows]),
                length=length,
                number=number,
            )
        )


def timeout_rule(verdict: str, silence_ns: int, rto_ns: int, backoff: int) -> str:
    """Why a timeout belongs to a recovery.

    Parameters
    ----------
    verdict : str
    silence_ns, rto_ns, backoff : int
        As in the table `timeouts`.
    """
    known = f", RTO {rto_ns / 1e9:.2f} s" if rto_ns >= 0 else ""
    times = f", RTO backoff x{1 << min(backoff, 16)}" if backoff else ""
    return f"{verdict}: idle for {silence_ns / 1e9:.2f} s before it{known}{times}"


@cache
def repeated(number: int) -> str:
    """Why retransmissions belong to a recovery."""
    return f"{count(number, 'segment')} retransmitted in the same recovery (RFC 6582)"


def drop_chains(evidence: Evidence, episodes: Sequence[Episode]) -> tuple[list[Chain], Sequence[Episode]]:
    """Chains of drops in front of the link: one for each recovery that repeats dropped segments."""
    drops = evidence.rows("local_drops")
    if drops is None:
        return [], episodes
    used = np.zeros(len(drops), dtype=bool)
    chains, left = [], []
    for episode in episodes:
        low, length = (np.array(episode.values(name), dtype=np.int64) for name in ("seq", "length"))
        ends = low + length
        mine = ~used & (drops["conn"] == episode.conn) & (drops["t_ns"] <= episode.end_ns)
        begin, end = drops["seq"], drops["seq"] + drops["length"]
        mine &= np.any((begin[:, None] < ends) & (low < end[:, None]), axis=1)
        rows = np.flatnonzero(mine)
        # A copy that was dropped itself is no reason for its being sent.
        if not len(rows) or drops["t_ns"][rows].min() >= episode.start_ns:
            left.append(episode)
            continue
        used[rows] = True
        chain = Chain("local_drop", int(drops["t_ns"][rows[0]]), episode.conn)
        last = 0
        for row in rows.tolist()[:MOST_EVENTS]:
            last = chain.add(
                Event(
                    "drop",
                    int(drops["t_ns"][row]),
                    f"in the sender's capture, never on the link ({drops.words('evidence')[row]})",
                    source=evidence.source if evidence.source is not None else -1,
                    record=int(drops["record"][row]),
                    conn=episode.conn,
                    seq=int(drops["seq"][row]),
                    length=int(drops["length"][row]),
                )
            )
        add_episode(evidence, chain, episode, last)
        chain.dropped = min(int(drops["length"][rows].sum()), chain.duplicate)
        chains.append(chain)
    return chains, left


def given_up_chains(
    evidence: Evidence, episodes: Sequence[Episode]
) -> tuple[list[Chain], Sequence[Episode], list[int]]:
    """Recoveries of what the link gave up, the other episodes, and the place of each of the former among all.

    The others are those that nothing on the link or in front of it explains
    (`multitracer.diagnosis.chains.unexplained`).
    """
    spans = evidence.spans
    gone = np.isin(spans["fate"], [spans.code("fate", word) for word in ("cut", "flushed", "spoiled")])
    given_up = np.flatnonzero(gone)
    if not len(given_up):
        return [], episodes, []
    chains, left, places = [], [], []
    conn, t_ns, seq = (spans[name][given_up] for name in ("conn", "t_ns", "seq"))
    for place, episode in enumerate(episodes):
        mine = (conn == episode.conn) & (t_ns < episode.start_ns)
        rows = given_up[mine & np.isin(seq, episode.values("seq"))] if mine.any() else given_up[:0]
        if not len(rows):
            left.append(episode)
            continue
        chain = Chain("link_loss", int(spans["t_ns"][rows[0]]), episode.conn)
        last = 0
        for row in rows.tolist()[:MOST_EVENTS]:
            last = chain.add(
                Event(
                    "segment_lost",
                    int(spans["t_ns"][row]),
                    f"the link gave it up: {int(spans['attempts'][row])} attempts, never received",
                    source=int(spans["source"][row]),
                    record=int(spans["record"][row]),
                    conn=episode.conn,
                    seq=int(spans["seq"][row]),
                    length=int(spans["length"][row]),
                    frames=evidence.frames_of(row),
                )
            )
        add_episode(evidence, chain, episode, last)
        chains.append(chain)
        places.append(place)
    return chains, left, places


def queue_chains(evidence: Evidence) -> list[Chain]:
    """Queue, RTT, RTO, wait: timeouts whose timer the sender's own queue had inflated."""
    timeouts = evidence.rows("timeouts")
    if timeouts is None:
        return []
    chains = []
    for row in range(min(len(timeouts), MOST_EVENTS)):
        conn, t_ns = int(timeouts["conn"][row]), int(timeouts["t_ns"][row])
        rto = int(timeouts["rto_ns"][row])
        acks = evidence.m.flow(conn, 1 - int(timeouts["dir"][row]), int(timeouts["source"][row]))
        before = acks.where((acks["rtt_ns"] > 0) & (acks["t_ns"] < t_ns))
        # Before, the RTO is three times the first RTT, whatever the queue did to it.
        if rto < 0 or len(before) < CONVERGED:
            continue
        smallest = int(before["rtt_ns"].min())
        bare = smallest + max(_LINUX_MIN_RTO_NS, smallest // 2)
        wait = int(timeouts["silence_ns"][row])
        excess = wait - (bare << min(int(timeouts["backoff"][row]), 16))
        if rto < _QUEUED * bare or excess <= 0:
            continue
        last = before.where(before["t_ns"] == before["t_ns"].max())
        chain = Chain("queue_timeout", int(last["t_ns"][0]), conn, silence_ns=excess)
        sample = int(last["rtt_ns"][-1])
        first = chain.add(
            Event(
                "queueing",
                int(last["t_ns"][-1]),
                f"RTT of {sample / 1e9:.2f} s, min RTT {smallest / 1e9:.2f} s",
                source=int(last["source"][-1]),
                record=int(last["record"][-1]),
                conn=conn,
            )
        )
        second = chain.add(
            Event(
                "rto",
                int(last["t_ns"][-1]),
                f"the RTO follows the RTT: {rto / 1e9:.2f} s, {bare / 1e9:.2f} s by the min RTT",
                first,
                conn=conn,
            )
        )
        chain.add(
            Event(
                "timeout",
                t_ns,
                f"the loss was detected {excess / 1e9:.2f} s later than with the min RTT",
                second,
                source=int(timeouts["source"][row]),
                record=int(timeouts["record"][row]),
                conn=conn,
                seq=int(timeouts["seq"][row]),
            )
        )
        chains.append(chain)
    return chains
