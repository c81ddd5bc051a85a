"""Tables of radio bearers: what RLC knows of every PDU, and the SDUs in them."""

from __future__ import annotations

from multitracer.model.schema.columns import RECORD, SOURCE, TIME, Column, Schema
from multitracer.model.schema.link import LINK_ACTIONS

RLC_KINDS = ("data", "status", "nack")

_ENTITY = Column("entity", "int16", "", "index of the link entity in `Measurement.entities`")

RLC_PDUS = Schema(
    "rlc_pdus",
    "PDUs of a radio bearer: data PDUs and segments of them, status reports and each of their NACKs.",
    (
        TIME,
        SOURCE,
        RECORD,
        _ENTITY,
        Column("action", "int8", "", "snd or rcv", "", LINK_ACTIONS),
        Column("kind", "int8", "", "data, status or nack", "3GPP TS 36.322, 38.322", RLC_KINDS),
        Column(
            "number",
            "int64",
            "",
            "its place in its sender's numbering, across wraps and resets; of a status "
            "report, the first that it does not acknowledge; of a NACK, what is missing; -1 if unknown",
        ),
        Column("epoch", "int32", "", "restarts of the numbering before it"),
        Column("start", "int32", "bytes", "first byte in its PDU (LTE) or SDU (NR); NACK: -1 for the whole"),
        Column("length", "int32", "bytes", "data bytes; of a NACK, how many PDUs"),
        Column("last", "int8", "", "1: reaches the end of that PDU or SDU"),
        Column("poll", "int8", "", "1: asks for a status report"),
        Column("part", "int8", "", "1: a segment of a PDU (LTE) or of an SDU (NR)"),
        Column("attempt", "int16", "", "0 for the first transmission, k for the k-th retransmission"),
        Column("duplicate", "int8", "", "1 if received before"),
        Column("offset", "int64", "bytes", "first byte in the stream of its direction; -1 if unknown"),
    ),
)

RLC_SDUS = Schema(
    "rlc_sdus",
    "SDUs of a radio bearer (packets with their PDCP header), as they were first sent.",
    (
        TIME,
        SOURCE,
        RECORD,
        _ENTITY,
        Column("end_ns", "int64", "ns", "its last byte was first sent; t_ns: its first one"),
        Column("offset", "int64", "bytes", "first byte in the stream of its direction"),
        Column("length", "int32", "bytes", "with its PDCP header"),
        Column(
            "pdcp",
            "int64",
            "",
            "its PDCP number, unwrapped; -1 if unknown",
            "3GPP TS 36.323, 38.323",
        ),
    ),
)

POLLS = Schema(
    "polls",
    "Polls, and the status reports that answered them.",
    (
        Column("t_ns", "int64", "ns", "the poll was sent"),
        Column(
            "end_ns", "int64", "ns", "a report on all that was sent by then reached the sender; -1: never"
        ),
        _ENTITY,
        Column("number", "int64", "", "the newest PDU that was sent by then", "TS 36.322, 5.2.2.1: POLL_SN"),
        Column("record", "int64", "", "the PDU with the poll"),
        Column("answer_record", "int64", "", "the report; 0 if none"),
    ),
)

REORDERINGS = Schema(
    "reorderings",
    "PDUs that arrived out of order: how long later PDUs waited for them.",
    (
        Column("t_ns", "int64", "ns", "the first PDU after it was received"),
        Column("end_ns", "int64", "ns", "all of it was received; -1 if never"),
        Column("entity", "int16", "", "the receiver: index in `Measurement.entities`"),
        Column("number", "int64", "", "of the PDU, as in `rlc_pdus`"),
        Column("reported_ns", "int64", "ns", "the receiver first reported it missing; -1 if it did not"),
        Column("attempts", "int16", "", "transmissions of it; -1 if unknown"),
        Column("record", "int64", "", "the PDU that showed that it was missing"),
    ),
)

DISCARD_REASONS = ("unsent", "reset", "held", "unfilled")

DISCARDS = Schema(
    "discards",
    "What the bearer gave up.",
    (
        Column("t_ns", "int64", "ns", "what followed it was sent, or the numbering restarted"),
        Column("entity", "int16", "", "the sender: index in `Measurement.entities`"),
        Column(
            "reason",
            "int8",
            "",
            "unsent: PDCP numbered it and RLC never sent it; reset: sent at least in part, and not "
            "confirmed when the numbering restarted, nor submitted again then; held: received whole then, "
            "after something that was not: its receiver may have delivered or dropped it; unfilled: lost in "
            "unacknowledged mode, if the log is whole",
            "",
            DISCARD_REASONS,
        ),
        Column("number", "int64", "", "first PDU of it, as in `rlc_pdus`; -1 if none"),
        Column("pdcp", "int64", "", "its PDCP number, as in `rlc_sdus`; -1 if unknown"),
        Column("length", "int32", "bytes", "of the SDU; -1 if unknown"),
    ),
)

RLC_RESULTS = {schema.name: schema for schema in (POLLS, REORDERINGS, DISCARDS)}
