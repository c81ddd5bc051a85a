"""A stalled path: nothing in transit, in either direction, arrived for a while."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.diagnosis.chains.chain import Chain, Event
from multitracer.diagnosis.chains.episodes import Episode
from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.diagnosis.chains.recovery import add_episode
from multitracer.layers.tcp.bottleneck import STILL_NS
from multitracer.layers.tcp.flow_batch import batches, flows
from multitracer.layers.tcp.losses import arrivals_ns
from multitracer.layers.tcp.transit import Times, data_at
from multitracer.model.arrays.intervals import Intervals, intersect, intervals, longer_than, union
from multitracer.model.table import Table

_FACTOR = 3
_WAITING = 2
"""So many packets have to be in transit where only one direction shows that the path is stalled."""


def standstill_chains(
    evidence: Evidence, episodes: Sequence[Episode]
) -> tuple[list[Chain], Sequence[Episode]]:
    """One chain for each time in which the path was stalled, and the episodes that belong to none.

    A direction is stalled while a packet is in transit for longer than the smallest delay of its direction,
    and none arrives; for 200 ms and three times the usual distance of arrivals. Both directions at once are
    the path, not a queue: of a queue, the other direction knows nothing. Data alone is, too, if no ACK came
    either (of data that does not arrive there are none), and the delay grew by 200 ms from one packet to the
    next while several were in transit: that of a queue grows by a packet's time. The episodes of timers that
    fired in it, for what had been transmitted before its end, go with it. Needs both captures, and no log of
    the link: such a log shows what the link did.

    References
    ----------
    Gurtov and Ludwig, *Responding to spurious timeouts in TCP* (INFOCOM 2003): delay spikes.
    """
    m = evidence.m
    if m.snd is None or m.rcv is None or m.snd == m.rcv or evidence.path is not None:
        return [], episodes
    (ahead, sudden, _), (back, _, acks_ns) = _still(evidence, reverse=False), _still(evidence, reverse=True)
    pauses = intervals(np.column_stack([acks_ns[:-1], acks_ns[1:]])) if len(acks_ns) > 1 else intervals()
    both = intersect(ahead, back)
    both = longer_than(union(both, intersect(sudden, longer_than(pauses, STILL_NS))), STILL_NS)
    left = list(episodes)
    chains = []
    for start, end in both.tolist():
        chain = Chain("standstill", start, silence_ns=end - start, held_ns=end - start)
        source, record, conn = _awaited(evidence, end)
        first = chain.add(
            Event(
                "standstill",
                start,
                f"nothing in transit arrived at either end for {(end - start) / 1e9:.2f} s",
                end_ns=end,
                source=source,
                record=record,
                conn=conn,
            )
        )
        chain.conn = conn
        for episode in [one for one in left if _belongs(evidence, one, start, end)]:
            add_episode(evidence, chain, episode, first)
            left.remove(episode)
        chains.append(chain)
    return chains, left


def _still(evidence: Evidence, *, reverse: bool) -> tuple[Intervals, Intervals, Times]:
    """Times in which packets of one direction were in transit and none arrived, over all connections.

    Of them those that began and ended at once, and when packets arrived.
    """
    m = evidence.m
    near, far = (m.rcv, m.snd) if reverse else (m.snd, m.rcv)
    sent_ns, came_ns = [], []
    for some in batches(m):
        sent = flows(m, some, near, reverse=reverse)
        came = arrivals_ns(sent, flows(m, some, far, reverse=reverse))
        sent_ns.append(sent["t_ns"][came >= 0])
        came_ns.append(came[came >= 0])
    if not sent_ns:
        return intervals(), intervals(), np.empty(0, dtype=np.int64)
    left, arrived = np.concatenate(sent_ns), np.concatenate(came_ns)
    if len(arrived) < 3:
        return intervals(), intervals(), np.sort(arrived)
    order = np.argsort(arrived, kind="stable")
    left, arrived = left[order], arrived[order]
    # Of what arrives together, or later, the first that left was in transit for longest.
    smallest = int((arrived - left).min())
    since = np.minimum.accumulate(left[::-1])[::-1] + smallest
    begin, end = np.maximum(arrived[:-1], since[1:]), arrived[1:]
    long = end - begin > max(STILL_NS, _FACTOR * int(np.median(np.diff(arrived))))
    waiting = np.searchsorted(np.sort(left), begin - smallest, side="right") - np.arange(1, len(arrived))
    jumped = np.diff(arrived - left) > STILL_NS
    sudden = long & jumped & (waiting >= _WAITING)
    spans = np.column_stack([begin, end])
    return intervals(spans[long]), intervals(spans[sudden]), arrived


def _awaited(evidence: Evidence, end_ns: int) -> tuple[int, int, int]:
    """Source, record and connection of the packet whose arrival ended a stall."""
    m = evidence.m
    found: tuple[Times, Table] | None = None
    for connection in m.connections:
        for source, reverse in ((m.rcv, False), (m.snd, True)):
            rows = data_at(m, connection, source, reverse=reverse)
            at = int(np.searchsorted(rows["t_ns"], end_ns))
            if at < len(rows) and (found is None or rows["t_ns"][at] < found[1]["t_ns"][0]):
                found = rows["t_ns"][at : at + 1], rows.where(np.array([at]))
    if found is None:
        return -1, 0, -1
    row = found[1]
    return int(row["source"][0]), int(row["record"][0]), int(row["conn"][0])


def _belongs(evidence: Evidence, episode: Episode, start: int, end: int) -> bool:
    """Whether a timer fired in a stall for data transmitted before its end, and nothing was lost."""
    if episode.cause not in ("timeout", "tail_loss_probe"):
        return False
    if episode.first_record in evidence.judged(episode.conn, "genuine"):
        return False
    return start <= episode.start_ns <= end + STILL_NS and episode.copy_ns <= end
