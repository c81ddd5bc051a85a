"""Before anything is joined: copies, connections, the order of captures along the path, the reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer import schema
from multitracer.alignment import captures, connections, declared, roles
from multitracer.alignment.connections import Merged
from multitracer.alignment.flows import sockets
from multitracer.alignment.relation import Nominal
from multitracer.alignment.work import Work
from multitracer.errors import AlignmentError, Issue
from multitracer.host.local import addresses
from multitracer.table import Table

FEW_MATCHES = 3
_SIMULATED_NS = 10**16  # 116 days: captures of simulations begin in 1970


def read_connections(work: Work) -> None:
    """Find the connections that captures share, their segments in common terms, and the main one."""
    found = work.layer("tcp")
    work.merged = connections.merge(work.traces, found)
    for source in found:
        work.own[source] = _own_segments(work, source)
    _main_connection(work)


def leave_out_copies(work: Work) -> None:
    """Of captures with the same records only the first takes part."""
    found = work.layer("tcp")
    tables = {i: work.traces[i].tables.get("segments") for i in found}
    for place, i in enumerate(found):
        for j in found[:place]:
            a, b = tables[j], tables[i]
            if j in work.left_out or a is None or b is None or not captures.identical(a, b):
                continue
            names = f"{work.traces[j].source.path} and {work.traces[i].source.path} hold the same records"
            work.left_out.add(i)
            work.issues.append(Issue("identical-sources", detail=names, path=work.traces[i].source.path))
            break
    if work.left_out and len(work.traces) - len(work.left_out) == 1:
        raise AlignmentError(f"{work.issues[-1].detail}: give the capture of the other side")


def find_simulated(work: Work) -> None:
    """Captures next to other logs of a simulation are of it, if they count from zero as it does."""
    if not any(trace.source.clock == "simulation" for trace in work.traces):
        return
    for source in work.layer("tcp"):
        found = work.traces[source].source
        if found.clock == "realtime" and 0 <= (found.first_ns or 0) <= (found.last_ns or 0) < _SIMULATED_NS:
            found.clock = "simulation"
            found.details["clock_by"] = "it counts from zero, as the other sources of a simulation do"


def order_captures(work: Work) -> None:
    """Captures from the data sender to the receiver, by content; then `point` of each, or as declared."""
    shared = [i for i in work.layer("tcp") if len(work.own[i])]
    path: list[int] = []
    for source in shared:
        place = len(path)
        for at, other in enumerate(path):
            matches = captures.match(work.own[source], work.own[other])
            data = outward(work, work.own[source])[matches.first]
            if (
                len(matches) >= FEW_MATCHES
                and captures.order_of(work.own[source], work.own[other], matches, data) == 0
            ):
                place = at
                break
        path.insert(place, source)
    work.path = path
    for place, source in enumerate(path):
        target = work.traces[source].source
        target.point = _point(work, source, place, path)
        wanted = declared.point(work.settings, target.path)
        if wanted is not None and wanted != target.point:
            if target.point is not None:
                detail = f"declared as {wanted}, but what it saw is {target.point}"
                work.issues.append(Issue("inconsistent-metadata", detail=detail, path=target.path))
            target.point = wanted
            target.details["point_by"] = "measurement.toml"


def set_reference(work: Work) -> None:
    """The sender's capture, else the first on the path, else the log that says real time."""
    points = {work.traces[i].source.point: i for i in reversed(work.path)}
    if "snd" in points:
        work.reference = points["snd"]
    elif work.path:
        work.reference = work.path[0]
    else:
        others = [i for i in range(len(work.traces)) if i not in work.left_out]
        rank = {"tcp": 0, "dccp": 1, "link": 2, "kernel": 3}
        work.reference = min(
            others,
            key=lambda i: (work.traces[i].source.clock != "realtime", rank[work.traces[i].source.layer]),
        )
    work.place(work.reference, work.identity(work.reference).pieces)


def place_simulated(work: Work) -> None:
    """Logs of the reference's simulation are on its clock; those of other sockets are of another run."""
    nominal = work.nominal[work.reference]
    for source in [*work.path, *work.layer("kernel"), *work.layer("link")]:
        flows = work.traces[source].flows
        ours = not flows or bool(sockets(flows, work.merged))
        if source != work.reference and work.simulated(source) and ours:
            work.nominal[source] = Nominal(nominal.pieces, free=False)


def outward(work: Work, table: Table) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For each segment, whether it goes the way that the bulk of the data goes (from the sender's host)."""
    if work.main is None:
        return np.zeros(len(table), dtype=bool)
    main = work.merged[work.main]
    sender = main.endpoints[main.data_dir][0]
    to_forward = np.array(
        [_first_side(merged, sender, main.endpoints[1 - main.data_dir][0]) for merged in work.merged] + [-1]
    )
    first = to_forward[np.where(table["conn"] >= 0, table["conn"], len(work.merged))]
    return np.asarray((first >= 0) & (table["dir"] == first))


def _first_side(merged: Merged, sender: str, receiver: str) -> int:
    """The direction of a connection that leaves the sender's host; -1 if it is between other hosts."""
    for direction in (0, 1):
        if merged.endpoints[direction][0] == sender and merged.endpoints[1 - direction][0] == receiver:
            if sender == receiver:  # both ends on one address: each connection by its own data
                return merged.data_dir
            return direction
    return -1


def _own_segments(work: Work, source: int) -> Table:
    trace = work.traces[source]
    table = trace.tables.get("segments", Table.empty(schema.SEGMENTS))
    if not len(table):
        return table
    return table.replace(**connections.columns(table, source, work.merged, len(trace.connections)))


def _main_connection(work: Work) -> None:
    if not work.merged:
        return
    sizes = [sum(merged.data_bytes) for merged in work.merged]
    shared = [len(merged.members) for merged in work.merged]
    most = max(shared)
    work.main = max(range(len(sizes)), key=lambda i: (shared[i] == most and sizes[i] > 0, sizes[i]))


def _point(work: Work, source: int, place: int, path: list[int]) -> str | None:
    details = work.traces[source].source.details
    assert work.main is not None
    main = work.merged[work.main]
    if work.on_air(source):
        details["point_by"] = "it was captured on the link"
        return "mid"
    mates = [i for i in path if main.member(i) is not None and not work.on_air(i)]
    if len(mates) > 1 and source in mates:
        details["point_by"] = "order of the captures that share packets"
        return "snd" if source == mates[0] else "rcv" if source == mates[-1] else "mid"
    sizes = [(sum(m.data_bytes), i) for i, m in enumerate(work.merged) if m.member(source) is not None]
    if not sizes:
        return None
    conn = max(sizes)[1]
    local = addresses(work.settings, work.traces[source].source.path)
    ends = [address in local for address, _ in work.merged[conn].endpoints]
    if ends[0] != ends[1]:
        details["point_by"] = "addresses of the recorded interface (measurement.toml)"
        return "snd" if ends[work.merged[conn].data_dir] else "rcv"
    split = roles.split_of_rtt(work.own[source], conn, work.merged[conn].data_dir)
    if split is None:
        return None
    details["point_by"] = split.words()
    return split.point
