"""The samples against independent truth: the kernels' counters, the link's own record, tcptrace, capinfos."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support_samples import SAMPLE_NAMES, SAMPLES

import multitracer as mt

Analyzed = Callable[[str], dict[str, Any]]
RESETS = {"link-resets-sack": 3, "link-resets-vj": 3}
LOCAL_DROPS = {"local-drops": 10}

pytestmark = pytest.mark.parametrize("name", SAMPLE_NAMES)


def kernel(name: str, counter: str) -> int:
    """A counter of the sending kernel; nstat leaves out those that are zero."""
    counters = json.loads((SAMPLES / name / "kernel.json").read_text())["sender"]
    return int(counters.get(counter, 0))


def truth(name: str) -> dict[str, Any]:
    """What the link itself recorded."""
    found: dict[str, Any] = json.loads((SAMPLES / name / "truth.json").read_text())
    return found


def only_connection(found: dict[str, Any]) -> dict[str, Any]:
    (connection,) = found["connections"]
    return dict(connection)


def oracle(tool: str, *arguments: str | Path) -> str:
    """Output of another program; skips without it."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def test_bytes(name: str, analyzed: Analyzed) -> None:
    counts = only_connection(analyzed(name))["bytes"]
    assert counts["unique"] == counts["acked"] == truth(name)["received"]
    assert counts["sent"] == counts["unique"] + counts["duplicate"]


@pytest.mark.parametrize(
    ("cause", "counter"),
    [
        ("total", "TcpRetransSegs"),
        ("timeout", "TcpExtTCPTimeouts"),
        ("fast", "TcpExtTCPFastRetrans"),
        ("slow_start", "TcpExtTCPSlowStartRetrans"),
        ("tail_loss_probe", "TcpExtTCPLossProbes"),
    ],
)
def test_retransmissions_by_cause(name: str, cause: str, counter: str, analyzed: Analyzed) -> None:
    assert only_connection(analyzed(name))["retransmissions"][cause] == kernel(name, counter)


def test_no_retransmission_without_a_cause(name: str, analyzed: Analyzed) -> None:
    assert only_connection(analyzed(name))["retransmissions"]["unknown"] == 0


def test_timeouts(name: str, analyzed: Analyzed) -> None:
    timeouts = only_connection(analyzed(name))["timeouts"]
    assert timeouts["total"] == kernel(name, "TcpExtTCPTimeouts")
    assert timeouts["total"] == timeouts["spurious"] + timeouts["genuine"] + timeouts["inconclusive"]


def test_spurious_timeouts(name: str, analyzed: Analyzed) -> None:
    """The kernel undoes a timeout that it finds spurious; only one verdict is possible without link loss."""
    timeouts = only_connection(analyzed(name))["timeouts"]
    if name == "spurious-timeouts":
        assert timeouts["spurious"] == timeouts["total"] == 1
    else:
        assert timeouts["spurious"] <= kernel(name, "TcpExtTCPLossUndo")


def test_link_resets(name: str, analyzed: Analyzed) -> None:
    found = analyzed(name)
    resets = found["link"]["resets"]
    assert len(resets) == RESETS.get(name, 0)
    # Each was begun by the entity that gave up: its times are in the link's own record and in the log.
    begun = sorted(t for t, _, cause, *_ in truth(name)["resets"] if cause == "N2")
    with gzip.open(SAMPLES / name / "rlp.log.gz", "rt") as log:
        logged = [float(line.split()[0]) for line in log if re.search(r"evt reset cause=n2", line)]
    assert len(begun) == len(logged) == len(resets)
    measurement = mt.read(SAMPLES / name)
    for reset, t in zip(resets, begun, strict=True):
        assert reset["t"] == pytest.approx(t - measurement.t0_ns / 1e9, abs=0.1)


def test_link_frames(name: str, analyzed: Analyzed) -> None:
    with gzip.open(SAMPLES / name / "rlp.log.gz", "rt") as log:
        sent = [line for line in log if re.match(r"\S+ \S+ snd I ", line)]
    link = analyzed(name)["link"]
    assert link["frames"] == len(sent)
    assert link["retransmitted"] == sum(" try=" in line for line in sent)


def test_local_drops(name: str, analyzed: Analyzed) -> None:
    drops = analyzed(name)["link"]["local_drops"]
    assert len(drops) == len(truth(name)["if_queue_drops"]) == LOCAL_DROPS.get(name, 0)


def test_utilization(name: str, analyzed: Analyzed) -> None:
    value = analyzed(name)["utilization"]["value"]
    if name == "flow-control":
        assert value > 0.95
    elif name == "link-resets-vj":
        assert value < 0.9
    assert 0 < value <= 1


def test_idle_time_is_explained(name: str, analyzed: Analyzed) -> None:
    phases = analyzed(name)["idle_phases"]
    idle = sum(phase["end"] - phase["start"] for phase in phases)
    unknown = sum(phase["end"] - phase["start"] for phase in phases if phase["cause"] == "unknown")
    assert unknown <= 0.1 * idle


def test_kernel_log_is_joined_to_microseconds(name: str, analyzed: Analyzed) -> None:
    (clock,) = [c for c in analyzed(name)["clocks"] if c["source"].endswith("tcp_probe.txt.gz")]
    assert clock["method"] == "ack-match"
    assert clock["uncertainty_s"] < 100e-6


@pytest.mark.parametrize("side", ["snd", "rcv"])
def test_packets_equal_capinfos(name: str, side: str, analyzed: Analyzed) -> None:
    printed = oracle("capinfos", "-c", "-M", SAMPLES / name / f"{side}.pcap")
    packets = int(re.search(r"Number of packets:\s+(\d+)", printed).group(1))  # type: ignore[union-attr]
    (source,) = [s for s in analyzed(name)["sources"] if s["path"].endswith(f"{side}.pcap")]
    assert source["records"] == packets


@pytest.mark.parametrize("side", ["snd", "rcv"])
def test_bytes_equal_tcptrace(name: str, side: str) -> None:
    path = SAMPLES / name / f"{side}.pcap"
    printed = oracle("tcptrace", "-lnr", "--checksum", path)  # what is damaged does not count

    def column(label: str) -> int:
        values = [int(value) for value in re.findall(rf"{label}:\s+(\d+)", printed)]
        assert len(values) == 2, "one connection, two directions"
        return values[0]

    counts = only_connection(mt.analyze(mt.read(path)).to_dict())["bytes"]
    assert counts["unique"] == column("unique bytes sent")
    assert counts["duplicate"] == column("rexmt data bytes")
