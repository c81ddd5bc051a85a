"""The chain of a dropped call: the link gave up for good, and what TCP still had on it never arrives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.diagnosis.chains.chain import MOST_EVENTS, Chain, Event
from multitracer.diagnosis.chains.episodes import Episode
from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.diagnosis.chains.recovery import add_episode
from multitracer.layers.tcp.transit import data_at, near_sender, valid_acks
from multitracer.model.table import Table

_SAME_CALL_NS = 5_000_000_000  # both entities report the end of one call within this
_CAUSES = {"n2": "N2 exceeded", "protocol": "protocol error", "peer": "requested by its peer"}


def call_chains(evidence: Evidence, episodes: Sequence[Episode]) -> tuple[list[Chain], Sequence[Episode]]:
    """One chain for each call that the network dropped, and the episodes that belong to none.

    An episode that begins after the call was dropped, before any frame arrives again, belongs to it.

    References
    ----------
    Paper 5.5.
    """
    events = evidence.m.table("link_events").sorted_by("t_ns")
    lines = events.where(events["kind"] == events.code("kind", "call_dropped"))
    if not len(lines):
        return [], episodes
    left = list(episodes)
    chains = []
    borders = np.flatnonzero(np.diff(lines["t_ns"], prepend=np.int64(-_SAME_CALL_NS)) >= _SAME_CALL_NS)
    for rows in np.split(np.arange(len(lines)), borders[1:]):
        chain = _chain(evidence, lines.where(rows))
        until = _resumed_ns(evidence, int(lines["t_ns"][rows[-1]]))
        for episode in [one for one in left if chain.t_ns <= one.start_ns < until]:
            add_episode(evidence, chain, episode, len(chain.events))
            left.remove(episode)
        if until == np.iinfo(np.int64).max:
            _unfinished(evidence, chain)
        chains.append(chain)
    return chains, left


def _chain(evidence: Evidence, lines: Table) -> Chain:
    m = evidence.m
    start = int(lines["t_ns"][0])
    causes = lines.words("cause").tolist()
    row = next((row for row, cause in enumerate(causes) if cause != "peer"), 0)
    chain = Chain("call_dropped", start)
    said = _CAUSES.get(causes[row], causes[row] or "no cause given")
    first = chain.add(
        Event(
            "call_dropped",
            start,
            f"{m.entities[int(lines['entity'][row])]} gave up: {said}",
            source=int(lines["source"][row]),
            record=int(lines["record"][row]),
            cause=said,
        )
    )
    for row in range(len(lines)):
        flushed = max(int(lines["flush_tx"][row]), 0) + max(int(lines["flush_rx"][row]), 0)
        if flushed:
            chain.add(
                Event(
                    "flush",
                    int(lines["t_ns"][row]),
                    f"data that {m.entities[int(lines['entity'][row])]} still buffered was discarded",
                    first,
                    source=int(lines["source"][row]),
                    record=int(lines["record"][row]),
                    length=flushed,
                )
            )
    _lost(evidence, chain, first)
    return chain


def _lost(evidence: Evidence, chain: Chain, parent: int) -> None:
    """Segments that were on the link or waiting in front of it when the call ended."""
    spans, path = evidence.spans, evidence.path
    if path is None or not len(spans):
        return
    resets = evidence.rows("link_resets")
    begin = int(resets["t_ns"][resets["t_ns"] < chain.t_ns].max(initial=-1)) if resets is not None else -1
    gone = np.isin(spans["fate"], [spans.code("fate", word) for word in ("cut", "flushed", "waiting")])
    waiting = spans["fate"] == spans.code("fate", "waiting")
    gone &= (spans["t_ns"] < chain.t_ns) & (waiting | (spans["sent_ns"] > begin))
    for row in np.flatnonzero(gone).tolist()[:MOST_EVENTS]:
        data = spans["entity"][row] == path.sender and spans["length"][row] > 0
        chain.add(
            Event(
                "segment_lost" if data else "ack_lost",
                int(spans["t_ns"][row]),
                "never left the queue in front of the link"
                if waiting[row]
                else "its bytes were in frames that the peer had not received when the call ended",
                parent,
                source=int(spans["source"][row]),
                record=int(spans["record"][row]),
                conn=int(spans["conn"][row]),
                seq=int(spans["seq"][row]),
                length=int(spans["length"][row]),
                frames=evidence.frames_of(row),
            )
        )


def _resumed_ns(evidence: Evidence, end_ns: int) -> int:
    """When the first frame arrived after a dropped call; the largest integer if none did."""
    frames = evidence.m.table("link_frames")
    received = frames["t_ns"][(frames["action"] == frames.code("action", "rcv")) & (frames["t_ns"] > end_ns)]
    return int(received.min()) if len(received) else int(np.iinfo(np.int64).max)


def _unfinished(evidence: Evidence, chain: Chain) -> None:
    for connection in evidence.m.connections:
        source = near_sender(evidence.m)
        data = data_at(evidence.m, connection, source)
        data = data.where(data["length"] > 0)
        if not len(data):
            continue
        acked = int(valid_acks(evidence.m, connection, source)["ack"].max(initial=1))
        end = int((data["seq"] + data["length"]).max())
        if acked < end:
            chain.add(
                Event(
                    "unfinished",
                    int(data["t_ns"][-1]),
                    "no ACK for these bytes ever came",
                    1,
                    source=int(data["source"][-1]),
                    record=int(data["record"][-1]),
                    conn=connection.index,
                    seq=acked,
                    length=end - acked,
                )
            )
            chain.conn = connection.index
