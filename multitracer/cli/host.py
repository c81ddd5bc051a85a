"""What a recorded host did, in words: lines of the summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multitracer.cli import words
from multitracer.layers.host.calls import AWAY_NS

Object = Mapping[str, Any]

_WAITS = {
    "send_buffer": "in the send buffer",
    "qdisc": "in the queue",
    "device": "before the driver",
    "receive_queue": "in the receive queue",
}
_ENDS = {"snd": "data sender", "rcv": "data receiver"}


def lines(host: Object) -> Iterator[tuple[str, str]]:
    """Label and text of each line, host by host."""
    for one in host["points"].values() or [host]:
        if host["points"]:
            yield _ENDS.get(one["point"], one["source"]), one["source"]
        yield from _host(one)


def _host(one: Object) -> Iterator[tuple[str, str]]:
    application, queue, device = one["application"], one["qdisc"], one["device"]
    for what, count, size in (
        ("Written", application["writes"], application["bytes_written"]),
        ("Read", application["reads"], application["bytes_read"]),
    ):
        if count is None:
            yield what, "unknown: calls were not recorded"
        if count:
            verb = "write" if what == "Written" else "read"
            away = application[f"{verb}_away_s"]
            parts = [f"{size:,} bytes in {words.count(count, 'call')}"]
            if what == "Written":
                parts.append(f"blocked for {words.duration(application['write_blocked_s'])}")
            least = words.duration(AWAY_NS / 1e9)
            known = f"pauses {words.duration(away)}" if away else f"no pause of {least} or more"
            parts.append("pauses: unknown" if away is None else known)
            yield what, ", ".join(parts)
    if queue["packets"]:
        median, p95, most = (words.duration(queue[f"{key}_s"]) for key in ("median", "p95", "max"))
        nearly = "" if p95 == most else f"95% less than {p95}, "
        packets = words.count(queue["packets"], "packet")
        yield "Queue", f"{packets} waited {median} (median), {nearly}at most {most}"
    shares = {name: found["share"] for name, found in one["waiting"].items() if found["share"] is not None}
    if shares:
        layers = ", ".join(f"{share:.1%} {_WAITS[name]}" for name, share in shares.items())
        unknown = sum(found["unknown"] for found in one["waiting"].values())
        yield "Data waited", layers + (f" ({words.count(unknown, 'time')} unknown)" if unknown else "")
    sent = words.count(device["packets_sent"], "packet")
    lost = f", {device['dropped']:,} dropped by it" if device["dropped"] else ""
    yield (
        "Device",
        f"{sent} sent ({words.count(device['segments_sent'], 'segment')}), {device['packets_received']:,} "
        f"received, {words.count(device['busy'], 'refusal')} by the driver{lost}",
    )
    drops = [f"{count:,} {reason}" for reason, count in one["drops"].items()]
    by_tc = "" if queue["dropped_by_tc"] is None else f"; the queue's own count: {queue['dropped_by_tc']:,}"
    yield "Dropped", (", ".join(drops) or "no packets") + by_tc
    received = one["receiving"]
    softnet = received["softnet"]
    before = [
        f"{received[name]:,} {counter}"
        for name, counter in (("backlog_drops", "TCPBacklogDrop"), ("receive_queue_drops", "TCPRcvQDrop"))
        if received[name]
    ]
    if softnet is not None:
        squeezed = words.count(softnet["time_squeeze"], "round")
        cpus = f"{softnet['dropped']:,} dropped by CPUs (softnet), {squeezed} of receiving left packets"
        before.insert(0, cpus)
    if before:
        yield "Receiving", ", ".join(before)
    if one["lost_events"]:
        lost = words.count(one["lost_events"], "event")
        yield "Lost", f"{lost} of the kernel's log: all counts are lower bounds"
    apart = one["unjoined"]
    if apart["segments"]:
        yield "Not joined", f"{words.count(apart['segments'], 'captured segment')} without its packet"
    if apart["ambiguous"]:
        yield "Ambiguous", f"{words.count(apart['ambiguous'], 'packet')} joined by order alone"
