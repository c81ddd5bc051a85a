"""The guard on instruction counts: what fails it, and what cannot."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "instructions", raising=False)
    import instructions

    return instructions


def counts(bulk: float, compiler: str = "rustc 1", machine: str = "x86_64") -> dict[str, Any]:
    return {"compiler": compiler, "machine": machine, "per_packet": {"bulk": bulk, "wide": 10.0}}


@pytest.mark.parametrize(
    ("now", "grown"),
    [
        (counts(100.0), []),
        (counts(101.9), []),
        (counts(50.0), []),
        (counts(102.1), ["bulk"]),
        (counts(200.0, compiler="rustc 2"), None),
        (counts(200.0, machine="aarch64"), None),
    ],
)
def test_what_fails(guard: Any, now: dict[str, Any], grown: list[str] | None) -> None:
    assert guard.above(now, counts(100.0)) == grown


def test_a_kind_that_is_not_recorded_fails(guard: Any) -> None:
    now = counts(100.0)
    now["per_packet"]["new"] = 1.0
    assert guard.above(now, counts(100.0)) == ["new"]


def test_all_kinds_are_recorded(guard: Any) -> None:
    recorded = json.loads((BENCHMARKS / "instructions.json").read_text())
    assert set(recorded["per_packet"]) == set(guard.COUNTS)


@pytest.mark.parametrize(("count", "status"), [(100.0, 0), (200.0, 1)])
def test_the_exit_status(
    guard: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: float, status: int
) -> None:
    recorded = tmp_path / "instructions.json"
    recorded.write_text(json.dumps(counts(100.0)))
    monkeypatch.setattr(guard, "RECORDED", recorded)
    monkeypatch.setattr(guard, "measured", lambda: counts(count))
    monkeypatch.setattr(guard.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(sys, "argv", ["instructions.py", "--check"])
    assert guard.main() == status
    monkeypatch.setattr(sys, "argv", ["instructions.py", "--record"])
    assert guard.main() == 0
    assert json.loads(recorded.read_text())["per_packet"]["bulk"] == count
