"""Standard input whose first bytes are held, so that its size can decide how it is read, and read again."""

from __future__ import annotations

import os
import threading
from types import TracebackType

_PIECE = 1 << 20


class HeldInput:
    """Up to `most` bytes of standard input, held; while in use, descriptor 0 is a pipe that gives them.

    Parameters
    ----------
    most : int

    Attributes
    ----------
    size : int
        Bytes held.
    goes_on : bool
        Whether there is more: then it can be read once only.
    """

    def __init__(self, most: int) -> None:
        pieces: list[bytes] = []
        self.size = 0
        while self.size <= most and (piece := os.read(0, _PIECE)):
            pieces.append(piece)
            self.size += len(piece)
        self._pieces = pieces
        self.goes_on = self.size > most

    @property
    def begin(self) -> bytes:
        """The first bytes."""
        return b"".join(self._pieces[:4])[:4]

    def __enter__(self) -> HeldInput:
        self._rest = os.dup(0)
        self.again()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.dup2(self._rest, 0)
        os.close(self._rest)

    def again(self) -> None:
        """Give all from the begin."""
        reading, writing = os.pipe()
        os.dup2(reading, 0)
        os.close(reading)
        rest = os.dup(self._rest) if self.goes_on else None
        pieces = self._pieces
        if self.goes_on:
            self._pieces = pieces[:4]
        threading.Thread(target=_give, args=(pieces, rest, writing), daemon=True).start()


def _give(pieces: list[bytes], rest: int | None, writing: int) -> None:
    """Write what is held and what follows, until the reader closes it."""
    try:
        with open(writing, "wb", buffering=0) as out:
            for piece in pieces:
                _write(out.fileno(), piece)
            while rest is not None and (piece := os.read(rest, _PIECE)):
                _write(out.fileno(), piece)
    except OSError:
        pass  # closed at either end: the reader has all that there is, or has given up
    finally:
        if rest is not None:
            os.close(rest)


def _write(writing: int, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[os.write(writing, left) :]
