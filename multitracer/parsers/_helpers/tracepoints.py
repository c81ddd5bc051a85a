"""The trace of tracepoints around TCP, whichever file held them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.table import Table
from multitracer.model.trace import ClockKind, Flow, Source, Trace
from multitracer.native.call import Scan

# No machine is up for 31 years: a later time counts from an epoch; which one (TAI is 37 s off) is unknown.
_EPOCH_NS = 10**18


def trace_of(path: str, scan: Scan, format: str) -> Trace:
    """The trace of a scan of tracepoints.

    Parameters
    ----------
    path : str
        The file, as the user gave it.
    scan : Scan
        What the core's scanner ``ftrace`` found in its text.
    format : str
        Name of the parser that read it.

    Returns
    -------
    Trace
        Tables `tcp_states`, `kernel_events`, and `host_events` if there are any.

    Raises
    ------
    CorruptTrace
        If there is no TCP tracepoint.
    """
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
        format=format,
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
