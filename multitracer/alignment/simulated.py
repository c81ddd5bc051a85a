"""Variables that a simulation wrote without naming the socket: the connection whose segments move them.

In a simulation a variable changes at the very moment at which a segment arrives at the host or leaves it, so
the times of its changes are those of the connection's segments at the capture there, up to rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.alignment.flows import sockets
from multitracer.model import schema
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.table import Array, Table
from multitracer.model.trace import Flow, Trace

if TYPE_CHECKING:
    from multitracer.alignment.connections import Merged
    from multitracer.alignment.state import AlignmentState

_ENOUGH = 0.5
_CLEAR = 0.2
_INFINITE = 2**31 - 1
_NEVER = np.iinfo(np.int64).max
# Variable, column, and what one of its unit is: packets are counted in segments of the connection
_COLUMNS = {
    "cwnd": "cwnd",
    "ssthresh": "ssthresh",
    "inflight": "unacked",
    "srtt": "srtt_ns",
    "rto": "rto_ns",
    "snd_nxt": "snd_nxt",
}
_SECONDS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}


def name_sockets(state: AlignmentState) -> None:
    """Give variables without a socket that of their connection, and make TCP states of them."""
    for source in state.layer("kernel"):
        trace = state.traces[source]
        details = trace.source.details
        variable = details.get("variable")
        if not state.simulated(source) or variable is None or set(trace.tables) != {"series"}:
            continue
        if trace.flows:
            named = sockets(trace.flows[:1], state.merged)
            found = (named[0].conn, named[0].sends) if named else None
            how = "measurement.toml"
        else:
            found, how = _by_times(state, trace)
        details["connection_by"] = how
        if found is None:
            continue
        conn, sends = found
        merged = state.merged[conn]
        (local, remote) = (merged.endpoints[sends], merged.endpoints[1 - sends])
        trace.flows = [Flow(*local, *remote)]
        details["connection"] = f"{local[0]}:{local[1]} > {remote[0]}:{remote[1]}"
        mss = details.get("mss") or _segment_size(state, merged, sends)
        series = trace.tables["series"]
        # Scripts write what a variable was before its first change at time 0, long before the connection.
        begun = min(int(own["t_ns"][own["conn"] == conn].min(initial=_NEVER)) for own in state.own.values())
        series = series.where((series["t_ns"] > 0) | (series["t_ns"] >= begun))
        states = _states(series, variable, str(details.get("unit")), mss)
        if states is not None:
            trace.tables["tcp_states"] = states


def _by_times(state: AlignmentState, trace: Trace) -> tuple[tuple[int, int] | None, str]:
    """The connection and direction whose segments fall on the times of changes, and how it was found."""
    series = trace.tables["series"]
    times = sorted_unique(series["t_ns"][series["t_ns"] > 0])
    shares: dict[int, float] = {}
    for capture in state.path:
        own = state.own[capture]
        step = steps_ns(times, trace.source.details["significant_digits"])
        step += steps_ns(times, state.traces[capture].source.details.get("significant_digits", 19))
        for conn in np.unique(own["conn"][own["conn"] >= 0]).tolist():
            share = _share(times, sorted_unique(own["t_ns"][own["conn"] == conn]), step)
            shares[conn] = max(shares.get(conn, 0.0), share)
    if len(shares) == 1:
        (conn,) = shares
        near = any(state.traces[capture].source.point == "snd" for capture in state.path)
        if shares[conn] >= _ENOUGH or not near:
            words = f"the only connection; {shares[conn]:.0%} of the times fit"
            return (conn, state.merged[conn].data_dir), words
    ranked = sorted(shares.items(), key=lambda one: -one[1])
    if len(ranked) < 2 or ranked[0][1] < max(_ENOUGH, ranked[1][1] + _CLEAR):
        return None, "no connection's segments fit the times; state local and remote"
    conn = ranked[0][0]
    words = f"{ranked[0][1]:.0%} of the times are those of its segments, {ranked[1][1]:.0%} of the next best"
    return (conn, state.merged[conn].data_dir), words


def steps_ns(times: Array, digits: int) -> Array:
    """The step between times written with so many significant digits, for each time."""
    size = np.floor(np.log10(np.maximum(times, 1))).astype(np.int64) + 1
    return np.asarray(10 ** np.clip(size - digits, 0, 18))


def _share(times: Array, segments: Array, step: Array) -> float:
    """How many of the times are, up to a step, those of segments."""
    if not len(times) or not len(segments):
        return 0.0
    after = np.searchsorted(segments, times)
    near = np.minimum(
        np.abs(segments[np.minimum(after, len(segments) - 1)] - times),
        np.abs(times - segments[np.maximum(after - 1, 0)]),
    )
    return float(np.mean(near <= step))


def _segment_size(state: AlignmentState, merged: Merged, sends: int) -> int:
    """The largest segment that was sent: that of the sender's."""
    sizes = []
    for member in merged.members:
        found: dict[str, Any] = state.traces[member.source].connections[member.conn]
        direction = ("forward", "reverse")[sends ^ member.flipped]
        sizes.append(int(found[direction]["largest_segment"] or 0))
    return max(sizes, default=0)


def _states(series: Table, variable: str, unit: str, mss: int) -> Table | None:
    """TCP states with this one variable; None if it has no column, or no segment size to count in."""
    name = _COLUMNS.get(variable)
    if name is None or (schema.TCP_STATES.by_name[name].unit == "packets" and unit == "bytes" and mss <= 0):
        return None
    column = schema.TCP_STATES.by_name[name]
    values = series["value"]
    if variable == "ssthresh":
        values = np.where(values >= _INFINITE, -1, values)
    if column.unit == "ns":
        values = values * _SECONDS[unit]
    elif column.unit == "packets" and unit == "bytes":
        values = values / mss
    rounded = {"unacked": np.ceil, "srtt_ns": np.rint, "rto_ns": np.rint}.get(name, np.floor)
    sane = (values >= 0) & (values < float(np.iinfo(column.dtype).max))
    whole = np.where(sane, rounded(np.where(sane, values, 0) + (1e-9 if rounded is np.floor else 0)), -1)
    given = {"t_ns": series["t_ns"], "record": series["record"], name: whole.astype(column.dtype)}
    given["flow"] = np.zeros(len(series), dtype=np.int32)
    if mss > 0:
        given["mss"] = np.full(len(series), mss, dtype=np.int32)
    return Table.filled(schema.TCP_STATES, len(series), given)
