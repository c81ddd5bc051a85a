"""Retransmission timeouts, and which of them were spurious.

A timeout is spurious if the ACK for a segment that was received reaches the sender after its timer fired.
The sender's capture votes by echoed timestamps (Eifel), duplicate SACK, F-RTO and ACKs that come too early;
the receiver's capture decides; the kernel's log shows where the stack undid the recovery.

Reference: Paper section 5.4; RFC 3522, 2883, 3708, 5682.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.tcp.arrived_copies import ArrivedCopies
from multitracer.model import schema
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.quantities import verdict_counts
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

_SPURIOUS = schema.VOTES.index("spurious")
_GENUINE = schema.VOTES.index("genuine")
_LOSS, _OPEN = 4, 0

VOTERS = ("receiver", "ack_path", "too_early", "dsack", "eifel", "kernel", "frto")
"""In the order in which they are believed: what the receiver saw, then proofs, then inference.

Lost ACKs (`ack_path`) come before all that only shows that an earlier copy had arrived: it had, and the timer
was needed nevertheless. A receiver that had more than the segment continues to echo an old timestamp (RFC
7323 section 4.3), so echoes alone do not distinguish lost ACKs from late ones.
"""

_KERNEL_WINDOW_NS = 5_000_000
"""The state changes within this time of the segment that the capture shows."""


def run(measurement: Timeline, results: Mapping[str, Result]) -> Result:
    """Judge every timeout of every connection by all votes."""
    table = _own(measurement)
    votes = {name: table[name].copy() for name in ("receiver", "ack_path", "kernel")}
    known = {connection.index: connection for connection in measurement.connections}
    copies: dict[tuple[int, int, int], ArrivedCopies | None] = {}
    for row in range(len(table)):
        conn, direction, source = (int(table[name][row]) for name in ("conn", "dir", "source"))
        key = conn, direction, source
        if key not in copies:
            copies[key] = _copies(measurement, known.get(conn), direction, source)
        votes["receiver"][row], path = _receiver_votes(copies[key], table, row)
        if path:
            votes["ack_path"][row] = path
        votes["kernel"][row] = _kernel_vote(measurement, table, row)
    table = table.replace(**votes)
    table = table.replace(verdict=_verdicts(table))
    columns = {name: table[name].tolist() for name in (*_DESCRIBED, *VOTERS)}
    listed = [
        _describe(measurement, dict(zip(columns, values, strict=True)))
        for values in zip(*columns.values(), strict=True)
    ]
    summary: dict[str, Any] = {
        **verdict_counts(table.words("verdict")),
        "timeouts": listed,
    }
    return Result("timeouts", summary, {"timeouts": table})


def _own(measurement: Timeline) -> Table:
    """Each direction's timeouts as seen next to its sender (else by the only capture that has them)."""
    table = measurement.table("timeouts")
    near: dict[tuple[int, int], int] = {}
    for connection in measurement.connections:
        for direction in (0, 1):
            place = measurement.snd if direction == connection.data_dir else measurement.rcv
            if place not in connection.summaries:
                place = min(connection.summaries, key=lambda source: source != measurement.snd)
            near[connection.index, direction] = place
    rows = zip(*(table[name].tolist() for name in ("conn", "dir", "source")), strict=True)
    return table.where(
        np.array([near.get((conn, way)) == source for conn, way, source in rows], dtype=np.bool_)
    )


def _verdicts(table: Table) -> Array:
    verdict = np.zeros(len(table), dtype=np.int8)
    for name in reversed(VOTERS):
        verdict = np.where(table[name] != 0, table[name], verdict)
    return verdict


def _copies(m: Timeline, connection: Connection | None, direction: int, sender: int) -> ArrivedCopies | None:
    """What both captures have of a connection; None without the capture at the other end."""
    receiver = m.rcv if sender == m.snd else m.snd
    if connection is None or receiver is None or receiver == sender or receiver not in connection.summaries:
        return None
    return ArrivedCopies(m, connection, direction, sender, receiver)


def _receiver_votes(copies: ArrivedCopies | None, table: Table, row: int) -> tuple[int, int]:
    """Votes `receiver` and `ack_path`."""
    if copies is None or table["length"][row] == 0:
        return 0, 0
    found = copies.of(int(table["seq"][row]), int(table["t_ns"][row]))
    if found.arrived is None or (found.arrived and found.answered is None):
        return 0, 0
    if not found.arrived:
        return _GENUINE, 0
    return (_SPURIOUS, 0) if found.answered else (0, _GENUINE)


def _kernel_vote(measurement: Timeline, table: Table, row: int) -> int:
    """The stack went from Loss back to Open before all that was in flight was acknowledged: an undo."""
    kernel = measurement.table("kernel_events")
    if len(kernel) == 0:
        return 0
    states = np.flatnonzero(
        (kernel["kind"] == schema.KERNEL_EVENTS.code("kind", "cong_state"))
        & (kernel["conn"] == table["conn"][row])
        & (kernel["dir"] == table["dir"][row])
    )
    t_ns = table["t_ns"][row]
    changed_ns, state = kernel["t_ns"][states], kernel["value"][states]
    entered = np.flatnonzero((np.abs(changed_ns - t_ns) < _KERNEL_WINDOW_NS) & (state == _LOSS))
    if len(entered) == 0:
        return 0
    left = np.flatnonzero((changed_ns > changed_ns[entered[0]]) & (state != _LOSS))
    if len(left) == 0 or state[left[0]] != _OPEN:
        return 0
    conn, direction, source = (int(table[name][row]) for name in ("conn", "dir", "source"))
    own, back = (measurement.flow(conn, way, source) for way in (direction, 1 - direction))
    sent = own["t_ns"] < t_ns
    recover = int(np.max(own["seq"][sent] + own["length"][sent], initial=0))
    seen = back["t_ns"] <= changed_ns[left[0]] + _KERNEL_WINDOW_NS
    acked = int(np.max(back["ack"][seen], initial=0))
    return _SPURIOUS if acked < recover else 0


_DESCRIBED = (
    *("t_ns", "conn", "dir", "record", "seq", "backoff", "silence_ns", "rto_ns", "waited_ns", "rto_max_ns"),
    *("verdict", "answer_record"),
)


def _describe(measurement: Timeline, timeout: Mapping[str, int]) -> dict[str, Any]:
    votes = {name: schema.VOTES[timeout[name]] for name in VOTERS}
    rto_ns, rto_max_ns = timeout["rto_ns"], timeout["rto_max_ns"]
    return {
        "t": round(measurement.seconds(timeout["t_ns"]), 6),
        "conn": timeout["conn"],
        "direction": schema.DIRECTIONS[timeout["dir"]],
        "record": timeout["record"],
        "seq": timeout["seq"],
        "backoff": timeout["backoff"],
        "silence_s": round(timeout["silence_ns"] / 1e9, 6),
        "rto_s": round(rto_ns / 1e9, 6) if rto_ns >= 0 else None,
        "waited_s": round(timeout["waited_ns"] / 1e9, 6),
        "rto_max_s": round(rto_max_ns / 1e9, 6) if rto_max_ns >= 0 else None,
        "verdict": schema.VERDICTS[timeout["verdict"]],
        "votes": {name: vote for name, vote in votes.items() if vote != "abstains"},
        "answer_record": timeout["answer_record"] or None,
    }


ANALYZER = Analyzer(
    name="timeouts",
    question="Which retransmission timeouts were there, and which of them were spurious?",
    run=run,
    **QUESTIONS["timeouts"]._asdict(),
)
