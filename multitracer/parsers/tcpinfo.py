"""M-Lab's tcp-info: snapshots of the kernel's socket diagnostics as JSON lines (docs/formats/tcpinfo.md)."""

from __future__ import annotations

import re

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Array, Table
from multitracer.model.trace import Flow, Source, Trace

_LINE = re.compile(rb'\s*\{"(Timestamp|Metadata|RawIDM)"\s*:')
_KEYS = re.compile(rb'"(RawIDM|Metadata)"\s*:')


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
    INET_DIAG_INFO shows nothing of TCP: it is counted and left out.

    Reference: github.com/m-lab/tcp-info ``netlink``; Linux ``include/uapi/linux/tcp.h``, ``inet_diag.h``.
    """
    scan = native.scan("tcpinfo", path)
    states, facts = Table.in_time(schema.TCP_STATES, _fitting(scan.tables["tcp_states"])), scan.facts
    if not len(states):
        raise CorruptTrace(f"{path}: no snapshot with a struct tcp_info can be read")
    source = Source(
        path=path,
        format="tcpinfo",
        layer="kernel",
        records=len(states),
        clock="realtime",
        first_ns=int(states["t_ns"][0]),
        last_ns=int(states["t_ns"][-1]),
        resolution_ns=facts["resolution_ns"],
        details={
            "uuid": facts["uuid"],
            "congestion_control": facts["congestion_control"],
            "snapshots_without_tcp_info": facts["without_info"],
            "largest_tcp_info_bytes": facts["largest"],
        },
    )
    return Trace(source, {"tcp_states": states}, scan.issues, [Flow(*flow) for flow in facts["flows"]])


def _fitting(columns: dict[str, Array]) -> dict[str, Array]:
    """What does not fit a column is absent."""
    limits = {name: np.iinfo(schema.TCP_STATES.by_name[name].dtype).max for name in columns}
    return {name: np.where(values <= limits[name], values, -1) for name, values in columns.items()}


PARSER = Parser(
    name="tcpinfo",
    title="M-Lab tcp-info: struct tcp_info of one connection as JSON lines",
    layer="kernel",
    sniff=sniff,
    parse=parse,
    whole_test=True,
)
