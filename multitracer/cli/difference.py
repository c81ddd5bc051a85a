"""A comparison on the terminal."""

from __future__ import annotations

from rich.text import Text

from multitracer.batch import difference_words as words
from multitracer.batch.difference import Difference
from multitracer.cli.lines import heading, line, table
from multitracer.cli.terminal import Console
from multitracer.model import quantities

SHOWN = 12


def print_difference(found: Difference) -> None:
    """Print a comparison: the answer, the causes, what else differs."""
    console = Console()
    style = {"slower": "bold red", "faster": "bold green"}.get(found.verdict, "bold")
    console.print(Text(words.headline(found), style))
    if main := words.main_cause(found):
        console.print(Text(main))
    console.print()
    line(console, "Before", f"{found.before.path}: {words.side(found.before)}")
    line(console, "After", f"{found.after.path}: {words.side(found.after)}")
    for label, side in (("before", found.before), ("after", found.after)):
        if side.left_out:
            line(console, f"Left out {label}", ", ".join(side.left_out[:SHOWN]), "yellow")
    heading(console, "Difference by cause")
    with_intervals = found.low_s is not None
    causes = table(
        "=cause", "#before", "#after", "#difference", *(["#95% interval"] if with_intervals else [])
    )
    for cause in found.causes:
        cells = [
            words.spelled(cause.cause),
            quantities.duration(cause.before_s) if cause.before_s else "",
            quantities.duration(cause.after_s) if cause.after_s else "",
            words.signed(cause.difference_s),
        ]
        causes.add_row(*cells, *([words.interval(cause)] if with_intervals else []))
    whole = [
        "transfer time",
        quantities.duration(found.before_s),
        quantities.duration(found.after_s),
        words.signed(found.difference_s),
    ]
    if found.low_s is not None and found.high_s is not None:
        whole.append(f"{words.signed(found.low_s)} to {words.signed(found.high_s)}")
    causes.add_section()
    causes.add_row(*whole, style="bold")
    console.print(causes)
    changed = [one for one in found.factors if one.sure]
    if changed:
        heading(console, "What else changed")
        factors = table("=metric", "#before", "#after", "#95% interval of the difference")
        for one in changed[:SHOWN]:
            factors.add_row(
                words.metric(one.metric),
                words.value(one.metric, one.before),
                words.value(one.metric, one.after),
                words.metric_interval(one),
            )
        console.print(factors)
    if found.settings:
        heading(console, "Parameters that differ")
        for name, (first, second) in list(found.settings.items())[:SHOWN]:
            line(console, name, f"{_value(first)} -> {_value(second)}")
    console.print()
    for note in [*found.notes, words.method(found)]:
        console.print(Text(note, "dim"))


def _value(value: object) -> str:
    return "none" if value is None else str(value)
