"""The Layer 2 Relay: the byte stream that PPP sees above RLP, its send buffer and its slow receiver."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Chunk(NamedTuple):
    """Bytes of a stream with the offset of the first since the call began."""

    offset: int
    data: bytes


class SendBuffer:
    """Bytes that wait for frames.

    Attributes
    ----------
    next_offset : int
        Offset of the next byte to be sent for the first time; flushed bytes keep their numbers.
    """

    def __init__(self) -> None:
        self.next_offset = 0
        self._data = bytearray()

    def __len__(self) -> int:
        return len(self._data)

    @property
    def end_offset(self) -> int:
        """Offset after the last byte put in."""
        return self.next_offset + len(self._data)

    def put(self, data: bytes) -> None:
        """Append to the stream."""
        self._data += data

    def take(self, limit: int) -> Chunk:
        """Take up to `limit` bytes for a frame."""
        chunk = Chunk(self.next_offset, bytes(self._data[:limit]))
        del self._data[:limit]
        self.next_offset += len(chunk.data)
        return chunk

    def flush(self) -> int:
        """Drop what waits; how many bytes."""
        dropped = len(self._data)
        self.next_offset += dropped
        self._data.clear()
        return dropped


class DrainBuffer:
    """Bytes delivered by RLP that the entity passes on at its own rate (Paper 5.5, Figure 12).

    Parameters
    ----------
    drain_bps : float
        Bits of user data per second; 0: at once.
    xoff_bytes, xon_bytes : int
        Backlog at which the entity becomes busy and ready again.

    Attributes
    ----------
    busy : bool
        The peer has to be stopped (RNR).
    """

    def __init__(self, drain_bps: float, xoff_bytes: int, xon_bytes: int) -> None:
        self.busy = False
        self._drain_bps = drain_bps
        self._xoff_bytes = xoff_bytes
        self._xon_bytes = xon_bytes
        self._waiting: deque[tuple[int, Chunk]] = deque()
        self._backlog = 0
        self._free_ns = 0

    def __len__(self) -> int:
        return self._backlog

    def put(self, t_ns: int, chunk: Chunk) -> None:
        """Append bytes that arrived in order."""
        if self._drain_bps > 0:
            self._free_ns = max(self._free_ns, t_ns) + round(len(chunk.data) * 8e9 / self._drain_bps)
        else:
            self._free_ns = t_ns
        self._waiting.append((self._free_ns, chunk))
        self._backlog += len(chunk.data)
        if self._drain_bps > 0 and self._backlog >= self._xoff_bytes:
            self.busy = True

    def next_ns(self) -> int | None:
        """When the next bytes are passed on."""
        return self._waiting[0][0] if self._waiting else None

    def take(self, t_ns: int) -> Chunk | None:
        """Bytes that have been passed on by `t_ns`, oldest first; None if there are no more."""
        if not self._waiting or self._waiting[0][0] > t_ns:
            return None
        _, chunk = self._waiting.popleft()
        self._backlog -= len(chunk.data)
        if self._backlog <= self._xon_bytes:
            self.busy = False
        return chunk

    def flush(self, t_ns: int) -> int:
        """Drop what waits; how many bytes."""
        dropped, self._backlog = self._backlog, 0
        self._waiting.clear()
        self._free_ns = t_ns
        self.busy = False
        return dropped
