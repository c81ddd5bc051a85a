"""Requests and responses of a connection that takes them one at a time, and which end let the other wait."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from multitracer.layers.tcp.transit import data_at
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

LEAST = 3
"""From so many responses on a connection is described by them."""

_IN_TURN = 0.8
"""Part of the requests and responses whose first segment acknowledges all that the other end had sent."""


class Exchanges(TypedDict):
    """Requests of the end that sent data first, each followed by a response.

    `request_wait_s` is the time from the last segment of a response to the first of the next request, and
    `response_wait_s` that from the last segment of a request to the first of its response, both summed, as
    the capture sees them: the way from the capture to that end and back is part of each.
    """

    count: int
    client_sends_data: bool
    request_wait_s: float
    response_wait_s: float
    requests: int


def exchanges(m: Timeline, connection: Connection, source: int) -> Exchanges | None:
    """The requests and responses of a connection at one capture.

    Parameters
    ----------
    m : Timeline
        With segments.
    connection : Connection
    source : int
        The capture.

    Returns
    -------
    Exchanges or None
        `count` is the number of responses, `requests` that of requests; `client_sends_data` tells whether the
        end that sends most data is the one that asks. None for fewer than three responses, or if the ends do
        not wait for each other.
    """
    # Runs of the two ends follow each other.
    carrying = [m.carrying(connection.index, direction, source) for direction in (0, 1)]
    if 2 * min(carrying) + 1 < 2 * LEAST:
        return None
    ways = [data_at(m, connection, source, reverse) for reverse in (False, True)]
    fresh = [_fresh(rows) for rows in ways]
    if not all(len(rows) for rows in fresh):
        return None
    t_ns, of, acks, ends = (
        np.concatenate([rows[name] for rows in fresh])
        if name
        else np.repeat([0, 1], [len(rows) for rows in fresh])
        for name in ("t_ns", "", "ack", "seq")
    )
    ends = ends + np.concatenate([rows["length"] for rows in fresh])
    record = np.concatenate([rows["record"] for rows in fresh])
    order = np.lexsort((record, t_ns))
    t_ns, of, acks, ends = t_ns[order], of[order], acks[order], ends[order]
    first = np.flatnonzero(np.diff(of, prepend=-1))
    if len(first) < 2 * LEAST:
        return None
    # All that the other end had sent by then, and what the first segment of each run acknowledges of it.
    before = ends[first[1:] - 1]
    in_turn = acks[first[1:]] >= before
    if in_turn.mean() < _IN_TURN:
        return None
    waits_ns = t_ns[first[1:]] - t_ns[first[1:] - 1]
    responses = np.arange(len(waits_ns)) % 2 == 0
    return {
        "count": int(responses.sum()),
        "client_sends_data": bool(of[0] == 0),
        "request_wait_s": round(int(waits_ns[~responses].sum()) / 1e9, 6),
        "response_wait_s": round(int(waits_ns[responses].sum()) / 1e9, 6),
        "requests": (len(first) + 1) // 2,
    }


def _fresh(rows: Table) -> Table:
    """Segments with data that was not sent before."""
    ends = rows["seq"] + rows["length"]
    highest = np.maximum.accumulate(np.concatenate([[0], ends]))[:-1] if len(rows) else ends
    return rows.where((rows["length"] > 0) & (rows["seq"] >= highest))
