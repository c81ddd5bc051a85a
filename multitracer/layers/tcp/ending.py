"""The time after a connection's last data, until an end closes it, gives it up, or the capture ends.

An idle time after a complete response does not count: keep-alive connections are closed in this way.
What shows that more was to come: a request that was acknowledged and has no response, a last segment in the
middle of what its sender had to send, sequence numbers of bytes that never passed, a FIN without an answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multitracer.model.frozen import frozen
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Connection, Timeline

LEAST_NS = 1_000_000_000
"""Shorter ones are those of timers."""

_REQUEST_BYTES = 16_384
"""A request is no longer than that: more data is a separate transfer, which needs no response."""

_ANSWERING_BYTES = 100
"""After data of the other end, a shorter message may end a handshake (TLS), or open a window (HTTP/2)."""

_FIN, _SYN, _RST, _PSH = 0x01, 0x02, 0x04, 0x08


@frozen
class Silence:
    """Nothing was delivered from `t_ns` to `end_ns`, although more was to come.

    Attributes
    ----------
    t_ns, end_ns : int
        The last data, or the last ACK of any; the FIN or RST that ended the wait, or the end of the capture.
    last : int
        Direction of the last data.
    shown_by : str
        ``no_response``, ``mid_stream``, ``unseen_bytes`` or ``unanswered_fin``.
    ended : str
        ``fin``, ``reset`` or ``capture``.
    ended_by : int or None
        Direction of that FIN or RST.
    record : int
        Its packet; 0 without one.
    repeated : int
        How often it was sent in all.
    answered : bool
        Whether the other end sent anything after it.
    request_bytes : int
        Of a request without a response.
    unseen_bytes : int
        Sent after the last data, as later sequence numbers show, and never seen here.
    """

    t_ns: int
    end_ns: int
    last: int
    shown_by: str
    ended: str
    ended_by: int | None = None
    record: int = 0
    repeated: int = 0
    answered: bool = False
    request_bytes: int = 0
    unseen_bytes: int = 0


def silence(m: Timeline, connection: Connection, source: int) -> Silence | None:
    """The time without data with which a connection ends.

    Parameters
    ----------
    m : Timeline
        With segments.
    connection : Connection
    source : int
        The capture: anywhere on the path.

    Returns
    -------
    Silence or None
        None where nothing shows that more was to come, and where the receiver's window was closed.
    """
    ways = [_Way(m.flow(connection.index, direction, source)) for direction in (0, 1)]
    if not all(len(way.rows) for way in ways) or not any(way.carried for way in ways):
        return None
    last = max((0, 1), key=lambda direction: ways[direction].last_data_ns)
    mine, other = ways[last], ways[1 - last]
    # A window that is closed, and a FIN, explain themselves why no more came.
    if mine.ended_by(mine.last_data_ns) or other.closed_window():
        return None
    t_ns = max(way.last_data_ns for way in ways)
    t_ns = max(t_ns, mine.last_ack_ns(other), other.last_ack_ns(mine))
    ends = [(way.first_end_ns(t_ns), direction) for direction, way in enumerate(ways)]
    end_ns, by = min(((at, way) for at, way in ends if at is not None), default=(None, None))
    if end_ns is None or by is None:
        asked = _request_bytes(connection, source, ways, last) if not other.carried else 0
        end_ns = _capture_end_ns(m, source)
        if not asked or end_ns - t_ns < LEAST_NS:
            return None
        return Silence(t_ns, end_ns, last, "no_response", "capture", request_bytes=asked)
    if end_ns - t_ns < LEAST_NS:
        return None
    found = Silence(t_ns, end_ns, last, "", *ways[by].end_at(end_ns, by), ways[1 - by].goes_on(end_ns))
    if unseen := mine.unseen_bytes(t_ns):
        return replace(found, shown_by="unseen_bytes", unseen_bytes=unseen)
    if by != last and mine.stops_within():
        return replace(found, shown_by="mid_stream")
    if asked := _request_bytes(connection, source, ways, last):
        return replace(found, shown_by="no_response", request_bytes=asked)
    if by != last and found.ended == "fin" and not found.answered:
        return replace(found, shown_by="unanswered_fin")
    return None


class _Way:
    """What one end sent."""

    def __init__(self, rows: Table) -> None:
        self.rows = rows
        ends = rows["seq"] + rows["length"]
        before = np.maximum.accumulate(np.append(1, ends[:-1])) if len(ends) else ends
        self.new: Array = (rows["length"] > 0) & (ends > before)
        self.carried = bool(self.new.any())
        fresh_ns = rows["t_ns"][self.new]
        self.last_data_ns = int(fresh_ns[-1]) if self.carried else -(1 << 62)
        self.end = int(ends[self.new].max()) if self.carried else 1

    def last_ack_ns(self, other: _Way) -> int:
        """When this end first acknowledged all that it ever did of the other's data."""
        acks = np.minimum(self.rows["ack"], other.end)
        most = int(acks.max(initial=-1))
        return int(self.rows["t_ns"][int(np.argmax(acks == most))]) if most > 1 else -(1 << 62)

    def ended_by(self, t_ns: int) -> bool:
        """Whether it had sent a FIN by then."""
        flags = self.rows["flags"][self.rows["t_ns"] <= t_ns]
        return bool((flags & (_FIN | _RST)).any())

    def first_end_ns(self, t_ns: int) -> int | None:
        """Its first FIN or RST after that time."""
        rows = (self.rows["t_ns"] > t_ns) & ((self.rows["flags"] & (_FIN | _RST)) != 0)
        return int(self.rows["t_ns"][int(np.argmax(rows))]) if rows.any() else None

    def end_at(self, t_ns: int, by: int) -> tuple[str, int, int, int]:
        """How it ended the connection then: by what, `by` whom, with which packet, sent how often."""
        rows = self.rows.where(self.rows["t_ns"] == t_ns)
        flag = _RST if (rows["flags"] & _RST).any() else _FIN
        record = int(rows["record"][int(np.argmax((rows["flags"] & flag) != 0))])
        repeated = int(((self.rows["flags"] & flag) != 0).sum())
        return "reset" if flag == _RST else "fin", by, record, repeated

    def goes_on(self, t_ns: int) -> bool:
        """Whether it sent anything after that time."""
        return bool((self.rows["t_ns"] > t_ns).any())

    def closed_window(self) -> bool:
        """Whether the last window that it advertised is zero."""
        windows = self.rows["window"][(self.rows["flags"] & (_FIN | _SYN | _RST)) == 0]
        return bool(len(windows)) and int(windows[-1]) == 0

    def unseen_bytes(self, t_ns: int) -> int:
        """Bytes that it had sent by then and later, shown only by the sequence numbers of later segments.

        A FIN takes a number, and may be among what was lost.
        """
        flags, seq = self.rows["flags"], self.rows["seq"]
        later = seq[(self.rows["t_ns"] > t_ns) & ((flags & (_SYN | _RST)) == 0)]
        beyond = int(later.max(initial=self.end)) - self.end
        return max(beyond - 1, 0)

    def stops_within(self) -> bool:
        """Whether its last data is a full segment without PSH, which others before it had.

        PSH is on the last segment of what an application hands over (RFC 9293 section 3.9.1.2).
        """
        length, flags = self.rows["length"][self.new], self.rows["flags"][self.new]
        pushed = (flags & _PSH) != 0
        return len(length) > 1 and bool(pushed.any() and not pushed[-1] and length[-1] == length.max())


def _request_bytes(connection: Connection, source: int, ways: list[_Way], last: int) -> int:
    """Length of the last request if the end that opened the connection sent one, and no response came."""
    asking, other = ways
    if last != 0 or not connection.summaries[source]["handshake"]:
        return 0
    since = asking.new & (asking.rows["t_ns"] > other.last_data_ns)
    asked = int(asking.rows["length"][since].sum())
    least = _ANSWERING_BYTES if other.carried else 1
    return asked if least <= asked <= _REQUEST_BYTES else 0


def _capture_end_ns(m: Timeline, source: int) -> int:
    """When the last segment of any connection passed a capture."""

    def latest() -> int:
        rows = m.segments_by_flow  # where the times are held
        return int(rows["t_ns"][rows["source"] == source].max())

    return m.once(f"capture end {source}", latest)
