"""What limited the sender over time: its application, the receiver's window, the congestion window, recovery.

Each pause between two data segments belongs to one limit, by what the sender's capture shows at its start and
by what ended it. The shares of a connection add up to its transfer time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analysis import Analyzer, Result
from multitracer.intervals import contains
from multitracer.measurement import Connection, Measurement
from multitracer.schema.results import LIMIT_PHASES, LIMITS
from multitracer.table import Array, Table
from multitracer.transfer.senderstate import ACK_CLOCK_NS, SenderState, sender_state
from multitracer.transfer.transit import Times

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
_LISTED = 200


def run(m: Measurement, results: Mapping[str, Result]) -> Result:
    """Assign the time between data segments, first segment to last ACK, to what held the sender back.

    Rules, the first that fits: loss recovery is under way; the offered window is zero; less than a segment
    fits into it; nothing is outstanding, or the segment that ends the pause follows no ACK, so that the
    application was late (short pauses without an ACK are pacing, RFC 9002 7.7); an ACK ended the pause
    although the window had room, so the congestion window was the limit.

    References
    ----------
    RFC 5681 (cwnd), RFC 9293 3.8.6 (window), RFC 7661 (application-limited); T-RAT, Zhang et al. 2002.
    """
    tables, entries = [], []
    for connection in m.connections:
        state = sender_state(m, connection)
        if state is None or not len(state.data) or not len(state.acks):
            continue
        table, entry = _connection(m, connection, state)
        tables.append(table)
        entries.append(entry)
    if not entries:
        return Result("limits", inconclusive="needs data and its ACKs in the capture next to the sender")
    return Result("limits", {"connections": entries}, {"phases": Table.concat(LIMIT_PHASES, tables)})


def _connection(m: Measurement, connection: Connection, state: SenderState) -> tuple[Table, dict[str, Any]]:
    start_ns, end_ns, codes, facts = _pauses(state)
    codes, start_ns, end_ns, first = _merged(codes, start_ns, end_ns)
    spent = {name: int((end_ns - start_ns)[codes == code].sum()) for code, name in enumerate(LIMITS)}
    whole = sum(spent.values())
    table = Table(
        LIMIT_PHASES,
        {
            "t_ns": start_ns,
            "end_ns": end_ns,
            "conn": np.full(len(codes), connection.index),
            "limit": codes,
            **{name: values[first] for name, values in facts.items()},
        },
    )
    longest = np.argsort(start_ns - end_ns, kind="stable")[:_LISTED]
    entry = {
        "conn": connection.index,
        "seconds": round(whole / 1e9, 6),
        "share": {name: round(value / whole, 6) if whole else 0.0 for name, value in spent.items()},
        "mostly": max(spent, key=lambda name: spent[name]) if whole else None,
        "window_known": bool(np.any(state.edges >= 0)),
        "kernel": _kernel(m, connection),
        "longest": [
            {
                "start": round(m.seconds(start_ns[row]), 6),
                "end": round(m.seconds(end_ns[row]), 6),
                "limit": LIMITS[int(codes[row])],
                "outstanding": int(table["outstanding"][row]),
                "room": int(table["room"][row]) if table["room"][row] >= 0 else None,
                "record": int(table["record"][row]),
            }
            for row in longest[:5].tolist()
        ],
    }
    return table, entry


def _kernel(m: Measurement, connection: Connection) -> dict[str, float] | None:
    """Seconds by the kernel's own account (tcp_info); None without it.

    Only it knows of the send buffer: to a capture, a full one is an application that writes nothing.
    """
    states = m.table("tcp_states")
    states = states.where((states["conn"] == connection.index) & (states["dir"] == connection.data_dir))
    counters = {
        name: states[f"{name}_ns"].max(initial=-1) for name in ("busy", "rwnd_limited", "sndbuf_limited")
    }
    if counters["busy"] < 0:
        return None
    return {f"{name}_s": round(max(int(value), 0) / 1e9, 6) for name, value in counters.items()}


def _pauses(state: SenderState) -> tuple[Times, Times, Array, dict[str, Array]]:
    """Every pause: its limit and the evidence."""
    sent_ns = state.data["t_ns"]
    inside = sent_ns <= state.span[1]
    start_ns = sent_ns[inside]
    end_ns = np.append(start_ns[1:], max(state.span[1], int(start_ns[-1])))
    nxt = state.highest[inside]
    ack_ns = state.acks["t_ns"]
    last = np.searchsorted(ack_ns, end_ns, side="right") - 1
    gap_ns = end_ns - np.where(last >= 0, ack_ns[np.maximum(last, 0)], end_ns - 2 * ACK_CLOCK_NS)
    pause_ns = end_ns - start_ns
    released = (last >= 0) & (gap_ns <= ACK_CLOCK_NS) & (gap_ns < np.maximum(pause_ns, 1))
    # What the sender knew just before the ACK that ended the pause.
    known = np.where(released, last - 1, last)
    una = np.where(known >= 0, np.append(state.acked, 0)[known], int(state.data["seq"][0]))
    edge = np.where(known >= 0, np.append(state.edges, -1)[known], -1)
    offered = np.where(known >= 0, np.append(state.acks["window"], -1)[known], -1)
    outstanding = np.maximum(nxt - una, 0)
    room = np.where(edge >= 0, np.maximum(edge - nxt, 0), -1)
    size = int(state.data["length"].max())
    ended = np.append(np.arange(1, len(start_ns)), len(start_ns))  # the segment after each pause
    final = ended >= len(start_ns)
    codes = np.full(len(start_ns), _CONGESTION, dtype=np.int8)
    codes[~released & ~final & (pause_ns > ACK_CLOCK_NS)] = _APPLICATION
    codes[(outstanding <= 0) & ~final] = _APPLICATION
    # Less than a segment of room, and also less than the next segment needed.
    need = np.append(state.data["length"][inside][1:], size)
    full = (edge >= 0) & (room < np.minimum(need, size)) & (outstanding > 0)
    codes[full & ~final] = _RECEIVER
    codes[(offered == 0) & (room == 0) & ~final] = _ZERO
    moment = np.where(released, end_ns - gap_ns, end_ns) - 1
    recovering = contains(state.recoveries, start_ns) & contains(
        state.recoveries, np.maximum(moment, start_ns)
    )
    codes[recovering] = _RECOVERY
    again = np.append(state.data["duplicate"][inside][1:] > 0, False)
    codes[again] = _RECOVERY
    # Behind the last segment there is nothing more to send: the application is done, the data on its way.
    codes[final & (codes != _RECOVERY)] = _APPLICATION
    unknown = (edge < 0) & ~released & (outstanding > 0) & (codes == _APPLICATION) & ~final
    codes[unknown] = _UNKNOWN
    records = np.append(state.data["record"][inside][1:], 0)
    facts = {"outstanding": outstanding, "room": room, "record": records}
    return start_ns, end_ns, codes, facts


def _merged(codes: Array, start_ns: Times, end_ns: Times) -> tuple[Array, Times, Times, Array]:
    """Pauses in a row with the same limit are one phase."""
    if not len(codes):
        return codes, start_ns, end_ns, np.zeros(0, dtype=np.int64)
    first = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    last = np.append(first[1:] - 1, len(codes) - 1)
    return codes[first], start_ns[first], end_ns[last], first


ANALYZER = Analyzer(
    name="limits",
    question="What limited the sender over time: application, receiver, congestion window, recovery?",
    run=run,
    needs=("segments", "snd"),
)
