"""Pictures that other processes draw are those that this one would draw, also if a process dies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from multitracer.model import processes
from multitracer.model.errors import UsageError
from multitracer.plots import painters
from multitracer.plots.painters import Painters, Picture
from multitracer.plots.panel import Axis, Figure, Panel, Series


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> Iterator[Painters]:
    """Painters of a machine with two cores."""
    monkeypatch.setattr(processes, "cores", lambda: 2)
    with Painters() as made:
        yield made


def picture(points: int, size: tuple[float, float] = (4.0, 3.0)) -> Picture:
    """A curve."""
    x = np.linspace(0.0, 1.0, points)
    series = Series("data", "snd_data", x, x**2)
    panel = Panel("sequence", Axis("Sequence number", "bytes"), series=(series,))
    return Picture(Figure("test", "A curve", (panel,), (0.0, 1.0)), "light", size, 60.0, 64)


def test_pictures_are_the_same_as_drawn_here(several: Painters) -> None:
    wanted = [picture(points) for points in (5, 50, 500)]
    begun = [several.begin(one) for one in wanted]
    assert [one() for one in begun] == [one.png() for one in wanted]
    assert 1 <= len(several._started) <= 2


def test_what_cannot_be_drawn_is_the_same_error(several: Painters) -> None:
    tiny = picture(5, size=(0.1, 0.1))
    with pytest.raises(UsageError) as here:
        tiny.png()
    with pytest.raises(UsageError) as there:
        several.begin(tiny)()
    assert str(here.value) == str(there.value)
    assert several.begin(picture(5))() == picture(5).png()


def test_a_process_that_died_leaves_its_pictures_to_this_one(several: Painters) -> None:
    assert several.begin(picture(5))() == picture(5).png()
    for process in several._started:
        process.kill()
        process.wait()
    assert [several.begin(picture(points))() for points in (6, 7)] == [picture(6).png(), picture(7).png()]


@pytest.mark.parametrize(("name", "value"), [("cores", 1), ("LARGEST_BYTES", 0)])
def test_with_one_core_and_for_large_figures_no_process_is_started(
    several: Painters, monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    if name == "cores":
        monkeypatch.setattr(processes, "cores", lambda: value)
    else:
        monkeypatch.setattr(painters, name, value)
    assert several.begin(picture(5))() == picture(5).png()
    assert not several._started
