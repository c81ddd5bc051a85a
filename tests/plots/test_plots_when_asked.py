"""A figure of a measurement waits for those answers only that it shows, and is the same as of all."""

from __future__ import annotations

import io

import pytest
from support_samples import SAMPLES

import multitracer as mt
from multitracer import registry
from multitracer.api.answering import WhenAsked, answers
from multitracer.plots.plot import PlotOptions

SAMPLE = SAMPLES / "link-resets-vj"


def test_only_what_a_figure_shows_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    question = registry.question

    def noted(known: registry.Analyzers, name: str) -> object:
        asked.append(name)
        return question(known, name)

    results = WhenAsked(mt.read(SAMPLE))
    monkeypatch.setattr(registry, "question", noted)
    registry.plots()["multilayer"].build(results._measurement, results, PlotOptions())
    assert {"timeouts", "link_resets", "utilization"} <= set(asked)
    assert not {"diagnosis", "chains", "queueing"} & set(asked)


@pytest.mark.parametrize("kind", ["multilayer", "idle", "queue"])
def test_a_figure_is_the_same_of_a_measurement_and_of_its_analysis(kind: str) -> None:
    measurement = mt.read(SAMPLE)
    drawn = []
    for subject in (measurement, mt.analyze(measurement)):
        buffer = io.BytesIO()
        mt.plot(subject, kind).savefig(buffer, format="png")
        drawn.append(buffer.getvalue())
    assert drawn[0] == drawn[1]


def test_it_holds_the_same_results_as_all_answers() -> None:
    measurement = mt.read(SAMPLE)
    later, all_of_them = WhenAsked(measurement), answers(measurement)
    assert list(later) == list(all_of_them)
    assert len(later) == len(all_of_them)
    assert {name: one.inconclusive for name, one in later.items()} == {
        name: one.inconclusive for name, one in all_of_them.items()
    }
    assert "no such question" not in later
    with pytest.raises(KeyError):
        later["no such question"]
