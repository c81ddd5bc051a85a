"""Tables of the layers of a host around TCP: application, queueing discipline, device, drops."""

from __future__ import annotations

from multitracer.model.schema.columns import CONN, DIR, RECORD, SOURCE, TIME, Column, Schema

HOST_KINDS = (
    "queue",
    "enqueue",
    "dequeue",
    "start_xmit",
    "xmit",
    "receive",
    "drop",
    "send",
    "recv",
    "sendmsg",
    "retransmit",
)
WAYS = ("out", "in")

HOST_EVENTS = Schema(
    "host_events",
    "Tracepoints of one host above and below TCP, as logged. Addresses are the kernel's, perhaps hashed.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("kind", "int8", "", "tracepoint", "Linux include/trace/events", HOST_KINDS),
        Column("cpu", "int16", "", "CPU that it happened on; -1 if not logged"),
        Column("pid", "int32", "", "process that ran there; -1 if not logged"),
        Column("skb", "int64", "", "address of the packet (skbaddr); -1 if none"),
        Column("sk", "int64", "", "address of the socket; drop: of the receiving one (rx_sk); -1 if none"),
        Column("flow", "int32", "", "index of the socket in `Trace.flows`; -1 if not known"),
        Column(
            "length",
            "int64",
            "",
            "queue, start_xmit, xmit: bytes with link header; receive: bytes without; send, recv: bytes; "
            "sendmsg: bytes left to write; dequeue: packets",
        ),
        Column(
            "value",
            "int64",
            "",
            "enqueue, dequeue: handle; start_xmit: bytes of the link header; xmit: what the driver returned; "
            "drop: EtherType; send, recv, retransmit: error, a negative errno; sendmsg: bytes in the packet",
        ),
        Column(
            "extra",
            "int64",
            "",
            "enqueue, dequeue: interface index; start_xmit: gso_segs; send, recv: flags; sendmsg: size_goal",
        ),
        Column(
            "name", "int16", "", "index into the source's `devices`, or `drop_reasons` for drop; -1: none"
        ),
    ),
)

HOST_PACKETS = Schema(
    "host_packets",
    "The path of each packet through a host: out of TCP to the driver, or from the driver up.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
        Column("way", "int8", "", "sent or received", "", WAYS),
        Column("skb", "int64", "", "address of the packet"),
        Column("parent", "int64", "", "record of the packet that it was cut from in the queue; -1 if none"),
        Column("length", "int64", "bytes", "IP packet; -1 if not known"),
        Column("segments", "int32", "", "segments in it (gso_segs); 1 if it is one"),
        Column("queue_ns", "int64", "ns", "handed to the device's queue; -1 if not seen"),
        Column("enqueue_ns", "int64", "ns", "enqueued by the queueing discipline; -1 if not"),
        Column("dequeue_ns", "int64", "ns", "dequeued by it; -1 if not seen"),
        Column("start_ns", "int64", "ns", "handed to the driver (the last time); -1 if not seen"),
        Column("starts", "int16", "", "times it was handed to the driver"),
        Column("receive_ns", "int64", "ns", "received from the driver; -1 if sent"),
        Column("drop_ns", "int64", "ns", "dropped; -1 if not"),
        Column("reason", "int16", "", "why: index into the source's `drop_reasons`; -1 if not, or by pieces"),
        Column("handle", "int64", "", "of the queueing discipline; -1 if none"),
        Column("capture", "int32", "", "row of `segments` that is this packet; -1 if none is"),
        Column("seq", "int64", "bytes", "first byte, as in `segments`; -1 if not joined"),
    ),
)

HOST_CALLS = Schema(
    "host_calls",
    "Calls with which applications wrote to and read from TCP sockets.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
        Column("flow", "int32", "", "index of the socket in `Trace.flows`; -1 if not known"),
        Column("kind", "int8", "", "write or read", "", ("write", "read")),
        Column("pid", "int32", "", "thread that called; -1 if not logged"),
        Column("length", "int64", "bytes", "taken or given"),
        Column("error", "int32", "", "a negative errno; 0: none"),
        Column("began_ns", "int64", "ns", "when the call began to copy (writes); -1 if not seen"),
    ),
)

HOST_COUNTERS = Schema(
    "host_counters",
    "Counters of a host over time: protocols (nstat), queueing disciplines (tc -s), interfaces (ip -s link).",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("name", "str", "", "TcpRetransSegs; qdisc.HANDLE.backlog; link.NAME.tx.bytes"),
        Column("value", "int64", "", "as counted"),
    ),
)
