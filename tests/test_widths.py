"""What is printed for people fits a terminal of 80 columns, and ends no line with blanks."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from support_samples import SAMPLES

from multitracer.cli import main as program

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
