"""Which of several captures counts a connection: the one that sees its data best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.model.timeline import Connection, Timeline

_DIRECTIONS = ("forward", "reverse")


def vantage(measurement: Timeline, connection: Connection) -> int:
    """The source that sees a connection's data best: next to the sender, else any that saw most segments."""
    ends = (measurement.snd, measurement.rcv)
    if _from_the_far_end(measurement, connection):
        ends = ends[::-1]
    for preferred in ends:
        if preferred in connection.summaries:
            assert preferred is not None
            return preferred
    return max(
        connection.summaries,
        key=lambda source: sum(connection.summaries[source][name]["segments"] for name in _DIRECTIONS),
    )


def far_end(measurement: Timeline, connection: Connection, source: int) -> int:
    """The source at the other end of the path, if it saw the connection, else the one given.

    Parameters
    ----------
    measurement : Timeline
    connection : Connection
    source : int
        A capture at one end.
    """
    far = measurement.rcv if source == measurement.snd else measurement.snd
    return source if far is None or far not in connection.summaries else far


def _from_the_far_end(measurement: Timeline, connection: Connection) -> bool:
    """Whether this connection's data comes from the end at which most data of the measurement arrives.

    The SYN passes the capture next to the end that opens the connection first.
    """
    snd, rcv = (
        connection.summaries.get(source) if source is not None else None
        for source in (measurement.snd, measurement.rcv)
    )
    if snd is None or rcv is None or not (snd["handshake"] and rcv["handshake"]):
        return False
    assert measurement.snd is not None
    assert measurement.rcv is not None
    opened_at_snd = reference_ns(measurement, measurement.snd, snd["first_ns"]) <= reference_ns(
        measurement, measurement.rcv, rcv["first_ns"]
    )
    return bool(opened_at_snd != (connection.data_dir == 0))


def reference_ns(measurement: Timeline, source: int, t_ns: int) -> int:
    """A time on a source's own clock, on the reference timeline.

    Parameters
    ----------
    measurement : Timeline
    source : int
    t_ns : int
        Nanoseconds; the clock's skew is not taken into account.
    """
    return t_ns + measurement.clocks[source].offset_ns


def data_ns(direction: Mapping[str, Any]) -> int | None:
    """From the first data segment to the last ACK that brought anything new; None without either.

    Parameters
    ----------
    direction : mapping
        Of a connection's summary: the direction of the data.
    """
    first, last = direction["first_data_ns"], direction["last_advance_ns"]
    return None if first is None or last is None or last <= first else int(last) - int(first)


def acknowledged_bytes(direction: Mapping[str, Any]) -> int:
    """Payload that the receiver acknowledged, each byte once: what the capture lost of it passed, too.

    Parameters
    ----------
    direction : mapping
        Of a connection's summary: the direction of the data.
    """
    return int(direction["acked_bytes"]) + int(direction.get("unseen_acked_bytes", 0))
