"""The figures of docs/studies/dccp-wlan.md, and the summary that its tables are made of, out of the runs.

Usage: python figures.py RUNS
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

import multitracer as mt
from multitracer.batch.summary import csv_bytes
from multitracer.plots.mpl import renderer as mpl
from multitracer.plots.panel import Axis, Figure, Panel, Series

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "studies"
CONSTANT = ("cbr-2", "cbr-5", "cbr-6", "cbr-7", "cbr-7.5")
SETTLED_S = 60.0
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


def row(folder: Path, one: dict[str, Any], reports: Reports) -> dict[str, Any]:
    """A run as a row: rates in Mbit/s, times in seconds, round trips in milliseconds."""
    t_s, rtt_ms = reports["t_s"], reports["rtt_ns"] / 1e6
    p = reports["loss_event_rate"].astype(float)
    received, calc = (reports[name].astype(float) / 1e6 for name in ("receive_rate_bps", "x_calc_bps"))
    lossy = np.flatnonzero(p > 0)
    first = int(lossy[0]) if len(lossy) else None
    half, settled = t_s > t_s[-1] / 2, t_s > SETTLED_S
    return {
        "name": folder.name,
        **tomllib.loads((folder / "measurement.toml").read_text())["parameters"],
        **json.loads((folder / "truth.json").read_text()),
        "sent_mbps": one["rate_bps"] / 1e6,
        "packets": one["data_packets"],
        "rtt_min_ms": one["rtt"]["min_s"] * 1e3,
        "rtt_median_ms": one["rtt"]["median_s"] * 1e3,
        "rtt_mean_ms": _mean(rtt_ms),
        "rtt_max_ms": one["rtt"]["max_s"] * 1e3,
        "queue_packets": one["queue_packets"],
        "first_loss_s": one["first_loss_report"],
        "late_s": one["late_notice_s"],
        "rtt_at_loss_ms": None if first is None else _mean(rtt_ms[max(0, first - 1) : first + 1]),
        "p_first": None if first is None else float(p[first]),
        "x_calc_first_mbps": None if first is None else float(calc[first]),
        "x_calc_least_mbps": None
        if first is None
        else _quantile(calc[first:][t_s[first:] < t_s[first] + 15], 0),
        "p_largest": None if first is None else float(p[first:].max()),
        "p_end": float(p[lossy[-1]]) if len(lossy) else None,
        "x_recv_mbps": _middle(received[half]),
        "x_calc_mbps": _middle(calc[half]),
        "x_calc_low_mbps": _quantile(calc[settled], 5),
        "x_calc_high_mbps": _quantile(calc[settled], 95),
        "p_halving_s": halving(t_s[lossy], p[lossy]) if len(lossy) > 100 else None,
    }


def halving(t_s: Any, p: Any) -> float | None:
    """Time in which p halves, by a straight line through its logarithm; None if it does not fall."""
    slope = float(np.polyfit(t_s, np.log(p), 1)[0])
    return float(np.log(2) / -slope) if slope < 0 else None


def _known(values: Any) -> Any:
    return values[np.isfinite(values)]


def _mean(values: Any) -> float | None:
    known = _known(values.astype(float))
    return float(known.mean()) if len(known) else None


def _quantile(values: Any, share: float) -> float | None:
    known = _known(values)
    return float(np.percentile(known, share)) if len(known) else None


def _middle(values: Any) -> float | None:
    return _quantile(values, 50)


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
    return Figure("dccp-cbr", "Round trips under a constant load", panels, (0.0, 90.0), x=X)


def long(reports: Reports) -> Figure:
    """X_recv and p over a quarter of an hour."""
    panels = (
        Panel(
            "rate",
            Axis("X_recv", "Mbit/s"),
            (curve("x_recv", "curve_1", reports, "receive_rate_bps", 1e6),),
            zero=True,
        ),
        Panel("p", Axis("p", "%"), (curve("p", "curve_3", reports, "loss_event_rate", 0.01),), zero=True),
    )
    return Figure("dccp-long", "A quarter of an hour", panels, (0.0, float(reports["t_s"][-1])), x=X)


def band(runs: dict[str, list[Reports]]) -> Figure:
    """Round trips over the seeds: median, and the lowest and highest second by second."""
    panels = []
    for name, each in runs.items():
        end = min(float(reports["t_s"][-1]) for reports in each)
        x = np.arange(0.5, end, 1.0)
        seconds = np.array([[_second(reports, at) for at in x] for reports in each]) / 1e6
        lines = tuple(
            Series(label, role, x, values, kind="line", label=label)  # type: ignore[arg-type]
            for label, role, values in (
                ("lowest of the seeds", "curve_2", np.nanmin(seconds, axis=0)),
                ("median", "curve_1", np.nanmedian(seconds, axis=0)),
                ("highest", "curve_3", np.nanmax(seconds, axis=0)),
            )
        )
        panels.append(Panel(name, Axis(f"{name}: RTT", "ms"), lines, zero=True))
    return Figure("dccp-seeds", "Round trips over the seeds", tuple(panels), (0.0, 180.0), x=X)


def _second(reports: Reports, at: float) -> float:
    """The mean round trip within half a second of a time."""
    first, last = np.searchsorted(reports["t_s"], (at - 0.5, at + 0.5))
    known = reports["rtt_ns"][first:last].astype(float)
    known = known[np.isfinite(known)]
    return float(known.mean()) if len(known) else float("nan")


def main() -> None:
    """Everything, by the command line."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows: list[dict[str, Any]] = []
    shown: dict[str, list[Reports]] = {}
    for file in sorted(Path(sys.argv[1]).glob("*/measurement.toml")):
        one, reports = read(file.parent)
        rows.append(row(file.parent, one, reports))
        shown.setdefault(rows[-1]["run"], []).append(reports)
    for one in rows:
        one.pop("offered_bps", None)
    rounded = [{k: round(v, 6) if isinstance(v, float) else v for k, v in one.items()} for one in rows]
    (FOLDER / "dccp-wlan.csv").write_bytes(csv_bytes(rounded, list(rounded[0])))
    steady = {name: shown[name][0] for name in CONSTANT}
    figures = {
        "full": whole(shown["full"][0]),
        "start": beginning(shown["full"][0]),
        "cbr": offered(steady),
        "long": long(shown["long"][0]),
        "seeds": band({name: shown[name] for name in ("full", "cbr-7.5")}),
    }
    for name, figure in figures.items():
        mpl.draw(figure, FOLDER / f"dccp-wlan-{name}.png", size=SIZE, dpi=DPI)


if __name__ == "__main__":
    main()
