"""What recording needs of the system besides files: mounts, children that do not outlive their parent."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

from multitracer.linux.libc import die_with_parent, libc
from multitracer.model.errors import MultiTracerError

Process = subprocess.Popen[bytes]

_PATIENCE_S = 3.0


class RecordError(MultiTracerError):
    """A recording that cannot be made: nothing can be recorded here, or the place to write to is taken."""


def mount(filesystem: str, where: str) -> None:
    """Mount a pseudo file system.

    Raises
    ------
    OSError
    """
    name = filesystem.encode()
    if libc().mount(name, where.encode(), name, 0, None) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), where)


def unmount(where: str) -> None:
    """Undo `mount`; one that is in use stays."""
    libc().umount2(where.encode(), 0)


def spawn(
    argv: Sequence[str],
    *,
    stdin: int | IO[Any] = subprocess.DEVNULL,
    stdout: int | IO[Any] = subprocess.DEVNULL,
    stderr: int | IO[Any] = subprocess.DEVNULL,
    outlives: bool = False,
) -> Process:
    """Start a helper in a session of its own: Ctrl-C at the terminal is for the recorder alone.

    Parameters
    ----------
    argv : sequence of str
    stdin, stdout, stderr
        As for `subprocess.Popen`; closed by default.
    outlives : bool
        Whether it may continue when the recorder has ended; otherwise the kernel kills it then.
    """
    return subprocess.Popen(
        list(argv),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        preexec_fn=None if outlives else die_with_parent,
        env={**os.environ, "LC_ALL": "C"},
    )


def stop(process: Process, gently: int = signal.SIGTERM) -> int:
    """End a helper: ask, then kill. Returns its exit status."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            process.send_signal(gently)
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return process.returncode


def words_of(error: OSError) -> str:
    """An error of the system in its own words."""
    return error.strerror or str(error)
