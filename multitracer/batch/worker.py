"""The process that a `Guard` starts: one JSON line in, one out."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import warnings
from typing import IO, Any

from multitracer.model.errors import MultiTracerError


def main() -> None:
    """Answer jobs until standard input ends."""
    limits = json.loads(sys.argv[1])
    # Nothing that prints may get into the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    from multitracer.batch.work import process

    _limit_memory(int(limits["memory_bytes"]))
    jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, jobs), daemon=True).start()
    while True:
        job = json.loads(jobs.get())
        outcome = _attempt(process, job)
        outcome["rss_bytes"] = _resident_bytes()
        answers.write(json.dumps(outcome, allow_nan=False).encode() + b"\n")
        answers.flush()


def _listen(pipe: IO[bytes], jobs: queue.SimpleQueue[bytes]) -> None:
    """Pass jobs on; when the parent has ended, the results of running jobs are not read."""
    for line in pipe:
        jobs.put(line)
    os._exit(0)


def _attempt(process: Any, job: dict[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = process(job)
        return found
    except MemoryError:
        kind, text = "memory-limit", "needs more memory than the limit of one worker"
    except MultiTracerError as error:
        kind, text = "output", str(error)  # what the traces cause is a result already: this is the output
    except Exception as error:
        kind, text = "fault", f"{type(error).__name__}: {error}"
    return {
        "record": {"name": job["name"], "status": "failed", "error": {"kind": kind, "text": text}},
        "cached": False,
    }


def _limit_memory(limit_bytes: int) -> None:
    if limit_bytes:
        import resource

        # Data, not address space: threads and libraries reserve far more of that than they use.
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        limit = limit_bytes if most == resource.RLIM_INFINITY else min(limit_bytes, most)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


if __name__ == "__main__":
    main()
