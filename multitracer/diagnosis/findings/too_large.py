"""Segments that are too large for the path: none of a size got through, and smaller ones did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.diagnosis.findings.finding import MOST_EVIDENCE, Finding, plot_command
from multitracer.layers.tcp.transit import Flags, Times, payload_at
from multitracer.model.quantities import count, duration
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline

LEAST_LOST, LEAST_ARRIVED = 3, 8
"""So many of the larger segments have to be lost, all of them, and so many smaller ones to arrive."""

_MOST_LOST = 10_000
"""Of more a sender has another reason to send them again."""

_LOOKED_AT = 20
"""Connections that are looked at, at most."""


class TooLarge(NamedTuple):
    """What was too large for a path.

    Attributes
    ----------
    arrived_bytes : int
        Payload of the largest segment that arrived.
    arrived, lost : int
        How many segments of up to that size arrived, and how many larger ones were lost.
    held_s : float
        From the first that was lost to the first of its bytes that arrived in a smaller segment.
    records : tuple of int
        Of those that were lost.
    """

    arrived_bytes: int
    arrived: int
    lost: int
    held_s: float
    records: tuple[int, ...]


def too_large(m: Timeline, entries: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Report that a path carries no full segments, and that the sender detected it and sent smaller ones.

    A router that drops what is larger than the next link's MTU reports it by ICMP; where that is filtered,
    the sender learns it only from its timers, if its TCP looks for the reason at all.

    Parameters
    ----------
    m : Timeline
        With segments.
    entries : list of mapping
        Of the result `connections`.

    Returns
    -------
    list of Finding
        One, of the connection that it held longest, or none. Its cost is in that of the losses.

    References
    ----------
    RFC 2923 section 2.1 (PMTU blackholes); RFC 4821 (packetization layer path MTU discovery).
    """
    found = []
    known = {one.index: one for one in m.connections}
    lossy = [one for one in entries if one["retransmissions"]["total"] >= LEAST_LOST]
    for entry in [one for one in lossy if one["point"] != "rcv"][:_LOOKED_AT]:
        one = sizes(payload_at(m, known[entry["index"]], entry["source"]), entry["mss"])
        if one is not None:
            found.append((one, entry))
    if not found:
        return []
    one, entry = max(found, key=lambda pair: pair[0].held_s)
    of = "" if len(entries) == 1 else f" of connection {entry['index']}"
    why = "a smaller MTU on the path"
    if entry["timeouts"]["total"]:
        why += " whose ICMP errors are filtered (a PMTU blackhole; tracepath finds it)"
    text = (
        f"none of the {count(one.lost, 'segment')}{of} with more than {one.arrived_bytes:,} bytes of payload "
        f"got through, and smaller ones did: {why}; the sender found that out after {duration(one.held_s)}"
    )
    path = m.sources[entry["source"]].path
    evidence = tuple((path, record) for record in one.records[:MOST_EVIDENCE])
    return [Finding(text, 0.0, "too_large", plot_command(m, entry["start"], entry["end"]), evidence)]


def sizes(data: Table, mss: int | None) -> TooLarge | None:
    """Whether all segments above a size were lost and all that arrived are smaller; None if that is not so.

    Parameters
    ----------
    data : Table
        Rows of `segments` with payload of one direction, in time order, at a capture before the loss.
    mss : int or None
        As both ends offered it: a capture that has larger segments has them before they were divided.

    Returns
    -------
    TooLarge or None
    """
    if len(data) < LEAST_LOST + LEAST_ARRIVED:
        return None
    seq, end = data["seq"], data["seq"] + data["length"]
    if mss is not None and int(data["length"].max()) > mss:
        return None
    copies = np.flatnonzero(data["duplicate"] > 0)
    if len(copies) < LEAST_LOST:
        return None
    alone = ~_perhaps_again(seq, end, copies)
    if not alone.any():
        return None
    largest, arrived = int(data["length"][alone].max()), int(np.count_nonzero(alone))
    lost = data["length"] > largest
    number = int(np.count_nonzero(lost))
    if not LEAST_LOST <= number <= _MOST_LOST or arrived < LEAST_ARRIVED:
        return None
    for at in np.flatnonzero(lost).tolist():
        # Without another copy after it, it arrived, or was never acknowledged.
        if not ((seq[copies] < end[at]) & (end[copies] > seq[at]) & (copies > at)).any():
            return None
    first = int(np.flatnonzero(lost)[0])
    smaller = np.flatnonzero((seq <= seq[first]) & (end > seq[first]) & (data["length"] <= largest))
    smaller = smaller[smaller > first]
    if not len(smaller):
        return None
    held_s = float(data["t_ns"][smaller[0]] - data["t_ns"][first]) / 1e9
    return TooLarge(
        largest,
        arrived,
        number,
        held_s,
        tuple(int(record) for record in data["record"][lost]),
    )


def _perhaps_again(seq: Times, end: Times, copies: npt.NDArray[np.intp]) -> Flags:
    """Whether a copy of some byte passes after each segment; of some also where one next to it does."""
    order = np.argsort(seq[copies], kind="stable")
    places, starts = copies[order], seq[copies][order]
    longest = int((end - seq).max())
    low, high = np.searchsorted(starts, seq - longest, side="right"), np.searchsorted(starts, end)
    # The last copy of those in each range; after the last one there is none.
    last = np.maximum.reduceat(np.append(places, -1), np.ravel(np.column_stack([low, high])))[::2]
    return (low < high) & (last > np.arange(len(seq)))
