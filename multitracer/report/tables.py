"""The rows that the sentences rest on: sortable tables, each row a place to go to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from multitracer.output.observed import known_point
from multitracer.output.rtt import idle_before_s, usual_rtt
from multitracer.output.unanswered import by_reason, unanswered
from multitracer.report.facts import gap_of
from multitracer.report.host_tables import host_tables
from multitracer.report.markup import Child, Markup, join, tag
from multitracer.report.page_text import count, duration, rate, spelled, votes
from multitracer.report.radio_tables import radio_tables
from multitracer.report.sortable import Number, Row, at, sortable, span, whole

Object = Mapping[str, Any]


def tables(contract: Object) -> Markup:
    """All tables about the transfer."""
    return join(
        _connections(contract["connections"], contract.get("connections_in_all")),
        _logs((contract["other"].get("logs") or {}).get("transfers", [])),
        _resets(contract["link"]["resets"]),
        _timeouts(contract["connections"]),
        _idle(contract["idle_phases"]),
        _flow_control(contract["link"]["flow_control"]),
        _local_drops(contract["link"]["local_drops"]),
        _entities(contract["link"]["retransmissions"].get("entities", [])),
        radio_tables(contract),
        host_tables(contract["host"]),
    )


def data_ends(connection: Object) -> str:
    """From where to where the data went; a line breaks in front of the arrow only."""
    ends = connection["endpoints"]
    return " →\N{NO-BREAK SPACE}".join(ends if connection["data_direction"] == "forward" else ends[::-1])


def _connections(found: Sequence[Object], in_all: int | None = None) -> Markup:
    """The table; `in_all` if there are more connections than are shown."""
    rows = (
        Row(
            (
                whole(one["index"]),
                data_ends(one),
                whole(one["bytes"]["unique"]),
                whole(one["bytes"]["duplicate"]),
                whole(one["retransmissions"]["total"]),
                whole(one["timeouts"]["total"]),
                Number(one["throughput_bps"], rate(one["throughput_bps"])),
                Number(one["goodput_bps"], rate(one["goodput_bps"])),
                Number(*_rtt(one)),
            ),
            (one["start"], one["end"]),
        )
        for one in found
    )
    headings = (
        "connection", "from → to", "bytes", "duplicate bytes", "retransmissions", "timeouts", "throughput",
        "goodput", "RTT",
    )  # fmt: skip
    shown = "the worst and those with most data; analyze --json has all"
    note = "" if in_all is None else f"{len(found):,} of {in_all:,} connections: {shown}."
    return sortable("connections", "Connections", headings, rows, note)


def _logs(found: Sequence[Object]) -> Markup:
    """Transfers of which there are only logs."""
    rows = []
    for one in found:
        speed, rtt = one["throughput_bps"], one["rtt_ms"]
        named = one["label"] or (one["local"] and f"{one['local']} - {one['remote']}") or ""
        shares = (one["limits"] or {}).get("shares", {})
        most = max(shares, key=lambda name: shares[name]) if shares else ""
        rows.append(
            Row(
                (
                    os.path.basename(one["source"]),
                    str(named),
                    at(one["start"]),
                    span(one["duration_s"]),
                    Number(one["bytes"], "" if one["bytes"] is None else f"{one['bytes']:,}"),
                    Number(speed and speed["mean"], rate(speed["mean"]) if speed else ""),
                    Number(rtt and rtt["median"], f"{rtt['median']:g} ms" if rtt else ""),
                    Number(
                        one["retransmissions"],
                        "" if one["retransmissions"] is None else f"{one['retransmissions']:,}",
                    ),
                    f"{spelled(most)} ({shares[most]:.0%})" if most else "",
                ),
                (one["start"], one["end"]),
            )
        )
    headings = (
        "log", "transfer", "from", "for", "bytes", "rate", "median RTT", "retransmitted", "limited mostly by",
    )  # fmt: skip
    return sortable("logs", "Transfers of which there are logs", headings, rows)


def _rtt(found: Object) -> tuple[float | None, str]:
    """What stands for the RTT, and how it varies."""
    usual = usual_rtt(found)
    if usual is None:
        return None, ""
    middle = duration(usual.ms / 1e3)
    if usual.low_ms is None or usual.high_ms is None:
        return usual.ms, f"{usual.least_name} {middle}" if usual.of == "least" else middle
    low, high = duration(usual.low_ms / 1e3), duration(usual.high_ms / 1e3)
    spread = f"{usual.least_name} {low}, 95% below {high}" if usual.of == "median" else f"{low} to {high}"
    return usual.ms, f"{middle} ({spread})"


def _resets(found: Sequence[Object]) -> Markup:
    rows = (
        Row(
            (
                at(reset["t"]),
                str(reset["entity"]),
                str(reset["cause"]),
                span(reset.get("gap_s")),
                whole(reset.get("segments_lost")),
                whole(reset.get("segments_discarded")),
                whole(reset.get("acks_lost")),
                whole(reset.get("timeouts")),
            ),
            gap_of(reset) or (reset["t"], reset.get("end") or reset["t"]),
        )
        for reset in found
    )
    headings = ("at", "by", "cause", "gap", "segments lost", "discarded", "ACKs lost", "timeouts")
    note = "Gap: from the last byte delivered in order before the reset to the first after it."
    return sortable("resets", "Link resets", headings, rows, note)


def _timeouts(connections: Sequence[Object]) -> Markup:
    def rows() -> Iterator[Row]:
        for one in connections:
            # Elsewhere the time that the path held a segment is in the RTO.
            at_sender = known_point(one) == "snd"
            for event in one["timeouts"].get("events", []):
                rto = event["rto_s"] if at_sender else None
                times = 2 ** min(event["backoff"], 62)
                timer = "RTO" if times == 1 else f"{times:,} RTO"
                yield Row(
                    (
                        at(event["t"]),
                        event["verdict"],
                        votes({spelled(name): vote for name, vote in event["votes"].items()}),
                        span(idle_before_s(event, at_sender=at_sender, standstills=one.get("standstills"))),
                        timer if rto is None else f"{timer} of {duration(rto)}",
                        whole(event["seq"]),
                        whole(event["record"]),
                        whole(one["index"]),
                    ),
                    (event["t"] - event["silence_s"], event["t"]),
                )

    headings = ("at", "verdict", "evidence", "idle before RTO", "RTO", "byte", "packet", "connection")
    return sortable("timeouts", "Timeouts", headings, rows())


def _idle(found: Sequence[Object]) -> Markup:
    rows = (
        Row(
            (
                at(phase["start"]),
                spelled(phase["cause"]),
                span(phase["end"] - phase["start"]),
                str(phase.get("because") or ""),
                str(phase.get("evidence") or ""),
            ),
            (phase["start"], phase["end"]),
        )
        for phase in found
    )
    return sortable("idle", "Link idle", ("from", "cause", "for", "because", "evidence"), rows)


def _flow_control(found: Object | None) -> Markup:
    rows = (
        Row((at(one["start"]), span(one["end"] - one["start"])), (one["start"], one["end"]))
        for one in (found or {}).get("intervals") or ()
        if one.get("start") is not None and one.get("end") is not None
    )
    return sortable("flow-control", "Link held off (XOFF)", ("from", "for"), rows)


def _local_drops(found: Sequence[Object]) -> Markup:
    rows = (
        Row(
            (
                at(drop["t"]),
                whole(drop.get("seq")),
                whole(drop.get("length")),
                whole(drop.get("record")),
                spelled(drop.get("evidence") or ""),
                spelled(drop.get("recovery") or ""),
                at(drop.get("recovered")),
            ),
            (drop["t"], drop.get("recovered") or drop["t"]),
        )
        for drop in found
    )
    headings = ("at", "byte", "length", "packet", "evidence", "retransmitted by", "retransmitted at")
    return sortable("local-drops", "Dropped by the sender's own queue", headings, rows)


def _entities(found: Sequence[Object]) -> Markup:
    rows = (
        Row(
            (
                str(one["entity"]),
                whole(one["frames"]),
                whole(one["retransmitted"]),
                Number(
                    one.get("rate_bytes_per_s"),
                    "" if one.get("rate_bytes_per_s") is None else f"{one['rate_bytes_per_s']:,.0f} bytes/s",
                ),
            )
        )
        for one in found
    )
    return sortable("entities", "Ends of the link", ("end", "frames", "retransmitted", "new data"), rows)


def sources(contract: Object) -> Markup:
    """The files, their clocks, and what is wrong with them."""
    clocks = {clock["source"]: clock for clock in contract["clocks"]}
    rows = []
    for source in contract["sources"]:
        clock = clocks.get(source["path"], {})
        offset = None if clock.get("grade") == "unjoined" else clock.get("offset_s")
        known = clock.get("uncertainty_s")
        first, last = source["first_s"], source["last_s"]
        rows.append(
            Row(
                (
                    os.path.basename(source["path"]),
                    source["format"],
                    source["layer"],
                    source["point"] or "unknown",
                    whole(source["records"]),
                    at(first),
                    span(None if first is None or last is None else last - first),
                    str(clock.get("grade") or ""),
                    str(clock.get("method") or ""),
                    Number(offset, "" if offset is None else f"{offset:+.6f} s"),
                    Number(known, "" if known is None else f"±{duration(known)}"),
                )
            )
        )
    headings = (
        "file", "format", "layer", "point", "records", "first", "for", "clock", "joined by", "offset",
        "known to",
    )  # fmt: skip
    return join(
        sortable("files", "Files and clocks", headings, rows),
        _issues(contract["issues"]),
        _unanswered(unanswered(contract)),
    )


def _issues(found: Sequence[Object]) -> Markup:
    rows = (
        Row(
            (
                issue["severity"],
                os.path.basename(issue["path"]),
                issue["code"],
                whole(issue["count"]),
                whole(issue["first_record"] or None),
                issue["detail"],
                issue["advice"],
            )
        )
        for issue in found
    )
    headings = ("severity", "file", "issue", "times", "first record", "what", "advice")
    return sortable("issues", "Issues", headings, rows)


def _unanswered(reasons: Mapping[str, str]) -> Markup:
    if not reasons:
        return Markup("")
    items: list[Child] = [
        tag("li", tag("b", ", ".join(map(spelled, names))), ": ", reason)
        for reason, names in by_reason(reasons)
    ]
    questions = count(len(reasons), "question")
    return tag("section", tag("h3", "Not answered ", tag("small", questions)), tag("ul", items))
