"""What senders had in the network over time: FlightSize, and the pipe.

FlightSize is what was sent and not acknowledged. Of it, what the receiver holds already (SACK) and what was
overtaken by that is not in the network any more: the pipe is the rest, and what was sent again since.

References
----------
RFC 5681 section 2 (FlightSize); RFC 6675 section 4 (pipe), in the form of FACK (Mathis and Mahdavi, SIGCOMM
1996). The walk itself is in ``rust/core/src/segments/in_flight.rs``.
"""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.senderstate import SenderStates
from multitracer.model.schema import ACK_KINDS, CAUSES
from multitracer.model.schema.sender import IN_FLIGHT
from multitracer.model.table import Array, Table
from multitracer.native import in_flight

_DUPLICATE = ACK_KINDS.index("duplicate")
_TIMEOUT = CAUSES.index("timeout")
_EXACT = 2.0**53


def levels(states: SenderStates) -> list[list[dict[str, int]]]:
    """The largest, and the mean over time, of FlightSize and of the pipe of each connection, in bytes.

    Returns
    -------
    list of list of dict
        Of FlightSize, then of the pipe: ``max_bytes`` and ``mean_bytes`` of each connection.
    """
    spans_ns, *found = in_flight.levels(states.data.count, *_walked(states))
    names = ("flight", "pipe")
    return [_level(states, name, level, spans_ns) for name, level in zip(names, found, strict=True)]


def steps(states: SenderStates) -> Table:
    """FlightSize and pipe after every data segment and ACK, in the order of the capture.

    Returns
    -------
    Table
        Rows of `IN_FLIGHT`, connection behind connection.
    """
    data, acks = states.data, states.acks
    found = in_flight.steps(data.count, *_walked(states))
    columns = {
        name: np.concatenate([data[name], acks[name]])[found.row] for name in ("t_ns", "record", "conn")
    }
    columns |= {"source": np.full(len(found.row), int(data["source"][0]))}
    return Table(IN_FLIGHT, columns | {"flight": found.flight, "pipe": found.pipe})


def _walked(states: SenderStates) -> tuple[in_flight.Sent, in_flight.Received, in_flight.Held]:
    """The columns that the core walks over."""
    data, acks = states.data, states.acks
    sent = in_flight.Sent(
        of=data.of,
        t_ns=data["t_ns"],
        record=data["record"],
        seq=data["seq"],
        length=data["length"],
        duplicate=data["duplicate"],
        timed_out=data["cause"] == _TIMEOUT,
        highest=states.highest,
    )
    received = in_flight.Received(
        of=acks.of,
        t_ns=acks["t_ns"],
        record=acks["record"],
        ack=acks["ack"],
        sack_high=acks["sack_high"],
        sack_count=acks["sack_count"],
        duplicate=acks["ack_kind"] == _DUPLICATE,
    )
    recoveries = states.recoveries
    return sent, received, in_flight.Held(states.recovery_of, recoveries[:, 0], recoveries[:, 1])


def _level(states: SenderStates, name: str, level: in_flight.Level, spans_ns: Array) -> list[dict[str, int]]:
    sums = level.over_time
    # Whole numbers: exact in whatever order, as long as a float has room for all their digits.
    long = np.flatnonzero(sums >= _EXACT).tolist()
    if long:
        rows = steps(states)
        bounds = states.data.bounds + states.acks.bounds
        for at in long:
            mine = slice(*bounds[at : at + 2].tolist())
            sums[at] = np.dot(rows[name][mine][:-1].astype(np.float64), np.diff(rows["t_ns"][mine]))
    return [
        {"max_bytes": most, "mean_bytes": round(total / span if span else 0.0)}
        for most, total, span in zip(level.most.tolist(), sums.tolist(), spans_ns.tolist(), strict=True)
    ]
