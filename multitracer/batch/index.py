"""The page over a whole batch: what is flagged and why first, then all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from multitracer.batch import difference_words as words
from multitracer.batch.all_measurements import all_measurements, link, used, worded
from multitracer.batch.comparison import Change
from multitracer.batch.difference import Difference
from multitracer.batch.difference_page import by_cause
from multitracer.batch.outcome import Batch, Record, flag_rule, flagged_for, goodput_bps
from multitracer.batch.page import page, table
from multitracer.batch.pictures import histogram, study_chart
from multitracer.batch.study import Pivot
from multitracer.report.markup import Child, Markup, join, tag
from multitracer.report.page_text import count, duration, micro, rate, share, spelled

MOST_ROWS = 5_000
MOST_FLAGGED = 200
MOST_FAILED = 1_000


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
        ("all", "All measurements", all_measurements(found)),
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
                tag("strong", used(record) or "unknown", class_="bad cost"),
                tag(
                    "div",
                    link(record),
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


def _broke(record: Record, below: float) -> Markup | None:
    """What but its utilization a measurement is flagged for."""
    why = flagged_for(record, below)
    return None if why.startswith("utilization") else tag("span", f" {why}", class_="bad")


def _parameters(record: Record, varied: Sequence[str]) -> Markup | None:
    """What distinguishes this measurement from the others."""
    found = record["parameters"]
    words = ", ".join([f"{name} {worded(found[name])}" for name in varied if name in found][:12])
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
    """What follows a title: the rest of a sentence that begins with it."""
    return text.removeprefix(title) if text.startswith(title) else f": {text}"


def _histogram(found: Batch) -> Markup:
    return histogram(
        [
            {
                "name": record["name"],
                "utilization": record["utilization"]["value"],
                "goodput_bps": goodput_bps(record),
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
            words.metric(one.metric),
            (one.before, f"{micro(words.value(one.metric, one.before))} (n={one.n_before:,})"),
            (one.after, f"{micro(words.value(one.metric, one.after))} (n={one.n_after:,})"),
            (one.difference, micro(words.value(one.metric, one.difference, change=True))),
            (one.low, micro(words.metric_interval(one))),
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
                link(record),
                (shared["flows"], f"{shared['flows']:,}"),
                (shared["jain"], f"{shared['jain']:.3f}"),
                (shared["goodput_std_bps"], rate(shared["goodput_std_bps"])),
            )
        )
    if not rows:
        return Markup("")
    headings = ("measurement", "flows", "Jain index", "standard deviation of goodput")
    return table("Fairness", headings, rows[:MOST_ROWS])


def _unread(found: Batch) -> Markup:
    failed = [(record["name"], record["error"]["kind"], record["error"]["text"]) for record in found.failed]
    failed += [(one.path, "left out", one.reason) for one in found.unread]
    issues = [
        (link(record), issue["severity"], issue["path"], f"{issue['code']}: {issue['detail']}")
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
