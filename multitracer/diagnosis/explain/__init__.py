"""The explanation of one packet or moment of a transfer: what happened, by which rule, on what evidence.

Every sentence carries the packet numbers that it rests on. The text is built from the tables alone; what they
do not hold is reported as missing, not filled in.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.diagnosis.explain.explainer import Explainer
from multitracer.diagnosis.explain.explanation import Explanation as Explanation
from multitracer.layers.tcp.transit import near_sender
from multitracer.model.errors import UsageError
from multitracer.model.quantities import count
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline
from multitracer.output.results import Answers

_NEAR_NS = 500_000_000
_STALL_NS = 200_000_000


def explain(
    analysis: Answers, conn: int | None = None, at_s: float | None = None, packet: int | None = None
) -> Explanation:
    """Explain a packet, or what happened at a time.

    Parameters
    ----------
    analysis : Answers
    conn : int, optional
        Connection; may be left out where there is one, or where a packet is named.
    at_s : float, optional
        Seconds from the first TCP event. The retransmission or stall at that time is explained, else the data
        segment nearest to it.
    packet : int, optional
        Packet number in the capture next to the data sender, from 1.

    Raises
    ------
    UsageError
        Neither or both of time and packet; no such connection or packet; nothing near that time.
    """
    if (at_s is None) == (packet is None):
        raise UsageError(
            "explain needs --packet N or --at SECONDS, and not both; to find packets: "
            "multitracer export PATH --to csv --table arrivals -o arrivals.csv, column record"
        )
    m = analysis.measurement
    source = near_sender(m)
    source = source if source is not None else _first_capture(m)
    rows = m.table("segments")
    rows = rows.where(rows["source"] == source).sorted_by("t_ns")
    if conn is not None and all(one.index != conn for one in m.connections):
        raise UsageError(f"no connection {conn}; there are {len(m.connections)}, counted from 0")
    if packet is not None:
        found = np.flatnonzero(rows["record"] == packet)
        if not len(found) or (conn is not None and int(rows["conn"][found[0]]) != conn):
            of = f" of connection {conn}" if conn is not None else ""
            capture = m.sources[source]
            if packet > capture.records:
                there = f"it has {count(capture.records, 'packet')}"
                raise UsageError(f"{capture.path}: there is no packet {packet:,}; {there}")
            raise UsageError(f"{capture.path}: packet {packet:,} is no TCP segment{of}")
        return Explainer(analysis, rows, int(found[0]), source).explain()
    assert at_s is not None
    if conn is None:
        if len(m.connections) != 1:
            raise UsageError(f"there are {len(m.connections)} connections: name one with --conn")
        conn = m.connections[0].index
    row, stall = _moment(m, rows, conn, at_s)
    return Explainer(analysis, rows, row, source).explain(stall)


def explain_all(analysis: Answers, source: int, records: Sequence[int]) -> dict[int, Explanation]:
    """Explain many packets of one capture; the rows of a connection are looked up and sorted once.

    Parameters
    ----------
    analysis : Answers
    source : int
        The capture among the sources.
    records : sequence of int
        Packet numbers, from 1; those that are no TCP segment are left out.

    Returns
    -------
    dict
        By packet number, in the order of `records`; each as `explain` has it.
    """
    every = analysis.measurement.table("segments")
    mine = every["source"] == source
    asked = np.flatnonzero(mine & np.isin(every["record"], np.asarray(records, dtype=np.int64)))
    found: dict[int, Explanation] = {}
    for conn in np.unique(every["conn"][asked]).tolist():
        rows = every.where(mine & (every["conn"] == conn)).sorted_by("t_ns")
        for row in np.flatnonzero(np.isin(rows["record"], every["record"][asked])).tolist():
            found[int(rows["record"][row])] = Explainer(analysis, rows, row, source).explain()
    return {record: found[record] for record in records if record in found}


def _first_capture(m: Timeline) -> int:
    for index, source in enumerate(m.sources):
        if source.layer == "tcp":
            return index
    raise UsageError("nothing to explain: there is no packet capture")


def _moment(m: Timeline, rows: Table, conn: int, at_s: float) -> tuple[int, bool]:
    """The segment that a time is about, and whether it ended a stall."""
    t_ns = m.nanoseconds(at_s)
    connection = m.connection(conn)
    mine = (rows["conn"] == conn) & (rows["dir"] == connection.data_dir) & (rows["length"] > 0)
    data = np.flatnonzero(mine)
    if not len(data):
        raise UsageError(f"connection {conn} carried no data that could be explained")
    times = rows["t_ns"][data]
    again = data[rows["cause"][data] != 0]
    close = again[np.abs(rows["t_ns"][again] - t_ns) <= _NEAR_NS // 10]
    if len(close):
        return int(close[np.argmin(np.abs(rows["t_ns"][close] - t_ns))]), False
    after = int(np.searchsorted(times, t_ns, side="left"))
    if 0 < after < len(times) and int(times[after] - times[after - 1]) >= _STALL_NS:
        return int(data[after]), True
    near = again[np.abs(rows["t_ns"][again] - t_ns) <= _NEAR_NS]
    if len(near):
        return int(near[np.argmin(np.abs(rows["t_ns"][near] - t_ns))]), False
    best = int(np.argmin(np.abs(times - t_ns)))
    if abs(int(times[best]) - t_ns) > _NEAR_NS:
        first, last = m.seconds(times[0]), m.seconds(times[-1])
        raise UsageError(
            f"--at {at_s:g}: connection {conn} sent nothing near that time (its data is at {first:.3f} to "
            f"{last:.3f} s)"
        )
    return int(data[best]), False
