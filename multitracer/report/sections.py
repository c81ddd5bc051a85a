"""What a view is made of: the diagnosis under its main cause, and the figure with what moves it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.model.quantities import transferred
from multitracer.output.costs import definition
from multitracer.output.used import is_logged
from multitracer.report.facts import Fact
from multitracer.report.interactive import Interactive
from multitracer.report.markup import Markup, join, tag
from multitracer.report.page_text import count, duration, micro, share
from multitracer.report.tables import data_ends

Object = Mapping[str, Any]

WHOLE = ("utilization", "well")  # sentences that the number at the head stands for
UNKNOWN = {"unknown", "log_unknown", "idle_unknown"}
"""Sentences that report that a cause is unknown."""
NO_CAUSE = {*WHOLE, *UNKNOWN, "arrivals", "kernel_count", "multipath", "link_burst_harmless"}
"""Sentences that name no cause."""
KEYS = (
    ("ArrowLeft", "←", "Earlier"),
    ("ArrowRight", "→", "Later"),
    ("+", "+", "Closer"),
    ("-", "−", "Wider"),
    ("0", "0", "All"),
)


def diagnosis(contract: Object, found: list[Fact]) -> Markup:
    """What was found, the main cause as its heading."""
    used = contract["utilization"]
    cause = headline(contract, found)
    top: list[Markup] = []
    if used["value"] is not None:
        low, proven = used["value"] <= 0.95, is_logged(used)
        said = [fact.text for fact in found if fact.kind in WHOLE]
        found = [fact for fact in found if fact.kind not in WHOLE]
        top.append(
            tag(
                "div",
                tag("strong", _used(used["value"], proven), class_="bad" if low else "good"),
                tag("span", "of the link capacity was used"),
                tag("p", micro(" ".join(said)), " Source: link log." if proven else ""),
                class_="used",
            )
        )
    elif "utilization" in contract["inconclusive"]:
        top.append(tag("p", f"Utilization is not known ({contract['inconclusive']['utilization']})."))
    items = [_fact(fact) for fact in found]
    priced = any(fact.cost_words for fact in found)
    rest = (
        tag("ol", items, class_="facts" if priced else "facts unpriced")
        if items
        else tag("p", _nothing(contract), class_="lead")
    )
    note = tag(
        "p",
        micro(f"Cost: {definition(contract, contract['diagnosis'])} ")
        if priced and contract.get("loss")
        else "",
        "Click a line to see it in the figure. "
        "multitracer analyze --explain adds the chain of events behind each.",
        class_="note",
    )
    return join(
        tag("p", "Main cause" if main_cause(found) else "Diagnosis", class_="kicker"),
        tag("h2", cause),
        join(top),
        rest,
        note if items else None,
    )


def _used(value: float, proven: bool) -> str:
    """A utilization; an estimate no more exact than in its sentence."""
    return share(value) if proven else f"about {value:.0%}"


def main_cause(found: list[Fact]) -> Fact | None:
    """The first sentence that names a cause; None if none does."""
    return next((fact for fact in found if fact.kind not in NO_CAUSE), None)


def headline(contract: Object, found: list[Fact]) -> str:
    """The main cause in a few words; without one, what is known instead, and no more.

    "All is well" is shown only where the diagnosis states it, and nothing else is unknown to it.
    """
    cause = main_cause(found)
    if cause is not None:
        cost, _, bounds = cause.cost_words.partition(", ")
        return cause.title + (f", cost {cost}" if cost else "") + (f" ({bounds})" if bounds else "")
    kinds = {fact.kind for fact in found}
    if kinds & UNKNOWN:
        return "The cause is not known"
    if "well" in kinds:
        return "All is well: the log of the link shows it"
    if contract["inconclusive"]:
        return "No cause shows in these files"
    return "Nothing was found that cost time"


def _nothing(contract: Object) -> str:
    if contract["inconclusive"]:
        return "Nothing was found that cost time; what these files cannot answer is listed under Sources."
    return "Nothing was found that cost the transfer time."


def _fact(fact: Fact) -> Markup:
    first = fact.places[0] if fact.places else None
    digits = _digits([start for start, _ in fact.places])
    more = [
        tag(
            "button",
            f"{start:,.{digits}f} s",
            type="button",
            class_="place",
            data_from=start,
            data_to=end,
            title=f"Show {duration(end - start)} from {start:,.3f} s",
        )
        for start, end in (sorted(fact.places) if len(fact.places) > 1 else ())
    ]
    heading = tag("button", fact.title, type="button", class_="go") if first else tag("b", fact.title)
    cost, _, bounds = fact.cost_words.partition(", ")
    line = tag(
        "div",
        tag("span", cost, tag("small", bounds) if bounds else None, class_="cost"),
        tag("div", heading, tag("p", micro(fact.text))),
        class_="fact",
        data_from=None if first is None else first[0],
        data_to=None if first is None else first[1],
    )
    return tag("li", line, tag("div", more, class_="places") if more else None, _rests_on(fact))


def _digits(times: list[float]) -> int:
    """Decimals that distinguish times: one to three."""
    return next((n for n in (1, 2) if len({round(one, n) for one in times}) == len(times)), 3)


def _rests_on(fact: Fact) -> Markup | None:
    """The records and the command behind a sentence."""
    if not fact.evidence and not fact.command:
        return None
    return tag(
        "details",
        tag("summary", "Records and picture"),
        tag("p", fact.evidence) if fact.evidence else None,
        tag("code", fact.command) if fact.command else None,
        class_="rests",
    )


def figures(drawn: Interactive | None, contract: Object, stills: Markup) -> Markup:
    """The figure's place, what moves it, its legend, and stills.

    Parameters
    ----------
    drawn : Interactive or None
        None where there is nothing to draw.
    contract : mapping
        As of ``multitracer analyze --json``.
    stills : Markup
        Pictures of single places.
    """
    if drawn is None:
        return join(
            tag("h2", "Figure"),
            tag("p", "Nothing to draw: neither TCP segments nor link frames on the timeline."),
        )
    bar: list[Markup] = [
        tag("button", label, type="button", data_key=key, title=words, aria_label=words)
        for key, label, words in KEYS
    ]
    if contract["t0_unix_s"] is not None:
        bar.append(tag("button", "Time of day", type="button", id="clock", aria_pressed="false"))
    if drawn.fold_words:
        bar.append(
            tag(
                "button",
                "Fold empty time",
                type="button",
                id="fold",
                aria_pressed="false",
                title=drawn.fold_words,
            )
        )
    bar.append(
        tag(
            "button",
            "Copy link",
            type="button",
            id="link",
            title="The address of this view: connection and time window",
        )
    )
    bar.append(tag("output", "", id="shown"))
    missing = drawn.points - drawn.kept
    note = (
        f"{drawn.points:,} points, all on this page: what is thinned out comes back on zoom."
        if not missing
        else f"{drawn.kept:,} of {drawn.points:,} points in full; the largest series as it looks over all. "
        "multitracer plot --from --to draws any window with all points."
    )
    return join(
        tag("h2", "Figure", _which(contract)),
        tag("div", bar, id="bar", role="toolbar", aria_label="Time window"),
        tag("div", "", id="figure", tabindex="0", aria_label="Sequence numbers of all layers over time"),
        tag("noscript", tag("p", "The figure needs JavaScript; tables and pictures do not.")),
        tag(
            "p",
            "Drag to move, Ctrl and wheel to zoom, or keys: ← → move, + − zoom, 0 all. Point at anything for "
            "its segment, frame or verdict; click a point for packet number, filters and explanation; press "
            f"a name to hide it. {note}",
            class_="note",
        ),
        tag("div", drawn.legend, id="legend"),
        stills,
    )


def _which(contract: Object) -> Markup | None:
    """Of several connections, the one that is drawn."""
    connections = contract["connections"]
    if len(connections) < 2:
        return None
    most = max(connections, key=lambda one: one["bytes"]["unique"])
    return tag("small", f" of connection {most['index']}, which has the most data: {data_ends(most)}")


def subtitle(contract: Object) -> str:
    """What was transferred, in a line."""
    connections = contract["connections"]
    if not connections:
        layers = sorted({source["layer"] for source in contract["sources"]})
        return f"No TCP capture; only: {' and '.join(layers)} log."
    most = max(connections, key=lambda one: one["bytes"]["unique"])
    in_all = contract.get("connections_in_all", len(connections))
    others = f"; and {count(in_all - 1, 'more connection')}" if in_all > 1 else ""
    return f"{data_ends(most)}: {transferred(most, 'µs')}{others}"
