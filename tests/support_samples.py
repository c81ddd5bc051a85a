"""Where the samples are, and the command line with what it prints."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from multitracer.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "sample_traces"
SAMPLE_NAMES = ("flow-control", "link-resets-sack", "link-resets-vj", "local-drops", "spurious-timeouts")
"""Those with captures of both ends, kernel logs and a link log of the sender's modem."""

ALL_SAMPLES = tuple(sorted(path.name for path in SAMPLES.iterdir() if path.is_dir()))

PATIENCE_S = 240
"""How long is waited for what takes a second on an idle machine: a busy one is no fault."""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def command(
    *arguments: str | Path, cwd: Path | None = None, columns: int = 80
) -> subprocess.CompletedProcess[str]:
    """The command line in this process, as `subprocess.run` returns it.

    What a process adds (signals, closed streams, limits, what is loaded) has tests that start one:
    ``test_output_streams.py``, ``test_start.py``, ``test_time_spans.py``.

    Parameters
    ----------
    *arguments : str or Path
        Without the program's name.
    cwd : Path, optional
        The folder to be in.
    columns : int
        Width of the terminal.
    """
    words = [str(word) for word in arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    width = patch.dict(os.environ, {"COLUMNS": str(columns)})
    with chdir(cwd or Path.cwd()), width, redirect_stdout(out), redirect_stderr(err):
        status = main(words)
    said, told = (stream.buffer.getvalue().decode("utf-8") for stream in (out, err))
    return subprocess.CompletedProcess(words, status, said, told)


def process(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    words = [sys.executable, "-m", "multitracer", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
