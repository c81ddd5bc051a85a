"""Tables of analyzers that look closely at one sender: its RTTs, and what it had in the network."""

from __future__ import annotations

from multitracer.model.schema import CONN, RECORD, SOURCE, TIME, Column, Schema

RTT_METHODS = ("segment", "timestamp")

RTT_SAMPLES = Schema(
    "rtt_samples",
    "Round-trip times measured at the sender's capture, one row per ACK and way of measuring.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        Column("way", "int8", "", "how it was measured", "RFC 6298 3, RFC 7323 4", RTT_METHODS),
        Column("rtt_ns", "int64", "ns", "from the segment to this ACK"),
        Column("again", "int8", "", "1: what it acknowledges had been transmitted more than once"),
    ),
)

IN_FLIGHT = Schema(
    "in_flight",
    "Data not yet acknowledged, and how much of it was in the network, after each segment and ACK.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        Column("flight", "int64", "bytes", "sent and not acknowledged (FlightSize)", "RFC 5681 2"),
        Column(
            "pipe",
            "int64",
            "bytes",
            "of it, in the network: not taken for lost (SACKed data above it), or retransmitted",
            "RFC 6675 4, FACK",
        ),
    ),
)
