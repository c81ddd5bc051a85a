"""Binary files that are read from any place: bytes, and values one after the other."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import Literal

from multitracer import native
from multitracer.model.errors import CorruptTrace, UnreadableFile

_HELD_BYTES = 512 << 20
"""Of a file that is compressed as a whole, and so cannot be read from any place."""

_COMPRESSION = "compressed stream"


class Cut(Exception):
    """The file ends before what it announces."""


class Content:
    """The bytes of a file, from any place: read from it, or held if that is the only way.

    Parameters
    ----------
    path : str
    magic : bytes
        What it begins with, unless it is compressed as a whole.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read, or is a pipe.
    CorruptTrace
        If it must be held and is too large for that.

    Attributes
    ----------
    size : int
        Bytes, decompressed.
    cut : str
        What is wrong with the compression of the whole; "" if nothing.
    """

    def __init__(self, path: str, magic: bytes) -> None:
        self._file: int | None = None
        self._held = b""
        self.cut = ""
        if _is_pipe(path):
            native.forget(path)
            raise UnreadableFile(
                f"{path}: is a pipe, and its parts are read from any place; save it to a file"
            )
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            state = os.fstat(descriptor)
            if stat.S_ISREG(state.st_mode) and os.pread(descriptor, len(magic), 0) == magic:
                self._file, self.size = descriptor, state.st_size
                return
            os.close(descriptor)
        self._held = native.head(path, _HELD_BYTES + 1)
        self.size = len(self._held)
        if self.size > _HELD_BYTES:
            raise CorruptTrace(
                f"{path}: more than {_HELD_BYTES:,} bytes in a compressed file; unpack it first"
            )
        self.cut = _damage(path)

    def at(self, place: int, count: int) -> bytes:
        """Bytes from a place on; fewer at the end of the file."""
        if place < 0 or count <= 0 or place >= self.size:
            return b""
        if self._file is not None:
            return os.pread(self._file, count, place)
        return self._held[place : place + count]

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _is_pipe(path: str) -> bool:
    try:
        state = os.fstat(0) if path == "-" else os.stat(path)
    except OSError:
        return False
    return stat.S_ISFIFO(state.st_mode)


def _damage(path: str) -> str:
    """What the core reports of a file's compression, of which `native.head` returns what it can."""
    lines = native.Lines(path)
    for _ in lines:
        pass
    return next((issue.detail for issue in lines.issues if issue.detail.startswith(_COMPRESSION)), "")


class Cursor:
    """Values one after the other.

    Parameters
    ----------
    content : Content or bytes
    order : {"<", ">"}
        Byte order, as of `struct`.
    place : int
        Where the first one is; then, of the next one.
    """

    def __init__(self, content: Content | bytes, order: str, place: int = 0) -> None:
        self._content, self.place = content, place
        self._order: Literal["little", "big"] = "little" if order == "<" else "big"

    def take(self, count: int) -> bytes:
        """So many bytes.

        Raises
        ------
        Cut
            If there are not.
        """
        if isinstance(self._content, bytes):
            found = self._content[self.place : self.place + count]
        else:
            found = self._content.at(self.place, count)
        if len(found) < count:
            raise Cut
        self.place += count
        return found

    def skip(self, count: int) -> None:
        """Leave out bytes, which must be there.

        Raises
        ------
        Cut
        """
        if count:
            self.place += count - 1
            self.take(1)

    def number(self, size: int) -> int:
        """An unsigned number of so many bytes.

        Raises
        ------
        Cut
        """
        return int.from_bytes(self.take(size), self._order)

    def string(self, most: int = 256) -> str:
        """Up to a zero byte, which is among so many.

        Raises
        ------
        Cut
        """
        place, content = self.place, self._content
        found = content[place : place + most] if isinstance(content, bytes) else content.at(place, most)
        text, zero, _ = found.partition(b"\0")
        if not zero:
            raise Cut
        self.place += len(text) + 1
        return text.decode(errors="replace")
