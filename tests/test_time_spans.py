"""Stamps that are wrong by decades: no memory and no work follows them, and what can be aligned is."""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support_samples import PATIENCE_S, SAMPLES

import multitracer as mt
from multitracer.layers.link import rlcdelays

SECOND = 1_000_000_000
FEW_GIB = 4 << 30
LOG = SAMPLES / "link-resets-vj" / "rlp.log.gz"
COMMANDS: dict[str, tuple[str, ...]] = {
    "info": (),
    "analyze": ("--full", "--json"),
    "events": (),
    "plot": ("-o", "{}/figure.png"),
    "report": ("-o", "{}/report.html"),
    "export mahimahi": ("--to", "mahimahi", "-o", "{}/out"),
    "export errors": ("--to", "errors", "-o", "{}/out"),
    "export perfetto": ("--to", "perfetto", "-o", "{}/out"),
    "export csv": ("--to", "csv", "-o", "{}/tables"),
}


def lines() -> list[str]:
    with gzip.open(LOG, "rt", encoding="ascii") as log:
        return log.read().splitlines()


def measurement(folder: Path, log: list[str]) -> Path:
    folder.mkdir()
    for name in ("snd.pcap", "rcv.pcap"):
        (folder / name).write_bytes((LOG.parent / name).read_bytes())
    (folder / "rlp.log").write_text("\n".join(log) + "\n", encoding="ascii")
    return folder


def stamped(line: str, seconds: float) -> str:
    _, _, rest = line.partition(" ")
    return f"{seconds:.6f} {rest}"


def booted(count: int = 800) -> list[str]:
    """The log as a host writes it whose clock begins in 1970 and is set by NTP after `count` frames."""
    found = lines()
    first = next(at for at, line in enumerate(found) if line[0].isdigit())
    start = float(found[first].split()[0])
    for at in range(first, first + count):
        found[at] = stamped(found[at], float(found[at].split()[0]) - start + 11.7)
    return found


def damaged() -> list[str]:
    """The log with stamps here and there that are off by years and by thousands of them."""
    found = lines()
    for number, at in enumerate(range(900, len(found), 257)):
        found[at] = stamped(found[at], (45.0, 1.3e9, 5.2e9, 9.1e9)[number % 4])
    return found


@pytest.fixture(scope="module", params=["booted", "damaged"])
def wrong(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = {"booted": booted, "damaged": damaged}[request.param]()
    return measurement(tmp_path_factory.mktemp(request.param) / "run", made)


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (FEW_GIB, FEW_GIB))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_ends_in_little_memory(command: str, wrong: Path, tmp_path: Path) -> None:
    words = [word.format(tmp_path) for word in COMMANDS[command]]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "multitracer", command.split()[0], str(wrong), *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=_limited,
    )
    refused = done.returncode == 2 and done.stderr.startswith("multitracer: error: the link log spans ")
    assert done.returncode == 0 or (refused and command in ("export mahimahi", "export errors")), done.stderr


def test_a_log_of_two_epochs_is_one_timeline(tmp_path: Path) -> None:
    right = mt.read(measurement(tmp_path / "right", lines()))
    m = mt.read(measurement(tmp_path / "booted", booted()))
    told, true = (
        one.table("link_frames").where(np.argsort(one.table("link_frames")["record"], kind="stable"))
        for one in (m, right)
    )
    assert np.array_equal(told["record"], true["record"])
    bound_ns = max(clock.uncertainty_ns or 0 for one in (m, right) for clock in one.clocks)
    apart = (told["t_ns"] - m.t0_ns) - (true["t_ns"] - right.t0_ns)
    assert np.abs(apart).max() <= 2 * bound_ns < SECOND
    (step,) = [issue for issue in m.issues if issue.code == "clock-step"]
    assert not [issue for issue in right.issues if issue.code == "clock-step"]
    assert step.first_record == int(next(at for at, line in enumerate(booted(), 1) if float_at(line) > 1e9))


def float_at(line: str) -> float:
    return float(line.split()[0]) if line[0].isdigit() else 0.0


def test_numbers_far_apart_are_no_numbers_between() -> None:
    class Seen:
        is_sender_seen = False

    numbers = np.array([0, 1, 2**61], dtype=np.int64)
    given = (numbers, np.zeros(3, np.int64), np.arange(3), np.arange(3))
    found = rlcdelays._with_missing(Seen(), *given)  # type: ignore[arg-type]
    assert all(one is other for one, other in zip(found, given, strict=True))
