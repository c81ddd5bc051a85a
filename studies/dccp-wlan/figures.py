"""The table and the figures of docs/studies/dccp-wlan.md, out of the runs.

Usage: python figures.py RUNS

The table is kept as docs/studies/dccp-wlan.csv too.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

import multitracer as mt
from multitracer.plots.mpl import renderer as mpl
from multitracer.plots.panel import Axis, Figure, Panel, Series

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "studies"
ORDER = ("cbr-2", "cbr-5", "cbr-6", "cbr-7", "full")
SIZE, DPI = (10.0, 6.4), 80.0
X = Axis("Time since the request", "s")

Reports = dict[str, Any]


def read(folder: Path) -> tuple[dict[str, Any], Reports]:
    """What the sender's capture tells: the summary, and its reports with times in seconds."""
    analysis = mt.analyze(mt.read(folder / "snd.pcap"), only=["dccp"])
    (one,) = analysis.dccp["connections"]
    table = analysis.results["dccp"].tables["dccp_reports"]
    times = (table["t_ns"] - analysis.measurement.t0_ns) / 1e9
    return one, dict(table.columns) | {"t_s": times}


def row(name: str, one: dict[str, Any], reports: Reports) -> dict[str, Any]:
    """A row of the table."""
    second_half = reports["t_s"] > reports["t_s"][-1] / 2
    calc = reports["x_calc_bps"][second_half]
    return {
        "run": name,
        "sent Mbit/s": f"{one['rate_bps'] / 1e6:.2f}",
        "RTT least ms": f"{one['rtt']['min_s'] * 1e3:.2f}",
        "median ms": f"{one['rtt']['median_s'] * 1e3:.1f}",
        "largest ms": f"{one['rtt']['max_s'] * 1e3:.0f}",
        "queue packets": f"{one['queue_packets']:.0f}",
        "first loss reported at s": _or_none(one["first_loss_report"], ".2f"),
        "late by s": _or_none(one["late_notice_s"], ".2f"),
        "p at the end": _or_none(one["loss_event_rate"], ".6f"),
        "X_recv second half, median Mbit/s": _mega(reports["receive_rate_bps"][second_half]),
        "X_calc second half, median Mbit/s": _mega(calc) if np.isfinite(calc).any() else "",
    }


def _or_none(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _mega(values: Any) -> str:
    return f"{float(np.nanmedian(values)) / 1e6:.2f}"


def curve(name: str, role: str, reports: Reports, column: str, unit: float, label: str = "") -> Series:
    """A column of the reports over time, without what is not known."""
    known = np.isfinite(reports[column].astype(float))
    y = reports[column][known].astype(float) / unit
    return Series(name, role, reports["t_s"][known], y, kind="steps", label=label)  # type: ignore[arg-type]


def whole(reports: Reports) -> Figure:
    """Round trip, rates and p of the run at full speed."""
    rates = (
        curve("x_recv", "curve_1", reports, "receive_rate_bps", 1e6, "X_recv, as reported"),
        curve("x_calc", "curve_2", reports, "x_calc_bps", 1e6, "X_calc, by the equation"),
    )
    panels = (
        Panel("rtt", Axis("Round trip", "ms"), (curve("rtt", "curve_1", reports, "rtt_ns", 1e6),), zero=True),
        Panel("rate", Axis("Rate", "Mbit/s"), rates, zero=True),
        Panel(
            "p",
            Axis("p", "%"),
            (curve("p", "curve_3", reports, "loss_event_rate", 0.01),),
            zero=True,
            height=0.7,
        ),
    )
    end = float(reports["t_s"][-1])
    return Figure("dccp-full", "As fast as CCID 3 may send", panels, (0.0, end), x=X)


def beginning(reports: Reports) -> Figure:
    """Slow start of the run at full speed."""
    panels = (
        Panel("rtt", Axis("Round trip", "ms"), (curve("rtt", "curve_1", reports, "rtt_ns", 1e6),), zero=True),
        Panel(
            "rate",
            Axis("X_recv", "Mbit/s"),
            (curve("x_recv", "curve_1", reports, "receive_rate_bps", 1e6),),
            zero=True,
        ),
    )
    return Figure("dccp-start", "The first second: slow start fills the queue", panels, (0.0, 1.0), x=X)


def offered(runs: dict[str, Reports]) -> Figure:
    """Round trips of the runs at a constant rate."""
    panels = tuple(
        Panel(name, Axis(f"{name}: RTT", "ms"), (curve(name, "curve_1", reports, "rtt_ns", 1e6),), zero=True)
        for name, reports in runs.items()
    )
    return Figure("dccp-cbr", "Round trips under a constant load", panels, (0.0, 60.0), x=X)


def main() -> None:
    """Everything, by the command line."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = {name: read(Path(sys.argv[1]) / name) for name in ORDER}
    rows = [row(name, *one) for name, one in found.items()]
    with (FOLDER / "dccp-wlan.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = ["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|"]
    lines += ["| " + " | ".join(one.values()) + " |" for one in rows]
    page = FOLDER / "dccp-wlan.md"
    head, _, rest = page.read_text(encoding="utf-8").partition("<!-- runs -->\n")
    _, _, tail = rest.partition("<!-- end -->\n")
    page.write_text(head + "<!-- runs -->\n" + "\n".join(lines) + "\n<!-- end -->\n" + tail, encoding="utf-8")
    full = found["full"][1]
    steady = {name: one[1] for name, one in found.items() if name != "full"}
    for name, figure in (("full", whole(full)), ("start", beginning(full)), ("cbr", offered(steady))):
        mpl.draw(figure, FOLDER / f"dccp-wlan-{name}.png", size=SIZE, dpi=DPI)


if __name__ == "__main__":
    main()
