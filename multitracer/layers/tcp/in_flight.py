"""What senders had in the network over time: FlightSize, and pipe (RFC 6675).

FlightSize is what was sent and not acknowledged. Of it, data that the receiver holds already (SACK), and data
overtaken by it, is not in the network any more: pipe is the rest, and what was retransmitted since.

References
----------
RFC 5681 section 2 (FlightSize); RFC 6675 section 4 (pipe), in the form of FACK (Mathis and Mahdavi, SIGCOMM
1996). The walk itself is in ``rust/core/src/segments/in_flight.rs``.
"""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.flow_batch import batches, both_bounds
from multitracer.layers.tcp.senderstate import SenderStates, sender_states
from multitracer.model.schema import ACK_KINDS, CAUSES
from multitracer.model.schema.sender import IN_FLIGHT
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline
from multitracer.native import flight, in_flight
from multitracer.native.flight import Burst as Burst, Flights as Flights

_DUPLICATE = ACK_KINDS.index("duplicate")
_TIMEOUT = CAUSES.index("timeout")
_EXACT = 2.0**53


def flights(m: Timeline) -> Flights | None:
    """What the sender of each connection had in the network, in short; None without its capture."""
    if m.snd is None:
        return None
    data, acks = both_bounds(m, m.connections, m.snd)
    found = flight.flights(m.segments_by_flow, data, acks)
    for name, sums in (("flight", found.flight_over_time), ("pipe", found.pipe_over_time)):
        # Whole numbers: exact in any order, as long as a float has room for all their digits.
        for at in np.flatnonzero(sums >= _EXACT).tolist():
            sums[at] = _over_time(m, m.connections[int(found.of[at])], name)
    return found


def _over_time(m: Timeline, connection: Connection, name: str) -> float:
    states = sender_states(m, [connection], answered=True)
    if states is None:
        return 0.0
    rows = steps(states)
    return float(np.dot(rows[name][:-1].astype(np.float64), np.diff(rows["t_ns"])))


def in_flight_table(m: Timeline) -> Table:
    """FlightSize and pipe after every segment of all connections, one after the other."""
    found = (sender_states(m, some, answered=True) for some in batches(m))
    return Table.concat(IN_FLIGHT, [steps(states) for states in found if states is not None])


def steps(states: SenderStates) -> Table:
    """FlightSize and pipe after every data segment and ACK, in the order of the capture.

    Returns
    -------
    Table
        Rows of `IN_FLIGHT`, connection after connection.
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


def means(sums: Array, spans_ns: Array) -> list[int]:
    """Values over time, of their sums over time; 0 where no time passed."""
    pairs = zip(sums.tolist(), spans_ns.tolist(), strict=True)
    return [round(total / span if span else 0.0) for total, span in pairs]
