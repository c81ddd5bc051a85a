"""Tables behind the metrics of parameter studies: RTTs, losses and what repaired them, energy."""

from __future__ import annotations

from multitracer.model.schema.columns import Column, Schema

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
    "Data segments that never arrived whole, and what retransmitted their bytes.",
    (
        Column("t_ns", "int64", "ns", "when it was sent, on the reference timeline"),
        _CONN,
        Column("record", "int64", "", "packet in the capture next to its sender"),
        Column("seq", "int64", "bytes", "first byte"),
        Column("length", "int32", "bytes", "payload"),
        Column(
            "repair", "int8", "", "what retransmitted it: a timer, or loss recovery without one", "", REPAIRS
        ),
        Column("repaired_ns", "int64", "ns", "when it was retransmitted; -1 if never"),
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

DCCP_REPORTS = Schema(
    "dccp_reports",
    "What a sender with CCID 3 learned from each report that measures an RTT.",
    (
        Column("t_ns", "int64", "ns", "arrival of the report, on the reference timeline"),
        Column("source", "int16", "", "index of the source in `Measurement.sources`"),
        Column("flow", "int32", "", "index of the socket in `Trace.flows`"),
        Column("record", "int64", "", "the report in the capture"),
        Column("rtt_ns", "int64", "ns", "RTT, less the time that the receiver held the report"),
        Column(
            "srtt_ns", "float64", "ns", "R: nine parts its last value, one part this sample", "RFC 5348 4.3"
        ),
        Column("receive_rate_bps", "float64", "bits/s", "X_recv; NaN if the report has none", "RFC 4342 8.3"),
        Column("loss_event_rate", "float64", "", "p; 0 before a loss, NaN if the report has none"),
        Column(
            "x_calc_bps", "float64", "bits/s", "by the throughput equation; NaN without p", "RFC 5348 3.1"
        ),
    ),
)

STUDY_SCHEMAS: dict[str, Schema] = {
    schema.name: schema for schema in (RTT_SAMPLES, LOST_SEGMENTS, NODE_ENERGY, DCCP_REPORTS)
}
