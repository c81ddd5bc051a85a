"""Chains that begin with the link at work: bursts of retransmissions, and XOFF (Paper 5.4, 5.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.diagnosis.chains.chain import MOST_EVENTS, Chain, Event
from multitracer.diagnosis.chains.episodes import Episode
from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.diagnosis.chains.recovery import add_episode
from multitracer.layers.tcp.transit import in_order
from multitracer.model.table import Array, Table

_HOLE_NS = 1_000_000_000
_FACTOR = 3
_SHORT_NS, _SHORT_FACTOR = 200_000_000, 20
"""On a fast link, a pause of the smallest timeout (Linux) is long if twenty of the usual ones fit into it."""


def burst_chains(evidence: Evidence, episodes: Sequence[Episode]) -> tuple[list[Chain], Sequence[Episode]]:
    """Gaps in delivery caused by link retransmissions, and whether a timer fired in them.

    A gap is a pause in delivery in order, over a second and three times the usual one, or over 200 ms and
    twenty times the usual one. It belongs to the link if most frames that the link sent in it were
    retransmissions, or if the segment that ended it had retransmitted frames and was on the link for half of
    it: frames of later segments continue while the link retransmits one (selective reject). The episodes of
    timers that fired for data that was on the link all the time go with it.
    """
    spans, path = evidence.spans, evidence.path
    if path is None or not len(spans):
        return [], episodes
    resets = evidence.rows("link_resets")
    chains: list[Chain] = []
    left = list(episodes)
    for connection in evidence.m.connections:
        delivery = in_order(evidence.m, connection)
        steps = delivery.t_ns
        pauses = np.diff(steps)
        if not len(pauses):
            continue
        usual = int(np.median(pauses))
        long = max(_HOLE_NS, _FACTOR * usual)
        wide = np.flatnonzero(pauses > min(long, max(_SHORT_NS, _SHORT_FACTOR * usual)))
        holes = steps[wide].tolist(), steps[wide + 1].tolist(), delivery.reached[wide].tolist()
        for start, end, seq in zip(*holes, strict=True):
            if resets is not None and np.any((resets["t_ns"] <= end) & (_gap_ends(resets) >= start)):
                continue
            chain = _hole(evidence, connection.index, seq, start, end)
            if chain is None:
                continue
            needed = evidence.judged(connection.index, "genuine")
            mine = [one for one in left if one.conn == connection.index and _fired(one, chain, end, needed)]
            for episode in mine:
                add_episode(evidence, chain, episode, len(chain.events))
                left.remove(episode)
            if not mine and not _expired(evidence, connection.index, start, end):
                rule = "no RTO fired in the gap: the link's recovery was enough"
                chain.add(Event("no_timeout", end, rule, len(chain.events), conn=connection.index))
            chains.append(chain)
    return chains, _late_timers(evidence, chains, left)


def _gap_ends(resets: Table) -> Array:
    return np.maximum(resets["gap_end_ns"], resets["end_ns"])


def _expired(evidence: Evidence, conn: int, start: int, end: int) -> bool:
    rows = evidence.rows("timeouts")
    if rows is None:
        return False
    return bool(np.any((rows["conn"] == conn) & (rows["t_ns"] > start) & (rows["t_ns"] <= end)))


def _fired(episode: Episode, chain: Chain, end: int, needed: Array) -> bool:
    """A timer fired, and not because anything was lost, for data that was transmitted before its end."""
    if episode.cause != "timeout" or episode.first_record in needed:
        return False
    return chain.t_ns <= episode.start_ns and episode.copy_ns <= end


def _repaired(evidence: Evidence, conn: int, seq: int, start: int, end: int) -> bool:
    """Whether the link retransmitted the segment with the missing byte for half of a gap."""
    spans = evidence.spans
    mine = (spans["conn"] == conn) & (spans["seq"] <= seq) & (seq < spans["seq"] + spans["length"])
    mine &= (spans["attempts"] > spans["frames"]) & (spans["sent_ns"] >= 0)
    under_way = np.minimum(spans["complete_ns"], end) - np.maximum(spans["sent_ns"], start)
    return bool(np.any(mine & (2 * under_way >= end - start)))


def _hole(evidence: Evidence, conn: int, seq: int, start: int, end: int) -> Chain | None:
    path = evidence.path
    assert path is not None
    sent = path.sent
    inside = np.flatnonzero((sent["t_ns"] >= start - path.slot_ns) & (sent["t_ns"] < end))
    again = inside[sent["attempt"][inside] > 0]
    if not len(again) or (2 * len(again) < len(inside) and not _repaired(evidence, conn, seq, start, end)):
        return None
    # The link's own time: later segments may pass while it repairs one.
    held_ns = (end - start) * len(again) // len(inside)
    chain = Chain("link_burst", int(sent["t_ns"][again[0]]), conn, held_ns=held_ns, silence_ns=end - start)
    burst = int(sent["t_ns"][again[-1]]) - int(sent["t_ns"][again[0]])
    first = chain.add(
        Event(
            "burst",
            int(sent["t_ns"][again[0]]),
            f"{len(again)} of {len(inside)} frames retransmitted in {burst / 1e9:.2f} s",
            end_ns=int(sent["t_ns"][again[-1]]),
            source=int(sent["source"][again[0]]),
            record=int(sent["record"][again[0]]),
            length=int(np.maximum(sent["length"][again], 0).sum()),
        )
    )
    chain.add(
        Event(
            "delivery_gap",
            start,
            f"nothing in order reached the receiver for {(end - start) / 1e9:.2f} s",
            first,
            end_ns=end,
            conn=conn,
        )
    )
    return chain


def _late_timers(evidence: Evidence, chains: list[Chain], episodes: list[Episode]) -> list[Episode]:
    """Needless recoveries while frames were retransmitted: of the data, or of its ACKs."""
    timeouts, spans = evidence.rows("timeouts"), evidence.spans
    if timeouts is None or not len(spans):
        return episodes
    left = []
    spurious = set(timeouts["record"][timeouts.words("verdict") == "spurious"].tolist())
    for episode in episodes:
        needless = not spurious.isdisjoint(episode.values("record")) or _carried(evidence, episode)
        if not needless:
            left.append(episode)
            continue
        near = (spans["t_ns"] >= episode.copy_ns) & (spans["t_ns"] <= episode.start_ns)
        near |= (spans["t_ns"] < episode.start_ns) & (spans["complete_ns"] > episode.copy_ns)
        extra = int((spans["attempts"] - spans["frames"])[near].sum())
        if extra <= 0:
            left.append(episode)
            continue
        chain = Chain("link_burst", episode.copy_ns, episode.conn)
        first = chain.add(
            Event(
                "burst",
                episode.copy_ns,
                f"frames of the data and its ACKs were retransmitted {extra} times while TCP waited",
                end_ns=episode.start_ns,
                conn=episode.conn,
                seq=episode.values("seq")[0],
            )
        )
        add_episode(evidence, chain, episode, first)
        chains.append(chain)
    return left


def _carried(evidence: Evidence, episode: Episode) -> bool:
    """Whether the link carried what the first retransmission repeats, however late."""
    spans = evidence.spans
    seq = episode.values("seq")[0]
    mine = (spans["conn"] == episode.conn) & (spans["seq"] <= seq) & (seq < spans["seq"] + spans["length"])
    mine &= spans["t_ns"] < episode.start_ns
    return bool(np.any(mine & (spans["complete_ns"] >= 0) & (spans["arrived_ns"] >= 0)))


def xoff_chains(evidence: Evidence) -> list[Chain]:
    """XOFF, the sender's queue, and the RTT: one chain for all intervals of the transfer."""
    rows, path = evidence.rows("flow_control"), evidence.path
    if rows is None or path is None:
        return []
    rows = rows.where(rows["entity"] == path.sender)
    if not len(rows):
        return []
    segments = evidence.m.table("segments")
    samples = segments.where((segments["source"] == evidence.source) & (segments["rtt_ns"] > 0))
    samples = samples.sorted_by("t_ns")
    chain = Chain("xoff", int(rows["t_ns"][0]), held_ns=int((rows["end_ns"] - rows["t_ns"]).sum()))
    events = evidence.m.table("link_events")
    source = int(events["source"][0]) if len(events) else -1
    for row in range(min(len(rows), MOST_EVENTS // 2)):
        start, end = int(rows["t_ns"][row]), int(rows["end_ns"][row])
        number = chain.add(
            Event(
                "xoff",
                start,
                f"the peer stopped the sender for {(end - start) / 1e9:.2f} s",
                end_ns=end,
                source=source,
                record=int(rows["record"][row]),
            )
        )
        index = int(np.searchsorted(samples["t_ns"], end))
        if index < len(samples):
            rtt = int(samples["rtt_ns"][index])
            if samples["t_ns"][index] - rtt <= start:
                chain.add(
                    Event(
                        "rtt",
                        int(samples["t_ns"][index]),
                        f"a segment that waited through it measured an RTT of {rtt / 1e9:.2f} s",
                        number,
                        source=int(samples["source"][index]),
                        record=int(samples["record"][index]),
                        conn=int(samples["conn"][index]),
                    )
                )
    gaps = rows["gap_ns"][rows["gap_ns"] >= 0]
    chain.silence_ns = int(gaps.max()) if len(gaps) else 0
    return [chain]
