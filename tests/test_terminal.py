"""Brackets and colons that are printed are those of addresses, not of the markup of rich."""

from __future__ import annotations

import io

import pytest

from multitracer.cli.lines import table
from multitracer.cli.terminal import Console


@pytest.mark.parametrize("text", ["[fe80::ab:1]:443", "[::1] -> [b]", "2001:db8:cd::1", "[red]lost[/red]"])
def test_addresses_are_printed_as_they_are(text: str) -> None:
    file = io.StringIO()
    console = Console(file=file, width=80)
    rows = table("a", "b")
    rows.add_row(text, "1")
    console.print(rows)
    console.print(text)
    assert file.getvalue().count(text) == 2
