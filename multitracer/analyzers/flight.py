"""What the sender had in the network over time: FlightSize and pipe, bursts, limited transmit, ECN.

FlightSize is what was sent and not acknowledged. Of it, what the receiver holds already (SACK) and what was
overtaken by that is not in the network any more: the pipe is the rest, and what was sent again since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.tcp.flow_batch import Flags, Times, batches, flows
from multitracer.layers.tcp.in_flight import levels, steps
from multitracer.layers.tcp.senderstate import ACK_CLOCK_NS, SenderStates, sender_states
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.group_by import summed_at
from multitracer.model.schema import ACK_KINDS
from multitracer.model.schema.sender import IN_FLIGHT
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

_DUPLICATE = ACK_KINDS.index("duplicate")
_ADVANCE = ACK_KINDS.index("advance")
_SYN, _ACK, _ECE, _CWR, _AE = 0x002, 0x010, 0x040, 0x080, 0x100


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Describe the data direction of every connection, by the capture next to its sender.

    References
    ----------
    RFC 5681 section 2 (FlightSize); RFC 6675 section 4 (pipe), in the form of FACK (Mathis and Mahdavi,
    SIGCOMM 1996): every hole below the highest byte selectively acknowledged counts as lost, and all that is
    out when the timer expires (RFC 6298 section 5); without SACK each duplicate ACK stands for a segment (RFC
    6582). RFC 3042 (limited transmit); RFC 6937 (proportional rate reduction); RFC 3168, 9768 (ECN).
    """
    parts, entries, count = [], [], 0
    for some in batches(m):
        states = sender_states(m, some, answered=True)
        if states is not None:
            parts.append(some)
            count += len(states.data) + len(states.acks)
            entries += _entries(m, states)
    if not entries:
        return Result("flight", inconclusive="needs data and its ACKs in the capture next to the sender")
    table = Table.later(IN_FLIGHT, count, lambda: _in_flight(m, parts))
    return Result("flight", {"connections": entries}, {"in_flight": table})


def _in_flight(m: Timeline, parts: Sequence[Sequence[Connection]]) -> Table:
    """The walks of all batches that have any; made once more, as few look at them and they are long."""
    found = (sender_states(m, some, answered=True) for some in parts)
    return Table.concat(IN_FLIGHT, [steps(states) for states in found if states is not None])


def _entries(m: Timeline, states: SenderStates) -> list[dict[str, Any]]:
    released = _Released.by(states)
    columns = (
        *levels(states),
        _bursts(m, states, released),
        _limited_transmit(states, released).tolist(),
        _ecn(m, states),
    )
    return [
        {
            "conn": connection.index,
            "flight": flight,
            "pipe": pipe,
            "bursts": bursts,
            "limited_transmit": limited,
            "ecn": ecn,
        }
        for connection, flight, pipe, bursts, limited, ecn in zip(states.connections, *columns, strict=True)
    ]


class _Released(NamedTuple):
    """For each data segment: the last ACK before it, and whether it left at once after that."""

    row: Times
    at_once: Flags

    @classmethod
    def by(cls, states: SenderStates) -> _Released:
        row, there = states.last_ack(states.data.of, states.data["t_ns"])
        since_ns = states.data["t_ns"] - states.acks["t_ns"][row]
        return cls(row, there & (since_ns <= ACK_CLOCK_NS))


def _bursts(m: Timeline, states: SenderStates, released: _Released) -> list[dict[str, Any]]:
    """The most that one ACK released: in all, and while loss recovery was under way (bounded by RFC 6937)."""
    repairing = states.recovering(states.data.of, states.data["t_ns"])
    most = _largest(m, states, released.row, released.at_once)
    repaired = _largest(m, states, released.row, released.at_once & repairing)
    return [
        {"largest": most.get(at), "largest_in_recovery": repaired.get(at)} for at in range(states.data.count)
    ]


def _largest(m: Timeline, states: SenderStates, row: Times, counted: Flags) -> dict[int, dict[str, Any]]:
    acks, data = states.acks, states.data
    size = np.bincount(row[counted], minlength=len(acks))
    length = summed_at(row[counted], data["length"][counted], len(acks))
    largest = np.flatnonzero((size > 0) & (size == acks.largest(size, 0)[acks.of]))
    first = largest[np.append(True, np.diff(acks.of[largest]) > 0)[: len(largest)]]
    columns = (acks.of, size, length, acks["t_ns"], acks["record"])
    return {
        at: {"segments": segments, "bytes": bytes_, "t": round(m.seconds(t_ns), 6), "record": record}
        for at, segments, bytes_, t_ns, record in zip(
            *(column[first].tolist() for column in columns), strict=True
        )
    }


def _limited_transmit(states: SenderStates, released: _Released) -> Times:
    """New segments that the first or second duplicate ACK released, before anything was sent again."""
    acks, data = states.acks, states.data
    duplicate = acks["ack_kind"] == _DUPLICATE
    before = np.append(0, np.cumsum(duplicate))[:-1]
    # Duplicates count from the last ACK that advanced, or from the first of the connection.
    rows = np.arange(len(acks))
    base = np.maximum.accumulate(np.where(acks["ack_kind"] == _ADVANCE, rows, -1))
    base = np.maximum(base, acks.bounds[acks.of])
    early = duplicate & (before - before[base] < 2)
    new = data["duplicate"] == 0
    outside = ~states.recovering(data.of, data["t_ns"])
    return data.counted(released.at_once & new & outside & early[released.row])


def _ecn(m: Timeline, states: SenderStates) -> list[dict[str, Any]]:
    """Congestion signalled by marks: what the receiver echoed, and reductions that were not for a loss."""
    data, acks = states.data, states.acks
    echoes = acks.counted(((acks["flags"] & _SYN) == 0) & ((acks["flags"] & _ECE) > 0))
    cwr = ((data["flags"] & _CWR) > 0) & ((data["flags"] & _SYN) == 0)
    without_loss = data.counted(cwr & ~states.recovering(data.of, data["t_ns"]))
    counts = np.column_stack([echoes, data.counted(cwr), without_loss]).tolist()
    entries = []
    for negotiated, counted in zip(_negotiated(m, states.connections), counts, strict=True):
        # The bits of accurate ECN are a counter.
        plain = negotiated not in ("none", "accurate")
        values = counted if plain else (None, None, None)
        names = ("echoes", "reductions", "without_loss")
        entries.append({"negotiated": negotiated, **dict(zip(names, values, strict=True))})
    return entries


def _negotiated(m: Timeline, connections: Sequence[Connection]) -> list[str]:
    """What each handshake agreed: `none`, `classic` or `accurate`; `unknown` if it was not captured."""
    asked: dict[int, int] = {}
    answered: dict[int, int] = {}
    for reverse in (False, True):
        rows = flows(m, connections, m.snd, reverse)
        opening = (rows["flags"] & _SYN) > 0
        for at, flags in zip(rows.of[opening].tolist(), rows["flags"][opening].tolist(), strict=True):
            (answered if flags & _ACK else asked)[at] = flags
    return [_agreed(asked.get(at), answered.get(at)) for at in range(len(connections))]


def _agreed(asked: int | None, answered: int | None) -> str:
    if asked is None or answered is None:
        return "unknown"
    bits = answered & (_AE | _CWR | _ECE)
    if not asked & _ECE or not asked & _CWR or bits in (0, _AE | _CWR | _ECE):
        return "none"
    if bits in (_ECE, _AE | _ECE):
        return "classic"
    return "accurate" if asked & _AE else "none"


ANALYZER = Analyzer(
    name="flight",
    question="What did the sender have in the network: flight, pipe, bursts, limited transmit, ECN?",
    run=run,
    **QUESTIONS["flight"]._asdict(),
)
