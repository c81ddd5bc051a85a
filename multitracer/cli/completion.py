"""`multitracer completion`: the script that a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from multitracer.cli.visible import say

SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of bash, zsh or fish.

    \b
    multitracer completion bash > multitracer.bash; source multitracer.bash
    multitracer completion zsh > ~/.zfunc/_multitracer
    multitracer completion fish > ~/.config/fish/completions/multitracer.fish
    """
    maker = get_completion_class(shell)
    assert maker is not None  # click has these three
    say(maker(ctx.find_root().command, {}, "multitracer", "_MULTITRACER_COMPLETE").source())
