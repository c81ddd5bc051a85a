"""Loops of ``ss -ti`` with time stamps (docs/formats/ss.md)."""

from __future__ import annotations

import re

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Flow, Source, Trace

_EPOCH = rb"\d{9,10}\.\d+"
_ISO = rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:?(\d\d)?)?"
_STAMP = rb"([A-Za-z]+:[ \t]*)?(" + _EPOCH + rb"|\d{9,19}|" + _ISO + rb"):?"
_TITLES = rb"(Netid[ \t]+)?(State[ \t]+)?Recv-Q[ \t]+Send-Q[ \t]+Local Address"
_STATES = rb"(ESTAB|SYN-SENT|SYN-RECV|FIN-WAIT-[12]|TIME-WAIT|CLOSE-WAIT|LAST-ACK|CLOSING|LISTEN|UNCONN)"
# tcp ESTAB 0 60816 10.77.0.1:42244 10.77.0.2:5201: only addresses have a colon before digits, names or *
_SOCKET = (
    rb"([a-z]+[ \t]+)?(" + _STATES + rb"[ \t]+)?\d+[ \t]+\d+[ \t]+\S+:[\w*-]+[ \t]+\S+:[\w*-]+([ \t]|\r?$)"
)
_LINE = re.compile(rb"^(" + _STAMP + rb"[ \t]+)?(" + _TITLES + rb"|" + _SOCKET + rb")", re.MULTILINE)
# A loop that waits for its connection: nothing but time stamps of `date` yet.
_ONLY_STAMPS = re.compile(rb"((" + _EPOCH + rb"|" + _ISO + rb")[ \t]*\r?\n)+(\d[\d.,:TZ+ -]*)?")


def sniff(head: bytes) -> bool:
    """Whether there are lines of sockets or ss's column titles, or nothing but time stamps."""
    return bool(_LINE.search(head) or _ONLY_STAMPS.fullmatch(head))


def parse(path: str) -> Trace:
    """Read a loop of ss: one row of `tcp_states` per socket and sample, in order of time.

    A value that ss does not print is -1, never 0: ss leaves out what is zero or the default.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If it holds no sample with a time stamp.

    Notes
    -----
    Reference: iproute2 ``misc/ss.c``.
    """
    scan = native.scan("ss", path)
    columns = scan.tables["tcp_states"]
    states = Table.in_time(schema.TCP_STATES, columns)
    facts = scan.facts
    if not len(states):
        raise CorruptTrace(f"{path}: {_reason(scan)}")
    source = Source(
        path=path,
        format="ss",
        layer="kernel",
        records=len(states),
        clock="realtime",
        first_ns=int(states["t_ns"][0]),
        last_ns=int(states["t_ns"][-1]),
        resolution_ns=facts["resolution_ns"],
        details={
            "samples": facts["stamps"],
            "stamps_without_zone_taken_as_utc": facts["zoneless_stamps"],
            "connections_without_info": facts["without_info"],
            "other_sockets": facts["other_sockets"],
        },
    )
    return Trace(source, {"tcp_states": states}, scan.issues, [Flow(*flow) for flow in facts["flows"]])


def _reason(scan: native.Scan) -> str:
    if any(issue.code == "no-timestamp" for issue in scan.issues):
        return "no sample has a time stamp; print `date +%s.%N` before each ss"
    if scan.facts["without_info"]:
        return "no socket has TCP values; run ss with -i"
    return "no sample of a TCP connection can be read"


PARSER = Parser(
    name="ss",
    title="loops of ss -ti with time stamps (date +%s.%N, date -Ins, or before each line)",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
