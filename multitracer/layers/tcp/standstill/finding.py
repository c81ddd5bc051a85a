"""Times in which the path of a connection was stalled, by all that one capture shows of them."""

from __future__ import annotations

from collections.abc import Sequence

from multitracer.layers.tcp.standstill.acks import late_acks
from multitracer.layers.tcp.standstill.data import interrupted, stamped_before
from multitracer.layers.tcp.standstill.others import came_between_ns, others_moved
from multitracer.layers.tcp.standstill.period import Standstill
from multitracer.layers.tcp.transit import payload_at, valid_acks
from multitracer.model.timeline import Connection, Timeline


def standstills(
    m: Timeline,
    connection: Connection,
    source: int,
    base_ns: int | None,
    needless: Sequence[int],
    *,
    round_ns: int | None,
    point: str | None,
    sack: bool,
) -> list[Standstill]:
    """Times in which the path of a connection was stalled; in order, none overlaps another.

    Each lasts for 100 ms and more, for the base RTT, and for three times the usual distance of packets.

    Parameters
    ----------
    m : Timeline
        With segments.
    connection : Connection
    source : int
        The capture.
    base_ns : int or None
        The smallest RTT from the capture to the receiver and back; None if it was not measured.
    needless : sequence of int
        Packets of the capture that a timer retransmitted although nothing was lost.
    round_ns : int or None
        The smallest RTT of the whole path, or an upper bound of it; None if it is unknown.
    point : str or None
        Where the capture was taken: "snd", "mid" or "rcv"; None if that is unknown.
    sack : bool
        Whether the receiver acknowledges selectively.

    Returns
    -------
    list of Standstill

    References
    ----------
    Gurtov and Ludwig, *Responding to spurious timeouts in TCP* (INFOCOM 2003): delay spikes.
    """
    if m.carrying(connection.index, connection.data_dir, source) < 3:
        return []
    data = payload_at(m, connection, source)
    found = stamped_before(data, base_ns or 0)
    if not found and point in ("mid", "rcv") and round_ns is not None and (data["ts_val"] < 0).all():
        found = interrupted(data, valid_acks(m, connection, source), round_ns)
    if point != "rcv" and base_ns:
        # Where nothing else may overlap it, a pause in which other connections continued is no stall in any
        # case.
        others = not found and len(m.connections) > 1
        came_ns = came_between_ns(m, connection, source, before=False) if others else None
        acks = valid_acks(m, connection, source)
        found = [*late_acks(data, acks, base_ns, needless, came_ns, sack=sack), *found]
    found.sort(key=lambda one: (one.start_ns, -one.end_ns))
    apart: list[Standstill] = []
    for one in found:
        if not apart or one.start_ns >= apart[-1].end_ns:
            apart.append(one)
    if len(m.connections) == 1:
        return apart
    return [one for one in apart if not others_moved(m, connection, source, one)]
