"""What the sender had in the network over time: FlightSize and pipe, bursts, limited transmit, ECN.

FlightSize is what was sent and not acknowledged. Of it, what the receiver holds already (SACK) and what was
overtaken by that is not in the network any more: the pipe is the rest, and what was sent again since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analysis import Analyzer, Result
from multitracer.intervals import contains
from multitracer.measurement import Connection, Measurement
from multitracer.schema import ACK_KINDS, CAUSES
from multitracer.schema.sender import IN_FLIGHT
from multitracer.table import Table
from multitracer.transfer.senderstate import ACK_CLOCK_NS, SenderState, sender_state
from multitracer.transfer.transit import Flags, Times, data_at

_DUPLICATE = ACK_KINDS.index("duplicate")
_TIMEOUT = CAUSES.index("timeout")
_THRESHOLD = 3  # duplicate ACKs that tell of a loss (RFC 5681 section 3.2)
_SYN, _ECE, _CWR, _AE = 0x002, 0x040, 0x080, 0x100


def run(m: Measurement, results: Mapping[str, Result]) -> Result:
    """Describe the data direction of every connection, by the capture next to its sender.

    References
    ----------
    RFC 5681 section 2 (FlightSize); RFC 6675 section 4 (pipe), in the form of FACK (Mathis and Mahdavi,
    SIGCOMM 1996): every hole below the highest byte selectively acknowledged counts as lost, and all that is
    out when the timer expires (RFC 6298 section 5); without SACK each duplicate ACK stands for a segment (RFC
    6582). RFC 3042 (limited transmit); RFC 6937 (proportional rate reduction); RFC 3168, 9768 (ECN).
    """
    tables, entries = [], []
    for connection in m.connections:
        state = sender_state(m, connection)
        if state is None or not len(state.data) or not len(state.acks):
            continue
        rows = _walk(state)
        tables.append(rows)
        entries.append(
            {
                "conn": connection.index,
                "flight": _levels(rows, "flight"),
                "pipe": _levels(rows, "pipe"),
                "bursts": _bursts(m, state),
                "limited_transmit": _limited_transmit(state),
                "ecn": _ecn(m, connection, state),
            }
        )
    if not entries:
        return Result("flight", inconclusive="needs data and its ACKs in the capture next to the sender")
    return Result("flight", {"connections": entries}, {"in_flight": Table.concat(IN_FLIGHT, tables)})


def _walk(state: SenderState) -> Table:
    """FlightSize and pipe after every data segment and ACK, in the order of the capture."""
    data, acks = state.data, state.acks
    t_ns = np.concatenate([data["t_ns"], acks["t_ns"]])
    record = np.concatenate([data["record"], acks["record"]])
    order = np.lexsort((record, t_ns))
    first = int(data["seq"].min())
    nothing = np.full(len(acks), first)
    nxt = _running(np.concatenate([data["seq"] + data["length"], nothing]), order)
    una = _running(np.concatenate([np.full(len(data), first), np.maximum(acks["ack"], first)]), order)
    # A timer that expires takes all that is out for lost.
    given_up = np.where(data["cause"] == _TIMEOUT, state.highest, first)
    high = np.where(acks["sack_high"] > acks["ack"], acks["sack_high"], first)
    fack = np.maximum(_running(np.concatenate([given_up, high]), order), una)
    fack = np.minimum(fack, np.maximum(nxt, una))
    again = _sent_again(state, t_ns[order], una)
    flight = np.maximum(nxt - una, 0)
    left = np.where(fack == una, _left_unnamed(state, order, t_ns[order]), 0)
    pipe = np.minimum(np.maximum(nxt - fack - left, 0) + again, flight)
    return Table(
        IN_FLIGHT,
        {
            "t_ns": t_ns[order],
            "source": np.full(len(order), int(data["source"][0])),
            "record": record[order],
            "conn": np.full(len(order), state.connection.index),
            "flight": flight,
            "pipe": pipe,
        },
    )


def _left_unnamed(state: SenderState, order: Times, t_ns: Times) -> Times:
    """Without SACK: bytes that duplicate ACKs say have left the network, and the hole that they stand for.

    Each is a segment that arrived, until an ACK that advances covers it; during recovery one segment is lost
    (RFC 6582 section 3.2; so Linux counts).
    """
    acks = state.acks
    if np.any(acks["sack_count"] > 0) or not np.any(acks["ack_kind"] == _DUPLICATE):
        return np.zeros(len(order), dtype=np.int64)
    size = int(np.median(state.data["length"]))
    arrived, counts = 0, np.zeros(len(acks) + 1, dtype=np.int64)
    reached = int(acks["ack"][0])
    for row, (kind, number) in enumerate(
        zip(acks["ack_kind"].tolist(), acks["ack"].tolist(), strict=True), 1
    ):
        if kind == _DUPLICATE:
            arrived += 1
        elif number > reached:
            arrived = max(arrived - max(-(-(number - reached) // size) - 1, 0), 0)
        reached = max(reached, number)
        counts[row] = arrived
    last = np.cumsum(order >= len(state.data))  # ACKs so far
    hole = contains(state.recoveries, t_ns) | (counts[last] >= _THRESHOLD)
    return size * (counts[last] + hole)


def _running(values: Times, order: Times) -> Times:
    highest: Times = np.maximum.accumulate(values[order])
    return highest


def _sent_again(state: SenderState, t_ns: Times, una: Times) -> Times:
    """Bytes sent again that are under way: until they are acknowledged, or go once more."""
    rows = state.data.where(state.data["duplicate"] > 0)
    if not len(rows):
        return np.zeros(len(t_ns), dtype=np.int64)
    begin = np.searchsorted(t_ns, rows["t_ns"], side="left")
    end = np.searchsorted(una, rows["seq"] + rows["length"])  # una never falls
    order = np.lexsort((rows["t_ns"], rows["seq"]))
    same = rows["seq"][order][1:] == rows["seq"][order][:-1]
    end[order[:-1][same]] = np.minimum(end[order[:-1][same]], begin[order[1:][same]])
    end = np.maximum(begin, end)
    change = np.zeros(len(t_ns) + 1, dtype=np.int64)
    np.add.at(change, begin, rows["duplicate"])
    np.add.at(change, end, -rows["duplicate"].astype(np.int64))
    return np.cumsum(change)[:-1]


def _levels(rows: Table, name: str) -> dict[str, int]:
    """Largest, and mean over time."""
    spent = np.diff(rows["t_ns"])
    whole = int(spent.sum())
    mean = float(np.dot(rows[name][:-1].astype(np.float64), spent)) / whole if whole else 0.0
    return {"max_bytes": int(rows[name].max()), "mean_bytes": round(mean)}


def _released_by(state: SenderState) -> tuple[Times, Flags]:
    """For each data segment: the last ACK before it, and whether it left at once after that."""
    row = np.searchsorted(state.acks["t_ns"], state.data["t_ns"], side="right") - 1
    since_ns = state.data["t_ns"] - np.append(state.acks["t_ns"], 0)[row]
    return row, np.asarray((row >= 0) & (since_ns <= ACK_CLOCK_NS), dtype=np.bool_)


def _bursts(m: Measurement, state: SenderState) -> dict[str, Any]:
    """The most that one ACK released: in all, and while loss recovery was under way (bounded by RFC 6937)."""
    row, at_once = _released_by(state)
    repairing = contains(state.recoveries, state.data["t_ns"])
    return {
        "largest": _largest(m, state, row, at_once),
        "largest_in_recovery": _largest(m, state, row, at_once & repairing),
    }


def _largest(m: Measurement, state: SenderState, row: Times, counted: Flags) -> dict[str, Any] | None:
    if not np.any(counted):
        return None
    size = np.bincount(row[counted], minlength=len(state.acks))
    ack = int(np.argmax(size))
    part = counted & (row == ack)
    return {
        "segments": int(size[ack]),
        "bytes": int(state.data["length"][part].sum()),
        "t": round(m.seconds(state.acks["t_ns"][ack]), 6),
        "record": int(state.acks["record"][ack]),
    }


def _limited_transmit(state: SenderState) -> int:
    """New segments that the first or second duplicate ACK released, before anything was sent again."""
    kind = state.acks["ack_kind"]
    advances = np.cumsum(kind == ACK_KINDS.index("advance"))
    duplicate = kind == _DUPLICATE
    before = np.append(0, np.cumsum(duplicate))[:-1]
    nth = before - np.append(0, before[np.diff(advances, prepend=0) > 0])[advances] + 1
    early = duplicate & (nth <= 2)
    row, at_once = _released_by(state)
    new = state.data["duplicate"] == 0
    outside = ~contains(state.recoveries, state.data["t_ns"])
    return int(np.count_nonzero(at_once & new & outside & np.append(early, False)[row]))


def _ecn(m: Measurement, connection: Connection, state: SenderState) -> dict[str, Any]:
    """Congestion told by marks: what the receiver echoed, and the reductions that were not for a loss."""
    negotiated = _negotiated(m, connection)
    entry: dict[str, Any] = {
        "negotiated": negotiated,
        "echoes": None,
        "reductions": None,
        "without_loss": None,
    }
    if negotiated in ("none", "accurate"):
        return entry  # the bits of accurate ECN are a counter
    plain = (state.acks["flags"] & _SYN) == 0
    told = ((state.data["flags"] & _CWR) > 0) & ((state.data["flags"] & _SYN) == 0)
    repairing = contains(state.recoveries, state.data["t_ns"][told])
    return {
        "negotiated": negotiated,
        "echoes": int(np.count_nonzero(plain & ((state.acks["flags"] & _ECE) > 0))),
        "reductions": int(np.count_nonzero(told)),
        "without_loss": int(np.count_nonzero(~repairing)),
    }


def _negotiated(m: Measurement, connection: Connection) -> str:
    """What the handshake agreed: `none`, `classic` or `accurate`; `unknown` if it was not captured."""
    assert m.snd is not None
    asked, answered = None, None
    for reverse in (False, True):
        rows = data_at(m, connection, m.snd, reverse)
        for flags in rows["flags"][(rows["flags"] & _SYN) > 0].tolist():
            if flags & 0x010:
                answered = flags
            else:
                asked = flags
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
    needs=("segments", "snd"),
)
