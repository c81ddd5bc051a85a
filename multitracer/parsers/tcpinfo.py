"""M-Lab's tcp-info: snapshots of the kernel's socket diagnostics as JSON lines (docs/formats/tcpinfo.md)."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Any

from multitracer import jsonlog, native, schema
from multitracer.errors import CorruptTrace
from multitracer.registry import Parser
from multitracer.trace import Flow, Source, Trace

_LINE = re.compile(rb'\s*\{"(Timestamp|Metadata|RawIDM)"\s*:')
_KEYS = re.compile(rb'"(RawIDM|Metadata)"\s*:')
_LONGEST = 1 << 20
_MAX_FLOWS = 1 << 16
_INFO, _CONG = 2, 4  # INET_DIAG_ numbers
_ESTABLISHED = 1
_INFINITE = 0x7FFFFFFF
_MESSAGE = struct.Struct(">4xHH16s16s")  # inet_diag_msg up to the addresses
_US = 1000

# struct tcp_info: (offset, format, column, factor); it grows with the kernel: each is read where it is there
_FIELDS = (
    (4, "B", "backoff", 1),
    (8, "<I", "rto_ns", _US),
    (16, "<I", "mss", 1),
    (24, "<I", "unacked", 1),
    (68, "<I", "srtt_ns", _US),
    (72, "<I", "rttvar_ns", _US),
    (76, "<I", "ssthresh", 1),
    (80, "<I", "cwnd", 1),
    (100, "<I", "retrans_total", 1),
    (120, "<Q", "bytes_acked", 1),
    (128, "<Q", "bytes_received", 1),
    (144, "<I", "notsent", 1),
    (148, "<I", "min_rtt_ns", _US),
    (168, "<Q", "busy_ns", _US),
    (176, "<Q", "rwnd_limited_ns", _US),
    (184, "<Q", "sndbuf_limited_ns", _US),
    (200, "<Q", "bytes_sent", 1),
    (208, "<Q", "bytes_retrans", 1),
    (228, "<I", "snd_wnd", 1),
    (232, "<I", "rcv_wnd", 1),
)
_PRESENT_IF_POSITIVE = ("rto_ns", "mss", "srtt_ns", "rttvar_ns", "cwnd", "min_rtt_ns", "snd_wnd", "rcv_wnd")


def sniff(head: bytes) -> bool:
    """Whether the first line is one of tcp-info."""
    first = head.split(b"\n", 1)[0]
    return bool(_LINE.match(first) and _KEYS.search(first))


def parse(path: str) -> Trace:
    """Read snapshots: one row of `tcp_states` each, in order of time.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no snapshot with a struct tcp_info can be used.

    Notes
    -----
    Each line is a whole snapshot; a line is only written when something has changed. A snapshot without
    INET_DIAG_INFO says nothing of TCP: it is counted and left out.

    Reference: github.com/m-lab/tcp-info ``netlink``; Linux ``include/uapi/linux/tcp.h``, ``inet_diag.h``.
    """
    rows, tally = jsonlog.Rows(schema.TCP_STATES), jsonlog.Tally(path)
    flows: dict[Flow, int] = {}
    facts: dict[str, Any] = {"uuid": None, "congestion_control": None, "snapshots_without_tcp_info": 0}
    facts["largest_tcp_info_bytes"] = 0
    lines = native.Lines(path, _LONGEST)
    for number, line in lines:
        if not line.strip():
            continue
        record = jsonlog.parsed(line)
        if not isinstance(record, dict) or not ("RawIDM" in record or "Metadata" in record):
            tally.add("unparsed-line", number, line[:100].decode("utf-8", "replace"))
            continue
        uuid = jsonlog.mapping(record.get("Metadata")).get("UUID")
        if isinstance(uuid, str):
            facts["uuid"] = uuid[:100]
        if "RawIDM" in record:
            _snapshot(number, record, rows, flows, tally, facts)
    issues = tally.issues(lines.issues)
    if not len(rows):
        raise CorruptTrace(f"{path}: no snapshot with a struct tcp_info can be read")
    states = rows.table()
    source = Source(
        path=path,
        format="tcpinfo",
        layer="kernel",
        records=len(states),
        clock="realtime",
        first_ns=int(states["t_ns"][0]),
        last_ns=int(states["t_ns"][-1]),
        resolution_ns=1_000_000,
        details=facts,
    )
    return Trace(source, {"tcp_states": states}, [*issues, *rows.disorder(path)], list(flows))


def _snapshot(
    number: int,
    record: Mapping[str, Any],
    rows: jsonlog.Rows,
    flows: dict[Flow, int],
    tally: jsonlog.Tally,
    facts: dict[str, Any],
) -> None:
    t_ns, message = jsonlog.time_ns(record.get("Timestamp")), _bytes(record.get("RawIDM"))
    if t_ns is None or message is None or len(message) < _MESSAGE.size:
        tally.add("bad-number", number, "a snapshot without a time or a whole inet_diag_msg")
        return
    attributes = jsonlog.items(record.get("Attributes"))
    info = _bytes(attributes[_INFO]) if len(attributes) > _INFO else None
    if info is None:
        facts["snapshots_without_tcp_info"] += 1
        return
    if len(attributes) > _CONG and (name := _bytes(attributes[_CONG])):
        facts["congestion_control"] = name.rstrip(b"\0").decode("utf-8", "replace")[:32]
    facts["largest_tcp_info_bytes"] = max(facts["largest_tcp_info_bytes"], len(info))
    flow = _flow(message)
    if flow not in flows and len(flows) >= _MAX_FLOWS:
        tally.add("unparsed-line", number, f"more than {_MAX_FLOWS} sockets")
        return
    place = flows.setdefault(flow, len(flows))
    rows.add({"t_ns": t_ns, "record": number, "flow": place, **decode(info)})


def decode(info: bytes) -> dict[str, int]:
    """Columns of `tcp_states` out of a struct tcp_info (little-endian) of any length."""
    row = {}
    for offset, form, column, factor in _FIELDS:
        if offset + struct.calcsize(form) <= len(info):
            value = int(struct.unpack_from(form, info, offset)[0]) * factor
            row[column] = -1 if column in _PRESENT_IF_POSITIVE and value == 0 else value
    if row.get("ssthresh", 0) >= _INFINITE:
        row["ssthresh"] = -1
    if len(info) > 7:
        row["app_limited"] = info[7] & 1
    return row


def _flow(message: bytes) -> Flow:
    family = message[0]
    local_port, remote_port, local, remote = _MESSAGE.unpack_from(message)
    return Flow(_address(family, local), local_port, _address(family, remote), remote_port)


def _address(family: int, raw: bytes) -> str:
    import ipaddress  # not at the start of every command

    if family == 2:
        return str(ipaddress.IPv4Address(raw[:4]))
    address = ipaddress.IPv6Address(raw)
    return str(address.ipv4_mapped or address)


def _bytes(value: Any) -> bytes | None:
    if not isinstance(value, str) or not value:
        return None
    import base64

    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        return None


PARSER = Parser(
    name="tcpinfo",
    title="M-Lab tcp-info: struct tcp_info of one connection as JSON lines",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
