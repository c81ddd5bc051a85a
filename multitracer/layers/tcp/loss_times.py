"""When segments were lost, by what one capture has of them."""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.transit import Flags, Times
from multitracer.model.arrays.unique import among
from multitracer.model.schema.tcp import ARRIVALS_ARE, VERDICTS
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

_SPURIOUS = VERDICTS.index("spurious")


def needless(m: Timeline, connection: Connection, source: int, data: Table) -> Flags:
    """Which segments were retransmitted although the earlier copy had arrived, as ACKs show.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        The capture.
    data : Table
        Rows of `segments` of the data direction there.

    Returns
    -------
    array of bool
        One for each row.
    """
    rows = m.table("retransmissions")
    mine = (rows["conn"] == connection.index) & (rows["source"] == source)
    mine &= (rows["dir"] == connection.data_dir) & (rows["verdict"] == _SPURIOUS)
    return among(data["record"], rows["record"][mine])


def lost_behind(data: Table, needless: Flags | None = None) -> tuple[Flags, Times]:
    """Which segments passed and arrived, and when others passed that were lost after the capture.

    Parameters
    ----------
    data : Table
        Rows of `segments` of one direction, in time order.
    needless : array of bool, optional
        Of each whether the copy before it had arrived (`needless`).

    Returns
    -------
    arrived : array of bool
        One for each row.
    lost_ns : array
        When those passed of which a later copy did: they had been lost.
    """
    # Copies of one segment are adjacent then, in the order of sending: the one before each was lost.
    order = np.argsort(data["seq"], kind="stable")
    seq, again = data["seq"][order], data["duplicate"][order] > 0
    if needless is not None:
        again &= ~needless[order]
    lost = np.zeros(len(seq), dtype=np.bool_)
    lost[order[:-1][(seq[1:] == seq[:-1]) & again[1:]]] = True
    return (data["length"] > 0) & ~lost, data["t_ns"][lost]


def lost_before(data: Table, arrivals: Table) -> tuple[Times, Times]:
    """Between which two segments each whose first copy was lost before the capture would have passed.

    When a loss before the capture happened is known no better: after the tail of a burst nothing passes for
    long.

    Parameters
    ----------
    data : Table
        As of `lost_behind`, not empty.
    arrivals : Table
        Rows of `arrivals` of the same direction and capture: what the network reordered was not lost.

    Returns
    -------
    since_ns, until_ns : array
        When the last new segment before it passed, and the first after it; by the latter, ascending.
    """
    again = arrivals["verdict"] == ARRIVALS_ARE.index("retransmission")
    gaps = arrivals["seq"][again & (arrivals["fresh"] == 1) & (arrivals["in_order"] == 0)]
    highest = np.maximum.accumulate(data["seq"])
    # Of each segment, the one that was the newest when it passed: itself, or one before it.
    newest = np.searchsorted(highest, highest, side="left")
    behind = np.minimum(np.searchsorted(highest, np.sort(gaps), side="right"), len(data) - 1)
    return data["t_ns"][newest[np.maximum(behind - 1, 0)]], data["t_ns"][behind]
