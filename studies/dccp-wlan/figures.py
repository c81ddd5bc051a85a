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
SPIKE_MS = 10.0
LINK_BPS = 6e6
BIN_S = 5.0
"""Width of what the figures over the seeds average."""

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
        "x_calc_back_s": back(t_s, calc * 1e6) if folder.name.startswith("full") else None,
        "p_largest": None if first is None else float(p[first:].max()),
        "p_end": float(p[lossy[-1]]) if len(lossy) else None,
        "x_recv_mbps": _middle(received[half]),
        "x_calc_mbps": _middle(calc[half]),
        "x_calc_low_mbps": _quantile(calc[settled], 5),
        "x_calc_high_mbps": _quantile(calc[settled], 95),
        "p_halving_s": halving(t_s[lossy], p[lossy]) if len(lossy) > 100 else None,
        "p_straight_log": straight(t_s[lossy], np.log(p[lossy])) if len(lossy) > 100 else None,
        "p_straight_inverse": straight(t_s[lossy], 1 / p[lossy]) if len(lossy) > 100 else None,
        "reports_per_min": len(t_s) / (float(t_s[-1]) / 60),
        "spikes_per_min": float((rtt_ms > SPIKE_MS).sum()) / (float(t_s[-1]) / 60),
        **begun(t_s, rtt_ms, received * 1e6),
    }


def halving(t_s: Any, p: Any) -> float | None:
    """Time in which p halves, by a straight line through its logarithm; None if it does not fall."""
    slope = float(np.polyfit(t_s, np.log(p), 1)[0])
    return float(np.log(2) / -slope) if slope < 0 else None


def straight(x: Any, y: Any) -> float | None:
    """How much of the variance of `y` a straight line over `x` explains: R^2; None: it has none."""
    return None if np.ptp(y) == 0 else float(np.corrcoef(x, y)[0, 1] ** 2)


def back(t_s: Any, calc_bps: Any) -> float | None:
    """When X_calc, after its least value of the first `SETTLED_S`, is the link's rate again; None: never."""
    early = np.flatnonzero(np.isfinite(calc_bps) & (t_s < SETTLED_S))
    if not len(early):
        return None
    least = early[np.argmin(calc_bps[early])]
    again = np.flatnonzero(calc_bps[least:] > LINK_BPS)
    return float(t_s[least + again[0]]) if len(again) else None


def begun(t_s: Any, rtt_ms: Any, received_bps: Any) -> dict[str, Any]:
    """The first second: its reports, how many of them raise the RTT, and when X_recv is the link's."""
    early = rtt_ms[t_s < 1.0]
    early = early[np.isfinite(early)]
    at_link = np.flatnonzero(received_bps > LINK_BPS)
    return {
        "start_reports": len(early),
        "start_rises": int((np.diff(early) > 0).sum()),
        "start_at_link_s": float(t_s[at_link[0]]) if len(at_link) else None,
    }


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
    """RTT, rates and p of the run at full speed."""
    rates = (
        curve("x_recv", "curve_1", reports, "receive_rate_bps", 1e6, "X_recv, as reported"),
        curve("x_calc", "curve_2", reports, "x_calc_bps", 1e6, "X_calc, by the equation"),
    )
    panels = (
        Panel("rtt", Axis("RTT", "ms"), (curve("rtt", "curve_1", reports, "rtt_ns", 1e6),), zero=True),
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
    return Figure("dccp-full", "As fast as CCID 3 may send, seed 1", panels, (0.0, end), x=X)


def beginning(reports: Reports) -> Figure:
    """Slow start of the run at full speed."""
    panels = (
        Panel("rtt", Axis("RTT", "ms"), (curve("rtt", "curve_1", reports, "rtt_ns", 1e6),), zero=True),
        Panel(
            "rate",
            Axis("X_recv", "Mbit/s"),
            (curve("x_recv", "curve_1", reports, "receive_rate_bps", 1e6),),
            zero=True,
        ),
    )
    return Figure("dccp-start", "The first second, seed 1: the queue fills", panels, (0.0, 1.0), x=X)


def offered(runs: dict[str, Reports]) -> Figure:
    """RTTs of the runs at a constant rate."""
    panels = tuple(
        Panel(name, Axis(f"{name}: RTT", "ms"), (curve(name, "curve_1", reports, "rtt_ns", 1e6),), zero=True)
        for name, reports in runs.items()
    )
    return Figure("dccp-cbr", "RTT under a constant load, seed 1", panels, (0.0, 90.0), x=X)


def long(runs: list[Reports]) -> Figure:
    """X_recv and p over a quarter of an hour, over the seeds."""
    end = min(float(reports["t_s"][-1]) for reports in runs)
    panels = (
        Panel(
            "rate",
            Axis("X_recv", "Mbit/s"),
            over_seeds(runs, "receive_rate_bps", 1e6, BIN_S, end),
            zero=True,
        ),
        Panel("p", Axis("p", "%"), over_seeds(runs, "loss_event_rate", 0.01, BIN_S, end), zero=True),
    )
    title = f"A quarter of an hour, {len(runs)} seeds, means of {BIN_S:g} s"
    return Figure("dccp-long", title, panels, (0.0, end), x=X)


def band(runs: dict[str, list[Reports]]) -> Figure:
    """RTTs over the seeds, second by second."""
    panels = []
    for name, each in runs.items():
        end = min(float(reports["t_s"][-1]) for reports in each)
        lines = over_seeds(each, "rtt_ns", 1e6, 1.0, end)
        panels.append(Panel(name, Axis(f"{name}: RTT", "ms"), lines, zero=True))
    number = min(map(len, runs.values()))
    title = f"RTT over {number} seeds, means of a second"
    return Figure("dccp-seeds", title, tuple(panels), (0.0, 180.0), x=X)


def over_seeds(
    runs: list[Reports], column: str, unit: float, width_s: float, end_s: float
) -> tuple[Series, ...]:
    """Median, lowest and highest over the runs of a column's means."""
    x = np.arange(width_s / 2, end_s, width_s)
    means = np.array([[_around(reports, column, at, width_s) for at in x] for reports in runs]) / unit
    return tuple(
        Series(label, role, x, values, kind="line", label=label)  # type: ignore[arg-type]
        for label, role, values in (
            ("lowest of the seeds", "curve_2", np.nanmin(means, axis=0)),
            ("median", "curve_1", np.nanmedian(means, axis=0)),
            ("highest", "curve_3", np.nanmax(means, axis=0)),
        )
    )


def _around(reports: Reports, column: str, at: float, width_s: float) -> float:
    """The mean of a column within a width around a time."""
    first, last = np.searchsorted(reports["t_s"], (at - width_s / 2, at + width_s / 2))
    known = _known(reports[column][first:last].astype(float))
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
        "long": long(shown["long"]),
        "seeds": band({name: shown[name] for name in ("full", "cbr-7.5")}),
    }
    for name, figure in figures.items():
        mpl.draw(figure, FOLDER / f"dccp-wlan-{name}.png", size=SIZE, dpi=DPI)


if __name__ == "__main__":
    main()
