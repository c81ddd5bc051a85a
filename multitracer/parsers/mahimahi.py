"""Traces of links and logs of mm-link, of Mahimahi: what a link could carry (docs/formats/mahimahi.md)."""

from __future__ import annotations

import re

from multitracer.model.errors import CorruptTrace
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Array
from multitracer.model.trace import ClockKind, Source, Trace
from multitracer.parsers._helpers import jsonlog, testlog

_TRACE = re.compile(rb"\d{1,10}[ \t]*\r?")
_LOG = re.compile(rb"^(?:# mahimahi mm-link |# base timestamp: \d)", re.MULTILINE)
_EVENT = re.compile(r"(\d{1,12}) ([+#-]) (\d{1,9})(?: (\d{1,12}))?$")
_BASE = re.compile(r"# base timestamp: (\d{1,13})(?!\d)")
_FEW = 10
_PACKET_BYTES = 1500
_STEP_MS = 100
_MOST_STEPS = 10_000_000
_NS = 1_000_000
_LATEST_MS = 2**62 // _NS


def sniff(head: bytes) -> bool:
    """Whether all lines are one whole number that does not go back, or it is a log of mm-link."""
    if _LOG.search(head[:4096]):
        return True
    lines = head.split(b"\n")[:-1]
    if len(lines) < _FEW:
        return False
    last = -1
    for line in lines:
        if _TRACE.fullmatch(line) is None:
            return False
        value = int(line)
        if value < last:
            return False
        last = value
    return True


def parse(path: str) -> Trace:
    """Read a trace or a log: `series` of the link, in steps of 100 ms.

    A trace gives ``capacity_bps``, one turn of it: it begins anew at its end. A log gives ``capacity_bps``
    (opportunities), ``arrived_bps`` (packets that came to the queue), ``delivered_bps`` and
    ``queue_delay_ms`` (mean of the packets delivered in a step).

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no line can be used.

    Reference: Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015; mm-link(1).
    """
    tally = jsonlog.Tally(path)
    base_ms: int | None = None
    lines: dict[str, list[int]] = {"": [], "+": [], "#": [], "-": []}
    times: dict[str, list[int]] = {"": [], "+": [], "#": [], "-": []}
    sizes: dict[str, list[int]] = {"": [], "+": [], "#": [], "-": []}
    delays: list[int] = []
    is_log = False
    for number, line in testlog.lines(path, tally):
        text = line.strip()
        if not text:
            continue
        if text.startswith("#"):
            found = _BASE.match(text)
            is_log = is_log or found is not None or text.startswith("# mahimahi")
            base_ms = min(int(found[1]), _LATEST_MS) if found else base_ms
            continue
        event = _EVENT.match(text)
        if event is not None:
            kind = event[2]
            times[kind].append(int(event[1]))
            sizes[kind].append(int(event[3]))
            lines[kind].append(number)
            if kind == "-":
                delays.append(int(event[4] or 0))
        elif text.isascii() and text.isdigit() and len(text) <= 10 and not is_log:
            times[""].append(int(text))
            sizes[""].append(_PACKET_BYTES)
            lines[""].append(number)
        else:
            tally.add("unparsed-line", number, text[:100])
            continue
    everything = [one for kind in times.values() for one in kind]
    if not everything:
        raise CorruptTrace(f"{path}: no line of a trace or log of Mahimahi can be read")
    first, last = min(everything), max(everything)
    steps = (last - first) // _STEP_MS + 1
    if steps > _MOST_STEPS:
        raise CorruptTrace(f"{path}: times from {first} to {last} ms; is this a trace of a link?")
    start = 0 if is_log or first < _STEP_MS else first
    start = min(start, first)
    count = (last - start) // _STEP_MS + 1
    if count > _MOST_STEPS:
        start, count = first, steps
    origin = (base_ms or 0) if is_log else 0
    values = testlog.Values()
    for kind, name in (
        ("", "capacity_bps"),
        ("#", "capacity_bps"),
        ("+", "arrived_bps"),
        ("-", "delivered_bps"),
    ):
        if times[kind]:
            binned = _binned(times[kind], sizes[kind], start, count)
            _add(
                values, name, start, binned * 8e3 / _STEP_MS, _records(times[kind], lines[kind], start, count)
            )
    if times["-"]:
        packets = _binned(times["-"], [1] * len(times["-"]), start, count)
        waited = _binned(times["-"], delays, start, count)
        first_records = _records(times["-"], lines["-"], start, count)
        for at in np.flatnonzero(packets > 0).tolist():
            values.add(
                (start + (at + 1) * _STEP_MS) * _NS,
                int(first_records[at]),
                "queue_delay_ms",
                float(waited[at] / packets[at]),
            )
    realtime = is_log and origin > 10**11
    clock: ClockKind = "realtime" if realtime else "unknown"
    series = values.table(origin * _NS if realtime else 0)
    total = len(times[""]) or len(times["#"])
    span_s = max((last - start) / 1e3, 1e-3)
    source = Source(
        path=path,
        format="mahimahi",
        layer="link",
        records=len(everything),
        clock=clock,
        first_ns=int(series["t_ns"][0]),
        last_ns=int(series["t_ns"][-1]),
        resolution_ns=_NS,
        details={
            "kind": "log of mm-link" if is_log else "trace of a link",
            "opportunities": total,
            "span_s": span_s,
            "mean_capacity_bps": round(total * _PACKET_BYTES * 8 / span_s),
            "packets_delivered": len(times["-"]) if is_log else None,
        },
    )
    return Trace(source, {"series": series}, tally.issues())


def _binned(times_ms: list[int], weights: list[int], start: int, count: int) -> Array:
    at = (np.array(times_ms, dtype=np.int64) - start) // _STEP_MS
    return np.bincount(at, weights=np.array(weights, dtype=np.float64), minlength=count)


def _records(times_ms: list[int], lines: list[int], start: int, count: int) -> Array:
    """For each step the line of its last event, or of the last one before it."""
    found = np.zeros(count, dtype=np.int64)
    np.maximum.at(found, (np.array(times_ms, dtype=np.int64) - start) // _STEP_MS, lines)
    return np.maximum(np.maximum.accumulate(found), lines[0])


def _add(values: testlog.Values, name: str, start: int, rates: Array, records: Array) -> None:
    """Rates at the ends of their steps."""
    for at, rate in enumerate(rates.tolist()):
        values.add((start + (at + 1) * _STEP_MS) * _NS, int(records[at]), name, rate)


PARSER = Parser(
    name="mahimahi",
    title="Mahimahi: traces of a link (its capacity over time) and logs of mm-link",
    layer="link",
    sniff=sniff,
    parse=parse,
)
