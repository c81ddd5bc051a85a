"""A campaign: many small measurements in the lab, each left as three captures and one file of truth."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from fieldwork.scenarios import scenario
from multitracer.lab.fleet import Job, Outcome, run_fleet
from multitracer.model import toml

POINTS = ("snd", "mid", "rcv")


def make(
    out: Path, runs: int, seed: int, families: Sequence[str], jobs: int, say: Callable[[str], None]
) -> int:
    """Make what is not there yet of a campaign; how many runs failed.

    Run N of a family is the same whatever the number of runs, so that a campaign can be enlarged.
    """
    folder = out / ".scenarios"
    folder.mkdir(parents=True, exist_ok=True)
    wanted: list[Job] = []
    for number in range(runs):
        family = families[number % len(families)]
        index = number // len(families)
        name = f"{family}-{seed}-{index:04}"
        if (out / name / "truth.json").exists():
            continue
        file = folder / f"{name}.toml"
        file.write_text(toml_of(scenario(family, seed, index)))
        wanted.append(Job(str(file), {}, seed * 100_000 + index, name))
    return run_jobs(wanted, out, jobs, say)


def run_jobs(wanted: Sequence[Job], out: Path, jobs: int, say: Callable[[str], None]) -> int:
    """Run transfers in the lab and pack each into `out`; how many failed."""
    raw = out / ".raw"
    failed = 0

    def report(outcome: Outcome | None, _running: object, waiting: int) -> None:
        nonlocal failed
        if outcome is None:
            return
        if outcome.status == "done":
            pack(raw / outcome.job.name, out / outcome.job.name)
        elif outcome.status == "failed":
            failed += 1
        note = "; ".join([outcome.error, *outcome.warnings]).strip("; ")
        say(f"{outcome.job.name}: {outcome.status} {outcome.seconds:.1f} s, {waiting} to go {note}")

    run_fleet(wanted, str(raw), jobs, report)
    shutil.rmtree(raw, ignore_errors=True)
    return failed


def pack(source: Path, target: Path) -> None:
    """Leave the captures and one ``truth.json`` (with both kernels' counters); nothing that tells roles."""
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for point in POINTS:
        data = (source / f"{point}.pcap").read_bytes()
        (partial / f"{point}.pcap.gz").write_bytes(gzip.compress(data, 6, mtime=0))
    shutil.copy(source / "ss.log.gz", partial)
    truth = json.loads((source / "truth.json").read_text())
    kernel = json.loads((source / "kernel.json").read_text())
    truth["kernel"], truth["kernel_rcv"] = kernel["sender"], kernel["receiver"]
    (partial / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    os.rename(partial, target)
    shutil.rmtree(source)


def toml_of(table: dict[str, object]) -> str:
    """A scenario's table as TOML; lists of tables as inline tables."""
    return toml.document(
        {key: value for key, value in table.items() if key not in ("flow", "link")}
    ) + "".join(f"\n{line}" for key in ("flow", "link") for line in _nested(key, table[key]))


def _nested(name: str, value: object) -> list[str]:
    if isinstance(value, list):
        return [line for item in value for line in _section(f"[[{name}]]", name, item)]
    return _section(f"[{name}]", name, value)


def _section(head: str, name: str, table: object) -> list[str]:
    assert isinstance(table, dict)
    plain = {key: value for key, value in table.items() if not _is_table(value)}
    lines = [head, *toml.document(plain).splitlines()]
    for key, value in table.items():
        if _is_table(value):
            lines += _nested(f"{name}.{key}", value)
    return lines


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))
