"""What limited the sender over time: its application, the receiver's window, the congestion window, recovery.

Each pause between two data segments belongs to one limit, by what the sender's capture shows at its start and
by what ended it: the phases, for a picture and as evidence. The shares of the whole are not counted from
them: `limits` of an entry has them as `connections` does, from the core or the kernel (docs/limits.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.onepoint import one_point
from multitracer.layers.tcp.flow_batch import Times, batches
from multitracer.layers.tcp.senderstate import ACK_CLOCK_NS, SenderStates, sender_states
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.schema.results import LIMIT_PHASES, LIMITS
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

_APPLICATION, _RECEIVER, _ZERO, _CONGESTION, _RECOVERY, _UNKNOWN = (
    LIMITS.index(word)
    for word in (
        "application",
        "receiver_window",
        "zero_window",
        "congestion_window",
        "recovery",
        "unknown",
    )
)
_LISTED = 5


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Assign the time between data segments, first segment to last ACK, to what held the sender back.

    Rules, the first that fits: loss recovery is under way; the offered window is zero; less than a segment
    fits into it; nothing is outstanding, or the segment that ends the pause follows no ACK, so that the
    application was late (short pauses without an ACK are pacing, RFC 9002 7.7); an ACK ended the pause
    although the window had room, so the congestion window was the limit.

    References
    ----------
    RFC 5681 (cwnd), RFC 9293 3.8.6 (window), RFC 7661 (application-limited); T-RAT, Zhang et al. 2002.
    """
    parts, entries, count = [], [], 0
    logged = _Kernel(m)
    for some in batches(m):
        states = sender_states(m, some, answered=True)
        if states is not None:
            phases, first = _merged(*_pauses(states))
            parts.append(some)
            count += len(phases)
            entries += _entries(m, states, phases, first, logged)
    if not entries:
        return Result("limits", inconclusive="needs data and its ACKs in the capture next to the sender")
    table = Table.later(LIMIT_PHASES, count, lambda: _phases(m, parts))
    return Result("limits", {"connections": entries}, {"phases": table})


def _phases(m: Timeline, parts: Sequence[Sequence[Connection]]) -> Table:
    """The phases of all batches that have any, found once more, as few look at them."""
    found = (sender_states(m, some, answered=True) for some in parts)
    return Table.concat(
        LIMIT_PHASES, [_merged(*_pauses(states))[0] for states in found if states is not None]
    )


def _entries(
    m: Timeline, states: SenderStates, phases: Table, of: Times, logged: _Kernel
) -> list[dict[str, Any]]:
    count = len(states.connections)
    spent_ns = phases["end_ns"] - phases["t_ns"]
    whole_ns = np.zeros(count, dtype=np.int64)
    np.add.at(whole_ns, of, spent_ns)
    order = np.lexsort((-spent_ns, of))
    bounds = np.searchsorted(of, np.arange(count + 1)).tolist()
    known = states.acks.largest(states.edges, -1) >= 0
    entries = []
    for at, connection in enumerate(states.connections):
        entries.append(
            {
                "conn": connection.index,
                "seconds": round(int(whole_ns[at]) / 1e9, 6),
                "window_known": bool(known[at]),
                "kernel": logged.of(connection),
                "limits": _inferred(m, connection),
                "longest": [
                    _phase(m, phases, row)
                    for row in order[bounds[at] : min(bounds[at] + _LISTED, bounds[at + 1])].tolist()
                ],
            }
        )
    return entries


def _inferred(m: Timeline, connection: Connection) -> dict[str, Any] | None:
    """Shares as `connections` has them: of the whole transfer, handshake and bandwidth told apart."""
    if m.snd is None or m.snd not in connection.summaries:
        return None
    found: dict[str, Any] | None = one_point(m, connection, m.snd)["limits"]
    return found


def _phase(m: Timeline, phases: Table, row: int) -> dict[str, Any]:
    room = int(phases["room"][row])
    return {
        "start": round(m.seconds(phases["t_ns"][row]), 6),
        "end": round(m.seconds(phases["end_ns"][row]), 6),
        "limit": LIMITS[int(phases["limit"][row])],
        "outstanding": int(phases["outstanding"][row]),
        "room": room if room >= 0 else None,
        "record": int(phases["record"][row]),
    }


class _Kernel:
    """Seconds by the kernel's own account (tcp_info).

    Only it knows of the send buffer: to a capture, a full one is an application that writes nothing.
    """

    def __init__(self, m: Timeline) -> None:
        self._states = m.table("tcp_states")
        self._rows = Grouped(self._states["conn"], self._states["dir"])

    def of(self, connection: Connection) -> dict[str, float] | None:
        """Of a connection; None without it."""
        rows = self._rows.rows(connection.index, connection.data_dir)
        if not len(rows):
            return None
        counters = {
            name: self._states[f"{name}_ns"][rows].max(initial=-1)
            for name in ("busy", "rwnd_limited", "sndbuf_limited")
        }
        if counters["busy"] < 0:
            return None
        return {f"{name}_s": round(max(int(value), 0) / 1e9, 6) for name, value in counters.items()}


def _pauses(states: SenderStates) -> tuple[Times, dict[str, Array]]:
    """Every pause: its connection, its limit and the evidence."""
    data, acks = states.data, states.acks
    inside = data["t_ns"] <= states.spans[:, 1][data.of]
    of, start_ns, lengths = data.of[inside], data["t_ns"][inside], data["length"][inside]
    nxt, until_ns = states.highest[inside], states.spans[:, 1]
    size = data.largest(data["length"], 0)[of]
    final = np.append(of[1:] != of[:-1], True)
    end_ns = np.where(final, np.maximum(until_ns[of], start_ns), np.append(start_ns[1:], 0))
    last, received = states.last_ack(of, end_ns)
    gap_ns = end_ns - np.where(received, acks["t_ns"][last], end_ns - 2 * ACK_CLOCK_NS)
    pause_ns = end_ns - start_ns
    released = received & (gap_ns <= ACK_CLOCK_NS) & (gap_ns < np.maximum(pause_ns, 1))
    # What the sender knew just before the ACK that ended the pause.
    known = np.where(released, last - 1, last)
    some = known >= acks.bounds[of]
    una = np.where(some, states.acked[known], data.first(data["seq"], 0)[of])
    edge = np.where(some, states.edges[known], -1)
    offered = np.where(some, acks["window"][known], -1)
    outstanding = np.maximum(nxt - una, 0)
    room = np.where(edge >= 0, np.maximum(edge - nxt, 0), -1)
    codes = np.full(len(start_ns), _CONGESTION, dtype=np.int8)
    codes[~released & ~final & (pause_ns > ACK_CLOCK_NS)] = _APPLICATION
    codes[(outstanding <= 0) & ~final] = _APPLICATION
    # Less than a segment of room, and also less than the next segment needed.
    need = np.where(final, size, np.append(lengths[1:], 0))
    full = (edge >= 0) & (room < np.minimum(need, size)) & (outstanding > 0)
    codes[full & ~final] = _RECEIVER
    codes[(offered == 0) & (room == 0) & ~final] = _ZERO
    moment = np.where(released, end_ns - gap_ns, end_ns) - 1
    recovering = states.recovering(of, start_ns) & states.recovering(of, np.maximum(moment, start_ns))
    codes[recovering] = _RECOVERY
    again = np.append(data["duplicate"][inside][1:] > 0, False) & ~final
    codes[again] = _RECOVERY
    # Behind the last segment there is nothing more to send: the application is done, the data on its way.
    codes[final & (codes != _RECOVERY)] = _APPLICATION
    unknown = (edge < 0) & ~released & (outstanding > 0) & (codes == _APPLICATION) & ~final
    codes[unknown] = _UNKNOWN
    records = np.where(final, 0, np.append(data["record"][inside][1:], 0))
    facts = {"t_ns": start_ns, "end_ns": end_ns, "conn": data["conn"][inside], "limit": codes}
    return of, facts | {"outstanding": outstanding, "room": room, "record": records}


def _merged(of: Times, facts: dict[str, Array]) -> tuple[Table, Times]:
    """Pauses of a connection in a row with the same limit are one phase; of which connection each is."""
    codes = facts["limit"]
    first = np.flatnonzero(np.append(True, (codes[1:] != codes[:-1]) | (of[1:] != of[:-1])))
    last = np.append(first[1:] - 1, len(codes) - 1)
    columns = {name: values[first] for name, values in facts.items()}
    return Table(LIMIT_PHASES, columns | {"end_ns": facts["end_ns"][last]}), of[first]


ANALYZER = Analyzer(
    name="limits",
    question="What limited the sender over time: application, receiver, congestion window, recovery?",
    run=run,
    **QUESTIONS["limits"]._asdict(),
)
