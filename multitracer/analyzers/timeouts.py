"""Retransmission timeouts, and which of them were spurious.

A timeout is spurious if the ACK for a segment that was received reaches the sender after its timer fired.
The sender's capture votes by echoed timestamps (Eifel), duplicate SACK, F-RTO and answers that come too
early; the receiver's capture knows; the kernel's log shows where the stack took the recovery back.

Reference: Paper section 5.4; RFC 3522, 2883, 3708, 5682.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.model import schema
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.quantities import verdict_counts
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

_SPURIOUS = schema.VOTES.index("spurious")
_GENUINE = schema.VOTES.index("genuine")
_BAD = schema.CHECKSUMS.index("bad")
_LOSS, _OPEN = 4, 0

VOTERS = ("receiver", "ack_path", "too_early", "dsack", "eifel", "kernel", "frto")
"""In the order in which they are believed: what the receiver saw, then proofs, then inference.

Lost ACKs (`ack_path`) come before all that only shows that an earlier copy had arrived: it had, and the timer
was needed all the same. A receiver that had more than the segment goes on echoing an old timestamp (RFC 7323
section 4.3), so echoes alone cannot tell ACKs that were lost from ACKs that were late.
"""

_KERNEL_WINDOW_NS = 5_000_000
"""The state changes within this time of the segment that the capture shows."""


def run(measurement: Timeline, results: Mapping[str, Result]) -> Result:
    """Judge every timeout of every connection by all votes."""
    table = _own(measurement)
    votes = {name: table[name].copy() for name in ("receiver", "ack_path", "kernel")}
    for row in range(len(table)):
        votes["receiver"][row], path = _receiver_votes(measurement, table, row)
        if path:
            votes["ack_path"][row] = path
        votes["kernel"][row] = _kernel_vote(measurement, table, row)
    table = table.replace(**votes)
    table = table.replace(verdict=_verdicts(table))
    listed = [_describe(measurement, table, row) for row in range(len(table))]
    summary: dict[str, Any] = {
        **verdict_counts(table.words("verdict")),
        "timeouts": listed,
    }
    return Result("timeouts", summary, {"timeouts": table})


def _own(measurement: Timeline) -> Table:
    """Each direction's timeouts as seen next to its sender (else by the only capture that has them)."""
    table = measurement.table("timeouts")
    keep = np.zeros(len(table), dtype=bool)
    for connection in measurement.connections:
        for direction in (0, 1):
            near = measurement.snd if direction == connection.data_dir else measurement.rcv
            if near not in connection.summaries:
                near = min(connection.summaries, key=lambda s: s != measurement.snd)
            keep |= (
                (table["conn"] == connection.index) & (table["dir"] == direction) & (table["source"] == near)
            )
    return table.where(keep)


def _verdicts(table: Table) -> Array:
    verdict = np.zeros(len(table), dtype=np.int8)
    for name in reversed(VOTERS):
        verdict = np.where(table[name] != 0, table[name], verdict)
    return verdict


def _receiver_votes(measurement: Timeline, table: Table, row: int) -> tuple[int, int]:
    """Votes `receiver` and `ack_path`.

    If no copy sent before the timer fired arrived intact, the data was lost. If one did, either an ACK for it
    was still on its way, or all of them were lost: then the timer was needed, though the data was there.
    """
    connection = _connection(measurement, table, row)
    sender = int(table["source"][row])
    receiver = measurement.rcv if sender == measurement.snd else measurement.snd
    if connection is None or receiver is None or receiver == sender or receiver not in connection.summaries:
        return 0, 0
    segments = measurement.table("segments")
    whole = (segments["conn"] == connection.index) & (segments["checksum"] != _BAD)
    ahead = whole & (segments["dir"] == table["dir"][row])
    seq, t_ns = table["seq"][row], table["t_ns"][row]
    covers = ahead & (segments["seq"] <= seq) & (segments["seq"] + segments["length"] > seq)
    copies = np.flatnonzero(covers & (segments["source"] == sender) & (segments["t_ns"] < t_ns))
    arrived = _same_packets(segments, copies, covers & (segments["source"] == receiver))
    if arrived is None or table["length"][row] == 0:
        return 0, 0
    if len(arrived) == 0:
        return _GENUINE, 0
    back = whole & (segments["dir"] != table["dir"][row]) & (segments["ack"] > seq)
    answers = np.flatnonzero(back & (segments["source"] == sender) & (segments["t_ns"] > t_ns))
    if len(answers) == 0:
        acks = np.flatnonzero(back & (segments["source"] == receiver))
        return 0, _GENUINE if _never_came(segments, acks, connection.index, sender) else 0
    left = _same_packets(segments, answers[:1], back & (segments["source"] == receiver))
    if left is None or len(left) == 0:
        return 0, 0
    again = covers & (segments["source"] == receiver) & (segments["t_ns"] > segments["t_ns"][arrived[-1]])
    late = segments["t_ns"][again]
    in_flight = len(late) == 0 or bool(segments["t_ns"][left[0]] < late[0])
    return (_SPURIOUS, 0) if in_flight else (0, _GENUINE)


def _never_came(segments: Table, acks: Array, conn: int, sender: int) -> bool:
    """Whether ACKs left the receiver, and the sender's capture then lacks them for longer than any RTT."""
    here = (segments["conn"] == conn) & (segments["source"] == sender)
    if len(acks) == 0 or not np.any(here):
        return False
    longest_ns = int(segments["rtt_ns"][here].max(initial=0))
    return longest_ns > 0 and int(segments["t_ns"][here].max() - segments["t_ns"][acks[0]]) > longest_ns


def _same_packets(segments: Table, packets: Array, candidates: Array) -> Array | None:
    """Rows among the candidates that are one of these packets; None if nothing tells packets apart."""
    if len(packets) == 0:
        return None
    for mark, absent in (("ip_id", 0), ("ts_val", -1)):
        if np.all(segments[mark][packets] != absent):
            same = candidates & np.isin(segments[mark], segments[mark][packets])
            return np.flatnonzero(same & np.isin(segments["ack_raw"], segments["ack_raw"][packets]))
    return None


def _kernel_vote(measurement: Timeline, table: Table, row: int) -> int:
    """The stack went from Loss back to Open before all that was outstanding was acknowledged: an undo."""
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
    segments = measurement.table("segments")
    here = (segments["conn"] == table["conn"][row]) & (segments["source"] == table["source"][row])
    own = here & (segments["dir"] == table["dir"][row])
    sent = own & (segments["t_ns"] < t_ns)
    recover = int(np.max(segments["seq"][sent] + segments["length"][sent], initial=0))
    back = here & (segments["dir"] != table["dir"][row])
    seen = back & (segments["t_ns"] <= changed_ns[left[0]] + _KERNEL_WINDOW_NS)
    acked = int(np.max(segments["ack"][seen], initial=0))
    return _SPURIOUS if acked < recover else 0


def _connection(measurement: Timeline, table: Table, row: int) -> Connection | None:
    index = int(table["conn"][row])
    return next((c for c in measurement.connections if c.index == index), None)


def _describe(measurement: Timeline, table: Table, row: int) -> dict[str, Any]:
    votes = {name: schema.VOTES[int(table[name][row])] for name in VOTERS}
    rto_ns, rto_max_ns = int(table["rto_ns"][row]), int(table["rto_max_ns"][row])
    return {
        "t": round(measurement.seconds(table["t_ns"][row]), 6),
        "conn": int(table["conn"][row]),
        "direction": schema.DIRECTIONS[int(table["dir"][row])],
        "record": int(table["record"][row]),
        "seq": int(table["seq"][row]),
        "backoff": int(table["backoff"][row]),
        "silence_s": round(int(table["silence_ns"][row]) / 1e9, 6),
        "rto_s": round(rto_ns / 1e9, 6) if rto_ns >= 0 else None,
        "waited_s": round(int(table["waited_ns"][row]) / 1e9, 6),
        "rto_max_s": round(rto_max_ns / 1e9, 6) if rto_max_ns >= 0 else None,
        "verdict": schema.VERDICTS[int(table["verdict"][row])],
        "votes": {name: vote for name, vote in votes.items() if vote != "abstains"},
        "answer_record": int(table["answer_record"][row]) or None,
    }


ANALYZER = Analyzer(
    name="timeouts",
    question="Which retransmission timeouts were there, and which of them were spurious?",
    run=run,
    **QUESTIONS["timeouts"]._asdict(),
)
