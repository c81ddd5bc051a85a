"""Hold the analyses of a fleet against what the kernels counted and what the links did.

    sudo multitracer lab fleet benchmarks/fleets/reproduction.toml -o runs --jobs 14
    python benchmarks/fleet_check.py runs [--markdown]

Every measurement below the given directories is analysed, and each of our counts is put beside an independent
one: the counters of the two kernels (kernel.json) and the record of the link model (truth.json). The analyses
read neither. Printed are the totals of every count and every run that differs, with the reason where there is
one; exit status 1 if a run differs and no rule of EXPLAINED says why.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import multitracer as mt

Json = Mapping[str, Any]
Count = int | None

_HEADERS_BYTES = 60


@dataclass
class Run:
    """One measurement: what we found, and the independent records."""

    path: Path

    @cached_property
    def measurement(self) -> Any:
        return mt.read(self.path)

    @cached_property
    def found(self) -> Json:
        found: Json = json.loads(mt.analyze(self.measurement).to_json())
        return found

    @cached_property
    def kernel(self) -> Json:
        return dict(json.loads((self.path / "kernel.json").read_text()))

    @cached_property
    def truth(self) -> Json:
        return dict(json.loads((self.path / "truth.json").read_text()))

    @property
    def settings(self) -> Json:
        return dict(self.truth["settings"])

    @property
    def sender(self) -> int:
        return 0 if self.settings["network"]["sender"] == "ms" else 1

    @property
    def logged(self) -> bool:
        return bool(self.settings["link"].get("model") != "plain")

    @property
    def kinds(self) -> set[str]:
        return {flow["kind"] for flow in self.settings["flows"]}

    @property
    def two_way(self) -> bool:
        return (
            len({flow["from_side"] for flow in self.truth["flows"]}) > 1 or "request_response" in self.kinds
        )

    def counter(self, *names: str, ends: Sequence[str] = ("sender", "receiver")) -> int:
        return sum(int(self.kernel[end].get(name, 0)) for end in ends for name in names)

    def retransmissions(self, cause: str) -> int:
        return sum(
            connection[direction][cause]
            for connection in self.found["connections"]
            for direction in ("retransmissions", "reverse_retransmissions")
        )

    def lost_frames(self) -> int:
        """Information frames of the log that were sent and not received."""
        frames = self.measurement.table("link_frames")
        sent = frames["action"] == frames.code("action", "snd")
        return int(np.count_nonzero(sent) - np.count_nonzero(~sent))


@dataclass(frozen=True)
class Check:
    """A count of ours and its independent twin; None where a run cannot say."""

    name: str
    against: str
    ours: Callable[[Run], Count]
    theirs: Callable[[Run], Count]


def _bytes(run: Run) -> Count:
    if run.kinds & {"request_response", "iperf3"}:
        return None  # their answers, or the control connection, are not what truth.json counts
    return sum(connection["bytes"]["acked"] for connection in run.found["connections"])


def _tail_probes(run: Run) -> Count:
    return run.retransmissions("tail_loss_probe")


def _resets(run: Run) -> Count:
    return len(run.found["link"]["resets"]) if run.logged else None


def _true_resets(run: Run) -> Count:
    """Entities that gave up, without those whose peer had given up before and not heard of it yet."""
    begun = sorted(row for row in run.truth["resets"] if row[2] in ("n2", "protocol"))
    answered = sorted(row[0] for row in run.truth["resets"] if row[2] == "peer")
    count = 0
    open_since: tuple[float, int] | None = None
    for t_s, side, *_ in begun:
        if open_since is not None and side != open_since[1]:
            told = any(open_since[0] < t < t_s for t in answered)
            if not told and t_s - open_since[0] < 10:
                open_since = None
                continue
        count += 1
        open_since = (t_s, side)
    return count


def _flushed(run: Run) -> Count:
    if not run.logged:
        return None
    sides = [side for reset in run.found["link"]["resets"] for side in reset["flushed_bytes"].values()]
    return sum(side["tx"] + side["rx"] for side in sides)


def _true_flushed(run: Run) -> Count:
    return sum(row[3] + row[4] for row in run.truth["resets"])


def _drops(run: Run) -> Count:
    return len(run.found["link"]["local_drops"]) if run.logged else None


def _damaged(run: Run) -> Count:
    if run.settings["trace"]["snaplen"] != 0:
        return None
    issues = [issue for source in run.found["sources"] for issue in source["issues"]]
    return sum(issue["count"] for issue in issues if issue["code"] == "bad-tcp-checksum")


def _lost(run: Run) -> Count:
    directions = (run.found["other"].get("losses") or {}).get("directions", [])
    if run.two_way or not directions:
        return None
    return int(sum(direction["lost"] for direction in directions))


def _truly_lost(run: Run) -> Count:
    """Packets that the link or its queue lost, but for those that hold headers only."""
    return sum(
        e["what"] in ("packet_lost", "queue_drop")
        and e["side"] == run.sender
        and e["length"] > _HEADERS_BYTES
        for e in run.truth["events"]
    )


def _lost_frames(run: Run) -> Count:
    return run.lost_frames() if run.settings["link"].get("model") == "rlp" else None


def _truly_lost_frames(run: Run) -> Count:
    """Air losses of slots in which the log has an information frame."""
    frames = run.measurement.table("link_frames")
    entities = run.measurement.entities
    sent = frames.where(frames["action"] == frames.code("action", "snd"))
    sides = np.array([("ms", "iwf").index(name) for name in entities])[sent["entity"]]
    slots = set(zip((sent["t_ns"]).tolist(), sides.tolist(), strict=True))
    lost = [(e["t_ns"], e["side"]) for e in run.truth["events"] if e["what"] == "air_loss"]
    return sum(slot in slots for slot in lost)


CHECKS = (
    Check("bytes acknowledged", "receiving applications", _bytes, lambda run: int(run.truth["received"])),
    Check(
        "segments retransmitted",
        "TcpRetransSegs",
        lambda run: run.retransmissions("total"),
        lambda run: run.counter("TcpRetransSegs"),
    ),
    Check(
        "... by timeout",
        "TCPTimeouts",
        lambda run: run.retransmissions("timeout"),
        lambda run: run.counter("TcpExtTCPTimeouts"),
    ),
    Check(
        "... by fast retransmit",
        "TCPFastRetrans",
        lambda run: run.retransmissions("fast"),
        lambda run: run.counter("TcpExtTCPFastRetrans"),
    ),
    Check(
        "... in slow start",
        "TCPSlowStartRetrans",
        lambda run: run.retransmissions("slow_start"),
        lambda run: run.counter("TcpExtTCPSlowStartRetrans"),
    ),
    Check(
        "... as tail loss probe",
        "TCPLossProbes",
        _tail_probes,
        lambda run: run.counter("TcpExtTCPLossProbes"),
    ),
    Check("... for no known cause", "0", lambda run: run.retransmissions("unknown"), lambda run: 0),
    Check("damaged segments", "TcpInCsumErrors", _damaged, lambda run: run.counter("TcpInCsumErrors")),
    Check("data segments lost", "link: lost, dropped", _lost, _truly_lost),
    Check("queue drops", "link", _drops, lambda run: len(run.truth["if_queue_drops"])),
    Check(
        "link frames sent again",
        "link",
        lambda run: run.found["link"]["retransmitted"] if run.logged else None,
        lambda run: sum(run.truth["link_retransmissions"]),
    ),
    Check("link frames lost", "link: lost on the air", _lost_frames, _truly_lost_frames),
    Check("link resets", "link", _resets, _true_resets),
    Check("bytes flushed", "link", _flushed, _true_flushed),
)


@dataclass(frozen=True)
class Rule:
    """Why a count may differ: which one, when, and the reason."""

    check: str
    holds: Callable[[Run, int, int], bool]
    because: str


def _same_total(run: Run) -> bool:
    return run.retransmissions("total") == run.counter("TcpRetransSegs")


def _capped(run: Run, *_: int) -> bool:
    return "rto_max_ms" in run.settings["tcp"] and _same_total(run)


def _damaged_in_losses(run: Run) -> int:
    return int(sum(d["damaged"] for d in run.found["other"]["losses"]["directions"]))


_CAP = "the scenario caps the timer at 3 s, which no capture shows: it fires before its time by RFC 6298"
_NO_PROBE = (
    "the scenario switches the probe off, which no capture shows; the timer fires when the probe would be due"
)
_RACK = "the ACK that told of the loss was captured some us behind the retransmission that it caused"

EXPLAINED = (
    *(
        Rule(name, _capped, _CAP)
        for name in (
            "... by timeout",
            "... by fast retransmit",
            "... in slow start",
            "... as tail loss probe",
            "... for no known cause",
        )
    ),
    *(
        Rule(
            name,
            lambda run, *_: run.settings["tcp"].get("early_retrans") == 0 and _same_total(run),
            _NO_PROBE,
        )
        for name in ("... by timeout", "... as tail loss probe")
    ),
    Rule(
        "... as tail loss probe",
        lambda run, ours, theirs: ours < theirs and _same_total(run) and not _capped(run),
        "the kernel also counts probes that carry new data: they send nothing again",
    ),
    *(
        Rule(
            name,
            lambda run, *_: (
                0
                < run.retransmissions("unknown")
                == run.counter("TcpExtTCPFastRetrans") - run.retransmissions("fast")
            ),
            _RACK,
        )
        for name in ("... by fast retransmit", "... for no known cause")
    ),
    Rule(
        "link frames lost",
        lambda run, ours, theirs: 0 < ours - theirs <= sum(run.truth.get("frames_ignored", [0, 0])),
        "frames that arrived while a reset was under way are ignored and not logged as received",
    ),
    Rule(
        "link frames lost",
        lambda run, ours, theirs: ours > theirs and "calls_dropped" in run.truth,
        "frames in the air when the call was dropped",
    ),
    Rule(
        "bytes acknowledged",
        lambda run, ours, theirs: (
            ours < theirs
            and (not run.truth["complete"] or any(flow["reset_at_close"] for flow in run.settings["flows"]))
        ),
        "the connection or the call ended before the last bytes were acknowledged",
    ),
    Rule(
        "data segments lost",
        lambda run, ours, theirs: (
            ours - theirs == run.truth["packets_ruined"][run.sender] - _damaged_in_losses(run)
        ),
        "damaged copies that could be assigned to no segment that was sent count as lost",
    ),
)


@dataclass(frozen=True)
class Row:
    """One check of one run."""

    run: str
    check: str
    ours: int
    theirs: int
    because: str


def check_run(path: Path) -> list[Row]:
    """All checks of one measurement."""
    run, rows = Run(path), []
    for check in CHECKS:
        ours = check.ours(run)
        theirs = None if ours is None else check.theirs(run)
        if ours is None or theirs is None:
            continue
        reasons = [
            rule.because
            for rule in EXPLAINED
            if ours != theirs and rule.check == check.name and rule.holds(run, ours, theirs)
        ]
        rows.append(Row(path.name, check.name, ours, theirs, "; ".join(reasons)))
    return rows


def table(rows: Sequence[Row]) -> list[list[str]]:
    """Totals per check: runs, our sum, their sum, runs that differ, of them without a reason."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.check].append(row)
    lines = [["count", "against", "runs", "ours", "theirs", "runs that differ", "unexplained"]]
    for check in CHECKS:
        group = groups[check.name]
        differ = [row for row in group if row.ours != row.theirs]
        sums = [sum(row.ours for row in group), sum(row.theirs for row in group)]
        figures = [len(group), *sums, len(differ), sum(not row.because for row in differ)]
        lines.append([check.name, check.against, *(f"{figure:,}" for figure in figures)])
    return lines


def show(lines: Sequence[Sequence[str]], markdown: bool) -> None:
    """Print a table with a head line."""
    if markdown:
        head, *body = lines
        print("\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *body]))
        return
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        cells = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def measurements(roots: Sequence[str]) -> list[Path]:
    """Directories below the roots that the lab completed."""
    return sorted(
        path.parent
        for root in roots
        for path in Path(root).glob("**/truth.json")
        if not any(part.startswith(".") for part in path.parent.relative_to(root).parts)
    )


def main() -> int:
    """Check every measurement below the directories given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("roots", nargs="+")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    paths = measurements(arguments.roots)
    if not paths:
        parser.error("no measurement with a truth.json found")
    with ProcessPoolExecutor(arguments.jobs) as pool:
        rows = [row for found in pool.map(check_run, paths) for row in found]
    print(f"{len(paths)} measurements\n")
    show(table(rows), arguments.markdown)
    differ = [row for row in rows if row.ours != row.theirs]
    if differ:
        lines = [["run", "count", "ours", "theirs", "because"]]
        lines += [
            [row.run, row.check, f"{row.ours:,}", f"{row.theirs:,}", row.because or "?"] for row in differ
        ]
        print()
        show(lines, arguments.markdown)
    return int(any(not row.because for row in differ))


if __name__ == "__main__":
    sys.exit(main())
