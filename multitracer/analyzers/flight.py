"""What the sender had in the network over time: FlightSize and pipe, bursts, limited transmit, ECN.

FlightSize is what was sent and not acknowledged. Of it, what the receiver holds already (SACK) and what was
overtaken by that is not in the network any more: the pipe is the rest, and what was sent again since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.tcp.flow_batch import Flags, FlowBatch, GroupedSearch, Times, batches, flows, highest
from multitracer.layers.tcp.senderstate import ACK_CLOCK_NS, SenderStates, sender_states
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.group_by import summed_at
from multitracer.model.schema import ACK_KINDS, CAUSES
from multitracer.model.schema.sender import IN_FLIGHT
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

_DUPLICATE = ACK_KINDS.index("duplicate")
_ADVANCE = ACK_KINDS.index("advance")
_TIMEOUT = CAUSES.index("timeout")
_THRESHOLD = 3  # duplicate ACKs that tell of a loss (RFC 5681 section 3.2)
_SYN, _ACK, _ECE, _CWR, _AE = 0x002, 0x010, 0x040, 0x080, 0x100
_EXACT = 2.0**53


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
            rows = _walk(states)
            parts.append(some)
            count += len(rows)
            entries += _entries(m, states, rows)
    if not entries:
        return Result("flight", inconclusive="needs data and its ACKs in the capture next to the sender")
    table = Table.later(IN_FLIGHT, count, lambda: _in_flight(m, parts))
    return Result("flight", {"connections": entries}, {"in_flight": table})


def _in_flight(m: Timeline, parts: Sequence[Sequence[Connection]]) -> Table:
    """The walks of all batches that have any; made once more, as few look at them and they are long."""
    found = (sender_states(m, some, answered=True) for some in parts)
    return Table.concat(IN_FLIGHT, [_walk(states).rows for states in found if states is not None])


def _entries(m: Timeline, states: SenderStates, rows: FlowBatch) -> list[dict[str, Any]]:
    released = _Released.by(states)
    columns = (
        _levels(rows, "flight"),
        _levels(rows, "pipe"),
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


def _walk(states: SenderStates) -> FlowBatch:
    """FlightSize and pipe after every data segment and ACK, in the order of the capture."""
    data, acks = states.data, states.acks
    of = np.concatenate([data.of, acks.of])
    t_ns = np.concatenate([data["t_ns"], acks["t_ns"]])
    record = np.concatenate([data["record"], acks["record"]])
    order = _in_time(states.times.at(of, t_ns), record)
    of, t_ns, record = of[order], t_ns[order], record[order]
    first = data.smallest(data["seq"], 0)
    sent, received = first[data.of], first[acks.of]

    def running(by_data: Array, by_acks: Array) -> Times:
        return highest(of, np.concatenate([by_data, by_acks])[order])

    nxt = running(data["seq"] + data["length"], received)
    una = running(sent, np.maximum(acks["ack"], received))
    # A timer that expires takes all that is out for lost.
    given_up = np.where(data["cause"] == _TIMEOUT, states.highest, sent)
    high = np.where(acks["sack_high"] > acks["ack"], acks["sack_high"], received)
    fack = np.maximum(running(given_up, high), una)
    fack = np.minimum(fack, np.maximum(nxt, una))
    again = _sent_again(states, of, t_ns, una)
    flight = np.maximum(nxt - una, 0)
    left = np.where(fack == una, _left_unnamed(states, of, order, t_ns), 0)
    pipe = np.minimum(np.maximum(nxt - fack - left, 0) + again, flight)
    columns = {
        "t_ns": t_ns,
        "source": np.full(len(order), int(data["source"][0])),
        "record": record,
        "conn": np.concatenate([data["conn"], acks["conn"]])[order],
        "flight": flight,
        "pipe": pipe,
    }
    return FlowBatch(Table(IN_FLIGHT, columns), of, data.count)


def _in_time(keys: Times, record: Times) -> Times:
    """The order of keys of flow and time, and of records where these are the same."""
    order = np.argsort(keys, kind="stable")  # two parts that are in order each are merged
    ordered, records = keys[order], record[order]
    if np.any((ordered[1:] == ordered[:-1]) & (records[1:] < records[:-1])):
        order = np.lexsort((record, keys))
    return order


def _left_unnamed(states: SenderStates, of: Times, order: Times, t_ns: Times) -> Times:
    """Without SACK: bytes that duplicate ACKs say have left the network, and the hole that they stand for.

    Each is a segment that arrived, until an ACK that advances covers it; during recovery one segment is lost
    (RFC 6582 section 3.2; so Linux counts).
    """
    data, acks = states.data, states.acks
    left = np.zeros(len(order), dtype=np.int64)
    selective = acks.counted(acks["sack_count"] > 0) > 0
    unnamed = np.flatnonzero((acks.counted(acks["ack_kind"] == _DUPLICATE) > 0) & ~selective)
    if not len(unnamed):
        return left
    hole = states.recovering(of, t_ns)
    ack = order >= len(data)
    bounds = np.searchsorted(of, np.arange(data.count + 1))
    for at in unnamed.tolist():
        mine, received = slice(*bounds[at : at + 2]), slice(*acks.bounds[at : at + 2])
        size = int(np.median(data["length"][slice(*data.bounds[at : at + 2])]))
        counts = _arrived(acks["ack_kind"][received], acks["ack"][received], size)
        now = counts[np.cumsum(ack[mine])]
        left[mine] = size * (now + (hole[mine] | (now >= _THRESHOLD)))
    return left


def _arrived(kinds: Array, numbers: Array, size: int) -> Times:
    """Segments that duplicate ACKs stand for after so many ACKs of a connection."""
    arrived, counts = 0, [0]
    reached = int(numbers[0])
    for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True):
        if kind == _DUPLICATE:
            arrived += 1
        elif number > reached:
            arrived = max(arrived - max(-(-(number - reached) // size) - 1, 0), 0)
        reached = max(reached, number)
        counts.append(arrived)
    return np.array(counts, dtype=np.int64)


def _sent_again(states: SenderStates, of: Times, t_ns: Times, una: Times) -> Times:
    """Bytes sent again that are under way: until they are acknowledged, or go once more."""
    rows = states.data.where(states.data["duplicate"] > 0)
    if not len(rows):
        return np.zeros(len(t_ns), dtype=np.int64)
    begin = states.times.search((of, t_ns), (rows.of, rows["t_ns"]))
    # What is acknowledged never falls.
    end = GroupedSearch(rows.count, una).search((of, una), (rows.of, rows["seq"] + rows["length"]))
    order = np.lexsort((rows["t_ns"], rows["seq"], rows.of))
    same = rows["seq"][order][1:] == rows["seq"][order][:-1]
    same &= rows.of[order][1:] == rows.of[order][:-1]
    end[order[:-1][same]] = np.minimum(end[order[:-1][same]], begin[order[1:][same]])
    end = np.maximum(begin, end)
    length = len(t_ns) + 1
    change = summed_at(begin, rows["duplicate"], length) - summed_at(end, rows["duplicate"], length)
    return np.cumsum(change)[:-1]


def _levels(rows: FlowBatch, name: str) -> list[dict[str, int]]:
    """Largest, and mean over time, of each connection."""
    values = rows[name].astype(np.float64)
    # From each row to the next; behind the last one there is no time.
    spent = np.append(np.diff(rows["t_ns"]), 0)
    spent[rows.bounds[1:] - 1] = 0
    most, whole = rows.largest(rows[name], 0).tolist(), rows.summed(spent).tolist()
    sums = np.add.reduceat(values * spent, rows.bounds[:-1])
    # Whole numbers: exact in whatever order, as long as a float has room for all their digits.
    for at in np.flatnonzero(sums >= _EXACT).tolist():
        mine = slice(*rows.bounds[at : at + 2] - [0, 1])
        sums[at] = np.dot(values[mine], spent[mine])
    return [
        {"max_bytes": high, "mean_bytes": round(total / span if span else 0.0)}
        for high, total, span in zip(most, sums.tolist(), whole, strict=True)
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
    released = np.flatnonzero(size)
    order = released[np.lexsort((released, -size[released], acks.of[released]))]
    first = order[np.append(True, np.diff(acks.of[order]) > 0)[: len(order)]]
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
