"""A batch whole: what it writes, what it keeps, and that nothing stops it that should not."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from support_batch import fleet, tree
from support_samples import SAMPLES, Run

import multitracer as mt
from multitracer.batch.guard import Guard, Limits
from multitracer.batch.naming import folder, record_file
from multitracer.batch.storage import LocalStore
from multitracer.model.errors import NothingToRead, UnreadableFile, UsageError


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fleet(tmp_path_factory.mktemp("fleet"))


@pytest.fixture(scope="module")
def undisturbed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("undisturbed") / "out"
    mt.batch(root, output, processes=2, pages="flagged", flag_below=99.9)
    return output


def times(output: Path) -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in output.glob("measurements/*/result.json")}


def test_two_samples_as_one_batch(run: Run, tmp_path: Path) -> None:
    names = ("flow-control", "link-resets-vj")
    runs, out = tmp_path / "runs", tmp_path / "out"
    for name in names:
        (runs / name).mkdir(parents=True)
        for file in ("snd.pcap", "rcv.pcap", "rlp.log.gz"):
            shutil.copyfile(SAMPLES / name / file, runs / name / file)
    (runs / "README.md").write_text("no trace", encoding="utf-8")
    done = run("batch", runs, "-o", out, "--pages", "none", "--json", "--min-utilization", "90")
    assert done.returncode == 5
    found = json.loads(done.stdout)
    assert (found["done"], found["failed"], found["unread"]) == (2, [], [])
    value = mt.analyze(mt.read(runs / "link-resets-vj"), only=["utilization"]).utilization.value
    assert {"name": "link-resets-vj", "utilization": value} in found["flagged"]
    told = f"link-resets-vj: utilization is {100 * value:.1f}%, the threshold is 90%"
    assert done.stderr == f"multitracer: {told}\n"
    with (out / "summary.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert sorted(rows) == sorted(names)
    assert rows["link-resets-vj"]["duplicate_bytes"] == "16520"
    again = run("batch", runs, "-o", out, "--pages", "none", "--max-spurious", "1000")
    assert again.returncode == 0
    assert "0 computed, 2 reused" in again.stdout


def test_parquet_equals_csv(undisturbed: Path) -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    parquet, text = pd.read_parquet(undisturbed / "summary.parquet"), pd.read_csv(undisturbed / "summary.csv")
    assert list(parquet.columns) == list(text.columns)
    assert parquet["bytes"].tolist() == text["bytes"].tolist()
    assert parquet["mtu"].tolist() == [576, 577, 578]


def test_python_returns_the_same_rows(root: Path, undisturbed: Path) -> None:
    found = mt.batch(root, processes=1, params=[r"window=(\d+)"])
    assert found.output is None
    frame = found.frame()
    assert frame["window"].tolist() == [8, 16, 24]
    assert found.pivot("goodput_bps", "window").cells[0].n == 1
    with (undisturbed / "summary.csv").open(encoding="utf-8", newline="") as file:
        assert [int(row["bytes"]) for row in csv.DictReader(file)] == frame["bytes"].tolist()


def test_changed_file_is_recomputed_alone(root: Path, tmp_path: Path) -> None:
    changed = tmp_path / "runs"
    shutil.copytree(root, changed)
    out = tmp_path / "out"
    mt.batch(changed, out, processes=2, pages="none")
    before = times(out)
    one = next(changed.glob("local-drops*"))
    (one / "measurement.toml").write_text("[parameters]\nmtu = 1500\n", encoding="utf-8")
    found = mt.batch(changed, out, processes=2, pages="none")
    assert found.cached == 2
    assert {name for name, at in times(out).items() if at != before[name]} == {one.name}
    assert found.frame()["mtu"].max() == 1500


def test_results_of_what_is_gone_are_removed(root: Path, run: Run, tmp_path: Path) -> None:
    fewer, out = tmp_path / "runs", tmp_path / "out"
    shutil.copytree(root, fewer)
    mt.batch(fewer, out, processes=2, pages="all")
    gone = next(fewer.glob("local-drops*"))
    kept = out / "measurements" / gone.name / "notes.txt"
    kept.write_text("by hand", encoding="utf-8")
    shutil.rmtree(gone)
    said = run("batch", fewer, "-o", out, "--pages", "all")
    assert f"gone     1  (results of the run before removed: {gone.name})" in said.stdout
    assert list(kept.parent.iterdir()) == [kept]  # nothing is removed that a run did not write
    assert gone.name not in (out / "summary.csv").read_text(encoding="utf-8")
    assert "  gone  " not in run("batch", fewer, "-o", out, "--pages", "all").stdout


def test_changed_program_recomputes(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    mt.batch(root, out, processes=2, pages="none")
    path = next(out.glob("measurements/*/result.json"))
    record = json.loads(path.read_text(encoding="utf-8"))
    record["key"] = "0" * 64  # of another program
    path.write_text(json.dumps(record), encoding="utf-8")
    other = sorted(out.glob("measurements/*/result.json"))[-1]
    other.write_bytes(other.read_bytes()[:200])  # cut short by hand: a run never leaves such
    expected = 3 - len({path, other})
    assert mt.batch(root, out, processes=2, pages="none").cached == expected


@pytest.mark.parametrize("results", [0, 1, 2])
def test_killed_and_resumed_equals_undisturbed(
    root: Path, undisturbed: Path, tmp_path: Path, results: int
) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-m", "multitracer", "batch", str(root), "-o", str(out), "-j", "1"]
    words += ["--pages", "flagged", "--flag-below", "99.9"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while len(times(out)) < results and process.poll() is None and time.monotonic() < until:
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = len(times(out))
    found = mt.batch(root, out, processes=2, pages="flagged", flag_below=99.9)
    assert found.cached >= kept - 1  # a page may be written without its record, never the other way
    assert tree(out) == tree(undisturbed)


def test_bad_measurements_stop_nothing(root: Path, tmp_path: Path, run: Run) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(root, runs)
    for name, content in (("empty", b""), ("noise", bytes(range(256)) * 8), ("toml", b"")):
        (runs / name).mkdir()
        (runs / name / "snd.pcap").write_bytes(content)
    (runs / "toml" / "measurement.toml").write_text("not = = toml", encoding="utf-8")
    done = run("batch", runs, "-o", tmp_path / "out", "--pages", "none", "--json", "--strict")
    found = json.loads(done.stdout)
    assert done.returncode == 4
    assert found["done"] == 3
    assert [one["name"] for one in found["failed"]] == ["empty", "noise", "toml"]
    assert "the file is empty" in found["failed"][0]["text"]
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "not valid TOML" in page


def test_time_limit_stops_one(tmp_path: Path, root: Path) -> None:
    guard = Guard()
    job = {"name": "a", "root": str(root), "output": str(tmp_path), "version": "x"}
    outcome = guard.run(job, Limits(seconds=0.001))
    assert outcome["record"]["error"]["kind"] == "time-limit"
    outcome = guard.run(job, Limits(seconds=60))
    assert "install the same version" in outcome["record"]["error"]["text"]
    guard.close()


def test_memory_limit_stops_one(tmp_path: Path, root: Path) -> None:
    found = mt.batch(root, tmp_path / "out", processes=1, memory_limit_bytes=1 << 20)
    kinds = {record["error"]["kind"] for record in found.failed}
    assert len(found.failed) == 3
    assert kinds <= {"memory-limit", "worker-died", "fault", "unreadable"}
    # What a limit stopped is tried again, with more.
    assert len(mt.batch(root, tmp_path / "out", processes=1).done) == 3


def test_any_executor(root: Path, undisturbed: Path, tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        mt.batch(root, tmp_path / "out", executor=executor, pages="flagged", flag_below=99.9)
    assert tree(tmp_path / "out") == tree(undisturbed)


def test_output_that_cannot_be(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be written"):
        mt.batch(root, tmp_path / "file" / "out")
    with pytest.raises(NothingToRead, match="no measurement"):
        mt.batch(tmp_path, tmp_path / "out")
    with pytest.raises(UnreadableFile, match="no such directory"):
        mt.batch(tmp_path / "missing", tmp_path / "out")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 96 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("mounting a small file system needs root")
    words = [mount, "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(place)]
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("this place does not let a tmpfs be mounted")
    yield place
    subprocess.run(["umount", place], check=True)


def test_disk_full_and_read_only(root: Path, small_disk: Path, run: Run) -> None:
    done = run("batch", root, "-o", small_disk / "out", "-j", "1")
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    names = [path.name for path in small_disk.rglob("*") if path.is_file()]
    assert not [name for name in names if name.startswith(".multitracer-")]
    assert "index.html" not in names
    for path in small_disk.glob("out/measurements/*/result.json"):
        json.loads(path.read_text(encoding="utf-8"))
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    assert run("batch", root, "-o", small_disk / "out", "--pages", "none").returncode == 0
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = run("batch", root, "-o", small_disk / "out", "--pages", "none")
    assert done.returncode == 2
    assert "Read-only file system" in done.stderr


def test_second_run_into_one_output_is_refused(root: Path, tmp_path: Path) -> None:
    place = LocalStore(str(tmp_path / "out"))
    lock = place.lock()
    with pytest.raises(UsageError, match="another batch run"):
        mt.batch(root, tmp_path / "out")
    os.close(lock)


@pytest.mark.parametrize("name", ["a/b", "../up", "x" * 300, ".", "..", "<b>", "a\udcffb", "run=1"])
def test_folder_is_safe(name: str) -> None:
    safe = folder(name)
    assert safe not in ("", ".", "..")
    assert "/" not in safe
    assert len(safe) < 120
    assert record_file(name).isascii()


def test_folders_differ() -> None:
    names = ["a/b", "a_b", "a b", "a:b"]
    assert len({folder(name) for name in names}) == len(names)


def test_options_that_make_no_sense(root: Path, tmp_path: Path) -> None:
    cases: list[dict[str, Any]] = [
        {"params": ["("]},
        {"params": [r"(\d+)"]},
        {"pivots": ["goodput_bps"]},
        {"baseline": tmp_path / "none"},
        {"processes": 0},
        {"dask": 1, "scheduler": "tcp://127.0.0.1:1"},
    ]
    for options in cases:
        with pytest.raises(UsageError):
            mt.batch(root, tmp_path / "out", **options)
