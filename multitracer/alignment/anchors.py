"""Moments in a link log that belong to a packet without doubt, without mapping every byte."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.model.frozen import frozen
from multitracer.model.table import Array, Table
from multitracer.model.trace import Trace

_DEFAULT_SLOT_NS = 20_000_000
_SND, _RCV = 0, 1


@frozen
class Anchors:
    """What one link entity did that packets next to it must have caused, or have been caused by.

    Attributes
    ----------
    wake_ns, wake_record : int64 array
        Frames that left after the send buffer had run empty: the packet that woke the link was there before.
    end_ns, end_record : int64 array
        Short frames that arrived: they end the stream so far, so a packet leaves the link right after.
    slot_ns : int
        A woken link sends within about this time.
    sent_bytes, received_bytes : int
        User bytes without repetitions.
    """

    wake_ns: Array
    wake_record: Array
    end_ns: Array
    end_record: Array
    slot_ns: int
    sent_bytes: int
    received_bytes: int

    def in_file_order(self) -> tuple[Array, Array]:
        """Records and times of all anchors; at a step of the clock times may run backwards."""
        record = np.concatenate([self.wake_record, self.end_record])
        order = np.argsort(record, kind="stable")
        return record[order], np.concatenate([self.wake_ns, self.end_ns])[order]


def anchors_of(trace: Trace, entity: int) -> Anchors:
    """The anchors of one entity of a link log, in file order.

    Reference: rlpdump 1, `len` ("the send buffer ran empty").
    """
    frames = trace.tables["link_frames"]
    mine = frames["entity"] == entity
    sent = np.flatnonzero(
        mine & (frames["action"] == _SND) & (frames["attempt"] == 0) & (frames["offset"] >= 0)
    )
    received = np.flatnonzero(mine & (frames["action"] == _RCV) & (frames["duplicate"] <= 0))
    received = received[frames["length"][received] >= 0]
    sent, received = (rows[np.argsort(frames["record"][rows], kind="stable")] for rows in (sent, received))
    payload = _payload_bytes(trace, frames)
    short = frames["length"][sent] < payload
    woken = sent[np.flatnonzero(np.concatenate([[True], short[:-1]]))] if len(sent) else sent
    ends = received[frames["length"][received] < payload]
    if trace.links and trace.links[entity].observer == "monitor" and trace.links[entity].unit == "packet":
        ends = _carrying(frames, entity, ends)
    return Anchors(
        frames["t_ns"][woken],
        frames["record"][woken],
        frames["t_ns"][ends],
        frames["record"][ends],
        _slot_ns(trace, frames["t_ns"][sent], short),
        int(np.maximum(frames["length"][sent], 0).sum()),
        int(frames["length"][received].sum()),
    )


def _carrying(frames: Table, entity: int, acknowledged: Array) -> Array:
    """Rows of the frames that were acknowledged, of those that were sent once.

    A monitor sees the acknowledgement. The receiver handed the packet on before: as the frame had come, and
    if it was retransmitted, perhaps when it had first arrived.
    """
    sent = np.flatnonzero((frames["entity"] != entity) & (frames["action"] == _SND))
    offsets, at, count = np.unique(frames["offset"][sent], return_index=True, return_counts=True)
    if not len(offsets):
        return acknowledged[:0]
    place = np.minimum(np.searchsorted(offsets, frames["offset"][acknowledged]), len(offsets) - 1)
    once = (offsets[place] == frames["offset"][acknowledged]) & (count[place] == 1)
    rows: Array = sent[at[place[once]]]
    return np.asarray(rows[frames["attempt"][rows] == 0])


def _payload_bytes(trace: Trace, frames: Table) -> int:
    return stated_payload(trace) or int(frames["length"].max(initial=0))


def stated_payload(trace: Trace) -> int | None:
    """User bytes of a full frame, if the log's header states them."""
    stated = _setting(trace.source.details, "payload_bytes")
    return int(stated) if stated is not None and stated >= 1 else None


def _slot_ns(trace: Trace, sent_ns: Array, short: Array) -> int:
    stated = _setting(trace.source.details, "slot_ms")
    if stated is not None and 0 < stated < 10_000:
        return int(stated * 1e6)
    within = np.diff(sent_ns)[~short[:-1]] if len(sent_ns) > 1 else sent_ns
    return max(int(np.median(within)), 100_000) if len(within) else _DEFAULT_SLOT_NS


def _setting(details: dict[str, Any], name: str) -> float | None:
    """A number of the log's header, wherever the parser put it."""
    for value in (details, *(v for v in details.values() if isinstance(v, dict))):
        if name in value:
            try:
                return float(value[name])
            except (TypeError, ValueError):
                return None
    return None


def side_of(traces: Mapping[int, Trace]) -> dict[tuple[int, int], int]:
    """Which side of the link each entity is on: 0 next to the data sender, 1 next to the receiver.

    The entity on the sender's side sends most of the bytes, the other one receives them.

    Parameters
    ----------
    traces : mapping of int to Trace
        Link logs by source index.

    Returns
    -------
    dict
        ``(source, entity) -> side``.
    """
    totals = {}
    for source, trace in traces.items():
        for entity in range(len(trace.entities)):
            found = anchors_of(trace, entity)
            totals[source, entity] = found.sent_bytes - found.received_bytes
    if not totals:
        return {}
    names: dict[str, int] = {}
    for (source, entity), surplus in totals.items():
        name = traces[source].entities[entity]
        names[name] = names.get(name, 0) + surplus
    top = max(names, key=lambda name: names[name])
    sides = {}
    for source, entity in totals:
        name = traces[source].entities[entity]
        sides[source, entity] = (0 if names[name] > 0 else 1) if len(names) != 2 else int(name != top)
    return sides
