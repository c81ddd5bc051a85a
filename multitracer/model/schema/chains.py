"""Tables that join the layers: packets and frames, chains of events, load of the path."""

from __future__ import annotations

from multitracer.model.schema.columns import Column, Schema

MAP_METHODS = ("framing", "sizes", "anchors", "content", "order")
FATES = ("unknown", "carried", "cut", "flushed", "dropped", "waiting", "spoiled")

_T = Column("t_ns", "int64", "ns", "time on the reference timeline")
_CONN = Column("conn", "int32", "", "connection number; -1 if none")
_DIR = Column("dir", "int8", "", "direction within the connection", "", ("forward", "reverse"))
_SOURCE = Column("source", "int16", "", "index of the source in `Measurement.sources`")
_RECORD = Column("record", "int64", "", "packet number in the capture next to its sender")

PACKET_SPANS = Schema(
    "packet_spans",
    "Position of each TCP segment in the link's byte stream, and what became of it.",
    (
        _T,
        _SOURCE,
        _RECORD,
        _CONN,
        _DIR,
        Column("seq", "int64", "bytes", "first byte of payload"),
        Column("length", "int32", "bytes", "payload"),
        Column("ip_length", "int32", "bytes", "IP packet on the wire"),
        Column("entity", "int16", "", "link entity that it entered"),
        Column("first", "int64", "bytes", "first byte in the stream; -1 if it never entered it"),
        Column("end", "int64", "bytes", "one past its last byte; -1 if it never entered the stream"),
        Column("error", "int64", "bytes", "uncertainty of either boundary; 0: exact"),
        Column("method", "int8", "", "how its size is known", "RFC 1662, RFC 1144", MAP_METHODS),
        Column("frames", "int32", "", "frames that carried bytes of it"),
        Column("attempts", "int32", "", "transmissions of these frames in total"),
        Column("missing", "int64", "bytes", "bytes that no frame delivered to the peer; -1 if not logged"),
        Column(
            "fate",
            "int8",
            "",
            "what the link did with it: cut and flushed lost some or all bytes, waiting never left its queue,"
            " spoiled arrived whole after the rest of a cut one, without a flag between them",
            "",
            FATES,
        ),
        Column("sent_ns", "int64", "ns", "first transmission of its first frame; -1 if none"),
        Column(
            "complete_ns",
            "int64",
            "ns",
            "the peer had received all its frames and those before; -1 if unknown",
        ),
        Column("arrived_ns", "int64", "ns", "it passed the capture after the link; -1 if never seen"),
    ),
)

PACKET_FRAMES = Schema(
    "packet_frames",
    "Which frames carried which segment: one row for each pair.",
    (
        Column("t_ns", "int64", "ns", "first transmission of the frame"),
        _SOURCE,
        _RECORD,
        _CONN,
        _DIR,
        Column("offset", "int64", "bytes", "the frame's first byte in the stream"),
        Column("length", "int32", "bytes", "user bytes of the frame"),
        Column("share", "int32", "bytes", "of them, bytes of this segment"),
        Column("certain", "int8", "", "1 if it carried bytes of it for certain"),
        Column("entity", "int16", "", "link entity that sent it"),
        Column("ns", "int32", "", "N(S) of the frame", "GSM 04.22"),
        Column("frame_source", "int16", "", "index of the link log in `Measurement.sources`"),
        Column("frame_record", "int64", "", "line of the first transmission in the link log"),
        Column("last_record", "int64", "", "line of the last transmission in the link log"),
        Column("attempts", "int32", "", "transmissions of the frame"),
        Column("last_ns", "int64", "ns", "its last transmission"),
        Column("received_ns", "int64", "ns", "the peer received it; -1 if never"),
    ),
)

LOAD = Schema(
    "load",
    "Load of the path at each RTT sample: bytes in flight, and those queued at the bottleneck.",
    (
        _T,
        _CONN,
        _RECORD,
        Column("rtt_ns", "int64", "ns", "the sample"),
        Column(
            "delay_ns",
            "int64",
            "ns",
            "queueing delay: RTT less the base RTT of a full segment",
            "Paper 3.3, 5.2",
        ),
        Column("load", "int64", "bytes", "payload sent and not acknowledged", "Paper 3.3"),
        Column("queue", "int64", "bytes", "of it, beyond the BDP", "Paper 3.3"),
        Column("drain_ns", "int64", "ns", "time that the bottleneck needs for that queue"),
    ),
)

CHAIN_KINDS = (
    "link_reset",
    "local_drop",
    "link_burst",
    "queue_timeout",
    "ack_path",
    "link_loss",
    "loss",
    "xoff",
    "call_dropped",
    "standstill",
)

RESET_LOSSES = Schema(
    "reset_losses",
    "What TCP lost at each link reset, segment by segment.",
    (
        Column("reset", "int32", "", "row of the reset in `link_resets`, from 0"),
        Column(
            "what",
            "int8",
            "",
            "data lost, a segment of the other direction lost, or arrived and refused",
            "Paper 5.3, RFC 1144",
            ("segment_lost", "ack_lost", "segment_corrupted"),
        ),
        _T,
        _SOURCE,
        _RECORD,
        _CONN,
        _DIR,
        Column("seq", "int64", "bytes", "first byte of payload"),
        Column("length", "int32", "bytes", "payload"),
        Column("whole", "int8", "", "1 if all of its bytes were lost, 0 if some; -1 if no frame shows it"),
        Column("missing", "int64", "bytes", "its bytes lost in the link's stream; -1 if no frame shows it"),
        Column("frames", "str", "", "lines of the link log that carried it, or empty"),
        Column(
            "basis",
            "int8",
            "",
            "source: both captures, frames that the peer never received, the TCP checksum, ACKs never sent",
            "",
            ("captures", "frames", "checksum", "acks"),
        ),
    ),
)

CHAINS = Schema(
    "chains",
    "Chains of cause and effect across the layers, one row each.",
    (
        Column("chain", "int32", "", "number of the chain, from 1"),
        Column("kind", "int8", "", "what it began with", "", CHAIN_KINDS),
        _T,
        Column("end_ns", "int64", "ns", "end of its last event"),
        _CONN,
        Column("idle_ns", "int64", "ns", "idle time of the link charged to it", "Paper 4.3"),
        Column("held_ns", "int64", "ns", "time in which the link took no data (XOFF, reset handshake)"),
        Column("duplicate", "int64", "bytes", "bytes retransmitted because of it"),
        Column("cost_ns", "int64", "ns", "idle time, and the time that its duplicates took on the link"),
        Column("silence_ns", "int64", "ns", "longest wait of the sender or gap in delivery in it"),
        Column("events", "int32", "", "number of its events"),
    ),
)

CHAIN_EVENTS = Schema(
    "chain_events",
    "The events of the chains, each with the one that it follows from and the rule that joined them.",
    (
        Column("chain", "int32", "", "number of the chain"),
        Column("event", "int32", "", "number within the chain, from 1"),
        Column("parent", "int32", "", "event that it follows from; 0 for the first"),
        Column("what", "str", "", "kind of event"),
        _T,
        Column("end_ns", "int64", "ns", "its end; -1 for a moment"),
        _SOURCE,
        Column("record", "int64", "", "packet or line in that source; 0 if none"),
        _CONN,
        Column("seq", "int64", "bytes", "first byte, or place in the link's stream; -1 if none"),
        Column("length", "int64", "bytes", "bytes that it concerns; -1 if none"),
        Column("frames", "str", "", "lines of the link log that carried it, or empty"),
        Column("number", "int32", "", "segments or ACKs that the event represents; 1 for a single one"),
        Column("wait_ns", "int64", "ns", "of a timeout: how long the sender had waited; -1 otherwise"),
        Column("cause", "str", "", "of a reset or a dropped call: why; of a timeout: its verdict; or empty"),
        Column("rule", "str", "", "why it belongs to the chain"),
    ),
)

CHAIN_LINKS = Schema(
    "chain_links",
    "Which chain each idle phase, timeout and retransmission is charged to.",
    (
        Column("what", "str", "", "idle, timeout or repeat"),
        _T,
        _RECORD,
        Column("chain", "int32", "", "number of the chain; 0 if none is known"),
    ),
)
