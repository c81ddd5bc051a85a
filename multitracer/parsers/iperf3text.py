"""What iperf3 and iperf 2 print: rates, retransmissions, cwnd by interval (docs/formats/iperf3-text.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.parser import Parser
from multitracer.model.trace import ClockKind, Source, Trace
from multitracer.parsers._helpers import jsonlog, testlog

_INTERVAL = (
    r"\[ *(?P<id>SUM|\d{1,9})\](?:\[(?P<way>[TR]X)-[CS]\])? "
    r"+(?P<begin>\d{1,9}\.\d+)- *(?P<end>\d{1,9}\.\d+) +sec "
    r"+(?P<size>\d+(?:\.\d+)?) +(?P<size_unit>[KMGT]?)Bytes "
    r"+(?P<rate>\d+(?:\.\d+)?) +(?P<rate_unit>[KMGT]?)bits/sec"
)
_LINE = re.compile(
    _INTERVAL + r"(?: +(?P<jitter>\d+\.\d+) ms +(?P<lost>\d{1,12})/ *(?P<all>\d{1,12}) \([^)]*\))?"
    r"(?: +(?P<retr>\d{1,12})(?= |$))?"
    r"(?: +(?P<cwnd>\d+(?:\.\d+)?) +(?P<cwnd_unit>[KMGT]?)Bytes)?(?P<rest>.*)$"
)
_HEAD = re.compile(rb"^(?:\S.{0,60} )?" + _INTERVAL.encode(), re.MULTILINE)
_CONNECTED = re.compile(
    r"\[ *(?P<id>\d{1,9})\] local (?P<local>\S+) port (?P<from>\d{1,5}) connected (?:to|with) "
    r"(?P<remote>\S+) port (?P<to>\d{1,5})"
)
_EPOCH = re.compile(r"^(\d{9,10}(?:\.\d+)?) ")
_TIME = re.compile(r"^Time: (\w{3}, \d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d) (?:GMT|UTC)")
_BEGINS = re.compile(r"(?:Connecting to host|Accepted connection from|Client connecting to)\b")
_REVERSE = re.compile(r"Reverse mode, remote host \S+ is sending")
_WHOLE = 0.9


def sniff(head: bytes) -> bool:
    """Whether a line is that of an interval of a stream."""
    return bool(_HEAD.search(head))


def parse(path: str) -> Trace:
    """Read a test: `series` with the throughput, retransmissions and cwnd of each interval, by stream.

    Of several tests in one file the first is read (issue `unparsed-line` for the others' intervals), as when
    the others began is unknown.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If there is no line of an interval.

    Notes
    -----
    Times begin with the test, at 0, unless lines begin with seconds of the Unix epoch
    (``--timestamps='%s '``) or ``-V`` shows when the test began.

    Reference: iperf3(1), iperf(1).
    """
    tally = jsonlog.Tally(path)
    values = testlog.Values(tally)
    names: dict[str, str] = {}
    ends: dict[str, tuple[float, int]] = {}
    summary: dict[str, Any] = {}
    base_s: float | None = None
    base_step_ns = 10**9
    tests = others = 0
    udp = reverse = False
    retr = False
    shift: dict[str, float] = {}
    for number, line in testlog.lines(path, tally):
        begun = _TIME.search(line)
        if begun and base_s is None:
            base_s = _seconds(begun[1])
        if _BEGINS.search(line):
            # iperf3 reports a second test only when the first has intervals.
            tests += 1 if ends or not tests else 0
        stamp = _EPOCH.match(line)
        reverse = reverse or bool(_REVERSE.search(line))
        socket = _CONNECTED.search(line)
        if socket and tests <= 1:
            local, remote = (_end(socket[a], socket[b]) for a, b in (("local", "from"), ("remote", "to")))
            names[socket["id"]] = f"{local} > {remote}"
        found = _LINE.search(line)
        if found is None:
            continue
        if tests > 1:
            others += 1
            continue
        begin, end = float(found["begin"]), float(found["end"])
        stream = found["id"] + (found["way"] or "")
        rate_bps = float(found["rate"]) * testlog.RATES[found["rate_unit"]]
        last, rows = ends.get(stream, (0.0, 0))
        rest = found["rest"].strip()
        whole = rows > 1 and begin < last - 0.5 * (end - begin) and end - begin >= _WHOLE * last
        if rest in ("sender", "receiver") or (whole and "omitted" not in rest and stream not in shift):
            side = f"sum_{'received' if rest == 'receiver' else 'sent'}"
            if found["id"] == "SUM" or side not in summary:
                size = float(found["size"]) * testlog.SIZES[found["size_unit"]]
                if max(size, rate_bps) < testlog.MOST:
                    summary[side] = {"bytes": size, "bits_per_second": rate_bps}
            continue
        if found["id"] == "SUM":
            continue
        if begin < last - 0.5 * (end - begin):
            shift[stream] = shift.get(stream, 0.0) + last  # with -O the time begins anew
        ends[stream] = (end, rows + 1)
        t_ns = testlog.nanoseconds(end + shift.get(stream, 0.0))
        if t_ns is None or end < begin:
            continue
        if stamp and base_s is None and not values:
            base_s = round(float(stamp[1]) - end, 3)
        label = stream
        values.add(t_ns, number, "throughput_bps", rate_bps, label)
        if found["retr"] is not None:
            retr = True
            values.add(t_ns, number, "retransmissions", float(found["retr"]), label)
        if found["cwnd"] is not None:
            size = float(found["cwnd"]) * testlog.SIZES[found["cwnd_unit"]]
            values.add(t_ns, number, "cwnd_bytes", size, label)
        if found["lost"] is not None:
            udp = True
            values.add(t_ns, number, "lost", float(found["lost"]), label)
            values.add(t_ns, number, "jitter_ms", float(found["jitter"]), label)
    if not len(values):
        raise CorruptTrace(f"{path}: no interval of iperf can be read; is it cut or another format?")
    values.label = [_called(label, names, len(ends)) for label in values.label]
    issues = tally.issues()
    shift_ns = 0
    clock: ClockKind = "unknown"
    moved = testlog.nanoseconds(base_s) if base_s is not None else None
    if moved is not None and moved > 0:
        shift_ns, clock = moved, "realtime"
    else:
        issues.append(Issue("no-date", len(values), values.record[0], "times since the test began", path))
    if others:
        detail = f"{tests - 1} more tests in the file; their starting times are not in the file"
        issues.append(Issue("unparsed-line", others, 0, detail, path))
    series = values.table(shift_ns)
    source = Source(
        path=path,
        format="iperf3-text",
        layer="kernel",
        records=len(values),
        clock=clock,
        first_ns=min(shift_ns, int(series["t_ns"][0])),
        last_ns=int(series["t_ns"][-1]),
        resolution_ns=base_step_ns if clock == "realtime" else 10_000_000,
        details={
            "streams": len(ends),
            "protocol": "UDP" if udp else "TCP" if retr else None,
            "sends": True if retr else False if reverse else None,
            "starts_ns": shift_ns,
            "counted": "written by the application" if retr else "as iperf prints it",
            **summary,
        },
    )
    return Trace(source, {"series": series}, issues)


def _called(stream: str, names: Mapping[str, str], streams: int) -> str:
    number = stream.rstrip("TRX")
    name = names.get(number, "")
    if streams == 1:
        return name
    return f"[{stream}] {name}".strip()


def _end(host: str, port: str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _seconds(text: str) -> float | None:
    try:
        return datetime.strptime(text, "%a, %d %b %Y %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return None


PARSER = Parser(
    name="iperf3-text",
    title="iperf3 and iperf 2 as printed: throughput, retransmissions and cwnd by interval",
    layer="kernel",
    sniff=sniff,
    parse=parse,
    whole_test=True,
)
