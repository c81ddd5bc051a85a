"""Try random cases for as long as there is time; what fails is kept where the tests find it again.

Usage: python scripts/explore.py --minutes 60 [words that select tests, as of pytest -k]

Failing cases of Hypothesis go to tests/found/, those of proptest to rust/core/proptest-regressions/. Both
belong to the repository: commit them with what mends them, or write them into the test as an example.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ("tests/found", "rust/core/proptest-regressions")
RUST_CASES = 2048
"""Of each property in a turn: eight times as many as the tests try."""


def main() -> int:
    """Turns of both languages, until time is out; 1 if anything failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("words", nargs="?", default="", help="only tests that these select (pytest -k)")
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    before, failed, turn = kept(), False, 0
    while (left_s := end - time.monotonic()) > 0:
        turn += 1
        print(f"turn {turn}: {left_s / 60:.0f} minutes left", flush=True)
        for command in (python(asked.words), rust(asked.words)):
            left_s = end - time.monotonic()
            failed |= left_s > 0 and run(command, left_s)
    found = sorted(kept() - before)
    print(f"{turn} turns; {'failures' if failed else 'nothing failed'}; new cases kept: {len(found)}")
    for path in found:
        print(f"  {path}")
    return int(failed)


def python(words: str) -> list[str]:
    """Tests of properties, from a new seed."""
    only = ["-k", words] if words else []
    return [
        sys.executable,
        "-m",
        "pytest",
        "-m",
        "hypothesis",
        "-p",
        "no:cacheprovider",
        "--no-header",
        *only,
    ]


def rust(words: str) -> list[str]:
    """Properties of the core; words name one part of it."""
    return ["cargo", "test", "--quiet", "--package", "multitracer-core", *([words] if words else [])]


def run(command: list[str], seconds: float) -> bool:
    """Whether a test failed; not being done in time is no failure."""
    environment = os.environ | {"CASES": "new", "PROPTEST_CASES": str(RUST_CASES)}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode not in (0, 5)  # 5: no test was selected


def kept() -> set[str]:
    """Files of failing cases."""
    return {
        str(path.relative_to(ROOT))
        for folder in KEPT
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }


if __name__ == "__main__":
    sys.exit(main())
