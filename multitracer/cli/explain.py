"""``multitracer explain``: one packet or moment explained."""

from __future__ import annotations

import shutil
import textwrap

import click

from multitracer.cli.common import (
    filter_option,
    format_option,
    json_option,
    load_segments,
    point_option,
    print_json,
)
from multitracer.cli.visible import say


@click.command(short_help="Explain a retransmission, an idle phase, a sentence or a term.")
@click.argument("paths", nargs=-1, metavar="[PATH...]", type=click.Path(readable=False))
@format_option
@filter_option
@point_option
@json_option
@click.option(
    "--conn", type=click.IntRange(min=0), metavar="N", help="Connection; needed if there are several."
)
@click.option(
    "--at",
    "at_s",
    type=float,
    metavar="SECONDS",
    help="What happened at this time, counted from the first TCP event.",
)
@click.option(
    "--packet", type=click.IntRange(min=1), metavar="NUMBER", help="Packet in the sender's capture."
)
@click.option(
    "--sentence",
    metavar="KIND",
    help="When the diagnosis uses a sentence of this kind, how its numbers are measured, and the source of "
    'its terms; "all" for every kind. Needs no files.',
)
@click.option(
    "--term",
    metavar="WORD",
    help='What a term means and the document that defines it; "all" for every term. Needs no files.',
)
def command(
    paths: tuple[str, ...],
    formats: tuple[str, ...],
    as_json: bool,
    conn: int | None,
    at_s: float | None,
    packet: int | None,
    sentence: str | None,
    term: str | None,
) -> None:
    """Explain why a segment was retransmitted, or why the sender was idle: packets, frames, rule, evidence.

    \b
    multitracer explain sample_traces/spurious-timeouts --conn 0 --at 20
    multitracer explain sample_traces/link-resets-vj --packet 106
    multitracer explain sample_traces/spurious-timeouts --packet 149 --json
    multitracer explain --sentence link_burst
    multitracer explain --term cwnd
    """
    import math

    from multitracer.api.pipeline import analyze
    from multitracer.diagnosis.explain import explain
    from multitracer.model.errors import UsageError

    if sentence is not None or term is not None:
        if paths or at_s is not None or packet is not None or (sentence is not None and term is not None):
            one = "--sentence explains a rule" if sentence is not None else "--term explains a word"
            raise UsageError(f"{one}, not a measurement: give it alone")
        if sentence is not None:
            _rules(sentence, as_json)
        elif term is not None:
            _terms(term, as_json)
        return
    if not paths:
        raise UsageError("explain needs the files of a measurement, --sentence KIND or --term WORD")
    if (at_s is None) == (packet is None):
        raise UsageError(
            "explain needs --packet N or --at SECONDS, and not both; to find packets: "
            "multitracer export PATH --to csv --table arrivals -o arrivals.csv, column record"
        )
    if at_s is not None and not math.isfinite(at_s):
        raise UsageError(f"--at: {at_s} is not a time")
    analysis = analyze(
        load_segments(paths, formats, conn is not None), only=["timeouts", "losses", "idle_phases", "host"]
    )
    explanation = explain(analysis, conn, at_s, packet)
    if as_json:
        print_json(explanation.to_dict())
        return
    for part in textwrap.wrap(explanation.title, max(_columns(), 32), break_on_hyphens=False):
        say(part)
    for line in explanation.lines:
        _line(line["about"], line["text"])


def _line(about: str, text: str) -> None:
    """What it is about, and the text, wrapped beside it to the width of the terminal."""
    room = max(_columns() - 12, 20)
    first, *rest = textwrap.wrap(text, room, break_on_hyphens=False) or [""]
    for line in (f"  {about:<10}{first}", *(" " * 12 + line for line in rest)):
        say(line)


def _columns() -> int:
    """Of the terminal, or of COLUMNS, 80 where there is neither; lines of more than 100 are hard to read."""
    return min(shutil.get_terminal_size().columns, 100)


def _rules(kind: str, as_json: bool) -> None:
    """When a kind of sentence is used, and what its terms mean."""
    from multitracer.diagnosis.findings.rules import RULES
    from multitracer.model.errors import UsageError

    if kind != "all" and kind not in RULES:
        raise UsageError(f"no kind of sentence is called {kind!r}; there are {', '.join(RULES)}")
    wanted = RULES if kind == "all" else {kind: RULES[kind]}
    if as_json:
        print_json({name: rule._asdict() for name, rule in wanted.items()})
        return
    for name, rule in wanted.items():
        say(f"{name}: {rule.title}")
        for about in ("when", "measured", "source"):
            _line(about, getattr(rule, about))


def _terms(word: str, as_json: bool) -> None:
    """What a term means, and the document that defines it."""
    import difflib

    from multitracer.model.errors import UsageError
    from multitracer.model.terms import every, names, plain_source, used_in

    wanted = list(every()) if word == "all" else used_in(word) or used_in(word.upper())
    if not wanted:
        known = [name for one in every() for name in names(one)]
        near = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
        advice = f"near it: {', '.join(near)}" if near else '"--term all" lists the terms'
        raise UsageError(f"no term is called {word!r}; {advice}")
    if as_json:
        print_json({one.name: {"meaning": one.meaning, "source": plain_source(one)} for one in wanted})
        return
    for one in wanted:
        say(one.name)
        _line("meaning", one.meaning)
        _line("source", plain_source(one))
