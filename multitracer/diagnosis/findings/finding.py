"""One sentence of a diagnosis."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from multitracer.model.frozen import frozen
from multitracer.model.timeline import Timeline

if TYPE_CHECKING:
    from multitracer.model.arrays.intervals import Intervals

MOST_EVIDENCE = 12


@frozen
class Finding:
    """One sentence.

    Attributes
    ----------
    text : str
    cost_s : float
        Seconds that the transfer would have gained without it (`multitracer.diagnosis.gain`); 0 if none.
        Until all sentences are there, what it claims of them.
    evidence : tuple of (str, int)
        File and record (packet or line) of what it rests on.
    command : str
        Shows its picture.
    kind : str
        Stable name of what was found.
    chains : tuple of int
        Numbers of the chains behind it.
    bounds_s : tuple of float or None
        Bounds of the cost; None where it is measured.
    of_s : float
        Seconds that all connections took that it is about.
    """

    text: str
    cost_s: float
    kind: str
    command: str = ""
    evidence: tuple[tuple[str, int], ...] = ()
    chains: tuple[int, ...] = field(default=())
    bounds_s: tuple[float, float] | None = None
    of_s: float = math.inf

    @property
    def between_s(self) -> tuple[float, float]:
        """Least and most that it cost."""
        return self.bounds_s or (self.cost_s, self.cost_s)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "text": in_sentences(self.text),
            "kind": self.kind,
            "cost_s": round(self.cost_s, 3),
            "cost_bounds_s": [round(bound, 3) for bound in self.between_s],
            "evidence": [{"source": path, "record": record} for path, record in self.evidence],
            "command": self.command or None,
            "chains": list(self.chains),
        }


MOST_WORDS = 40
"""Of a sentence; a longer text becomes several sentences."""


def in_sentences(text: str) -> str:
    """Break a long text at semicolons, so that no sentence is longer than it need be.

    Parameters
    ----------
    text : str
        Clauses with ``; `` between them; those in parentheses stay together.

    Returns
    -------
    str
        The same words. Up to `MOST_WORDS` of them stay one sentence.
    """
    if len(text.split()) <= MOST_WORDS:
        return text
    sentences: list[str] = []
    for clause in _clauses(text):
        joint = f"{sentences[-1]}; {clause}" if sentences else clause
        if sentences and len(joint.split()) <= MOST_WORDS:
            sentences[-1] = joint
        else:
            sentences.append(clause)
    return ". ".join([sentences[0], *(one[:1].upper() + one[1:] for one in sentences[1:])])


def _clauses(text: str) -> list[str]:
    """The parts between semicolons outside of parentheses."""
    found, depth, begin = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == ";" and depth <= 0 and text[at + 1 : at + 2] == " ":
            found.append(text[begin:at])
            begin = at + 2
    return [*found, text[begin:]]


def resting_on(
    found: Iterable[Finding], kind: str, records: Iterable[tuple[str, int]], command: str
) -> list[Finding]:
    """The findings, those of a kind that have a text with the records and the picture that they rest on.

    Parameters
    ----------
    found : iterable of Finding
    kind : str
    records : iterable of (str, int)
        Files and records, of which the first `MOST_EVIDENCE` are kept.
    command : str
        Draws the picture.

    Returns
    -------
    list of Finding
        In their order.
    """
    evidence = tuple(records)[:MOST_EVIDENCE]
    return [
        replace(one, evidence=evidence, command=command) if one.kind == kind and one.text else one
        for one in found
    ]


def plot_command(m: Timeline, start: float | None, end: float | None, kind: str = "multilayer") -> str:
    """The command that draws a time window of this measurement.

    Parameters
    ----------
    m : Timeline
    start, end : float or None
        Seconds from the first TCP event; a second is added on each side. None: all of the transfer.
    kind : str
        Name of the plot.

    Returns
    -------
    str
        A command that a shell can run; empty where a source was standard input, which cannot be read again.
    """
    # A file may hold several sources, as one of a monitor holds frames and packets.
    paths = list(dict.fromkeys(source.path for source in m.sources))
    if "-" in paths:
        return ""
    folders = {os.path.dirname(path) for path in paths}
    shown = [next(iter(folders))] if len(paths) > 1 and len(folders) == 1 and next(iter(folders)) else paths
    words = ["multitracer", "plot", *shown]
    if kind != "multilayer":
        words += ["--kind", kind]
    if start is not None and end is not None:
        words += ["--from", str(max(math.floor(start) - 1, 0)), "--to", str(math.ceil(end) + 1)]
    return " ".join(shlex.quote(word) for word in [*words, "-o", f"{kind}.png"])


def transfer_spans(m: Timeline) -> Intervals:
    """When data was transferred; as a capture on the path saw it, where none is next to the sender."""
    from multitracer.layers.tcp.transit import data_spans
    from multitracer.model.arrays.intervals import intervals

    found = data_spans(m)
    if len(found):
        return found
    rows = m.table("segments")
    data = rows["t_ns"][rows["length"] > 0]
    return intervals([(int(data.min()), int(rows["t_ns"].max()))] if len(data) else ())


def several(number: int, thing: str, things: str = "") -> str:
    """``3 link resets``, ``1 link reset``, ``no link resets``.

    Parameters
    ----------
    number : int
    thing : str
        What is counted, one of it.
    things : str
        Several of it; without it, `thing` with an s.
    """
    plural = things or f"{thing}s"
    return f"{number:,} {thing if number == 1 else plural}" if number else f"no {plural}"


def joined(parts: Iterable[str]) -> str:
    """``a, b and c``."""
    words = [part for part in parts if part]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def seconds(value: float) -> str:
    """Seconds with as many digits as matter."""
    if value >= 100:
        return f"{value:,.0f} s"
    return f"{value:.1f} s" if value >= 1 else f"{value * 1e3:.0f} ms"


def spread(values: Sequence[float]) -> str:
    """``1.0 to 2.5 s``, or one value."""
    low, high = min(values), max(values)
    return seconds(low) if seconds(low) == seconds(high) else f"{seconds(low)} to {seconds(high)}"


def share(value: float) -> str:
    """``24%``; below ten with a digit more."""
    return f"{value:.1%}" if value < 0.0995 else f"{value:.0%}"
