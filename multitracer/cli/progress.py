"""Progress on stderr, only where a person looks at it, and only of what takes a while."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Step = Callable[[int, int, str], None]

WAIT_S = 0.4
"""A shorter bar is not noticed; loading rich takes longer than reading a small capture."""


@contextmanager
def progress(verb: str) -> Iterator[Step | None]:
    """A bar on stderr while the block runs, once that has taken a while.

    Yields
    ------
    callable or None
        ``step(done, total, what)``; None if stderr is no terminal: rich is not loaded.
    """
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(verb)
    try:
        yield bar.step
    finally:
        bar.end()


class _Bar:
    """A bar that a thread of its own draws after a while, unless it has ended by then."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._lock = threading.Lock()
        self._drawn: tuple[Progress, TaskID] | None = None
        self._step: tuple[int, int | None, str] = (0, None, "")
        self._timer = threading.Timer(WAIT_S, self._appear)
        self._timer.daemon = True
        self._timer.start()

    def step(self, done: int, total: int, what: str) -> None:
        """How far it is, and what is done next."""
        with self._lock:
            self._step = done, total, what
            self._update()

    def end(self) -> None:
        """Remove it."""
        self._timer.cancel()
        self._timer.join()
        if self._drawn is not None:
            self._drawn[0].stop()

    def _appear(self) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        from multitracer.cli.terminal import Console

        bar = Progress(
            SpinnerColumn(),
            TextColumn(self._verb),
            BarColumn(bar_width=24),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        with self._lock:
            self._drawn = bar, bar.add_task("", total=None)
            self._update()
            bar.start()

    def _update(self) -> None:
        if self._drawn is not None:
            bar, task = self._drawn
            done, total, what = self._step
            bar.update(task, completed=done, total=total, description=_named(what))


def _named(what: str) -> str:
    """A file with its size: the size shows how long it may take."""
    try:
        size = os.path.getsize(what)
    except OSError:
        return what
    return f"{os.path.basename(what)} ({size / 1e6:.1f} MB)"
