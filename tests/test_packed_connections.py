"""Connections that were packed while nothing was heard of them are what they are if they never were."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from support_segments import Segment, capture

import multitracer as mt
from multitracer import native
from multitracer.analyzers import connections
from multitracer.cli.main import main
from multitracer.diagnosis.field.looked_at import MOST
from multitracer.model.errors import TooManyConnections
from multitracer.model.timeline import Connection, Timeline

CONNECTIONS = 2500
"""More than twice as many as are held ready."""

MSS = bytes([2, 4, 5, 180, 4, 2, 1, 1])
STAMPS = bytes([1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8])


def talk(number: int, seed: random.Random, *, orderly: bool) -> list[Segment]:
    """Segments of one connection: a short transfer, or whatever comes."""
    first = (0, number, True, False)
    back = (0, number, False, False)
    if orderly:
        found = [
            (*first, 100, 0, 0x02, 0, 65_535, MSS),
            (*back, 500, 101, 0x12, 0, 65_535, MSS),
            (*first, 101, 501, 0x10, 0, 500, b""),
        ]
        for place in range(seed.randrange(6)):
            found.append((*first, 101 + 1000 * place, 501, 0x18, 1000, 500, STAMPS))
            found.append((*back, 501, 1101 + 1000 * place, 0x10, 0, 500, STAMPS))
        return found
    flags = [0x10, 0x18, 0x02, 0x12, 0x11, 0x14]
    return [
        (
            0,
            number,
            seed.random() < 0.6,
            False,
            seed.randrange(9) * 500,
            seed.randrange(9) * 500,
            seed.choice(flags),
            seed.choice([0, 500, 1000]),
            seed.choice([0, 500]),
            seed.choice([b"", STAMPS]),
        )
        for _ in range(12)
    ]


@pytest.mark.parametrize("order", ["one after the other", "in two halves", "in turns"])
def test_summaries_are_those_of_connections_that_were_never_packed(tmp_path: Path, order: str) -> None:
    seed = random.Random(order)
    talks = [talk(number, seed, orderly=number % 3 > 0) for number in range(CONNECTIONS)]
    if order == "one after the other":
        segments = [segment for one in talks for segment in one]
    elif order == "in two halves":
        halves = [one[: len(one) // 2] for one in talks], [one[len(one) // 2 :] for one in talks]
        segments = [segment for half in halves for one in half for segment in one]
    else:
        longest = max(map(len, talks))
        segments = [one[step] for step in range(longest) for one in talks if step < len(one)]
    told = [(seed.randrange(1, 2_000_000), *segment[1:]) for segment in segments]
    path = str(capture(tmp_path / "many.pcap", told))
    kept = native.read_capture(path, keep_segments=True)
    packed = native.read_capture(path, keep_segments=False)
    many = len(kept["connections"])
    assert native.read_capture(path, keep_segments=True, most=many)["connections"] == kept["connections"]
    with pytest.raises(TooManyConnections):
        native.read_capture(path, keep_segments=True, most=many - 1)
    assert len(kept["connections"]) >= CONNECTIONS
    assert list(packed["connections"]) == kept["connections"]
    assert packed["issues"] == kept["issues"]
    entries = kept["connections"]
    sent = [max(one[way]["data_bytes"] for way in ("forward", "reverse")) for one in entries]
    overview = (min(one["first_ns"] for one in entries), sent.index(max(sent)))
    assert native.overview(packed["connections"]) == overview


def test_a_summary_makes_no_entry_of_all_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a dict of dozens of values: of 160,000 all of them took ten seconds and 1.5 GB."""
    seed = random.Random(1)
    segments = [segment for number in range(CONNECTIONS) for segment in talk(number, seed, orderly=True)]
    told = [(seed.randrange(1, 2_000_000), *segment[1:]) for segment in segments]
    path = capture(tmp_path / "many.pcap", told)
    made: set[int] = set()
    times: list[int] = []
    describe = connections._describe

    def counted(m: Timeline, connection: Connection, *more: Any) -> dict[str, Any]:
        made.add(connection.index)
        times.append(connection.index)
        return describe(m, connection, *more)

    monkeypatch.setattr(connections, "_describe", counted)
    analysis = mt.analyze(mt.read(path, detail="summary"))
    few = len(made)
    assert len(analysis["connections"].summary["connections"]) >= CONNECTIONS
    assert analysis["diagnosis"].summary["sentences"]
    assert MOST / 2 < few <= 2 * MOST
    times.clear()
    assert main(["analyze", str(path), "--summary"]) == 0
    assert len(times) <= 5 * MOST, "what is said of all is not made of each"
