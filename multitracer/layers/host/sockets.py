"""Whose socket is which connection: a host's log and its calls joined to the captures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.layers.host.calls import calls, starved
from multitracer.layers.host.counted import folder, is_lone_host, lost_events
from multitracer.layers.host.local import addresses, calls_logged
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.lazy import np
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline


def directions_of(m: Timeline, source: int) -> dict[int, tuple[int, int]]:
    """By flow of the kernel's log: its connection, and the direction in which this host sends."""
    found: dict[int, tuple[int, int]] = {}
    ours = set(own_flows(m, source).tolist())
    for name in ("tcp_states", "kernel_events"):
        table = m.table(name)
        own = (table["source"] == source) & (table["conn"] >= 0)
        flows, first = np.unique(table["flow"][own], return_index=True)
        for flow, row in zip(flows.tolist(), np.flatnonzero(own)[first].tolist(), strict=True):
            if flow in ours:
                found.setdefault(flow, (int(table["conn"][row]), int(table["dir"][row])))
    return found or _by_endpoints(m, source, ours)


def _by_endpoints(m: Timeline, source: int, ours: set[int]) -> dict[int, tuple[int, int]]:
    """The same of a log without states of TCP: connections whose addresses and ports no other one has."""
    if any((m.table(name)["source"] == source).any() for name in ("tcp_states", "kernel_events")):
        return {}
    known: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for one in m.connections:
        first, second = one.endpoints
        known.setdefault((*first, *second), []).append((one.index, 0))
        known.setdefault((*second, *first), []).append((one.index, 1))
    flows = m.traces[source].flows
    found = {flow: known.get(tuple(flows[flow]), []) for flow in sorted(ours)}
    return {flow: places[0] for flow, places in found.items() if len(places) == 1}


def own_flows(m: Timeline, source: int) -> Array:
    """Flows of the kernel's log that are this host's: the kernel logs other network namespaces, too."""
    flows = m.traces[source].flows
    local = addresses(m.settings, m.sources[source].path) if is_lone_host(m, source) else frozenset()
    kept = [at for at, flow in enumerate(flows) if not local or flow.local_address in local]
    found: Array = np.array(kept, dtype=np.int64)
    return found


def begun(m: Timeline, conn: int, direction: int) -> bool:
    """Whether a capture has the first byte of a direction.

    Parameters
    ----------
    m : Timeline
    conn, direction : int
        Connection, and 0 for its forward direction, 1 for the other.
    """
    name = ("forward", "reverse")[direction]
    return any(bool(one[name]["syn"]) for one in m.connection(conn).summaries.values())


def joined_calls(calls: Table, directions: Mapping[int, tuple[int, int]]) -> Table:
    """`host_calls` of one source with the connection and the direction of their bytes.

    Parameters
    ----------
    calls : Table
    directions : dict
        As `directions_of` finds them.
    """
    count = int(calls["flow"].max(initial=-1)) + 1
    conn, sends = np.full(count + 1, -1), np.full(count + 1, -1)
    for flow, (number, direction) in directions.items():
        if flow < count:
            conn[flow], sends[flow] = number, direction
    at = np.where(calls["flow"] >= 0, calls["flow"], count)
    dir_ = np.where(calls["kind"] == 0, sends[at], 1 - sends[at])
    return calls.replace(conn=conn[at], dir=np.where(conn[at] >= 0, dir_, 0))


def unwritten(m: Timeline, connection: Connection) -> list[tuple[int, int]] | None:
    """Times in which the data sender's application had written nothing that was not sent.

    However short: a writer that is slower than the path leaves many. None unless its host was recorded with
    every write from the first byte on, and the capture recorded with the log has what was sent. Writes that
    TLS in the kernel turns into more bytes, and writes that no tracepoint shows, do not add up to what was
    sent: None, too.

    Parameters
    ----------
    m : Timeline
    connection : Connection

    Returns
    -------
    list of (int, int) or None
        Begin and end on the reference timeline, in ns, in order; the time after the last write is not one.
    """
    if m.summarised or not begun(m, connection.index, connection.data_dir):
        return None
    for source, (writes, places) in m.once("host_writes", lambda: _writes(m)).items():
        if (connection.index, connection.data_dir) not in places:
            continue
        beside = [at for at in connection.summaries if folder(m, at) == folder(m, source)]
        own = writes.where((writes["conn"] == connection.index) & (writes["dir"] == connection.data_dir))
        if len(beside) != 1 or not len(own):
            return None
        data = m.flow(connection.index, connection.data_dir, beside[0])
        data = data.where(data["length"] > 0)
        sent = data["seq"] + data["length"] - 1
        if int(own["length"].sum()) < int(sent.max(initial=0)):
            return None
        return starved(own, data["t_ns"], sent, least_ns=1)
    return None


def _writes(m: Timeline) -> dict[int, tuple[Table, set[tuple[int, int]]]]:
    """By log in which no event and no write is missing: its writes, and the directions in which it sends."""
    events = m.table("host_events")
    found = {}
    for source in sorted_unique(events["source"]).tolist():
        own = events.where(events["source"] == source)
        if lost_events(m, source) or not calls_logged(m, source, own)[0]:
            continue
        directions = directions_of(m, source)
        joined = joined_calls(calls(own), directions)
        found[source] = joined.where((joined["kind"] == 0) & (joined["conn"] >= 0)), set(directions.values())
    return found
