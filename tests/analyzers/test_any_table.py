"""Whatever a damaged log or capture may say, each analyzer answers in plain JSON or says why it cannot."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support_entries import entry
from support_measurement import LinkLog, measurement, table, timeouts

from multitracer import registry
from multitracer.api import answering
from multitracer.api.measurement import Measurement
from multitracer.model import schema
from multitracer.model.analysis import Result
from multitracer.model.schema import Schema
from multitracer.model.table import Table

MINE = (
    "throughput",
    "link_retransmissions",
    "flow_control",
    "link_resets",
    "local_drops",
    "idle_phases",
    "utilization",
    "losses",
    "observation",
    "limits",
    "acks",
    "round_trips",
    "flight",
)
times = st.one_of(st.integers(0, 3_000), st.integers(0, 4 * 10**12)).map(lambda ms: ms * 1_000_000)
sizes = st.sampled_from([-1, 0, 1, 23, 24, 60, 460, 2**31 - 1])
places = st.one_of(st.integers(-1, 500), st.integers(0, 2**62))


def rows(columns: Schema, most: int = 12, **drawn: Any) -> st.SearchStrategy[Table]:
    one = st.fixed_dictionaries(drawn)
    return st.lists(one, max_size=most).map(
        lambda found: table(columns, found) if found else Table.empty(columns)
    )


frames = rows(
    schema.LINK_FRAMES,
    t_ns=times,
    entity=st.integers(0, 2),
    action=st.integers(0, 1),
    offset=places,
    length=sizes,
    attempt=st.sampled_from([0, 0, 0, 1, 7, 32767]),
    duplicate=st.integers(0, 1),
)
events = rows(
    schema.LINK_EVENTS,
    t_ns=times,
    entity=st.integers(0, 2),
    action=st.integers(0, 2),
    kind=st.sampled_from([1, 2, 4, 5, 6, 14, 14, 15]),
    cause=st.integers(0, 4),
    flush_tx=places,
    length=sizes,
)
captured = rows(
    schema.SEGMENTS,
    t_ns=times,
    source=st.integers(0, 1),
    record=st.integers(1, 50),
    conn=st.just(0),
    dir=st.integers(0, 1),
    seq=st.one_of(st.integers(-5, 400), st.integers(0, 2**40)),
    ack=st.one_of(st.integers(-1, 400), st.integers(0, 2**40)),
    length=st.sampled_from([0, 0, 1, 60, 2**31 - 1]),
    window=st.sampled_from([-1, 0, 60, 2**30]),
    duplicate=st.sampled_from([0, 0, 60]),
    checksum=st.integers(0, 2),
    ip_id=st.integers(0, 3),
    ip_length=sizes,
)


@settings(max_examples=150, deadline=None)
@given(frames, events, captured, st.sampled_from([None, 0]), st.sampled_from([None, 1]), st.booleans())
def test_any_tables(
    link: Table, signals: Table, segments: Table, snd: int | None, rcv: int | None, declared: bool
) -> None:
    m = measurement(segments.sorted_by("t_ns"), LinkLog().text() if declared else "")
    m.tables |= {"link_frames": link, "link_events": signals}
    m.entities = ["ms", "iwf", "third"]
    m.snd, m.rcv = snd, rcv
    for connection in m.connections:
        side = {
            "mss": 61,
            "timestamps": False,
            "syn": 1,
            "segments": 3,
            "duplicate_bytes": 0,
            "out_of_order": 1,
        }
        summary = {"handshake": declared, "forward": side, "reverse": side}
        connection.summaries.update({0: summary, 1: summary})
    answers(m)


def answers(m: Measurement) -> None:
    known = registry.analyzers()
    judged = timeouts([{"t_ms": 500}, {"t_ms": 2000, "verdict": "spurious"}])
    counts = {"sent": 100, "unique": 90, "duplicate": 10, "acked": 90}
    one = entry(seconds=2.0, bandwidth=0.9, full=0.9, rate=400.0) | {"bytes": counts}
    results = {"timeouts": judged, "connections": Result("connections", {"connections": [one]})}
    for name in MINE:
        results[name] = answering.answer(known, name, m, results)
        json.dumps(results[name].summary, allow_nan=False)
        if results[name].inconclusive is not None:
            assert results[name].summary == {}
    found = results["utilization"].summary
    if found:
        assert 0 <= found["value"] <= 1
    phases = results["idle_phases"].tables.get("idle_phases")
    if phases is not None:
        assert bool(np.all(phases["end_ns"] > phases["t_ns"]))
        assert bool(np.all(phases["t_ns"][1:] >= phases["end_ns"][:-1]))


@pytest.mark.parametrize("name", MINE)
def test_nothing_at_all_is_inconclusive(name: str) -> None:
    result = answering.answer(registry.analyzers(), name, measurement(None), {})
    assert result.inconclusive
