"""Tables of DCCP: packets of a capture, states of a sender with CCID 3."""

from __future__ import annotations

from multitracer.model.schema.columns import RECORD, SOURCE, TIME, Column, Schema

DCCP_TYPES = (
    "request",
    "response",
    "data",
    "ack",
    "dataack",
    "closereq",
    "close",
    "reset",
    "sync",
    "syncack",
)

DCCP_PACKETS = Schema(
    "dccp_packets",
    "DCCP packets with what the receiver of data reports in their options.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("flow", "int32", "", "index of the connection in `Trace.flows`"),
        Column("dir", "int8", "", "0 from the first end of the flow, 1 towards it"),
        Column("kind", "int8", "", "packet type", "RFC 4340 5.1", DCCP_TYPES),
        Column("seq", "int64", "packets", "sequence number, 24 bits put back to 48", "RFC 4340 7.6"),
        Column("ack", "int64", "packets", "acknowledgement number; -1 if none"),
        Column("length", "int32", "bytes", "application data"),
        Column("ccval", "int8", "", "CCVal; with CCID 3 the window counter", "RFC 4342 8.1"),
        Column("reset_code", "int16", "", "why a reset; -1 if none", "RFC 4340 5.6"),
        Column("ndp", "int64", "packets", "packets without data since the last with data; -1 if absent"),
        Column("received", "int32", "packets", "received by the ack vector; -1 without one", "RFC 4340 11.4"),
        Column("marked", "int32", "packets", "received with a congestion mark; -1 without an ack vector"),
        Column("missing", "int32", "packets", "not received yet by the ack vector; -1 without one"),
        Column("timestamp", "int64", "10 us", "timestamp option, modulo 2^32; -1 if absent", "RFC 4340 13.1"),
        Column("echo", "int64", "10 us", "timestamp echoed, modulo 2^32; -1 if absent", "RFC 4340 13.3"),
        Column("elapsed_ns", "int64", "ns", "from reception to this answer; -1 if absent", "RFC 4340 13.2"),
        Column(
            "loss_interval",
            "int64",
            "packets",
            "inverse of the loss event rate; 0 no loss so far; -1 if absent",
            "RFC 4342 8.5",
        ),
        Column("receive_rate_bps", "int64", "bits/s", "X_recv; -1 if absent", "RFC 4342 8.3"),
    ),
)

DCCP_STATES = Schema(
    "dccp_states",
    "State of a DCCP sender with CCID 3 as the kernel logs it.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("flow", "int32", "", "index of the socket in `Trace.flows` (local end first)"),
        Column("length", "int32", "bytes", "message handed over by the application"),
        Column("segment_bytes", "int32", "bytes", "s, the mean packet size; -1 if absent"),
        Column("rtt_ns", "int64", "ns", "R, the round-trip time; -1 if absent"),
        Column("loss_event_rate", "float64", "", "p; NaN if absent", "RFC 5348 5"),
        Column("x_calc_bps", "int64", "bits/s", "X_calc by the throughput equation; -1 if absent"),
        Column("x_recv_bps", "int64", "bits/s", "X_recv; -1 if absent"),
        Column("x_bps", "int64", "bits/s", "X, the allowed sending rate; -1 if absent"),
        Column("interval_ns", "int64", "ns", "t_ipi, time between two packets; -1 if absent", "RFC 5348 4.6"),
    ),
)
