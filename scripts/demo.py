"""Analyse every measurement of a directory: a figure, a report and the JSON of each, and one summary of all.

Usage: python scripts/demo.py sample_traces demo-output
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

import multitracer as mt
from multitracer.cli.render import summary
from multitracer.cli.terminal import Console


def main(traces: Path, output: Path) -> None:
    """Write `output` from the measurements in `traces`."""
    output.mkdir(exist_ok=True)
    found: dict[str, dict[str, Any]] = {}
    for directory in sorted(path for path in traces.iterdir() if path.is_dir()):
        analysis = mt.analyze(mt.read(directory))
        stem = output / directory.name
        mt.plot(analysis, path=stem.with_suffix(".png"))
        stem.with_suffix(".json").write_text(analysis.to_json() + "\n", encoding="utf-8")
        found[directory.name] = analysis.to_dict()
        with stem.with_suffix(".txt").open("w", encoding="utf-8") as file:
            summary(found[directory.name], Console(file=file, width=110))
    table = _overview(found)
    with (output / "summary.txt").open("w", encoding="utf-8") as file:
        Console(file=file, width=110).print(table)
    console = Console()
    console.print(table)
    console.print(f"\nLook into {output}/ : summary.txt, and for each measurement a figure (.png),")
    console.print("a report (.txt) and all results as JSON (.json).")


def _overview(found: dict[str, dict[str, Any]]) -> Table:
    table = Table(
        title="How well did TCP use the link, and what was in the way?",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in (
        "measurement",
        "link used",
        "bytes",
        "duplicate",
        "timeouts",
        "spurious",
        "resets",
    ):
        table.add_column(heading, justify="left" if heading == "measurement" else "right", no_wrap=True)
    for name, result in found.items():
        utilization = result["utilization"]["value"]
        connections = result["connections"]
        table.add_row(
            name,
            "?" if utilization is None else f"{100 * utilization:.1f}%",
            f"{sum(c['bytes']['unique'] for c in connections):,}",
            f"{sum(c['bytes']['duplicate'] for c in connections):,}",
            str(sum(c["timeouts"]["total"] for c in connections)),
            str(sum(c["timeouts"]["spurious"] for c in connections)),
            str(len(result["link"]["resets"])),
        )
    return table


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
