"""`multitracer analyze --json` against other programs and against its aims, in three parts.

- ``capture``: packets per second and peak memory of one capture, next to tcptrace, tshark and cat. It is made
  on the spot: fifty connections of iperf3 from one network namespace through a router with a short queue to
  another, and tcpdump with a snap length of 96 bytes (needs root). Without them it is synthesised.
- ``connections``: the same of many short connections (synthesised, ten packets each).
- ``start-up``: help and a small capture, next to a bare click program and `import pandas`.

Usage: python benchmarks/bench_analyze.py [--part NAME] [--packets N] [--capture FILE] [--connections N]
       [--runs N] [--skip-tshark]
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

from captures import count_packets

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
SAMPLE = HERE.parent / "sample_traces" / "flow-control" / "snd.pcap"
MULTITRACER = str(Path(sys.executable).with_name("multitracer"))


PARTS = ("capture", "connections", "start-up")
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


class Aim(NamedTuple):
    """What a part is held against: the cost of one program over that of another."""

    dear: str
    cheap: str
    least: float = 0.0
    most: float = float("inf")
    of: str = "seconds"

    def told(self, rounds: list[dict[str, Cost]]) -> str:
        """The median of the ratios within each round: what else the machine does then falls on all alike."""
        ratio = statistics.median(
            getattr(costs[self.dear], self.of) / getattr(costs[self.cheap], self.of) for costs in rounds
        )
        wanted = f"at least {self.least:g}" if self.least else f"at most {self.most:g}"
        verdict = "met" if self.least <= ratio <= self.most else "missed"
        return f"aim: {self.dear} / {self.cheap}: {ratio:.2f} ({self.of}; {wanted}: {verdict})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part; repeatable")
    parser.add_argument(
        "--packets", type=int, default=3_000_000, help="about so many packets (default %(default)s)"
    )
    parser.add_argument("--capture", type=Path, help="use this capture instead of making one")
    parser.add_argument(
        "--connections", type=int, default=160_000, help="so many short connections (default %(default)s)"
    )
    parser.add_argument(
        "--runs", type=int, default=3, help="runs of each, the median counts (default %(default)s)"
    )
    parser.add_argument(
        "--skip-tshark", action="store_true", help="tshark takes half a minute for millions of packets"
    )
    options = parser.parse_args()
    parts = options.part or PARTS
    DATA.mkdir(exist_ok=True)
    print(f"machine    {machine()}")
    print(f"versions   {version([MULTITRACER, '--version'])}; Python {platform.python_version()}", end="")
    if shutil.which("tcptrace"):
        print(";", version(["tcptrace", "-v"], lambda text: "version" in text.lower()), end="")
    if shutil.which("tshark") and not options.skip_tshark:
        print(";", version(["tshark", "--version"]), end="")
    print()
    if "capture" in parts:
        capture = options.capture or DATA / f"bench-{options.packets}.pcap"
        if not capture.exists():
            # Apart, as below.
            maker = [sys.executable, str(HERE / "captures.py"), str(capture), str(options.packets)]
            subprocess.run(maker, check=True)
        aims = [
            Aim("tcptrace", "multitracer", least=4),
            Aim("tshark", "multitracer", least=100),
            Aim("multitracer", "cat", most=4),
        ]
        whole(capture, options.runs, aims, tshark=not options.skip_tshark)
    if "connections" in parts:
        capture = DATA / f"connections-{options.connections}.pcap"
        if not capture.exists():
            # Apart: a child's peak memory begins at its parent's, and this takes NumPy.
            generator = [sys.executable, str(HERE / "generate.py"), "connections"]
            subprocess.run([*generator, str(options.connections), str(capture)], check=True)
        aims = [Aim("tcptrace", "multitracer", least=15)]
        whole(capture, options.runs, aims, tshark=False)
    if "start-up" in parts:
        start_up(options.runs)


def whole(capture: Path, runs: int, aims: list[Aim], *, tshark: bool) -> None:
    """One capture, by one program after the other."""
    tools = {"multitracer": [MULTITRACER, "analyze", "--json", str(capture)]}
    if shutil.which("tcptrace"):
        tools["tcptrace"] = ["tcptrace", "-lnr", str(capture)]
    if shutil.which("tshark") and tshark:
        tools["tshark"] = ["tshark", "-n", "-r", str(capture), "-q", "-z", "conv,tcp"]
    followed = f"cat {shlex.quote(str(capture))} | {MULTITRACER} analyze - --follow --json"
    tools["followed"] = ["sh", "-c", followed]
    tools["cat"] = ["cat", str(capture)]
    packets = count_packets(capture)
    print(f"\ncapture    {capture.name}: {packets:,} packets, {capture.stat().st_size / 1e6:.0f} MB")
    columns = f"{'seconds':>9}{'cpu s':>8}{'packets/s':>14}{'peak MB':>9}{'time ratio':>12}{'cpu ratio':>11}"
    print(f"{'':14}{columns}")
    warm(capture)
    often = [name for name in tools if name != "tshark"]
    rounds = [{name: measure(tools[name]) for name in often} for _ in range(runs)]
    if "tshark" in tools:
        slow = measure(tools["tshark"])
        rounds = [{**costs, "tshark": slow} for costs in rounds]
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
    for aim in aims:
        if aim.dear in tools:
            print(aim.told(rounds))


def start_up(runs: int) -> None:
    """Small work in turn with what it is held against."""
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
            "summed up": [MULTITRACER, "analyze", "--json", "--summary", str(SAMPLE)],
        }
        for command in commands.values():
            measure(command)  # compiles
        rounds = [{name: measure(command) for name, command in commands.items()} for _ in range(max(runs, 5))]
    print(f"\n{'start-up':14}{'cpu s':>9}{'peak MB':>9}")
    for name in commands:
        seconds = statistics.median(costs[name].cpu_s for costs in rounds)
        print(f"{name:14}{seconds:9.3f}{max(costs[name].peak_mb for costs in rounds):9.0f}")
    print(Aim("--help", "bare click", most=1.5, of="cpu_s").told(rounds))
    for name in ("info", "analyze", "summed up"):
        print(Aim(name, "import pandas", most=0.5, of="cpu_s").told(rounds))


if __name__ == "__main__":
    main()
