"""What really happened, as the files of a measurement record it."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from multitracer.lab.capture import CaptureCounts
from multitracer.lab.flows import FlowResult
from multitracer.lab.link import Truth
from multitracer.lab.measurement_dir import flattened
from multitracer.lab.pump import Lateness
from multitracer.lab.scenario import Flow, Network, Scenario

_ENTITIES = ("ms", "iwf")


def truth_json(
    scenario: Scenario, seed: int, flows: Sequence[FlowResult], truth: Truth, lab: Mapping[str, Any]
) -> dict[str, Any]:
    """The contents of ``truth.json``.

    Every total of the link is at the top level as [side 0, side 1]. ``resets`` lists time (Unix seconds),
    side, cause and bytes flushed (send and receive buffer) of each reset of each entity; ``if_queue_drops``
    time and side. ``events`` has all single facts.

    Parameters
    ----------
    scenario : Scenario
    seed : int
        Of the run.
    flows : sequence of FlowResult
        What both ends of each flow reported.
    truth : Truth
        What the link did.
    lab : mapping of str to Any
        The machine, the kernel, and what the lab itself took.

    Returns
    -------
    dict
        As `json.dump` takes it.
    """
    resets = [
        [_seconds(e), e["side"], e.get("cause", ""), e.get("flush_tx", 0), e.get("flush_rx", 0)]
        for e in truth.events
        if e["what"] == "reset"
    ]
    return {
        "settings": {"seed": seed, **scenario.to_dict()},
        "complete": all(flow.done and not flow.error for flow in flows),
        "received": sum(flow.received for flow in flows),
        "flows": [flow.to_dict() for flow in flows],
        "resets": resets,
        "if_queue_drops": [[_seconds(e), e["side"]] for e in truth.events if e["what"] == "queue_drop"],
        "frames_lost_on_air": [0, 0],
        "link_retransmissions": [0, 0],
        "vj_dropped": [0, 0],
        "ppp_bad_fcs": [0, 0],
        **truth.counts,
        # The totals are counted apart: truth.counts has a "resets" of its own.
        **({"resets": resets} if resets or "resets" in truth.counts else {}),
        "events": truth.events,
        "lab": dict(lab),
    }


def measurement_toml(
    scenario: Scenario, seed: int, start_ns: int, files: Sequence[str], lateness: Lateness
) -> dict[str, Any]:
    """The contents of ``measurement.toml``: what the other files do not contain.

    All sources but the kernel's trace buffer are stamped by this machine's realtime clock: offset 0. A line
    of the link's log bears the time at which it was due; the packet moved up to `lateness` after that.

    Parameters
    ----------
    scenario : Scenario
    seed : int
        Of the run.
    start_ns : int
        Of the run, since the epoch.
    files : sequence of str
        Names of the files of the measurement.
    lateness : Lateness
        How late the link moved packets.

    Returns
    -------
    dict
        By key of ``measurement.toml``.
    """
    late_s = round(lateness.max_ms / 1e3, 6)
    points = _points(scenario.flows)
    sources: dict[str, dict[str, Any]] = {
        "snd.pcap": {**points["snd"], **_realtime(1e-6)},
        "rcv.pcap": {**points["rcv"], **_realtime(1e-6)},
        **{name: {"point": "mid", **_realtime(1e-6)} for name in files if name.startswith("mid")},
        "tcp_probe.txt.gz": {"clock": scenario.trace.event_clock},
        "ss.log.gz": {**points["snd"], **_realtime(0.02)},
        "rlp.log.gz": _realtime(max(late_s, 1e-6)),
        "rlc.pcapng": _realtime(max(late_s, 1e-6)),
        "wifi.pcap": {**_realtime(max(late_s, 1e-6)), **_retry_limit(scenario.link)},
    }
    rate = data_rate_bps(scenario)
    return {
        "name": scenario.name,
        "shows": scenario.shows,
        "paper": scenario.paper,
        "seed": seed,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start_ns / 1e9)),
        "kernel": platform.release(),
        **({"link_rate_bps": rate} if rate else {}),
        "sources": {name: table for name, table in sources.items() if name in files},
        "parameters": {
            "scenario": scenario.name,
            "seed": seed,
            **flattened(parameters(scenario)),
        },
    }


def _points(flows: Sequence[Flow]) -> dict[str, dict[str, str]]:
    """Observation points of what is traced at both ends: data is sent where the largest flow comes from.

    Replies are larger than requests; flows of one size in both directions leave it to what the captures saw.
    """
    sizes: dict[bool, int] = {False: 0, True: 0}
    for flow in flows:
        there, back = flow.bytes, 0
        if flow.kind == "request_response":
            there, back = flow.requests * flow.request_bytes, flow.requests * flow.response_bytes
        backwards = (back > there) != flow.reverse
        sizes[backwards] = max(sizes[backwards], there + back)
    if sizes[False] == sizes[True]:
        return {"snd": {}, "rcv": {}}
    ends = ("snd", "rcv") if sizes[False] > sizes[True] else ("rcv", "snd")
    return {"snd": {"point": ends[0]}, "rcv": {"point": ends[1]}}


def _retry_limit(link: Mapping[str, Any]) -> dict[str, Any]:
    """What the monitor's capture does not show: when a sender gives up."""
    from multitracer.lab.settings import ArqSettings

    limit = link.get("retry_limit", ArqSettings().retry_limit)
    return {"retry_limit": limit} if limit else {}


def _realtime(uncertainty_s: float) -> dict[str, Any]:
    return {"clock": "realtime", "clock_offset_s": 0.0, "clock_uncertainty_s": uncertainty_s}


def parameters(scenario: Scenario) -> dict[str, Any]:
    """What distinguishes the run: all of the link, and everything else that is not at its default."""
    usual = [asdict(Flow())] * len(scenario.flows)
    flows = [
        {
            key: value
            for key, value in asdict(flow).items()
            if key in ("kind", "bytes") or value != default[key]
        }
        for flow, default in zip(scenario.flows, usual, strict=True)
    ]
    network = asdict(scenario.network)
    common = asdict(Network())
    return {
        "network": {k: v for k, v in network.items() if k in ("sender", "mtu_bytes") or v != common[k]},
        "tcp": {"congestion_control": scenario.congestion_control("sender"), **scenario.tcp},
        "link": dict(scenario.link),
        "flow": flows,
    }


def data_rate_bps(scenario: Scenario) -> float:
    """What link and queues offer the data, the least of them; 0 if unlimited."""
    qdisc = scenario.network.qdisc
    rates = [link_rate_bps(scenario.link, scenario.network.sender_side), qdisc.rate_bps * bool(qdisc.kind)]
    return min((rate for rate in rates if rate), default=0.0)


def link_rate_bps(link: Mapping[str, Any], sender_side: int) -> float:
    """User bits per second that the link offers from the sender, before retransmissions; 0 if unlimited."""
    from multitracer.lab.models import INTERFACES
    from multitracer.lab.settings import (
        ArqSettings,
        RlcAmSettings,
        RlpSettings,
        from_mapping,
        path_settings,
        plain_settings,
    )

    rest = {key: value for key, value in link.items() if key != "model"}
    if link.get("model") == "rlp":
        rlp = from_mapping(RlpSettings, rest)
        full = rlp.payload_bytes * 8000 / rlp.slot_ms
        receiver = _ENTITIES[1 - sender_side]
        return min(full, rlp.drain_bps) if rlp.drain_bps and rlp.drain_sides in ("both", receiver) else full
    if link.get("model") == "rlc_am":
        am = from_mapping(RlcAmSettings, rest)
        return am.payload_bytes * am.pdus_per_tti * 8000 / am.tti_ms
    if link.get("model") == "arq":
        return from_mapping(ArqSettings, rest).rate_bps
    if link.get("model") == INTERFACES:
        return 0.0  # that of a queue is the scenario's, not the link's
    hops = path_settings(rest).hops if link.get("model") == "path" else (plain_settings(rest),)
    rates = [(hop.down if sender_side else hop.up).rate_bps for hop in hops]
    return min((rate for rate in rates if rate), default=0.0)


def lab_facts(
    captures: Mapping[str, CaptureCounts],
    lateness: Lateness,
    refused: Sequence[int],
    overrun: int,
    unsent: int,
) -> dict[str, Any]:
    """How well the measurement itself went.

    Parameters
    ----------
    captures : mapping
        By file name.
    lateness : Lateness
    refused : sequence of int
        Packets that the kernels refused from the link (no IP packet any more).
    overrun : int
        Kernel events lost.
    unsent : int
        Connections still open when the drain time was over.

    Returns
    -------
    dict
        The member ``lab`` of ``truth.json``.
    """
    return {
        "captures": {name: counts.to_dict() for name, counts in captures.items()},
        "lateness": lateness.to_dict(),
        "packets_refused_by_kernel": list(refused),
        "events_lost": overrun,
        "connections_left_open": unsent,
    }


def _seconds(event: Mapping[str, Any]) -> float:
    return int(event["t_ns"]) / 1e9
