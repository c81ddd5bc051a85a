"""What TCP lost at each link reset: segments and ACKs lost in its flush, segments refused after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from multitracer.layers import framemap
from multitracer.layers.link.path import LinkPath
from multitracer.layers.link.resetlog import Handshake, flushes
from multitracer.layers.tcp.losses import losses, queue_drops, refused
from multitracer.layers.tcp.transit import Flags, Times, data_at, discarded
from multitracer.model.schema.chains import RESET_LOSSES
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

_FOREVER = int(np.iinfo(np.int64).max)
_COPIED = ("t_ns", "source", "record", "conn", "dir", "seq", "length")

Row = dict[str, Any]


def reset_losses(
    m: Timeline, path: LinkPath | None, found: list[Handshake], gap_end_ns: Sequence[int]
) -> tuple[Table, dict[str, bool]]:
    """Which segments each reset took: the one place where they are counted.

    With both captures, what never arrived is lost, and goes to the first reset that can have lost it: its
    neighbours arrived before and after it. Of these, as many as arrived there with a corrupted header were
    not lost: those that the map of frames calls whole, else the last ones. With one capture, the map alone
    shows whose frames the peer never received.

    Parameters
    ----------
    m : Timeline
    path : LinkPath or None
    found : list of Handshake
    gap_end_ns : sequence of int
        For each reset: the first byte delivered in order after it; -1 if none.

    Returns
    -------
    losses : Table
        `RESET_LOSSES`.
    known : dict
        For ``segment_lost``, ``ack_lost`` and ``segment_corrupted``: whether the sources can show it.

    References
    ----------
    Paper 5.3, Figures 8 to 10; RFC 1144 (decompressor failure).
    """
    rows: list[Row] = []
    known = dict.fromkeys(("segment_lost", "ack_lost", "segment_corrupted"), False)
    if not found or not len(m.table("segments")):
        return Table.filled(RESET_LOSSES, 0, {}), known
    dropped = [drop.segment["record"] for drop in queue_drops(m, path) if drop.segment is not None]
    for connection in m.connections:
        for what, reverse in (("segment_lost", False), ("ack_lost", True)):
            lost = _by_captures(m, connection, reverse, dropped, found)
            if lost is None:
                lost = _by_frames(m, connection, reverse, path, found)
            if lost is not None:
                known[what] = True
                rows += [{**row, "what": what} for row in lost]
        if m.rcv is not None:
            known["segment_corrupted"] = True
            rows += _corrupted(m, connection, found, gap_end_ns)
    order = {what: place for place, what in enumerate(known)}
    rows.sort(key=lambda row: (row["reset"], order[row["what"]], row["t_ns"], row["record"]))
    given: dict[str, Any] = {name: [row[name] for row in rows] for name in RESET_LOSSES.by_name}
    given["what"] = [RESET_LOSSES.code("what", word) for word in given["what"]]
    given["frames"] = np.array(given["frames"], dtype=object)
    return Table.filled(RESET_LOSSES, len(rows), given), known


def _by_captures(
    m: Timeline, connection: Connection, reverse: bool, dropped: list[int], found: list[Handshake]
) -> list[Row] | None:
    lost = losses(m, connection, reverse)
    if lost is None:
        return None
    open_ = ~np.isin(lost.segments["record"], dropped)
    if not reverse:
        open_ &= lost.segments["length"] > 0
    received = data_at(m, connection, m.snd if reverse else m.rcv, reverse)
    corrupted_ns = received["t_ns"][refused(m, connection, reverse)]
    rows: list[Row] = []
    for number, reset in enumerate(found):
        hit = open_ & lost.during(reset.start_ns, reset.end_ns or reset.start_ns)
        open_ &= ~hit
        if not np.any(hit):
            continue
        last = int(lost.before_ns[hit].max())
        arrived = int(np.count_nonzero((corrupted_ns > reset.start_ns) & (corrupted_ns < last)))
        mine = lost.segments.where(hit)
        spans = _spans_of(m, mine)
        gone = _gone(framemap.of(m).spans)[spans] & (spans >= 0) if len(framemap.of(m).spans) else spans >= 0
        # Whole on the link comes first among those that arrived corrupted; of equals, the last.
        keep = np.sort(np.lexsort((np.arange(len(mine)), ~gone))[: max(len(mine) - arrived, 0)])
        rows += [_row(m, mine, int(at), number, int(spans[at]), "captures") for at in keep]
    return rows


def _by_frames(
    m: Timeline, connection: Connection, reverse: bool, path: LinkPath | None, found: list[Handshake]
) -> list[Row] | None:
    """From the frames that the peer never had before it was reset."""
    spans = framemap.of(m).spans
    if path is None or not len(spans):
        return None
    entity = path.receiver if reverse else path.sender
    mine = (spans["conn"] == connection.index) & (spans["entity"] == entity)
    if entity is None or not np.any(mine & (spans["fate"] != spans.code("fate", "unknown"))):
        return None
    mine &= _gone(spans)
    if not reverse:
        mine &= spans["length"] > 0
    hits = np.flatnonzero(mine)
    sent = np.where(spans["sent_ns"] >= 0, spans["sent_ns"], spans["t_ns"])[hits]
    until = np.array([max(times) for times in flushes(m, found, entity)], dtype=np.int64)
    # The corrupted segment left first after the reset that had cut the one before it.
    behind = spans["fate"][hits] == spans.code("fate", "spoiled")
    owner = np.maximum(np.searchsorted(np.maximum.accumulate(until), sent) - behind, 0)
    return [
        _row(m, spans, int(at), int(number), int(at), "frames")
        for at, number in zip(hits, owner, strict=True)
        if number < len(found)
    ]


def _corrupted(
    m: Timeline, connection: Connection, found: list[Handshake], gap_end_ns: Sequence[int]
) -> list[Row]:
    """Segments that the receiver refused between a reset and the end of its gap, or the next reset."""
    bad = discarded(m, connection)
    rows: list[Row] = []
    for number, reset in enumerate(found):
        nxt = found[number + 1].start_ns if number + 1 < len(found) else _FOREVER
        until = min(gap_end_ns[number], nxt) if gap_end_ns[number] >= 0 else nxt
        inside = np.flatnonzero((bad["t_ns"] > reset.start_ns) & (bad["t_ns"] <= until))
        for at in inside.tolist():
            checked = bad["checksum"][at] == bad.code("checksum", "bad")
            row = _row(m, bad, at, number, -1, "checksum" if checked else "acks")
            rows.append({**row, "what": "segment_corrupted"})
    return rows


def _row(m: Timeline, table: Table, at: int, reset: int, span: int, basis: str) -> Row:
    row: Row = {name: table[name][at].item() for name in _COPIED}
    row.update(reset=reset, basis=RESET_LOSSES.code("basis", basis), missing=-1, frames="")
    spans = framemap.of(m).spans if span >= 0 else None
    if spans is not None and _gone(spans)[span]:
        row["missing"] = int(spans["missing"][span])
        row["whole"] = int(
            spans["fate"][span] in (spans.code("fate", "flushed"), spans.code("fate", "spoiled"))
        )
        row["frames"] = framemap.of(m).lines_of(span)
    row.setdefault("whole", -1)
    return row


def _gone(spans: Table) -> Flags:
    words = [spans.code("fate", word) for word in ("cut", "flushed", "spoiled")]
    return np.asarray(np.isin(spans["fate"], words), dtype=np.bool_)


def _spans_of(m: Timeline, segments: Table) -> Times:
    """Row of each segment on the map of frames; -1 if it is not there."""
    spans = framemap.of(m).spans
    found = np.full(len(segments), -1, dtype=np.int64)
    if not len(spans):
        return found
    keys = spans["source"].astype(np.int64) << 48 | spans["record"]
    order = np.argsort(keys)
    wanted = segments["source"].astype(np.int64) << 48 | segments["record"]
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    hit = keys[order][at] == wanted
    found[hit] = order[at[hit]]
    return found
