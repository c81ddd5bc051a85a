"""Kernel TCP tracepoints as text: ftrace, trace-cmd report, perf script (docs/formats/ftrace.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import ClockKind, Flow, Source, Trace

# What a TCP tracepoint looks like in all three tools: time, perhaps the subsystem, name.
_TCP_EVENT = re.compile(
    rb"^(.*[ \t])?\d+(\.\d+)?:\s+(tcp:|sock:)?"
    rb"(tcp_probe|tcp_retransmit_skb|tcp_cong_state_set|tcp_set_state|inet_sock_set_state):\s",
    re.MULTILINE,
)
# Any tracepoint, with its CPU: a log without TCP in its first part.
_EVENT = re.compile(rb"^.*\s\[\d{3,}\]\s+(\S{4,6}\s+)?\d+(\.\d+)?:\s+[\w:]+:\s", re.MULTILINE)
_TRACER = re.compile(rb"# tracer: \w+\s")
# No machine is up for 31 years: a later time counts from an epoch; which one (TAI is 37 s off) is not said.
_EPOCH_NS = 10**18


def sniff(head: bytes) -> bool:
    """Whether there are lines of tracepoints."""
    return bool(_TRACER.match(head) or _TCP_EVENT.search(head) or _EVENT.search(head))


def parse(path: str) -> Trace:
    """Read tracepoints: `tcp_states` of tcp_probe, `kernel_events` of the others, in order of time.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If it holds no TCP tracepoint.

    Notes
    -----
    `snd_nxt` and `snd_una` are the raw 32 bits. `data_length` is -1 for kernels that log the segment with its
    TCP header (``length=``, the first with tcp_probe events): how long that header was is not logged.

    Reference: Linux ``include/trace/events/tcp.h``, ``include/trace/events/sock.h``.
    """
    scan = native.scan("ftrace", path)
    states = Table.in_time(schema.TCP_STATES, scan.tables["tcp_states"])
    events = Table.in_time(schema.KERNEL_EVENTS, scan.tables["kernel_events"])
    host = _host_events(scan.tables["host_events"])
    times = [int(t) for table in (states, events, host) if len(table) for t in table["t_ns"][[0, -1]]]
    if not times:
        ignored = ", ".join(scan.facts["ignored"]) or "none"
        raise CorruptTrace(
            f"{path}: no TCP tracepoint can be read (others: {ignored}); record tcp:* and sock:*"
        )
    facts = scan.facts
    clock: ClockKind = "unknown" if facts["ticks"] or max(times) >= _EPOCH_NS else "monotonic"
    source = Source(
        path=path,
        format="ftrace",
        layer="kernel",
        records=len(states) + len(events) + len(host) - _also_counted(host),
        clock=clock,
        first_ns=min(times),
        last_ns=max(times),
        resolution_ns=facts["resolution_ns"],
        details={
            "tracepoints": facts["tracepoints"],
            "ignored_tracepoints": facts["ignored"],
            "lengths_with_header": facts["header_lengths"],
            **({"devices": facts["devices"], "drop_reasons": facts["drop_reasons"]} if len(host) else {}),
        },
    )
    flows = [Flow(*flow) for flow in facts["flows"]]
    tables = {"tcp_states": states, "kernel_events": events}
    if len(host):
        tables["host_events"] = host
    return Trace(source, tables, scan.issues, flows)


def _host_events(columns: Mapping[str, Any]) -> Table:
    """Events above and below TCP; none if there is nothing but what `kernel_events` has, too."""
    host = Table.in_time(schema.HOST_EVENTS, columns)
    return host if len(host) > _also_counted(host) else Table.empty(schema.HOST_EVENTS)


def _also_counted(host: Table) -> int:
    """Rows of lines that other tables have, too."""
    return int((host["kind"] == host.code("kind", "retransmit")).sum())


PARSER = Parser(
    name="ftrace",
    title="kernel TCP tracepoints as text: ftrace, trace-cmd report, perf script",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
