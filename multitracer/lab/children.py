"""Helper processes of a run: started inside a namespace, never outliving it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from typing import IO, Any

from multitracer.lab.netns import Namespace
from multitracer.linux.interrupt import Interrupt
from multitracer.linux.libc import die_with_parent

Process = subprocess.Popen[bytes]


def spawn(
    argv: Sequence[str],
    namespace: Namespace | None = None,
    stdin: int | IO[Any] = subprocess.DEVNULL,
    stdout: int | IO[Any] = subprocess.DEVNULL,
    stderr: int | IO[Any] = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
    on_parent_death: Callable[[], None] | None = die_with_parent,
) -> Process:
    """Start a process in its own session (a Ctrl-C at the terminal is for the run alone to handle).

    If this process dies, even by SIGKILL, the kernel kills the child.

    Parameters
    ----------
    argv : sequence of str
    namespace : Namespace, optional
        Where it runs; None: where this process does.
    stdin : int | IO[Any]
    stdout : int | IO[Any]
    stderr : int | IO[Any]
    pass_fds : sequence of int
        Descriptors that stay open in the child.
    on_parent_death : callable, optional
        Called in the child before it begins; None where the child is to outlive this process.
    """
    with namespace.entered() if namespace else nullcontext():
        return subprocess.Popen(
            list(argv),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=tuple(pass_fds),
            start_new_session=True,
            preexec_fn=on_parent_death,
            env={**os.environ, "LC_ALL": "C"},
        )


def stop(process: Process, gently: int = signal.SIGTERM, patience_s: float = 3.0) -> int:
    """End a process and all of its session: ask, then kill. Returns its exit status.

    Parameters
    ----------
    process : Process
    gently : int
        The signal that asks.
    patience_s : float
        Seconds until it is killed.
    """
    if process.poll() is None:
        _signal(process, gently)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
            process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return process.returncode


def _signal(process: Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def wait_for_text(process: Process, stream: IO[bytes], wanted: bytes, interrupt: Interrupt) -> bytes:
    """Read a process's output until a word shows up or it ends; what was read. Gives up after 10 s.

    Parameters
    ----------
    process : Process
    stream : IO[bytes]
        Its output.
    wanted : bytes
        The word.
    interrupt : Interrupt
        Checked while waiting.

    Returns
    -------
    bytes
        What was read; without the word if the process ended or the time was over.
    """
    seen = b""
    deadline = time.monotonic() + 10.0
    while wanted not in seen and time.monotonic() < deadline:
        interrupt.check()
        ready, _, _ = select.select([stream.fileno(), interrupt.fileno()], [], [], 0.2)
        if stream.fileno() in ready:
            part = os.read(stream.fileno(), 65_536)
            if not part:
                break
            seen += part
        elif process.poll() is not None:
            break
    return seen
