"""What each built-in analyzer needs, known without loading it: one that cannot answer is never loaded.

The analyzers take theirs from here; those of plug-ins state them.
"""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """Fields of the analyzer (`multitracer.model.analysis.Analyzer`) by these names."""

    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    specific: bool = False
    link_uses: tuple[str, ...] = ()


QUESTIONS = {
    "connections": Question(uses=("timeouts",)),
    "throughput": Question(needs=("segments",)),
    "arrivals": Question(needs=("segments",)),
    "timeouts": Question(needs=("segments",), uses=("kernel_events", "snd", "rcv")),
    "losses": Question(needs=("segments", "rcv"), uses=("snd",)),
    "recoveries": Question(needs=("segments",), uses=("snd", "rcv", "timeouts", "losses")),
    "observation": Question(needs=("segments",)),
    "limits": Question(needs=("segments", "snd")),
    "acks": Question(needs=("segments",)),
    "round_trips": Question(needs=("segments",), uses=("tcp_states", "snd", "rcv")),
    "flight": Question(needs=("segments", "snd")),
    "link_resets": Question(needs=("link_frames|link_events",), uses=("timeouts",)),
    "link_retransmissions": Question(needs=("link_frames",)),
    "bearer": Question(needs=("rlc_pdus",), specific=True),
    "flow_control": Question(needs=("link_frames",)),
    "local_drops": Question(needs=("segments",)),
    "idle_phases": Question(
        needs=("link_frames|link_events|segments",),
        uses=("connections", "flow_control", "timeouts", "link_resets", "local_drops"),
    ),
    "utilization": Question(
        needs=("result:connections",), uses=("flow_control", "idle_phases", "local_drops")
    ),
    "frame_map": Question(needs=("segments", "link_frames")),
    "chains": Question(
        needs=("segments",),
        uses=(
            "timeouts",
            "link_resets",
            "link_retransmissions",
            "flow_control",
            "local_drops",
            "idle_phases",
            "utilization",
        ),
    ),
    "queueing": Question(needs=("segments",), uses=("connections",)),
    "dccp": Question(needs=("dccp_packets",), specific=True),
    "goodput": Question(needs=("segments", "snd", "rcv")),
    "fairness": Question(needs=("segments", "result:throughput", "result:connections")),
    "idle_losses": Question(needs=("segments", "result:idle_phases"), uses=("losses",)),
    "rtt_deviation": Question(needs=("segments",)),
    "energy": Question(needs=("energy",), uses=("connections", "goodput"), specific=True),
    "packet_drops": Question(needs=("packet_drops",), specific=True),
    "flow_totals": Question(needs=("flow_totals",), specific=True),
    "conditions": Question(needs=("conditions",), specific=True),
    "logs": Question(needs=("logged",), specific=True),
    "diagnosis": Question(
        needs=("result:connections|logs",),
        uses=(
            "timeouts",
            "losses",
            "utilization",
            "idle_phases",
            "chains",
            "link_retransmissions",
            "local_drops",
            "air",
            "bearer",
            "host",
            "hops",
            "mptcp",
            "conditions",
        ),
        link_uses=("queueing",),
    ),
    "air": Question(needs=("link_air",), specific=True),
    "host": Question(needs=("host_events",), uses=("snd", "rcv"), specific=True),
}
