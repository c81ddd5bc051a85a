"""Whether other connections between the same hosts continued: a stalled path stops all of them."""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.flow_batch import Flags, Times
from multitracer.layers.tcp.standstill.period import Standstill
from multitracer.layers.tcp.transit import data_at
from multitracer.model.timeline import Connection, Timeline

_MOST = 0.9
"""In so much of a stall nothing else may come; what was delayed comes at its end, in any order."""


def others_moved(m: Timeline, connection: Connection, source: int, one: Standstill) -> bool:
    """Whether others with data between the same hosts continued: a stalled path stops all.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        The capture.
    one : Standstill
        Of this connection.
    """
    came_ns = came_between_ns(m, connection, source, before=one.before)
    return moved(came_ns, one.start_ns, one.end_ns)


def moved(came_ns: Times, start_ns: int, end_ns: int) -> bool:
    """Whether anything came in a time, but at its very end.

    Parameters
    ----------
    came_ns : array of int64
        Sorted.
    start_ns, end_ns : int
        Of the time, on the same clock.
    """
    most_ns = start_ns + round(_MOST * (end_ns - start_ns))
    first, last = came_ns.searchsorted([start_ns, most_ns], side="right").tolist()
    return bool(last > first)


def came_between_ns(m: Timeline, connection: Connection, source: int, *, before: bool) -> Times:
    """When data between the hosts of a connection came, or what answers it; that of the connection, too.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        The capture.
    before : bool
        The data; else what answers it.

    Returns
    -------
    array of int64
        Nanoseconds on the reference clock, sorted.
    """
    hosts = _hosts(connection)
    return m.once(f"came {source} {hosts} {before}", lambda: _came_ns(m, hosts, source, reverse=not before))


def _hosts(connection: Connection) -> tuple[str, str]:
    """Addresses of the sender of its data, and of the receiver."""
    sender, receiver = connection.endpoints[:: 1 if connection.data_dir == 0 else -1]
    return sender[0], receiver[0]


def _came_ns(m: Timeline, hosts: tuple[str, str], source: int, *, reverse: bool) -> Times:
    """When the data between two hosts came, or what answers it.

    Connections whose data goes the other way count with both, too: ACKs may wait in a queue behind their
    data.
    """
    every = [
        data_at(m, one, source, reverse=reverse if _hosts(one) == hosts else not reverse)["t_ns"]
        for one in m.connections
        if _hosts(one) in (hosts, hosts[::-1])
    ]
    return np.sort(np.concatenate(every))


def moved_anyway(came_ns: Times, ack_ns: Times, candidates: Times, least_ns: int) -> Flags:
    """Whether others continued in the part that any stall within a pause would have; see `moved`.

    It begins in the pause, and lasts until its end for `least_ns` at least.

    Parameters
    ----------
    came_ns : array of int64
        When anything came between the same hosts, sorted.
    ack_ns : array of int64
        When ACKs came, sorted.
    candidates : array of int64
        Numbers of the ACKs with which the pauses begin.
    least_ns : int
        The shortest stall.

    Returns
    -------
    array of bool
        One for each of `candidates`.
    """
    end_ns = ack_ns[candidates + 1]
    first = came_ns.searchsorted(end_ns - least_ns, side="left")
    rest_ns = np.ceil((end_ns - ack_ns[candidates]) * (1 - _MOST)).astype(np.int64)
    last = came_ns.searchsorted(end_ns - rest_ns - 1, side="right")
    return np.asarray(last > first, dtype=np.bool_)
