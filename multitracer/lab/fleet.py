"""Many measurements side by side, each a process of its own: scenario x parameter grid x seeds.

```toml
[[runs]]
scenario = "figure-8-resets-vj"     # built-in, or the path of a file beside this one
seeds = "1-5"                       # or a list
set = { "flow.bytes" = 230000 }     # changes of every run of this block
label = "resets"                    # optional: first part of the directories' names

[runs.grid]                         # every combination
"link.vj" = [true, false]
"link.n2" = [6, 20]
```
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multitracer.lab.library import load, names
from multitracer.lab.measurement_dir import is_complete
from multitracer.lab.requirements import require
from multitracer.lab.scenario import Scenario
from multitracer.linux.interrupt import Interrupt
from multitracer.linux.libc import die_with_parent
from multitracer.model.errors import UnreadableFile, UsageError

_MOST_RUNS = 100_000
_STAGGER_S = 0.3
_NAME_LIMIT = 120


@dataclass(frozen=True)
class Job:
    """One run of a fleet.

    Attributes
    ----------
    scenario : str
        Name or path.
    values : mapping
        Settings by dotted key.
    seed : int
    name : str
        Of its directory below the fleet's root.
    """

    scenario: str
    values: Mapping[str, Any]
    seed: int
    name: str

    def load(self) -> Scenario:
        """The checked scenario."""
        return load(self.scenario, values=self.values)


@dataclass
class Outcome:
    """What became of a job.

    Attributes
    ----------
    job : Job
    status : str
        "done", "skipped" (was there already), "failed" or "interrupted".
    seconds : float
        Length of the transfer.
    error : str
    warnings : list of str
    """

    job: Job
    status: str
    seconds: float = 0.0
    error: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass
class _Worker:
    job: Job
    process: subprocess.Popen[bytes]
    pending: bytes = b""
    received: int = 0
    total: int = 0
    outcome: Outcome | None = None


Report = Callable[[Outcome | None, Sequence[tuple[str, int, int]], int], None]


def read_fleet(path: str) -> list[Job]:
    """The jobs of a fleet file, all of them checked.

    Raises
    ------
    UnreadableFile, UsageError
        The file cannot be read, or asks for something that makes no sense.
    """
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    blocks = table.get("runs")
    if not isinstance(blocks, list) or not blocks or set(table) - {"runs"}:
        raise UsageError(f"{path}: [[runs]] blocks are needed, and nothing else")
    jobs: list[Job] = []
    for block in blocks:
        jobs.extend(_block(path, block, _MOST_RUNS - len(jobs)))
    doubled = [
        name for name, group in itertools.groupby(sorted(job.name for job in jobs)) if len([*group]) > 1
    ]
    if doubled:
        raise UsageError(f"{path}: two runs would be called {doubled[0]}; give one block a label")
    return jobs


def run_fleet(jobs: Sequence[Job], root: str, parallel: int, report: Report | None = None) -> list[Outcome]:
    """Make all measurements that are not there yet; a failed one does not stop the others.

    Parameters
    ----------
    jobs : sequence of Job
    root : str
        Directory for the measurements' directories.
    parallel : int
        Runs at a time. They wait more than they compute: many more than the processor has cores are possible
        on slow links.
    report : callable, optional
        ``report(outcome, running, waiting)`` after every outcome (then given) and some times a second;
        `running` lists name, bytes received and in total.

    Returns
    -------
    list of Outcome
        One for each job, in their order.

    Raises
    ------
    UsageError
        If `parallel` is less than 1.
    LabError
        The machine lacks something.
    KeyboardInterrupt
        After every active run has cleaned up.
    """
    if parallel < 1:
        raise UsageError("--jobs: at least 1")
    waiting = []
    outcomes: list[Outcome] = []
    for job in jobs:
        if is_complete(os.path.join(root, job.name)):
            outcomes.append(Outcome(job, "skipped"))
        else:
            waiting.append(job)
    if waiting:
        require(sorted({program for job in waiting for program in job.load().programs}))
    os.makedirs(root, exist_ok=True)
    with Interrupt() as interrupt:
        fleet = _Fleet(root, parallel, interrupt, report)
        for outcome in outcomes:
            fleet.tell(outcome, len(waiting))
        outcomes.extend(fleet.work(waiting))
    order = {job.name: number for number, job in enumerate(jobs)}
    return sorted(outcomes, key=lambda outcome: order[outcome.job.name])


class _Fleet:
    def __init__(self, root: str, parallel: int, interrupt: Interrupt, report: Report | None) -> None:
        self._root, self._parallel, self._interrupt, self._report = root, parallel, interrupt, report
        self._running: dict[int, _Worker] = {}

    def tell(self, outcome: Outcome | None, waiting: int) -> None:
        if self._report is not None:
            running = [(worker.job.name, worker.received, worker.total) for worker in self._running.values()]
            self._report(outcome, running, waiting)

    def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        waiting = list(reversed(jobs))
        outcomes: list[Outcome] = []
        next_start = 0.0
        try:
            while waiting or self._running:
                self._interrupt.check()
                # Set-up takes a burst of processor time that would disturb the clocks of the others.
                if waiting and len(self._running) < self._parallel and time.monotonic() >= next_start:
                    self._start(waiting.pop())
                    next_start = time.monotonic() + _STAGGER_S
                ended = self._listen(0.1)
                outcomes.extend(ended)
                for outcome in ended:
                    self.tell(outcome, len(waiting))
                self.tell(None, len(waiting))
        finally:
            self._stop_all()
        return outcomes

    def _start(self, job: Job) -> None:
        source = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
        process = subprocess.Popen(
            [sys.executable, "-m", "multitracer.lab.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_parent,
            env={**os.environ, "PYTHONPATH": path},
        )
        out = os.path.join(self._root, job.name)
        order = {"scenario": job.scenario, "values": dict(job.values), "seed": job.seed, "out": out}
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(order).encode())
        process.stdin.close()
        self._running[process.stdout.fileno()] = _Worker(job, process)

    def _listen(self, longest_s: float) -> list[Outcome]:
        ready, _, _ = select.select([*self._running, self._interrupt.fileno()], [], [], longest_s)
        ended = []
        for fd in ready:
            if fd not in self._running:
                continue
            worker = self._running[fd]
            part = os.read(fd, 65_536)
            if part:
                lines = (worker.pending + part).split(b"\n")
                worker.pending = lines.pop()
                for line in lines:
                    _note(worker, line)
            else:
                del self._running[fd]
                ended.append(_ended(worker))
        return ended

    def _stop_all(self) -> None:
        for worker in self._running.values():
            worker.process.send_signal(signal.SIGTERM)
        for worker in self._running.values():
            # What it still prints fits into its output pipe; cleaning up takes it some seconds at most.
            try:
                worker.process.wait(30)
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            assert worker.process.stdout is not None
            worker.process.stdout.close()
        self._running.clear()


def _note(worker: _Worker, line: bytes) -> None:
    try:
        facts = json.loads(line)
    except ValueError:
        facts = {"error": line.decode(errors="replace")}
    if "total" in facts:
        worker.received, worker.total = facts["received"], facts["total"]
    elif facts.get("done"):
        worker.outcome = Outcome(worker.job, "done", facts["seconds"], warnings=facts["warnings"])
    elif worker.outcome is None or worker.outcome.status == "failed":
        worker.outcome = Outcome(worker.job, "failed", error=str(facts.get("error", line)))


def _ended(worker: _Worker) -> Outcome:
    assert worker.process.stdout is not None
    worker.process.stdout.close()
    status = worker.process.wait()
    if worker.outcome is None or (status and worker.outcome.status == "done"):
        return Outcome(worker.job, "failed", error=f"the run ended with status {status}")
    return worker.outcome


def _end_with_parent() -> None:
    die_with_parent(signal.SIGTERM)


def _block(path: str, block: Any, room: int) -> list[Job]:
    known = {"scenario", "seeds", "set", "grid", "label"}
    if not isinstance(block, Mapping) or set(block) - known:
        raise UsageError(f"{path}: a block of runs takes {', '.join(sorted(known))}")
    scenario = block.get("scenario")
    if not isinstance(scenario, str):
        raise UsageError(f"{path}: scenario: a name or a path is needed")
    if scenario not in names() and not os.path.isabs(scenario):
        scenario = os.path.join(os.path.dirname(os.path.abspath(path)), scenario)
    common, grid = block.get("set", {}), block.get("grid", {})
    if not isinstance(common, Mapping) or not isinstance(grid, Mapping):
        raise UsageError(f"{path}: set and grid are tables of dotted keys")
    for key, choices in grid.items():
        if not isinstance(choices, list) or not choices:
            raise UsageError(f"{path}: grid: {key}: a list of values is needed")
    seeds = _seeds(path, block.get("seeds", [1]))
    size = len(seeds)
    for choices in grid.values():
        size *= len(choices)
    if size > room:
        raise UsageError(f"{path}: more than {_MOST_RUNS} runs")
    label = str(block.get("label", os.path.basename(scenario).removesuffix(".toml")))
    jobs: list[Job] = []
    for picked in itertools.product(*grid.values()):
        choice = dict(zip(grid, picked, strict=True))
        values = {**common, **choice}
        load(scenario, values=values)  # reports errors before anything runs
        jobs.extend(Job(scenario, values, seed, _name(label, choice, seed)) for seed in seeds)
    return jobs


def _seeds(path: str, given: Any) -> list[int]:
    if isinstance(given, str) and (match := re.fullmatch(r"(\d{1,9})-(\d{1,9})", given)):
        low, high = int(match[1]), int(match[2])
        if low <= high < low + _MOST_RUNS:
            return list(range(low, high + 1))
    if isinstance(given, list) and given and all(isinstance(seed, int) for seed in given):
        return [int(seed) for seed in given]
    raise UsageError(f'{path}: seeds: a list of numbers or a range "1-10" is needed, not {given!r}')


def _name(label: str, choice: Mapping[str, Any], seed: int) -> str:
    parts = [label, *(f"{key}={json.dumps(value)}" for key, value in choice.items()), f"seed={seed}"]
    name = "_".join(re.sub(r"[^A-Za-z0-9.=+-]+", "-", part).strip("-") for part in parts)
    if len(name) > _NAME_LIMIT:
        digest = hashlib.sha256("_".join(parts).encode()).hexdigest()[:12]
        name = f"{name[: _NAME_LIMIT - 30]}_{digest}_seed={seed}"
    return name
