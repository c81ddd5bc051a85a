"""Text logs of srsRAN Project's base station, RLC layer (docs/formats/srsran.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from multitracer import native
from multitracer.errors import Issue
from multitracer.link.bearerlog import LAST, PART, POLL, UPLINK, Bearer, Bearers, Wanted, trace_of
from multitracer.registry import Parser
from multitracer.trace import Trace

_LINE = rb"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6}) \[([A-Z0-9-]+) *\] \[[A-Z]\] "
_ANY = re.compile(_LINE, re.MULTILINE)
_RLC = re.compile(_LINE + rb"(?:\[[^]]*\] )?(?:du=\d+ )?ue=(\d+) ([SD]RB\d+) (?:UL|DL): (.*)", re.DOTALL)
_DATA = re.compile(rb"(TX|RX) PDU\. (.*)", re.DOTALL)
_STATUS = re.compile(rb"(TX|RX) status PDU\. ?(.*)", re.DOTALL)
_REPORT = re.compile(rb"Refreshed status_report\. (.*)", re.DOTALL)
_FIELD = re.compile(rb"(\w+)=(\w+)")
_NACK = re.compile(rb"\[(\d{1,6})(?: [^]]*)?\]")
_LARGEST_SN = 1 << 18


def sniff(head: bytes) -> bool:
    """Whether there are lines as srsRAN's logger writes them."""
    return _ANY.search(head) is not None


def parse(path: str) -> Trace:
    """Read the busiest bearer: data PDUs and status reports that the base station sent and received.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no RLC data PDU is in it.

    Notes
    -----
    What the base station received counts as sent by the terminal at that time, unless ``seen_at = "bs"``.
    Bytes are not compared: the log has them at another level only.

    Reference: srsRAN Project ``lib/rlc``; 3GPP TS 38.322.
    """
    return configured(path, {})


def configured(path: str, settings: Mapping[str, Any]) -> Trace:
    """As `parse`, of a certain terminal (``ue = 1``) or ``bearer = "drb1"``; ``seen_at = "bs"``."""
    wanted = Wanted.of(path, settings)
    lines = native.Lines(path)
    found: Bearers = {}
    reports: dict[tuple[int, str], bytes] = {}
    bad = Issue("unparsed-line", 0, path=path)
    for record, line in lines:
        match = _RLC.match(line)
        if match is None or match[3] != b"RLC":
            continue
        key = int(match[4][:9]), match[5].decode().lower()
        t_ns = _time_ns(match[1], match[2])
        if t_ns is None or not _take(found, reports, key, t_ns, record, match[6]):
            first = bad.first_record or record
            bad = Issue("unparsed-line", bad.count + 1, first, "an RLC line without its numbers", path)
    trace = trace_of(path, "srsran", "nr", 0, found, wanted)
    trace.issues += lines.issues + ([bad] if bad.count else [])
    return trace


def _time_ns(seconds: bytes, fraction: bytes) -> int | None:
    try:
        when = datetime.fromisoformat(seconds.decode()).replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(when.timestamp()) * 10**9 + int(fraction) * 1000


def _take(
    found: Bearers,
    reports: dict[tuple[int, str], bytes],
    key: tuple[int, str],
    t_ns: int,
    record: int,
    text: bytes,
) -> bool:
    """Take a line of the RLC layer; False if it is damaged."""
    if data := _DATA.match(text):
        fields = dict(_FIELD.findall(data[2]))
        return fields.get(b"dc") != b"data" or _data(
            found.setdefault(key, Bearer()), t_ns, record, data[1] == b"RX", fields
        )
    if status := _STATUS.match(text):
        # The line of one that is sent does not say what is in it; that of the report before it does.
        words = status[2] if b"ack_sn=" in status[2] else reports.get(key, b"")
        ack = _number(dict(_FIELD.findall(words)), b"ack_sn")
        nacks = [int(sn) for sn in _NACK.findall(words)]
        flags = UPLINK if status[1] == b"RX" else 0
        found.setdefault(key, Bearer()).status(t_ns, record, flags, ack, nacks)
    elif report := _REPORT.match(text):
        reports[key] = report[1]
    return True


def _data(bearer: Bearer, t_ns: int, record: int, uplink: bool, fields: dict[bytes, bytes]) -> bool:
    sn = _number(fields, b"sn")
    size = _number(fields, b"pdu_len")
    if size is None:
        size = _number(fields, b"pdu_size")
    segment = fields.get(b"si")
    if sn is None or size is None or sn >= _LARGEST_SN or segment is None:
        return False
    start = _number(fields, b"so") or 0
    # Numbers of 12 bits and of 18; a segment that is not the first says where it begins.
    header = (2 if bearer.highest < 1 << 12 and sn < 1 << 12 else 3) + (2 if start else 0)
    flags = (UPLINK if uplink else 0) | (LAST if segment in (b"full", b"last") else 0)
    flags |= (POLL if fields.get(b"p") == b"1" else 0) | (PART if segment != b"full" else 0)
    bearer.data(t_ns, record, flags, sn, start, max(size - header, 0))
    return True


def _number(fields: dict[bytes, bytes], name: bytes) -> int | None:
    value = fields.get(name, b"")
    return int(value) if value.isdigit() and len(value) < 10 else None


PARSER = Parser(
    name="srsran",
    title="text logs of srsRAN Project's base station (RLC layer)",
    layer="link",
    sniff=sniff,
    parse=parse,
    configured=configured,
)
