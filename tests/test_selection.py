"""Some connections of a measurement: the same numbers and times, only fewer connections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support_samples import SAMPLES, Run

import multitracer as mt
from multitracer.api.selection import select
from multitracer.cli.main import main
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


def test_a_connection_by_its_number(shared: Path) -> None:
    whole = mt.read(shared / "everyday" / "router-flows" / "rcv.pcap.gz")
    for chosen in ([5], [0, 5], [2, 4, 5]):
        some = select(whole, chosen)
        assert [some.connection(index).index for index in chosen] == chosen
        with pytest.raises(KeyError):
            some.connection(1)


@pytest.mark.parametrize("name", ["router-flows", "qdisc-flows"])
@pytest.mark.parametrize("point", ["snd", "mid", "rcv"])
def test_each_connection_alone_has_an_answer(
    name: str, point: str, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = shared / "everyday" / name / f"{point}.pcap.gz"
    for index in range(len(mt.read(capture, detail="summary").connections)):
        for command in (["analyze"], ["analyze", "--json"], ["explain", "--at", "1"]):
            done = main([*command[:1], str(capture), *command[1:], "--conn", str(index)])
            assert done == 0, capsys.readouterr().err
            capsys.readouterr()
