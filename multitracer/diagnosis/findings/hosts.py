"""Sentences about a recorded host: drops, queue, CPUs too busy to receive, slow writers, slow readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.diagnosis.findings.finding import (
    MOST_EVIDENCE,
    Finding,
    joined,
    plot_command,
    seconds,
    several,
    transfer_spans,
)
from multitracer.layers.host.counted import drop_records
from multitracer.model.analysis import Result
from multitracer.model.arrays.intervals import total
from multitracer.model.quantities import duration
from multitracer.model.timeline import Timeline

QUEUE_S = 0.005
AWAY_SHARE = 0.05
_BYTES = {"write": "bytes_written", "read": "bytes_read"}

# Packets that a host has no use for: copies, those that came too late, or that no socket wants.
_NO_USE = frozenset(
    {
        "NOT_SPECIFIED",
        "NO_SOCKET",
        "OTHERHOST",
        "QUEUE_PURGE",
        "UNICAST_IN_L2_MULTICAST",
        "IP_NOPROTO",
        "UNHANDLED_PROTO",
        "TCP_CLOSE",
        "TCP_FLAGS",
        "TCP_RESET",
        "TCP_OFOMERGE",
        "TCP_OLD_ACK",
        "TCP_OLD_DATA",
        "TCP_OLD_SEQUENCE",
        "TCP_TOO_OLD_ACK",
    }
)

Object = Mapping[str, Any]


def hosts(m: Timeline, results: Mapping[str, Result]) -> list[Finding]:
    """What the kernel's own log of a host shows and captures can only infer."""
    found = results.get("host")
    if found is None or found.inconclusive is not None:
        return []
    span_s = max(total(transfer_spans(m)) / 1e9, 1e-9)
    sentences = []
    for one in found.summary["points"].values() or [found.summary]:
        sentences += [
            sentence
            for sentence in (
                _drops(m, one, results),
                _queue(m, one),
                _busy(m, one, span_s),
                _receiving(m, one),
                _application(m, one, "write", span_s),
                _application(m, one, "read", span_s),
            )
            if sentence is not None
        ]
    return sentences


def _whose(one: Object) -> str:
    return {"snd": "the data sender's host", "rcv": "the data receiver's host"}.get(one["point"], "the host")


def _drops(m: Timeline, one: Object, results: Mapping[str, Result]) -> Finding | None:
    """Drops before the wire or before the application, by the kernel's reasons."""
    drops = {reason: count for reason, count in one["drops"].items() if reason not in _NO_USE}
    if not drops:
        return None
    number = several(sum(drops.values()), "packet")
    reasons = joined([f"{count:,} ({reason})" for reason, count in drops.items()])
    why = f": {reasons}" if len(drops) > 1 else f" ({next(iter(drops))})"
    text = f"{_whose(one)} itself dropped {number}{why}"
    queue = one["qdisc"]
    if queue["dropped_by_tc"] is not None and queue["dropped"]:
        text += f"; its queueing discipline counts {several(queue['dropped_by_tc'], 'drop')}"
    again = one["retransmissions"]["counted"]
    entries = results["connections"].summary["connections"] if "connections" in results else ()
    shown = sum(entry["retransmissions"]["total"] for entry in entries)
    if again and again > shown and one["point"] == "snd" and queue["dropped"]:
        text += (
            f"; the kernel retransmitted {several(again, 'segment')}, of which the capture shows {shown:,}: "
            "first copies that were dropped here never reached it"
        )
    source = next(i for i, file in enumerate(m.sources) if file.path == one["source"])
    events = m.table("host_events")
    rows = np.flatnonzero((events["source"] == source) & (events["kind"] == events.code("kind", "drop")))
    names = m.sources[source].details["drop_reasons"]
    named = np.array([name in drops for name in names] + [False])[events["name"][rows]]
    records = events["record"][rows[named]][:MOST_EVIDENCE].tolist()
    evidence = tuple((one["source"], int(record)) for record in records)
    return Finding(text, 0.0, "host_drops", plot_command(m, None, None), evidence)


def _queue(m: Timeline, one: Object) -> Finding | None:
    queue = one["qdisc"]
    if not queue["packets"] or queue["median_s"] < QUEUE_S:
        return None
    median, p95, most = (duration(queue[f"{key}_s"]) for key in ("median", "p95", "max"))
    nearly = "" if p95 == most else f"95% less than {p95}, "
    text = (
        f"packets waited {median} in the queue of {_whose(one)} (median of {queue['packets']:,}; {nearly}at "
        f"most {most})"
    )
    return Finding(text, 0.0, "host_queue", plot_command(m, None, None))


def _busy(m: Timeline, one: Object, span_s: float) -> Finding | None:
    device = one["device"]
    if not device["busy"] or device["busy_s"] < AWAY_SHARE * span_s:
        return None
    text = (
        f"the driver of {_whose(one)} took no packet for {seconds(device['busy_s'])} "
        f"({several(device['busy'], 'refusal')})"
    )
    return Finding(text, 0.0, "host_busy", plot_command(m, None, None))


def _receiving(m: Timeline, one: Object) -> Finding | None:
    """Packets dropped before TCP took them; a CPU is to blame only where it also left packets unreceived."""
    received = one["receiving"]
    softnet = received["softnet"] or {"dropped": 0, "cpu_busy": None}
    parts = []
    if softnet["dropped"]:
        parts.append(
            f"{_whose(one)} dropped {several(softnet['dropped'], 'packet')} before TCP: the input queue of a "
            "CPU was full (softnet, all interfaces)"
        )
        if softnet["cpu_busy"] is not None:
            busy = "was too busy" if softnet["cpu_busy"] == "certain" else "was probably too busy"
            rounds = several(softnet["time_squeeze"], "time")
            parts.append(
                f"receiving stopped {rounds} with packets left: the CPU {busy} ({softnet['cpu_busy']})"
            )
    for name, counter, what in (
        ("backlog_drops", "TCPBacklogDrop", "the backlog of a socket in use by a call was full"),
        ("receive_queue_drops", "TCPRcvQDrop", "a socket had no memory left for its receive queue"),
    ):
        if received[name]:
            dropped = f"dropped {several(received[name], 'packet')}"
            who = f"{_whose(one)} {dropped}" if not parts else f"it {dropped}"
            parts.append(f"{who} in TCP: {what} ({counter}, all connections)")
    if not parts:
        return None
    source = next(i for i, file in enumerate(m.sources) if file.path == one["source"])
    evidence = tuple(drop_records(m, source)[:MOST_EVIDENCE])
    text = "; ".join(parts)
    return Finding(text, 0.0, "host_receiving", plot_command(m, None, None), evidence)


def _application(m: Timeline, one: Object, what: str, span_s: float) -> Finding | None:
    """An application that was away while TCP had nothing to send, or data to give.

    Of connections whose data went that way, and that carried a share of it: one that has read an answer and
    writes nothing more delays no one.
    """
    entries = one["application"]["connections"]
    other = {"write": "read", "read": "write"}[what]
    most = max((entry[name] or 0 for entry in entries for name in _BYTES.values()), default=0)
    away = [
        entry
        for entry in entries
        if (entry[f"{what}_away_s"] or 0) >= AWAY_SHARE * span_s
        and entry[_BYTES[what]] >= max(AWAY_SHARE * most, entry[_BYTES[other]] or 0)
    ]
    if not away:
        return None
    worst = max(away, key=lambda entry: entry[f"{what}_away_s"])
    lost, longest = worst[f"{what}_away_s"], worst[f"longest_{what}_away_s"]
    calls = worst[f"{what}s"]
    size = worst[_BYTES[what]]
    each = f"{several(calls, what)} of {size / max(calls, 1):,.0f} bytes on average"
    if what == "write":
        text = (
            f"on {_whose(one)} the application gave TCP nothing to send for {seconds(lost)}, up to "
            f"{seconds(longest)} at a time ({each})"
        )
    else:
        text = (
            f"on {_whose(one)} the application left data unread for {seconds(lost)}, up to "
            f"{seconds(longest)} at a time ({each})"
        )
    span = worst[f"{what}_absences"][0]
    command = plot_command(m, span["begin_s"], span["end_s"])
    kind = "host_writer" if what == "write" else "host_reader"
    return Finding(text, 0.0, kind, command)
