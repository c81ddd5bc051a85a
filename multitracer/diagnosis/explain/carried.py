"""How the link carried one segment, in words."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from multitracer.diagnosis.explain.rules import span_text
from multitracer.layers import framemap
from multitracer.model import quantities
from multitracer.model.timeline import Timeline

_UNITS = {"Rlc": "PDU", "Wifi": "frame"}
_FATES = {
    "cut": "a reset cut it short",
    "flushed": "a reset flushed it",
    "dropped": "no frame of the link carried it: it was dropped in front of the link",
    "waiting": "it never left the link's queue",
    "spoiled": "it followed the rest of a packet that a reset had cut, and was corrupted with it",
}


def link_sentences(m: Timeline, source: int, record: int) -> Iterator[str]:
    """Sentences on the frames that carried a packet of a capture; none where the link log does not show them.

    Parameters
    ----------
    m : Timeline
    source : int
        The capture among the sources.
    record : int
        The packet's number in it, from 1.

    Yields
    ------
    str
        A clause without a full stop, in the order of the packet's life.
    """
    known = framemap.of(m)
    row = _span_row(known, source, record)
    if row is None:
        return
    span = {name: int(known.spans[name][row]) for name in known.spans}
    fate = str(known.spans.words("fate")[row])
    mine = known.frames_of(record, source)
    if not len(mine):
        if fate in _FATES:
            yield _FATES[fate]
        return
    kind = m.link_type(span["entity"])
    unit = _UNITS.get(kind.prefix, "frame")
    count, most = len(mine), int(mine["attempts"].max())
    again = int(np.count_nonzero(mine["attempts"] > 1))
    log = os.path.basename(m.sources[int(mine["frame_source"][0])].path)
    first, last = int(mine["frame_record"].min()), int(mine["last_record"].max())
    place = f"record {first:,}" if first == last else f"records {first:,} to {last:,}"
    text = f"{kind.short} carried it in {quantities.count(count, unit)} ({log}, {place})"
    waited = span["sent_ns"] - span["t_ns"]
    if span["sent_ns"] >= 0 and waited > 0:
        text += f", sent from {span_text(waited)} after TCP had sent it"
    yield text
    if again and kind.tells("attempts"):
        which = f"that {unit} was transmitted {most} times"
        if count > 1:
            which = (
                f"{again:,} of these {unit}s had to be retransmitted; one was transmitted up to {most} times"
            )
        yield which
    yield from _arrival(span, mine["received_ns"].tolist(), unit)
    if fate in _FATES:
        yield _FATES[fate]


def how_lost(m: Timeline, source: int, record: int) -> str:
    """What the link did to a packet that did not arrive, in a few words; "" where its log does not show it.

    Parameters
    ----------
    m : Timeline
    source : int
        The capture among the sources.
    record : int
        The packet's number in it, from 1.
    """
    known = framemap.of(m)
    row = _span_row(known, source, record)
    if row is None:
        return ""
    return _FATES.get(str(known.spans.words("fate")[row]), "").rpartition("it was ")[2]


def _span_row(known: framemap.FrameMap, source: int, record: int) -> int | None:
    """The first row of `spans` that is this packet."""
    rows = np.flatnonzero((known.spans["source"] == source) & (known.spans["record"] == record))
    return int(rows[0]) if len(rows) else None


def _arrival(span: dict[str, int], received: list[int], unit: str) -> Iterator[str]:
    if span["missing"] > 0:
        yield f"{span['missing']:,} bytes of it never reached the other end of the link"
        return
    if min(received) < 0 or span["sent_ns"] < 0:
        return
    there = max(received)
    text = (
        f"it all reached the other end {span_text(there - span['sent_ns'])} after the first {unit} was sent"
    )
    held = span["complete_ns"] - there
    if span["complete_ns"] >= 0 and held > 0:
        text += f", and waited there {span_text(held)} for what came before it"
    yield text
