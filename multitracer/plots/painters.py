"""Pictures drawn in processes of their own, while this one goes on: matplotlib takes a quarter second each.

A process is started from nothing, as those of a batch are: no locks, threads or memory of this one are in it.
What it does not draw for any reason is drawn here, so that pictures and errors are the same.
"""

from __future__ import annotations

import io
import pickle
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple, Self

from multitracer.model import processes
from multitracer.plots.mpl import png, renderer as mpl
from multitracer.plots.panel import Figure
from multitracer.plots.theme import ThemeName

MOST = 3
"""Processes at most: each takes 90 MB."""
LARGEST_BYTES = 20_000_000
"""Of a figure that is passed on; a larger one is drawn here."""


class Picture(NamedTuple):
    """What is to be drawn.

    Attributes
    ----------
    figure : Figure
    theme : ThemeName
    size : tuple of float
        Width and height in inches.
    dpi : float
    colors : int or None
        As of `multitracer.plots.mpl.png.write`.
    """

    figure: Figure
    theme: ThemeName
    size: tuple[float, float]
    dpi: float
    colors: int | None = None

    def png(self) -> bytes:
        """Draw it."""
        drawn = mpl.draw(self.figure, size=self.size, dpi=self.dpi, theme=self.theme)
        buffer = io.BytesIO()
        png.write(drawn, buffer, colors=self.colors)
        return buffer.getvalue()


Begin = Callable[[Picture], Callable[[], bytes]]
"""Begins a picture; what it returns waits for the PNG."""


def here(picture: Picture) -> Callable[[], bytes]:
    """No other process: the picture is drawn when it is wanted."""
    return picture.png


class Painters:
    """Processes that draw, as many as there are cores; each is started when there is something to draw.

    Use it as a context: its end is theirs.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(min(processes.cores(), MOST), thread_name_prefix="painter")
        self._own = threading.local()
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._started:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._started:
            process.communicate()

    def begin(self, picture: Picture) -> Callable[[], bytes]:
        """Let a process draw a picture; the result waits for it."""
        job = pickle.dumps(picture)
        if processes.cores() == 1 or len(job) > LARGEST_BYTES:
            return picture.png
        try:
            drawn = self._threads.submit(self._drawn, job)
        except RuntimeError:  # no room for a thread
            return picture.png
        return lambda: drawn.result() or picture.png()

    def _drawn(self, job: bytes) -> bytes | None:
        """What the process of this thread makes of a job; None if it could not."""
        try:
            if not hasattr(self._own, "process"):
                self._own.process = _started()
                self._started.append(self._own.process)
            pipes = self._own.process
            pipes.stdin.write(job)
            pipes.stdin.flush()
            drawn: bytes | None = pickle.load(pipes.stdout)
        except (OSError, ValueError, EOFError, MemoryError, pickle.UnpicklingError):
            return None
        return drawn


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        processes.command("multitracer.plots.painter"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=processes.environment(),
        start_new_session=True,  # Ctrl-C is for this process
    )
