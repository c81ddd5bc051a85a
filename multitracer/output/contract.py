"""The JSON objects of the command line: keys that scripts rely on, documented in docs/json.md.

A key may be added in any version; removing or changing one raises `CONTRACT`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from multitracer import native
from multitracer.model.analysis import Result, summary_of
from multitracer.model.derived import Derived
from multitracer.model.timeline import Clock, Timeline
from multitracer.model.trace import Trace

CONTRACT = 1

Object = dict[str, Any]
Results = Mapping[str, Result]

_PLACED = frozenset(
    {
        "connections",
        "timeouts",
        "link_retransmissions",
        "link_resets",
        "flow_control",
        "local_drops",
        "utilization",
        "idle_phases",
        "throughput",
        "frame_map",
        "chains",
        "queueing",
        "goodput",
        "fairness",
        "idle_losses",
        "rtt_deviation",
        "air",
        "energy",
        "diagnosis",
        "host",
    }
)


_TAKEN = _PLACED | {
    "loss",
    "multitracer",
    "contract",
    "detail",
    "t0_unix_s",
    "sources",
    "clocks",
    "trends",
    "link",
    "other",
    "inconclusive",
    "issues",
}
"""Keys of the object, and names of built-in analyzers: what a plug-in declares cannot take their place."""


def analysis_object(measurement: Timeline, results: Results) -> Object:
    """What ``multitracer analyze --json`` prints. Times are seconds from the first TCP event.

    ``connections`` is `Derived`: each is put together when it is asked for.
    """
    import multitracer

    return {
        "multitracer": multitracer.__version__,
        "contract": CONTRACT,
        "detail": "summary" if measurement.summarised else "full",
        "t0_unix_s": _unix(measurement),
        "sources": [_source(measurement, index) for index in range(len(measurement.traces))],
        "clocks": [_clock(measurement, clock) for clock in measurement.clocks],
        "connections": _connections(measurement, results),
        "trends": summary_of(results, "throughput").get("trends", []),
        "link": _link(results),
        "utilization": {
            "value": None,
            "idle_share": None,
            "duplicate_share": None,
            "basis": None,
            **summary_of(results, "utilization"),
        },
        "idle_phases": summary_of(results, "idle_phases").get("phases", []),
        "frame_map": summary_of(results, "frame_map") or None,
        "chains": summary_of(results, "chains").get("chains", []),
        "queueing": summary_of(results, "queueing") or None,
        "goodput": summary_of(results, "goodput") or None,
        "fairness": summary_of(results, "fairness") or None,
        "idle_losses": summary_of(results, "idle_losses") or None,
        "rtt_deviation": summary_of(results, "rtt_deviation") or None,
        "air": summary_of(results, "air") or None,
        "energy": summary_of(results, "energy") or None,
        "host": summary_of(results, "host") or None,
        "diagnosis": summary_of(results, "diagnosis").get("sentences", []),
        "loss": summary_of(results, "diagnosis").get("loss"),
        **_declared(results),
        "other": {
            name: result.summary
            for name, result in results.items()
            if name not in _PLACED and result.key in ("", *_TAKEN)
        },
        "inconclusive": {
            name: result.inconclusive for name, result in results.items() if result.inconclusive is not None
        },
        "issues": _issues(measurement),
    }


def _declared(results: Results) -> Object:
    """Summaries under the keys that their analyzers declare (`multitracer.model.analysis.Analyzer.key`)."""
    return {
        result.key: None if result.inconclusive is not None else result.summary
        for result in results.values()
        if result.key and result.key not in _TAKEN
    }


def source_object(trace: Trace) -> Object:
    """One file as ``multitracer info --json`` prints it. Times are seconds on the file's own clock."""
    source = trace.source
    return {
        "path": source.path,
        "format": source.format,
        "layer": source.layer,
        "point": source.point,
        "clock": source.clock,
        "records": source.records,
        "tcp_segments": source.tcp_segments,
        "first_s": None if source.first_ns is None else source.first_ns / 1e9,
        "last_s": None if source.last_ns is None else source.last_ns / 1e9,
        "details": source.details,
        "issues": [issue.to_dict() for issue in trace.issues],
    }


def _source(measurement: Timeline, index: int) -> Object:
    """One file of a measurement: as `source_object`, on the reference timeline."""
    source = measurement.sources[index]
    clock = next((clock for clock in measurement.clocks if clock.source == index), None)
    times: Object = {"first_s": None, "last_s": None}
    if clock is not None and clock.grade != "unjoined" and source.first_ns is not None:
        first = source.first_ns + clock.offset_ns
        span = (source.last_ns or source.first_ns) - source.first_ns
        times["first_s"] = measurement.seconds(first)
        times["last_s"] = measurement.seconds(first + round(span * (1 + clock.skew_ppm / 1e6)))
    return source_object(measurement.traces[index]) | times


def _clock(measurement: Timeline, clock: Clock) -> Object:
    paths = [source.path for source in measurement.sources]
    return {
        "source": paths[clock.source],
        "reference": None if clock.reference is None else paths[clock.reference],
        "offset_s": clock.offset_ns / 1e9,
        "skew_ppm": clock.skew_ppm,
        "uncertainty_s": None if clock.uncertainty_ns is None else clock.uncertainty_ns / 1e9,
        "method": clock.method,
        "grade": clock.grade,
        "evidence": clock.evidence,
    }


def _connections(measurement: Timeline, results: Results) -> Derived[Object]:
    """Each connection with its rates and its timeouts one by one."""
    paths = [source.path for source in measurement.sources]
    judged = results.get("timeouts")
    events: dict[tuple[int, str], list[Object]] | None = None
    if judged is not None and not judged.inconclusive:
        events = {}
        for event in judged.summary["timeouts"]:
            events.setdefault((event["conn"], event["direction"]), []).append(event)
    rates = {rate["conn"]: rate for rate in summary_of(results, "throughput").get("connections", [])}
    entries = summary_of(results, "connections").get("connections", [])

    def with_timeouts(entry: Object) -> Object:
        timeouts = dict(entry["timeouts"])
        if events is not None:
            timeouts["events"] = events.get((entry["index"], entry["data_direction"]), [])
        return entry | {"source": paths[entry["source"]], "timeouts": timeouts}

    def connection(at: int) -> Object:
        entry = with_timeouts(entries[at])
        if "reverse" in entry:
            entry["reverse"] = with_timeouts(entry["reverse"])
        for key in ("data_s", "throughput_bps", "goodput_bps"):
            entry[key] = rates.get(entry["index"], entry)[key]
        return entry

    summaries = _summaries(measurement, entries) if events is None and not rates else None
    if summaries is None:
        return Derived(len(entries), connection)
    t0_ns = measurement.t0_ns - measurement.clocks[0].offset_ns
    path, point = (native.json_text(value) for value in (paths[0], measurement.sources[0].point))

    def text(flat: bool) -> Iterator[bytes]:
        return native.connection_entries(summaries, path, point, t0_ns, flat=flat)

    return Derived(len(entries), connection, text=text, digest=partial(native.digest, summaries))


def _summaries(measurement: Timeline, entries: Sequence[Object]) -> Any:
    """What the core holds of connections, if nothing else is in their entries."""
    known = measurement.connections
    if not isinstance(entries, Derived) or not isinstance(known, Derived) or entries.origin is not known:
        return None
    return known.origin if len(measurement.traces) == 1 and native.are_summaries(known.origin) else None


def _link(results: Results) -> Object:
    """All about the link; counts are null and lists empty where `inconclusive` has the reason."""
    frames = summary_of(results, "link_retransmissions")
    drops = summary_of(results, "local_drops")
    flow_control = results.get("flow_control")
    return {
        "frames": frames.get("frames"),
        "retransmitted": frames.get("retransmitted"),
        "retransmissions": frames,
        "resets": summary_of(results, "link_resets").get("resets", []),
        "flow_control": None if flow_control is None or flow_control.inconclusive else flow_control.summary,
        "local_drops": drops.get("drops", []),
    }


def _issues(measurement: Timeline) -> list[Object]:
    """Issues of the files and of the measurement, worst first, none twice."""
    issues = [issue for trace in measurement.traces for issue in trace.issues] + measurement.issues
    order = ("error", "warning", "info")
    unique = list(dict.fromkeys(issues))
    return [issue.to_dict() for issue in sorted(unique, key=lambda issue: order.index(issue.kind.severity))]


def _unix(measurement: Timeline) -> float | None:
    """Zero of all printed times as Unix time, if the reference clock is the time of day."""
    for clock in measurement.clocks:
        if clock.grade == "reference" and measurement.sources[clock.source].clock == "realtime":
            return measurement.t0_ns / 1e9
    return None
