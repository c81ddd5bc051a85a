"""Processes that try mutants one after another, watched from outside.

A fault of Python ends in the worker itself. What stops it, such as a signal of the processor, an abort in
the core or a lock that is never released, is noticed by the process that started it: the mutant is kept, and
another worker goes on behind it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

MEMORY_BYTES = 5 << 30
ONE_WORKER = 1_000
"""Mutants of one process: what a library keeps does not add up to a fault."""
HANGS_S = 900.0
"""On the clock, after which a worker is ended: later than it would end the command by itself."""


@dataclass(frozen=True)
class Mutant:
    """What a worker begins with.

    Attributes
    ----------
    number : int
        With the seed, all that is needed to make it again.
    name : str
        Of the input that was damaged.
    words : tuple of str
        Command and arguments.
    """

    number: int
    name: str
    words: tuple[str, ...]


Begin = Callable[[int, Path, Path], Mutant]
"""Writes the mutant of a number into an empty directory; the other is for what the command makes."""
Judge = Callable[[Mutant, Path], str | None]
"""What is wrong with how the command ended, whose output is in the directory."""
Found = tuple[Mutant, str | None, Path]
"""A mutant, what was wrong, and its directory, which is there until the next is asked for."""


@dataclass
class _Worker:
    folder: Path
    numbers: range
    process: BaseProcess
    pipe: Connection[Any, Any]
    mutant: Mutant | None = None
    since_s: float = field(default_factory=time.monotonic)

    def fault(self) -> str | None:
        """How the process ended, if not by itself."""
        self.process.join()
        code = self.process.exitcode or 0
        if not code:
            return None
        if time.monotonic() - self.since_s > HANGS_S:
            return f"worker: nothing for {HANGS_S:g} s"
        return f"worker: status {code}" if code > 0 else f"worker: {signal.Signals(-code).name}"

    def kill(self) -> None:
        """End it with all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)


def each(
    numbers: range, jobs: int, folder: Path, seconds: float, begin: Begin, judge: Judge
) -> Iterator[Found]:
    """Try the mutants of these numbers, each in one of several workers.

    Parameters
    ----------
    numbers : range
        Each worker tries one of so many.
    jobs : int
        Workers at a time.
    folder : Path
        For their directories.
    seconds : float
        No mutant is begun later.
    begin, judge : callable
        Called in a worker.
    """
    end_s = time.monotonic() + seconds
    context = multiprocessing.get_context("fork")

    def start(place: Path, own: range) -> _Worker:
        pipe, other = context.Pipe()
        process = context.Process(target=_work, args=(own[:ONE_WORKER], place, end_s, begin, judge, other))
        process.start()
        other.close()
        return _Worker(place, own, process, pipe)

    workers = [start(folder / f"worker-{one}", numbers[one::jobs]) for one in range(jobs)]
    try:
        while workers:
            ready = wait([one.pipe for one in workers], timeout=min(10.0, HANGS_S))
            for worker in [one for one in workers if one.pipe in ready]:
                said = None
                with contextlib.suppress(EOFError, OSError):
                    said = worker.pipe.recv()
                if said is None:
                    workers.remove(worker)
                    fault = worker.fault()
                    if fault is not None and worker.mutant is None:
                        raise RuntimeError(f"mutant {worker.numbers[0]} could not be made: {fault}")
                    if fault is not None and worker.mutant is not None:
                        yield worker.mutant, fault, worker.folder / "run"
                    if worker.numbers and time.monotonic() < end_s:
                        workers.append(start(worker.folder, worker.numbers))
                    continue
                worker.since_s = time.monotonic()
                if isinstance(said, Mutant):
                    worker.mutant, worker.numbers = said, worker.numbers[1:]
                elif worker.mutant is not None:
                    mutant, worker.mutant = worker.mutant, None
                    yield mutant, said[0], worker.folder / "run"
                    worker.pipe.send(True)
            for worker in workers:
                if time.monotonic() - worker.since_s > HANGS_S:
                    worker.kill()
    finally:
        for worker in workers:
            worker.kill()


def _work(
    numbers: range, folder: Path, end_s: float, begin: Begin, judge: Judge, pipe: Connection[Any, Any]
) -> None:
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    run, made = folder / "run", folder / "made"
    for number in numbers:
        if time.monotonic() >= end_s:
            return
        shutil.rmtree(folder, ignore_errors=True)
        run.mkdir(parents=True)
        made.mkdir()
        mutant = begin(number, run, made)
        pipe.send(mutant)
        pipe.send((judge(mutant, made),))
        pipe.recv()
