"""Result files of Flent: throughput and RTT of all streams of a test over time (docs/formats/flent.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from multitracer.model.errors import CorruptTrace
from multitracer.model.parser import Parser
from multitracer.model.trace import Source, Trace
from multitracer.parsers._helpers import jsonlog, testlog

_HEAD = re.compile(rb'\s*\{\s*"(?:metadata|results|raw_values|version|x_values)"\s*:')
_KEYS = re.compile(
    rb'"(?:FLENT_VERSION|NETPERF_WRAPPER_VERSION|DATA_FILENAME|STEP_SIZE|x_values|SERIES_META)"\s*:'
)
_MOST_SERIES = 4096
_DERIVED = ("::avg", "::sum", "::fair")

# What Flent calls it, behind the stream's name: the series, and what one of its unit is
_SOCKET = {
    "tcp_cwnd": ("cwnd", 1.0),
    "tcp_rtt": ("srtt_ms", 1.0),
    "tcp_retrans": ("retransmissions_total", 1.0),
    "tcp_delivery_rate": ("delivery_rate_bps", 1e6),
    "tcp_pacing_rate": ("pacing_rate_bps", 1e6),
}
_RATES = {"mbits/s": 1e6, "kbits/s": 1e3, "gbits/s": 1e9, "bits/s": 1.0}


def sniff(head: bytes) -> bool:
    """Whether it begins like a result file: an object with one of its keys."""
    return bool(_HEAD.match(head) and _KEYS.search(head))


def parse(path: str) -> Trace:
    """Read the series of a test: `series`, by stream, at the times of ``x_values``.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If it is no JSON, or holds no value over time.

    Reference: https://flent.org/data-format.html
    """
    document = jsonlog.mapping(jsonlog.parsed(jsonlog.document(path)))
    results, metadata = (jsonlog.mapping(document.get(key)) for key in ("results", "metadata"))
    axis = document.get("x_values")
    if not results or not isinstance(axis, list):
        raise CorruptTrace(f"{path}: no results over time; is it cut, or no result file of Flent?")
    base_ns = jsonlog.time_ns(_zoned(metadata.get("T0"))) or jsonlog.time_ns(_zoned(metadata.get("TIME")))
    times = [_time(value) for value in axis]
    about = jsonlog.mapping(metadata.get("SERIES_META"))
    values, tally = testlog.Values(), jsonlog.Tally(path)
    before = 0
    for number, (title, column) in enumerate(results.items()):
        if number >= _MOST_SERIES or title.endswith(_DERIVED) or not isinstance(column, list):
            continue
        name, factor, label = _named(str(title), jsonlog.mapping(about.get(title)))
        for at, (t_ns, value) in enumerate(zip(times, column, strict=False), 1):
            told = _number(value)
            if t_ns is None or told is None:
                if value is not None and told is None:
                    tally.add("bad-number", at, f"value {at} of {str(title)[:60]!r} is no number")
                continue
            values.add(t_ns, at, name, told * factor, label)
        before += 1
    if not len(values):
        raise CorruptTrace(f"{path}: no value over time can be read")
    series = values.table(base_ns or 0)
    source = Source(
        path=path,
        format="flent",
        layer="kernel",
        records=len(axis),
        clock="realtime" if base_ns else "unknown",
        first_ns=min(int(series["t_ns"][0]), base_ns or 0) if base_ns else int(series["t_ns"][0]),
        last_ns=int(series["t_ns"][-1]),
        resolution_ns=_step(metadata),
        details={
            "test": str(metadata.get("NAME", ""))[:100],
            "title": str(metadata.get("TITLE", ""))[:100],
            "length_s": jsonlog.number(metadata, "LENGTH"),
            "step_s": jsonlog.number(metadata, "STEP_SIZE"),
            "series": before,
            "counted": "as Flent reports",
        },
    )
    if base_ns is None:
        tally.add("no-date", 1, "times since the test began")
    return Trace(source, {"series": series}, tally.issues())


def _named(title: str, about: Mapping[str, Any]) -> tuple[str, float, str]:
    """Series, factor and stream of a result: ``TCP upload::1`` is the throughput of that stream."""
    stream, _, last = title.rpartition("::")
    if last in _SOCKET:
        name, factor = _SOCKET[last]
        return name, factor, stream[:100]
    unit = str(about.get("UNITS", "")).lower()
    lower = title.lower()
    if unit in _RATES:
        return "throughput_bps", _RATES[unit], title[:100]
    if "ping" in lower or "rtt" in lower or unit == "ms":
        return "rtt_ms", 1.0, title[:100]
    if not unit and re.search(r"\b(?:tcp|udp|dccp|sctp)?\s?(?:upload|download|totals?)\b", lower):
        return "throughput_bps", 1e6, title[:100]
    return re.sub(r"[^a-z0-9]+", "_", lower).strip("_")[:100] or "value", 1.0, ""


def _zoned(value: Any) -> Any:
    """Flent's times are UTC, with or without the Z."""
    if isinstance(value, str) and value and not re.search(r"(?:Z|[+-]\d\d:?\d\d)$", value):
        return f"{value}Z"
    return value


def _number(value: Any) -> float | None:
    return jsonlog.number({"": value}, "")


def _time(value: Any) -> int | None:
    told = _number(value)
    return None if told is None else testlog.nanoseconds(told)


def _step(metadata: Mapping[str, Any]) -> int:
    step = jsonlog.number(metadata, "STEP_SIZE")
    return round(step * 1e9) if step and 1e-9 <= step < 1e6 else 1


PARSER = Parser(
    name="flent",
    title="Flent result files (.flent, .flent.gz): throughput, RTT, socket statistics of each stream",
    layer="kernel",
    sniff=sniff,
    parse=parse,
    whole_test=True,
)
