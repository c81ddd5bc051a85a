"""The chain of a link reset: flush, lost and ruined segments, timeouts, slow start (Paper 5.3)."""

from __future__ import annotations

import numpy as np

from multitracer.chaining.chain import MOST_EVENTS, Chain, Event
from multitracer.chaining.evidence import Episode, Evidence
from multitracer.chaining.recovery import add_episode
from multitracer.resetlog import handshakes
from multitracer.table import Table
from multitracer.transit import discarded

_FOREVER = int(np.iinfo(np.int64).max)


def reset_chains(evidence: Evidence, episodes: list[Episode]) -> tuple[list[Chain], list[Episode]]:
    """One chain for each reset, and the episodes that belong to none.

    An episode belongs to the last reset that began before it and during whose gap the first copy of the data
    was under way: sent before the gap was over, sent again after the reset began.
    """
    rows = evidence.rows("link_resets")
    if rows is None:
        return [], episodes
    gaps = np.maximum(np.maximum(rows["gap_end_ns"], rows["end_ns"]), rows["t_ns"])
    owner: list[list[Episode]] = [[] for _ in range(len(rows))]
    left: list[Episode] = []
    for episode in episodes:
        fits = np.flatnonzero((rows["t_ns"] <= episode.start_ns) & (episode.copy_ns <= gaps))
        (owner[int(fits[-1])] if len(fits) else left).append(episode)
    chains = [_chain(evidence, rows, row, owner[row]) for row in range(len(rows))]
    return chains, left


def _chain(evidence: Evidence, rows: Table, row: int, episodes: list[Episode]) -> Chain:
    m = evidence.m
    start, end = int(rows["t_ns"][row]), int(rows["end_ns"][row])
    source = _link_source(evidence)
    conn = episodes[0].conn if episodes else -1
    chain = Chain("link_reset", start, conn, held_ns=max(end - start, 0) if end >= 0 else 0)
    cause = str(rows.words("cause")[row])
    words = {"n2": "N2 exceeded", "protocol": "protocol error", "peer": "told by its peer"}.get(cause, cause)
    first = chain.add(
        Event(
            "reset",
            start,
            f"{m.entities[int(rows['entity'][row])]} gave up: {words}",
            end_ns=end,
            source=source,
            record=int(rows["record"][row]),
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
    lost = _lost(evidence, chain, rows, row, first)
    ruined = _ruined(evidence, chain, rows, row, lost or first)
    gap = int(rows["gap_start_ns"][row]), int(rows["gap_end_ns"][row])
    if gap[0] >= 0 and gap[1] >= 0:
        chain.silence_ns = gap[1] - gap[0]
        chain.add(
            Event(
                "gap",
                gap[0],
                "no byte in order reached the receiver between these times around the reset",
                ruined or lost or first,
                end_ns=gap[1],
                length=int(max(rows["gap_rate"][row], 0) * (gap[1] - gap[0]) / 1e9),
            )
        )
    for episode in episodes:
        add_episode(evidence, chain, episode, ruined or lost or first)
    return chain


def _lost(evidence: Evidence, chain: Chain, rows: Table, row: int, parent: int) -> int:
    """Segments of both directions whose frames were sent before the reset was over and never all arrived."""
    spans, path = evidence.spans, evidence.path
    if path is None or not len(spans):
        return 0
    begin = int(rows["end_ns"][row - 1]) if row else -1
    end = int(rows["end_ns"][row]) if rows["end_ns"][row] >= 0 else int(rows["t_ns"][row])
    code = spans.code
    gone = np.isin(spans["fate"], (code("fate", "cut"), code("fate", "flushed")))
    sent = np.where(spans["sent_ns"] >= 0, spans["sent_ns"], spans["t_ns"])
    hits = np.flatnonzero(gone & (sent > begin) & (sent <= end))
    last = 0
    for index in hits.tolist()[:MOST_EVENTS]:
        data = spans["entity"][index] == path.sender
        whole = spans["fate"][index] == code("fate", "flushed")
        share = "whole" if whole else f"in part: {int(spans['missing'][index])} bytes of the stream"
        number = chain.add(
            Event(
                "segment_lost" if data else "ack_lost",
                int(spans["t_ns"][index]),
                f"lost {share}: its bytes were in frames that the peer never had before the reset",
                parent,
                source=int(spans["source"][index]),
                record=int(spans["record"][index]),
                conn=int(spans["conn"][index]),
                seq=int(spans["seq"][index]),
                length=int(spans["length"][index]),
                frames=evidence.frames_of(index),
            )
        )
        last = number if data else last
    return last


def _ruined(evidence: Evidence, chain: Chain, rows: Table, row: int, parent: int) -> int:
    m = evidence.m
    if m.rcv is None:
        return 0
    start = int(rows["t_ns"][row])
    gap = int(rows["gap_end_ns"][row])
    nxt = int(rows["t_ns"][row + 1]) if row + 1 < len(rows) else _FOREVER
    last = 0
    for connection in m.connections:
        bad = discarded(m, connection)
        inside = bad.where((bad["t_ns"] > start) & (bad["t_ns"] <= (min(gap, nxt) if gap >= 0 else nxt)))
        for index in range(min(len(inside), MOST_EVENTS)):
            checked = inside["checksum"][index] == inside.code("checksum", "bad")
            how = "its TCP checksum is wrong" if checked else "the receiver never acknowledged it"
            last = chain.add(
                Event(
                    "segment_ruined",
                    int(inside["t_ns"][index]),
                    f"arrived behind the loss and was discarded: {how} (header decompressor, RFC 1144)",
                    parent,
                    source=m.rcv,
                    record=int(inside["record"][index]),
                    conn=connection.index,
                    seq=int(inside["seq"][index]),
                    length=int(inside["length"][index]),
                )
            )
    return last


def _link_source(evidence: Evidence) -> int:
    events = evidence.m.table("link_events")
    return int(events["source"][0]) if len(events) and handshakes(evidence.m) else -1
