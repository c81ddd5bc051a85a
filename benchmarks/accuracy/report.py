"""The table of a fleet: ours against the kernel's counters and the link's truth, next to other tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from measured import EXACT, KERNEL, TSHARK, UNDO

Row = dict[str, Any]


def total(rows: Iterable[Row], source: str, name: str) -> int:
    """Sum of one count over the hosts that have it."""
    return sum(row[source][name] for row in rows if row[source] is not None)


def misses(rows: Sequence[Row]) -> list[Row]:
    """Hosts of runs where one of the counts that are to be exact differs."""
    return [row for row in rows if any(row["ours"][name] != row["kernel"][name] for name in EXACT)]


def markdown(rows: Sequence[Row], runs: Sequence[Row]) -> str:
    """Both tables, in Markdown that reads well as plain text."""
    wrong = misses(rows)
    hosts = [
        ["run", "host", *(KERNEL[name].removeprefix("TcpExt") for name in KERNEL), "tshark", "tcptrace"],
        *(_host_row(row) for row in rows if row["kernel"]["retransmitted"] or row["ours"]["retransmitted"]),
    ]
    sums = [["count", "MultiTracer", "kernel", "runs that differ"]]
    for name, counter in KERNEL.items():
        differ = sum(row["ours"][name] != row["kernel"][name] for row in rows)
        sums.append(
            [counter, *(str(total(rows, source, name)) for source in ("ours", "kernel")), str(differ)]
        )
    parts = [
        f"{len(runs)} runs, {len(rows)} hosts, {total(rows, 'kernel', 'retransmitted')} retransmissions. "
        f"Counts that differ (of {len(EXACT)} per host): "
        f"{sum(row['ours'][name] != row['kernel'][name] for row in rows for name in EXACT)}, "
        f"on {len(wrong)} hosts.",
        "## In sum, from each host's own capture alone",
        _table(sums),
        "## What other tools say about the same files",
        _table(_others(rows)),
        "## Verdicts against what really happened",
        _table(_verdicts(rows, runs)),
        "## Per run: ours/kernel where they differ, one number where they agree",
        _table(hosts),
    ]
    return "\n\n".join(parts) + "\n"


def _host_row(row: Row) -> list[str]:
    cells = []
    for name in KERNEL:
        mine, theirs = row["ours"][name], row["kernel"][name]
        cells.append(str(mine) if mine == theirs else f"**{mine}/{theirs}**")
    flags = row["tshark"]
    shark = "-" if flags is None else f"{flags['retransmission']} + {flags['out_of_order']} out of order"
    trace = "-" if row["tcptrace"] is None else str(row["tcptrace"]["rexmt"])
    return [row["run"], row["host"], *cells, shark, trace]


def _others(rows: Sequence[Row]) -> list[list[str]]:
    def shown(source: str, name: str) -> str:
        known = [row for row in rows if row[source] is not None]
        return str(total(known, source, name)) if known else "not installed"

    kernel = {name: str(total(rows, "kernel", name)) for name in KERNEL}
    return [
        ["what", "kernel", "tool", "its number"],
        [
            "retransmitted segments",
            kernel["retransmitted"],
            "tshark, retransmission",
            shown("tshark", TSHARK[0]),
        ],
        ["", "", "tcptrace, rexmt data pkts", shown("tcptrace", "rexmt")],
        ["fast retransmits", kernel["fast"], "tshark, fast retransmission", shown("tshark", TSHARK[1])],
        ["", "", "tshark, out-of-order", shown("tshark", TSHARK[3])],
        ["", "", "tcptrace, outoforder pkts", shown("tcptrace", "out_of_order")],
        ["slow start, timeouts, probes", "", "tshark, tcptrace", "not told apart"],
        [
            "spurious retransmissions",
            "see below",
            "tshark, spurious retransmission",
            shown("tshark", TSHARK[2]),
        ],
    ]


def _verdicts(rows: Sequence[Row], runs: Sequence[Row]) -> list[list[str]]:
    judged = [run for run in runs if run["certain"] is not None]
    needless = {
        cause: sum(run["certain"]["needless"].get(cause, 0) for run in judged)
        for cause in ("fast", "slow_start", "timeout", "tail_loss_probe")
    }
    undone = [
        ", ".join(f"{UNDO[name].removeprefix('TcpExt')} {total(rows, source, name)}" for name in UNDO)
        for source in ("ours", "kernel")
    ]
    lost, damaged = (
        (sum(run["certain"][name] for run in judged), sum(run["truth"][name] for run in judged))
        for name in ("lost", "damaged")
    )
    wrong = sum(
        any(run["certain"][name] != run["truth"][name] for name in ("lost", "damaged")) for run in judged
    )
    spurious = [
        total(rows, "ours", "spurious_timeouts"),
        sum(run["certain"]["spurious_timeouts"] for run in judged),
    ]
    genuine = [
        total(rows, "ours", "genuine_timeouts"),
        sum(run["certain"]["genuine_timeouts"] for run in judged),
    ]
    return [
        ["what", "MultiTracer", "truth", "from"],
        ["data packets lost", str(lost[0]), str(lost[1]), f"both captures; the link ({wrong} runs differ)"],
        ["data packets damaged", str(damaged[0]), str(damaged[1]), "both captures; the link"],
        ["timeouts, spurious", str(spurious[0]), str(spurious[1]), "sender's capture; all sources"],
        ["timeouts, genuine", str(genuine[0]), str(genuine[1]), "sender's capture; all sources"],
        [
            "timeouts, verdict contradicted",
            str(sum(run["certain"]["contradicted_timeouts"] for run in judged)),
            "0",
            "sender's capture against all sources",
        ],
        [
            "timeouts, only decided by all sources",
            "",
            str(sum(run["certain"]["undecided_alone"] for run in judged)),
            "no timestamps, SACK or F-RTO to tell by",
        ],
        *(
            [f"{cause.replace('_', ' ')}, needless", "", str(count), "both captures"]
            for cause, count in needless.items()
        ),
        ["taken back, per episode", *undone, "sender's capture; the kernel's counters"],
    ]


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    numeric = [all(_number(row[column]) for row in rows[1:]) for column in range(len(rows[0]))]

    def line(row: Sequence[str]) -> str:
        cells = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        return f"| {' | '.join(cells)} |"

    ruler = "|".join(
        "-" * (width + 1) + (":" if right else "-") for width, right in zip(widths, numeric, strict=True)
    )
    return "\n".join([line(rows[0]), f"|{ruler}|", *map(line, rows[1:])])


def _number(cell: str) -> bool:
    return not cell or cell.strip("*").replace("/", "").isdigit()
