"""Where the system limits a process's memory (``ulimit -v``, ``-d``), a second process watches the work.

A library that cannot allocate may raise anything, print pages, end the process or crash it; and Python before
3.14 may try for ever, where it finds no room for the number of an instruction while it looks for who handles
the exception (gh-132508). So the work is done in a child whose messages are held back; its parent, which
needs no memory, ends it when it makes no progress, and prints one line instead of its messages.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

LONG = frozenset({"record", "doctor", "lab", "--follow", "--serve"})
"""Commands that run for long and report their progress: they are not watched."""
LONG_ON_A_TERMINAL = LONG | {"batch"}
"""The same at a terminal; in a job of a cluster, the progress of a batch is not read."""
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP)
_OURS = b"multitracer: error: "
LOOK_S = 1.0
_LOOKS = 5
"""So many looks in a row at a child that takes all it may, works, and gets nothing: it is ended."""
_FULL_BYTES = 128 << 10
"""So little is left of what it may take: less than a library asks for at once."""


def is_limited() -> bool:
    """Whether this process may take less memory, or less space of addresses, than there is."""
    return any(limit is not None for limit in _limits_bytes())


def _limits_bytes() -> tuple[int | None, int | None]:
    """What this process may take of addresses and of data, or None."""
    import resource

    limits = (resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    addresses, data = (None if limit == resource.RLIM_INFINITY else limit for limit in limits)
    return addresses, data


def watched(
    words: Sequence[str], no_room: int, no_memory: Sequence[str], sentence: str
) -> tuple[int, bytes] | None:
    """Continue in a child, and wait for it here.

    Parameters
    ----------
    words : sequence of str
        What the command line was given.
    no_room : int
        The status of a command that found no memory.
    no_memory : sequence of str
        The message, in lower case, where there is none.
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
    """What is reported of a child that ended.

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


class Taken(NamedTuple):
    """What a process has taken: bytes of addresses, of memory and of data, and ticks of processor time."""

    addresses: int
    resident: int
    data: int
    ticks: int


def gets_nothing(before: Taken, now: Taken, limits_bytes: tuple[int | None, int | None]) -> bool:
    """Whether a process that may take nothing more worked between two looks, and has what it had.

    Parameters
    ----------
    before, now : Taken
        What it had at either look.
    limits_bytes : tuple
        What it may take of addresses and of data; None without a limit.
    """
    addresses, data = limits_bytes
    full = (addresses is not None and now.addresses > addresses - _FULL_BYTES) or (
        data is not None and now.data > data - _FULL_BYTES
    )
    return full and before[:3] == now[:3] and now.ticks > before.ticks


def _wait(child: int) -> int:
    """The end of the child; signals are forwarded to it."""
    limits_bytes, looks, before = _limits_bytes(), 0, None
    while True:
        got = signal.sigtimedwait([*_PASSED_ON, signal.SIGCHLD], LOOK_S)
        if got is None:
            now = _taken(child)
            stands = now is not None and before is not None and gets_nothing(before, now, limits_bytes)
            looks, before = looks + 1 if stands else 0, now
            if looks == _LOOKS:
                os.kill(child, signal.SIGABRT)
        elif got.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        elif got.si_code <= 0:  # from a process; what a terminal sends, the child has already
            with suppress(ProcessLookupError):
                os.kill(child, got.si_signo)


def _taken(process: int) -> Taken | None:
    try:
        with open(f"/proc/{process}/statm", "rb") as statm, open(f"/proc/{process}/stat", "rb") as stat:
            pages = [int(word) * os.sysconf("SC_PAGE_SIZE") for word in statm.read().split()]
            # After the name in brackets, which may hold anything: the state is the third field of proc(5).
            fields = stat.read().rpartition(b")")[2].split()
        return Taken(pages[0], pages[1], pages[5], int(fields[11]) + int(fields[12]))
    except (OSError, ValueError, IndexError):
        return None
