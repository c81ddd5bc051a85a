"""The chain of a link reset: flush, lost and corrupted segments, timeouts, slow start (Paper 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.diagnosis.chains.chain import MOST_EVENTS, Chain, Event
from multitracer.diagnosis.chains.episodes import Episode
from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.diagnosis.chains.recovery import add_episode
from multitracer.layers.link.resetlog import handshakes
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.schema.chains import RESET_LOSSES
from multitracer.model.table import Array, Table

_REFUSED = {"checksum": "its TCP checksum is wrong", "acks": "the receiver never acknowledged it"}


def reset_chains(evidence: Evidence, episodes: Sequence[Episode]) -> tuple[list[Chain], Sequence[Episode]]:
    """One chain for each reset, and the episodes that belong to none.

    An episode belongs to the last reset that began before it and during whose gap the first copy of the data
    was in transit: transmitted before the end of the gap, retransmitted after the reset began. It also
    belongs to a reset that took that copy or an ACK for it later: while the link still tried, the timer
    fired.
    """
    rows = evidence.rows("link_resets")
    if rows is None:
        return [], episodes
    gaps = np.maximum(np.maximum(rows["gap_end_ns"], rows["end_ns"]), rows["t_ns"])
    owner: list[list[Episode]] = [[] for _ in range(len(rows))]
    left: list[Episode] = []
    acknowledged = _acknowledges(evidence)
    for episode in episodes:
        fits = np.flatnonzero((rows["t_ns"] <= episode.start_ns) & (episode.copy_ns <= gaps))
        row = int(fits[-1]) if len(fits) else _took(evidence, acknowledged, episode)
        (owner[row] if row is not None else left).append(episode)
    chains = [_chain(evidence, rows, row, owner[row]) for row in range(len(rows))]
    return chains, left


def _took(evidence: Evidence, acknowledged: Array, episode: Episode) -> int | None:
    """The reset that flushed what an episode was about: its first segment, or all ACKs for that."""
    taken = evidence.rows("link_resets", "reset_losses")
    if taken is None:
        return None
    first = episode.values("seq")[0]
    mine = (taken["conn"] == episode.conn) & (taken["t_ns"] < episode.start_ns)
    data = mine & (taken["what"] == taken.code("what", "segment_lost"))
    data &= (taken["seq"] <= first) & (first < taken["seq"] + taken["length"])
    acks = mine & (taken["what"] == taken.code("what", "ack_lost")) & (taken["t_ns"] >= episode.copy_ns)
    acks &= acknowledged > first
    hits = np.flatnonzero(data | acks)
    return int(taken["reset"][hits[-1]]) if len(hits) else None


def _acknowledges(evidence: Evidence) -> Array:
    """The ACK number of each row of `reset_losses`, from its capture; -1 if unknown."""
    taken = evidence.rows("link_resets", "reset_losses")
    if taken is None:
        return np.zeros(0, dtype=np.int64)
    found = np.full(len(taken), -1, dtype=np.int64)
    segments = evidence.m.table("segments")
    for source in sorted_unique(taken["source"]).tolist():
        there = segments.where(segments["source"] == source).sorted_by("record")
        mine = np.flatnonzero(taken["source"] == source)
        at = np.minimum(np.searchsorted(there["record"], taken["record"][mine]), len(there) - 1)
        hit = there["record"][at] == taken["record"][mine]
        found[mine[hit]] = there["ack"][at[hit]]
    return found


def _chain(evidence: Evidence, rows: Table, row: int, episodes: list[Episode]) -> Chain:
    m = evidence.m
    start, end = int(rows["t_ns"][row]), int(rows["end_ns"][row])
    source = _link_source(evidence)
    conn = episodes[0].conn if episodes else -1
    chain = Chain("link_reset", start, conn, held_ns=max(end - start, 0) if end >= 0 else 0)
    cause = str(rows.words("cause")[row])
    words = {"n2": "N2 exceeded", "protocol": "protocol error", "peer": "requested by its peer"}.get(
        cause, cause
    )
    first = chain.add(
        Event(
            "reset",
            start,
            f"{m.entities[int(rows['entity'][row])]} gave up: {words}",
            end_ns=end,
            source=source,
            record=int(rows["record"][row]),
            cause=words,
        )
    )
    for name, who in (("flush_snd", "data-sending entity"), ("flush_rcv", "other entity")):
        if rows[name][row] > 0:
            chain.add(
                Event(
                    "flush",
                    start,
                    f"the reset empties the buffers of the {who}",
                    first,
                    source=source,
                    record=int(rows["record"][row]),
                    length=int(rows[name][row]),
                )
            )
    last = _taken(evidence, chain, row, first)
    gap = int(rows["gap_start_ns"][row]), int(rows["gap_end_ns"][row])
    if gap[0] >= 0 and gap[1] >= 0:
        chain.silence_ns = gap[1] - gap[0]
        chain.add(
            Event(
                "gap",
                gap[0],
                "no byte in order reached the receiver between these times around the reset",
                last,
                end_ns=gap[1],
                length=int(max(rows["gap_rate"][row], 0) * (gap[1] - gap[0]) / 1e9),
            )
        )
    for episode in episodes:
        add_episode(evidence, chain, episode, last)
    return chain


def _taken(evidence: Evidence, chain: Chain, row: int, first: int) -> int:
    """Segments lost, whole or in part, and those refused after the loss; the last event of the data."""
    taken = evidence.rows("link_resets", "reset_losses")
    if taken is None:
        return first
    taken = taken.where(taken["reset"] == row)
    last = first
    for what in RESET_LOSSES.by_name["what"].categories or ():
        mine = taken.where(taken["what"] == taken.code("what", what))
        parent = last if what == "segment_corrupted" else first
        for index in range(min(len(mine), MOST_EVENTS)):
            number = chain.add(
                Event(
                    what,
                    int(mine["t_ns"][index]),
                    _rule(mine, index),
                    parent,
                    source=int(mine["source"][index]),
                    record=int(mine["record"][index]),
                    conn=int(mine["conn"][index]),
                    seq=int(mine["seq"][index]),
                    length=int(mine["length"][index]),
                    frames=str(mine["frames"][index]),
                )
            )
            last = number if what != "ack_lost" else last
    return last


def _rule(taken: Table, row: int) -> str:
    basis = str(taken.words("basis")[row])
    if basis in _REFUSED:
        return f"arrived after the loss and was discarded: {_REFUSED[basis]} (header decompressor, RFC 1144)"
    if taken["missing"][row] == 0:
        return (
            "arrived whole right after the rest of a cut one, with no flag between them: both failed one FCS"
        )
    if taken["whole"][row] < 0:
        return "never passed the other capture; those before and after it arrived around the reset"
    share = "whole" if taken["whole"][row] else f"in part: {int(taken['missing'][row])} bytes of the stream"
    return f"lost {share}: its bytes were in frames that the peer had not received before the reset"


def _link_source(evidence: Evidence) -> int:
    events = evidence.m.table("link_events")
    return int(events["source"][0]) if len(events) and handshakes(evidence.m) else -1
