"""The tables of MultiTracer, declared once: columns, dtypes, units, meaning, reference.

Validation, empty tables and the reference page of the docs come from here. A column of codes
(`categories` given) holds small integers that index its list of words.
"""

from __future__ import annotations

from multitracer.model.eventlayers import EVENT_LAYERS as EVENT_LAYERS
from multitracer.model.schema.columns import (
    CONN as CONN,
    DIR as DIR,
    DIRECTIONS as DIRECTIONS,
    RECORD as RECORD,
    SOURCE as SOURCE,
    TIME as TIME,
    Column as Column,
    Schema as Schema,
)
from multitracer.model.schema.dccp import (
    DCCP_PACKETS as DCCP_PACKETS,
    DCCP_STATES as DCCP_STATES,
    DCCP_TYPES as DCCP_TYPES,
)
from multitracer.model.schema.energy import ENERGY as ENERGY
from multitracer.model.schema.host import (
    HOST_CALLS as HOST_CALLS,
    HOST_COUNTERS as HOST_COUNTERS,
    HOST_EVENTS as HOST_EVENTS,
    HOST_KINDS as HOST_KINDS,
    HOST_PACKETS as HOST_PACKETS,
)
from multitracer.model.schema.link import (
    LINK_ACTIONS as LINK_ACTIONS,
    LINK_AIR as LINK_AIR,
    LINK_EVENTS as LINK_EVENTS,
    LINK_FRAMES as LINK_FRAMES,
    LINK_KINDS as LINK_KINDS,
    LINK_POLLS as LINK_POLLS,
    LINK_RADIO as LINK_RADIO,
    RESET_CAUSES as RESET_CAUSES,
)
from multitracer.model.schema.rlc import RLC_KINDS as RLC_KINDS, RLC_PDUS as RLC_PDUS, RLC_SDUS as RLC_SDUS
from multitracer.model.schema.simulators import (
    BEARER_DIRECTIONS as BEARER_DIRECTIONS,
    BEARER_LAYERS as BEARER_LAYERS,
    BEARER_TOTALS as BEARER_TOTALS,
    FLOW_TOTALS as FLOW_TOTALS,
    MAC_ACTIONS as MAC_ACTIONS,
    MAC_FRAMES as MAC_FRAMES,
    MAC_KINDS as MAC_KINDS,
    PACKET_DROPS as PACKET_DROPS,
    SCALARS as SCALARS,
)
from multitracer.model.schema.tcp import (
    ACK_KINDS as ACK_KINDS,
    ARRIVAL_EVIDENCE as ARRIVAL_EVIDENCE,
    ARRIVALS as ARRIVALS,
    ARRIVALS_ARE as ARRIVALS_ARE,
    CAUSES as CAUSES,
    CHECKSUMS as CHECKSUMS,
    EPISODES as EPISODES,
    EVENT_KINDS as EVENT_KINDS,
    EVENTS as EVENTS,
    ICMP_ERRORS as ICMP_ERRORS,
    KERNEL_EVENTS as KERNEL_EVENTS,
    MPTCP as MPTCP,
    RETRANSMISSIONS as RETRANSMISSIONS,
    SEGMENTS as SEGMENTS,
    SERIES as SERIES,
    TCP_STATES as TCP_STATES,
    TIMEOUTS as TIMEOUTS,
    TRIGGERED_BY as TRIGGERED_BY,
    TRIGGERS as TRIGGERS,
    UNDONE as UNDONE,
    VERDICTS as VERDICTS,
    VOTES as VOTES,
)

SCHEMAS: dict[str, Schema] = {
    schema.name: schema
    for schema in (
        SEGMENTS,
        ARRIVALS,
        RETRANSMISSIONS,
        TIMEOUTS,
        EPISODES,
        ICMP_ERRORS,
        MPTCP,
        TCP_STATES,
        KERNEL_EVENTS,
        LINK_FRAMES,
        LINK_EVENTS,
        LINK_RADIO,
        LINK_AIR,
        RLC_PDUS,
        RLC_SDUS,
        DCCP_PACKETS,
        DCCP_STATES,
        ENERGY,
        MAC_FRAMES,
        PACKET_DROPS,
        FLOW_TOTALS,
        BEARER_TOTALS,
        SCALARS,
        SERIES,
        EVENTS,
        HOST_EVENTS,
        HOST_PACKETS,
        HOST_CALLS,
        HOST_COUNTERS,
    )
}
