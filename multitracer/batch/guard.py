"""A process of its own for measurements: killed when one takes too long, replaced when one kills it.

It is started from nothing (no fork: no locks, threads or memory of the parent are in it), speaks JSON lines
over its pipes, and ends by itself when its parent does.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from dataclasses import asdict
from typing import IO, Any

import multitracer
from multitracer.model.frozen import frozen

Job = dict[str, Any]
Outcome = dict[str, Any]

_TAIL = 400
_LONGEST_S = 3600.0  # of one wait: the system counts milliseconds in 32 bits


@frozen
class Limits:
    """What one measurement may take.

    Attributes
    ----------
    seconds : float
        Time.
    memory_bytes : int
        Memory of the process that analyses it; 0 for no limit.
    """

    seconds: float = 600.0
    memory_bytes: int = 0


class Guard:
    """One such process, started when first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._memory_bytes = 0

    def run(self, job: Job, limits: Limits) -> Outcome:
        """Hand over a job and wait for its outcome, or for its end.

        Returns
        -------
        dict
            The worker's outcome, or one of status "failed" with the reason why the worker ended.
        """
        if (
            self._process is None
            or self._process.poll() is not None
            or self._memory_bytes != limits.memory_bytes
        ):
            self._start(limits)
        process, errors = self._process, self._errors
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        assert errors is not None
        errors.seek(0)
        errors.truncate()
        try:
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
            line = _line(process.stdout, limits.seconds)
        except BrokenPipeError:
            line = b""
        if line is None:
            self.close()
            return lost(
                job, "time-limit", f"took longer than the limit of {limits.seconds:g} s and was stopped"
            )
        if not line.endswith(b"\n"):
            return lost(job, "worker-died", self._obituary(limits))
        outcome: Outcome = json.loads(line)
        if limits.memory_bytes and outcome.get("rss_bytes", 0) > limits.memory_bytes // 2:
            self.close()  # what a large measurement took is given back
        return outcome

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        errors, self._errors = self._errors, None
        if errors is not None:
            errors.close()

    def _start(self, limits: Limits) -> None:
        self.close()
        environment = dict(os.environ)
        # One measurement, one core: the processes are many already.
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment.setdefault(name, "1")
        # -P keeps the working directory, which may hold anything, out of the imports.
        home = os.path.dirname(os.path.dirname(multitracer.__file__))
        if os.path.basename(home) not in ("site-packages", "dist-packages"):
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), home)))
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._memory_bytes = limits.memory_bytes
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "multitracer.batch.worker", json.dumps(asdict(limits))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the parent
        )

    def kill(self) -> None:
        """End the process from another thread; the thread that waits for it notices."""
        process = self._process
        if process is not None:
            with contextlib.suppress(OSError):
                process.kill()

    def __del__(self) -> None:
        self.close()

    def _obituary(self, limits: Limits) -> str:
        process, errors = self._process, self._errors
        assert process is not None
        assert errors is not None
        status = process.wait()
        errors.seek(0, os.SEEK_END)
        errors.seek(max(0, errors.tell() - _TAIL))
        last = errors.read().decode("utf-8", "replace").strip().splitlines()
        self.close()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        limit = f"; its memory limit is {limits.memory_bytes / 1e6:,.0f} MB" if limits.memory_bytes else ""
        return f"the process that analysed it {how}{limit}" + (f" ({last[-1]})" if last else "")


def _line(pipe: IO[bytes], seconds: float) -> bytes | None:
    """One line; None if the time is up, without its end if the writer went away."""
    end = time.monotonic() + seconds
    parts: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while not parts or not parts[-1].endswith(b"\n"):
            left = end - time.monotonic()
            if left <= 0 or not selector.select(min(left, _LONGEST_S)):
                if time.monotonic() >= end:
                    return None
                continue
            part = os.read(pipe.fileno(), 1 << 20)
            if not part:
                break
            parts.append(part)
    return b"".join(parts)


def lost(job: Job, kind: str, text: str) -> Outcome:
    """The outcome of a measurement whose worker did not answer. It is not kept: the next run tries again.

    Parameters
    ----------
    job : Job
        What the worker was to do.
    kind : str
        What happened: the word in the record's ``error``.
    text : str
        The same as a sentence.
    """
    record = {"name": job["name"], "status": "failed", "error": {"kind": kind, "text": text}}
    return {"record": record, "cached": False, "rss_bytes": 0}


class Guards:
    """A guard for each thread that asks."""

    def __init__(self) -> None:
        self._here = threading.local()
        self._all: weakref.WeakSet[Guard] = weakref.WeakSet()
        self._ending = False

    def run(self, job: Job, limits: Job) -> Outcome:
        """Analyse one measurement in the guarded process of this thread."""
        if self._ending:
            raise InterruptedError("the batch run is being ended")
        guard: Guard | None = getattr(self._here, "guard", None)
        if guard is None:
            guard = self._here.guard = Guard()
            self._all.add(guard)
        return guard.run(job, Limits(**limits))

    def kill(self) -> None:
        """End all processes, also those that work, and start none."""
        self._ending = True
        for guard in list(self._all):
            guard.kill()

    def close(self) -> None:
        """Let go of all processes, when no thread uses them any more."""
        for guard in list(self._all):
            guard.close()


_OURS = Guards()


def run_job(job: Job, limits: Job) -> Outcome:
    """Analyse one measurement; what executors run that are not ours."""
    return _OURS.run(job, limits)
