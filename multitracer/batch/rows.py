"""What is kept of an analysis: its record, and the rows of the summary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from multitracer import registry
from multitracer.model.arrays.statistics import jain, standard_deviation
from multitracer.report.facts import facts

Object = Mapping[str, Any]
Row = dict[str, Any]

MOST_CONNECTIONS = 10_000
"""Connections of one measurement that get a row: those with most data."""

MOST_FACTS = 5
MOST_ISSUES = 50

LIMIT_SHARES: dict[str, str] = {
    "application": "the application wrote or read nothing",
    "receiver_window": "the receiver's window was full",
    "congestion_window": "the congestion window was full",
    "bandwidth": "the link was full",
    "loss_recovery": "losses were repaired",
    "handshake": "the connection was opened",
    "unknown": "no evidence",
}
"""Limits of the sender, as `connections[].limits` names them."""

COLUMNS: dict[str, str] = {
    "name": "measurement: its directory under the root",
    "conn": "connection within the measurement",
    "sender": "address and port that sent the data",
    "receiver": "address and port that received it",
    "start_s": "first segment, from the first TCP event [s]",
    "duration_s": "first to last segment [s]",
    "bytes": "payload sent, each byte once",
    "sent_bytes": "payload sent, retransmissions included",
    "duplicate_bytes": "payload sent more than once (Paper 4.3)",
    "goodput_share": "bytes / sent_bytes",
    "received_bytes": "payload that the receiver got, each byte once; needs captures at both ends",
    "received_share": "received_bytes / sent_bytes: goodput as a share",
    "throughput_bps": "payload sent per second [bit/s]",
    "goodput_bps": "payload delivered per second [bit/s]",
    "retransmissions": "retransmitted segments",
    "retransmissions_timeout": "of them after a timeout",
    "retransmissions_fast": "of them by fast retransmit",
    "timeouts": "expiries of the retransmission timer",
    "timeouts_spurious": "of them not needed (Paper 5.4)",
    "timeouts_genuine": "of them needed",
    "rtt_min_ms": "min RTT [ms]",
    "rtt_mean_ms": "mean RTT [ms]",
    "rtt_max_ms": "max RTT [ms]",
    "rtt_std_ms": "standard deviation of the RTT [ms]",
    "rtt_deviation_ms": "mean deviation of RTTs from the smoothed RTT before them [ms]",
    "rto_ms": "median RTO computed from the RTTs (RFC 6298, without a minimum) [ms]",
    "rtt_base_ms": "smallest RTT of the path (docs/limits.md) [ms]",
    "bottleneck_bps": "rate of the bottleneck, as far as the link was full [bit/s]",
    "limits_s": "handshake to last ACK: the time that the limits share [s]",
    **{f"limit_{name}": f"share of limits_s: {text}" for name, text in LIMIT_SHARES.items()},
    "limits_method": "source of the limits: kernel, or inferred from the capture",
    "limited_by": "of a transfer that only a log shows: what limited the sender for most of the time",
    "utilization": "of the measurement: share of the link capacity that was used (paper 4.3)",
    "utilization_low": "of the measurement: lower bound, where utilization is an estimate",
    "utilization_high": "of the measurement: upper bound, where utilization is an estimate",
    "utilization_basis": "source of the utilization",
    "call_dropped": "of the measurement: 1 if the link dropped the call (left out in paper 4.1), else 0",
    "idle_share": "of the measurement: share of the time in which the link was idle",
    "duplicate_share": "of the measurement: share of duplicate bytes",
    "idle_after_losses_share": "of the measurement: share of the transfer idle for timers or loss recovery",
    "lost_segments": "of the measurement: data segments that did not arrive; needs captures at both ends",
    "lost_timeout": "of the measurement: of them retransmitted by an RTO",
    "lost_fast": "of the measurement: of them retransmitted by fast retransmit",
    "link_frames": "of the measurement: frames of the link, all entities",
    "link_retransmitted": "of the measurement: of them retransmitted",
    "link_resets": "of the measurement: resets of the link",
    "local_drops": "of the measurement: segments dropped by the sender's own queue",
    "flows": "of the measurement: connections with data",
    "goodput_std_bps": "of the measurement: standard deviation of goodput over its flows [bit/s]",
    "jain": "of the measurement: Jain's fairness index of goodput over its flows",
    "energy_used_j": "of the measurement: energy that all nodes used, where the trace has it [J]",
    "energy_j_per_mbit": "energy_used_j, or the parameter energy_j, per million bits of payload [J]",
}

DECLARED = [
    (name, analyzer.key, column)
    for name, analyzer in registry.self_declared().items()
    for column in getattr(analyzer, "batch", ())
]
"""Columns that analyzers declare, each with the analyzer's name and JSON key."""

COLUMNS |= {column.name: column.text for _, _, column in DECLARED if column.name not in COLUMNS}

OF_MEASUREMENT = frozenset(name for name, text in COLUMNS.items() if text.startswith("of the measurement"))
"""Metrics that all rows of a measurement share: a study counts them once."""

WORDS = {"name", "sender", "receiver", "limited_by", "utilization_basis", "limits_method"} | {
    column.name for _, _, column in DECLARED if not column.numeric
}
"""Columns that hold text."""

NUMERIC = tuple(name for name in COLUMNS if name not in WORDS | {"conn"})


def record_of(contract: Object, settings: Object) -> dict[str, Any]:
    """The record of an analysis: JSON without times of day of this run, equal for equal input.

    Parameters
    ----------
    contract : mapping
        What ``multitracer analyze --json`` prints.
    settings : mapping
        Contents of measurement.toml.
    """
    used = contract["utilization"]
    connections = sorted(contract["connections"], key=lambda one: (-one["bytes"]["unique"], one["index"]))
    kept = sorted(connections[:MOST_CONNECTIONS], key=lambda one: int(one["index"]))
    link, energy = contract["link"], contract.get("energy") or {}
    shared = {
        "utilization": used["value"],
        "utilization_low": used.get("low"),
        "utilization_high": used.get("high"),
        "utilization_basis": used["basis"],
        "call_dropped": int(bool(used.get("call_dropped"))),
        "idle_share": used["idle_share"],
        "duplicate_share": used["duplicate_share"],
        **_after_losses(contract.get("idle_losses") or {}),
        "link_frames": link["frames"],
        "link_retransmitted": link["retransmitted"],
        "link_resets": len(link["resets"]),
        "local_drops": len(link["local_drops"]),
        **_fairness(contract, connections),
        "energy_used_j": energy.get("used_j"),
        "energy_j_per_mbit": energy.get("value"),
    }
    every = contract["other"].get("logs", {}).get("transfers", ())
    logged = [one for one in every if one["bytes"] is not None and not _of_receiver(one)]
    logged = sorted(sorted(logged, key=lambda one: -one["bytes"])[:MOST_CONNECTIONS], key=logged.index)
    received = _by_connection(contract, "goodput")
    round_trips = _by_connection(contract, "rtt_deviation")
    declared = _declared(contract)
    return {
        "detail": contract["detail"],
        "utilization": {
            key: used.get(key)
            for key in (
                "value",
                "low",
                "high",
                "idle_share",
                "duplicate_share",
                "basis",
                "available_s",
                "span_s",
                "sent_bytes",
                "call_dropped",
            )
        },
        "causes": _causes(used),
        "diagnosis": [
            {"title": fact.title, "text": fact.text, "kind": fact.kind, "cost_s": fact.known_cost_s}
            for fact in facts(contract)[:MOST_FACTS]
        ],
        "inconclusive": dict(contract["inconclusive"]),
        "issues": [
            {key: issue[key] for key in ("code", "severity", "count", "detail", "path")}
            for issue in contract["issues"]
            if issue["severity"] != "info" or issue["code"] == "skipped-file"
        ][:MOST_ISSUES],
        "parameters": flattened(settings.get("parameters")),
        "connections_left_out": len(connections) - len(kept),
        "connections": [
            _connection(one, received.get(one["index"], {}), round_trips.get(one["index"], {}))
            | shared
            | _of(declared, one["index"])
            for one in kept
        ]
        + [_logged(number, one, every) | shared for number, one in enumerate(logged, len(connections))],
    }


def _declared(contract: Object) -> Row:
    """Values of the columns that analyzers declare; None where the analyzer had no answer."""
    found: Row = {}
    for name, key, column in DECLARED:
        summary = contract.get(key) if key else contract["other"].get(name)
        found[column.name] = column.values(summary) if summary else None
    return found


def _of(declared: Row, conn: int) -> Row:
    """What a connection has of these: its own entry of what is by connection."""
    return {
        name: values.get(conn) if isinstance(values, Mapping) else values for name, values in declared.items()
    }


def _by_connection(contract: Object, name: str) -> dict[int, Object]:
    """What an analyzer reports of single connections, by their numbers."""
    return {entry["conn"]: entry for entry in (contract.get(name) or {}).get("connections", ())}


def _fairness(contract: Object, connections: Sequence[Object]) -> Row:
    """As analysed; of a summed-up capture from what is known of its connections."""
    found = contract.get("fairness")
    if found:
        return {
            "flows": found["flows"],
            "goodput_std_bps": found["goodput_std_bps"],
            "jain": found["value"],
        }
    rates = [
        float(one["goodput_bps"]) for one in connections if one["goodput_bps"] and one["bytes"]["unique"]
    ]
    return {"flows": len(rates), "goodput_std_bps": standard_deviation(rates), "jain": jain(rates)}


def _after_losses(found: Object) -> Row:
    lost = found.get("lost") or {}
    return {
        "idle_after_losses_share": (found.get("after_losses") or {}).get("share"),
        "lost_segments": lost.get("total"),
        "lost_timeout": lost.get("timeout"),
        "lost_fast": lost.get("fast"),
    }


def _connection(one: Object, received: Object, round_trips: Object) -> Row:
    sender, receiver = one["endpoints"] if one["data_direction"] == "forward" else one["endpoints"][::-1]
    counts, again, timeouts, rtt = one["bytes"], one["retransmissions"], one["timeouts"], one["rtt_ms"] or {}
    limits = one.get("limits") or {}
    return {
        "conn": one["index"],
        "sender": sender,
        "receiver": receiver,
        "start_s": one["start"],
        "duration_s": round(one["end"] - one["start"], 9),
        "bytes": counts["unique"],
        "sent_bytes": counts["sent"],
        "duplicate_bytes": counts["duplicate"],
        "goodput_share": round(counts["unique"] / counts["sent"], 6) if counts["sent"] else None,
        "received_bytes": received.get("received_bytes"),
        "received_share": received.get("value"),
        "throughput_bps": one["throughput_bps"],
        "goodput_bps": one["goodput_bps"],
        "retransmissions": again["total"],
        "retransmissions_timeout": again["timeout"],
        "retransmissions_fast": again["fast"],
        "timeouts": timeouts["total"],
        "timeouts_spurious": timeouts["spurious"],
        "timeouts_genuine": timeouts["genuine"],
        "rtt_min_ms": rtt.get("min"),
        "rtt_mean_ms": rtt.get("mean"),
        "rtt_max_ms": rtt.get("max"),
        "rtt_std_ms": round_trips.get("std_ms"),
        "rtt_deviation_ms": round_trips.get("deviation_ms"),
        "rto_ms": round_trips.get("rto_ms"),
        "rtt_base_ms": (one.get("rtt") or {}).get("base_ms"),
        "bottleneck_bps": (one.get("bottleneck") or {}).get("rate_bps"),
        "limits_s": limits.get("seconds"),
        **{f"limit_{name}": limits.get(name) for name in LIMIT_SHARES},
        "limits_method": limits.get("method"),
        "limited_by": None,
    }


_DELIVERED = ("acknowledged", "received", "read by the application")


def _of_receiver(one: Object) -> bool:
    """Whether a log is the receiver's of a transfer whose sender's log is there as well."""
    return one["sends"] is False and one["other_end"] is not None


def _logged(number: int, one: Object, every: Sequence[Object]) -> Row:
    """A transfer that only logs report: what they do not report is missing."""
    delivered = one if one["other_end"] is None else every[one["other_end"]]
    ends = (one["local"], one["remote"])
    sender, receiver = ends if one["sends"] is not False else ends[::-1]
    rtt = one["rtt_ms"] or {}
    return dict.fromkeys(COLUMNS) | {
        "conn": number,
        "sender": sender,
        "receiver": receiver,
        "start_s": one["start"],
        "duration_s": one["duration_s"],
        "bytes": one["bytes"],
        "throughput_bps": one["throughput_bps"]["mean"],
        "goodput_bps": delivered["throughput_bps"]["mean"] if delivered["counted"] in _DELIVERED else None,
        "retransmissions": one["retransmissions"],
        "rtt_min_ms": rtt.get("min"),
        "rtt_mean_ms": rtt.get("mean"),
        "rtt_max_ms": rtt.get("max"),
        "limited_by": _limited_by(one["limits"]),
    }


def _limited_by(found: Object | None) -> str | None:
    """The limit with the largest share of the time."""
    if found is None:
        return None
    shares = found["shares"]
    return str(max(shares, key=lambda name: shares[name]))


def _causes(used: Object) -> list[dict[str, Any]]:
    return [
        {"cause": str(one["cause"]), "kind": str(one["kind"]), "share": one["share"], "s": one["s"]}
        for one in used.get("causes") or ()
    ]


def flattened(settings: Any, prefix: str = "") -> dict[str, Any]:
    """Parameters as flat keys with plain values; what is a list is written out, what is a table gets dots."""
    found: dict[str, Any] = {}
    if not isinstance(settings, Mapping):
        return found
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            found |= flattened(value, f"{name}.")
        elif isinstance(value, bool | int | str):
            found[name] = value if not isinstance(value, int) or abs(value) < 2**63 else str(value)
        elif isinstance(value, float):
            found[name] = value if math.isfinite(value) else str(value)
        else:
            found[name] = str(value)
    return found
