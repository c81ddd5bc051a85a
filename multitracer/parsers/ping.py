"""What ping prints: an RTT for each probe, and the probes that were lost (docs/formats/ping.md)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.parser import Parser
from multitracer.model.trace import ClockKind, Source, Trace
from multitracer.parsers._helpers import jsonlog, testlog

_STAMP = r"(?:\[(?P<t>\d{1,10}\.\d{1,9})\] )?"
_REPLY = re.compile(
    _STAMP + r"\d+ bytes from (?P<host>\S+?):?(?: \([^)]*\):)? (?:icmp_)?seq=(?P<seq>\d+)"
    r"(?: ttl=\d+)?(?: hops=\S+)? time[=<](?P<rtt>\d+(?:\.\d+)?) ?ms"
)
_LOST = re.compile(_STAMP + r"(?:no answer yet for|Request timeout for) icmp_seq[= ](?P<seq>\d+)")
_WINDOWS = re.compile(r"Reply from (?P<host>\S+?): (?:bytes=\d+ )?time[=<](?P<rtt>\d+) ?ms(?: TTL=\d+)?")
_WINDOWS_LOST = re.compile(r"(?:Request timed out|Destination host unreachable)\.")
_TOTAL = re.compile(
    r"(?<!\d)(?P<sent>\d{1,15}) packets transmitted, (?P<got>\d+)(?: packets)? received.*?"
    r"(?:time (?P<ms>\d+) ?ms)?$"
)
_HEAD = re.compile(
    rb"^(?:\[\d{1,10}\.\d+\] )?(?:\d+ bytes from [^\r\n]* (?:icmp_)?seq=\d+[^\r\n]* time[=<]\d[\d.]* ?ms"
    rb"|Reply from [^\r\n]* time[=<]\d+ ?ms)",
    re.MULTILINE,
)
_SEQ_WRAP = 1 << 16
_USUAL_S = 1.0


def sniff(head: bytes) -> bool:
    """Whether a line is a reply to a probe, as ping of Linux, BSD, macOS, busybox or Windows prints it."""
    return bool(_HEAD.search(head))


def parse(path: str) -> Trace:
    """Read the probes: `series` with ``rtt_ms`` of each that was answered, and ``probe_lost`` of the others.

    With ``ping -D`` each line has its time of day, at which the answer came. Without, a probe was sent at its
    number times the interval: that of the last line (its time by its packets), else one second.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no line is a reply.

    Reference: iputils ping(8), FreeBSD ping(8).
    """
    tally = jsonlog.Tally(path)
    values = testlog.Values(tally)
    sent: dict[int, int] = {}
    lost: dict[int, tuple[int, float | None]] = {}
    total: re.Match[str] | None = None
    stamped = duplicates = 0
    host, last, wraps, count = "", -1, 0, 0
    replies: list[tuple[int, int, float, float | None]] = []
    for number, line in testlog.lines(path, tally):
        found = _REPLY.match(line)
        silent = None if found else _LOST.match(line)
        if found or silent:
            one = found or silent
            assert one is not None
            seq = int(one["seq"][:9])
            if seq < last - _SEQ_WRAP // 2 and seq < _SEQ_WRAP:
                wraps += 1
            last = seq
            seq += wraps * _SEQ_WRAP
            t_s = float(one["t"]) if one["t"] else None
            stamped += t_s is not None
            if silent:
                lost.setdefault(seq, (number, t_s))
                continue
            assert found is not None
            host = host or found["host"]
            if seq in sent:
                duplicates += 1
                continue
            sent[seq] = number
            replies.append((seq, number, float(found["rtt"]), t_s))
            continue
        windows = _WINDOWS.match(line)
        if windows:
            host = host or windows["host"]
            sent[count] = number
            replies.append((count, number, float(windows["rtt"]), None))
            count += 1
        elif _WINDOWS_LOST.match(line):
            lost.setdefault(count, (number, None))
            count += 1
        else:
            total = _TOTAL.search(line) or total
    if not replies:
        raise CorruptTrace(f"{path}: no line of ping can be read; is it cut or another format?")
    dated = stamped > 0 and all(t_s is not None for *_, t_s in replies)
    interval_s = _interval(total)
    first = min(sent)
    for seq, number, rtt_ms, t_s in replies:
        t_ns = testlog.nanoseconds(
            t_s if dated and t_s is not None else (seq - first) * interval_s + rtt_ms / 1e3
        )
        if t_ns is not None:
            values.add(t_ns, number, "rtt_ms", rtt_ms)
    missing = _missing(sent, lost)
    for seq, number in missing:
        known = lost.get(seq, (0, None))[1]
        before = next((t_s for one, _, _, t_s in reversed(replies) if one < seq), None) if dated else None
        of_neighbour = known if known is not None else before
        t_s = of_neighbour if dated else (seq - first) * interval_s
        t_ns = None if t_s is None else testlog.nanoseconds(t_s)
        if t_ns is not None:
            values.add(t_ns, number, "probe_lost", 1.0)
    if not len(values):
        raise CorruptTrace(f"{path}: no reply has a possible time; is it damaged?")
    series = values.table()
    issues = tally.issues()
    if not dated:
        why = (
            "times since the first probe, one each second"
            if interval_s == _USUAL_S
            else "times since the first probe"
        )
        issues.append(Issue("no-date", len(replies), replies[0][1], f"{why}; ping -D prints them", path))
    clock: ClockKind = "realtime" if dated else "unknown"
    details: dict[str, Any] = {
        "host": host[:100],
        "transmitted": int(total["sent"]) if total else len(sent) + len(missing),
        "received": len(sent),
        "lost": len(missing),
        "duplicates": duplicates,
        "interval_s": None if dated else round(interval_s, 6),
    }
    source = Source(
        path=path,
        format="ping",
        layer="kernel",
        records=len(values),
        clock=clock,
        first_ns=int(series["t_ns"][0]),
        last_ns=int(series["t_ns"][-1]),
        resolution_ns=1000 if dated else 1_000_000,
        details=details,
    )
    return Trace(source, {"series": series}, issues)


def _interval(total: re.Match[str] | None) -> float:
    """Seconds between probes: what the last line's time makes of its packets, else one."""
    if total is None or not total["ms"] or int(total["sent"]) < 2:
        return _USUAL_S
    passed = int(total["ms"][:12]) / 1e3 / (int(total["sent"]) - 1)
    # The line counts waiting, too: of the usual second, it is a little more.
    return _USUAL_S if _USUAL_S <= passed < 1.1 * _USUAL_S or passed <= 0 else passed


_MOST_LOST = 100_000


def _missing(sent: dict[int, int], lost: dict[int, tuple[int, float | None]]) -> list[tuple[int, int]]:
    """Numbers without a reply between those known, and the line that shows it or is before."""
    known = sorted({*sent, *lost})
    found = [(seq, number) for seq, (number, _) in lost.items() if seq not in sent]
    for before, after in pairwise(known):
        if len(found) + after - before - 1 > _MOST_LOST:
            break
        line = sent[before] if before in sent else lost[before][0]
        found += [(seq, line) for seq in range(before + 1, after)]
    return sorted(found)


PARSER = Parser(
    name="ping",
    title="ping: RTT of each probe, probes lost (Linux, also -D; BSD, macOS, busybox, Windows)",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
