"""Results of NDT7, M-Lab's speed test (docs/formats/ndt7.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from multitracer import fileoptions, jsonlog, schema
from multitracer.errors import CorruptTrace
from multitracer.lazy import np
from multitracer.registry import Parser
from multitracer.table import Table
from multitracer.trace import Flow, Source, Trace

_HEAD = re.compile(rb'\s*\{\s*"GitShortCommit"\s*:')
_KEYS = re.compile(rb'"(Download|Upload|ServerMeasurements)"\s*:')
_US = 1000
_INFINITE = 0x7FFFFFFF
_LATEST_NS = (1 << 63) - 1
# TCPInfo's key, column, factor
_FIELDS = (
    ("AppLimited", "app_limited", 1),
    ("Backoff", "backoff", 1),
    ("RTO", "rto_ns", _US),
    ("SndMSS", "mss", 1),
    ("Unacked", "unacked", 1),
    ("RTT", "srtt_ns", _US),
    ("RTTVar", "rttvar_ns", _US),
    ("SndSsThresh", "ssthresh", 1),
    ("SndCwnd", "cwnd", 1),
    ("TotalRetrans", "retrans_total", 1),
    ("BytesAcked", "bytes_acked", 1),
    ("BytesReceived", "bytes_received", 1),
    ("NotsentBytes", "notsent", 1),
    ("MinRTT", "min_rtt_ns", _US),
    ("BusyTime", "busy_ns", _US),
    ("RWndLimited", "rwnd_limited_ns", _US),
    ("SndBufLimited", "sndbuf_limited_ns", _US),
    ("BytesSent", "bytes_sent", 1),
    ("BytesRetrans", "bytes_retrans", 1),
    ("SndWnd", "snd_wnd", 1),
)


def sniff(head: bytes) -> bool:
    """Whether it begins like a result of NDT7."""
    return bool(_HEAD.match(head) and _KEYS.search(head))


def parse(path: str) -> Trace:
    """Read the server's measurements: one row of `tcp_states` each, at `StartTime` plus `ElapsedTime`.

    `record` is the number of the measurement, from 1, download before upload.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no measurement with TCPInfo can be used.

    Notes
    -----
    The socket is the server's. Reference: M-Lab's NDT7 data format, ``spec/data-format.md`` of ndt-server.
    """
    result = jsonlog.mapping(jsonlog.parsed(jsonlog.document(path)))
    if not result:
        raise CorruptTrace(f"{path}: the JSON ends early or is damaged; copy the file again")
    rows, tally = jsonlog.Rows(), jsonlog.Tally(path)
    sockets: dict[tuple[str, str], Flow | None] = {}
    flows: dict[Flow, int] = {}
    details: dict[str, Any] = {"version": str(result.get("Version", ""))[:40], "tests": []}
    number = 0
    for test in ("Download", "Upload"):
        part = jsonlog.mapping(result.get(test))
        start_ns = jsonlog.time_ns(part.get("StartTime"))
        if not part:
            continue
        details["tests"].append(test.lower())
        details["uuid"] = str(part.get("UUID", ""))[:100]
        for found in map(jsonlog.mapping, jsonlog.items(part.get("ServerMeasurements"))):
            number += 1
            info = jsonlog.mapping(found.get("TCPInfo"))
            elapsed = jsonlog.whole(info, "ElapsedTime", _US)
            if start_ns is None or elapsed < 0 or start_ns + elapsed > _LATEST_NS:
                tally.add("bad-number", number, "a measurement without TCPInfo, or without a time")
                continue
            connection = jsonlog.mapping(found.get("ConnectionInfo"))
            ends = str(connection.get("Server")), str(connection.get("Client"))
            if ends not in sockets:
                sockets[ends] = _flow(result, connection)
            flow = sockets[ends]
            if flow is None:
                tally.add("bad-number", number, "a measurement without addresses and ports")
                continue
            place = flows.setdefault(flow, len(flows))
            rows.add(start_ns + elapsed, number, place, info)
    if not len(rows):
        raise CorruptTrace(f"{path}: no server measurement with TCPInfo can be read")
    columns = rows.columns(schema.TCP_STATES, _FIELDS)
    columns["ssthresh"] = np.where(columns["ssthresh"] < _INFINITE, columns["ssthresh"], -1)
    columns["app_limited"] = np.where(columns["app_limited"] <= 1, columns["app_limited"], -1)
    states = Table.filled(schema.TCP_STATES, len(rows), columns).sorted_by("t_ns")
    source = Source(
        path=path,
        format="ndt7",
        layer="kernel",
        records=len(states),
        clock="realtime",
        first_ns=int(states["t_ns"][0]),
        last_ns=int(states["t_ns"][-1]),
        resolution_ns=_US,
        details=details,
    )
    return Trace(source, {"tcp_states": states}, tally.issues(rows.disorder(path)), list(flows))


def _flow(result: Mapping[str, Any], connection: Mapping[str, Any]) -> Flow | None:
    """Server, then client: of this measurement, else of the result."""
    server, client = connection.get("Server"), connection.get("Client")
    if not isinstance(server, str) or not isinstance(client, str):
        server, client = (
            f"[{result.get(f'{side}IP')}]:{result.get(f'{side}Port')}" for side in ("Server", "Client")
        )
    return fileoptions.flow(server, client)


PARSER = Parser(
    name="ndt7",
    title="results of M-Lab's NDT7 speed test, with the server's TCPInfo",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
