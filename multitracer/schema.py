"""The tables of MultiTracer, declared once: columns, dtypes, units, meaning, reference.

Validation, empty tables and the reference page of the docs come from here. A column of codes
(`categories` given) holds small integers that index its list of words.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    dtype: str
    unit: str
    meaning: str
    reference: str = ""
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema:
    """A table's columns in order."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    by_name: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {column.name: column for column in self.columns})

    def code(self, column: str, word: str) -> int:
        """The integer that stands for `word` in a column of codes."""
        return self.by_name[column].categories.index(word)


DIRECTIONS = ("forward", "reverse")
CAUSES = (
    "",
    "timeout",
    "fast",
    "slow_start",
    "tail_loss_probe",
    "unneeded_probe",
    "unknown",
    "handshake",
)
ACK_KINDS = ("", "advance", "duplicate", "window_update", "repeat", "old")
CHECKSUMS = ("unverified", "good", "bad")
VERDICTS = ("inconclusive", "spurious", "genuine")
VOTES = ("abstains", "spurious", "genuine")
TRIGGERS = ("", "received", "sent")

_T = Column("t_ns", "int64", "ns", "time on the reference timeline (before align: on the source's own clock)")
_SOURCE = Column("source", "int16", "", "index of the source in `Measurement.sources`")
_RECORD = Column("record", "int64", "", "packet number or line number in the source file, from 1")
_CONN = Column("conn", "int32", "", "connection number; -1 if none")
_DIR = Column(
    "dir", "int8", "", "direction within the connection: forward is from its first endpoint", "", DIRECTIONS
)

SEGMENTS = Schema(
    "segments",
    "TCP segments, one row per segment and capture.",
    (
        _T,
        _SOURCE,
        _RECORD,
        _CONN,
        _DIR,
        Column(
            "seq", "int64", "bytes", "first byte, unwrapped, relative to the ISN (SYN is 0)", "RFC 9293 3.4"
        ),
        Column("ack", "int64", "bytes", "next byte expected, unwrapped, relative; -1 without ACK"),
        Column("length", "int32", "bytes", "payload on the wire, whatever was captured"),
        Column("flags", "uint16", "", "TCP flag bits, FIN is 1", "RFC 9293 3.1"),
        Column(
            "window", "int64", "bytes", "advertised window, scaled; -1 if the scale is unknown", "RFC 7323 2"
        ),
        Column("duplicate", "int32", "bytes", "payload bytes already sent before", "Paper 4.3"),
        Column("transmission", "int16", "", "how often its first byte has now been sent; 0 without payload"),
        Column("cause", "int8", "", "why it was sent again", "METRICS: retransmission cause", CAUSES),
        Column("ack_kind", "int8", "", "what its ACK says", "RFC 5681 2", ACK_KINDS),
        Column(
            "flight", "int64", "bytes", "sent and not acknowledged in its direction, after it", "RFC 5681 2"
        ),
        Column(
            "rtt_ns", "int64", "ns", "round-trip time that its ACK measures (Karn); -1 if none", "RFC 6298 3"
        ),
        Column("ts_val", "int64", "", "TSval; -1 if absent", "RFC 7323 3"),
        Column("ts_ecr", "int64", "", "TSecr; -1 if absent", "RFC 7323 3"),
        Column(
            "sack_high", "int64", "bytes", "highest byte selectively acknowledged; -1 if none", "RFC 2018"
        ),
        Column("sack_count", "int8", "", "number of SACK blocks"),
        Column("checksum", "int8", "", "TCP checksum", "", CHECKSUMS),
        Column("ip_length", "int32", "bytes", "IP packet on the wire, headers included"),
        Column("ip_id", "uint16", "", "IPv4 identification"),
        Column("seq_raw", "uint32", "", "sequence number as in the header"),
        Column("ack_raw", "uint32", "", "acknowledgment number as in the header"),
    ),
)

RETRANSMISSIONS = Schema(
    "retransmissions",
    "Every segment that carries bytes sent before, with the evidence for its cause.",
    (
        _T,
        _SOURCE,
        _RECORD,
        _CONN,
        _DIR,
        Column("seq", "int64", "bytes", "first byte"),
        Column("length", "int32", "bytes", "payload"),
        Column("duplicate", "int32", "bytes", "of it, sent before"),
        Column("cause", "int8", "", "why it was sent again", "METRICS: retransmission cause", CAUSES),
        Column("transmission", "int16", "", "how often its first byte has now been sent"),
        Column("since_sent_ns", "int64", "ns", "since the same byte was last sent"),
        Column("since_ack_ns", "int64", "ns", "since the last segment from the other side; -1 if none"),
        Column("dupacks", "int32", "", "duplicate ACKs since the last advance"),
        Column("sacked", "int64", "bytes", "selectively acknowledged above it at that time"),
        Column(
            "rto_ns", "int64", "ns", "retransmission timeout estimated at that time; -1 if none", "RFC 6298"
        ),
        Column("episode", "int32", "", "loss recovery episode within the direction, from 1"),
    ),
)

TIMEOUTS = Schema(
    "timeouts",
    "Every expiry of a retransmission timer, with the votes on whether it was spurious.",
    (
        _T,
        _SOURCE,
        _RECORD,
        _CONN,
        _DIR,
        Column("seq", "int64", "bytes", "first byte sent again"),
        Column("length", "int32", "bytes", "payload sent again"),
        Column("backoff", "int16", "", "expiries in a row before this one: the timer was 2**backoff RTO"),
        Column("silence_ns", "int64", "ns", "the sender had sent nothing for so long"),
        Column(
            "rto_ns",
            "int64",
            "ns",
            "retransmission timeout estimated, without backoff; -1 if none",
            "RFC 6298",
        ),
        Column("eifel", "int8", "", "vote by the echoed timestamp", "RFC 3522", VOTES),
        Column("dsack", "int8", "", "vote by duplicate SACK", "RFC 2883, 3708", VOTES),
        Column("frto", "int8", "", "vote by ACKs of data not sent again", "RFC 5682", VOTES),
        Column("too_early", "int8", "", "vote by an ACK sooner than the smallest RTT", "METRICS", VOTES),
        Column("receiver", "int8", "", "vote by the receiver's capture", "METRICS", VOTES),
        Column("ack_path", "int8", "", "genuine: the data arrived, all its ACKs were lost", "METRICS", VOTES),
        Column(
            "link", "int8", "", "vote by the link log: all frames of the original delivered", "METRICS", VOTES
        ),
        Column("kernel", "int8", "", "vote by the kernel log (undo)", "METRICS", VOTES),
        Column("verdict", "int8", "", "the votes together", "Paper 5.4", VERDICTS),
        Column("answer_record", "int64", "", "the ACK that decided; 0 if none"),
    ),
)

ICMP_ERRORS = Schema(
    "icmp_errors",
    "ICMP errors that quote a TCP segment: what routers and hosts say of it.",
    (
        _T,
        _SOURCE,
        _RECORD,
        _CONN,
        _DIR,
        Column("version", "int8", "", "4: ICMP, 6: ICMPv6", "RFC 792, RFC 4443"),
        Column("type", "int16", "", "ICMP type"),
        Column("code", "int16", "", "ICMP code"),
        Column("mtu", "int64", "bytes", "of the next hop, where the error is about size; else 0", "RFC 1191"),
        Column("seq", "int64", "bytes", "first byte of the quoted segment; -1 if its connection is unknown"),
        Column("seq_raw", "uint32", "", "sequence number quoted"),
        Column("source_end", "str", "", "address and port that sent the quoted segment"),
        Column("destination_end", "str", "", "address and port that it was for"),
        Column("reporter", "str", "", "address that reports the error"),
    ),
)

TCP_STATES = Schema(
    "tcp_states",
    "Samples of the kernel's TCP state: tcp_probe events and ss samples.",
    (
        _T,
        _SOURCE,
        _RECORD,
        _CONN,
        _DIR,
        Column("flow", "int32", "", "index of the socket in `Trace.flows` (local end first)"),
        Column(
            "snd_nxt",
            "int64",
            "bytes",
            "relative once aligned, else as logged; -1 if absent",
            "RFC 9293 3.3.1",
        ),
        Column(
            "snd_una",
            "int64",
            "bytes",
            "relative once aligned, else as logged; -1 if absent",
            "RFC 9293 3.3.1",
        ),
        Column("data_length", "int32", "bytes", "payload of the segment that caused the event; -1 if absent"),
        Column("cwnd", "int32", "packets", "congestion window; -1 if absent", "RFC 5681"),
        Column("ssthresh", "int64", "packets", "slow start threshold; -1 if absent or infinite", "RFC 5681"),
        Column("snd_wnd", "int64", "bytes", "window offered by the peer; -1 if absent"),
        Column("rcv_wnd", "int64", "bytes", "window offered to the peer; -1 if absent"),
        Column("srtt_ns", "int64", "ns", "smoothed RTT; -1 if absent", "RFC 6298"),
        Column("rttvar_ns", "int64", "ns", "RTT variation; -1 if absent", "RFC 6298"),
        Column("rto_ns", "int64", "ns", "retransmission timeout; -1 if absent", "RFC 6298"),
        Column("mss", "int32", "bytes", "sender's segment size; -1 if absent"),
        Column("bytes_sent", "int64", "bytes", "counter; -1 if absent"),
        Column("bytes_acked", "int64", "bytes", "counter; -1 if absent"),
        Column("bytes_retrans", "int64", "bytes", "counter; -1 if absent"),
        Column("unacked", "int32", "packets", "in flight; -1 if absent"),
        Column("retrans_total", "int32", "packets", "retransmitted so far; -1 if absent"),
        Column("notsent", "int64", "bytes", "in the send buffer, not yet sent; -1 if absent"),
        Column("min_rtt_ns", "int64", "ns", "smallest RTT; -1 if absent"),
        Column("backoff", "int16", "", "timer backoff exponent; -1 if absent"),
        Column("busy_ns", "int64", "ns", "time with data outstanding; -1 if absent"),
        Column("rwnd_limited_ns", "int64", "ns", "time limited by the receiver window; -1 if absent"),
        Column("sndbuf_limited_ns", "int64", "ns", "time limited by the send buffer; -1 if absent"),
        Column("app_limited", "int8", "", "1 if the sender had no data; -1 if unknown"),
        Column("timer_ns", "int64", "ns", "time to expiry of the retransmission timer; -1 if absent"),
        Column("bytes_received", "int64", "bytes", "counter; -1 if absent"),
        Column("app_written", "int64", "bytes", "counter: handed over by the application; -1 if absent"),
        Column("app_read", "int64", "bytes", "counter: read by the application; -1 if absent"),
        Column("trigger", "int8", "", "what made the row, if a segment did", "siftr(4)", TRIGGERS),
    ),
)

KERNEL_EVENTS = Schema(
    "kernel_events",
    "What the kernel says that it did: retransmissions, congestion states, socket states.",
    (
        _T,
        _SOURCE,
        _RECORD,
        _CONN,
        _DIR,
        Column("flow", "int32", "", "index of the socket in `Trace.flows` (local end first)"),
        Column("kind", "int8", "", "tracepoint", "", ("retransmit", "cong_state", "sock_state", "other")),
        Column(
            "value",
            "int16",
            "",
            "cong_state: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss; sock_state, retransmit: state",
        ),
        Column("old_value", "int16", "", "sock_state: old state; else -1"),
    ),
)

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
    "Information frames of the link, one row per sending and per reception.",
    (
        _T,
        _SOURCE,
        _RECORD,
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
        _T,
        _SOURCE,
        _RECORD,
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
    "How a frame went over the air, where the log knows: a row per transmission seen.",
    (
        _T,
        _SOURCE,
        _RECORD,
        Column("entity", "int16", "", "index of the link entity in `Measurement.entities`"),
        Column("airtime_ns", "int64", "ns", "time on the air; -1 if absent"),
        Column("rate_bps", "int64", "bits/s", "rate of the physical layer; -1 if absent"),
        Column("mcs", "int16", "", "index of modulation and coding; -1 if absent"),
        Column("signal_dbm", "int16", "dBm", "received power; 0 if absent"),
        Column("channel_mhz", "int32", "MHz", "centre frequency; -1 if absent"),
        Column("attempt", "int16", "", "0 for the first attempt on the air; -1 if unknown"),
    ),
)

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
        _T,
        _SOURCE,
        _RECORD,
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
        _T,
        _SOURCE,
        _RECORD,
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

SERIES = Schema(
    "series",
    "Numbers of any name over time, out of logs that users define.",
    (
        _T,
        _SOURCE,
        _RECORD,
        _CONN,
        Column("name", "str", "", "as in the file"),
        Column("value", "float64", "", "as in the file, in the unit that measurement.toml makes of it"),
    ),
)

EVENT_LAYERS = ("tcp", "kernel", "link")
EVENT_KINDS = (
    "data",
    "ack",
    "retransmission",
    "control",
    "state",
    "frame",
    "frame_retransmission",
    "signal",
    "reset",
    "drop",
)

EVENTS = Schema(
    "events",
    "The unified, time-ordered table over all layers.",
    (
        _T,
        _SOURCE,
        Column("point", "str", "", "observation point: snd, rcv, a link entity, or empty"),
        Column("layer", "int8", "", "layer", "", EVENT_LAYERS),
        Column("kind", "int8", "", "kind of event", "", EVENT_KINDS),
        _CONN,
        Column("seq", "int64", "bytes", "sequence number, ACK number or link offset; -1 if none"),
        Column("length", "int64", "bytes", "payload or frame length; -1 if none"),
        Column("name", "str", "", "series name (TcpSnd_data, RlpSnd_rexmt, ...)", "Paper 4.5"),
        Column(
            "value", "float64", "", "number that belongs to the name (bytes, packets, seconds); NaN if none"
        ),
        _RECORD,
    ),
)

SCHEMAS: dict[str, Schema] = {
    schema.name: schema
    for schema in (
        SEGMENTS,
        RETRANSMISSIONS,
        TIMEOUTS,
        ICMP_ERRORS,
        TCP_STATES,
        KERNEL_EVENTS,
        LINK_FRAMES,
        LINK_EVENTS,
        LINK_RADIO,
        DCCP_PACKETS,
        DCCP_STATES,
        SERIES,
        EVENTS,
    )
}
