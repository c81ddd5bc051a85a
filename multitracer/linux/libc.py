"""The C library, and what the kernel does with children whose parent dies."""

from __future__ import annotations

import ctypes
import functools
import signal

_PR_SET_PDEATHSIG = 1


@functools.cache
def libc() -> ctypes.CDLL:
    """The C library; the system's error numbers are kept for `ctypes.get_errno`."""
    return ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Called in a new child: this signal comes when its parent dies, however that dies (prctl(2))."""
    libc().prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
