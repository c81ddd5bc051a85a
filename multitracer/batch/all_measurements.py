"""The table of all measurements of a batch: the gravest first, with filters and columns to choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from multitracer.batch.outcome import Batch, Record, goodput_bps
from multitracer.batch.page import table
from multitracer.report.markup import Child, Markup, join, tag
from multitracer.report.page_text import duration, rate, share, spelled
from multitracer.report.sections import NO_CAUSE

MOST_ROWS = 5_000
MOST_LETTERS = 40
"""Of a parameter's value."""
MOST_CHOICES = 30
FIXED = 12
"""Columns before those of the parameters."""
MOST_PARAMETERS = 4
"""Of more parameters that differ, the reader ticks those to see."""


def all_measurements(found: Batch) -> Markup:
    """Filters, and a table of one row a measurement, the gravest first."""
    names = found.varied
    states = _states(found)
    shown = sorted(found.records, key=lambda record: _worst_first(record, states))[:MOST_ROWS]
    choices = {name: _choices(found.done, name) for name in names}
    headings = [
        "measurement", "state", "utilization", "main cause", "goodput", "bytes", "duplicate bytes",
        "retransmissions", "timeouts", "spurious", "RTT", "main loss", *names,
    ]  # fmt: skip
    rows = (_row(record, states[record["name"]], names) for record in shown)
    filters: list[Child] = [
        tag(
            "label", "Find ", tag("input", type="search", id="find", placeholder="words", autocomplete="off")
        ),
        _select("state", 1, ("rule broken", "flagged", "failed", "unanswered", "done")),
        tag(
            "label",
            "Utilization at most ",
            tag("input", type="number", id="most", min="0", max="100", step="any"),
            " %",
        ),
    ]
    filters += [_select(name, FIXED + at, choices[name]) for at, name in enumerate(names) if choices[name]]
    notes = []
    if len(found.records) > len(shown):
        notes.append(f"The first {len(shown):,} of {len(found.records):,}; summary.csv has all.")
    return join(
        tag(
            "details",
            tag("summary", "Filter, and choose columns ", tag("output", f"{len(shown):,} shown", id="count")),
            tag("div", filters, id="filters", role="search"),
            tag(
                "div",
                _columns(headings, FIXED if len(names) > MOST_PARAMETERS else None),
                id="columns",
                role="group",
                aria_label="Columns",
            ),
            class_="tools",
        ),
        table("All measurements", headings, rows, id_="measurements"),
        [tag("p", words, class_="note") for words in notes],
    )


def _states(found: Batch) -> dict[str, str]:
    """The state of each measurement by name: the gravest that applies."""
    flagged = {record["name"] for record in found.flagged}
    wrong = {one.measurement for one in found.broken}
    states = {}
    for record in found.records:
        name = record["name"]
        if record["status"] != "done":
            states[name] = "failed"
        elif name in wrong:
            states[name] = "rule broken"
        elif name in flagged:
            states[name] = "flagged"
        elif record["utilization"]["value"] is None and _main(record) in (None, "unknown"):
            states[name] = "unanswered"
        else:
            states[name] = "done"
    return states


_GRAVEST = ("rule broken", "flagged", "failed", "unanswered", "done")


def _worst_first(record: Record, states: Mapping[str, str]) -> tuple[int, float, str]:
    value = record["utilization"]["value"] if record["status"] == "done" else None
    return _GRAVEST.index(states[record["name"]]), 2.0 if value is None else value, record["name"]


def _main(record: Record) -> str | None:
    """The kind of the main cause: the first sentence that is not the utilization."""
    return next((str(one["kind"]) for one in record["diagnosis"] if one["kind"] != "utilization"), None)


def _main_title(record: Record) -> str:
    """The main cause in a few words; empty where the diagnosis names none."""
    found = (one for one in record["diagnosis"] if one["kind"] not in NO_CAUSE)
    return next((str(one["title"]) for one in found), "")


def _columns(headings: Sequence[str], shown: int | None) -> list[Child]:
    """A box to tick for each column but the first; those from `shown` on are not ticked."""
    return [
        tag(
            "label",
            tag(
                "input", type="checkbox", checked="" if shown is None or at < shown else None, data_column=at
            ),
            f" {heading}",
        )
        for at, heading in enumerate(headings)
        if at
    ]


def _choices(records: Iterable[Record], name: str) -> tuple[str, ...]:
    """Values to choose from: of parameters that differ, and take few values."""
    values = {worded(record["parameters"][name]) for record in records if name in record["parameters"]}
    return tuple(sorted(values)) if 1 < len(values) <= MOST_CHOICES else ()


def _select(name: str, column: int, values: Iterable[str]) -> Markup:
    options = [tag("option", "all", value="")] + [tag("option", one, value=one) for one in values]
    return tag("label", f"{name} ", tag("select", options, data_column=column, aria_label=name))


def _row(record: Record, state: str, names: Sequence[str]) -> Sequence[Any]:
    if record["status"] != "done":
        return [record["name"], "failed", "", record["error"]["text"], *[""] * 8, *[""] * len(names)]
    connections = record["connections"]
    most: Mapping[str, Any] = max(connections, key=lambda one: int(one["bytes"]), default={})
    value = record["utilization"]["value"]

    def total(name: str) -> tuple[int | None, str]:
        known = [one[name] for one in connections if one[name] is not None]
        return (sum(known), f"{sum(known):,}") if known or not connections else (None, "")

    goodput, rtt = goodput_bps(record), most.get("rtt_mean_ms")
    cause = next((one for one in record["causes"] if one["share"]), None)
    return [
        link(record),
        state,
        (None if value is None else 100 * value, used(record)),
        _main_title(record),
        (goodput, "" if goodput is None else rate(goodput)),
        total("bytes"),
        total("duplicate_bytes"),
        total("retransmissions"),
        total("timeouts"),
        total("timeouts_spurious"),
        (rtt, "" if rtt is None else duration(rtt / 1e3)),
        spelled(most.get("limited_by") or "")
        if cause is None
        else f"{spelled(cause['cause'])} {share(cause['share'])}",
        *(_plain(record["parameters"].get(name)) for name in names),
    ]


def _plain(value: Any) -> Any:
    if value is None:
        return ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (value, str(value)) if is_number else worded(value)


def worded(value: Any) -> str:
    """A parameter as it stands in a settings file, cut where it would fill a page."""
    if isinstance(value, bool):
        return str(value).lower()
    words = str(value)
    return words if len(words) <= MOST_LETTERS else f"{words[: MOST_LETTERS - 4].rstrip()} ..."


def link(record: Record) -> Markup:
    """The name of a measurement, linked to its page if it has one."""
    name = record["name"]
    return tag("a", name, href=quote(record["page"])) if record.get("page") else tag("span", name)


def used(record: Record) -> str:
    """The utilization; empty if it is not known."""
    value = record["utilization"]["value"] if record["status"] == "done" else None
    return "" if value is None else share(value)
