"""Rows of tables as JSON without objects: the same text as of the objects."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support_samples import SAMPLE_NAMES, SAMPLES

import multitracer as mt
from multitracer import native
from multitracer.output import jsontext

near_ties = st.integers(-(10**6), 10**6).map(lambda number: 7_812_500 * number)
whole = st.one_of(st.integers(-3, 3), st.integers(-(2**62), 2**62), near_ties, st.integers(0, 10**13))
text = st.text(max_size=5)


def seconds(ns: int) -> float:
    return round(float(ns) / 1e9, 6)


@given(
    st.lists(st.tuples(whole, text), max_size=6),
    st.one_of(st.just(0), st.integers(0, 2**61)),
    st.integers(0, 3),
)
def test_rows_are_written_as_objects_are(rows: list[tuple[int, str]], t0_ns: int, level: int) -> None:
    values = np.array([value for value, _ in rows], dtype=np.int64)
    times = np.array([value // 4 for value, _ in rows], dtype=np.int64)
    texts = [text for _, text in rows]
    kinds = ("number", "known", "some", "seconds", "known seconds")
    fields: list[tuple[str, str, Any]] = [(f'"{kind}', kind, values) for kind in kinds]
    fields += [(kind, kind, times) for kind in ("time", "known time")]
    fields += [("text", "text", texts), ("json", "json", ["[]"] * len(rows))]
    objects = [
        {
            '"number': value,
            '"known': value if value >= 0 else None,
            '"some': value or None,
            '"seconds': seconds(value),
            '"known seconds': seconds(value) if value >= 0 else None,
            "time": seconds(time - t0_ns),
            "known time": seconds(time - t0_ns) if time >= 0 else None,
            "text": text or None,
            "json": [],
        }
        for value, time, text in zip(values.tolist(), times.tolist(), texts, strict=True)
    ]
    assert native.json_rows(fields, t0_ns, level) == [native.json_text(one, level) for one in objects]


@given(st.lists(st.lists(st.tuples(whole, text), max_size=3), max_size=4), st.integers(0, 3))
def test_rows_in_rows_are_written_as_objects_are(lists: list[list[tuple[int, str]]], level: int) -> None:
    """The second table's rows go to those of the first one by their bounds."""
    flat = [row for rows in lists for row in rows]
    bounds = np.cumsum([0, *map(len, lists)])
    inner: list[tuple[str, str, Any]] = [
        ("value", "number", np.array([value for value, _ in flat], dtype=np.int64)),
        ("word", "text", [word for _, word in flat]),
    ]
    fields: list[tuple[str, str, Any]] = [("at", "number", np.arange(len(lists))), ("rows", "rows", None)]
    objects = [
        {"at": at, "rows": [{"value": value, "word": word or None} for value, word in rows]}
        for at, rows in enumerate(lists)
    ]
    written = native.json_nested_rows(fields, inner, bounds, level=level)
    assert written == (",\n" + "  " * level).join(native.json_text(one, level) for one in objects)


def test_bounds_must_be_those_of_the_rows() -> None:
    one = [("a", "number", np.zeros(1, dtype=np.int64))]
    for bounds in ([0], [0, 2], [1, 0], [-1, 1], [0, 1, 1]):
        with pytest.raises(ValueError, match="bounds"):
            native.json_nested_rows([*one, ("b", "rows", None)], one, np.array(bounds))
    with pytest.raises(ValueError, match="rows in rows"):
        native.json_rows([*one, ("b", "rows", None)])


def test_what_cannot_be_written_is_refused() -> None:
    one, two = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match="different lengths"):
        native.json_rows([("a", "number", one), ("b", "number", two)])
    with pytest.raises(ValueError, match="kind of column"):
        native.json_rows([("a", "colour", one)])


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_chains_are_written_as_they_are_looked_at(name: str) -> None:
    chains = mt.analyze(mt.read(SAMPLES / name)).results["chains"].summary["chains"]
    whole = {"chains": list(chains)}
    assert b"".join(jsontext.encoded({"chains": chains})).decode() == json.dumps(whole, indent=2)
    assert json.loads(b"".join(jsontext.one_line({"chains": chains}))) == whole
    assert b"\n" not in b"".join(jsontext.one_line({"chains": chains}))
    assert [chains[at] for at in range(len(chains))] == whole["chains"]
