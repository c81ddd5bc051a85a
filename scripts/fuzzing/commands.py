"""The commands that read a mutant, with all of their options."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from multitracer import registry
from multitracer.cli.export import FORMATS, VERDICTS

KINDS = list(registry.plots())
SECONDS = ("0", "0.5", "3", "-1", "1e9", "1e308", "nan", "inf")
FILTERS = (
    "tcp", "host 10.77.31.1", "port 5001 or port 80", "not (net 10.0.0.0/8)",
    "net 10/8 and portrange 1-70000", "host ::1", "((((", "port " + "9" * 400, "host \x1b[2J",
    "not " * 2000 + "tcp",
)  # fmt: skip
TABLES = (
    "events", "connections", "segments", "retransmissions", "timeouts", "link_frames", "idle_phases",
    "chains", "x",
)  # fmt: skip
NAMES = ("TcpSnd_data", "TcpRcv_ack", "TcpSnd_cwnd", "RlpSnd_rexmt", "x")


def _windowed(chance: random.Random) -> list[str]:
    words = []
    for option in ("--from", "--until"):
        if chance.random() < 0.2:
            words += [option, chance.choice(SECONDS)]
    return words


def _selected(chance: random.Random) -> list[str]:
    words = []
    if chance.random() < 0.1:
        words += ["--filter", chance.choice(FILTERS)]
    if chance.random() < 0.05:
        words += ["--point", chance.choice(("snd", "rcv", "mid", "x"))]
    return words


def _info(chance: random.Random, _folder: Path) -> list[str]:
    return [chance.choice(("--json", "--json", "--details", "--map"))] if chance.random() < 0.7 else []


def _analyze(chance: random.Random, _folder: Path) -> list[str]:
    words = [option for option in ("--json", "--strict", "--explain", "--verbose") if chance.random() < 0.3]
    words += chance.choice(([], ["--full"], ["--full"], ["--summary"]))
    if chance.random() < 0.05:
        words += ["--conn", chance.choice(("0", "9" * 30))]
    return words + _selected(chance)


def _events(chance: random.Random, folder: Path) -> list[str]:
    words = _windowed(chance) + _selected(chance)
    if chance.random() < 0.2:
        words += ["--layer", chance.choice(("tcp", "kernel", "link"))]
    if chance.random() < 0.1:
        words += ["--name", chance.choice(NAMES)]
    if chance.random() < 0.1:
        words += ["-o", str(folder / chance.choice(("out.parquet", "out.csv")))]
    elif chance.random() < 0.2:
        words += ["--json"]
    return words


def _explain(chance: random.Random, _folder: Path) -> list[str]:
    words = ["--conn", "0"] if chance.random() < 0.8 else []
    if chance.random() < 0.5:
        words += ["--packet", str(chance.choice((1, 2, 40, 106, 2**63)))]
    else:
        words += ["--at", chance.choice(SECONDS)]
    return words + (["--json"] if chance.random() < 0.4 else [])


def _plot(chance: random.Random, folder: Path) -> list[str]:
    words = ["-k", chance.choice(KINDS), "-o", str(folder / f"out.{chance.choice(('png', 'svg', 'pdf'))}")]
    if chance.random() < 0.2:
        words += ["--fold", chance.choice(("1e-300", "0.001", "3", "1e300", "nan"))]
    if chance.random() < 0.1:
        words += ["--log", chance.choice(("x", "y", "xy"))]
    if chance.random() < 0.1:
        words += ["--offset", chance.choice(("0", "9" * 30))]
    return words + _windowed(chance)


def _report(chance: random.Random, folder: Path) -> list[str]:
    return [
        "-o",
        str(folder / "out.html"),
        *(["--full"] if chance.random() < 0.2 else []),
        *_selected(chance),
    ]


def _export(chance: random.Random, folder: Path) -> list[str]:
    target = chance.choice(FORMATS)
    words = ["--to", target, "-o", str(folder / "out")]
    if target in ("xplot", "xgraph", "gnuplot", "perfetto") and chance.random() < 0.7:
        words += ["-k", chance.choice(KINDS)]
    elif target in ("csv", "parquet") and chance.random() < 0.5:
        words = ["--to", target, "-o", str(folder / f"out.{target}"), "--table", chance.choice(TABLES)]
    elif target == "pcap":
        words += ["--anonymize"] if chance.random() < 0.3 else []
        words += ["--verdict", chance.choice(VERDICTS)] if chance.random() < 0.3 else []
    if target in ("pcap", "pcapng", "lua") and chance.random() < 0.3:
        words += ["--end", chance.choice(("snd", "rcv"))]
    return words + _windowed(chance)


def _batch(chance: random.Random, folder: Path) -> list[str]:
    return [
        "-o",
        str(folder / "out"),
        "-j",
        "1",
        "--pages",
        chance.choice(("none", "flagged", "all")),
        "--json",
    ]


def _compare(chance: random.Random, folder: Path) -> list[str]:
    page = ["-o", str(folder / "out.html")] if chance.random() < 0.3 else []
    return ["-j", "1", *page, *(["--json"] if chance.random() < 0.5 else [])]


def _follow(chance: random.Random, _folder: Path) -> list[str]:
    words = ["--follow", "--interval", "0.1"]
    words += [option for option in ("--json", "--full", "--serve", "--strict") if chance.random() < 0.3]
    if chance.random() < 0.3:
        words += ["--max-connections", chance.choice(("1", "8", "9" * 30))]
    return words


Options = Callable[[random.Random, Path], list[str]]

COMMANDS: dict[str, tuple[Options, float]] = {
    "analyze": (_analyze, 22),
    "info": (_info, 12),
    "events": (_events, 12),
    "export": (_export, 20),
    "explain": (_explain, 8),
    "plot": (_plot, 4),
    "report": (_report, 1),
    "follow": (_follow, 8),
    "batch": (_batch, 0.5),
    "compare": (_compare, 1),
}
"""What is called, its options, and how often: what starts processes or draws takes long. `follow` is
`analyze --follow`, and is given captures alone."""


def chosen(is_capture: bool, chance: random.Random) -> str:
    """One of the commands."""
    names = [name for name in COMMANDS if is_capture or name != "follow"]
    return chance.choices(names, [COMMANDS[name][1] for name in names])[0]
