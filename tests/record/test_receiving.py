"""Packets that a host dropped between driver and receive queue, by made counters of softnet_stat."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from support_samples import SAMPLES

import multitracer as mt
from multitracer.cli.host import lines
from multitracer.parsers import counters
from multitracer.record.sampling import softnet_lines
from multitracer.report.host_tables import host_tables

BEGIN_S = 1795351054
Sample = tuple[tuple[int, int, int], ...]
"""Of each CPU: processed, dropped, time_squeeze."""


def softnet(sample: Sample, numbered: bool = True) -> str:
    """Lines as the kernel prints them."""
    text = ""
    for cpu, (processed, dropped, squeezed) in enumerate(sample):
        values = [processed, dropped, squeezed, *[0] * 8, *([3, cpu + 4, 0, 0] if numbered else [])]
        text += " ".join(f"{value:08x}" for value in values) + "\n"
    return text


def recording(path: Path, samples: Sequence[Sample], **protocols: int) -> Path:
    """The sample's recording with other counters."""
    shutil.copytree(SAMPLES / "host-queue", path)
    (path / "counters.log.gz").unlink()
    settings = path / "measurement.toml"
    settings.write_text(settings.read_text().replace("counters.log.gz", "counters.log"))
    text = ""
    for at, sample in enumerate(samples):
        grown = "".join(f',"{name}":{value * at}' for name, value in protocols.items())
        text += f'{BEGIN_S}.{at + 3}\n{{"kernel":{{"TcpRetransSegs":5{grown}}}}}\n{softnet(sample)}'
    (path / "counters.log").write_text(text)
    return path


def receiving(path: Path) -> tuple[dict, list[dict], str]:
    analysis = mt.analyze(mt.read(path))
    summary = analysis.results["host"].summary
    said = analysis.results["diagnosis"].summary["sentences"]
    told = " ".join(text for _, text in lines(summary))
    assert "rounds that left packets" in str(host_tables(summary))
    return summary["receiving"], [one for one in said if one["kind"] == "host_receiving"], told


def test_a_cpu_too_busy_to_receive(tmp_path: Path) -> None:
    samples = (((10, 0, 1), (5, 0, 0)), ((90, 7, 3), (6, 0, 0)), ((95, 7, 3), (9, 0, 1)))
    found, said, told = receiving(recording(tmp_path / "r", samples))
    assert {name: found["softnet"][name] for name in ("processed", "dropped", "time_squeeze")} == {
        "processed": 89,
        "dropped": 7,
        "time_squeeze": 3,
    }
    assert found["softnet"]["cpu_busy"] == "certain"
    assert [(one["cpu"], one["dropped"]) for one in found["softnet"]["cpus"]] == [(4, 7), (5, 0)]
    (sentence,) = said
    assert "host dropped 7 packets before TCP" in sentence["text"]
    assert "too busy (certain)" in sentence["text"]
    assert [Path(one["source"]).name for one in sentence["evidence"]] == ["counters.log"]
    line = (tmp_path / "r" / "counters.log").read_text().splitlines()[sentence["evidence"][0]["record"] - 1]
    assert line.split()[1] == "00000007"
    assert "7 dropped by CPUs" in told


@pytest.mark.parametrize(
    ("samples", "grade"),
    [
        ((((1, 0, 0),), ((2, 4, 0),), ((3, 4, 9),)), "likely"),
        ((((1, 0, 5),), ((2, 4, 5),), ((3, 4, 5),)), None),
        ((((1, 0, 0), (1, 0, 0)), ((2, 4, 0), (2, 0, 8))), None),
    ],
    ids=["at other times", "a burst", "another CPU"],
)
def test_a_full_queue_alone_does_not_blame_the_cpu(
    samples: Sequence[Sample], grade: str | None, tmp_path: Path
) -> None:
    found, (sentence,), _ = receiving(recording(tmp_path / "r", samples))
    assert (found["softnet"]["dropped"], found["softnet"]["cpu_busy"]) == (4, grade)
    assert ("too busy" in sentence["text"]) == (grade is not None)


def test_rounds_without_drops_are_no_sentence(tmp_path: Path) -> None:
    found, said, _ = receiving(recording(tmp_path / "r", (((1, 0, 0),), ((2, 0, 9),))))
    assert (found["softnet"]["time_squeeze"], said) == (9, [])


def test_drops_at_the_socket(tmp_path: Path) -> None:
    samples = (((1, 0, 0),), ((2, 0, 0),))
    path = recording(tmp_path / "r", samples, TcpExtTCPBacklogDrop=3, TcpExtTCPRcvQDrop=1)
    found, (sentence,), told = receiving(path)
    assert (found["backlog_drops"], found["receive_queue_drops"]) == (3, 1)
    assert "3 packets in TCP: the backlog of a socket" in sentence["text"]
    assert "1 packet in TCP" in sentence["text"]
    assert "CPU" not in sentence["text"]
    assert "3 TCPBacklogDrop" in told


def test_a_recording_without_it_says_nothing() -> None:
    summary = mt.analyze(mt.read(SAMPLES / "host-queue"), only=["host"]).results["host"].summary
    assert summary["receiving"] == {"softnet": None, "backlog_drops": 0, "receive_queue_drops": 0}


def test_counters_of_32_bits_begin_again(tmp_path: Path) -> None:
    path = recording(tmp_path / "r", ((((1 << 32) - 2, 0, 0),), ((3, 0, 0),)))
    assert receiving(path)[0]["softnet"]["processed"] == 5


def test_lines_of_old_kernels_are_cpus_in_order(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    path.write_text(f"{BEGIN_S}.5\n{softnet(((1, 0, 0), (2, 0, 0)), numbered=False)}")
    table = counters.parse(str(path)).tables["host_counters"]
    assert mt.open_trace(path).source.format == "counters"
    assert [name for name in table["name"].tolist() if name.endswith("processed")] == [
        "softnet.0.processed",
        "softnet.1.processed",
    ]


def test_this_kernel_s_lines_are_read(tmp_path: Path) -> None:
    text = softnet_lines()
    if not text:
        pytest.skip("no /proc/net/softnet_stat")
    path = tmp_path / "loop"
    path.write_text("\n".join([f"{BEGIN_S}.5", *text, ""]))
    trace = counters.parse(str(path))
    assert not trace.issues
    assert sum(name.endswith(".processed") for name in trace.tables["host_counters"]["name"]) == len(text)
