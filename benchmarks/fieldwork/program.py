"""What the program says of one capture, by its command line, in this process."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Json = dict[str, Any]

_USAGE = 2
_MISSING: list[str] = []
"""Tables that the program does not have, as far as this process has learned."""


def analyze(capture: Path, *options: str) -> Json | None:
    """``analyze --json``; None if it fails."""
    status, text = _run(["analyze", str(capture), "--json", *options])
    return dict(json.loads(text)) if status == 0 else None


def arrivals(capture: Path) -> list[dict[str, str]] | None:
    """``export --table arrivals``; None where the program has no such table."""
    if _MISSING:
        return None
    out = capture.with_suffix(".arrivals.csv")
    out.unlink(missing_ok=True)
    status, _ = _run(["export", str(capture), "--to", "csv", "--table", "arrivals", "-o", str(out)])
    if status == _USAGE:
        _MISSING.append("arrivals")  # a program without the table needs not be asked again
    if status or not out.exists():
        return None
    with out.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _run(arguments: list[str]) -> tuple[int, str]:
    from multitracer.cli.main import main

    with _captured() as output:
        try:
            status = main(arguments)
        except SystemExit as end:
            status = int(end.code or 0)
    return status, output[0]


@contextmanager
def _captured() -> Iterator[list[str]]:
    """Standard output of the block as text, once it has ended; what goes to standard error is dropped."""
    kept = sys.stdout, sys.stderr
    out, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    sys.stdout, sys.stderr = out, errors
    result = [""]
    try:
        yield result
    finally:
        sys.stdout, sys.stderr = kept
        out.flush()
        result[0] = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
