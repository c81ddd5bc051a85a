"""What is printed for people fits a terminal of 80 columns, and ends no line with blanks."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support_samples import SAMPLES
from support_segments import capture

import multitracer as mt
from multitracer.cli import main as program
from multitracer.cli.render import summary
from multitracer.cli.terminal import SHOWN, Console

WIDTH = 80
SIZE = {"terminal_width": WIDTH, "max_content_width": WIDTH}


def helps(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The help of a command and of those below it."""
    yield ctx.command_path, command.get_help(ctx)
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            assert below is not None
            yield from helps(
                below,
                click.Context(below, info_name=name, parent=ctx, **SIZE),
            )


EVERY = dict(
    helps(
        program.group,
        click.Context(program.group, **{**program.group.context_settings, **SIZE}, info_name="multitracer"),
    )
)


def bad(text: str, width: int = WIDTH) -> list[str]:
    return [line for line in text.splitlines() if len(line) > width or line != line.rstrip()]


@pytest.mark.parametrize("path", EVERY)
def test_help_fits(path: str) -> None:
    assert bad(EVERY[path]) == []


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    "words",
    [
        ("plot", "--list"),
        ("formats",),
        ("lab", "list"),
        ("info", str(SAMPLES / "backoff")),
        ("analyze", str(SAMPLES / "backoff")),
        ("compare", "flow-control", "link-resets-vj"),
        ("explain", "link-resets-vj", "--packet", "167"),
        ("explain", "--term", "all"),
        ("explain", "--sentence", "all"),
    ],
    ids=lambda words: " ".join(words[:2])[:12],
)
def test_output_fits(
    words: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(SAMPLES)
    assert program.main([word.removeprefix(f"{SAMPLES}/") for word in words]) == 0
    printed = capsys.readouterr().out
    assert printed
    assert bad(printed, width) == []


def test_the_summary_of_a_batch_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.chdir(tmp_path)
    for name in ("spurious-timeouts", "link-resets-vj"):
        shutil.copytree(SAMPLES / name, tmp_path / "all" / name)
    assert program.main(["batch", "all", "-o", "out", "--pages", "none", "--processes", "1"]) == 0
    printed = capsys.readouterr().out
    assert "80.7%  spurious-timeouts: " in printed
    assert bad(printed) == []


def test_no_number_of_many_connections_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for number in range(12):
        told += [
            (1000, number, True, False, 100, 0, 0x02, 0, 500, b""),
            (842_000, number, False, False, 200, 101, 0x12, 0, 500, b""),
            (1000, number, True, False, 101, 201, 0x18, 1448, 500, b""),
            (900_000, number, True, False, 101, 201, 0x18, 1448, 500, b""),
            (1000, number, False, False, 201, 1549, 0x10, 0, 500, b""),
        ]
    path = capture(tmp_path / "many.pcap", told)
    rows = {}
    for width in (80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        assert program.main(["analyze", str(path)]) == 0
        printed = capsys.readouterr().out
        lines = [line for line in printed.splitlines() if " -> " in line]
        assert bad("\n".join(lines), width) == []
        # Behind the addresses: bytes, retransmissions, RTT, goodput, limit.
        rows[width] = [line.split()[4:] for line in lines]
    assert rows[80] == rows[200]
    assert len(rows[80]) > 5


@pytest.mark.parametrize("verbose", [False, True])
def test_all_rows_are_printed_where_they_are_wanted(verbose: bool) -> None:
    contract = mt.analyze(str(SAMPLES / "backoff")).to_dict()
    events = contract["connections"][0]["timeouts"]["events"]
    few = len(events)
    contract["connections"][0]["timeouts"]["events"] = events * 5
    printed = io.StringIO()
    summary(contract, Console(file=printed, width=WIDTH), verbose=verbose)
    rows = [line for line in printed.getvalue().splitlines() if " genuine " in line or " spurious " in line]
    assert len([line for line in rows if line.split()[1] == "s"]) == (5 * few if verbose else SHOWN)
    assert ("and 13 more timeouts; --verbose shows all" in printed.getvalue()) is not verbose


def test_the_option_reaches_the_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("multitracer.cli.terminal.Console.rows", 1)
    assert program.main(["analyze", str(SAMPLES / "backoff")]) == 0
    assert "more timeouts; --verbose shows all" in capsys.readouterr().out
    assert program.main(["analyze", str(SAMPLES / "backoff"), "-v"]) == 0
    assert "more timeouts" not in capsys.readouterr().out
