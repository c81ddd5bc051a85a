"""Throughput and goodput of each connection, and the regression lines of Figure 5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.analysis import Analyzer, Result
from multitracer.link.path import link_path
from multitracer.measurement import Connection, Measurement
from multitracer.regression import Line, fit
from multitracer.schema.results import TRENDS
from multitracer.table import Table
from multitracer.transfer.transit import damaged, data_at, data_span, near_sender, valid_acks


def run(m: Measurement, results: Mapping[str, Result]) -> Result:
    """Measure each connection from its first data segment to its last ACK.

    Throughput counts every payload byte that the sender put on the wire, goodput only bytes that the receiver
    acknowledged, once. The lines are least-squares fits through *TcpRcv_data* and *RlpSnd_data*.

    References
    ----------
    Paper 4.3 and 4.5, Figure 5.
    """
    rows: list[dict[str, Any]] = []
    connections = []
    for connection in m.connections:
        entry, line = _connection(m, connection)
        if line is not None:
            rows.append(
                _row(m, line, connection.index, "TcpRcv_data" if m.rcv is not None else "TcpSnd_data")
            )
        connections.append(entry)
    link = _link_line(m)
    if link is not None:
        rows.append(_row(m, link, -1, "RlpSnd_data"))
    table = Table.filled(TRENDS, len(rows), {name: [row[name] for row in rows] for name in TRENDS.by_name})
    trends = [_words(m, table, row) for row in range(len(table))]
    return Result("throughput", {"connections": connections, "trends": trends}, {"trends": table})


def _connection(m: Measurement, connection: Connection) -> tuple[dict[str, Any], Line | None]:
    entry: dict[str, Any] = {
        "conn": connection.index,
        "start": None,
        "end": None,
        "throughput_bps": None,
        "goodput_bps": None,
    }
    span = data_span(m, connection)
    if span is None:
        return entry, None
    start, end = span
    entry |= {"start": round(m.seconds(start), 6), "end": round(m.seconds(end), 6)}
    source = near_sender(m)
    sent = data_at(m, connection, source)
    sent = sent.where((sent["length"] > 0) & (sent["t_ns"] <= end))
    acks = valid_acks(m, connection, source)
    last = int((sent["seq"] + sent["length"]).max())
    reached = min(int(acks["ack"].max()), last) if len(acks) else int(sent["seq"].min())
    acked = max(reached - int(sent["seq"].min()), 0)
    if end > start:
        seconds = (end - start) / 1e9
        entry["throughput_bps"] = round(8 * int(sent["length"].sum()) / seconds, 3)
        entry["goodput_bps"] = round(8 * acked / seconds, 3)
    return entry, _tcp_line(m, connection)


def _tcp_line(m: Measurement, connection: Connection) -> Line | None:
    data = data_at(m, connection, m.rcv if m.rcv is not None else near_sender(m))
    data = data.where((data["length"] > 0) & ~damaged(data))
    return fit((data["t_ns"] - m.t0_ns) / 1e9, data["seq"])


def _link_line(m: Measurement) -> Line | None:
    path = link_path(m)
    if path is None:
        return None
    known = path.first.where(path.first["offset"] >= 0)
    return fit((known["t_ns"] - m.t0_ns) / 1e9, known["offset"])


def _row(m: Measurement, line: Line, conn: int, series: str) -> dict[str, Any]:
    return {
        "t_ns": m.t0_ns + round(line.start * 1e9),
        "end_ns": m.t0_ns + round(line.end * 1e9),
        "conn": conn,
        "series": series,
        "rate": line.rate,
        "level": line.level,
        "points": line.points,
    }


def _words(m: Measurement, table: Table, row: int) -> dict[str, Any]:
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
    needs=("segments",),
    run=run,
)
