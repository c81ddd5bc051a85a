"""docs/architecture.md and its picture: the rooms of the source, and every file that it names exists."""

from __future__ import annotations

import re
import runpy

import pytest
from support_samples import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")
MAP = runpy.run_path(str(ROOT / "scripts" / "map.py"))


@pytest.mark.slow
def test_the_table_is_what_the_source_says() -> None:
    """`make map` writes it anew."""
    rooms = MAP["rooms"]()
    assert {"model", "native", "api", "cli"} <= rooms.keys()
    table = MAP["table"](rooms, MAP["imports"](rooms))
    assert f"{MAP['BEGIN']}\n{table}\n{MAP['END']}" in PAGE


def test_the_picture_has_every_room() -> None:
    drawn = re.findall(r"<text[^>]*>([a-z_]+)</text>", PICTURE)
    assert sorted(drawn) == sorted(MAP["rooms"]())


def test_every_file_that_is_named_exists() -> None:
    paths = re.findall(r"`((?:multitracer|rust|tests|docs|scripts)/[^`\s]+)`", PAGE)
    assert len(paths) > 40
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_circles_are_refused() -> None:
    with pytest.raises(SystemExit, match="a -> b -> a"):
        MAP["floors"]({"a": {"b"}, "b": {"a"}})


def test_arrows_that_follow_are_left_out() -> None:
    assert MAP["direct"]({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == [("a", "b"), ("b", "c")]
