"""Tables behind the metrics of parameter studies: round trips, losses and what repaired them, energy."""

from __future__ import annotations

from multitracer.schema_columns import Column, Schema

REPAIRS = ("never", "timeout", "fast", "other")

_CONN = Column("conn", "int32", "", "connection number; -1 if none")

RTT_SAMPLES = Schema(
    "rtt_samples",
    "Round-trip times by Karn's rule, each with the estimator that it found and the timer that it set.",
    (
        Column("t_ns", "int64", "ns", "arrival of the ACK, on the reference timeline"),
        _CONN,
        Column("record", "int64", "", "the ACK in the capture next to the data sender"),
        Column("rtt_ns", "int64", "ns", "round-trip time measured"),
        Column(
            "srtt_ns", "float64", "ns", "smoothed RTT before it; its own value at the first", "RFC 6298 2"
        ),
        Column("rttvar_ns", "float64", "ns", "RTT variation with it", "RFC 6298 2"),
        Column("rto_ns", "float64", "ns", "SRTT + 4 RTTVAR with it, no minimum, no clock step", "RFC 6298 2"),
    ),
)

LOST_SEGMENTS = Schema(
    "lost_segments",
    "Data segments that never arrived whole, and what sent their bytes again.",
    (
        Column("t_ns", "int64", "ns", "when it was sent, on the reference timeline"),
        _CONN,
        Column("record", "int64", "", "packet in the capture next to its sender"),
        Column("seq", "int64", "bytes", "first byte"),
        Column("length", "int32", "bytes", "payload"),
        Column(
            "repair", "int8", "", "what sent it again: a timer, or loss recovery without one", "", REPAIRS
        ),
        Column("repaired_ns", "int64", "ns", "when it was sent again; -1 if never"),
        Column("repair_record", "int64", "", "the segment that did; 0 if none"),
    ),
)

NODE_ENERGY = Schema(
    "node_energy",
    "Energy of each node between its first and its last report.",
    (
        Column("node", "int32", "", "number of the node"),
        Column("first", "float64", "J", "left at its first report"),
        Column("last", "float64", "J", "left at its last report"),
        Column("used", "float64", "J", "between them"),
    ),
)

STUDY_SCHEMAS: dict[str, Schema] = {
    schema.name: schema for schema in (RTT_SAMPLES, LOST_SEGMENTS, NODE_ENERGY)
}
