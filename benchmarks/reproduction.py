"""The paper's measurements and ours: the figures of docs/reproduction.md, from the analyses of a fleet.

    sudo multitracer lab fleet benchmarks/fleets/reproduction.toml -o runs --jobs 14
    python benchmarks/reproduction.py runs

Labels group the runs: good-* and poor-* are the study, figure-* and competing the transfers of single
figures. Printed is Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import multitracer as mt

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Transfer:
    """One run: what `multitracer analyze --json` prints, and the hole behind the link's longest burst."""

    label: str
    seed: int
    header_compression: bool
    found: Json
    hole_s: float | None
    kernel: Json
    late_ms: float

    @property
    def connection(self) -> Json:
        return dict(self.found["connections"][0])

    @property
    def utilization(self) -> float:
        return float(self.found["utilization"]["value"])

    @property
    def resets(self) -> list[Json]:
        return list(self.found["link"]["resets"])

    @property
    def seconds(self) -> float:
        return float(self.connection["end"] - self.connection["start"])

    @property
    def data_entity(self) -> Json:
        retransmissions = self.found["link"]["retransmissions"]
        return next(e for e in retransmissions["entities"] if e["entity"] == retransmissions["data_entity"])

    def trend(self, series: str) -> float:
        """Slope of a regression line, bytes per second."""
        return float(
            next(trend["rate_bytes_per_s"] for trend in self.found["trends"] if trend["series"] == series)
        )


def load(path: Path) -> Transfer:
    """Analyse one measurement."""
    measurement = mt.read(path)
    found = json.loads(mt.analyze(measurement).to_json())
    settings = json.loads((path / "truth.json").read_text())
    label, _, seed = path.name.rpartition("_seed=")
    return Transfer(
        label,
        int(seed),
        bool(settings["settings"]["link"].get("vj", False)),
        found,
        _hole(measurement, found),
        json.loads((path / "kernel.json").read_text())["sender"],
        settings["lab"]["lateness"]["max_ms"],
    )


def _hole(measurement: Any, found: Json) -> float | None:
    """Longest wait for new data at the receiver around the link's longest burst of retransmissions."""
    retransmissions = found["link"]["retransmissions"]
    burst = next(
        entity["longest_burst"]
        for entity in retransmissions["entities"]
        if entity["entity"] == retransmissions["data_entity"]
    )
    if not burst or not burst["duration_ms"]:
        return None
    segments = measurement.table("segments")
    data = (segments["source"] == measurement.rcv) & (segments["length"] > 0)
    times = np.sort((segments["t_ns"][data] - measurement.t0_ns) / 1e9)
    near = (times[1:] > burst["start"]) & (times[:-1] < burst["end"])
    return float(np.max(np.diff(times)[near], initial=0.0)) or None


def percent(value: float) -> int:
    """Rounded up as in Figure 6: between 99 and 100 percent counts as 100 (footnote 5)."""
    return math.ceil(round(100 * value, 6))


def spread(values: Sequence[float], unit: str = "", digits: int = 0) -> str:
    """Smallest, median and largest."""
    if not len(values):
        return "none"
    low, middle, high = min(values), float(np.median(values)), max(values)
    if len(values) == 1:
        return f"{low:,.{digits}f}{unit}"
    return f"{low:,.{digits}f} to {high:,.{digits}f}{unit}, median {middle:,.{digits}f}"


def row(*cells: object) -> None:
    """Print one line of a Markdown table."""
    print("| " + " | ".join(map(str, cells)) + " |")


def histogram(study: Sequence[Transfer]) -> None:
    """Figure 6 as a table."""
    print("\n### Figure 6\n")
    row("utilization", "transfers", "share", "throughput, kbit/s", "resets and header compression")
    row("---", "---:", "---:", "---", "---:")
    groups = Counter(percent(transfer.utilization) for transfer in study)
    for value, count in sorted(groups.items(), reverse=True):
        mine = [transfer for transfer in study if percent(transfer.utilization) == value]
        rates = [transfer.connection["goodput_bps"] / 1e3 for transfer in mine]
        both = sum(bool(transfer.resets) and transfer.header_compression for transfer in mine)
        row(f"{value} %", count, f"{count / len(study):.0%}", f"{min(rates):.1f} to {max(rates):.1f}", both)


def low(study: Sequence[Transfer]) -> None:
    """What pulled the transfers below the paper's threshold of 95 percent down."""
    print("\n### Transfers at 95 % or less\n")
    row("transfer", "utilization", "header compression", "resets", "idle", "sent twice", "timeouts")
    row("---", "---:", "---", "---:", "---:", "---:", "---:")
    for transfer in sorted(study, key=lambda transfer: transfer.utilization):
        if transfer.utilization > 0.95:
            continue
        shares = transfer.found["utilization"]
        row(
            f"{transfer.label} seed {transfer.seed}",
            f"{transfer.utilization:.1%}",
            "yes" if transfer.header_compression else "no",
            len(transfer.resets),
            f"{shares['idle_share']:.1%}",
            f"{shares['duplicate_share']:.1%}",
            transfer.connection["timeouts"]["total"],
        )


def claims(study: Sequence[Transfer], others: Mapping[str, Sequence[Transfer]]) -> None:
    """All other figures of the paper."""
    everything = [*study, *(transfer for group in others.values() for transfer in group)]
    plain = [transfer for transfer in study if not transfer.header_compression]
    full = [t for t in plain if t.label in ("good-1200", "good-long", "good-downlink")]
    throttled = [t for t in plain if t.label == "good-960"]
    compressed = [t for t in everything if t.header_compression]
    gaps = [r["gap_s"] for t in compressed for r in t.resets if r["gap_s"] is not None]
    open_gaps = [
        r["gap_s"] for t in everything if not t.header_compression for r in t.resets if r["gap_s"] is not None
    ]
    timeouts = [event for t in study for event in t.connection["timeouts"]["events"]]
    spurious = [event for event in timeouts if event["verdict"] == "spurious"]
    print("\n### Figure by figure\n")
    row("what", "ours")
    row("---", "---")
    poor = [t for t in study if t.label.startswith("poor")]
    hours = [sum(t.seconds for t in study if t.label.startswith(name)) / 3600 for name in ("good", "poor")]
    row("time measured", f"{hours[0]:.1f} h good radio, {hours[1]:.1f} h poor ({len(study)} transfers)")
    row("RLP, network at full rate", spread([t.trend("RlpSnd_data") for t in full], " bytes/s"))
    row(
        "RLP, network throttled to 960 bytes/s",
        spread([t.trend("RlpSnd_data") for t in throttled], " bytes/s"),
    )
    row("TCP, throttled", spread([t.trend("TcpRcv_data") for t in throttled], " bytes/s"))
    row("TCP, full rate", spread([t.trend("TcpRcv_data") for t in full], " bytes/s"))
    row("MSS", sorted({t.connection["mss"] - 12 * t.connection["timestamps"] for t in throttled}))
    shares = [percent(t.utilization) for t in study]
    row("utilization of 98 % or more", f"{sum(s >= 98 for s in shares) / len(shares):.0%} of transfers")
    row("smallest utilization", f"{min(t.utilization for t in study):.1%}")
    row("resets, good radio", sum(len(t.resets) for t in study if t.label.startswith("good")))
    row("resets, poor radio", f"{sum(len(t.resets) for t in poor)} in {hours[1]:.1f} h")
    row("gap behind a reset, header compression", spread(gaps, " s", 1))
    row("gap behind a reset, none", spread(open_gaps, " s", 1))
    discarded = [r["segments_discarded"] for t in compressed for r in t.resets]
    row("segments discarded as damaged behind it", spread(discarded))
    row(
        "timeouts in the study",
        f"{len(timeouts)}: {len(spurious)} spurious, at "
        + (", ".join(f"{event['t']:.1f} s" for event in spurious) or "none"),
    )
    row(
        "RTT", f"{_rtts(plain, 'min')} at least, up to {_rtts(plain, 'max')}; largest flight {_flight(plain)}"
    )
    for label, group in others.items():
        if label == "figure-8":
            rates = [t.connection["goodput_bps"] / 8 for t in group if t.resets]
            row("goodput with resets (figure-8)", spread(rates, " bytes/s"))
        if label == "figure-8-n2-20":
            count = sum(len(t.resets) for t in group)
            late = sum(t.connection["timeouts"]["spurious"] for t in group)
            row("the same fades with N2 = 20", f"{count} resets, {late} spurious timeouts")
        if label == "figure-10":
            waits = [e["silence_s"] for t in group for e in t.connection["timeouts"]["events"]]
            steps = max((e["backoff"] for t in group for e in t.connection["timeouts"]["events"]), default=0)
            row("timers (figure-10)", f"{spread(waits, ' s', 1)}; backed off up to {2**steps} times the RTO")
        if label == "figure-11":
            bursts = [t.data_entity["longest_burst"]["duration_ms"] for t in group]
            holes = [1e3 * t.hole_s for t in group if t.hole_s]
            fired = sum(t.connection["timeouts"]["total"] for t in group)
            row(
                "burst, hole (figure-11)",
                f"{spread(bursts, ' ms')}; {spread(holes, ' ms')}; {fired} timeouts",
            )
        if label == "figure-12":
            gaps_ms = [t.found["link"]["flow_control"]["gap_ms"] for t in group]
            low_ms, high_ms = min(gap["min"] for gap in gaps_ms), max(gap["max"] for gap in gaps_ms)
            middle_ms = float(np.median([gap["median"] for gap in gaps_ms]))
            row(
                "flow-control gaps (figure-12)",
                f"{low_ms:,.0f} to {high_ms:,.0f} ms, median {middle_ms:,.0f}",
            )
            row("rate between them", spread(_between(group), " bytes/s"))
        if label == "figure-7":
            drops = sum(len(t.found["link"]["local_drops"]) for t in group)
            row(
                "local drops (figure-7)",
                f"{drops}, utilization {spread([100 * t.utilization for t in group], ' %', 1)}",
            )
        if label == "competing":
            timers = sum(t.kernel.get("TcpExtTCPTimeouts", 0) for t in group)
            row(
                "timer capped at 3 s (competing)",
                f"{timers} timeouts by the kernel, {_reset_count(group)} resets",
            )
    row("latest event of the link", f"{max(t.late_ms for t in everything):.0f} ms behind its time")


def _rtts(transfers: Sequence[Transfer], which: str) -> str:
    values = [t.connection["rtt_ms"][which] / 1e3 for t in transfers]
    return f"{(min if which == 'min' else max)(values):.2f} s"


def _flight(transfers: Sequence[Transfer]) -> str:
    return f"{max(t.connection['max_flight_bytes'] for t in transfers):,} bytes"


def _between(transfers: Sequence[Transfer]) -> list[float]:
    return [t.found["link"]["flow_control"]["rate_bytes_per_s"]["outside"] for t in transfers]


def _reset_count(transfers: Sequence[Transfer]) -> int:
    return sum(len(t.resets) for t in transfers)


def main() -> int:
    """Print all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    paths = sorted(path.parent for path in Path(arguments.root).glob("[!.]*/truth.json"))
    with ProcessPoolExecutor(arguments.jobs) as pool:
        transfers = list(pool.map(load, paths))
    study = [t for t in transfers if t.label.startswith(("good", "poor"))]
    if not study:
        parser.error("no good-* or poor-* runs found")
    labels = sorted({t.label for t in transfers} - {t.label for t in study})
    claims(study, {label: [t for t in transfers if t.label == label] for label in labels})
    histogram(study)
    low(study)
    return 0


if __name__ == "__main__":
    sys.exit(main())
