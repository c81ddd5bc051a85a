"""Tables that the analyzers produce, in the same terms as `multitracer.model.schema`."""

from __future__ import annotations

from multitracer.model.schema import ARRIVAL_EVIDENCE, ARRIVALS_ARE, CAUSES, DIRECTIONS
from multitracer.model.schema.columns import Column, Schema
from multitracer.model.schema.link import RESET_CAUSES

IDLE_CAUSES = (
    "unknown",
    "handshake/slow_start",
    "timeout_wait",
    "receiver_window",
    "application",
    "local_drop",
    "recovery_stall",
    "power_save",
    "probe_rtt",
    "stalled_path",
    "pacing",
)
DROP_EVIDENCE = ("queue_log", "captures")
FATES = ("lost", "arrived", "damaged", "unknown")
NEEDS = ("inconclusive", "spurious", "needed", "partly")
LIMITS = ("application", "receiver_window", "zero_window", "congestion_window", "recovery", "unknown")

_START = Column("t_ns", "int64", "ns", "start, on the reference timeline")
_END = Column("end_ns", "int64", "ns", "end, on the reference timeline")
_ENTITY = Column("entity", "int16", "", "index of the link entity in `Measurement.entities`")
_CONN = Column("conn", "int32", "", "connection number; -1 if none")

ARRIVALS = Schema(
    "arrivals",
    "Out-of-order arrivals and retransmissions: retransmitted, reordered, or duplicated by the network.",
    (
        _CONN,
        Column("direction", "int8", "", "forward is from the first endpoint", "", DIRECTIONS),
        Column("record", "int64", "", "packet number in the capture"),
        Column("t_s", "float64", "s", "time from the first TCP event"),
        Column("seq", "int64", "bytes", "first byte, relative to the ISN"),
        Column("length", "int32", "bytes", "payload"),
        Column("verdict", "int8", "", "what it is", "docs/arrivals.md", ARRIVALS_ARE),
        Column("cause", "int8", "", "cause of retransmission", "", CAUSES),
        Column("evidence", "int8", "", "evidence for the verdict", "docs/arrivals.md", ARRIVAL_EVIDENCE),
    ),
)

TRENDS = Schema(
    "trends",
    "Regression lines: the rate at which bytes pass an observation point.",
    (
        _START,
        _END,
        _CONN,
        Column("series", "str", "", "RlpSnd_data or TcpRcv_data (TcpSnd_data without a receiver's capture)"),
        Column("rate", "float64", "bytes/s", "slope of the least-squares line", "Paper 4.5, Figure 5"),
        Column("level", "float64", "bytes", "value of the line at its start"),
        Column("points", "int64", "", "segments or frames it was fitted to"),
    ),
)

LINK_ENTITIES = Schema(
    "link_retransmissions",
    "Frames of each link entity: how many, how often retransmitted, how long in transit.",
    (
        _ENTITY,
        Column("frames", "int64", "", "data frames sent, every transmission counted"),
        Column("retransmitted", "int64", "", "of them, retransmitted"),
        Column("first_bytes", "int64", "bytes", "user bytes sent for the first time"),
        Column("rate", "float64", "bytes/s", "rate of bytes sent for the first time", "Paper 4.5, Figure 5"),
        Column("attempts_mean", "float64", "", "transmissions per frame"),
        Column("attempts_max", "int64", "", "most transmissions of one frame"),
        Column("burst_start_ns", "int64", "ns", "first frame of the longest burst; -1 if none", "Paper 5.4"),
        Column("burst_end_ns", "int64", "ns", "last frame of the longest burst; -1 if none"),
        Column("burst_frames", "int64", "", "frames of the longest burst"),
        Column("srej_sent", "int64", "", "selective rejects sent; -1 if not known", "GSM 04.22"),
        Column("srej_received", "int64", "", "selective rejects received; -1 if not known", "GSM 04.22"),
        Column("delay_min_ns", "int64", "ns", "smallest one-way delay of a frame; -1 if none"),
        Column("delay_median_ns", "int64", "ns", "first transmission to first reception, median; -1 if none"),
        Column("delay_max_ns", "int64", "ns", "first transmission to first reception, longest; -1 if none"),
    ),
)

XOFF_INTERVALS = Schema(
    "flow_control",
    "Times during which a link entity was stopped by its peer: XOFF (RNR) to XON (the next RR).",
    (
        _START,
        _END,
        _ENTITY,
        Column("record", "int64", "", "line of the XOFF in the link log"),
        Column("end_record", "int64", "", "line of the XON; 0 if it never came"),
        Column("gap_ns", "int64", "ns", "between the data frames around it; -1 at the ends", "Paper 5.5"),
    ),
)

AIR_RATES = Schema(
    "air_rates",
    "Transmissions of data by side, rate and modulation.",
    (
        _ENTITY,
        Column("rate_bps", "int64", "bits/s", "rate of the physical layer; -1 if absent"),
        Column("mcs", "int16", "", "index of modulation and coding; -1 if absent"),
        Column("transmissions", "int64", "", "captured"),
        Column("retries", "int64", "", "of them duplicates"),
        Column("airtime_ns", "int64", "ns", "time on the air, where known"),
    ),
)

LINK_RESETS = Schema(
    "link_resets",
    "Link resets, one row per reset however many lines and entities report it.",
    (
        _START,
        Column("end_ns", "int64", "ns", "UA at the initiator: the handshake is over; -1 if never seen"),
        _ENTITY,
        Column("cause", "int8", "", "why the initiator gave up", "Paper 5.3", RESET_CAUSES),
        Column("lines", "int32", "", "reset lines of both entities that belong to it"),
        Column("flush_snd", "int64", "bytes", "buffers of the data-sending entity dropped"),
        Column("flush_rcv", "int64", "bytes", "buffers of the other entity dropped"),
        Column("gap_start_ns", "int64", "ns", "last byte delivered in order before it; -1 if unknown"),
        Column("gap_end_ns", "int64", "ns", "first byte delivered in order after it; -1 if none"),
        Column("segments_lost", "int32", "", "data segments that never arrived; -1 if unknown"),
        Column("acks_lost", "int32", "", "segments of the other direction that never arrived; -1 if unknown"),
        Column("segments_discarded", "int32", "", "arrived, but refused by TCP; -1 if unknown", "RFC 1144"),
        Column("timeouts", "int32", "", "retransmission timers that expired inside the gap; -1 if unknown"),
        Column("gap_rate", "float64", "bytes/s", "bytes delivered by the end of the gap, over the gap"),
        Column("record", "int64", "", "line of the reset in the link log"),
    ),
)

LOCAL_DROPS = Schema(
    "local_drops",
    "Segments that TCP sent and that never reached the link.",
    (
        Column("t_ns", "int64", "ns", "time of the drop: of the queue's line, else of the segment"),
        _CONN,
        Column("dir", "int8", "", "direction within the connection", "", ("forward", "reverse")),
        Column("seq", "int64", "bytes", "first byte; -1 if no segment could be matched"),
        Column("length", "int32", "bytes", "payload; -1 if no segment could be matched"),
        Column("record", "int64", "", "packet in the sender's capture; 0 if none was matched"),
        Column("drop_record", "int64", "", "line in the link log; 0 if the queue did not log it"),
        Column("evidence", "int8", "", "the queue's own log, or the two captures", "", DROP_EVIDENCE),
        Column(
            "recovery", "int8", "", "what retransmitted it", "RFC 5681 3.2, 6298 5, 6675 5, 8985 6-7", CAUSES
        ),
        Column("recovered_ns", "int64", "ns", "when it was retransmitted; -1 if never"),
    ),
)

IDLE_PHASES = Schema(
    "idle_phases",
    "Idle phases: the link could have carried data and had none to send.",
    (
        _START,
        _END,
        _ENTITY,
        _CONN,
        Column("cause", "int8", "", "why TCP gave it nothing", "Paper 4.3", IDLE_CAUSES),
        Column("evidence", "str", "", "evidence that the link's buffer was empty"),
        Column("because", "str", "", "the chain behind the cause"),
        Column("frame_record", "int64", "", "line of the last frame before it in the link log"),
        Column("wake_record", "int64", "", "packet that ended it in the sender's capture; 0 if none"),
    ),
)

SEGMENT_FATES = Schema(
    "fates",
    "Data segments that did not arrive whole, as both captures show it.",
    (
        _START,
        Column("record", "int64", "", "packet in the capture next to its sender"),
        _CONN,
        Column("dir", "int8", "", "direction within the connection", "", ("forward", "reverse")),
        Column("seq", "int64", "bytes", "first byte"),
        Column("length", "int32", "bytes", "payload"),
        Column("transmission", "int16", "", "transmissions of its first byte by then"),
        Column(
            "cause", "int8", "", "cause of retransmission", "RFC 5681 3.2, 6298 5, 6675 5, 8985 6-7", CAUSES
        ),
        Column("fate", "int8", "", "worst of its packets", "RFC 2680 2.4", FATES),
        Column("arrived", "int64", "bytes", "of it, arrived"),
        Column("certain", "int8", "", "0: copies of the same bytes cannot be distinguished"),
    ),
)

REPEATS = Schema(
    "repeats",
    "Retransmissions, and whether they were needed: whether an earlier copy of the bytes arrived.",
    (
        _START,
        Column("record", "int64", "", "packet in the capture next to its sender"),
        _CONN,
        Column("dir", "int8", "", "direction within the connection", "", ("forward", "reverse")),
        Column("seq", "int64", "bytes", "first byte"),
        Column("length", "int32", "bytes", "payload"),
        Column(
            "cause", "int8", "", "cause of retransmission", "RFC 5681 3.2, 6298 5, 6675 5, 8985 6-7", CAUSES
        ),
        Column("need", "int8", "", "spurious: an earlier copy arrived", "RFC 3522 1, Paper 5.4", NEEDS),
        Column("earlier_record", "int64", "", "the earlier copy that arrived; 0 if none"),
        Column("earlier_ns", "int64", "ns", "when that one arrived; -1 if none or not recorded"),
        Column("certain", "int8", "", "1: both captures show it; 0: inferred"),
    ),
)

LIMIT_PHASES = Schema(
    "limits",
    "Times in which one cause limited the sender, from the first data segment to the last ACK.",
    (
        _START,
        _END,
        _CONN,
        Column("limit", "int8", "", "what limited the sender", "RFC 5681 2, RFC 7661 4.3", LIMITS),
        Column("outstanding", "int64", "bytes", "bytes in flight at its start"),
        Column("room", "int64", "bytes", "left in the advertised window at its start; -1 if unknown"),
        Column("record", "int64", "", "segment that ended its first pause; 0 if none"),
    ),
)

ACK_BUNCHES = Schema(
    "compressed_runs",
    "ACKs that arrived closer together than half the spacing of the data that they acknowledge.",
    (
        _START,
        _END,
        _CONN,
        Column("acks", "int32", "", "ACKs of the run", "Paper [18]"),
        Column("bytes", "int64", "bytes", "acknowledged between its first and its last"),
        Column("data_span_ns", "int64", "ns", "over which that data had been sent"),
        Column("record", "int64", "", "its first ACK"),
    ),
)

RESULT_SCHEMAS: dict[str, Schema] = {
    schema.name: schema
    for schema in (
        TRENDS,
        LINK_ENTITIES,
        XOFF_INTERVALS,
        AIR_RATES,
        LINK_RESETS,
        LOCAL_DROPS,
        IDLE_PHASES,
        SEGMENT_FATES,
        REPEATS,
        LIMIT_PHASES,
        ACK_BUNCHES,
    )
}

LOG_INTERVALS = Schema(
    "log_intervals",
    "Transfers that only logs show, by interval.",
    (
        Column("t_ns", "int64", "ns", "begin, on the reference timeline"),
        Column("end_ns", "int64", "ns", "end, on the reference timeline"),
        Column("source", "int16", "", "index of the source in `Measurement.sources`"),
        Column("record", "int64", "", "line or part of the file that ends the interval"),
        Column("transfer", "int32", "", "index in the summary's `transfers`"),
        Column("length", "float64", "bytes", "payload; NaN if unknown"),
        Column("throughput", "float64", "bit/s", "of the interval"),
        Column("rtt", "float64", "s", "last value known at its end; NaN if none"),
        Column("cwnd", "float64", "bytes", "congestion window at its end; NaN if unknown"),
        Column("rwnd", "float64", "bytes", "the peer's window at its end; NaN if unknown"),
        Column("retransmissions", "float64", "segments", "retransmitted within it; NaN if unknown"),
    ),
)
