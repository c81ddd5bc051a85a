"""A result takes the place of a file, never of a device, a pipe or a symbolic link."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from support_samples import SAMPLES

from multitracer.cli.main import main

SAMPLE = str(SAMPLES / "flow-control" / "snd.pcap")

WRITERS = [
    pytest.param(["plot", SAMPLE, "-o"], ".png", id="plot"),
    pytest.param(["report", SAMPLE, "-o"], ".html", id="report"),
    pytest.param(["export", SAMPLE, "--to", "xplot", "-o"], ".xpl", id="export"),
    pytest.param(["export", SAMPLE, "--to", "pcapng", "-o"], ".pcapng", id="pcapng"),
    pytest.param(["export", SAMPLE, "--to", "csv", "--table", "timeouts", "-o"], ".csv", id="csv"),
    pytest.param(["compare", SAMPLE, SAMPLE, "-o"], ".html", id="compare"),
]


@pytest.mark.parametrize(("command", "ending"), WRITERS)
def test_a_pipe_stays_one_and_gets_all(command: list[str], ending: str, tmp_path: Path) -> None:
    file, pipe = tmp_path / f"file{ending}", tmp_path / f"pipe{ending}"
    assert main([*command, str(file)]) == 0
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert main([*command, str(pipe)]) == 0
    reader.join(timeout=60)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert read
    assert len(read[0]) == pytest.approx(file.stat().st_size, rel=0.01)
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([file.name, pipe.name])


@pytest.mark.parametrize(("command", "ending"), WRITERS)
def test_a_symbolic_link_stays_one(command: list[str], ending: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / f"target{ending}", tmp_path / f"link{ending}"
    link.symlink_to(target)
    assert main([*command, str(link)]) == 0
    assert link.is_symlink()
    assert target.stat().st_size > 0
    assert [one.name for one in target.parent.iterdir()] == [target.name]
