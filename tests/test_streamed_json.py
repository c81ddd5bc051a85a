"""JSON written piece by piece is the text that json.dumps makes of the whole result."""

from __future__ import annotations

import copy
import enum
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

import multitracer as mt
from multitracer import native
from multitracer.cli.main import group
from multitracer.model.derived import Derived, plain
from multitracer.output import jsontext

ROOT = Path(__file__).parent.parent
SAMPLES = sorted(ROOT.glob("sample_traces/*/snd.pcap"))

KEYS = st.one_of(st.text(), st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False))
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters()),
    st.text(st.characters(categories=["Cs", "Cc", "So"])),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(st.text(), inner)),
    max_leaves=20,
)


def dumped(value: Any) -> str:
    return json.dumps(value, indent=2, allow_nan=False)


@given(VALUES)
def test_one_value_is_written_as_the_standard_library_does(value: Any) -> None:
    assert native.json_text(value) == dumped(value)


@given(st.dictionaries(KEYS.filter(lambda key: not isinstance(key, float) or abs(key) < 1e300), st.none()))
def test_keys_are_too(value: Any) -> None:
    assert native.json_text(value) == dumped(value)


def test_subclasses_of_numbers_are_numbers() -> None:
    class Cause(enum.IntEnum):
        BIG = 2**70
        SMALL = 3

    value = {
        "double": np.float64(0.1),
        "causes": [Cause.BIG, Cause.SMALL],
        "negative": -(2**64),
        "zero": -0.0,
    }
    assert native.json_text(value) == dumped(value)


@given(st.dictionaries(st.text(), st.tuples(st.booleans(), st.lists(VALUES, max_size=5)), max_size=5))
def test_pieces_make_the_whole(parts: dict[str, tuple[bool, list[Any]]]) -> None:
    data = {key: Derived(len(v), v.__getitem__) if lazy else v for key, (lazy, v) in parts.items()}
    assert "".join(jsontext.pieces(data)) == dumped(plain(data))


def test_long_lists_come_in_several_pieces() -> None:
    made = []

    def make(index: int) -> str:
        made.append(index)
        return "x" * 10_000

    pieces = jsontext.pieces({"before": 1, "rows": Derived(100, make), "after": []})
    first = next(pieces)
    assert len(made) < 20
    assert first + "".join(pieces) == dumped({"before": 1, "rows": ["x" * 10_000] * 100, "after": []})


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_lists_within_values_come_in_pieces_too(data: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsontext, "_LONG", 1)
        patch.setattr(jsontext, "_PIECE", 20)
        assert "".join(jsontext.pieces(data)) == dumped(data)
        with_a_list = {
            "chains": {"count": 3, "rows": [{"events": [data, data, 1]}, 2, data], "last": [[], {}]}
        }
        pieces = list(jsontext.pieces(with_a_list))
        assert "".join(pieces) == dumped(with_a_list)
        assert len(pieces) > 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        native.json_text(value)


@pytest.mark.parametrize("value", [{1}, b"x", np.int64(1), {"a": object()}, {(1, 2): 3}])
def test_what_has_no_place_in_json_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        dumped(value)
    with pytest.raises(TypeError):
        native.json_text(value)


def test_endless_nesting_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested"):
        native.json_text(endless)


@pytest.mark.parametrize("detail", ["full", "summary"])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.parent.name)
def test_printed_text_is_that_of_the_whole_result(path: Path, detail: str) -> None:
    outcome = CliRunner().invoke(group, ["analyze", "--json", f"--{detail}", str(path)])
    assert outcome.exit_code == 0, outcome.output
    analysis = mt.analyze(mt.read(path, detail=detail))  # type: ignore[arg-type]
    assert outcome.stdout == dumped(analysis.to_dict()) + "\n" == analysis.to_json() + "\n"


def test_summaries_are_a_sequence() -> None:
    kept = native.read_capture(str(SAMPLES[0]), keep_segments=True)["connections"]
    made = native.read_capture(str(SAMPLES[0]), keep_segments=False)["connections"]
    assert len(made) == len(kept) == len(list(made)) > 0
    assert list(made) == made[:] == kept
    assert made[-1] == kept[-1]
    assert made[::-1] == kept[::-1]
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == kept
    for index in (len(kept), -len(kept) - 1, 10**18):
        with pytest.raises(IndexError):
            made[index]


def test_derived_sequences_are_lists_to_those_who_ask() -> None:
    rows = Derived(4, lambda at: at * at)
    assert rows == [0, 1, 4, 9]
    assert rows != [0, 1, 4]
    assert (rows[-1], rows[1:3], list(reversed(rows))) == (9, [1, 4], [9, 4, 1, 0])
    assert type(pickle.loads(pickle.dumps(rows))) is type(copy.copy(rows)) is list
    assert pickle.loads(pickle.dumps(rows)) == copy.copy(rows) == [0, 1, 4, 9]
    with pytest.raises(IndexError):
        rows[4]


def test_a_summed_up_measurement_can_be_copied_and_shown() -> None:
    measurement = mt.read(SAMPLES[0], detail="summary")
    assert copy.deepcopy(measurement).connections == list(measurement.connections)
    analysis = mt.analyze(measurement)
    assert "connections: connections=[1]" in repr(analysis)
    assert isinstance(analysis.connections.summary["connections"], list)
    assert isinstance(analysis["connections"]["connections"], list)
    json.dumps(analysis.connections.summary)
