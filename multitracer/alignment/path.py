"""Before anything is joined: copies, connections, the order of captures along the path, the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.alignment import connections, roles
from multitracer.alignment.flows import sockets
from multitracer.alignment.relation import Nominal
from multitracer.alignment.state import AlignmentState
from multitracer.layers.host.local import addresses
from multitracer.model import declared, schema
from multitracer.model.errors import AlignmentError, Issue
from multitracer.model.table import Array, Table

if TYPE_CHECKING:
    from multitracer.alignment.translated import Split

FEW_MATCHES = 3
_ASKED = 100  # connections of the same hosts, for the place of a capture
_SIMULATED_NS = 10**16  # 116 days: captures of simulations begin in 1970


def read_connections(state: AlignmentState) -> None:
    """Find the connections that captures share, their segments in common terms, and the main one."""
    found = state.layer("tcp")
    state.merged = connections.merge(state.traces, found)
    for source in found:
        state.own[source] = _own_segments(state, source)
    _main_connection(state)
    for pair in connections.split(state.traces, found, state.merged):
        # Two traces of one simulation do not hold packets alike: equal totals are of one connection.
        if not any(_is_simulated(state, number) for number in (pair.first, pair.second)):
            _say_split(state, pair)


def leave_out_copies(state: AlignmentState) -> None:
    """Of captures with the same records only the first takes part.

    Raises
    ------
    AlignmentError
        If only copies of one capture are left.
    """
    found = state.layer("tcp")
    if len(found) < 2:
        return
    from multitracer.alignment import captures

    tables = {i: state.traces[i].tables.get("segments") for i in found}
    for place, i in enumerate(found):
        for j in found[:place]:
            a, b = tables[j], tables[i]
            if j in state.left_out or a is None or b is None or not captures.identical(a, b):
                continue
            names = f"{state.traces[j].source.path} and {state.traces[i].source.path} hold the same records"
            state.left_out.add(i)
            state.issues.append(Issue("identical-sources", detail=names, path=state.traces[i].source.path))
            break
    if state.left_out and len(state.traces) - len(state.left_out) == 1:
        raise AlignmentError(f"{state.issues[-1].detail}: give the capture of the other end")


def find_simulated(state: AlignmentState) -> None:
    """Captures next to other logs of a simulation are of it, if they count from zero as it does."""
    if not any(trace.source.clock == "simulation" for trace in state.traces):
        return
    for source in state.layer("tcp"):
        found = state.traces[source].source
        if found.clock == "realtime" and 0 <= (found.first_ns or 0) <= (found.last_ns or 0) < _SIMULATED_NS:
            found.clock = "simulation"
            found.details["clock_by"] = "it counts from zero, as the other sources of a simulation do"


def order_captures(state: AlignmentState) -> None:
    """Captures from the data sender to the receiver, by content; then `point` of each, or as declared.

    The order in which they were given does not count: where packets do not show it, each capture's own split
    of the RTT decides, then the files' names.
    """
    shared = [i for i in state.layer("tcp") if len(state.own[i])]
    path: list[int] = []
    for source in sorted(shared, key=lambda i: state.traces[i].source.path):
        place = len(path)
        for at, other in enumerate(path):
            if _is_before(state, source, other):
                place = at
                break
        path.insert(place, source)
    state.path = path
    _name_by_sender(state)
    for place, source in enumerate(path):
        target = state.traces[source].source
        target.point = _point(state, source, place, path)
        wanted = declared.point(state.settings, target.path)
        if wanted is not None and wanted != target.point:
            if target.point is not None:
                detail = f"declared as {wanted}, but its packets show {target.point}"
                state.issues.append(Issue("inconsistent-metadata", detail=detail, path=target.path))
            target.point = wanted
            target.details["point_by"] = "measurement.toml"


def _is_before(state: AlignmentState, a: int, b: int) -> bool:
    """Whether a capture is nearer to the main connection's data sender than another one."""
    if state.main is None or len(state.matches(a, b)) < FEW_MATCHES:
        return False
    direction, neighbours = state.way(a, b)
    if direction[state.main] >= 0:
        return bool(direction[state.main] == state.merged[state.main].data_dir)
    away = _by_addresses(state, _main_only(state))
    known = (direction >= 0) & (away >= 0)
    balance = int(np.where(direction == away, neighbours, -neighbours)[known].sum())
    if balance:
        return balance > 0
    mine, others = _near_share(state, a), _near_share(state, b)
    return mine is not None and others is not None and mine < others


def _near_share(state: AlignmentState, source: int) -> float | None:
    """The share of the main connection's RTT that lies on its sender's side of a capture."""
    assert state.main is not None
    if state.merged[state.main].member(source) is None:
        return None
    split = roles.split_of_rtt(state.own[source], state.main, state.merged[state.main].data_dir)
    return None if split is None else split.ack_to_data_ns / (split.ack_to_data_ns + split.data_to_ack_ns)


def _main_only(state: AlignmentState) -> Array:
    found = np.full(len(state.merged), -1, dtype=np.int8)
    if state.main is not None:
        found[state.main] = state.merged[state.main].data_dir
    return found


def leaving(state: AlignmentState) -> Array:
    """The direction in which each connection leaves the sender's side: by packets, then by addresses.

    Found once, when it is first asked for: a capture without other sources never needs it.

    Returns
    -------
    int8 array, shape (connections,)
        -1 where neither shows it.
    """
    if state.leaving is None:
        found = _main_only(state)
        for place, q in enumerate(state.path):
            for p in state.path[:place]:
                if len(state.matches(p, q)) >= FEW_MATCHES:
                    found = np.where(found < 0, state.way(p, q)[0], found)
        state.leaving = _by_addresses(state, found)
    return state.leaving


def _by_addresses(state: AlignmentState, known: Array) -> Array:
    """The same, with connections between addresses whose sides are known from others."""
    near: set[str] = set()
    far: set[str] = set()
    for merged, direction in zip(state.merged, known.tolist(), strict=True):
        if direction >= 0:
            near |= {names[direction][0] for names in merged.names}
            far |= {names[1 - direction][0] for names in merged.names}
    found = known.copy()
    for number in np.flatnonzero(known < 0).tolist():
        merged = state.merged[number]
        (first, _), (second, _) = merged.endpoints
        if first == second:
            found[number] = merged.data_dir if first in near else -1  # both ends on one address: its own data
        elif {first, second} & near & far:
            continue
        elif first in near and second in far:
            found[number] = 0
        elif second in near and first in far:
            found[number] = 1
    return found


def _name_by_sender(state: AlignmentState) -> None:
    """Connections whose addresses change on the path: the names at the capture nearest to the sender."""
    for merged in state.merged:
        first = next((member for i in state.path if (member := merged.member(i)) is not None), None)
        if not merged.also or first is None:
            continue
        names = connections.endpoints_of(state.traces[first.source].connections[first.conn])
        merged_names = merged.names
        merged.endpoints = names[::-1] if first.flipped else names
        merged.also = [other for other in dict.fromkeys(merged_names) if other != merged.endpoints]


def _is_simulated(state: AlignmentState, number: int) -> bool:
    """Whether a connection is of a simulator's own trace."""
    members = state.merged[number].members
    return any(state.traces[member.source].source.clock == "simulation" for member in members)


def _say_split(state: AlignmentState, pair: Split) -> None:
    first, second = (
        f"{a}:{p} - {b}:{q}"
        for (a, p), (b, q) in (state.merged[number].endpoints for number in (pair.first, pair.second))
    )
    names = "under the same names" if pair.same_names else f"and {second}"
    detail = (
        f"{first} {names} carries the same {pair.data_bytes[0]:,} and {pair.data_bytes[1]:,} bytes, "
        "and no packet is the same"
    )
    source = state.merged[pair.second].members[0].source
    state.issues.append(Issue("split-connection", detail=detail, path=state.traces[source].source.path))


def set_reference(state: AlignmentState) -> None:
    """The sender's capture, else the first on the path, else the log in real time."""
    points = {state.traces[i].source.point: i for i in reversed(state.path)}
    if "snd" in points:
        state.reference = points["snd"]
    elif state.path:
        state.reference = state.path[0]
    else:
        others = [i for i in range(len(state.traces)) if i not in state.left_out]
        rank = {"tcp": 0, "dccp": 1, "link": 2, "kernel": 3}
        state.reference = min(
            others,
            key=lambda i: (state.traces[i].source.clock != "realtime", rank[state.traces[i].source.layer]),
        )
    state.place(state.reference, state.identity(state.reference).pieces)


def place_simulated(state: AlignmentState) -> None:
    """Logs of the reference's simulation are on its clock; those of other sockets are of another run."""
    nominal = state.nominal[state.reference]
    for source in [*state.path, *state.layer("kernel"), *state.layer("link")]:
        flows = state.traces[source].flows
        ours = not flows or bool(sockets(flows, state.merged))
        if source != state.reference and state.simulated(source) and ours:
            state.nominal[source] = Nominal(nominal.pieces, free=False)


def outward(state: AlignmentState, table: Table) -> Array:
    """For each segment, whether it goes the way that the bulk of the data goes (from the sender's side)."""
    if state.main is None:
        return np.zeros(len(table), dtype=bool)
    direction = np.append(leaving(state), np.int8(-1))
    first = direction[np.where(table["conn"] >= 0, table["conn"], len(state.merged))]
    return np.asarray((first >= 0) & (table["dir"] == first))


def _own_segments(state: AlignmentState, source: int) -> Table:
    trace = state.traces[source]
    table = trace.tables.get("segments", Table.empty(schema.SEGMENTS))
    if not len(table):
        return table
    terms = connections.Terms.of(source, state.merged, len(trace.connections))
    return table.replace(**connections.columns(table, terms))


def _main_connection(state: AlignmentState) -> None:
    if not state.merged:
        return
    sizes = [sum(merged.data_bytes) for merged in state.merged]
    shared = [len(merged.members) for merged in state.merged]
    most = max(shared)
    state.main = max(
        range(len(sizes)),
        key=lambda i: (shared[i] == most and sizes[i] > 0, sizes[i], sorted(state.merged[i].endpoints)),
    )


def _point(state: AlignmentState, source: int, place: int, path: list[int]) -> str | None:
    details = state.traces[source].source.details
    assert state.main is not None
    main = state.merged[state.main]
    if state.on_air(source):
        details["point_by"] = "it was captured on the link"
        return "mid"
    mates = [i for i in path if main.member(i) is not None and not state.on_air(i)]
    if len(mates) > 1 and source in mates:
        details["point_by"] = "order of the captures that share packets"
        found = "snd" if source == mates[0] else "rcv" if source == mates[-1] else "mid"
        seen = None if found == "mid" else _observed(state, source, state.main)
        if seen is None or seen["grade"] == "guess" or seen["point"] == found:
            return found
        # First or last of those that are there is not yet at the end of the path: what it saw contradicts it.
        # How the RTT divides alone does not: hosts and queues may take most of it on either side.
        details["point_by"] = (
            f"order of the captures; not at the end of the path ({seen['grade']}, by all evidence)"
        )
        details["point_evidence"] = seen["evidence"]
        return "mid"
    sizes = [(sum(m.data_bytes), i) for i, m in enumerate(state.merged) if m.member(source) is not None]
    if not sizes:
        return None
    conn = max(sizes)[1]
    local = addresses(state.settings, state.traces[source].source.path)
    ends = [address in local for address, _ in _own_names(state, source, conn)]
    if ends[0] != ends[1]:
        details["point_by"] = "addresses of the recorded interface (measurement.toml)"
        return "snd" if ends[state.merged[conn].data_dir] else "rcv"
    seen = _observed_by_any(state, source, conn)
    if seen is not None:
        details["point_by"], details["point_evidence"] = f"{seen['grade']}, by all evidence", seen["evidence"]
        point: str | None = seen["point"]
        return point
    split = roles.split_of_rtt(state.own[source], conn, state.merged[conn].data_dir)
    if split is None:
        return None
    details["point_by"] = split.words()
    return split.point


def _own_names(state: AlignmentState, source: int, conn: int) -> tuple[connections.Endpoint, ...]:
    """The endpoints of a connection as a capture has them."""
    member = state.merged[conn].member(source)
    if member is None:
        return state.merged[conn].endpoints
    names = connections.endpoints_of(state.traces[source].connections[member.conn])
    return names[::-1] if member.flipped else names


def _observed_by_any(state: AlignmentState, source: int, conn: int) -> dict[str, Any] | None:
    """The same by all connections of its hosts: one place has them all. Others count if they are no guess."""
    seen = _observed(state, source, conn)
    if seen is not None and seen["grade"] != "guess":
        return seen
    hosts = _hosts(state.merged[conn])
    others = [one for one, merged in enumerate(state.merged) if one != conn and _hosts(merged) == hosts]
    for one in sorted(others, key=lambda one: -sum(state.merged[one].data_bytes))[:_ASKED]:
        found = _observed(state, source, one)
        if found is not None and found["grade"] != "guess":
            return found
    return seen


def _hosts(merged: connections.Merged) -> tuple[str, ...]:
    """Addresses of the sender of the data, and of the receiver."""
    found = tuple(address for address, _ in merged.endpoints)
    return found[::-1] if merged.data_dir else found


def _observed(state: AlignmentState, source: int, conn: int) -> dict[str, Any] | None:
    """The core's observation point of a capture, by one of its connections; None if it has none."""
    member = state.merged[conn].member(source)
    if member is None:
        return None
    summary = state.traces[source].connections[member.conn]
    sent = [summary[name]["data_bytes"] for name in ("forward", "reverse")]
    found = roles.observed(summary, int(sent[1] > sent[0]))
    return found if found is not None and found["point"] is not None else None
