"""Tables of reliable links of any kind: frames, events, what the radio did."""

from __future__ import annotations

from multitracer.model.schema.columns import RECORD, SOURCE, TIME, Column, Schema

# The words are those of the core, which numbers them by their place (rust/core/src/linktable.rs): a test
# holds the two equal. They are repeated here, so that a schema is read without loading the core.
LINK_ACTIONS = ("snd", "rcv", "evt")
LINK_KINDS = (
    "opaque",
    "RR",
    "RNR",
    "REJ",
    "SREJ",
    "SABM",
    "UA",
    "DISC",
    "DM",
    "NULL",
    "UI",
    "XID",
    "TEST",
    "REMAP",
    "reset",
    "drop",
    "call_dropped",
    "discard",
    "damaged",
    "desync",
    "resync",
    "unseen",
)
RESET_CAUSES = (
    "",
    "n2",
    "protocol",
    "peer",
    "deauth",
    "roam",
    "handover",
    "reestablishment",
    "other",
)

LINK_POLLS = ("", "poll", "final")

LINK_FRAMES = Schema(
    "link_frames",
    "Information frames of the link, one row per transmission and per reception.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("entity", "int16", "", "index of the link entity in `Measurement.entities`"),
        Column("action", "int8", "", "snd or rcv", "", LINK_ACTIONS),
        Column("ns", "int32", "", "N(S), the frame's sequence number; -1 if absent", "GSM 04.22"),
        Column(
            "offset", "int64", "bytes", "first byte in the stream, across resets; -1 if absent", "rlpdump 1"
        ),
        Column(
            "length",
            "int32",
            "bytes",
            "user bytes; -1 if absent; shorter than the frame: send buffer ran empty",
        ),
        Column("attempt", "int16", "", "0 for the first transmission, k for the k-th retransmission"),
        Column("duplicate", "int8", "", "1 if received before"),
        Column("nr", "int32", "", "N(R) it carries; -1 if absent", "GSM 04.22"),
        Column("poll", "int8", "", "P/F bit"),
    ),
)

LINK_EVENTS = Schema(
    "link_events",
    "Everything else on the link: supervisory and unnumbered frames, resets, drops.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("entity", "int16", "", "index of the link entity in `Measurement.entities`"),
        Column("action", "int8", "", "snd, rcv or evt", "", LINK_ACTIONS),
        Column("kind", "int8", "", "frame type or event", "GSM 04.22", LINK_KINDS),
        Column("nr", "int32", "", "N(R); -1 if absent"),
        Column("cause", "int8", "", "of a reset", "", RESET_CAUSES),
        Column("flush_tx", "int64", "bytes", "send buffer dropped at a reset; -1 if absent"),
        Column("flush_rx", "int64", "bytes", "receive buffer dropped at a reset; -1 if absent"),
        Column("length", "int32", "bytes", "packet dropped by a queue; -1 if absent"),
        Column("poll", "int8", "", "P bit of a command, F bit of a response", "GSM 04.22", LINK_POLLS),
    ),
)

LINK_RADIO = Schema(
    "link_radio",
    "How a frame was transmitted on the air, where the log records it: one row per transmission seen.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("entity", "int16", "", "index of the link entity in `Measurement.entities`"),
        Column("airtime_ns", "int64", "ns", "time on the air; -1 if absent"),
        Column("rate_bps", "int64", "bits/s", "rate of the physical layer; -1 if absent"),
        Column("mcs", "int16", "", "modulation and coding scheme (MCS index); -1 if absent"),
        Column("signal_dbm", "int16", "dBm", "received power; 0 if absent"),
        Column("channel_mhz", "int32", "MHz", "centre frequency; -1 if absent"),
        Column("attempt", "int16", "", "0 for the first attempt on the air; -1 if unknown"),
    ),
)

LINK_AIR = Schema(
    "link_air",
    "Shares of airtime, as a monitor captured it: one row per tenth of a second, at its first frame.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("own_ns", "int64", "ns", "airtime of the analysed link: data, answers, management"),
        Column("others_ns", "int64", "ns", "airtime of other stations and networks"),
        Column("everybody_ns", "int64", "ns", "airtime of beacons, probes and frames to groups"),
        Column("damaged_ns", "int64", "ns", "airtime of frames that arrived damaged, from any sender"),
        Column("frames", "int32", "", "frames captured"),
        Column("own_frames", "int32", "", "frames of the analysed link"),
        Column("unknown_frames", "int32", "", "frames whose airtime is unknown"),
    ),
)
