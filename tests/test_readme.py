"""README and tour tell the truth: their commands print what they show, the Python runs, the demo works."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support_samples import PATIENCE_S, ROOT, SAMPLE_NAMES, SAMPLES, Run

import multitracer as mt

PAGES = ("README.md", "docs/tour.md")
BLOCKS = [
    block
    for page in PAGES
    for block in re.findall(
        r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
]
COMMANDS = [body for _, body in BLOCKS if body.startswith("$ multitracer ")]
PYTHON = [body for language, body in BLOCKS if language == "python"]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory in which the README's paths work and its output does not lie about."""
    (tmp_path / "sample_traces").symlink_to(SAMPLES, target_is_directory=True)
    return tmp_path


def in_order(lines: list[str], printed: list[str]) -> str | None:
    """The first line that is not printed behind the one before it; None if all are."""
    rest = iter(printed)
    return next((line for line in lines if line not in rest), None)


@pytest.mark.parametrize("block", COMMANDS, ids=lambda block: str(block).split("\n")[0][2:40])
def test_command(block: str, here: Path, run: Run) -> None:
    command, *shown = block.rstrip("\n").split("\n")
    done = run(*shlex.split(command)[2:], cwd=here, columns=80)
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert in_order([line for line in shown if line], printed) is None, done.stdout


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 4
    assert len(PYTHON) == 1


def test_python(here: Path) -> None:
    code = "import matplotlib; matplotlib.use('Agg')\n" + PYTHON[0]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (here / "resets.png").stat().st_size > 10_000


def test_tables_of_the_python_page() -> None:
    """Each expression of docs/python.md gives rows, of a measurement that has all sources."""
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    expressions = [one for one in re.findall(r"`([ma]\.[^`]*\.frame\([^`]*\))`", page) if "NAME" not in one]
    assert len(expressions) >= 10
    m = mt.read(SAMPLES / "link-resets-vj")
    names = {"m": m, "a": mt.analyze(m)}
    assert not [one for one in expressions if eval(one, names).empty]


def test_demo(tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / "scripts" / "demo.py"), str(SAMPLES), str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in SAMPLES.iterdir() if path.is_dir()}
    assert names > set(SAMPLE_NAMES)
    names = [path.name for path in SAMPLES.iterdir() if path.is_dir()]
    expected = {f"{name}.{ending}" for name in names for ending in ("png", "txt", "json")} | {"summary.txt"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == expected
    table = next(body for _, body in BLOCKS if body.startswith("How well did TCP"))
    summary = [line.strip() for line in (tmp_path / "out" / "summary.txt").read_text("utf-8").splitlines()]
    for line in table.split("\n")[3:]:
        assert line.strip() in summary, "\n".join(summary)
