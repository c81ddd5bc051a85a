"""Some connections of a measurement: the same numbers and times, only fewer connections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support_samples import SAMPLES, Run

import multitracer as mt
from multitracer.api.selection import select
from multitracer.model.errors import NothingToRead, UsageError


@pytest.mark.parametrize("detail", ["full", "summary"])
def test_everyday_flows_one_by_one(shared: Path, detail: str) -> None:
    capture = shared / "everyday" / "router-flows" / "rcv.pcap.gz"
    whole = mt.read(capture, detail=detail)  # type: ignore[arg-type]
    every = json.loads(mt.analyze(whole).to_json())["connections"]
    assert [one["stream"] for one in every] == [one["index"] for one in every] == list(range(6))
    port = every[4]["endpoints"][0].rpartition(":")[2]
    for some in (select(whole, [4]), select(whole, filter=f"host 10.88.1.1 and port {port}")):
        (only,) = json.loads(mt.analyze(some).to_json())["connections"]
        assert only == every[4]
    assert len(select(whole, [1, 3, 4], f"not port {port}").connections) == 2


def test_what_there_is_not_is_refused() -> None:
    m = mt.read(SAMPLES / "link-resets-vj" / "snd.pcap")
    assert select(m) is m
    with pytest.raises(UsageError, match="connection 3: not in these traces; numbers are 0 to 0"):
        select(m, [3])
    with pytest.raises(NothingToRead, match="no connection matches"):
        select(m, filter="port 1")


def test_the_options(run: Run) -> None:
    path = SAMPLES / "link-resets-vj" / "snd.pcap"
    done = run("analyze", path, "--filter", "tcp port 5001", "--conn", "0", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["connections"]) == 1
    assert run("analyze", path, "--filter", "port 5002").returncode == 3
    refused = run("events", path, "--filter", "src port 5001")
    assert refused.returncode == 2
    assert "a connection has both directions" in refused.stderr
