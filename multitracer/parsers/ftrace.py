"""Kernel TCP tracepoints as text: ftrace, trace-cmd report, perf script (docs/formats/ftrace.md)."""

from __future__ import annotations

import re

from multitracer import native
from multitracer.model.parser import Parser
from multitracer.model.trace import Trace
from multitracer.parsers._helpers import tracepoints

# What a TCP tracepoint looks like in all three tools: time, perhaps the subsystem, name.
_TCP_EVENT = re.compile(
    rb"^(.*[ \t])?\d+(\.\d+)?:\s+(tcp:|sock:)?"
    rb"(tcp_probe|tcp_retransmit_skb|tcp_cong_state_set|tcp_set_state|inet_sock_set_state):\s",
    re.MULTILINE,
)
# Any tracepoint, with its CPU: a log without TCP in its first part.
_EVENT = re.compile(rb"^.*\s\[\d{3,}\]\s+(\S{4,6}\s+)?\d+(\.\d+)?:\s+[\w:]+:\s", re.MULTILINE)
_TCP_NAMES = (
    b"tcp_probe",
    b"tcp_retransmit_skb",
    b"tcp_cong_state_set",
    b"tcp_set_state",
    b"inet_sock_set_state",
)
_TRACER = re.compile(rb"# tracer: \w+\s")


def sniff(head: bytes) -> bool:
    """Whether there are lines of tracepoints."""
    if _TRACER.match(head):
        return True
    # Most logs have no such word: a search for words takes a hundredth of the time.
    tcp = any(name in head for name in _TCP_NAMES) and _TCP_EVENT.search(head)
    return bool(tcp or (b"]" in head and _EVENT.search(head)))


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
    return tracepoints.trace_of(path, native.scan("ftrace", path), "ftrace")


PARSER = Parser(
    name="ftrace",
    title="kernel TCP tracepoints as text: ftrace, trace-cmd report, perf script",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
