"""What is laid out without rich is what rich makes of it, and a terminal still gets rich's styles."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, strategies as st

from multitracer.cli.layout import Column, Indented, Table, Text
from multitracer.cli.styled import StyledConsole
from multitracer.cli.terminal import Console

WORDS = st.text(st.sampled_from("ab.:-1"), max_size=30)
BLANKS = st.sampled_from(["", " ", " ", " ", "  ", "     "])
TEXTS = st.lists(st.tuples(WORDS, BLANKS), max_size=12).map(lambda parts: "".join(map("".join, parts)))
ODD = st.sampled_from(["", "é", "語" * 9, "a\tb", "a\nb c", "[bold]x[/bold]", ":smile:", "\x1b[1m", "\u202e"])
WIDTHS = st.integers(1, 100)
JUSTIFY = st.sampled_from(["left", "right"])
OVERFLOW = st.sampled_from(["fold", "ellipsis"])


def printed(what: Text | Indented | Table, width: int, soft_wrap: bool = False) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(what, soft_wrap=soft_wrap)
    return out.getvalue()


def by_rich(what: Text | Indented | Table, width: int, soft_wrap: bool = False) -> str:
    out = io.StringIO()
    StyledConsole(file=out, width=width).print(what.styled(), highlight=False, soft_wrap=soft_wrap)
    return out.getvalue()


@given(TEXTS | ODD, WIDTHS, st.booleans())
def test_texts(text: str, width: int, soft_wrap: bool) -> None:
    what = Text(text, "bold")
    assert printed(what, width, soft_wrap) == by_rich(what, width, soft_wrap)


@given(TEXTS, WIDTHS, st.integers(0, 8))
def test_indented_texts(text: str, width: int, blanks: int) -> None:
    what = Indented(Text(text), blanks)
    assert printed(what, width) == by_rich(what, width)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    columns = []
    for _ in range(draw(st.integers(1, 5))):
        column = Column(
            draw(TEXTS),
            draw(JUSTIFY),
            no_wrap=draw(st.booleans()),
            overflow=draw(OVERFLOW),
            width=draw(st.none() | st.integers(1, 20)),
        )
        column.max_width = draw(st.none() | st.integers(1, 30))
        columns.append(column)
    headed = draw(st.booleans())
    table = Table(columns, draw(st.integers(1 if headed else 0, 3)), headed)
    for _ in range(draw(st.integers(0, 4))):
        cells = [
            draw(TEXTS.map(Text) | TEXTS | ODD if draw(st.integers(0, 9)) == 0 else TEXTS) for _ in columns
        ]
        table.add_row(*cells)
        if draw(st.booleans()):
            table.add_section()
    return table


@given(tables(), WIDTHS)
def test_tables(table: Table, width: int) -> None:
    assert printed(table, width) == by_rich(table, width)


class Terminal(io.StringIO):
    """What takes itself for one."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    Console(file=out, width=40).print(Text("one", "bold"))
    assert out.getvalue() == "\x1b[1mone\x1b[0m\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    piped = io.StringIO()
    Console(file=piped, width=40).print(Text("one", "bold"))
    assert piped.getvalue() == out.getvalue()


def test_columns_are_those_that_rich_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in ("", "33", "x", "0"):
        monkeypatch.setenv("COLUMNS", columns)
        assert Console(file=io.StringIO()).width == StyledConsole(file=io.StringIO()).width
