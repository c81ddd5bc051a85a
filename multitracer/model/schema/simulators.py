"""Tables of what simulators count themselves: totals of flows, of radio bearers, and numbers of any name."""

from __future__ import annotations

from multitracer.model.schema.columns import CONN, DIR, RECORD, SOURCE, TIME, Column, Schema

BEARER_LAYERS = ("", "rlc", "pdcp")
BEARER_DIRECTIONS = ("", "downlink", "uplink")

MAC_KINDS = ("data", "RTS", "CTS", "ACK")
MAC_ACTIONS = ("snd", "rcv")

MAC_FRAMES = Schema(
    "mac_frames",
    "Frames of all nodes of a simulated wireless network, one row per transmission and per reception.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("node", "int32", "", "number of the node"),
        Column("action", "int8", "", "snd or rcv", "", MAC_ACTIONS),
        Column("kind", "int8", "", "what the frame is", "IEEE 802.11", MAC_KINDS),
        Column("uid", "int32", "", "number of the packet in the simulation; -1 of control frames"),
        Column("length", "int32", "bytes", "as in the trace: sent with, received without the MAC header"),
        Column("attempt", "int16", "", "0 for the first transmission, k for the k-th retransmission"),
    ),
)

PACKET_DROPS = Schema(
    "packet_drops",
    "Packets and frames of any kind that a simulated network dropped.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("place", "str", "", "node (_3_) or wired link (0-1)"),
        Column("layer", "str", "", "as in the trace: IFQ, RTR, MAC ...; empty on wired links"),
        Column("reason", "str", "", "as in the trace: COL, RET, ARP ...; empty on wired links"),
        Column("packet", "str", "", "kind of packet: tcp, ack, DSR ..."),
        Column("length", "int32", "bytes", "as in the trace"),
    ),
)

FLOW_TOTALS = Schema(
    "flow_totals",
    "What a simulator counted for each flow, one direction a row; `t_ns` is when its first packet was sent.",
    (
        TIME,
        SOURCE,
        RECORD,
        CONN,
        DIR,
        Column("flow", "int32", "", "index in `Trace.flows`: source first, then destination"),
        Column("number", "int64", "", "as the simulator numbers it"),
        Column("protocol", "int16", "", "of IP: 6 is TCP, 17 UDP; -1 if unknown"),
        Column("tx_packets", "int64", "packets", "sent; -1 if absent"),
        Column("tx_bytes", "int64", "bytes", "sent, IP headers included; -1 if absent"),
        Column("rx_packets", "int64", "packets", "received; -1 if absent"),
        Column("rx_bytes", "int64", "bytes", "received, IP headers included; -1 if absent"),
        Column("lost_packets", "int64", "packets", "not received within the simulator's limit; -1 if absent"),
        Column("dropped_packets", "int64", "packets", "drops that IP and its queues report; -1 if absent"),
        Column("forwarded", "int64", "", "hops that forwarded them, over all packets; -1 if absent"),
        Column("last_tx_ns", "int64", "ns", "when the last packet was sent; -1 if absent"),
        Column("first_rx_ns", "int64", "ns", "when the first packet was received; -1 if absent"),
        Column("last_rx_ns", "int64", "ns", "when the last packet was received; -1 if absent"),
        Column("delay_sum_ns", "int64", "ns", "one-way delays of all packets received; -1 if absent"),
        Column("jitter_sum_ns", "int64", "ns", "changes of the delay from packet to packet; -1 if absent"),
    ),
)

BEARER_TOTALS = Schema(
    "bearer_totals",
    "What LENA counted for each radio bearer in each interval; `t_ns` is its begin.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("end_ns", "int64", "ns", "end of the interval"),
        Column("layer", "int8", "", "by the name of the file", "", BEARER_LAYERS),
        Column("direction", "int8", "", "by the name of the file", "", BEARER_DIRECTIONS),
        Column("cell", "int32", "", "identity of the cell"),
        Column("imsi", "int64", "", "identity of the user"),
        Column("rnti", "int32", "", "identity of the user in the cell"),
        Column("lcid", "int32", "", "logical channel"),
        Column("tx_pdus", "int64", "", "PDUs sent"),
        Column("tx_bytes", "int64", "bytes", "sent"),
        Column("rx_pdus", "int64", "", "PDUs received"),
        Column("rx_bytes", "int64", "bytes", "received"),
        Column("delay_ns", "int64", "ns", "mean delay of the PDUs received; -1 if absent"),
        Column("delay_sd_ns", "int64", "ns", "its standard deviation; -1 if absent"),
        Column("delay_min_ns", "int64", "ns", "smallest; -1 if absent"),
        Column("delay_max_ns", "int64", "ns", "largest; -1 if absent"),
        Column("pdu_bytes", "float64", "bytes", "mean size of the PDUs received; NaN if absent"),
        Column("pdu_sd_bytes", "float64", "bytes", "its standard deviation; NaN if absent"),
        Column("pdu_min_bytes", "float64", "bytes", "smallest; NaN if absent"),
        Column("pdu_max_bytes", "float64", "bytes", "largest; NaN if absent"),
    ),
)

SCALARS = Schema(
    "scalars",
    "Numbers that a simulation recorded once; `t_ns` is the last time in the file, else 0.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("module", "str", "", "part of the simulated network"),
        Column("name", "str", "", "as in the file; of statistics with their field: delay:mean"),
        Column("value", "float64", "", "as in the file"),
    ),
)
