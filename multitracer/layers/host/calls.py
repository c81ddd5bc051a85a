"""What applications wrote to and read from their sockets, and how long they waited or stayed away."""

from __future__ import annotations

import numpy as np

from multitracer.model import schema
from multitracer.model.arrays.unique import sorted_difference, sorted_unique
from multitracer.model.table import Array, Table

_KIND = {name: code for code, name in enumerate(schema.HOST_KINDS)}
AWAY_NS = 10_000_000
"""An application that leaves a socket alone for less is not away: it is being scheduled."""


def calls(events: Table) -> Table:
    """`host_calls` of one source, in order of time.

    A call is logged when it ends. It began to copy at the first `sendmsg` of its thread since the call
    before; how much it wanted to write is logged there.
    """
    rows = np.flatnonzero(np.isin(events["kind"], (_KIND["send"], _KIND["recv"])))
    kind = events["kind"][rows]
    began, _ = _begins(events)
    return Table.in_time(
        schema.HOST_CALLS,
        {
            "t_ns": events["t_ns"][rows],
            "source": events["source"][rows],
            "record": events["record"][rows],
            "flow": events["flow"][rows],
            "kind": (kind == _KIND["recv"]).astype(np.int8),
            "pid": events["pid"][rows],
            "length": events["length"][rows],
            "error": np.clip(events["value"][rows], -(1 << 31), 0),
            "began_ns": np.where(began[rows] >= 0, events["t_ns"][began[rows]], -1),
        },
    )


def _begins(events: Table) -> tuple[Array, Array]:
    """By row of `send`, the row where its call began; by that row, what it wanted to write. -1: not seen."""
    began = np.full(len(events), -1, dtype=np.int64)
    wanted = np.full(len(events), -1, dtype=np.int64)
    rows = np.flatnonzero(np.isin(events["kind"], (_KIND["send"], _KIND["sendmsg"])) & (events["pid"] > 0))
    rows = rows[np.argsort(events["pid"][rows], kind="stable")]
    if not len(rows):
        return began, wanted
    pid = events["pid"][rows]
    ends = events["kind"][rows] == _KIND["send"]
    # A call is all `sendmsg` of a thread up to its `send`.
    fresh = np.concatenate(([True], ends[:-1] | (pid[1:] != pid[:-1])))
    first = np.flatnonzero(fresh)[np.cumsum(fresh) - 1]
    closing = np.flatnonzero(ends & (first < np.arange(len(rows))))
    began[rows[closing]] = rows[first[closing]]
    wanted[rows[closing]] = events["length"][rows[first[closing]]]
    return began, wanted


def copies(events: Table, calls: Table) -> dict[str, Array]:
    """When writes copied bytes into their sockets.

    Parameters
    ----------
    events : Table
        `host_events` of one source.
    calls : Table
        Its `host_calls`, joined to connections, in order of time.

    Returns
    -------
    dict of str to array
        ``conn``, ``dir``, ``t_ns``, and ``place``: bytes of the connection's direction in front of what was
        copied then; ascending for each direction. The end of a call stands for copies that are not logged.
    """
    writes = calls.where((calls["kind"] == 0) & (calls["length"] > 0) & (calls["conn"] >= 0))
    before = np.zeros(len(writes), dtype=np.int64)
    flow = writes["conn"].astype(np.int64) * 2 + writes["dir"]
    for one in sorted_unique(flow).tolist():
        own = flow == one
        before[own] = np.cumsum(writes["length"][own]) - writes["length"][own]
    rows, ends, wanted = _copying(events)
    order = np.argsort(writes["record"], kind="stable")
    records = writes["record"][order]
    at = np.minimum(np.searchsorted(records, events["record"][ends]), max(len(records) - 1, 0))
    known = records[at] == events["record"][ends] if len(records) else np.zeros(len(rows), dtype=bool)
    call = order[at[known]] if len(records) else at[known]
    done = wanted[known] - events["length"][rows[known]]
    unseen = sorted_difference(np.arange(len(writes)), call)
    call = np.concatenate((call, unseen))
    place = before[call] + np.concatenate((done, np.zeros(len(unseen), dtype=np.int64)))
    t_ns = np.concatenate((events["t_ns"][rows[known]], writes["t_ns"][unseen]))
    order = np.lexsort((t_ns, place))
    return {
        "conn": writes["conn"][call][order],
        "dir": writes["dir"][call][order],
        "t_ns": t_ns[order],
        "place": place[order],
    }


def _copying(events: Table) -> tuple[Array, Array, Array]:
    """Rows of `sendmsg` whose call has ended, of the `send` that ended it, and what that call wanted."""
    began, wanted = _begins(events)
    rows = np.flatnonzero(np.isin(events["kind"], (_KIND["send"], _KIND["sendmsg"])) & (events["pid"] > 0))
    rows = rows[np.argsort(events["pid"][rows], kind="stable")]
    ends = np.flatnonzero(began[rows] >= 0)
    at = np.searchsorted(ends, np.arange(len(rows)), side="left")
    inside = (events["kind"][rows] == _KIND["sendmsg"]) & (at < len(ends))
    copying, closing = rows[inside], rows[ends[at[inside]]] if len(ends) else rows[inside]
    same = events["pid"][copying] == events["pid"][closing]
    return copying[same], closing[same], wanted[closing[same]]


def short_writes(events: Table) -> Array:
    """Records, ascending, of calls that took less than was to be written, or nothing (EAGAIN)."""
    _, wanted = _begins(events)
    send = events["kind"] == _KIND["send"]
    cut = send & ((wanted > events["length"]) | (events["value"] == -11))
    return np.sort(events["record"][cut])


def blocked_ns(short: Array, writes: Table) -> int:
    """Time in which applications wanted to write and could not: in calls, and from a short write to the next.

    Parameters
    ----------
    short : array of int
        Records of `short_writes`, ascending.
    writes : Table
        `host_calls` that are writes of one socket, in order of time.
    """
    inside = np.where(writes["began_ns"] >= 0, writes["t_ns"] - writes["began_ns"], 0).sum()
    at = np.minimum(np.searchsorted(short, writes["record"]), max(len(short) - 1, 0))
    cut = short[at] == writes["record"] if len(short) else np.zeros(len(writes), dtype=bool)
    begins = np.where(writes["began_ns"] >= 0, writes["began_ns"], writes["t_ns"])
    after = np.maximum(begins[1:] - writes["t_ns"][:-1], 0)[cut[:-1]] if len(writes) > 1 else np.zeros(0)
    return int(inside + after.sum())


def starved(writes: Table, sent_ns: Array, sent: Array, least_ns: int = AWAY_NS) -> list[tuple[int, int]]:
    """Times in which all written had been sent and the application wrote no more.

    Parameters
    ----------
    writes : Table
        `host_calls` that are writes of one socket from its first byte on, in order of time.
    sent_ns, sent : array
        When this host sent data, and the bytes that had been sent then, in order.
    least_ns : int
        Shorter ones are left out.

    Returns
    -------
    list of (int, int)
        Begin and end; the time after the last write is not one.
    """
    if len(writes) < 2 or not len(sent):
        return []
    written = np.cumsum(np.maximum(writes["length"], 0))[:-1]
    sent = np.maximum.accumulate(sent)
    at = np.searchsorted(sent, written, side="left")
    there = at < len(sent)
    begin = np.maximum(writes["t_ns"][:-1], sent_ns[np.minimum(at, len(sent) - 1)])
    end = np.where(writes["began_ns"][1:] >= 0, writes["began_ns"][1:], writes["t_ns"][1:])
    found = np.flatnonzero(there & (end - begin >= least_ns))
    return [(int(begin[i]), int(end[i])) for i in found]


def away(reads: Table, ack_ns: Array, ack: Array, whole: bool) -> list[tuple[int, int]]:
    """Times in which data was in a socket and the application did not read, of `AWAY_NS` or more.

    Parameters
    ----------
    reads : Table
        `host_calls` that are reads of one socket, in order of time.
    ack_ns, ack : array
        When this host acknowledged, and the bytes in order that it had then.
    whole : bool
        Whether all reads of the connection are known, from its first byte.

    Returns
    -------
    list of (int, int)
        Begin and end.
    """
    if not len(reads) or not len(ack):
        return []
    t_ns, read = reads["t_ns"], np.cumsum(np.maximum(reads["length"], 0))
    ack = np.maximum.accumulate(ack)
    had = np.searchsorted(ack_ns, t_ns, side="right") - 1
    if not whole:
        # What was read before is not known: so much that nothing is read before it came, and no less is left.
        known = had >= 0
        if not known.any():
            return []
        read = read + int((ack[had[known]] - read[known]).min())
    starts = np.concatenate(([int(ack_ns[0])], t_ns))
    after = np.concatenate(([0 if whole else int(read[0] - max(reads["length"][0], 0))], read))
    ends = np.concatenate((t_ns, [int(ack_ns[-1])]))
    # The first ACK that covers more than had been read by then.
    more = np.searchsorted(ack, after, side="right")
    there = more < len(ack)
    since = np.maximum(np.where(there, ack_ns[np.minimum(more, len(ack) - 1)], ends), starts)
    found = np.flatnonzero(there & (ends - since >= AWAY_NS))
    return [(int(since[i]), int(ends[i])) for i in found]
