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
_DERIVED = re.compile(r"(?:::| )(?:avg|sum|fair(?:ness)?|totals?)$")
_QUARTER_NS = 900 * 10**9
_TRANSFORMED = 4
"""Version of the format from which on raw values have the unit of their series."""

# What Flent calls it, after the stream's name: the series, and what one of its unit is
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
    """Read the series of a test: `series`, by stream, at the times of its raw values, else of ``x_values``.

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
    about = jsonlog.mapping(metadata.get("SERIES_META"))
    raw = _Raw(document, about)
    base_ns = _base(metadata, raw)
    times = [_time(value) for value in axis]
    tally = jsonlog.Tally(path)
    values = testlog.Values(tally)
    before = measured = 0
    single = [title for title in results if not _DERIVED.search(title)]
    for title in (single or list(results))[:_MOST_SERIES]:
        column = results[title]
        if not isinstance(column, list):
            continue
        name, factor, label = _named(str(title), jsonlog.mapping(about.get(title)))
        points = raw.points(str(title)) if base_ns is not None else []
        for at, point_ns, found in points:
            values.add(point_ns - (base_ns or 0), at, name, found * factor, label)
        if points:
            before, measured = before + 1, measured + 1
            continue
        for at, (t_ns, value) in enumerate(zip(times, column, strict=False), 1):
            parsed = _number(value)
            if t_ns is None or parsed is None:
                if value is not None and parsed is None:
                    tally.add("bad-number", at, f"value {at} of {str(title)[:60]!r} is no number")
                continue
            values.add(t_ns, at, name, parsed * factor, label)
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
        resolution_ns=1000 if measured == before else _step(metadata),
        details={
            "test": str(metadata.get("NAME", ""))[:100],
            "title": str(metadata.get("TITLE", ""))[:100],
            "length_s": jsonlog.number(metadata, "LENGTH"),
            "step_s": jsonlog.number(metadata, "STEP_SIZE"),
            "series": before,
            "series_of_raw_values": measured,
            "counted": "as Flent reports",
        },
    )
    if base_ns is None:
        tally.add("no-date", 1, "times since the test began")
    return Trace(source, {"series": series}, tally.issues())


class _Raw:
    """What the tools of a test printed, before Flent moved it to the steps of ``x_values``."""

    def __init__(self, document: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        self._series = dict(jsonlog.mapping(document.get("raw_values")))
        if not self._series:
            # Version 1 has them with the other attributes of a series.
            known = {title: jsonlog.mapping(entry).get("RAW_VALUES") for title, entry in about.items()}
            self._series = {title: found for title, found in known.items() if found}
        version = jsonlog.number(document, "version")
        self._plain = version is None or version < _TRANSFORMED

    def first_ns(self) -> int | None:
        """Time of the earliest value."""
        found = [points[0][1] for title in self._series if (points := self.points(title, "t"))]
        return min(found, default=None)

    def points(self, title: str, key: str = "val") -> list[tuple[int, int, float]]:
        """Number, time [ns of the epoch] and value, in the unit of the series; empty if there are none."""
        entries = self._series.get(title)
        if not entries and key == "val":
            # What `ss` reported of a stream is in the stream's own entries.
            title, _, key = title.rpartition("::")
            entries = self._series.get(title)
        if not isinstance(entries, list):
            return []
        found = []
        for at, entry in enumerate(entries, 1):
            known = jsonlog.mapping(entry)
            t_ns, value = _time(known.get("t")), _number(known.get(key))
            if t_ns is None or value is None:
                continue
            t_ns = round(t_ns / 1000) * 1000  # seconds since 1970 in a double are right to less than this
            if self._plain and key == "val" and "UDP" in title and "dur" in known:
                # Transactions in a second, as netperf prints them.
                if value <= 0:
                    continue
                value = 1000.0 / value
            elif self._plain and key == "val" and title == "HTTP latency":
                value *= 1000.0
            found.append((at, t_ns, value))
        return found


def _base(metadata: Mapping[str, Any], raw: _Raw) -> int | None:
    """Time zero: T0, else TIME. Without a zone it is the host's, which raw values show: they are UTC."""
    text = metadata.get("T0") or metadata.get("TIME")
    stated = jsonlog.time_ns(_zoned(text))
    first = raw.first_ns()
    if not stated or first is None or _zoned(text) == text:
        return stated
    return stated - round((stated - first) / _QUARTER_NS) * _QUARTER_NS


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
    """Taken for UTC if it does not name a zone."""
    if isinstance(value, str) and value and not re.search(r"(?:Z|[+-]\d\d:?\d\d)$", value):
        return f"{value}Z"
    return value


def _number(value: Any) -> float | None:
    return jsonlog.number({"": value}, "")


def _time(value: Any) -> int | None:
    seconds = _number(value)
    return None if seconds is None else testlog.nanoseconds(seconds)


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
