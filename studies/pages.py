"""Bring the page of a study up to date: tables and figures out of the summary that is kept beside it.

Usage: python studies/pages.py STUDY [SUMMARY]

With SUMMARY, the summary.csv of a fresh `multitracer batch`, that becomes the kept one first
(docs/studies/STUDY.csv): without columns that are empty, the same in all rows, or told by others.
In docs/studies/STUDY.md,

    <!-- findings -->   ...   <!-- end -->

is filled with the paper's findings beside ours (studies/STUDY/findings.py),

    <!-- notes -->   ...   <!-- end -->

with the paragraphs that the same file computes,

    <!-- table METRIC:ROWS[,COLUMNS] [COLUMN=VALUE ...] -->   ...   <!-- end -->

with medians and quartiles,

    <!-- metrics ROWS: METRIC [unit/digits], ... -->   ...   <!-- end -->

with several metrics side by side, and

    <!-- figure NAME METRIC:ROWS[,COLUMNS] [COLUMN=VALUE ...] -->

makes docs/studies/NAME.png. `from=NAME` reads docs/studies/NAME.csv instead;
`digits=N`, `unit=kbit/s` (divides by 1000) and `sort=A;B` shape a table.
"""

from __future__ import annotations

import csv
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import published

from multitracer.batch.comparison import read_summary
from multitracer.batch.rows import COLUMNS
from multitracer.batch.study import Pivot, parse, pivot, study_figure
from multitracer.batch.summary import csv_bytes

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "studies"
FINDINGS = re.compile(r"(<!-- findings -->\n).*?(<!-- end -->)", re.DOTALL)
NOTES = re.compile(r"(<!-- notes -->\n).*?(<!-- end -->)", re.DOTALL)
METRICS = re.compile(r"(<!-- metrics (\S+?): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
TABLE = re.compile(r"(<!-- table (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
FIGURE = re.compile(r"<!-- figure (\S+) (.+?) -->")
UNITS = {"kbit/s": 1e3, "Mbit/s": 1e6, "%": 0.01}
SIZE, DPI = (9.0, 5.0), 90.0
MOST_ROWS = 1000
NAMES = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "NewReno", "sack": "SACK"}
"""Algorithms as the text spells them; summaries hold the words of their simulators."""

Row = dict[str, Any]


def kept(study: str) -> list[Row]:
    """The rows of a study's summary; words that look like numbers are numbers."""
    return published.kept(study)


def reduced(rows: list[Row], text: str) -> bytes:
    """A summary as CSV without what tells nothing apart; what `read_summary` insists on stays.

    Of many rows only parameters and the metrics that the page asks for.
    """
    always = {"name", "utilization", "goodput_bps"}
    names = [name for name in rows[0] if name in always or len({str(row[name]) for row in rows}) > 1]
    dropped = {"sender", "receiver", "conn", "start_s", "goodput_share", "received_bytes", "duplicate_share"}
    dropped |= {"utilization_low", "utilization_high", "timeouts_genuine"}
    if len(rows) > MOST_ROWS:
        wanted = {what.split(":")[0].split()[-1] for _, what, _ in TABLE.findall(text)}
        dropped |= COLUMNS.keys() - always - wanted
    return csv_bytes(rows, [name for name in names if name not in dropped])


def asked(rows: list[Row], text: str) -> tuple[Pivot, dict[str, str]]:
    """The pivot that a marker asks for, and how to write it."""
    what, *conditions = text.split()
    options = {}
    for one in conditions:
        name, _, value = one.partition("=")
        if name in ("digits", "unit", "sort"):
            options[name] = value
        elif name == "from":
            rows = kept(value)
        else:
            wanted = value.split("|")
            rows = [row for row in rows if str(row[name]) in wanted]
    found = pivot(rows, *parse(what))
    cells = [replace(one, row=_spelt(one.row), column=_spelt(one.column)) for one in found.cells]
    return replace(found, cells=cells), options


def _spelt(value: Any) -> Any:
    return NAMES.get(value, value) if isinstance(value, str) else value


def table(found: Pivot, options: dict[str, str]) -> str:
    """Medians, with quartiles in brackets, as a table in Markdown; numbers of runs below."""
    size, digits = UNITS.get(options.get("unit", ""), 1.0), int(options.get("digits", 2))
    first, second = found.row_values(), found.column_values()
    if "sort" in options:
        order = options["sort"].split(";")
        first.sort(key=lambda one: order.index(str(one)) if str(one) in order else len(order))
    unit = f" [{options['unit']}]" if "unit" in options else ""
    title = found.rows if found.columns is None else f"{found.rows} \\ {found.columns}"
    heads = ["" if column is None else str(column) for column in second]
    lines = [f"| {title} | " + " | ".join(head or found.metric + unit for head in heads) + " |"]
    lines.append("|---" * (len(heads) + 1) + "|")
    for row in first:
        cells = []
        for column in second:
            cell = found.cell(row, column)
            if cell is None:
                cells.append("")
                continue
            low, middle, high = (f"{value / size:.{digits}f}" for value in (cell.q1, cell.median, cell.q3))
            cells.append(f"**{middle}** ({low} to {high})" if cell.n > 1 else f"**{middle}**")
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    counts = sorted({cell.n for cell in found.cells})
    each = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    quartiles = "median (quartiles)" if counts[-1] > 1 else "one value each"
    lines += ["", f"`{found.metric}`{unit}: {quartiles}, n = {each} in each cell."]
    return "\n".join(lines) + "\n"


def metrics(by: str, names: list[str], rows: list[Row]) -> str:
    """Several metrics side by side, a row for each value of a column: medians (quartiles)."""
    wanted = [name.strip().partition("/") for name in names]
    lines = ["| " + " | ".join([by, "n", *(name for name, _, _ in wanted)]) + " |"]
    lines.append("|---" * (len(wanted) + 2) + "|")
    for value in dict.fromkeys(row[by] for row in rows):
        mine = [row for row in rows if row[by] == value]
        cells = []
        for name, _, digits in wanted:
            known = sorted(float(row[name]) for row in mine if row[name] is not None)
            if not known:
                cells.append("none")
                continue
            low, middle, high = (f"{x:.{digits or 2}f}" for x in np.percentile(known, (25, 50, 75)))
            some = f", in {len(known)} runs" if len(known) < len(mine) else ""
            cells.append(f"**{middle}** ({low} to {high}{some})")
        lines.append(f"| {value} | {len(mine)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def filled(text: str, rows: list[Row], study: str = "") -> str:
    """A page with its tables made anew."""

    def side_by_side(match: re.Match[str]) -> str:
        return f"{match[1]}\n{metrics(match[2], match[3].split(','), rows)}\n{match[4]}"

    text = METRICS.sub(side_by_side, text)
    if study and FINDINGS.search(text):
        told = published.table(published.of_study(study, rows))
        text = FINDINGS.sub(lambda match: f"{match[1]}\n{told}\n{match[2]}", text)

    if study and NOTES.search(text):
        said = published.notes(study, rows)
        text = NOTES.sub(lambda match: f"{match[1]}\n{said}\n{match[2]}", text)

    def write(match: re.Match[str]) -> str:
        return f"{match[1]}\n{table(*asked(rows, match[2]))}\n{match[3]}"

    return TABLE.sub(write, text)


def draw(text: str, rows: list[Row]) -> list[Path]:
    """The figures that a page asks for."""
    from multitracer.plots.mpl.renderer import draw as render

    made = []
    for name, what in FIGURE.findall(text):
        path = FOLDER / f"{name}.png"
        render(study_figure(asked(rows, what)[0]), path, size=SIZE, dpi=DPI)
        made.append(path)
    return made


def main() -> None:
    """One page, by the command line."""
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    csv.field_size_limit(1 << 20)
    study = sys.argv[1]
    page = FOLDER / f"{study}.md"
    text = page.read_text(encoding="utf-8")
    if len(sys.argv) == 3:
        fresh = read_summary(sys.argv[2], Path(sys.argv[2]).read_bytes())
        (FOLDER / f"{study}.csv").write_bytes(reduced(fresh, text))
    rows = kept(study)
    text = filled(text, rows, study)
    page.write_text(text, encoding="utf-8")
    for path in draw(text, rows):
        print(path)


if __name__ == "__main__":
    main()
