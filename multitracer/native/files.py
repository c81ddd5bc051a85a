"""Files as bytes and lines, decompressed by what they contain."""

from __future__ import annotations

from collections.abc import Iterator

import multitracer._core as _core
from multitracer.model.errors import Issue
from multitracer.native.call import called


def head(path: str, count: int) -> bytes:
    """The first `count` bytes of a file, after decompression (gzip, zstd, xz, bzip2, lz4: by content).

    ``-`` is standard input. What is taken from a pipe comes again when it is read, which can be done once; of
    a slow one, there may be fewer bytes.

    Raises
    ------
    UnreadableFile
        If it cannot be opened or read, or is neither a file nor a pipe.
    """
    return called(path, lambda: _core.head(path, count))


def forget(path: str) -> None:
    """Close a pipe that `head` looked at and that is not going to be read."""
    _core.forget(path)


class Lines:
    """The lines of a file with their numbers, from 1; streams.

    Parameters
    ----------
    path : str
    longest : int, optional
        Bytes beyond which a line is skipped, with an issue; 64 KiB by default.

    Raises
    ------
    UnreadableFile
    """

    _BATCH = 1 << 18

    def __init__(self, path: str, longest: int | None = None) -> None:
        self._path = path
        self._lines = called(path, lambda: _core.TextLines(path, longest))

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        while batch := called(self._path, lambda: self._lines.batch(self._BATCH)):
            yield from batch

    @property
    def issues(self) -> list[Issue]:
        """Damage so far."""
        return [
            Issue(code, count, record, detail, self._path)
            for code, count, record, detail in self._lines.issues()
        ]
