"""Hold MultiTracer's counts against the kernel's own on a fleet of lab runs, next to tshark and tcptrace.

python benchmarks/accuracy/run.py                        # makes the fleet (root), then measures
python benchmarks/accuracy/run.py --runs DIRECTORY       # measures what is there
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import measured  # noqa: E402
import report  # noqa: E402


def host_rows(run: Path, tools: bool) -> list[dict[str, Any]]:
    """Each host of a run, by its own capture."""
    rows = []
    for host, name in measured.HOSTS.items():
        capture = run / name
        if not capture.is_file():
            continue
        ending = measured.address(run, host)
        rows.append(
            {
                "run": run.name,
                "host": host,
                "kernel": measured.kernel(run, host),
                "ours": measured.ours(capture, ending),
                "tshark": measured.tshark(capture, ending) if tools else None,
                "tcptrace": measured.tcptrace(capture, ending) if tools else None,
            }
        )
    return rows


def measure(run: Path, tools: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """All about one run."""
    both = all((run / name).is_file() for name in measured.HOSTS.values())
    certain = measured.certain(run) if both else None
    return host_rows(run, tools), {"run": run.name, "certain": certain, "truth": measured.truth(run)}


def make(fleet: Path, root: Path, jobs: int) -> None:
    """The runs that are not there yet."""
    from multitracer.lab.fleet import read_fleet, run_fleet

    def say(outcome: Any, _running: Any, _waiting: int) -> None:
        if outcome is not None:
            print(f"{outcome.status:8} {outcome.job.name} {outcome.error}", file=sys.stderr)

    run_fleet(read_fleet(str(fleet)), str(root), jobs, say)


def main() -> int:
    """Run it; status 1 if a count that is to be exact differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--runs", type=Path, action="append", help="directory of runs already made; repeatable"
    )
    parser.add_argument(
        "--fleet", type=Path, default=HERE / "fleet.toml", help="what to make (default: %(default)s)"
    )
    parser.add_argument("-o", "--output", type=Path, default=HERE / "data", help="where to make it")
    parser.add_argument("-j", "--jobs", type=int, default=3, help="lab runs at a time (default: %(default)s)")
    parser.add_argument("--no-tools", action="store_true", help="leave tshark and tcptrace out")
    parser.add_argument("--json", type=Path, help="write everything here")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    options = parser.parse_args()
    roots = options.runs or [options.output]
    if not options.runs:
        make(options.fleet, options.output, options.jobs)
    runs = sorted(path.parent for root in roots for path in root.glob("*/kernel.json"))
    if not runs:
        print(f"{', '.join(map(str, roots))}: no runs here", file=sys.stderr)
        return 2
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        found = list(pool.map(measure, runs, [not options.no_tools] * len(runs)))
    rows = [row for hosts, _ in found for row in hosts]
    facts = [run for _, run in found]
    text = report.markdown(rows, facts)
    print(text)
    if options.markdown:
        options.markdown.write_text(text)
    if options.json:
        options.json.write_text(json.dumps({"hosts": rows, "runs": facts}, indent=1))
    wrong = report.misses(rows)
    for row in wrong:
        print(f"differs: {row['run']} {row['host']}: ours {row['ours']} kernel {row['kernel']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
