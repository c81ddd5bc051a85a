"""What senders had in the network after every data segment and ACK: FlightSize and pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import multitracer._core as _core
from multitracer.model.lazy import np
from multitracer.native.grouped import whole

if TYPE_CHECKING:
    from multitracer.model.table import Array


class Sent(NamedTuple):
    """Data segments of senders, sender after sender, each in order of time.

    Attributes
    ----------
    of : array of int64
        The sender of each, from 0.
    t_ns, record, seq, length, duplicate : array of int
        As in ``segments``.
    timed_out : array of bool
        Whether the timer expired: all that was in flight counts as lost.
    highest : array of int64
        The highest byte that its sender sent so far, plus one.
    """

    of: Array
    t_ns: Array
    record: Array
    seq: Array
    length: Array
    duplicate: Array
    timed_out: Array
    highest: Array


class Received(NamedTuple):
    """ACKs that senders received, sender after sender, each in order of time.

    Attributes
    ----------
    of : array of int64
        The sender that each is for.
    t_ns, record, ack, sack_high, sack_count : array of int
        As in ``segments``.
    duplicate : array of bool
        Whether it is a duplicate ACK.
    """

    of: Array
    t_ns: Array
    record: Array
    ack: Array
    sack_high: Array
    sack_count: Array
    duplicate: Array


class Held(NamedTuple):
    """Loss recoveries of senders, sender after sender, in order of time.

    Attributes
    ----------
    of : array of int64
        The sender of each.
    begin_ns, end_ns : array of int64
    """

    of: Array
    begin_ns: Array
    end_ns: Array


class Steps(NamedTuple):
    """The state after every segment and ACK, sender after sender, in the order of the capture.

    Attributes
    ----------
    row : array of int64
        Which one: a row of what was sent or, counted on from these, of what was received.
    flight, pipe : array of int64
        Bytes.
    """

    row: Array
    flight: Array
    pipe: Array


def steps(count: int, sent: Sent, received: Received, held: Held) -> Steps:
    """The state after every segment and ACK of each sender.

    Parameters
    ----------
    count : int
        How many senders there are.
    sent : Sent
    received : Received
    held : Held

    Returns
    -------
    Steps

    Raises
    ------
    ValueError
        Columns of different lengths.
    """
    return Steps(*_core.in_flight_steps(count, *_columns(sent, received, held)))


def _columns(
    sent: Sent, received: Received, held: Held
) -> tuple[_core._Sent, _core._Received, tuple[_core._Ints, _core._Ints, _core._Ints]]:
    of, t_ns, record, seq, length, duplicate, timed_out, highest = sent
    data = (whole(of), whole(t_ns), whole(record), whole(seq))
    acks = (whole(received.of), whole(received.t_ns), whole(received.record), whole(received.ack))
    return (
        (
            *data,
            np.ascontiguousarray(length, dtype=np.int32),
            np.ascontiguousarray(duplicate, dtype=np.int32),
            np.ascontiguousarray(timed_out, dtype=np.bool_),
            whole(highest),
        ),
        (
            *acks,
            whole(received.sack_high),
            np.ascontiguousarray(received.sack_count, dtype=np.int8),
            np.ascontiguousarray(received.duplicate, dtype=np.bool_),
        ),
        (whole(held.of), whole(held.begin_ns), whole(held.end_ns)),
    )
