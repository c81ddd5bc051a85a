"""Dask, S3 and HTTP for real: schedulers, workers and servers as processes, one worker killed at work."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support_batch import fleet
from support_samples import PATIENCE_S

import multitracer as mt

pytest.importorskip("distributed")
pytest.importorskip("s3fs")
pytest.importorskip("moto.server")
pytest.importorskip("pyarrow")

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}
COPY = """
import sys, s3fs
system = s3fs.S3FileSystem()
system.mkdir("traces"), system.mkdir("results")
system.put(sys.argv[1] + "/", "traces/runs/", recursive=True)
"""
LOOK = """
import json, pandas, s3fs
system = s3fs.S3FileSystem()
frame = pandas.read_parquet("s3://results/today/dataset", storage_options={})
records = system.glob("results/today/measurements/*/result.json")
mtu = sorted(map(int, frame["mtu"]))
print(json.dumps({"rows": frame["name"].tolist(), "mtu": mtu, "records": len(records)}))
"""


@contextlib.contextmanager
def process(
    log: Path, *words: str, environment: dict[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[str], str]]]:
    """A Python module at work; and what a pattern finds in what it says, once it says it."""
    with log.open("wb") as output:
        one = subprocess.Popen(
            [sys.executable, "-u", "-m", *words], env=environment, stdout=output, stderr=output
        )

    def said(pattern: str) -> str:
        until = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, log.read_text(errors="replace"))) is None:
            assert one.poll() is None, f"{words[0]} ended: {log.read_text(errors='replace')[-2000:]}"
            assert time.monotonic() < until, f"{words[0]} says nothing of {pattern}"
            time.sleep(0.05)
        return found[1]

    try:
        yield one, said
    finally:
        one.kill()
        one.wait()


def test_worker_killed_over_s3(tmp_path: Path) -> None:
    names = ("flow-control", "link-resets-vj", "local-drops", "link-resets-sack", "spurious-timeouts")
    root = fleet(tmp_path / "runs", names)
    environment = os.environ | ENVIRONMENT

    def python(code: str, *words: str) -> str:
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, *words],
            env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE_S,
        ).stdout  # fmt: skip

    with contextlib.ExitStack() as stack:

        def start(name: str, *words: str) -> tuple[subprocess.Popen[bytes], Callable[[str], str]]:
            return stack.enter_context(process(tmp_path / f"{name}.log", *words, environment=environment))

        # Each takes a port that is free and tells which.
        _, said = start("s3", "moto.server", "-H", "127.0.0.1", "-p", "0")
        environment["FSSPEC_S3_ENDPOINT_URL"] = said(r"Running on (http://127\.0\.0\.1:\d+)")
        _, said = start(
            "head", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"
        )
        head = said(r"Scheduler at: +(tcp://127\.0\.0\.1:\d+)")
        worker = ("distributed.cli.dask_worker", head, "--nthreads", "1", "--no-dashboard")
        start("w1", *worker, "--no-nanny", "--local-directory", str(tmp_path / "w1"))
        victim, said = start("w2", *worker, "--no-nanny", "--local-directory", str(tmp_path / "w2"))
        said(r"(Registered to)")
        python(COPY, str(root))
        words = ["batch", "s3://traces/runs", "-o", "s3://results/today", "--json", "--pages", "none"]
        words += ["--scheduler", head, "--partition-by", "mtu"]
        run = subprocess.Popen(
            [sys.executable, "-m", "multitracer", *words],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        look = "import s3fs; print(len(s3fs.S3FileSystem().glob('results/today/measurements/*/result.json')))"
        while run.poll() is None and int(python(look)) < 1:
            time.sleep(0.05)
        victim.kill()
        printed, complaints = run.communicate(timeout=PATIENCE_S)
        assert run.returncode == 0, complaints
        found = json.loads(printed)
        assert (found["done"], found["failed"]) == (5, [])
        kept = json.loads(python(LOOK))
    assert sorted(kept["rows"]) == sorted(path.name for path in root.iterdir())
    assert kept["mtu"] == [576, 577, 578, 579, 580]
    assert kept["records"] == 5


def test_workers_of_dask_from_http_give_what_processes_give(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    root = fleet(tmp_path / "runs")
    server = ("http.server", "-b", "127.0.0.1", "-d", str(root), "0")
    with process(tmp_path / "http.log", *server, environment=dict(os.environ)) as (_, said):
        address = said(r"\((http://127\.0\.0\.1:\d+)/\)")
        words = ["batch", address, "-o", str(tmp_path / "dask"), "--dask", "2", "--json"]
        words += ["--pages", "none"]
        run = subprocess.run(
            [sys.executable, "-m", "multitracer", *words], capture_output=True, text=True, timeout=PATIENCE_S
        )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["measurements"] == sorted(path.name for path in root.iterdir())
    mt.batch(root, tmp_path / "plain", processes=1, pages="none")
    assert [(tmp_path / one / "summary.csv").read_bytes() for one in ("dask", "plain")] == [
        (tmp_path / "plain" / "summary.csv").read_bytes()
    ] * 2
