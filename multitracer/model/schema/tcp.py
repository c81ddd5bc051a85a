"""Tables of TCP: segments, recovery, what the kernel logged, events over all layers."""

from __future__ import annotations

from multitracer.model.eventlayers import EVENT_LAYERS
from multitracer.model.schema.columns import CONN, DIR, RECORD, SOURCE, TIME, Column, Schema

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
UNDECIDED = ("fast_or_slow_start", "probe_or_timeout")
"""Counts of retransmissions of which two causes are possible: those of the first are among `fast`, of the
second among `tail_loss_probe`."""
ACK_KINDS = ("", "advance", "duplicate", "window_update", "repeat", "old")
CHECKSUMS = ("unverified", "good", "bad")
VERDICTS = ("inconclusive", "spurious", "genuine")
TRIGGERED_BY = ("timer", "duplicate_acks", "sack", "rack")
UNDONE = ("", "loss", "frto", "full", "partial", "dsack")
VOTES = ("abstains", "spurious", "genuine")
TRIGGERS = ("", "received", "sent")
ARRIVALS_ARE = ("", "retransmission", "reordered", "network_duplicate", "undecided")
ARRIVAL_EVIDENCE = (
    "",
    "ip_id",
    "timestamp",
    "ip_id_and_timestamp",
    "duplicate_acks",
    "silence",
    "too_soon",
    "missing_ids",
    "followed",
    "in_turn",
    "header",
)

SEGMENTS = Schema(
    "segments",
    "TCP segments, one row per segment and capture.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
        Column(
            "seq", "int64", "bytes", "first byte, unwrapped, relative to the ISN (SYN is 0)", "RFC 9293 3.4"
        ),
        Column("ack", "int64", "bytes", "next byte expected, unwrapped, relative; -1 without ACK"),
        Column("length", "int32", "bytes", "payload on the wire, independent of the snap length"),
        Column("flags", "uint16", "", "TCP flag bits, FIN is 1", "RFC 9293 3.1"),
        Column(
            "window", "int32", "bytes", "advertised window, scaled; -1 if the scale is unknown", "RFC 7323 2"
        ),
        Column("duplicate", "int32", "bytes", "duplicate payload bytes", "Paper 4.3"),
        Column("transmission", "int16", "", "transmissions of its first byte so far; 0 without payload"),
        Column(
            "cause", "int8", "", "cause of retransmission", "RFC 5681 3.2, 6298 5, 6675 5, 8985 6-7", CAUSES
        ),
        Column("ack_kind", "int8", "", "kind of its ACK", "RFC 5681 2", ACK_KINDS),
        Column("flight", "int64", "bytes", "bytes in flight in its direction, after it", "RFC 5681 2"),
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
    "Every segment with duplicate bytes, with the evidence for its cause.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
        Column("seq", "int64", "bytes", "first byte"),
        Column("length", "int32", "bytes", "payload"),
        Column("duplicate", "int32", "bytes", "of it, duplicate bytes"),
        Column(
            "cause", "int8", "", "cause of retransmission", "RFC 5681 3.2, 6298 5, 6675 5, 8985 6-7", CAUSES
        ),
        Column("transmission", "int16", "", "transmissions of its first byte so far"),
        Column("since_sent_ns", "int64", "ns", "since the same byte was last transmitted"),
        Column("since_ack_ns", "int64", "ns", "since the last segment from the peer; -1 if none"),
        Column("dupacks", "int32", "", "duplicate ACKs since the last advance"),
        Column("sacked", "int64", "bytes", "selectively acknowledged above it at that time"),
        Column(
            "rto_ns", "int64", "ns", "retransmission timeout estimated at that time; -1 if none", "RFC 6298"
        ),
        Column("episode", "int32", "", "loss recovery episode within the direction, from 1; 0 outside"),
        Column("alternative", "int8", "", "the other cause that fits the same packets", "", CAUSES),
        Column("eifel", "int8", "", "vote by the echoed timestamp", "RFC 3522", VOTES),
        Column("dsack", "int8", "", "vote by duplicate SACK", "RFC 2883, 3708", VOTES),
        Column("too_early", "int8", "", "vote by an ACK sooner than the minimum RTT", "Paper 5.4", VOTES),
        Column(
            "verdict", "int8", "", "spurious: an earlier copy had arrived", "RFC 3522 1, Paper 5.4", VERDICTS
        ),
        Column("answer_ns", "int64", "ns", "until the first ACK or SACK block that covers it; -1 if none"),
        Column("answer_record", "int64", "", "packet of that; 0 if none"),
    ),
)

ARRIVALS = Schema(
    "arrivals",
    "Data segments below the highest byte seen at a capture, and in-order retransmissions.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
        Column("seq", "int64", "bytes", "first byte"),
        Column("length", "int32", "bytes", "payload"),
        Column("verdict", "int8", "", "what it is", "docs/arrivals.md", ARRIVALS_ARE),
        Column("cause", "int8", "", "cause of retransmission", "", CAUSES),
        Column("evidence", "int8", "", "what the verdict rests on", "docs/arrivals.md", ARRIVAL_EVIDENCE),
        Column("in_order", "int8", "", "1: it begins right after the highest byte seen"),
        Column("fresh", "int8", "", "1: some of its bytes were not seen before"),
    ),
)

EPISODES = Schema(
    "episodes",
    "Loss recovery episodes: from the first retransmission to the ACK of everything in flight then.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
        Column("episode", "int32", "", "number within the direction, from 1"),
        Column("cause", "int8", "", "cause of the first retransmission", "", CAUSES),
        Column("trigger", "int8", "", "what showed it", "RFC 6298, 5681, 6675, 8985", TRIGGERED_BY),
        Column("seq", "int64", "bytes", "first byte of the first retransmission"),
        Column("entry", "int64", "bytes", "acknowledged when it began"),
        Column("recover", "int64", "bytes", "it ends when this is acknowledged", "RFC 6582 3.2: recover"),
        Column("duration_ns", "int64", "ns", "until that or until it was undone; -1 if not seen"),
        Column("end_record", "int64", "", "the ACK that ended it; 0 if none"),
        Column("timeouts", "int32", "", "expiries of the retransmission timer in it"),
        Column("segments", "int32", "", "retransmitted segments, as captured"),
        Column("duplicate", "int64", "bytes", "retransmitted payload"),
        Column("spurious", "int32", "", "of the segments, those that were needless"),
        Column("genuine", "int32", "", "of the segments, those that were needed"),
        Column("receiver", "int8", "", "vote by the receiver's capture on the first", "Paper 5.4", VOTES),
        Column("eifel", "int8", "", "votes by echoed timestamps together", "RFC 3522", VOTES),
        Column("dsack", "int8", "", "votes by duplicate SACKs together", "RFC 2883, 3708", VOTES),
        Column("too_early", "int8", "", "votes by ACKs sooner than the minimum RTT", "Paper 5.4", VOTES),
        Column("ack_path", "int8", "", "genuine: a timer, as all ACKs were lost", "Paper 5.3", VOTES),
        Column("verdict", "int8", "", "the votes together", "RFC 3522 1, Paper 5.4", VERDICTS),
        Column("undone", "int8", "", "how a Linux sender undoes it", "RFC 4015, 5682", UNDONE),
    ),
)

TIMEOUTS = Schema(
    "timeouts",
    "Every expiry of a retransmission timer, with the votes on whether it was spurious.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
        Column("seq", "int64", "bytes", "first retransmitted byte"),
        Column("length", "int32", "bytes", "retransmitted payload"),
        Column("backoff", "int16", "", "expiries in a row before this one: the timer was 2**backoff RTO"),
        Column("silence_ns", "int64", "ns", "time since the sender's last segment"),
        Column(
            "rto_ns",
            "int64",
            "ns",
            "retransmission timeout estimated, without backoff; -1 if none",
            "RFC 6298",
        ),
        Column("waited_ns", "int64", "ns", "time that the timer had run", "RFC 6298 5"),
        Column("rto_max_ns", "int64", "ns", "largest timeout of the stack, if known to be set low; -1 else"),
        Column("eifel", "int8", "", "vote by the echoed timestamp", "RFC 3522", VOTES),
        Column("dsack", "int8", "", "vote by duplicate SACK", "RFC 2883, 3708", VOTES),
        Column("frto", "int8", "", "vote by ACKs of data that was not retransmitted", "RFC 5682", VOTES),
        Column("too_early", "int8", "", "vote by an ACK sooner than the minimum RTT", "Paper 5.4", VOTES),
        Column("receiver", "int8", "", "vote by the receiver's capture", "Paper 5.4", VOTES),
        Column(
            "ack_path", "int8", "", "genuine: the data arrived, all its ACKs were lost", "Paper 5.3", VOTES
        ),
        Column(
            "link",
            "int8",
            "",
            "vote by the link log: all frames of the original delivered",
            "Paper 5.4",
            VOTES,
        ),
        Column("kernel", "int8", "", "vote by the kernel log (undo)", "RFC 4015", VOTES),
        Column("verdict", "int8", "", "the votes together", "Paper 5.4", VERDICTS),
        Column("answer_record", "int64", "", "the ACK that decided; 0 if none"),
    ),
)

ICMP_ERRORS = Schema(
    "icmp_errors",
    "ICMP errors that quote a TCP segment: what routers and hosts report of it.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
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

MPTCP = Schema(
    "mptcp",
    "Segments with a Multipath TCP option, one row per segment and capture.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
        Column("seq", "int64", "bytes", "first byte, relative to the ISN (SYN is 0)", "RFC 9293 3.4"),
        Column("length", "int32", "bytes", "payload"),
        Column("subtypes", "uint16", "", "subtypes present, a bit each: MP_CAPABLE is 1", "RFC 8684 3"),
        Column(
            "has",
            "int16",
            "",
            "what is there: sender's key 1, receiver's key 2, token 4, backup 8, data ACK 16, mapping 32, "
            "data sequence number of 64 bits 64, DATA_FIN 128",
            "RFC 8684 3",
        ),
        Column("version", "int8", "", "of MP_CAPABLE: 0 or 1", "RFC 6824, RFC 8684 3.1"),
        Column("address_id", "int16", "", "of MP_JOIN, ADD_ADDR, REMOVE_ADDR", "RFC 8684 3.2, 3.4"),
        Column("sender_key", "uint64", "", "key of the end that sent it", "RFC 8684 3.1"),
        Column("receiver_key", "uint64", "", "key of the other end", "RFC 8684 3.1"),
        Column("token", "uint32", "", "of the transfer that a SYN joins", "RFC 8684 3.2"),
        Column("data_seq", "uint64", "", "data sequence number that the mapping begins with", "RFC 8684 3.3"),
        Column("subflow_seq", "uint32", "", "relative sequence number that it begins with", "RFC 8684 3.3.1"),
        Column("data_length", "int32", "bytes", "that it covers, DATA_FIN included", "RFC 8684 3.3.1"),
        Column("data_ack", "uint64", "", "next byte of the transfer expected", "RFC 8684 3.3.2"),
    ),
)

TCP_STATES = Schema(
    "tcp_states",
    "Samples of the kernel's TCP state: tcp_probe events and ss samples.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
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
        Column("snd_wnd", "int64", "bytes", "window advertised by the peer; -1 if absent"),
        Column("rcv_wnd", "int64", "bytes", "window advertised to the peer; -1 if absent"),
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
        Column("min_rtt_ns", "int64", "ns", "minimum RTT; -1 if absent"),
        Column("backoff", "int16", "", "timer backoff exponent; -1 if absent"),
        Column("busy_ns", "int64", "ns", "time with data in flight; -1 if absent"),
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
    "What the kernel reports: retransmissions, congestion states, socket states.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
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

SERIES = Schema(
    "series",
    "Numbers of any name over time, out of logs that users define.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        Column(
            "name", "str", "", "as in the file; of speed tests and probes as docs/formats/README.md has it"
        ),
        Column("value", "float64", "", "as in the file, in the unit that measurement.toml makes of it"),
        Column("label", "str", "", "stream of the log; empty if the log has only one"),
    ),
)

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
        TIME,
        SOURCE,
        Column("point", "str", "", "observation point: snd, rcv, a link entity, or empty"),
        Column("layer", "int8", "", "layer", "", EVENT_LAYERS),
        Column("kind", "int8", "", "kind of event", "", EVENT_KINDS),
        CONN,
        Column("seq", "int64", "bytes", "sequence number, ACK number or link offset; -1 if none"),
        Column("length", "int64", "bytes", "payload or frame length; -1 if none"),
        Column("name", "str", "", "series name (TcpSnd_data, RlpSnd_rexmt, ...)", "Paper 4.5"),
        Column(
            "value", "float64", "", "number that belongs to the name (bytes, packets, seconds); NaN if none"
        ),
        RECORD,
    ),
)
