"""A whole run over an air that another run met: real TCP, and the link loses and repeats the same frames."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import multitracer as mt
from multitracer.export import emulation
from multitracer.lab.library import load
from multitracer.lab.requirements import missing
from multitracer.lab.runner import run

LACKS = missing(["ip", "ss", "tcpdump"])
pytestmark = [
    pytest.mark.skipif(bool(LACKS), reason="a real run needs " + "; ".join(LACKS)),
    pytest.mark.usefixtures("kernel_to_itself"),
]

# One window's worth of data, so that the link is busy wherever the air is bad.
QUICK = {"flow.bytes": 2000, "network.quiet_s": 0.3, "trace.ss_interval_s": 0.5}
LOST = [40, 41, 42, 60, 75, 76]


def truth(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    return found


def lost_up(folder: Path) -> list[int]:
    return [e["slot"] for e in truth(folder)["events"] if e["what"] == "air_loss" and e["side"] == 0]


def test_a_measured_air_is_met_again(tmp_path: Path) -> None:
    air = {"kind": "list", "lost_slots": LOST}
    link = {"link.delay_ms": 60, "link.t1_ms": 300, "link.drain_bps": 0, "link.air_up": air}
    first, second = tmp_path / "first", tmp_path / "second"
    run(load("figure-5-typical", values=QUICK | link), str(first))
    assert lost_up(first) == LOST, "the link was busy in all of these slots"
    exported = tmp_path / "replay.toml"
    told = emulation.write_errors(mt.read(first), str(exported))
    assert told["air_up"] == len(LOST)
    run(load(str(exported), values=QUICK), str(second))
    assert lost_up(second) == LOST
    assert truth(second)["link_retransmissions"] == truth(first)["link_retransmissions"]
    assert truth(second)["received"] == 2000
