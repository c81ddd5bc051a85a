"""The samples that the lab made are those that `make samples` asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from multitracer.lab.fleet import Job, read_fleet
from multitracer.lab.library import load

SAMPLES = Path(__file__).parents[2] / "sample_traces"
JOBS = read_fleet(str(SAMPLES / "fleet.toml"))


def test_every_measurement_toml_has_its_line() -> None:
    folders = [path.parent for path in SAMPLES.glob("*/measurement.toml")]
    made = {folder.name for folder in folders if (folder / "truth.json").is_file()}  # others are recordings
    assert made == {job.name.partition("_seed=")[0] for job in JOBS}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_sample_was_made_with_these_settings(job: Job) -> None:
    folder = SAMPLES / job.name.partition("_seed=")[0]
    settings = json.loads((folder / "truth.json").read_text())["settings"]
    assert settings.pop("seed") == job.seed
    now = json.loads(json.dumps(load(job.scenario, values=job.values).to_dict()))
    assert settings == _of_then(now, settings)
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 400_000


def _of_then(now: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    """Settings without those that came since, which change nothing unless they are set."""
    found = {}
    for key, value in now.items():
        known = then.get(key)
        if isinstance(value, dict) and isinstance(known, dict):
            found[key] = _of_then(value, known)
        elif key in then or (value and not isinstance(value, dict)):
            found[key] = value
    return found
