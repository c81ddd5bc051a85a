"""The page of a comparison."""

from __future__ import annotations

from multitracer.batch import difference_words as words
from multitracer.batch.budget import CAUSES
from multitracer.batch.difference import Difference
from multitracer.batch.page import Cell, page, table
from multitracer.model import quantities
from multitracer.report.markup import Markup, join, tag
from multitracer.report.page_text import duration, micro


def difference_page(found: Difference) -> str:
    """The page as text: self-contained.

    Parameters
    ----------
    found : Difference
        What `multitracer.compare` returned.
    """
    chapters = [
        ("answer", "Answer", _answer(found)),
        ("causes", "Difference by cause", by_cause(found)),
        ("factors", "What else was measured", _factors(found)),
        ("settings", "Parameters that differ", _settings(found)),
        ("sides", "What was compared", _sides(found)),
    ]
    title = f"{_name(found.before.path)} and {_name(found.after.path)} compared"
    return page(
        title, micro(words.headline(found)), chapters, "compare --json has every number of this page."
    )


def _name(path: str) -> str:
    """The last part of a path: where a set lies stays on its machine."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2] or path


def _answer(found: Difference) -> Markup:
    lines = [words.main_cause(found), *found.notes]
    share = round(100 * found.share, 1)
    grade = None if not share or found.verdict == "no difference shown" else "bad" if share > 0 else "good"
    # A large number over what may be chance has a note.
    proviso = "" if found.verdict in ("slower", "faster") else f": {found.verdict}"
    return join(
        tag(
            "div",
            tag("strong", f"{100 * found.share:+.3g}%" if share else "0%", class_=grade),
            tag("span", f"transfer time for the same bytes{proviso}"),
            [tag("p", micro(line)) for line in lines if line],
            class_="used",
        ),
        tag("p", micro(words.method(found)), class_="note"),
    )


def by_cause(found: Difference) -> Markup:
    """The table of causes, with bars, and what they mean."""
    most = max((abs(one.difference_s) for one in found.causes), default=0.0) or 1.0
    rows: list[tuple[Cell, ...]] = [
        (
            words.spelled(one.cause),
            (one.before_s, duration(one.before_s) if one.before_s else ""),
            (one.after_s, duration(one.after_s) if one.after_s else ""),
            (one.difference_s, micro(words.signed(one.difference_s))),
            micro(words.interval(one)),
            _bar(one.difference_s / most),
            (
                found.goodput_difference_bps(one.difference_s),
                _rate(found.goodput_difference_bps(one.difference_s)),
            ),
        )
        for one in found.causes
    ]
    headings = ["cause", "before", "after", "difference", "95% interval", "", "goodput"]
    if not any(row[4] for row in rows):  # one measurement on each side
        headings.pop(4)
        rows = [(*row[:4], *row[5:]) for row in rows]
    meanings = [
        tag("li", tag("b", words.spelled(one.cause)), f": {CAUSES[one.cause]}") for one in found.causes
    ]
    return join(table("Difference by cause", headings, rows), tag("ul", meanings, class_="note"))


def _bar(part: float) -> Markup:
    """A bar from the middle: to the right what took longer."""
    width = f"{50 * abs(part):.1f}%"
    place = "left: 50%" if part > 0 else "right: 50%"
    fill = tag("span", style=f"{place}; width: {width}", class_="more" if part > 0 else "less")
    return tag("span", fill, class_="balance", aria_hidden="true")


def _rate(bits_per_s: float) -> str:
    if abs(bits_per_s) < 1:
        return "0"
    return f"{'-' if bits_per_s < 0 else '+'}{quantities.rate(abs(bits_per_s))}"


def _factors(found: Difference) -> Markup:
    if not found.factors:
        return Markup("")
    rows = [
        (
            words.metric(one.metric),
            (one.before, micro(words.value(one.metric, one.before))),
            (one.after, micro(words.value(one.metric, one.after))),
            (one.difference, micro(words.value(one.metric, one.difference, change=True))),
            micro(words.metric_interval(one)),
            "changed" if one.sure else "no change shown",
        )
        for one in found.factors
    ]
    headings = ("metric", "median before", "median after", "difference", "95% interval", "verdict")
    return table("What else was measured", headings, rows)


def _settings(found: Difference) -> Markup:
    if not found.settings:
        return Markup("")
    rows = [(name, _value(before), _value(after)) for name, (before, after) in found.settings.items()]
    return table("Parameters that differ", ("parameter", "before", "after"), rows)


def _value(value: object) -> str:
    return "" if value is None else str(value)


def _sides(found: Difference) -> Markup:
    rows: list[tuple[Cell, ...]] = [
        (
            label,
            _name(one.path),
            (one.measurements, f"{one.measurements:,}"),
            (one.connections, f"{one.connections:,}"),
            (one.bytes, f"{one.bytes:,.0f}"),
            (one.seconds, duration(one.seconds)),
            (one.goodput_bps, quantities.rate(one.goodput_bps)),
            ", ".join(one.left_out),
        )
        for label, one in (("before", found.before), ("after", found.after))
    ]
    headings = ["", "path", "measurements", "connections", "mean bytes", "mean time", "goodput", "left out"]
    if not any(row[-1] for row in rows):
        headings.pop()
        rows = [row[:-1] for row in rows]
    return table("What was compared", headings, rows)
