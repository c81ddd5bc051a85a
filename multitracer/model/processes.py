"""Further processes of this program: how many there is room for, and where they find it."""

from __future__ import annotations

import os
import sys

import multitracer


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def command(module: str) -> list[str]:
    """The words that start a module of this program; it needs `environment`."""
    # -P keeps the working directory, which may hold anything, out of the imports.
    return [sys.executable, "-P", "-m", module]


def environment() -> dict[str, str]:
    """The variables of such a process, which has one core: there are others."""
    found = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        found.setdefault(name, "1")
    home = os.path.dirname(os.path.dirname(multitracer.__file__))
    if os.path.basename(home) not in ("site-packages", "dist-packages"):
        found["PYTHONPATH"] = os.pathsep.join(filter(None, (found.get("PYTHONPATH"), home)))
    return found
