"""Two logs of one link by the same view of it: joined as one link, not added up."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from support_alignment import traces

from multitracer.api.measurement import Measurement, align
from multitracer.api.pipeline import analyze
from multitracer.model.trace import Trace

NAME = "link-resets-sack"


def another(log: Trace, keep: np.ndarray, seed: int, later_ns: int = 0) -> Trace:  # type: ignore[type-arg]
    """The log as somebody else would have written it: some frames missing, other delays, another clock."""
    rng = np.random.default_rng(seed)
    tables = dict(log.tables)
    frames = tables["link_frames"].where(keep)
    late = np.sort(rng.integers(0, 2_000_000, len(frames)))  # sorted: the order of the lines stays
    tables["link_frames"] = frames.replace(t_ns=frames["t_ns"] + late + later_ns)
    events = tables["link_events"]
    tables["link_events"] = events.replace(t_ns=events["t_ns"] + 1_000_000 + later_ns)
    source = copy.copy(log.source)
    source.path, source.details = f"{log.source.path}.second", dict(source.details)
    return Trace(source, tables, [], log.flows, list(log.entities), log.connections, links=log.links)


def codes(measurement: Measurement) -> set[str]:
    return {issue.code for issue in measurement.issues}


@pytest.mark.parametrize("later_ns", [0, 150_000_000])
@pytest.mark.parametrize("with_captures", [True, False])
def test_frames_are_counted_once(with_captures: bool, later_ns: int) -> None:
    files = ("snd.pcap", "rcv.pcap", "rlp.log.gz") if with_captures else ("rlp.log.gz",)
    given = traces(NAME, files)
    log = given[-1]
    count = len(log.tables["link_frames"])
    numbers = np.arange(count)
    mine, others = numbers % 50 != 7, numbers % 60 != 11  # each misses what the other one has
    first = another(log, mine, 1)
    first.source.path = f"{log.source.path}.first"
    both = align([*given[:-1], first, another(log, others, 2, later_ns)])
    alone = align(given)
    assert "same-link" in codes(both)
    # All frames that either has, once; as a single log of all of them has.
    assert len(both.table("link_frames")) == int((mine | others).sum())
    assert len(both.table("link_events")) == len(alone.table("link_events"))
    frames, whole = both.table("link_frames"), alone.table("link_frames")
    for entity in range(2):
        for action in (0, 1):
            mask = [(t["entity"] == entity) & (t["action"] == action) for t in (frames, whole)]
            one = np.sort(frames["offset"][mask[0]])
            assert set(one.tolist()) <= set(whole["offset"][mask[1]].tolist())


def test_second_log_is_put_on_the_clock_of_the_first() -> None:
    (log,) = traces(NAME, ("rlp.log.gz",))
    frames = log.tables["link_frames"]
    log.tables["link_frames"] = frames.where(frames["action"] == frames.code("action", "snd"))
    keep = np.ones(len(log.tables["link_frames"]), dtype=bool)
    found = align([log, another(log, keep, 3, 400_000_000)])
    clock = found.clocks[1]
    assert clock.method == "same-frames"
    assert clock.uncertainty_ns is not None
    assert abs(clock.offset_ns + 400_000_000) <= clock.uncertainty_ns + 2_000_000


def test_logs_of_two_links_stay_apart() -> None:
    (log,) = traces(NAME, ("rlp.log.gz",))
    (other,) = traces("link-resets-vj", ("rlp.log.gz",))
    # At the same time, under the same names.
    shift = int(log.tables["link_frames"]["t_ns"][0] - other.tables["link_frames"]["t_ns"][0])
    moved = Trace(
        copy.copy(other.source),
        {name: table.replace(t_ns=table["t_ns"] + shift) for name, table in other.tables.items()},
        [],
        entities=list(other.entities),
        links=other.links,
    )
    found = align([log, moved])
    assert "same-link" not in codes(found)
    assert len(found.table("link_frames")) == len(log.tables["link_frames"]) + len(
        other.tables["link_frames"]
    )


def test_counts_of_the_analysis_are_those_of_one_log() -> None:
    given = traces(NAME, ("snd.pcap", "rcv.pcap", "rlp.log.gz"))
    keep = np.ones(len(given[-1].tables["link_frames"]), dtype=bool)
    twice = analyze(align([*given, another(given[-1], keep, 4)]))
    once = analyze(align(traces(NAME, ("snd.pcap", "rcv.pcap", "rlp.log.gz"))))
    for key in ("frames", "retransmitted"):
        assert twice.to_dict()["link"][key] == once.to_dict()["link"][key]
