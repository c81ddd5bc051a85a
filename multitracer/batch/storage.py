"""Where results go: a directory, or any path that fsspec knows; a file appears whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from typing import Any, Protocol

from multitracer.model.errors import UnreadableFile, UsageError

TEMPORARY = ".multitracer-"
"""Names that begin so are unfinished: a killed run leaves them, the next one removes them."""

_WHOLE = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "memory"})
"""Protocols whose objects appear when they are complete."""


def is_remote(path: str) -> bool:
    """Whether a path names a protocol of fsspec, as in ``s3://bucket/runs``."""
    return "://" in path


class Store(Protocol):
    """A place for results, addressed by names with slashes."""

    where: str

    def read(self, name: str) -> bytes | None:
        """Content; None if there is none."""

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""

    def write(self, name: str, content: bytes) -> None:
        """Put a file in its place, complete. Raises `UsageError` if that fails."""

    def remove(self, name: str) -> None:
        """Take a file away, if it is there."""

    def prepare(self) -> None:
        """Make the place, show that it can be written to, clear what a killed run left."""


def store(where: str) -> Store:
    """The place of a path."""
    return RemoteStore(where) if is_remote(where) else LocalStore(where)


def refused(path: str, error: Exception) -> UsageError:
    """The one error for output that cannot be written."""
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return UsageError(
        f"{path}: cannot be written: {words}; make room or choose another place, then run again: "
        "what is finished is kept"
    )


class LocalStore:
    """A directory."""

    def __init__(self, where: str) -> None:
        self.where = os.path.abspath(where)

    def _path(self, name: str) -> str:
        return os.path.join(self.where, *name.split("/"))

    def read(self, name: str) -> bytes | None:
        """Content; None if there is none."""
        try:
            with open(self._path(name), "rb") as file:
                return file.read()
        except OSError:
            return None

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return os.path.isfile(self._path(name))

    def write(self, name: str, content: bytes) -> None:
        """Write under a temporary name, flush to disk, rename."""
        path = self._path(name)
        temporary = os.path.join(os.path.dirname(path), TEMPORARY + secrets.token_hex(8))
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(temporary, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise refused(path, error) from error

    def remove(self, name: str) -> None:
        """Take a file away, if it is there."""
        path = self._path(name)
        with contextlib.suppress(OSError):
            os.unlink(path)
            os.rmdir(os.path.dirname(path))  # fails, as it should, while anything else is in it

    def prepare(self) -> None:
        """Make the directory, try it, and clear temporary files."""
        self.write("batch.txt", b"Results of multitracer batch; run the same command again to resume.\n")
        for directory, _, files in os.walk(self.where):
            for name in files:
                if name.startswith(TEMPORARY):
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(directory, name))

    def lock(self) -> int:
        """Keep a second run out of this directory; the lock ends with the process.

        Returns
        -------
        int
            File descriptor; close it to let go.

        Raises
        ------
        UsageError
            Another run holds it.
        """
        path = self._path(".lock")
        try:
            os.makedirs(self.where, exist_ok=True)
            held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise refused(path, error) from error
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(held)
            raise UsageError(
                f"{self.where}: another batch run writes here; wait for it or choose another place"
            ) from error
        except OSError:
            pass  # a file system without locks
        return held


def filesystem(path: str) -> tuple[Any, str, str]:
    """The file system of fsspec behind a path, its protocol, and the path within it.

    Raises
    ------
    UsageError
        fsspec, or the package for this protocol, is not installed, or the protocol is unknown.
    """
    try:
        import fsspec
    except ImportError as error:
        raise UsageError(f"{path}: remote paths need fsspec: pip install 'multitracer[cluster]'") from error
    protocol = path.partition("://")[0]
    try:
        system, inside = fsspec.core.url_to_fs(path)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
    return system, protocol, str(inside).rstrip("/")


class RemoteStore:
    """A path of fsspec: an object store, or another file system."""

    def __init__(self, where: str) -> None:
        self.where = where.rstrip("/")
        self._system, self._protocol, self._base = filesystem(self.where)

    def _path(self, name: str) -> str:
        return f"{self._base}/{name}"

    def read(self, name: str) -> bytes | None:
        """Content; None if there is none."""
        try:
            return bytes(self._system.cat_file(self._path(name)))
        except FileNotFoundError:
            return None
        except Exception as error:  # every file system has errors of its own
            raise UnreadableFile(f"{self.where}/{name}: {error}; check address and credentials") from error

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        try:
            return bool(self._system.exists(self._path(name)))
        except Exception as error:
            raise UnreadableFile(f"{self.where}/{name}: {error}; check address and credentials") from error

    def write(self, name: str, content: bytes) -> None:
        """Put the object; where a reader could see half of it, under a temporary name first."""
        path = self._path(name)
        try:
            if self._protocol in _WHOLE:
                self._system.pipe_file(path, content)
                return
            parent = path.rpartition("/")[0]
            temporary = f"{parent}/{TEMPORARY}{secrets.token_hex(8)}"
            self._system.makedirs(parent, exist_ok=True)
            try:
                self._system.pipe_file(temporary, content)
                self._system.mv(temporary, path)
            except Exception:
                with contextlib.suppress(Exception):
                    self._system.rm_file(temporary)
                raise
        except Exception as error:
            raise refused(f"{self.where}/{name}", error) from error

    def remove(self, name: str) -> None:
        """Take an object away, if it is there."""
        with contextlib.suppress(Exception):
            self._system.rm_file(self._path(name))

    def prepare(self) -> None:
        """Show that the place can be written to."""
        self.write("batch.txt", b"Results of multitracer batch; run the same command again to resume.\n")
