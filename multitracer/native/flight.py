"""What senders had in the network, in short."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import multitracer._core as _core
from multitracer.native import sender
from multitracer.native.flow_rows import bounds

if TYPE_CHECKING:
    from multitracer.model.table import Array, Table
    from multitracer.native.flow_rows import Bounds


class Burst(NamedTuple):
    """The most that one ACK released to each sender.

    Attributes
    ----------
    segments, bytes : array of int64
        0 where no ACK released any.
    t_ns, record : array of int64
        The ACK.
    """

    segments: Array
    bytes: Array
    t_ns: Array
    record: Array


class Flights(NamedTuple):
    """Of each connection that has data and ACKs.

    Attributes
    ----------
    of : array of int64
        Which connection, ascending.
    rows : array of int64
        Its data segments and ACKs.
    span_ns : array of int64
        From the first of these to the last.
    flight_most, pipe_most : array of int64
        The largest FlightSize and pipe, bytes.
    flight_over_time, pipe_over_time : array of float64
        Their sums over time, bytes times nanoseconds; exact below 2**53.
    burst, burst_in_recovery : Burst
    limited_transmit : array of int64
        New segments that the first or second duplicate ACK released (RFC 3042).
    echoes : array of int64
        ACKs that echo a mark of congestion (RFC 3168).
    reductions, reductions_without_loss : array of int64
        Segments with CWR, and those of them outside of loss recovery.
    asked, answered : array of int64
        Flags of the last SYN without an ACK, and of the last with one; -1 without.
    """

    of: Array
    rows: Array
    span_ns: Array
    flight_most: Array
    pipe_most: Array
    flight_over_time: Array
    pipe_over_time: Array
    burst: Burst
    burst_in_recovery: Burst
    limited_transmit: Array
    echoes: Array
    reductions: Array
    reductions_without_loss: Array
    asked: Array
    answered: Array


def flights(segments: Table, data: Bounds, acks: Bounds) -> Flights:
    """What the sender of each connection had in the network; how: ``rust/core/src/segments/flight.rs``.

    Parameters
    ----------
    segments : Table
        All segments, flow after flow, each in order of time.
    data, acks : two arrays of int64, shape (n,)
        The flow of the data of each connection, and that of the ACKs for it: its first row, and the one
        behind its last.

    Returns
    -------
    Flights

    Raises
    ------
    ValueError
        Bounds of different lengths, or rows that there are not.
    """
    said = (
        segments["flags"],
        segments["cause"],
        segments["ack_kind"],
        segments["sack_high"],
        segments["sack_count"],
    )
    columns, sums = _core.flights_in_short(sender.columns(segments), said, bounds(data), bounds(acks))
    of, rows, span_ns, flight_most, pipe_most = columns[:5]
    flight_over_time, pipe_over_time = sums
    limited_transmit, echoes, reductions, reductions_without_loss, asked, answered = columns[13:]
    return Flights(
        of=of,
        rows=rows,
        span_ns=span_ns,
        flight_most=flight_most,
        pipe_most=pipe_most,
        flight_over_time=flight_over_time,
        pipe_over_time=pipe_over_time,
        burst=Burst(*columns[5:9]),
        burst_in_recovery=Burst(*columns[9:13]),
        limited_transmit=limited_transmit,
        echoes=echoes,
        reductions=reductions,
        reductions_without_loss=reductions_without_loss,
        asked=asked,
        answered=answered,
    )
