"""Ctrl-C and termination as a question that a run asks at safe points.

An exception out of a signal handler can strike between starting a process and noting that it was started.
A flag cannot: no state is left because nothing is ever interrupted half-way.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from contextlib import suppress
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupt:
    """Within the context SIGINT, SIGTERM and SIGHUP only set a flag.

    In a thread that is not the main one, signals go where they went before.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True
        with suppress(BlockingIOError):
            os.write(self._write, b"!")

    def fileno(self) -> int:
        """Readable once a signal came: wakes a select."""
        return self._read

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal came."""
        if self.requested:
            raise KeyboardInterrupt

    def wait(self, seconds: float) -> None:
        """Sleep, but not through a signal, nor after one."""
        if not self.requested:
            select.select([self._read], [], [], max(seconds, 0))

    def sleep(self, seconds: float) -> None:
        """Sleep; raise KeyboardInterrupt if a signal came before or during it."""
        self.wait(seconds)
        self.check()
