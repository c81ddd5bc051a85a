"""Dask, S3 and HTTP for real: schedulers, workers and servers as processes, one worker killed at work."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support_batch import fleet

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


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def process(*words: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    one = subprocess.Popen(
        [sys.executable, "-m", *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield one
    finally:
        one.kill()
        one.wait()


def test_worker_killed_over_s3(tmp_path: Path) -> None:
    s3, head = free_port(), free_port()
    environment = os.environ | ENVIRONMENT | {"FSSPEC_S3_ENDPOINT_URL": f"http://127.0.0.1:{s3}"}
    names = ("flow-control", "link-resets-vj", "local-drops", "link-resets-sack", "spurious-timeouts")
    root = fleet(tmp_path / "runs", names)
    worker = ("distributed.cli.dask_worker", f"tcp://127.0.0.1:{head}", "--nthreads", "1", "--no-dashboard")

    def python(code: str, *words: str) -> str:
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, *words],
            env=environment, capture_output=True, text=True, check=True, timeout=60,
        ).stdout  # fmt: skip

    with contextlib.ExitStack() as stack:

        def start(*words: str) -> subprocess.Popen[bytes]:
            return stack.enter_context(process(*words, environment=environment))

        start("moto.server", "-H", "127.0.0.1", "-p", str(s3))
        start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(head), "--no-dashboard")
        until = time.monotonic() + 60
        while not (answers(s3) and answers(head)) and time.monotonic() < until:
            time.sleep(0.1)
        start(*worker, "--no-nanny", "--local-directory", str(tmp_path / "w1"))
        victim = start(*worker, "--no-nanny", "--local-directory", str(tmp_path / "w2"))
        python(COPY, str(root))
        words = ["batch", "s3://traces/runs", "-o", "s3://results/today", "--json", "--pages", "none"]
        words += ["--scheduler", f"tcp://127.0.0.1:{head}", "--partition-by", "mtu"]
        run = subprocess.Popen(
            [sys.executable, "-m", "multitracer", *words],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        look = "import s3fs; print(len(s3fs.S3FileSystem().glob('results/today/measurements/*/result.json')))"
        while run.poll() is None and int(python(look)) < 1 and time.monotonic() < until:
            time.sleep(0.05)
        victim.kill()
        printed, complaints = run.communicate(timeout=90)
        assert run.returncode == 0, complaints
        found = json.loads(printed)
        assert (found["done"], found["failed"]) == (5, [])
        kept = json.loads(python(LOOK))
    assert sorted(kept["rows"]) == sorted(path.name for path in root.iterdir())
    assert kept["mtu"] == [576, 577, 578, 579, 580]
    assert kept["records"] == 5


def test_workers_of_dask_from_http_give_what_processes_give(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    root, port = fleet(tmp_path / "runs"), free_port()
    server = ("http.server", "-b", "127.0.0.1", "-d", str(root), str(port))
    with process(*server, environment=dict(os.environ)):
        until = time.monotonic() + 30
        while not answers(port) and time.monotonic() < until:
            time.sleep(0.05)
        words = ["batch", f"http://127.0.0.1:{port}", "-o", str(tmp_path / "dask"), "--dask", "2", "--json"]
        words += ["--pages", "none"]
        run = subprocess.run(
            [sys.executable, "-m", "multitracer", *words], capture_output=True, text=True, timeout=120
        )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["measurements"] == sorted(path.name for path in root.iterdir())
    mt.batch(root, tmp_path / "plain", processes=1, pages="none")
    assert [(tmp_path / one / "summary.csv").read_bytes() for one in ("dask", "plain")] == [
        (tmp_path / "plain" / "summary.csv").read_bytes()
    ] * 2
