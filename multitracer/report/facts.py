"""The diagnosis for the page: what `multitracer analyze` reports, with the places to look at."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from multitracer.diagnosis.findings.rules import RULES
from multitracer.model.frozen import frozen
from multitracer.output import costs
from multitracer.output.costs import is_printed
from multitracer.output.evidence import records
from multitracer.output.order import reading_order
from multitracer.report.page_text import portable, spelled

Object = Mapping[str, Any]
Stretch = tuple[float, float]

MOST_PLACES = 8
"""Places of one fact that can be gone to; its table has all."""


@frozen
class Fact:
    """One sentence of the diagnosis.

    Attributes
    ----------
    cost_s : float or None
        Seconds of the link; None if it cost nothing worth naming.
    title, text : str
    places : tuple of (start, end)
        Where to look, in seconds from the first TCP event; the most expensive first.
    evidence : str
        Files and records that it rests on.
    command : str
        Draws its picture.
    kind : str
    bounds_s : (float, float) or None
        Of the cost.
    cost_unknown : bool
        Whether they show nothing.
    """

    cost_s: float | None
    title: str
    text: str
    places: tuple[Stretch, ...] = ()
    evidence: str = ""
    command: str = ""
    kind: str = ""
    bounds_s: Stretch | None = None
    cost_unknown: bool = False

    @property
    def known_cost_s(self) -> float | None:
        """The cost without its bounds; None without one, and where these show nothing."""
        return None if self.cost_unknown else self.cost_s

    @property
    def cost_words(self) -> str:
        """The cost with its bounds, as the terminal has them; "" without one."""
        if self.cost_s is None:
            return ""
        if self.cost_unknown:
            return costs.UNKNOWN
        low_s, high_s = self.bounds_s or (self.cost_s, self.cost_s)
        return costs.cost_words(low_s, self.cost_s, high_s)


def facts(contract: Object) -> list[Fact]:
    """All sentences, in the order in which the terminal prints them."""
    return [_fact(contract, sentence) for sentence in reading_order(contract)]


def _fact(contract: Object, sentence: Object) -> Fact:
    kind, text = str(sentence["kind"]), str(sentence["text"])
    low_s, high_s = sentence["cost_bounds_s"]
    priced = is_printed(contract, sentence)
    return Fact(
        sentence["cost_s"] if priced else None,
        RULES[kind].title if kind in RULES else spelled(kind),
        f"{text[:1].upper()}{text[1:]}.",
        _places(contract, sentence),
        records(sentence["evidence"]),
        portable(shlex.split(str(sentence["command"] or ""))),
        kind,
        (float(low_s), float(high_s)),
        priced and costs.said_cost(contract, sentence) == costs.UNKNOWN,
    )


def _places(contract: Object, sentence: Object) -> tuple[Stretch, ...]:
    """Chains by cost, or idle phases of the cause that are in no chain by length."""
    numbers = set(sentence["chains"])
    mine = [chain for chain in contract["chains"] if chain["chain"] in numbers]
    if mine:
        mine.sort(key=lambda chain: (-chain["cost_s"], -chain["silence_s"], chain["start"]))
        return tuple((chain["start"], chain["end"]) for chain in mine[:MOST_PLACES])
    cause = str(sentence["kind"]).removeprefix("idle_")
    if cause == sentence["kind"]:
        return _drawn(str(sentence["command"] or ""))
    chained = {
        round(event["t"], 6)
        for chain in contract["chains"]
        for event in chain["events"]
        if event["what"] == "idle"
    }
    return longest(
        [
            (phase["start"], phase["end"])
            for phase in contract["idle_phases"]
            if str(phase["cause"]).replace("/", "_") == cause and round(phase["start"], 6) not in chained
        ]
    )


def _drawn(command: str) -> tuple[Stretch, ...]:
    """The window that a command draws; none if it draws all."""
    words = shlex.split(command)
    if "--from" not in words or "--to" not in words:
        return ()
    start, end = (float(words[words.index(option) + 1]) for option in ("--from", "--to"))
    return ((start, end),)


def longest(stretches: list[Stretch]) -> tuple[Stretch, ...]:
    """The longest few."""
    return tuple(sorted(stretches, key=lambda one: one[0] - one[1])[:MOST_PLACES])


def gap_of(reset: Object) -> Stretch | None:
    """Begin and end of the gap after a reset, if they are known."""
    start, end = reset.get("gap_start"), reset.get("gap_end")
    if start is None or end is None or end <= start:
        return None
    return float(start), float(end)
