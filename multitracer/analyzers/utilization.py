"""Utilization: the share of the link's bandwidth that TCP used for new data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.analysis import Analyzer, Result
from multitracer.intervals import intersect, intervals, subtract, total, union
from multitracer.linkpath import link_path
from multitracer.measurement import Measurement
from multitracer.resetlog import handshake_spans, handshakes
from multitracer.transit import data_spans

FLAG_AT = 0.95


def run(m: Measurement, results: Mapping[str, Result]) -> Result:
    """Compute ``U = (1 - idle_time / available_time) * (1 - duplicate_bytes / bytes_sent)``.

    Available is the time from the first data segment to the last ACK without XOFF intervals and reset
    handshakes: those are the link's fault, not TCP's. Transfers at 95 % or less are flagged.

    References
    ----------
    Paper 4.3 and 5.1, Figure 6.
    """
    path = link_path(m)
    if path is None:
        return Result("utilization", inconclusive="the link log shows no data frame being sent")
    span = data_spans(m)
    held = results["flow_control"].tables["flow_control"]
    held = held.where(held["entity"] == path.sender)
    xoff = intersect(intervals(zip(held["t_ns"].tolist(), held["end_ns"].tolist(), strict=True)), span)
    resets = subtract(intersect(handshake_spans(m, handshakes(m)), span), xoff)
    available = total(subtract(span, union(xoff, resets)))
    sent, duplicate = _bytes(results["connections"])
    if available <= 0 or sent <= 0:
        return Result("utilization", inconclusive="no data was sent while the link was available")
    phases = results["idle_phases"].tables["idle_phases"]
    idle = int((phases["end_ns"] - phases["t_ns"]).sum())
    idle_share, duplicate_share = idle / available, duplicate / sent
    value = (1 - idle_share) * (1 - duplicate_share)
    summary = {
        "value": round(value, 6),
        "idle_share": round(idle_share, 6),
        "duplicate_share": round(duplicate_share, 6),
        "basis": "link log",
        "flagged": value <= FLAG_AT,
        "span_s": _s(total(span)),
        "available_s": _s(available),
        "idle_s": _s(idle),
        "xoff_s": _s(total(xoff)),
        "reset_s": _s(total(resets)),
        "sent_bytes": sent,
        "duplicate_bytes": duplicate,
        "causes": _causes(results, idle / available, duplicate_share),
    }
    return Result("utilization", summary)


def _bytes(connections: Result) -> tuple[int, int]:
    entries = [entry["bytes"] for entry in connections.summary["connections"]]
    return sum(entry["sent"] for entry in entries), sum(entry["duplicate"] for entry in entries)


def _causes(results: Mapping[str, Result], idle_share: float, duplicate_share: float) -> list[dict[str, Any]]:
    """What the utilization was lost to, largest first: shares of the available time and of the bytes sent."""
    causes = results["idle_phases"].summary["causes"]
    found = [
        {"cause": name, "kind": "idle", "share": round(idle_share * entry["share"], 6), "s": entry["s"]}
        for name, entry in causes.items()
    ]
    if duplicate_share > 0:
        found.append({"cause": "duplicates", "kind": "bytes", "share": round(duplicate_share, 6), "s": None})
    return sorted(found, key=lambda entry: -entry["share"])


def _s(time_ns: int) -> float:
    return round(time_ns / 1e9, 6)


ANALYZER = Analyzer(
    name="utilization",
    question="How much of what the link offered did TCP use for new data?",
    needs=("link_frames", "snd", "result:connections", "result:flow_control", "result:idle_phases"),
    run=run,
)
