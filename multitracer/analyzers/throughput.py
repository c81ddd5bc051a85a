"""Throughput and goodput of each connection, and the regression lines of Figure 5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.link.path import link_path
from multitracer.layers.tcp.flow_batch import Flags, batches, damaged, flows, payload, valid_acks
from multitracer.layers.tcp.transit import near_sender, spans_of
from multitracer.layers.vantage import acknowledged_bytes, data_ns, reference_ns, vantage
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.regression import LEAST_POINTS, FittedLine, fit
from multitracer.model.schema import DIRECTIONS
from multitracer.model.schema.results import TRENDS
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Measure each connection from its first data segment to its last ACK.

    Throughput counts every payload byte that the sender put on the wire, without copies that the network
    made; goodput only bytes that the receiver acknowledged, once. The lines are least-squares fits through
    *TcpRcv_data* and *RlpSnd_data*.

    References
    ----------
    Paper 4.3 and 4.5, Figure 5.
    """
    rows: list[dict[str, Any]] = []
    connections = []
    series = "TcpRcv_data" if m.rcv is not None else "TcpSnd_data"
    for some in batches(m):
        entries, lines = _connections(m, some)
        connections += entries
        rows += [_row(m, line, some[at].index, series) for at, line in lines.items()]
    link = _link_line(m)
    if link is not None:
        rows.append(_row(m, link, -1, "RlpSnd_data"))
    table = Table.filled(TRENDS, len(rows), {name: [row[name] for row in rows] for name in TRENDS.by_name})
    trends = [_words(m, table, row) for row in range(len(table))]
    return Result("throughput", {"connections": connections, "trends": trends}, {"trends": table})


def _connections(
    m: Timeline, connections: list[Connection]
) -> tuple[list[dict[str, Any]], dict[int, FittedLine]]:
    """An entry for each connection, and the lines of those that have one."""
    spans, carrying = spans_of(m, connections)
    source = near_sender(m)
    sent = payload(m, connections, source)
    sent = sent.where(sent["t_ns"] <= spans[:, 1][sent.of])
    first, last = sent.smallest(sent["seq"], 0), sent.largest(sent["seq"] + sent["length"], 0)
    acks = valid_acks(m, connections, source)
    reached = np.where(acks.sizes > 0, np.minimum(acks.largest(acks["ack"], 0), last), first)
    acked = np.maximum(reached - first, 0)
    entries = []
    columns = (spans, carrying, sent.sizes, sent.summed(sent["length"]), acked)
    for connection, (start, end), carries, segments, put, taken in zip(
        connections, *(column.tolist() for column in columns), strict=True
    ):
        entry: dict[str, Any] = {"conn": connection.index}
        entry |= dict.fromkeys(("start", "end", "data_s", "throughput_bps", "goodput_bps"))
        if not carries:
            entry |= _elsewhere(m, connection)
        else:
            entry |= _rates(m, start, end, segments, _of_sender(put, connection, source), taken)
        entries.append(entry)
    return entries, _tcp_lines(m, connections, carrying)


def _rates(
    m: Timeline, start_ns: int, end_ns: int, segments: int, sent_bytes: int, acked_bytes: int
) -> dict[str, Any]:
    """Of one segment no rate: its ACK is the time that the host took, or an RTT."""
    found: dict[str, Any] = {"start": round(m.seconds(start_ns), 6), "end": round(m.seconds(end_ns), 6)}
    if end_ns > start_ns:
        seconds = (end_ns - start_ns) / 1e9
        found["data_s"] = round(seconds, 6)
        if segments <= 1:
            return found
        # What is acknowledged passed, captured or not.
        found["throughput_bps"] = round(8 * max(sent_bytes, acked_bytes) / seconds, 3)
        found["goodput_bps"] = round(8 * acked_bytes / seconds, 3)
    return found


def _elsewhere(m: Timeline, connection: Connection) -> dict[str, Any]:
    """The rates of a connection that no capture at an end holds, by the one that sees its data best."""
    summaries = connection.summaries.values()
    if not summaries or any("first_ns" not in one for one in summaries):
        return {}  # tables of a user's own
    source = vantage(m, connection)
    data = connection.summaries[source][DIRECTIONS[connection.data_dir]]
    span_ns = data_ns(data)
    if span_ns is None:
        return {}
    start_ns = reference_ns(m, source, data["first_data_ns"])
    sent = data["data_segments"], data["data_bytes"]
    return _rates(m, start_ns, start_ns + span_ns, *sent, acknowledged_bytes(data))


def _of_sender(put_bytes: int, connection: Connection, source: int | None) -> int:
    """Bytes of segments without those that the network duplicated, which the capture's summary leaves out."""
    summary = connection.summaries.get(source) if source is not None else None
    data = (summary or {}).get(DIRECTIONS[connection.data_dir]) or {}
    return int(min(put_bytes, data.get("data_bytes", put_bytes)))  # none in tables of a user's own


def _tcp_lines(m: Timeline, connections: list[Connection], carrying: Flags) -> dict[int, FittedLine]:
    data = flows(m, connections, m.rcv if m.rcv is not None else near_sender(m))
    data = data.where((data["length"] > 0) & ~damaged(data))
    seconds, bounds = (data["t_ns"] - m.t0_ns) / 1e9, data.bounds.tolist()
    lines = {}
    for at in np.flatnonzero(carrying & (data.sizes >= LEAST_POINTS)).tolist():
        mine = slice(bounds[at], bounds[at + 1])
        line = fit(seconds[mine], data["seq"][mine])
        if line is not None:
            lines[at] = line
    return lines


def _link_line(m: Timeline) -> FittedLine | None:
    path = link_path(m)
    if path is None:
        return None
    known = path.first.where(path.first["offset"] >= 0)
    return fit((known["t_ns"] - m.t0_ns) / 1e9, known["offset"])


def _row(m: Timeline, line: FittedLine, conn: int, series: str) -> dict[str, Any]:
    return {
        "t_ns": m.t0_ns + round(line.start * 1e9),
        "end_ns": m.t0_ns + round(line.end * 1e9),
        "conn": conn,
        "series": series,
        "rate": line.rate,
        "level": line.level,
        "points": line.points,
    }


def _words(m: Timeline, table: Table, row: int) -> dict[str, Any]:
    conn = int(table["conn"][row])
    return {
        "series": str(table["series"][row]),
        "conn": conn if conn >= 0 else None,
        "start": round(m.seconds(table["t_ns"][row]), 6),
        "end": round(m.seconds(table["end_ns"][row]), 6),
        "rate_bytes_per_s": round(float(table["rate"][row]), 3),
        "level_bytes": round(float(table["level"][row]), 3),
        "points": int(table["points"][row]),
    }


ANALYZER = Analyzer(
    name="throughput",
    question="How fast was each connection, and how fast the link under it?",
    run=run,
    **QUESTIONS["throughput"]._asdict(),
)
