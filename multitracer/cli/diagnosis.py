"""The diagnosis and the chains behind it, on the terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from multitracer.output.costs import definition, is_printed, tag
from multitracer.output.evidence import records

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from multitracer.cli.terminal import Console

Object = Mapping[str, Any]

SHORT = 5
"""Sentences that make up the answer; further ones are printed below."""


def answer(contract: Object, console: Console | None = None) -> None:
    """Print the answer: the first sentences of the diagnosis, the main cause first."""
    from multitracer.cli import lines
    from multitracer.cli.terminal import Console
    from multitracer.output.order import reading_order

    said = reading_order(contract)
    if not said:
        return
    console = console or Console()
    lines.heading(console, "In short")
    for number, sentence in enumerate(said[:SHORT], 1):
        _sentence(console, number, sentence, contract)
    if contract.get("loss") and any(is_printed(contract, one) for one in said[:SHORT]):
        from rich.text import Text

        line = f"[cost]: {definition(contract, said[:SHORT])}"
        console.print(_hanging("", Text(line, "dim")))


def evidence(contract: Object, console: Console | None = None) -> None:
    """Print what the answer rests on: records and picture of each sentence, and the sentences beyond it."""
    from rich.text import Text

    from multitracer.cli import lines
    from multitracer.cli.terminal import Console
    from multitracer.output.order import reading_order

    console = console or Console()
    said = reading_order(contract)
    commands = [sentence["command"] for sentence in said]
    shown = [
        (number, sentence)
        for number, sentence in enumerate(said, 1)
        if number > SHORT or sentence["evidence"] or commands.index(sentence["command"]) == number - 1
    ]
    shown = [(number, one) for number, one in shown if number > SHORT or one["evidence"] or one["command"]]
    if not shown:
        return
    lines.heading(console, "Evidence")
    for number, sentence in shown:
        if number > SHORT:
            _sentence(console, number, sentence, contract)
        rests_on = _rests_on(sentence)
        label = "" if number > SHORT else f"{number}."
        if rests_on:
            console.print(_hanging(label, Text(rests_on, "dim")))
        if sentence["command"] and commands.index(sentence["command"]) == number - 1:
            line = Text(f"{'' if rests_on else label:4}{sentence['command']}", "dim")
            console.print(line, soft_wrap=True)


def _rests_on(sentence: Object) -> str:
    """The records behind a sentence; of several a picture of a part of the time shows the first."""
    if not sentence["evidence"]:
        return ""
    first = len(sentence["evidence"]) > 1 and " --from " in (sentence["command"] or "")
    return f"see records {records(sentence['evidence'])}{' (the plot shows the first)' if first else ''}"


def _sentence(console: Console, number: int, sentence: Object, contract: Object) -> None:
    from rich.text import Text

    text = sentence["text"]
    line = Text(f"{text[:1].upper()}{text[1:]}.")
    if is_printed(contract, sentence):
        line.append(f" [{tag(contract, sentence)}]", "bold")
    console.print(_hanging(f"{number}.", line))


def _hanging(label: str, text: Text) -> Table:
    """A paragraph beside its number."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=3, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(label, text)
    return grid


def chains(contract: Object, console: Console | None = None) -> None:
    """Print the chains, event by event with packets and frames."""
    from multitracer.cli import lines, words
    from multitracer.cli.terminal import Console

    console = console or Console()
    for chain in contract["chains"]:
        kind = chain["kind"].replace("_", " ")
        lines.heading(
            console, f"Chain {chain['chain']}: {kind}, {chain['start']:.3f} to {chain['end']:.3f} s"
        )
        price = [
            f"{words.duration(chain['cost_s'])} of the link" if chain["cost_s"] else "",
            f"idle {words.duration(chain['idle_s'])}" if chain["idle_s"] else "",
            f"{chain['duplicate_bytes']:,} duplicate bytes" if chain["duplicate_bytes"] else "",
        ]
        lines.line(console, "Cost", ", ".join(part for part in price if part) or "none")
        table = lines.table("#event", "#after", "#at", "what", "#byte", "where", "why")
        for event in chain["events"]:
            table.add_row(
                str(event["event"]),
                str(event["parent"] or ""),
                f"{event['t']:.3f} s",
                event["what"].replace("_", " "),
                "" if event["seq"] is None else f"{event['seq']:,}",
                _where(event),
                event["rule"],
            )
        console.print(table)


def _where(event: Object) -> str:
    """File and record of an event, and the lines of its frames."""
    if event["record"] is None:
        return ""
    place = f"{os.path.basename(event['source'] or '')} {event['record']}"
    return f"{place}, frames {event['frames']}" if event["frames"] else place
