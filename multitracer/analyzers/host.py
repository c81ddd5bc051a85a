"""What a recorded host did around TCP: writes and reads, queue, device, drops by the kernel's reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.host.calls import away, blocked_ns, calls as calls_of, short_writes, starved
from multitracer.layers.host.counted import change, folder, lost_events, receiving
from multitracer.layers.host.local import calls_logged
from multitracer.layers.host.packets import Elsewhere, dropped, dropped_by_driver, refused, ways
from multitracer.layers.host.segments import join
from multitracer.layers.host.sockets import begun, directions_of, joined_calls, own_flows
from multitracer.layers.host.waiting import waiting
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.statistics import quantiles
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.schema import HOST_CALLS, HOST_KINDS, HOST_PACKETS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

MOST_ABSENCES = 20
"""So many of the longest are listed."""

_KIND = {name: code for code, name in enumerate(HOST_KINDS)}


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Describe the layers of each recorded host; the data sender's host first, where that is known.

    Numbers come from the kernel's tracepoints. Where the recording has the kernel's counters, too, both are
    reported: they differ by what was lost, or by what other interfaces and sockets did.
    """
    events = m.table("host_events")
    hosts, packets, calls = [], [], []
    for source in sorted_unique(events["source"]).tolist():
        one, packeted, called = _host(m, source, events.where(events["source"] == source))
        hosts.append(one)
        packets.append(packeted)
        calls.append(called)
    hosts.sort(key=lambda one: one["point"] != "snd")
    points = {one["point"] or f"host {at}": one for at, one in enumerate(hosts)} if len(hosts) > 1 else {}
    return Result(
        "host",
        {**hosts[0], "points": points},
        {
            "host_packets": Table.merged(HOST_PACKETS, packets, "t_ns"),
            "host_calls": Table.merged(HOST_CALLS, calls, "t_ns"),
        },
    )


def _host(m: Timeline, source: int, events: Table) -> tuple[dict[str, Any], Table, Table]:
    about = m.sources[source]
    reasons = [str(name) for name in about.details.get("drop_reasons", ())]
    foreign = (events["flow"] >= 0) & ~np.isin(events["flow"], own_flows(m, source))
    packets, elsewhere = ways(events, reasons, foreign)
    directions = directions_of(m, source)
    point = _point(m, directions) or about.point
    capture = _capture(m, source, point)
    segments = None
    unmatched = ambiguous = 0
    if capture is not None:
        every = m.table("segments")
        rows = np.flatnonzero(every["source"] == capture)
        segments = every.where(rows)
        outgoing = _outgoing(segments, directions)
        known = outgoing >= 0
        own = segments.where(known)
        packets, ambiguous = join(packets, own, outgoing[known] == 1)
        joined = packets["capture"]
        unmatched = int(np.count_nonzero(known)) - len(sorted_unique(joined[joined >= 0]))
        packets = packets.replace(
            capture=np.where(joined >= 0, rows[np.flatnonzero(known)[np.maximum(joined, 0)]], -1)
            if known.any()
            else joined
        )
    calls = joined_calls(calls_of(events), directions)
    summary = {
        "point": point,
        "source": about.path,
        "drops": _drops(packets, reasons),
        "drops_elsewhere": _elsewhere(events, elsewhere, reasons),
        "qdisc": _qdisc(m, source, packets, reasons),
        "device": _device(events, packets),
        "waiting": waiting(
            packets, m.table("segments"), events, calls, lambda conn, way: begun(m, conn, way)
        ),
        "receiving": receiving(m, source),
        "application": _application(m, events, calls, capture, directions, calls_logged(m, source, events)),
        "retransmissions": _retransmissions(m, source, events, own_flows(m, source)),
        "lost_events": lost_events(m, source),
        "unjoined": {
            "packets": int(np.count_nonzero((packets["capture"] < 0) & _on_wire(packets))),
            "segments": unmatched if capture is not None else None,
            "ambiguous": ambiguous if capture is not None else None,
            "cut_in_queue": elsewhere.uncut,
            "of_other_interfaces": elsewhere.foreign,
            "calls": int(np.count_nonzero(calls["conn"] < 0)),
        },
    }
    return summary, packets, calls


def _on_wire(packets: Table) -> Array:
    """Packets that a capture may have: handed to the driver, or by it."""
    return (packets["start_ns"] >= 0) | (packets["receive_ns"] >= 0)


def _point(m: Timeline, directions: Mapping[int, tuple[int, int]]) -> str | None:
    """Whether this host sends or receives the data of the largest of its connections."""
    if not directions:
        return None

    def carried(conn: int) -> int:
        summaries = [
            one[direction]
            for one in m.connection(conn).summaries.values()
            for direction in ("forward", "reverse")
        ]
        return max((int(one["data_bytes"]) for one in summaries), default=0)

    conn = max((conn for conn, _ in directions.values()), key=carried)
    sending = {sends for other, sends in directions.values() if other == conn}
    return None if len(sending) > 1 else "snd" if m.connection(conn).data_dir in sending else "rcv"


def _outgoing(segments: Table, directions: Mapping[int, tuple[int, int]]) -> Array:
    """By segment: 1 if this host sent it, 0 if it received it, -1 if its connection is not this host's."""
    count = int(segments["conn"].max(initial=-1)) + 1
    sends = np.full(count + 1, -1, dtype=np.int8)  # the last for no connection
    for conn, direction in directions.values():
        if conn < count:
            sends[conn] = direction
    own: Array = sends[np.where(segments["conn"] >= 0, segments["conn"], count)]
    return np.where(own < 0, -1, (segments["dir"] == own).astype(np.int8))


def _capture(m: Timeline, source: int, point: str | None) -> int | None:
    """The capture of this host: the only one, that of its point, or that of its directory."""
    captures = [i for i, one in enumerate(m.sources) if one.layer == "tcp"]
    if len(captures) == 1:
        return captures[0]
    beside = [i for i in captures if folder(m, i) == folder(m, source)]
    if len(beside) == 1:
        return beside[0]
    same = [i for i in captures if m.sources[i].point == point and point is not None]
    return same[0] if len(same) == 1 else None


def _drops(packets: Table, reasons: list[str]) -> dict[str, int]:
    """Packets of the interface that this host dropped, by the kernel's reason."""
    return _by_name(packets["reason"][dropped(packets)], reasons)


def _elsewhere(events: Table, elsewhere: Elsewhere, reasons: list[str]) -> dict[str, int]:
    return _by_name(events["name"][elsewhere.drops], reasons)


def _by_name(numbers: Array, names: list[str]) -> dict[str, int]:
    found, counts = np.unique(numbers, return_counts=True)
    by_name = {
        names[at] if 0 <= at < len(names) else "unknown": int(count)
        for at, count in zip(found.tolist(), counts.tolist(), strict=True)
    }
    return dict(sorted(by_name.items(), key=lambda item: -item[1]))


def _qdisc(m: Timeline, source: int, packets: Table, reasons: list[str]) -> dict[str, Any]:
    """How long packets were in the queueing discipline, and its drops by both accounts."""
    queued = (packets["enqueue_ns"] >= 0) & (packets["dequeue_ns"] >= 0)
    waits = np.maximum(packets["dequeue_ns"][queued] - packets["enqueue_ns"][queued], 0)
    median, tail = quantiles(waits, (0.5, 0.95)) if len(waits) else (None, None)
    passed = (packets["start_ns"] >= 0) & (packets["queue_ns"] >= 0) & (packets["dequeue_ns"] < 0)
    lost = sum(count for name, count in _drops(packets, reasons).items() if name.startswith("QDISC_"))
    counted = change(m, source, "qdisc.", ".drops")
    return {
        "packets": len(waits),
        "median_s": _seconds(median),
        "p95_s": _seconds(tail),
        "max_s": _seconds(waits.max()) if len(waits) else None,
        "not_queued": int(np.count_nonzero(passed)),
        "dropped": lost,
        "dropped_by_tc": counted,
    }


def _device(events: Table, packets: Table) -> dict[str, Any]:
    """What the driver took and gave."""
    sent = (packets["way"] == 0) & (packets["start_ns"] >= 0)
    came = packets["way"] == 1
    busy = refused(events)
    return {
        "packets_sent": int(np.count_nonzero(sent)),
        "segments_sent": int(packets["segments"][sent].sum()),
        "bytes_sent": int(np.maximum(packets["length"][sent], 0).sum()),
        "packets_received": int(np.count_nonzero(came)),
        "bytes_received": int(np.maximum(packets["length"][came], 0).sum()),
        "dropped": int(np.count_nonzero(dropped_by_driver(events))),
        "busy": int(np.count_nonzero(busy)),
        "busy_s": _seconds(_busy_ns(packets, events["t_ns"][busy])),
    }


def _busy_ns(packets: Table, refused_ns: Array) -> int:
    """Time in which the driver took nothing: from each refusal to the next packet that it was given."""
    starts = np.sort(packets["start_ns"][packets["start_ns"] >= 0])
    if not len(starts) or not len(refused_ns):
        return 0
    at = np.searchsorted(starts, refused_ns, side="right")
    ends = np.where(at < len(starts), starts[np.minimum(at, len(starts) - 1)], refused_ns)
    begins = np.maximum(refused_ns, np.concatenate(([0], np.maximum.accumulate(ends)[:-1])))
    return int(np.maximum(ends - begins, 0).sum())


def _application(
    m: Timeline,
    events: Table,
    calls: Table,
    capture: int | None,
    directions: Mapping[int, tuple[int, int]],
    logged: tuple[bool, bool],
) -> dict[str, Any]:
    """Calls of the connections of the captures; of all sockets where there is no capture.

    Numbers of writes, or of reads, are None where the log does not have such calls.
    """
    wanted = calls["conn"] >= 0 if capture is not None else calls["flow"] >= 0
    ours = calls.where(wanted)
    connections = []
    short = short_writes(events)
    order = np.argsort(ours["flow"], kind="stable")
    flows, first = np.unique(ours["flow"][order], return_index=True)
    # np.split makes one part of nothing.
    groups = np.split(order, first[1:]) if len(first) else []
    for flow, rows in zip(flows.tolist(), groups, strict=True):
        own = ours.where(rows)
        connections.append(_connection(m, short, own, capture, directions.get(flow)))
    written, read = (ours["kind"] == kind for kind in (0, 1))
    found = {
        "writes": int(np.count_nonzero(written)),
        "reads": int(np.count_nonzero(read)),
        "bytes_written": int(ours["length"][written].sum()),
        "bytes_read": int(ours["length"][read].sum()),
        "write_blocked_s": round(sum(one["write_blocked_s"] for one in connections), 6),
        **{
            key: round(sum(known), 9) if known else None
            for key in ("write_away_s", "read_away_s")
            for known in [[one[key] for one in connections if one[key] is not None]]
        },
    }
    return {**_known(found, logged), "connections": [_known(one, logged) for one in connections]}


def _known(found: dict[str, Any], logged: tuple[bool, bool]) -> dict[str, Any]:
    """Without what is of writes, or of reads, where those are not logged."""
    absent = [word for word, there in zip(("writ", "read"), logged, strict=True) if not there]
    return {key: None if any(word in key for word in absent) else value for key, value in found.items()}


def _connection(
    m: Timeline,
    short: Array,
    calls: Table,
    capture: int | None,
    place: tuple[int, int] | None,
) -> dict[str, Any]:
    """One socket's calls."""
    writes, reads = calls.where(calls["kind"] == 0), calls.where(calls["kind"] == 1)
    conn, sends = place if place is not None else (-1, 0)
    unread: list[tuple[int, int]] | None = None
    unwritten: list[tuple[int, int]] | None = None
    if capture is not None and conn >= 0:
        own = m.flow(conn, sends, capture)
        acks = own.where(own["ack"] > 0)
        unread = away(reads, acks["t_ns"], acks["ack"] - 1, begun(m, conn, 1 - sends))
        if begun(m, conn, sends):
            data = own.where(own["length"] > 0)
            unwritten = starved(writes, data["t_ns"], data["seq"] + data["length"] - 1)
    return {
        "conn": conn if conn >= 0 else None,
        "writes": len(writes),
        "reads": len(reads),
        "bytes_written": int(writes["length"].sum()),
        "bytes_read": int(reads["length"].sum()),
        "write_blocked_s": _seconds(blocked_ns(short, writes)),
        **_absences(m, "write", unwritten),
        **_absences(m, "read", unread),
    }


def _absences(m: Timeline, what: str, spans: list[tuple[int, int]] | None) -> dict[str, Any]:
    """How long an application was away, and when for longest; None where that is not known."""
    longest = sorted(spans or (), key=lambda one: one[0] - one[1])
    return {
        f"{what}_away_s": None if spans is None else _seconds(sum(end - begin for begin, end in longest)),
        f"longest_{what}_away_s": _seconds(longest[0][1] - longest[0][0]) if longest else None,
        f"{what}_absences": None
        if spans is None
        else [
            {"begin_s": m.seconds(begin), "end_s": m.seconds(end)} for begin, end in longest[:MOST_ABSENCES]
        ],
    }


def _retransmissions(m: Timeline, source: int, events: Table, ours: Array) -> dict[str, Any]:
    """Segments that TCP retransmitted: by tracepoints, and by the kernel's counters for the whole host."""
    again = (events["kind"] == _KIND["retransmit"]) & np.isin(events["flow"], ours)
    sent, failed = (change(m, source, name) for name in ("TcpRetransSegs", "TcpExtTCPRetransFail"))
    return {
        "events": int(np.count_nonzero(again & (events["value"] == 0))),
        "failed": int(np.count_nonzero(again & (events["value"] != 0))),
        "counted": None if sent is None else sent - (failed or 0),
        "refused": failed,
    }


def _seconds(value: Any) -> float | None:
    return None if value is None else round(float(value) / 1e9, 9)


ANALYZER = Analyzer(
    name="host",
    question="What did the recorded host do: writes, reads, time in its queue, drops by reason?",
    run=run,
    **QUESTIONS["host"]._asdict(),
)
