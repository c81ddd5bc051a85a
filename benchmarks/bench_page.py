"""The page of a transfer of millions of packets: CPU seconds to write it, its size, seconds in the browser.

A capture is synthesised, ``multitracer report`` makes its page, and headless Chromium opens it from disk: the
time until the figure stands and answers a key (zoom in), how long its main thread worked until then (which
a busy machine lengthens less), and the time of further zooms; medians of `--opened` times, after one that is
not counted (the browser starts). ``--kind parallel`` has fifty connections; ``--capture`` takes a file in
place of synthesised ones.

Usage: python benchmarks/bench_page.py [--packets N ...] [--kind bulk|parallel] [--capture FILE] [--opened N]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import generate

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from support_chromium import chromium, launched

READY_MS = 120_000
EXTENT = "document.getElementById('shown').textContent"


def pressed(page: Any, key: str) -> float:
    """Seconds until the figure shows another stretch of time after a key."""
    before = page.evaluate(EXTENT)
    begin = time.perf_counter()
    page.keyboard.press(key)
    # Not `wait_for_function`: the page's policy lets nothing be evaluated from within.
    while page.evaluate(EXTENT) == before and time.perf_counter() - begin < READY_MS / 1e3:
        time.sleep(0.002)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return time.perf_counter() - begin


def measured(context: Any, path: Path) -> tuple[float, float, float]:
    """Seconds from the address to the answer to the first key, those worked, the median of five more keys."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable")
    begin = time.perf_counter()
    page.goto(path.as_uri(), timeout=READY_MS)
    page.wait_for_selector("html[data-ready]", timeout=READY_MS, state="attached")
    pressed(page, "+")
    first = time.perf_counter() - begin
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    further = statistics.median(pressed(page, key) for key in "++-+-")
    page.close()
    return first, found["TaskDuration"], further


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packets", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--kind", choices=("bulk", "parallel"), default="bulk")
    parser.add_argument("--capture", type=Path)
    parser.add_argument("--opened", type=int, default=3)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    program = chromium()
    if program is None:
        sys.exit("bench_page: chromium is not installed")
    heads = ("packets", "report s", "peak MB", "page MB", "first s", "worked s", "zoom ms")
    print("".join(f"{head:>12}" for head in heads))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        context = launched(driver, program, Path(folder) / "profile")
        for count in [0] if options.capture else options.packets:
            capture, page = options.capture or Path(folder) / "transfer.pcap", Path(folder) / "page.html"
            if not options.capture:
                generate.write(capture, options.kind, count, jitter=True)  # regular times pack to nothing
            words = [sys.executable, "-m", "multitracer", "report", str(capture), "-o", str(page)]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(words, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            opened = [measured(context, page) for _ in range(options.opened + 1)][1:]
            first, worked, further = (statistics.median(column) for column in zip(*opened, strict=True))
            cells = (
                f"{count:,}" if count else capture.name[:11],
                f"{seconds:.1f}",
                f"{after.ru_maxrss / 1024:.0f}",
                f"{page.stat().st_size / 1e6:.1f}",
                f"{first:.1f}",
                f"{worked:.1f}",
                f"{1e3 * further:.0f}",
            )
            print("".join(f"{cell:>12}" for cell in cells), flush=True)
        context.close()


if __name__ == "__main__":
    main()
