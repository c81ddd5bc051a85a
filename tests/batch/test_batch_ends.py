"""Each exit status that docs/exit-status.md gives to a batch, by a batch that ends so."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support_samples import PATIENCE_S, ROOT, SAMPLES, Run

from multitracer.batch.storage import LocalStore

PAGE = (ROOT / "docs" / "exit-status.md").read_text(encoding="utf-8")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """One measurement that can be analysed, and one that cannot."""
    for name in ("good", "bad"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    shutil.copy(SAMPLES / "backoff" / "snd.pcap", tmp_path / "runs" / "good")
    (tmp_path / "runs" / "bad" / "snd.pcap").write_bytes(b"no capture")
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, ()),
        (0, ("--max-spurious", "1000", "--fail-on", "timeouts>1000")),
        (2, ("--no-such-option",)),
        (2, ("--fail-on", "colour>5")),
        (2, ("--fail-on", "slowdown>5")),
        (2, ("--baseline", "nowhere")),
        (2, ("--time-limit", "0")),
        (2, ("--memory-limit", "much")),
        (2, ("--partition-by", "colour")),
        (3, ("--parameters", "nowhere.csv")),
        (3, ("--filter", "host 192.0.2.77")),
        (4, ("--strict",)),
        (5, ("--min-utilization", "100")),
        (5, ("--fail-on", "timeouts>0")),
        (5, ("--strict", "--fail-on", "timeouts>0")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_a_batch_ends_with_the_status_of_the_page(
    status: int, words: tuple[str, ...], runs: Path, run: Run
) -> None:
    done = run("batch", runs, "-o", runs.parent / "out", "-j", "1", "--pages", "none", *words)
    assert done.returncode == status, done.stderr
    assert re.search(rf"^\| {status} \|", PAGE, re.MULTILINE)
    if status in (2, 3):
        assert "Traceback" not in done.stderr


def test_nothing_that_can_be_analysed(runs: Path, run: Run) -> None:
    shutil.rmtree(runs / "good")
    assert run("batch", runs, "-o", runs.parent / "out", "-j", "1", "--strict").returncode == 3
    assert run("batch", runs / "missing", "-o", runs.parent / "out").returncode == 3


def test_two_batches_in_one_directory(runs: Path, run: Run) -> None:
    out = runs.parent / "out"
    lock = LocalStore(str(out)).lock()
    done = run("batch", runs, "-o", out, "-j", "1")
    os.close(lock)
    assert done.returncode == 2
    assert "another batch run writes here" in done.stderr
    assert run("batch", runs, "-o", out, "-j", "1", "--pages", "none").returncode == 0


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_ends_it_and_its_processes(
    number: signal.Signals, status: int, runs: Path, run: Run
) -> None:
    """As soon as it has begun to write."""
    out = runs.parent / "out"
    words = [sys.executable, "-m", "multitracer", "batch", str(runs), "-o", str(out), "-j", "1"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    with process:
        until = time.monotonic() + PATIENCE_S
        while not (out / "batch.txt").exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.002)
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == status, said
    assert len(said.strip().splitlines()) == 1
    assert not [path for path in out.rglob(".multitracer-*") if path.is_file()]
    assert not (out / "batch.json").exists()
    # What was finished is kept, and the rest is made now.
    assert run("batch", runs, "-o", out, "-j", "1", "--pages", "none").returncode == 0
