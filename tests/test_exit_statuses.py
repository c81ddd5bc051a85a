"""docs/exit-status.md against the program: each row by a command that ends so, and the list of lost data."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support_samples import ROOT, SAMPLES, Run

from multitracer.cli.common import LOSS_CODES

PAGE = (ROOT / "docs" / "exit-status.md").read_text(encoding="utf-8")
VJ = SAMPLES / "link-resets-vj"


def test_the_issues_that_count_as_data_loss_are_listed() -> None:
    listed = PAGE.partition("these warnings:")[2].partition("([issues]")[0]
    assert set(re.findall(r"`([a-z-]+)`", listed)) == set(LOSS_CODES)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, ("analyze", VJ)),
        (2, ("analyse", VJ)),
        (2, ("analyze", VJ, "--no-such-option")),
        (2, ("plot", VJ, "-k", "none", "-o", "x.png")),
        (2, ("events", VJ, "--name", "None")),
        (2, ("plot", VJ, "--from", "9000", "--to", "9001", "-o", "x.png")),
        (2, ("analyze", VJ / "snd.pcap", VJ / "snd.pcap")),
        (3, ("analyze", "missing.pcap")),
        (3, ("analyze", ROOT / "docs" / "images")),
        (3, ("analyze", "empty.pcap")),
        (3, ("report", "empty.pcap", "-o", "page.html")),
        (3, ("batch", ROOT / "docs" / "images", "-o", "out")),
        (3, ("info", ROOT / "README.md")),
        (4, ("analyze", "cut.pcap", "--strict")),
        (5, ("analyze", VJ, "--min-utilization", "95")),
        (5, ("compare", SAMPLES / "flow-control", VJ, "--max-slowdown", "1")),
    ],
)
def test_a_command_ends_with_the_status_of_the_page(
    status: int, words: tuple[str | Path, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.pcap").write_bytes((VJ / "snd.pcap").read_bytes()[:24])
    (tmp_path / "cut.pcap").write_bytes((VJ / "snd.pcap").read_bytes()[:-7])
    done = run(*words)
    assert done.returncode == status, done.stderr
    assert re.search(rf"^\| (?:\d+, )?{status}(?:, \d+)? \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("status", "waits"), [(143, False), (0, True)])
def test_no_thread_keeps_a_command_that_a_signal_ended(status: int, waits: bool) -> None:
    """One waits for a lock that nobody releases; behind a command that ended by itself, it is waited for."""
    script = f"""
import threading
from multitracer.cli import main
lock = threading.Lock()
lock.acquire()
main.main = lambda: {status}
threading.Thread(target=lock.acquire, kwargs={{"timeout": 3 if {waits} else -1}}).start()
main.program()
"""
    found = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert found.returncode == status
