"""The page over a whole batch: what is flagged and why first, then all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from multitracer.batch import difference_words as words
from multitracer.batch.comparison import Change
from multitracer.batch.difference import Difference
from multitracer.batch.difference_page import by_cause
from multitracer.batch.outcome import Batch, Record, flag_rule, flagged_for
from multitracer.batch.page import page, table
from multitracer.batch.pictures import histogram, study_chart
from multitracer.batch.study import Pivot
from multitracer.report.markup import Child, Markup, join, tag
from multitracer.report.page_text import count, duration, micro, rate, share, spelled
from multitracer.report.sections import NO_CAUSE

MOST_ROWS = 5_000
MOST_LETTERS = 40
"""Of a parameter's value."""
MOST_FLAGGED = 200
MOST_CHOICES = 30
MOST_FAILED = 1_000
FIXED = 12
"""Columns of the table of all measurements before those of the parameters."""
MOST_PARAMETERS = 4
"""Of more parameters that differ, the reader ticks those to see."""


def index_page(
    found: Batch,
    studies: Sequence[Pivot],
    changes: Sequence[Change] | None,
    slower: Difference | None = None,
) -> str:
    """The page as text: self-contained but for links to the pages of measurements.

    Parameters
    ----------
    found : Batch
    studies : sequence of Pivot
    changes : sequence of Change, optional
        Metrics against the baseline.
    slower : Difference, optional
        Transfer time against the baseline.
    """
    chapters = [
        ("broken", "Rules broken", _broken(found)),
        ("all", "All measurements", _all(found)),
        ("flagged", "Flagged, and why", _flagged(found)),
        ("causes", "Causes", _causes(found)),
        ("histogram", "Utilization", _histogram(found)),
        ("comparison", "Comparison", join(_difference(slower), _changes(changes))),
        ("studies", "Studies", join(*map(_study, studies))),
        ("fairness", "Fairness", _fairness(found)),
        ("unread", "Not read", _unread(found)),
    ]
    title = count(len(found.records), "measurement")
    return page(title, _lead(found), chapters, "summary.csv holds every connection.")


def _lead(found: Batch) -> str:
    connections = sum(len(record["connections"]) for record in found.done)
    return (
        f"{len(found.done):,} analysed with {count(connections, 'connection')}; "
        f"{len(found.flagged):,} flagged ({flag_rule(found)}); {len(found.failed):,} failed."
    )


def _broken(found: Batch) -> Markup:
    if not found.broken:
        return Markup("")
    rows = [(one.measurement or "against the baseline", one.rule, one.text) for one in found.broken]
    more = len(rows) - MOST_FAILED
    note = tag("p", f"and {more:,} more in junit.xml", class_="note") if more > 0 else None
    return join(table("Rules broken", ("measurement", "rule", "found"), rows[:MOST_FAILED]), note)


def _difference(slower: Difference | None) -> Markup:
    """Transfer time against the baseline, by cause."""
    if slower is None:
        return Markup("")
    return join(
        tag("p", words.headline(slower)), by_cause(slower), tag("p", words.method(slower), class_="note")
    )


def _link(record: Record, words: str | None = None) -> Markup:
    text = words or record["name"]
    return tag("a", text, href=quote(record["page"])) if record.get("page") else tag("span", text)


def _flagged(found: Batch) -> Markup:
    flagged = found.flagged
    known = sum(record["utilization"]["value"] is not None for record in found.done)
    if not flagged:
        words = f"None of {count(known, 'measurement')} of known utilization is at {found.flag_below:g}% "
        words += "or less."
        if not known:
            words = "No utilization is known: that needs a link log, or an estimate of the link's rate."
        return tag("p", words, class_="lead")
    varied = found.varied
    items = [
        tag(
            "li",
            tag(
                "div",
                tag("strong", _used(record) or "unknown", class_="bad cost"),
                tag(
                    "div",
                    _link(record),
                    _broke(record, found.flag_below),
                    _parameters(record, varied),
                    _why(record),
                ),
                class_="fact",
            ),
        )
        for record in flagged[:MOST_FLAGGED]
    ]
    more = len(flagged) - len(items)
    note = tag("p", f"and {more:,} more, in the table above", class_="note") if more > 0 else None
    return join(tag("ol", items, class_="facts"), note)


def _used(record: Record) -> str:
    """The utilization; empty if it is not known."""
    value = record["utilization"]["value"] if record["status"] == "done" else None
    return "" if value is None else share(value)


def _broke(record: Record, below: float) -> Markup | None:
    """What but its utilization a measurement is flagged for."""
    why = flagged_for(record, below)
    return None if why.startswith("utilization") else tag("span", f" {why}", class_="bad")


def _parameters(record: Record, varied: Sequence[str]) -> Markup | None:
    """What tells this measurement from the others."""
    found = record["parameters"]
    words = ", ".join([f"{name} {_worded(found[name])}" for name in varied if name in found][:12])
    return tag("p", words, class_="note") if words else None


def _why(record: Record) -> Markup:
    """What it was lost to, and the facts behind it."""
    causes = ", ".join(
        f"{spelled(one['cause'])} {share(one['share'])}" for one in record["causes"] if one["share"]
    )
    parts: list[Child] = [tag("p", f"Lost to: {causes}.")] if causes else []
    facts = [
        tag(
            "li",
            tag("b", one["title"]),
            "" if one["cost_s"] is None else f" ({duration(one['cost_s'])})",
            micro(_after(one["title"], one["text"])),
        )
        for one in record["diagnosis"]
    ]
    if facts:
        parts.append(tag("ul", facts))
    return join(*parts)


def _after(title: str, text: str) -> str:
    """What stands behind a title: a sentence that begins with it goes on from there."""
    return text.removeprefix(title) if text.startswith(title) else f": {text}"


def _histogram(found: Batch) -> Markup:
    return histogram(
        [
            {
                "name": record["name"],
                "utilization": record["utilization"]["value"],
                "goodput_bps": max(
                    record["connections"], key=lambda one: int(one["bytes"]), default={"goodput_bps": None}
                )["goodput_bps"],
            }
            for record in found.done
        ]
    )


def _causes(found: Batch) -> Markup:
    causes = found.causes()
    if not causes:
        return Markup("")
    known = sum(bool(record["causes"]) or record["utilization"]["value"] is not None for record in found.done)
    rows = [
        (
            spelled(one["cause"]),
            "duplicate bytes" if one["kind"] == "bytes" else "link idle",
            (one["measurements"], f"{one['measurements']:,} of {known:,}"),
            (one["s"], duration(one["s"]) if one["kind"] != "bytes" else ""),
            (sum(one["shares"]) / known, share(sum(one["shares"]) / known)),
            (max(one["shares"]), share(max(one["shares"]))),
        )
        for one in causes
    ]
    note = "Share: of time or bytes, mean over all measurements of known utilization, and the largest of one."
    return join(
        table("Causes", ("cause", "what", "measurements", "time", "mean share", "largest"), rows),
        tag("p", note, class_="note"),
    )


def _changes(changes: Sequence[Change] | None) -> Markup:
    if changes is None:
        return Markup("")
    if not changes:
        return tag("p", "No metric with two measurements or more in both sets.")
    rows = [
        (
            spelled(one.metric),
            (one.before, f"{one.before:,.6g} (n={one.n_before:,})"),
            (one.after, f"{one.after:,.6g} (n={one.n_after:,})"),
            (one.difference, f"{one.difference:+,.4g}"),
            (one.low, f"{one.low:+,.4g} to {one.high:+,.4g}"),
            "in pairs" if one.paired else "as sets",
            "changed" if one.sure else "no change shown",
        )
        for one in changes
    ]
    headings = (
        "metric",
        "median before",
        "median after",
        "difference",
        "95% interval",
        "compared",
        "verdict",
    )
    note = (
        "Percentile bootstrap over measurements. Of many metrics, one in twenty shows a change that is none."
    )
    return join(table("Comparison", headings, rows), tag("p", note, class_="note"))


def _study(study: Pivot) -> Markup:
    over = study.rows if study.columns is None else f"{study.rows} and {study.columns}"
    columns = study.column_values()
    cells = {(one.row, one.column): one for one in study.cells}
    rows: list[Sequence[Any]] = []
    for row in study.row_values():
        line: list[Any] = [(row, str(row)) if isinstance(row, int | float) else str(row)]
        for column in columns:
            one = cells.get((row, column))
            words = "" if one is None else f"{one.median:,.5g} ({one.q1:,.5g} to {one.q3:,.5g}) n={one.n:,}"
            line.append((None if one is None else one.median, words))
        rows.append(line)
    headings = [study.rows, *(study.metric if one is None else f"{study.columns} {one}" for one in columns)]
    missing = f" {count(study.missing, 'row')} without a value left out." if study.missing else ""
    return join(
        tag("h3", f"{spelled(study.metric)} over {over}"),
        study_chart(study),
        table(study.metric, headings, rows),
        tag("p", f"Median, quartiles, number of values.{missing}", class_="note"),
    )


def _fairness(found: Batch) -> Markup:
    rows = []
    for record in found.done:
        shared = record["connections"][0] if record["connections"] else {}
        if shared.get("jain") is None:
            continue
        rows.append(
            (
                _link(record),
                (shared["flows"], f"{shared['flows']:,}"),
                (shared["jain"], f"{shared['jain']:.3f}"),
                (shared["goodput_std_bps"], rate(shared["goodput_std_bps"])),
            )
        )
    if not rows:
        return Markup("")
    headings = ("measurement", "flows", "Jain index", "standard deviation of goodput")
    return table("Fairness", headings, rows[:MOST_ROWS])


def _all(found: Batch) -> Markup:
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
    values = {_worded(record["parameters"][name]) for record in records if name in record["parameters"]}
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

    goodput, rtt = most.get("goodput_bps"), most.get("rtt_mean_ms")
    cause = next((one for one in record["causes"] if one["share"]), None)
    return [
        _link(record),
        state,
        (None if value is None else 100 * value, _used(record)),
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
    return (value, str(value)) if is_number else _worded(value)


def _worded(value: Any) -> str:
    """A parameter as it stands in a settings file, cut where it would fill a page."""
    if isinstance(value, bool):
        return str(value).lower()
    words = str(value)
    return words if len(words) <= MOST_LETTERS else f"{words[: MOST_LETTERS - 4].rstrip()} ..."


def _unread(found: Batch) -> Markup:
    failed = [(record["name"], record["error"]["kind"], record["error"]["text"]) for record in found.failed]
    failed += [(one.path, "left out", one.reason) for one in found.unread]
    issues = [
        (_link(record), issue["severity"], issue["path"], f"{issue['code']}: {issue['detail']}")
        for record in found.done
        for issue in record["issues"]
        if issue["code"] == "unreadable-file"
    ]
    parts = []
    if failed:
        parts.append(table("Not read", ("where", "what", "why"), failed[:MOST_FAILED]))
    if issues:
        parts.append(tag("h3", "Files left out of measurements"))
        parts.append(
            table("Files left out", ("measurement", "severity", "file", "why"), issues[:MOST_FAILED])
        )
    return join(*parts)
