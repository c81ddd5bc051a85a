"""All results of every sample, held to files that change only by ``pytest --update-golden``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support_samples import ALL_SAMPLES, ROOT

GOLDEN = Path(__file__).parent / "golden"


def portable(value: Any) -> Any:
    """Without what differs between machines: the version, absolute paths, the last digits of floats."""
    if isinstance(value, dict):
        return {key: portable(inner) for key, inner in value.items() if key != "multitracer"}
    if isinstance(value, list):
        return [portable(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, str):
        return value.replace(f"{ROOT}/", "")
    return value


@pytest.mark.parametrize("name", ALL_SAMPLES)
def test_results(
    name: str, analyzed: Callable[[str], dict[str, Any]], request: pytest.FixtureRequest
) -> None:
    path = GOLDEN / f"{name}.json"
    found = portable(analyzed(name))
    if request.config.getoption("--update-golden"):
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    expected = json.loads(path.read_text(encoding="utf-8"))
    assert sorted(found) == sorted(expected)
    for key in expected:
        assert found[key] == expected[key], f"{name}: {key} changed; if it should have, run make golden"


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(ALL_SAMPLES)
