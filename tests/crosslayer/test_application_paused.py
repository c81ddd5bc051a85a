"""An idle phase is the application's only where something else says that the application paused at all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from multitracer.layers.crosslayer import idlecause


@pytest.mark.parametrize(
    ("limits", "kernel_rows", "paused"),
    [
        ({"application": 0.0}, [], False),
        ({"application": 0.2}, [], True),
        (None, [], True),
        ({"application": 0.0}, [3], True),
    ],
)
def test_the_limits_of_the_capture_have_a_say_without_a_kernel_log(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, float] | None, kernel_rows: list[int], paused: bool
) -> None:
    monkeypatch.setattr(idlecause, "one_point", lambda m, connection, source: {"limits": limits})
    monkeypatch.setattr(idlecause, "vantage", lambda m, connection: 0)
    reasons: Any = object.__new__(idlecause.Reasons)
    reasons.m, reasons.paused = None, {}
    reasons.__dict__["_kernel"] = SimpleNamespace(rows=lambda conn, direction: kernel_rows)
    state: Any = SimpleNamespace(connection=SimpleNamespace(index=0, data_dir=0, summaries={0: {}}))
    assert reasons.application_paused(state) is paused
