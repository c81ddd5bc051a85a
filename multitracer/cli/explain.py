"""``multitracer explain``: the story of one packet or moment."""

from __future__ import annotations

import textwrap

import click

from multitracer.cli.common import format_option, json_option, load, paths_argument, print_json


@click.command()
@paths_argument
@format_option
@json_option
@click.option(
    "--conn", type=click.IntRange(min=0), metavar="N", help="Connection; needed if there are several."
)
@click.option(
    "--at", "at_s", type=float, metavar="SECONDS", help="What happened then, from the first TCP event."
)
@click.option(
    "--packet", type=click.IntRange(min=1), metavar="NUMBER", help="Packet in the sender's capture."
)
def command(
    paths: tuple[str, ...],
    formats: tuple[str, ...],
    as_json: bool,
    conn: int | None,
    at_s: float | None,
    packet: int | None,
) -> None:
    """Tell why a segment was sent again, or why nothing was sent: packets, rule, evidence.

    \b
    multitracer explain sample_traces/spurious-timeouts --conn 0 --at 20
    multitracer explain sample_traces/link-resets-vj --packet 106
    multitracer explain run7 --packet 443 --json
    """
    import math

    from multitracer.errors import UsageError
    from multitracer.explain import explain
    from multitracer.pipeline import analyze

    if (at_s is None) == (packet is None):
        raise UsageError("explain needs either a time (--at) or a packet (--packet)")
    if at_s is not None and not math.isfinite(at_s):
        raise UsageError(f"--at: {at_s} is not a time")
    analysis = analyze(load(paths, formats), only=["timeouts", "losses", "idle_phases"])
    story = explain(analysis, conn, at_s, packet)
    if as_json:
        print_json(story.to_dict())
        return
    click.echo(story.title)
    for line in story.lines:
        body = textwrap.fill(line["text"], 92, initial_indent=" " * 12, subsequent_indent=" " * 12)
        click.echo(f"  {line['about']:<10}{body[12:]}")
