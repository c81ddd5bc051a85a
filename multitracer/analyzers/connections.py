"""What each sender put on the wire, per connection.

Byte counts are exact interval arithmetic over the capture next to the data sender; retransmissions carry the
cause that the tracker found for each. Timeouts are counted by the verdicts of all sources together.

Reference: Paper section 4.3 (duplicate bytes); RFC 6298 section 3 (Karn).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from multitracer.analyzers._loss_causes import loss_causes
from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.onepoint import one_point
from multitracer.layers.vantage import acknowledged_bytes, data_ns, far_end, reference_ns, vantage
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.derived import Derived
from multitracer.model.packet_size import HEADERS_BYTES, LEAST_HEADERS_BYTES, agreed_mss
from multitracer.model.quantities import verdict_counts
from multitracer.model.timeline import Connection, Timeline

_DIRECTIONS = ("forward", "reverse")


def run(measurement: Timeline, results: Mapping[str, Result]) -> Result:
    """Summaries per connection, by the capture that sees its data best.

    Of a summed-up capture they are `Derived`: there may be hundreds of thousands, of dozens of values each.
    """
    if not measurement.connections:
        return Result("connections", inconclusive="needs a packet capture with TCP segments (pcap, pcapng)")
    known = measurement.connections
    if measurement.summarised:
        counted = known.digest if isinstance(known, Derived) else None
        made = Derived(len(known), lambda at: _describe(measurement, known[at]), origin=known, digest=counted)
        return Result("connections", {"connections": made})
    judged = _timeouts(results)
    found = [_describe(measurement, connection, judged) for connection in known]
    for entry, connection in zip(found, known, strict=True):
        if sends_both_ways(entry):
            other = replace(connection, data_dir=1 - connection.data_dir)
            entry["reverse"] = mine = _describe(measurement, other, judged)
            # Who sends that data is the receiver of the other.
            mine["point"] = _OPPOSITE.get(mine["point"], mine["point"])
    return Result("connections", {"connections": found})


_OPPOSITE = {"snd": "rcv", "rcv": "snd"}

_BOTH_WAYS = 0.1
"""From this part of the data on, that of the other direction is a transfer of its own."""


def sends_both_ways(entry: Mapping[str, Any]) -> bool:
    """Whether the direction with less data has a good part of it, too."""
    less: int = entry["reverse_bytes"]["unique"]
    return less > 0 and less >= _BOTH_WAYS * entry["bytes"]["unique"]


class _Timeouts(NamedTuple):
    """What `timeouts` found, by connection and direction."""

    verdicts: dict[tuple[int, str], list[str]]
    needless: dict[tuple[int, str], list[int]]
    """Packets that a timer retransmitted although nothing was lost."""
    of_syn: dict[int, dict[str, int]]
    """How often the timer of a SYN or of a SYN+ACK expired, by connection and direction."""
    unacked: dict[int, int]
    """How often the timer of data expired that had arrived, as every ACK of it was lost, by connection."""


def _timeouts(results: Mapping[str, Result]) -> _Timeouts | None:
    """None where `timeouts` has no answer."""
    result = results.get("timeouts")
    if result is None or result.inconclusive is not None:
        return None
    found = _Timeouts({}, {}, {}, {})
    for event in result.summary["timeouts"]:
        key = event["conn"], event["direction"]
        found.verdicts.setdefault(key, []).append(event["verdict"])
        # F-RTO infers it from the ACKs after it: what filled a gap may be what they answer.
        shown = any(vote == "spurious" for name, vote in event["votes"].items() if name != "frto")
        if event["verdict"] == "spurious" and shown:
            found.needless.setdefault(key, []).append(event["record"])
        if event["seq"] == 0:
            ends = found.of_syn.setdefault(event["conn"], {})
            ends[event["direction"]] = ends.get(event["direction"], 0) + 1
        if event["votes"].get("ack_path") == event["verdict"] == "genuine":
            found.unacked[event["conn"]] = found.unacked.get(event["conn"], 0) + 1
    return found


def _describe(
    measurement: Timeline, connection: Connection, judged: _Timeouts | None = None
) -> dict[str, Any]:
    source = vantage(measurement, connection)
    summary = connection.summaries[source]
    data = summary[_DIRECTIONS[connection.data_dir]]
    acks = summary[_DIRECTIONS[1 - connection.data_dir]]
    # What the other end retransmitted, and why, only the capture next to it shows: elsewhere a segment that
    # was lost in the network is missing, and the link has changed the times between the others.
    far = far_end(measurement, connection, source)
    other = connection.summaries[far][_DIRECTIONS[1 - connection.data_dir]]
    direction = _DIRECTIONS[connection.data_dir]
    counts = (
        None if judged is None else verdict_counts(judged.verdicts.get((connection.index, direction), []))
    )
    seen_from_here = one_point(measurement, connection, source)
    rtt = _rtt_ms(data["rtt"])
    mss = agreed_mss(data, acks)
    stalls = _standstills(
        measurement,
        connection,
        source,
        None if rtt is None else rtt["min"],
        () if judged is None else judged.needless.get((connection.index, direction), ()),
        seen_from_here,
        sack=bool(data["sack_permitted"] and acks["sack_permitted"]),
        stamped=bool(data["timestamps"] and acks["timestamps"]),
    )
    return {
        "index": connection.index,
        "endpoints": [endpoint(*end) for end in connection.endpoints],
        "data_direction": direction,
        "source": source,
        "point": measurement.sources[source].point,
        "stream": _stream(measurement, connection, source),
        "start": round(_seconds(measurement, source, summary["first_ns"]), 9),
        "end": round(_seconds(measurement, source, summary["last_ns"]), 9),
        "handshake": summary["handshake"],
        "closed": summary["closed"],
        "reset_by": summary["reset_by"][int(direction != "forward")],
        "reset_ttl": summary["reset_ttl"][int(direction != "forward")],
        "packets": {
            "sent": data["segments"],
            "data": data["data_segments"],
            "received": acks["segments"],
        },
        "bytes": {
            "sent": data["data_bytes"],
            "unique": data["unique_bytes"],
            "duplicate": data["duplicate_bytes"],
            "acked": data["acked_bytes"],
        },
        "reverse_bytes": {
            "sent": other["data_bytes"],
            "unique": other["unique_bytes"],
            "duplicate": other["duplicate_bytes"],
            "acked": other["acked_bytes"],
        },
        "retransmissions": dict(data["retransmissions"]),
        "reverse_retransmissions": dict(other["retransmissions"]),
        "arrivals": {"out_of_order": sum(data["arrivals"].values()), **data["arrivals"]},
        "losses": _losses(data, seen_from_here["observation"]),
        "timeouts": dict(data["timeouts"]) if counts is None else counts,
        **_expired(connection, summary, judged),
        "loss_records": list(data.get("loss_records", ())),
        "unfinished": _unfinished(measurement, source, data),
        "rtt_ms": rtt,
        "data_s": None if (span_ns := data_ns(data)) is None else round(span_ns / 1e9, 6),
        # What is acknowledged passed, captured or not.
        "throughput_bps": _rate_bps(data, max(data["data_bytes"], acknowledged_bytes(data))),
        "goodput_bps": _rate_bps(data, acknowledged_bytes(data)),
        "duplicate_acks": data["duplicate_acks"],
        # Where all arrives, all of them show; elsewhere those that an ACK reveals.
        "needless_retransmissions": max(data["needless"], connection.summaries[far][direction]["needless"]),
        "duplicates_reported": data["reported"],
        "out_of_order": data["out_of_order"],
        "damaged_segments": data["corrupted"],
        "probe_segments": data["probe_segments"],
        "zero_windows": acks["zero_windows"],
        # Marks on the data, what the receiver reports of them, and what the sender did (RFC 3168 section
        # 6.1).
        "ecn": {"ce": data["ce"], "ece": acks["ece"], "cwr": data["cwr"]},
        "window_closures": _closures(acks),
        "exchanges": _exchanges(connection, summary),
        "standstills": stalls,
        **loss_causes(measurement, connection, source, data, seen_from_here, stalls),
        "restarts": _restarts(measurement, connection, source, mss, seen_from_here),
        "mss": mss,
        "sack": bool(data["sack_permitted"] and acks["sack_permitted"]),
        "timestamps": bool(data["timestamps"] and acks["timestamps"]),
        "window_scaling": summary["window_scaling"],
        "max_flight_bytes": data["max_flight_bytes"],
        "max_window_bytes": acks["max_window_bytes"],
        **seen_from_here,
        **_silence(measurement, connection, source, summary),
        **_translated(measurement, connection),
    }


def _expired(connection: Connection, summary: Mapping[str, Any], judged: _Timeouts | None) -> dict[str, int]:
    """Timers of SYNs, where a SYN+ACK was lost those of both ends; and of data whose ACKs were all lost."""
    if judged is None:
        return {name: summary.get(name, 0) for name in ("syn_timeouts", "unacked_timeouts")}
    return {
        "syn_timeouts": max(judged.of_syn.get(connection.index, {}).values(), default=0),
        "unacked_timeouts": judged.unacked.get(connection.index, 0),
    }


def _unfinished(m: Timeline, source: int, data: Mapping[str, Any]) -> dict[str, Any] | None:
    """What shows that a transfer broke off."""
    found = data.get("unfinished")
    if found is None:
        return None
    first, last = (
        None if t_ns is None else round(_seconds(m, source, t_ns), 9)
        for t_ns in (found["first_ns"], found["last_ns"])
    )
    waited_ns = found["waited_ns"]
    return {
        "timeouts": found["timeouts"],
        "first": first,
        "last": last,
        "records": found["records"],
        "reset": found["reset"],
        "waited_s": None if waited_ns is None else round(waited_ns / 1e9, 6),
    }


def _closures(acks: Mapping[str, Any]) -> dict[str, Any]:
    """How often the receiver closed its window, and for how long (RFC 9293 section 3.8.6)."""
    count, longest_ns, total_ns = acks.get("window_closures", (0, 0, 0))
    return {
        "count": count,
        "longest_s": round(longest_ns / 1e9, 6),
        "total_s": round(total_ns / 1e9, 6),
    }


def _exchanges(connection: Connection, summary: Mapping[str, Any]) -> dict[str, Any] | None:
    """Requests and responses, and which end let the other wait."""
    both = summary.get("exchanges")
    found = None if both is None else both[connection.data_dir]
    if found is None:
        return None
    (asked, asked_ns), (answered, answered_ns) = (
        found["held"][end] for end in (found["client"], 1 - found["client"])
    )
    return {
        "count": found["count"],
        "client_sends_data": found["client"] == connection.data_dir,
        "request_wait_s": round(found["request_ns"] / 1e9, 6),
        "response_wait_s": round(found["response_ns"] / 1e9, 6),
        "requests": found["requests"],
        "requests_held": asked,
        "requests_held_s": round(asked_ns / 1e9, 6),
        "responses_held": answered,
        "responses_held_s": round(answered_ns / 1e9, 6),
    }


def _standstills(
    m: Timeline,
    connection: Connection,
    source: int,
    base_ms: float | None,
    needless: Sequence[int],
    seen: Mapping[str, Any],
    *,
    sack: bool,
    stamped: bool,
) -> list[dict[str, Any]] | None:
    """Standstills of the path as one capture shows them; two show them better (`chains`)."""
    if m.summarised or (m.snd is not None and m.rcv is not None):
        return None
    from multitracer.layers.tcp.standstill.carried_on import carried_on_ns
    from multitracer.layers.tcp.standstill.finding import standstills
    from multitracer.layers.tcp.standstill.period import Standstill

    base_ns = None if base_ms is None else round(base_ms * 1e6)
    observation, whole_ms = seen["observation"], (seen["rtt"] or {}).get("base_ms")
    point = m.sources[source].point if observation is None else observation["point"]
    round_ns = None if whole_ms is None else round(whole_ms * 1e6)
    found = standstills(m, connection, source, base_ns, needless, round_ns=round_ns, point=point, sack=sack)
    rate = _payload_rate(m, connection, source, seen["bottleneck"], stamped=stamped) if found else None

    def carried_on_s(one: Standstill) -> float | None:
        # Of what stalls before a capture between the ends, it does not show on which side of it the link is.
        if rate is None or round_ns is None or (one.before and point != "rcv"):
            return None
        stall = one.start_ns, one.end_ns
        worked_ns = carried_on_ns(m, connection, source, stall, rate, round_ns, before=one.before)
        return round(worked_ns / 1e9, 6)

    return [
        {
            "start": round(m.seconds(one.start_ns), 6),
            "length_s": round(one.length_ns / 1e9, 6),
            "record": one.record,
            "upstream": one.before,
            "silence_s": round(one.silence_ns / 1e9, 6),
            "passed": one.passed,
            "carried_on_s": carried_on_s(one),
            "evidence": one.evidence,
        }
        for one in found
    ]


def _payload_rate(
    m: Timeline, connection: Connection, source: int, link: Mapping[str, Any] | None, *, stamped: bool
) -> float | None:
    """Bytes of payload a second of a link that one connection has for itself; None where that is unknown."""
    if link is None or not link["rate_bps"] or link["shared_with"] or len(m.connections) > 1:
        return None
    from multitracer.layers.tcp.transit import payload_at

    each_bytes = float(payload_at(m, connection, source)["length"].mean())
    headers_bytes = HEADERS_BYTES if stamped else LEAST_HEADERS_BYTES
    return float(link["rate_bps"] / 8 * each_bytes / (each_bytes + headers_bytes))


def _restarts(
    m: Timeline, connection: Connection, source: int, mss: int | None, seen: Mapping[str, Any]
) -> dict[str, int] | None:
    """Idle times after which the sender began again with a small window, by the segments of one capture."""
    limits, rtt = seen["limits"], seen["rtt"]
    if m.summarised or limits is None or rtt is None or rtt["base_ms"] is None or mss is None:
        return None
    if not limits["application"] or not limits["congestion_window"]:
        return None
    from multitracer.layers.tcp.restarts import restarts

    found = restarts(m, connection, source, round(rtt["base_ms"] * 1e6), mss)
    if found is None:
        return None
    return {
        "idle_times": found.idle_times,
        "count": found.restarts,
        "flight_bytes": found.flight_bytes,
        "before_bytes": found.before_bytes,
    }


def _silence(m: Timeline, connection: Connection, source: int, summary: Mapping[str, Any]) -> dict[str, Any]:
    """What a connection ended with, if its last data was long before that, and more was to come."""
    if m.summarised or summary[_DIRECTIONS[connection.data_dir]].get("unfinished") is not None:
        return {}
    from multitracer.layers.tcp.ending import LEAST_NS, silence

    advances = [ns for name in _DIRECTIONS if (ns := summary[name]["last_advance_ns"]) is not None]
    # For most connections that is all one needs.
    goes_on = summary["closed"] == "open" or summary["last_ns"] - max(advances, default=0) >= LEAST_NS
    found = silence(m, connection, source) if advances and goes_on else None
    if found is None:
        return {}
    who = {connection.data_dir: "sender", 1 - connection.data_dir: "receiver", None: None}
    return {
        "silence": {
            "start": round(m.seconds(found.t_ns), 9),
            "end": round(m.seconds(found.end_ns), 9),
            "shown_by": found.shown_by,
            "last_data_by": who[found.last],
            "ended": found.ended,
            "ended_by": who[found.ended_by],
            "record": found.record or None,
            "repeated": found.repeated,
            "answered": found.answered,
            "request_bytes": found.request_bytes,
            "unseen_bytes": found.unseen_bytes,
        }
    }


def _translated(measurement: Timeline, connection: Connection) -> dict[str, Any]:
    """Endpoints at each capture, where a translator between them changes these."""
    if not connection.translated:
        return {}
    named = [
        {"source": measurement.sources[source].path, "endpoints": [endpoint(*end) for end in ends]}
        for source, ends in sorted(connection.translated.items())
    ]
    return {"translated": named}


def _stream(measurement: Timeline, connection: Connection, source: int) -> int | None:
    """Number of the connection by its first packet in the capture, as Wireshark counts tcp.stream."""
    if measurement.summarised:
        return connection.index
    return measurement.once("streams", lambda: _streams(measurement)).get(
        (source, id(connection.summaries[source]))
    )


def _streams(measurement: Timeline) -> dict[tuple[int, int], int]:
    return {
        (source, id(summary)): number
        for source, trace in enumerate(measurement.traces)
        for number, summary in enumerate(trace.connections)
    }


def endpoint(address: str, port: int) -> str:
    """``address:port``, an IPv6 address in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _losses(direction: Mapping[str, Any], observation: Mapping[str, Any] | None) -> dict[str, int | None]:
    """Upstream and downstream of the capture: downstream of the receiver's own, what its host discarded."""
    found = {
        **direction["losses"],
        "acks": direction.get("acks_lost"),
        "refused": direction.get("refused", 0),
        "possible": direction.get("possible", 0),
        "merged": direction.get("merged", 0),
    }
    if observation and observation["point"] == "rcv" and observation["grade"] != "guess":
        found["downstream"] = direction.get("passed_over", 0)
    return found


def _rtt_ms(rtt: Mapping[str, int] | None) -> dict[str, Any] | None:
    if rtt is None:
        return None
    milliseconds = {name: round(rtt[f"{name}_ns"] / 1e6, 3) for name in ("min", "mean", "max", "srtt", "rto")}
    return {"samples": rtt["samples"], **milliseconds}


def _rate_bps(direction: Mapping[str, Any], count_bytes: int) -> float | None:
    span_ns = data_ns(direction)
    # One segment has no rate: its ACK is the time that the host took, or an RTT.
    if span_ns is None or direction["data_segments"] <= 1:
        return None
    return round(float(count_bytes) * 8e9 / float(span_ns), 3)


def _seconds(measurement: Timeline, source: int, t_ns: int) -> float:
    return measurement.seconds(reference_ns(measurement, source, t_ns))


ANALYZER = Analyzer(
    name="connections",
    question="Which connections are there, and what did each sender put on the wire?",
    run=run,
    **QUESTIONS["connections"]._asdict(),
)
