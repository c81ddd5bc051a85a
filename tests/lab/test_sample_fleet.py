"""The samples that the lab made are those that `make samples` asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from multitracer.lab.fleet import Job, read_fleet
from multitracer.lab.library import load

SAMPLES = Path(__file__).parents[2] / "sample_traces"
JOBS = read_fleet(str(SAMPLES / "fleet.toml"))


def test_every_measurement_toml_has_its_line() -> None:
    made = {path.parent.name for path in SAMPLES.glob("*/measurement.toml")}
    assert made == {job.name.partition("_seed=")[0] for job in JOBS}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_sample_was_made_with_these_settings(job: Job) -> None:
    folder = SAMPLES / job.name.partition("_seed=")[0]
    settings = json.loads((folder / "truth.json").read_text())["settings"]
    assert settings.pop("seed") == job.seed
    assert settings == json.loads(json.dumps(load(job.scenario, values=job.values).to_dict()))
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 400_000
