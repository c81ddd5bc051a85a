"""A batch over some connections, with points given: in the results, and in what is reused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support_samples import SAMPLES, Run

import multitracer as mt
from multitracer.batch.rows import record_of
from multitracer.model.errors import UsageError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two measurements of one capture; port 5001 is in both, port 7100 in one."""
    for name, file in (("link-resets-vj", "snd.pcap"), ("host-queue", "capture.pcap")):
        target = tmp_path / "runs" / name
        target.mkdir(parents=True)
        shutil.copyfile(SAMPLES / name / file, target / "one.pcap")
    return tmp_path / "runs"


def _ports(found: mt.Batch) -> dict[str, set[str]]:
    return {
        record["name"]: {one["receiver"].rpartition(":")[2] for one in record["connections"]}
        for record in found.done
    }


def test_filter_chooses_connections_of_each(root: Path) -> None:
    everything = _ports(mt.batch(root, processes=1))
    one = min(everything["host-queue"])
    found = mt.batch(root, processes=1, filter=f"port {one}")
    assert _ports(found)["host-queue"] == {one}
    without = {name for name, listed in everything.items() if one not in listed}
    assert without
    assert {record["name"] for record in found.failed} == without
    assert all("no connection matches" in record["error"]["text"] for record in found.failed)


def test_another_selection_is_computed_anew(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert mt.batch(root, out, processes=1, pages="none").cached == 0
    assert mt.batch(root, out, processes=1, pages="none").cached == 2
    assert mt.batch(root, out, processes=1, pages="none", filter="tcp").cached == 0
    assert mt.batch(root, out, processes=1, pages="none", filter="tcp", conns=[0]).cached == 0
    assert mt.batch(root, out, processes=1, pages="none", filter="tcp", conns=[0]).cached == 2
    assert mt.batch(root, out, processes=1, pages="none", point="rcv").cached == 0


def test_point_is_believed(root: Path) -> None:
    def said(found: mt.Batch) -> dict[str, list[str]]:
        return {record["name"]: [one["text"] for one in record["diagnosis"]] for record in found.done}

    def alone(name: str, point: str | None) -> list[str]:
        found = mt.analyze(mt.read(root / name, point=point)).to_dict()
        return [one["text"] for one in record_of(found, {})["diagnosis"]]

    names = ("host-queue", "link-resets-vj")
    assert said(mt.batch(root, processes=1, point="rcv")) == {name: alone(name, "rcv") for name in names}
    one = said(mt.batch(root, processes=1, point={"link-resets-vj/one.pcap": "rcv"}))
    assert one == {"host-queue": alone("host-queue", None), "link-resets-vj": alone("link-resets-vj", "rcv")}
    assert alone("link-resets-vj", "rcv") != alone("link-resets-vj", None)


def test_slips_are_said_before_the_work(root: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        mt.batch(root, tmp_path / "out", point={"elsewhere.pcap": "snd"})
    with pytest.raises(UsageError, match="none of"):
        mt.batch(root, tmp_path / "out", point="left")
    with pytest.raises(UsageError, match="--filter"):
        mt.batch(root, tmp_path / "out", filter="port")
    assert not (tmp_path / "out").exists()


def test_command(root: Path, tmp_path: Path, run: Run) -> None:
    words = [
        "batch",
        str(root),
        "-o",
        str(tmp_path / "out"),
        "--pages",
        "none",
        "--point",
        "snd",
        "--conn",
        "0",
    ]
    done = run(*words, "--filter", "tcp")
    assert done.returncode == 0, done.stderr
    assert "done     2" in done.stdout


def test_info_takes_points(root: Path, run: Run) -> None:
    done = run("info", str(root / "host-queue" / "one.pcap"), "--point", "mid")
    assert done.returncode == 0, done.stderr
    assert " mid " in done.stdout
