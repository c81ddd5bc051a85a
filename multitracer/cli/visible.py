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
