"""What recording costs: the same transfers with and without it, in turn."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from recordwork.making import inside, network, printed

_MANY = """
import socket, sys, threading, time
host, port, count = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
def serve():
    with socket.create_server((host, port), backlog=512) as server:
        print("ready", flush=True)
        for _ in range(count):
            peer, _ = server.accept()
            peer.recv(256)
            peer.sendall(bytes(1000))
            peer.close()
def ask():
    began = time.monotonic()
    for _ in range(count):
        with socket.create_connection((host, port)) as peer:
            peer.sendall(bytes(100))
            while peer.recv(4096):
                pass
    print(time.monotonic() - began)
serve() if sys.argv[1] == "serve" else ask()
"""


def measure(rounds: int, connections: int) -> list[dict[str, Any]]:
    """Each kind of transfer, `rounds` times without and with recording in turn."""
    found = []
    for kind in ("1 Gbit/s, TSO", "1 Gbit/s, one segment a packet", f"{connections:,} connections"):
        wanted = {
            "rate_bps": 1_000_000_000,
            "queue": "none" if "connections" in kind else "tbf-host",
            "burst_bytes": 131_072,
            "limit_bytes": 3_000_000,
            "offload": "one segment" not in kind,
        }
        runs: dict[str, list[dict[str, Any]]] = {"without": [], "with": []}
        with network(wanted) as (a, b, _), tempfile.TemporaryDirectory() as folder:
            for number in range(rounds):
                for how in runs:
                    out = Path(folder) / f"{how}{number}" if how == "with" else None
                    run = _short if "connections" in kind else _bulk
                    runs[how].append(run(a, b, out, connections))
        found.append({"kind": kind, **runs})
        print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    return found


def _recorded(a: str, out: Path | None, argv: list[str]) -> dict[str, Any]:
    """Run a command, perhaps recorded: what it printed, CPU seconds of the recorder, bytes, lost events."""
    if out is None:
        return {"said": printed(*inside(a), *argv)}
    said = out.parent / "said"
    shell = f'exec "$@" >{said}'
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        sys.executable,
        "-m",
        "multitracer",
        "record",
        "--quiet",
        "--json",
        "-i",
        "mta0",
        "-o",
        str(out),
    ]
    began = time.monotonic()
    done = subprocess.run(
        [*inside(a), *command, "--", "sh", "-c", shell, "sh", *argv],
        capture_output=True,
        text=True,
        timeout=120,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    outcome = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "said": said.read_text(),
        "cpu_s": round(cpu, 2),
        "wall_s": round(time.monotonic() - began, 2),
        "bytes": sum(outcome["sizes"].values()),
        "lost_events": outcome["lost_events"],
        "capture_drops": outcome["capture_drops"],
    }


def _bulk(a: str, b: str, out: Path | None, _: int) -> dict[str, Any]:
    server = subprocess.Popen([*inside(b), "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    found = _recorded(a, out, ["iperf3", "-c", "10.92.0.2", "-t", "4", "-J"])
    server.wait(20)
    told = json.loads(found.pop("said"))["end"]
    # iperf3's own CPU time runs under the recorder, too.
    used = told["cpu_utilization_percent"]["host_total"] / 100 * told["sum_sent"]["seconds"]
    if "cpu_s" in found:
        found["cpu_s"] = round(found["cpu_s"] - used, 2)
    return {"mbps": round(told["sum_received"]["bits_per_second"] / 1e6, 1), **found}


def _short(a: str, b: str, out: Path | None, connections: int) -> dict[str, Any]:
    argv = ["10.92.0.2", "7001", str(connections)]
    server = subprocess.Popen(
        [*inside(b), sys.executable, "-c", _MANY, "serve", *argv], stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    server.stdout.readline()
    found = _recorded(a, out, [sys.executable, "-c", _MANY, "ask", *argv])
    server.wait(20)
    server.stdout.close()
    return {"seconds": round(float(found.pop("said")), 2), **found}


def table(found: list[dict[str, Any]]) -> list[str]:
    """Markdown, a line for each kind: medians, all values in brackets."""
    lines = [
        "| transfer | without | with | CPU time of recorder | written | lost |",
        "|---|---|---|---|---|---|",
    ]
    for one in found:
        key, unit = ("mbps", "Mbit/s") if "mbps" in one["with"][0] else ("seconds", "s")
        cells = []
        for how in ("without", "with"):
            values = [run[key] for run in one[how]]
            cells.append(
                f"{statistics.median(values):g} {unit} ({', '.join(f'{value:g}' for value in values)})"
            )
        cpu = statistics.median(run["cpu_s"] for run in one["with"])
        size = statistics.median(run["bytes"] for run in one["with"]) / 1e6
        lost = sum(run["lost_events"] for run in one["with"])
        drops = sum(run["capture_drops"] or 0 for run in one["with"])
        cells += [f"{cpu:.1f} s", f"{size:.0f} MB", f"{lost:,} events, {drops:,} packets"]
        lines.append(f"| {one['kind']} | {' | '.join(cells)} |")
    return [*lines, "", f"{os.cpu_count()} CPUs, shared with other work."]
