"""The diagnosis and the chains behind it, on the terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multitracer.cli.terminal import Console

Object = Mapping[str, Any]

SHORT = 130
"""Letters of a sentence that need no shortening."""


def diagnosis(contract: Object, console: Console | None = None) -> None:
    """Print the last word: what cost most first, with the records and the picture of each sentence."""
    from rich.text import Text

    from multitracer.cli import lines, words
    from multitracer.cli.terminal import Console

    console = console or Console()
    if not contract["diagnosis"]:
        return
    lines.heading(console, "Diagnosis")
    for sentence in contract["diagnosis"]:
        text = sentence["text"]
        line = Text(f"- {text[:1].upper()}{text[1:]}.")
        if sentence["cost_s"] >= 0.05:
            line.append(f" [cost {words.duration(sentence['cost_s'])}]", "bold")
        console.print(line, highlight=False)
        if sentence["evidence"]:
            console.print(Text(f"    see {_records(sentence['evidence'])}", "dim"), highlight=False)
        if sentence["command"]:
            console.print(Text(f"    {sentence['command']}", "dim"), highlight=False, soft_wrap=True)


def short(contract: Object, console: Console | None = None) -> None:
    """Print the first words: what the diagnosis, far below, begins with, and what cost most."""
    from rich.text import Text

    from multitracer.cli import lines, words
    from multitracer.cli.terminal import Console

    said = contract["diagnosis"]
    if not said:
        return
    console = console or Console()
    lines.heading(console, "In short")
    cost = max(said[1:], key=lambda one: one["cost_s"], default=None)
    for one in [said[0], *([cost] if cost is not None else [])]:
        text = one["text"]
        if len(text) > SHORT:
            text = text.split("; ")[0]
        price = f" [cost {words.duration(one['cost_s'])}]" if one["cost_s"] >= 0.05 else ""
        console.print(Text(f"- {text[:1].upper()}{text[1:]}.{price}"), highlight=False)


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
            f"{chain['duplicate_bytes']:,} bytes sent twice" if chain["duplicate_bytes"] else "",
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


def _records(evidence: Sequence[Object]) -> str:
    """``snd.pcap 127, 167; rlp.log.gz 2932``: records by file."""
    files: dict[str, list[str]] = {}
    for one in evidence:
        files.setdefault(os.path.basename(one["source"]), []).append(f"{one['record']:,}")
    return "; ".join(f"{name} {', '.join(numbers)}" for name, numbers in files.items())


def _where(event: Object) -> str:
    """File and record of an event, and the lines of its frames."""
    if event["record"] is None:
        return ""
    place = f"{os.path.basename(event['source'] or '')} {event['record']}"
    return f"{place}, frames {event['frames']}" if event["frames"] else place
