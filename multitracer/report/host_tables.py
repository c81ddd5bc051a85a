"""Tables of the page about recorded hosts: what each layer did, and when the application stayed away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multitracer.report.markup import Markup, join
from multitracer.report.page_text import count, duration
from multitracer.report.sortable import Row, at, sortable, span

WAITS = {
    "send_buffer": "data in the send buffer",
    "qdisc": "data in the queueing discipline",
    "device": "data before the driver",
    "receive_queue": "data in the receive queue",
}

Object = Mapping[str, Any]

_HOSTS = {"snd": "data sender", "rcv": "data receiver"}


def host_tables(found: Object | None) -> Markup:
    """Layer by layer, host by host; empty markup where no host was recorded."""
    if found is None:
        return Markup("")
    hosts = list(found["points"].values()) or [found]
    rows = [
        Row((_HOSTS.get(one["point"], "host"), layer, what, words))
        for one in hosts
        for layer, what, words in _layers(one)
    ]
    lost = sum(one["lost_events"] for one in hosts)
    note = "From the kernel's tracepoints on each recorded host."
    if lost:
        note += f" {count(lost, 'event')} of the log were lost: all counts are lower bounds."
    return join(
        sortable("host", "The recorded host", ("host", "layer", "what", "measured"), rows, note),
        _absences(hosts),
    )


def _layers(one: Object) -> Iterator[tuple[str, str, str]]:
    """Layer, quantity and value, from the application down."""
    application, queue, device, again = (
        one[name] for name in ("application", "qdisc", "device", "retransmissions")
    )
    for verb, size, past in (("write", "bytes_written", "written"), ("read", "bytes_read", "read")):
        if application[f"{verb}s"] is None:
            yield "application", past, "unknown: calls were not recorded"
        if application[f"{verb}s"]:
            calls = count(application[f"{verb}s"], "call")
            yield "application", past, f"{application[size]:,} bytes in {calls}"
            if application[f"{verb}_away_s"] is not None:
                yield "application", f"pauses between {verb}s", duration(application[f"{verb}_away_s"])
    if application["writes"]:
        yield "application", "blocked in writes", duration(application["write_blocked_s"])
    by_counters = "" if again["counted"] is None else f"; by the kernel's counters {again['counted']:,}"
    yield (
        "TCP",
        "retransmissions",
        f"{count(again['events'], 'event')}, {again['failed']:,} failed{by_counters}",
    )
    if queue["packets"]:
        yield "queue", "packets that waited", f"{queue['packets']:,}"
        for words, name in (("median", "median_s"), ("95th percentile", "p95_s"), ("longest", "max_s")):
            yield "queue", f"time in the queue, {words}", duration(queue[name])
    by_tc = "" if queue["dropped_by_tc"] is None else f"; by tc {queue['dropped_by_tc']:,}"
    yield "queue", "dropped", f"{queue['dropped']:,}{by_tc}"
    sent, segments = count(device["packets_sent"], "packet"), count(device["segments_sent"], "segment")
    yield "driver", "sent", f"{sent} ({segments})"
    yield "driver", "received", count(device["packets_received"], "packet")
    if device["dropped"]:
        yield "driver", "dropped by it", count(device["dropped"], "packet")
    if device["busy"]:
        busy = duration(device["busy_s"]) if device["busy_s"] is not None else "unknown"
        yield "driver", "refusals", f"{device['busy']:,}, no packet taken for {busy}"
    for name, words in WAITS.items():
        waited = one["waiting"][name]
        if waited["packets"]:
            part = "" if waited["share"] is None else f"{waited['share']:.1%} of all waiting; "
            unknown = f"; {waited['unknown']:,} unknown" if waited["unknown"] else ""
            middle = f"median {duration(waited['median_s'])}, longest {duration(waited['max_s'])}"
            yield "waiting", words, f"{part}{count(waited['packets'], 'packet')}, {middle}{unknown}"
    for layer, what, number in before_reading(one):
        yield layer, what, number
    for reason, number in one["drops"].items():
        yield "drops", reason, f"{number:,}"


def before_reading(one: Object) -> Iterator[tuple[str, str, str]]:
    """Layer, quantity and value of what counters show between driver and receive queue."""
    received = one["receiving"]
    softnet = received["softnet"]
    if softnet is not None:
        busy = "" if softnet["cpu_busy"] is None else f"; CPU too busy: {softnet['cpu_busy']}"
        yield "receiving", "dropped, input queue of a CPU full", f"{softnet['dropped']:,}{busy}"
        yield "receiving", "rounds that left packets", f"{softnet['time_squeeze']:,}"
    for name, words in (
        ("backlog_drops", "dropped, backlog of a socket full"),
        ("receive_queue_drops", "dropped, no memory for the receive queue"),
    ):
        if received[name]:
            yield "receiving", words, f"{received[name]:,}"


def _absences(hosts: list[Any]) -> Markup:
    rows = [
        Row(
            (
                at(absence["begin_s"]),
                _HOSTS.get(one["point"], "host"),
                words,
                span(absence["end_s"] - absence["begin_s"]),
            ),
            (absence["begin_s"], absence["end_s"]),
        )
        for one in hosts
        for connection in one["application"]["connections"]
        for key, words in (
            ("write_absences", "gave TCP nothing to send"),
            ("read_absences", "left data unread"),
        )
        for absence in connection[key] or ()
    ]
    rows.sort(key=lambda row: row.stretch or (0.0, 0.0))
    note = "The longest of each connection."
    return sortable("host-away", "Application pauses", ("at", "host", "it", "for"), rows, note)
