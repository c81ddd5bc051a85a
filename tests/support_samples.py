"""Where the samples are, and the type of the fixture that runs the command line."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "sample_traces"
SAMPLE_NAMES = ("flow-control", "link-resets-sack", "link-resets-vj", "local-drops", "spurious-timeouts")

PATIENCE_S = 240
"""How long is waited for what takes a second on an idle machine: a busy one is no fault."""

Run = Callable[..., "subprocess.CompletedProcess[str]"]
