"""Memory of one worker over many measurements, and measurements per minute by number of processes.

python tests/benchmarks/batch_memory.py FLEET [--pages none] [--rates 60]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import multitracer as mt
from multitracer.batch import guard
from multitracer.batch.find import find


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fleet", type=Path)
    parser.add_argument("--pages", default="none")
    parser.add_argument("--rates", type=Path, help="fleet for the rates")
    options = parser.parse_args()
    units = find(str(options.fleet)).units
    one = guard.Guard()
    with tempfile.TemporaryDirectory() as output:
        for number, unit in enumerate(units, 1):
            job = {
                "root": str(options.fleet.resolve()),
                "output": output,
                "version": mt.__version__,
                "page": options.pages,
                "flag_below": 95.0,
                "name": unit.name,
                "files": list(unit.files),
                "whole": unit.whole,
            }
            outcome = one.run(job, guard.Limits(**asdict(guard.Limits())))
            assert outcome["record"]["status"] == "done", outcome
            if number in (1, 10, 50, 100, 200, 300, 400, 500) or number == len(units):
                print(f"{number:5} measurements: {outcome['rss_bytes'] / 1e6:7.1f} MB", flush=True)
    one.close()
    for processes in (1, 2) if options.rates else ():
        with tempfile.TemporaryDirectory() as output:
            began = time.monotonic()
            found = mt.batch(options.rates, output, processes=processes, pages=options.pages)
            minutes = (time.monotonic() - began) / 60
            print(
                f"{processes} processes: {len(found.records) / minutes:,.0f} measurements a minute",
                flush=True,
            )


if __name__ == "__main__":
    main()
