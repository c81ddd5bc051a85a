"""Files that are elsewhere (s3://, http://, memory:// ...), streamed through a pipe by fsspec."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from multitracer import native
from multitracer.model.errors import MultiTracerError, UnreadableFile, UsageError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_CHUNK_BYTES = 1 << 20


def is_url(path: str) -> bool:
    """Whether a path names a file of fsspec (one letter before the colon is a drive)."""
    return _URL.match(path) is not None


@contextmanager
def streamed(url: str) -> Iterator[str]:
    """The path of a FIFO that gives the file's bytes, once.

    Nothing is stored. Errors that name the FIFO name the URL instead.

    Raises
    ------
    UsageError
        fsspec, or what it needs for this kind of URL, is not installed.
    UnreadableFile
        The file cannot be opened or read.
    """
    import tempfile

    opened = _open(url)
    with tempfile.TemporaryDirectory(prefix="multitracer-") as directory:
        fifo = os.path.join(directory, "stream")
        os.mkfifo(fifo, 0o600)
        feed = _Feed(opened, fifo)
        feed.start()
        try:
            yield fifo
        except MultiTracerError as error:
            if feed.error is None:
                raise type(error)(str(error).replace(fifo, url)) from error
        finally:
            native.forget(fifo)
            feed.stop(fifo)
        if feed.error is not None:
            raise UnreadableFile(f"{url}: {feed.error or type(feed.error).__name__}; check the address")


def _open(url: str) -> object:
    try:
        import fsspec
    except ImportError as error:
        raise UsageError(
            f"{url}: reading from there needs fsspec; install it with: pip install fsspec"
        ) from error
    try:
        return fsspec.open(url, "rb")
    except ImportError as error:
        raise UsageError(f"{url}: {error}") from error
    except ValueError as error:
        raise UsageError(f"{url}: {error}; known are the protocols of fsspec") from error


class _Feed(threading.Thread):
    """Writes a file into a FIFO, as fast as it is read there."""

    def __init__(self, opened: object, fifo: str) -> None:
        super().__init__(daemon=True)
        self.error: Exception | None = None
        self._opened = opened
        self._fifo = fifo
        self._stopped = threading.Event()

    def run(self) -> None:
        # The FIFO is opened in any case, for its reader waits for it, and closed after the verdict: the end
        # of the data must not be seen before its reason is known.
        with suppress(OSError), open(self._fifo, "wb") as pipe:
            try:
                with self._opened as file:  # type: ignore[attr-defined]
                    while not self._stopped.is_set() and (chunk := file.read(_CHUNK_BYTES)):
                        pipe.write(chunk)
            except BrokenPipeError:
                pass  # the reader has seen enough
            except Exception as error:  # any error of a file system
                self.error = error

    def stop(self, fifo: str) -> None:
        """Let go of a writer that still waits, for a reader or for room."""
        self._stopped.set()
        with suppress(OSError):
            reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            try:
                self.join(0.05)
            finally:
                os.close(reader)
        self.join(5)
