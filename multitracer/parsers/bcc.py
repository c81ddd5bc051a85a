"""Logs of bcc's and bpftrace's tcpretrans and bcc's tcpstates (docs/formats/bcc.md)."""

from __future__ import annotations

import re

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace, Issue
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Flow, Source, Trace

_CLOCK = rb"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?"
_ENDPOINT = rb"[0-9A-Fa-f.:\[\]]+:\d+"
_RETRANS = re.compile(
    rb"^"
    + _CLOCK
    + rb"\s+\d+\s+(?:[46]\s+)?"
    + _ENDPOINT
    + rb"(?:\s+[RL]>)?\s+"
    + _ENDPOINT
    + rb"\s+[A-Z]{2}",
    re.MULTILINE,
)
_STATES_HEAD = re.compile(
    rb"^(TIME,|TIME\(s\),|TIME\s+|TIME\(s\)\s+)?SKADDR[, \t]+(C-)?PID[, \t]", re.MULTILINE
)
_RETRANS_HEAD = re.compile(rb"^TIME\s+PID\s+(IP\s+)?LADDR:LPORT\s", re.MULTILINE)
_KINDS = ("retransmissions", "tail_loss_probes", "state_changes")


def sniff(head: bytes) -> bool:
    """Whether there are the column titles of one of the tools, or lines of tcpretrans."""
    return bool(_STATES_HEAD.search(head) or _RETRANS_HEAD.search(head) or _RETRANS.search(head))


def parse(path: str) -> Trace:
    """Read retransmissions and changes of socket states: `kernel_events`, in order of time.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no event with a time can be used.

    Notes
    -----
    Times of day have no date and no zone: the clock is "unknown", and counts on over midnight. A tail loss
    probe (``L>``) is a retransmission like the others.

    Reference: bcc ``tools/tcpretrans.py``, ``tools/tcpstates.py``; bpftrace ``tools/tcpretrans.bt``.
    """
    scan = native.scan("bcc", path)
    events, facts = Table.in_time(schema.KERNEL_EVENTS, scan.tables["kernel_events"]), scan.facts
    issues = list(scan.issues)
    if not len(events):
        untimed = "; record with -T" if any(issue.code == "no-timestamp" for issue in issues) else ""
        raise CorruptTrace(f"{path}: no event of tcpretrans or tcpstates with a time can be read{untimed}")
    if facts["of_day"]:
        issues.append(Issue("no-date", len(events), int(events["record"][0]), "times of day", path))
    source = Source(
        path=path,
        format="bcc",
        layer="kernel",
        records=len(events),
        clock="unknown",
        first_ns=int(events["t_ns"][0]),
        last_ns=int(events["t_ns"][-1]),
        resolution_ns=facts["resolution_ns"],
        details={
            "packets_by_kind": dict(zip(_KINDS, facts["kinds"], strict=True)),
            "days_passed": facts["days"],
        },
    )
    return Trace(source, {"kernel_events": events}, issues, [Flow(*flow) for flow in facts["flows"]])


PARSER = Parser(
    name="bcc",
    title="tcpretrans (bcc, bpftrace) and tcpstates (bcc)",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
