"""Text for people: what traces and file names bring along cannot steer a terminal."""

from __future__ import annotations

import click

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_UNSEEN = dict.fromkeys([*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)
_VISIBLE = {**_PICTURES, 0x7F: 0x2421, **_UNSEEN}
"""Control characters (C0, C1, overrides of the writing direction) as one visible character each."""


def visible(text: str) -> str:
    """The text with its control characters made visible; new lines and tabs stay."""
    return text.translate(_VISIBLE)


def say(text: str = "", *, err: bool = False) -> None:
    """Print a line, for people."""
    click.echo(visible(text), err=err)


def say_wrapped(name: str, text: str) -> None:
    """Print an entry of a list: a name, and its text beside it within the width of the terminal."""
    from shutil import get_terminal_size
    from textwrap import wrap

    width = max(get_terminal_size().columns - len(name), 30)
    for at, line in enumerate(wrap(text, width, break_long_words=False)):
        say(f"{' ' * len(name) if at else name}{line}")
