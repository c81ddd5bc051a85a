"""Progress on stderr, only where a person looks at it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Step = Callable[[int, int, str], None]


@contextmanager
def progress(verb: str) -> Iterator[Step | None]:
    """A bar on stderr while the block runs.

    Yields
    ------
    callable or None
        ``step(done, total, what)``; None if stderr is no terminal: rich is not loaded.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from multitracer.cli.terminal import Console

    bar = Progress(
        SpinnerColumn(),
        TextColumn(verb),
        BarColumn(bar_width=24),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None)

        def step(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=_named(what))

        yield step


def _named(what: str) -> str:
    """A file with its size: the size says how long it may take."""
    try:
        size = os.path.getsize(what)
    except OSError:
        return what
    return f"{os.path.basename(what)} ({size / 1e6:.1f} MB)"
