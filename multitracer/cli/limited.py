"""Where the system limits a process's memory (``ulimit -v``, ``-d``), a second process watches the work.

A library that cannot allocate may raise anything, print pages, end the process or crash it. So the work is
done in a child whose messages are held back; its parent, which needs no memory, says one line in their place.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

LONG = frozenset({"record", "doctor", "lab", "--follow", "--serve"})
"""What goes on for long and tells of itself meanwhile: it is not watched."""
LONG_ON_A_TERMINAL = LONG | {"batch"}
"""The same where somebody looks on; in a job of a cluster, a batch has nobody to tell of its progress."""
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP)
_OURS = b"multitracer: error: "


def is_limited() -> bool:
    """Whether this process may take less memory, or less space of addresses, than there is."""
    import resource

    limits = (resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return any(limit != resource.RLIM_INFINITY for limit in limits)


def watched(
    words: Sequence[str], no_room: int, no_memory: Sequence[str], sentence: str
) -> tuple[int, bytes] | None:
    """Go on in a child, and wait for it here.

    Parameters
    ----------
    words : sequence of str
        What the command line was given.
    no_room : int
        The status of a command that found no memory.
    no_memory : sequence of str
        What is said, in lower case, where there is none.
    sentence : str
        The line in the place of all that.

    Returns
    -------
    tuple or None
        In the parent: status and messages of the child. None in the child, and where nothing is watched.
    """
    long = LONG_ON_A_TERMINAL if os.isatty(2) else LONG
    if long.intersection(words) or not hasattr(os, "memfd_create") or not is_limited():
        return None
    held = os.memfd_create("messages")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [*_PASSED_ON, signal.SIGCHLD])
    child = os.fork()
    if not child:
        os.dup2(held, sys.__stderr__.fileno() if sys.__stderr__ is not None else 2)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return None
    status = _wait(child)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    messages = os.pread(held, os.fstat(held).st_size, 0)
    return judged(status, messages, no_room, no_memory, sentence)


def judged(
    status: int, messages: bytes, no_room: int, no_memory: Sequence[str], sentence: str
) -> tuple[int, bytes]:
    """What is told of a child that ended.

    Parameters
    ----------
    status : int
        Its exit status, or the negated number of the signal that ended it.
    messages : bytes
        What it wrote to standard error.
    no_room, no_memory, sentence
        As of `watched`.

    Returns
    -------
    tuple
        Exit status and messages: one line where memory was what it lacked.
    """
    if status == no_room:
        said = [line for line in messages.splitlines(keepends=True) if line.startswith(_OURS)]
        return no_room, said[-1] if said else sentence.encode() + b"\n"
    text = messages.decode("utf-8", "replace").lower()
    unheard = status in (1, 120) and any(words in text for words in ("memoryerror", *no_memory))
    if unheard or -status in _CRASHES:
        return no_room, sentence.encode() + b"\n"
    return (status if status >= 0 else 128 - status), messages


def _wait(child: int) -> int:
    """The end of the child; signals that were meant for it go on to it."""
    while True:
        got = signal.sigwaitinfo([*_PASSED_ON, signal.SIGCHLD])
        if got.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        elif got.si_code <= 0:  # from a process; what a terminal sends, the child has already
            with suppress(ProcessLookupError):
                os.kill(child, got.si_signo)
