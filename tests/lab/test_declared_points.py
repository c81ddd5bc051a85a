"""The observation points that a run declares are those of its data: replies flow against requests."""

from __future__ import annotations

import pytest

from multitracer.lab.library import load
from multitracer.lab.pump import Lateness
from multitracer.lab.truth import measurement_toml

FILES = ("snd.pcap", "rcv.pcap", "ss.log.gz")


@pytest.mark.parametrize(
    ("scenario", "points"),
    [
        ("figure-8-resets-vj", ("snd", "rcv", "snd")),
        ("downlink", ("snd", "rcv", "snd")),
        ("request-response-gsm", ("rcv", "snd", "rcv")),
        ("flows-two-way", (None, None, None)),
    ],
)
def test_points(scenario: str, points: tuple[str | None, ...]) -> None:
    found = measurement_toml(load(scenario), 1, 0, FILES, Lateness())["sources"]
    assert tuple(found[name].get("point") for name in FILES) == points
