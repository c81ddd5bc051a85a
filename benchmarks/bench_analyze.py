"""Packets per second and peak memory of `multitracer analyze --json` against tcptrace and tshark; start-up.

The capture is made on the spot: iperf3 between two network namespaces over a veth pair, with some loss where
the kernel has netem, and tcpdump with a snap length of 96 bytes (needs root). Without them a
capture is synthesised.

Usage: python benchmarks/bench_analyze.py [--packets N] [--capture FILE] [--runs N] [--skip-tshark]
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

from captures import count_packets, record, synthesise

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
SAMPLE = HERE.parent / "sample_traces" / "flow-control" / "snd.pcap"
MULTITRACER = str(Path(sys.executable).with_name("multitracer"))


BYTECODE = tempfile.TemporaryDirectory(prefix="multitracer-bytecode-")
ENVIRONMENT = {**os.environ, "PYTHONPYCACHEPREFIX": BYTECODE.name}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once, not at each start


class Cost(NamedTuple):
    """What one process cost."""

    seconds: float
    cpu_s: float
    peak_mb: float


def measure(command: list[str], source: IO[bytes] | None = None) -> Cost:
    """Wall-clock and processor time and peak resident memory of one process; its output goes nowhere."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit status {process.returncode}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def version(command: list[str], line: Callable[[str], bool] = bool) -> str:
    """First line of a program's output that fits."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return next((text.strip() for text in (done.stdout + done.stderr).splitlines() if line(text)), "?")


def warm(path: Path) -> None:
    """Put a file into the page cache, in pieces: a child's peak memory begins at its parent's."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def machine() -> str:
    """Processor, cores and memory."""
    model = version(["sh", "-c", "grep -m1 'model name' /proc/cpuinfo | cut -d: -f2"])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--packets", type=int, default=3_000_000, help="about so many packets (default %(default)s)"
    )
    parser.add_argument("--capture", type=Path, help="use this capture instead of making one")
    parser.add_argument(
        "--runs", type=int, default=3, help="runs of each, the median counts (default %(default)s)"
    )
    parser.add_argument(
        "--skip-tshark", action="store_true", help="tshark takes half a minute for millions of packets"
    )
    options = parser.parse_args()

    DATA.mkdir(exist_ok=True)
    capture = options.capture or DATA / f"bench-{options.packets}.pcap"
    if not capture.exists() and not record(capture, options.packets):
        print("no namespaces, iperf3 or tcpdump here: the capture is synthetic")
        synthesise(capture, options.packets)
    packets = count_packets(capture)
    print(f"machine    {machine()}")
    print(f"capture    {capture.name}: {packets:,} packets, {capture.stat().st_size / 1e6:.0f} MB")

    tools = {"multitracer": [MULTITRACER, "analyze", "--json", str(capture)]}
    print(f"versions   {version([MULTITRACER, '--version'])}; Python {platform.python_version()}", end="")
    if shutil.which("tcptrace"):
        tools["tcptrace"] = ["tcptrace", "-lnr", str(capture)]
        print(";", version(["tcptrace", "-v"], lambda text: "version" in text.lower()), end="")
    if shutil.which("tshark") and not options.skip_tshark:
        tools["tshark"] = ["tshark", "-n", "-r", str(capture), "-q", "-z", "conv,tcp"]
        print(";", version(["tshark", "--version"]).split(" (")[0], end="")
    columns = f"{'seconds':>9}{'cpu s':>8}{'packets/s':>14}{'peak MB':>9}{'time ratio':>12}{'cpu ratio':>11}"
    print(f"\n\n{'':14}{columns}")
    warm(capture)
    followed = f"cat {shlex.quote(str(capture))} | {MULTITRACER} analyze - --follow --json"
    tools["followed"] = ["sh", "-c", followed]
    tools["cat"] = ["cat", str(capture)]
    often = [name for name in tools if name != "tshark"]
    rounds = [{name: measure(tools[name]) for name in often} for _ in range(options.runs)]
    if "tshark" in tools:
        slow = measure(tools["tshark"])
        rounds = [{**costs, "tshark": slow} for costs in rounds]
    # In turn, and the ratio within each round: what else the machine does then falls on all alike.
    for name in tools:
        seconds = statistics.median(costs[name].seconds for costs in rounds)
        cpu_s = statistics.median(costs[name].cpu_s for costs in rounds)
        ratio = statistics.median(costs[name].seconds / costs["multitracer"].seconds for costs in rounds)
        cpu_ratio = statistics.median(costs[name].cpu_s / costs["multitracer"].cpu_s for costs in rounds)
        peak_mb = max(costs[name].peak_mb for costs in rounds)
        print(
            f"{name:14}{seconds:9.2f}{cpu_s:8.2f}{packets / seconds:14,.0f}{peak_mb:9.0f}"
            f"{ratio:11.2f}x{cpu_ratio:10.2f}x"
        )
    start_up(options.runs)


def start_up(runs: int) -> None:
    """Small work in turn with what it is held against: medians of ratios, one for each round."""
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text("import click\n@click.command()\ndef main():\n    pass\nmain()\n")
        python = sys.executable
        commands = {
            "bare click": [python, str(bare), "--help"],
            "--help": [MULTITRACER, "--help"],
            "import pandas": [python, "-c", "import pandas"],
            "info": [MULTITRACER, "info", "--json", str(SAMPLE)],
            "analyze": [MULTITRACER, "analyze", "--json", str(SAMPLE)],
        }
        for command in commands.values():
            measure(command)  # compiles
        rounds = [{name: measure(command) for name, command in commands.items()} for _ in range(max(runs, 5))]
    print(f"\n{'start-up':14}{'cpu s':>9}{'':14}{'peak MB':>9}")
    for name in commands:
        seconds = statistics.median(costs[name].cpu_s for costs in rounds)
        base = "bare click" if name == "--help" else "import pandas"
        ratio = statistics.median(costs[name].cpu_s / costs[base].cpu_s for costs in rounds)
        told = "" if name in ("bare click", "import pandas") else f"{ratio:11.2f}x {base}"
        print(f"{name:14}{seconds:9.3f}{'':14}{max(costs[name].peak_mb for costs in rounds):9.0f}{told}")


if __name__ == "__main__":
    main()
