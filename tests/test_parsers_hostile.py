"""JSON and text of any shape: data, an issue or a clear error, never anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import support_format_samples as made
from hypothesis import HealthCheck, given, settings, strategies as st

from multitracer import registry
from multitracer.model.errors import ISSUE_KINDS, MultiTracerError
from multitracer.model.table import Table

FORMATS = [name for name in registry.PARSERS if (made.FOLDER / name).is_dir()]
"""Those with a constructed sample."""
STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=12),
    st.sampled_from(["AAAA", "1e999", "\ud800", "9" * 40, "0001-01-01T00:00:00Z", "9999-12-31T23:59:60Z"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)
QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(name: str, path: Path) -> None:
    """Parse, and hold the outcome to what every parser promises."""
    try:
        trace = registry.parsers()[name].parse(str(path))
    except MultiTracerError as error:
        message = str(error)
    else:
        message = ""
    if message:
        assert str(path) in message
        return
    assert all(issue.code in ISSUE_KINDS and issue.count > 0 for issue in trace.issues)
    for table in trace.tables.values():
        assert isinstance(table, Table)
        assert all(len(table[column]) == len(table) for column in table)
    assert trace.source.records > 0


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a value could be replaced."""
    found = [path] if path else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found += places(inner, (*path, key))
    return found


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with one part replaced."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("iperf3", made.iperf3_document(3)),
        ("ndt7", made.ndt7_document(3)),
        ("tcpinfo", json.loads(made.tcpinfo_lines(1).splitlines()[1])),
    ],
)
@QUICK
@given(data=st.data())
def test_a_document_with_strange_values(
    name: str, document: Any, tmp_path: Path, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from(places(document)))
        document = replaced(document, at, data.draw(STRANGE))
    path = tmp_path / "document"
    path.write_text(json.dumps(document) + "\n")
    read(name, path)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"start":' * 50_000,
        '{"event":"interval","data":' + "[" * 60_000,
        '{"start": {"timestamp": {"timesecs": 1e999}}, "intervals": NaN}',
        '{"GitShortCommit": 1, "Download": {"ServerMeasurements": ' + "9" * 5000 + "}}",
        "time,name,value\n" + "1,a,2,3,4\n" * 3 + ",,,\n" * 3 + "1e400,a,1\n",
        "time,local,remote,cwnd\n1,x,y,1\n2,10.0.0.1:1,10.0.0.2:2,1e19\n",
        "time,entity,action\n1,a,b\n2,a,snd\n",
        "\x00" * 100_000,
        "",
    ],
    ids=[
        "nested",
        "objects",
        "stream",
        "infinite",
        "digits",
        "ragged",
        "sockets",
        "frames",
        "zeros",
        "empty",
    ],
)
def test_shapes_that_break_readers(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    read(name, path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@QUICK
@given(data=st.data())
def test_samples_cut_and_mixed(name: str, tmp_path: Path, data: st.DataObject) -> None:
    lines = []
    for sample in sorted((made.FOLDER / name).iterdir()):
        lines += sample.read_bytes().splitlines(keepends=True)[:40]
    picked = data.draw(st.lists(st.sampled_from(lines), min_size=1, max_size=12))
    noise = data.draw(st.binary(max_size=6))
    at = data.draw(st.integers(0, len(picked)))
    path = tmp_path / "log"
    path.write_bytes(b"".join([*picked[:at], noise, *picked[at:]]))
    read(name, path)
