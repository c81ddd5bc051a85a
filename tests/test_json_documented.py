"""docs/json.md names every key that the commands print, of the samples and of what they read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support_samples import SAMPLES

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "json.md"
GOLDEN = sorted((HERE / "golden").glob("*.json"))
FORMATS = sorted(path for path in (HERE / "data" / "formats").rglob("*") if path.is_file())
# Objects whose keys are data: names of entities, reasons, counters, codes, formats' own details.
BY_DATA = (
    r"sources\[\]\.details",
    r"skipped",
    r"inconclusive",
    r"handshake\.warnings",
    r"host\.(drops|drops_elsewhere|points)",
    r"link\.flow_control\.count_by_entity",
    r"link\.resets\[\]\.flushed_bytes",
    r"other\.arrivals\.(verdicts|directions)",
    r"other\.round_trips\.connections\[\]\.why_not",
    r"other\.bearer\.directions\[\]\.\w+\.by_(transmissions|attempt)",
    r"other\.logs\.transfers\[\]\.reported",
    r"utilization\.causes",
    r"sources\[\]\.rows",
)
_BY_DATA = re.compile("|".join(f"(?:{place})" for place in BY_DATA))


def documented() -> set[str]:
    """Names between backticks."""
    spans = re.findall(r"`([^`\n]+)`", PAGE.read_text(encoding="utf-8"))
    return {name for span in spans for name in re.findall(r"[A-Za-z_]\w*", span)}


def keys(value: Any, place: str = "") -> Iterator[str]:
    """The path of every key of a document, without those that are data."""
    if isinstance(value, list):
        for one in value:
            yield from keys(one, f"{place}[]")
    elif isinstance(value, dict) and not _BY_DATA.fullmatch(place):
        for key, inner in value.items():
            path = f"{place}.{key}" if place else key
            yield path
            yield from keys(inner, path)


def missing(value: Any) -> list[str]:
    known = documented()
    return sorted({path for path in keys(value) if path.rpartition(".")[2] not in known})


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_keys_of_an_analysis(path: Path) -> None:
    assert GOLDEN
    assert missing(json.loads(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: "/".join(path.parts[-2:]))
def test_keys_of_a_log_alone(path: Path, run: Any) -> None:
    for command in ("info", "analyze"):
        result = run(command, str(path), "--json")
        assert missing(json.loads(result.stdout)) == [], command


def test_keys_of_the_other_commands(run: Any, tmp_path: Path) -> None:
    sample = str(SAMPLES / "call-dropped")
    for argv in (
        ("info", sample),
        ("formats",),
        ("plot", "--list"),
        ("plot", sample, "-k", "tsg", "-o", str(tmp_path / "figure.png")),
    ):
        assert missing(json.loads(run(*argv, "--json").stdout)) == [], argv


def test_a_key_that_nobody_documented_is_found() -> None:
    """So that this page of tests can fail."""
    assert missing({"link": {"frames": 1, "no_such_key": [{"deeper_key": 0}]}}) == [
        "link.no_such_key",
        "link.no_such_key[].deeper_key",
    ]
    assert missing({"host": {"drops": {"NO_SUCH_REASON": 1}}}) == []
