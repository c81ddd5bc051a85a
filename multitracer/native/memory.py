"""Memory that is given back to the system between the steps of much work."""

from __future__ import annotations

MANY = 100_000
"""Segments from which on it is worth giving back what a step took besides its results."""


def give_back() -> None:
    """Give memory back that was taken and freed: glibc keeps it between what is still held.

    So it does with that of threads of the core that have ended.
    """
    import contextlib
    import ctypes  # NumPy has loaded both

    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
