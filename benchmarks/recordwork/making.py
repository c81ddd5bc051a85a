"""Random transfers between namespaces, recorded by `multitracer record`, with what the system itself says."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TRANSFER = Path(__file__).with_name("transfer.py")
_PORT = 5001
_WRITES, _READS = "sendto,write,sendmsg", "recvfrom,read,recvmsg"
_RETURNED = re.compile(r"= (\d+) <(\d+\.\d+)>$")
_SOCKET = re.compile(r"<TCP:\[[^\]]*:(\d+)->")
_SECONDS = 3.0
_HTB = ("class", "add", "dev", "mta0", "parent", "1:", "classid", "1:10", "htb", "burst", "16k")
_BELOW = ("dev", "mta0", "parent", "1:10", "handle", "10:")


def draw(seed: int) -> dict[str, Any]:
    """The settings of one run."""
    rng = random.Random(seed)
    rate_mbps = rng.choice((10, 20, 50, 100))
    queue = rng.choice(("tbf-host", "htb-host", "tbf-router", "tbf-router", "none"))
    offload = rng.random() < 0.5
    flows = rng.choice((1, 1, 1, 2, 4))
    workload = rng.choice(("bulk", "bulk", "bulk", "pausing writer", "slow reader"))
    reader = workload == "slow reader"
    per_flow = int(rate_mbps * 1e6 / 8 * _SECONDS / flows) if queue != "none" else 12_000_000 // flows
    if workload != "bulk":
        per_flow = min(per_flow, 1_500_000)
    return {
        "seed": seed,
        "rate_bps": rate_mbps * 1_000_000,
        "queue": queue,
        "burst_bytes": 16_384 if offload else rng.choice((2_048, 16_384)),
        "limit_bytes": rng.choice((30_000, 60_000, 200_000)),
        "offload": offload,
        "workload": workload,
        "flows": flows,
        "port": _PORT,
        "bytes": per_flow,
        "congestion_control": rng.choice(("cubic", "reno", "bbr")),
        "write_bytes": rng.choice((20_000, 50_000)) if workload == "pausing writer" else 65_536,
        "write_pause_s": rng.choice((0.05, 0.1)) if workload == "pausing writer" else 0.0,
        "read_bytes": 32_768 if reader else 262_144,
        "read_pause_s": rng.choice((0.03, 0.06)) if reader else 0.0,
        "receive_buffer": 65_536 if reader else 0,
        "both": rng.random() < 0.5,
    }


def make(folder: Path, wanted: dict[str, Any]) -> None:
    """One run: ``recording/``, with both hosts also ``receiver/``, and ``truth.json``.

    Raises
    ------
    RuntimeError
        The recording or the transfer failed.
    """
    partial = folder.with_name(folder.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with network(wanted) as (a, b, r):
        wanted = {**wanted, "address": "10.92.0.2", "result": str(partial / "tcp_info.json")}
        serving = [sys.executable, str(_TRANSFER), "serve", json.dumps(wanted)]
        if wanted["both"]:
            serving = _recorded(partial, "receiver", "mtb0", _READS, serving)
        server = subprocess.Popen([*inside(b), *serving], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert server.stdout is not None
        try:
            if server.stdout.readline() != b"ready\n":
                raise RuntimeError(f"the receiver did not start: {server.communicate()[1].decode()}")
            before = _kernel(a)
            sending = [sys.executable, str(_TRANSFER), "send", json.dumps(wanted)]
            said = subprocess.run(
                [*inside(a), *_recorded(partial, "recording", "mta0", _WRITES, sending)],
                capture_output=True,
                text=True,
                timeout=120,
            )
            if said.returncode not in (0, 4):
                raise RuntimeError(said.stderr)
            after = _kernel(a)
            _, told = server.communicate(timeout=30)
            if server.returncode not in (0, 4):
                raise RuntimeError(told.decode())
        finally:
            server.kill()
            server.communicate()
        truth = {
            **wanted,
            "qdisc": {name: after["qdisc"][name] - before["qdisc"][name] for name in ("drops", "packets")},
            "router_drops": _drops(r, "mts0"),
            "retransmitted": after["again"] - before["again"],
            "writes": _calls(partial / "recording.calls"),
            "reads": _calls(partial / "receiver.calls") if wanted["both"] else None,
            "tcp_info": json.loads((partial / "tcp_info.json").read_text()),
        }
    (partial / "truth.json").write_text(json.dumps(truth, indent=1))
    for path in (*partial.glob("*.calls"), partial / "tcp_info.json"):
        path.unlink()
    os.replace(partial, folder)


def _recorded(folder: Path, name: str, interface: str, calls: str, argv: list[str]) -> list[str]:
    """A command that is recorded into a directory, and whose calls strace writes beside it."""
    recorder = (sys.executable, "-m", "multitracer", "record", "--quiet", "-i", interface)
    tracer = (
        "strace",
        "-f",
        "-yy",
        "-ttt",
        "-T",
        "-o",
        str(folder / f"{name}.calls"),
        "-e",
        f"trace={calls}",
        "-s",
        "0",
    )
    return [*recorder, "-o", str(folder / name), "--", *tracer, *argv]


def _calls(path: Path) -> list[dict[str, Any]]:
    """Each call on a TCP socket that returned bytes: its own port, begin, end and bytes, as strace saw it."""
    found: list[dict[str, Any]] = []
    open_calls: dict[str, tuple[int, float]] = {}
    for line in path.read_text(errors="replace").splitlines():
        words = line.split(None, 2)
        if len(words) < 3:
            continue
        pid, at, call = words
        began = (0, 0.0)
        if socket := _SOCKET.search(call):
            began = (int(socket[1]), float(at))
            if call.endswith("<unfinished ...>"):
                open_calls[pid] = began
        elif "resumed>" in call:
            began = open_calls.pop(pid, began)
        if began[0] and (size := _RETURNED.search(call)):
            end_s = round(began[1] + float(size[2]), 6)
            found.append({"port": began[0], "begin_s": began[1], "end_s": end_s, "bytes": int(size[1])})
    return found


def inside(namespace: str) -> tuple[str, ...]:
    """Words before a command that is to run in a namespace."""
    return ("ip", "netns", "exec", namespace)


def _kernel(a: str) -> dict[str, Any]:
    """The counters of the sending host."""
    qdisc = json.loads(printed(*inside(a), "tc", "-s", "-j", "qdisc", "show", "dev", "mta0"))[0]
    told = json.loads(printed(*inside(a), "nstat", "-asjz"))["kernel"]
    return {"qdisc": qdisc, "again": told["TcpRetransSegs"] - told["TcpExtTCPRetransFail"]}


def _drops(namespace: str, device: str) -> int:
    found = json.loads(printed(*inside(namespace), "tc", "-s", "-j", "qdisc", "show", "dev", device))
    return int(found[0]["drops"])


def printed(*argv: str) -> str:
    """What a command printed; an error if it failed."""
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30).stdout


@contextmanager
def network(wanted: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Sender, receiver and a router between them; the bottleneck where the run wants it."""
    tag = f"mtrec{os.getpid()}"
    a, b, r = f"{tag}a", f"{tag}b", f"{tag}r"
    try:
        for name in (a, b, r):
            printed("ip", "netns", "add", name)
        for end, device, near, net in ((a, "mta0", "mtr0", "10.91.0"), (b, "mtb0", "mts0", "10.92.0")):
            peer = ("type", "veth", "peer", "name", near, "netns", r)
            printed("ip", "link", "add", device, "netns", end, *peer)
            for space, one, host in ((end, device, 2), (r, near, 254)):
                printed("ip", "-n", space, "addr", "add", f"{net}.{host}/24", "dev", one)
                size = () if wanted["offload"] else ("gso_max_segs", "1")
                printed("ip", "-n", space, "link", "set", one, *size, "up")
            printed("ip", "-n", end, "route", "add", "default", "via", f"{net}.254")
            printed("ip", "-n", end, "link", "set", "lo", "up")
        printed(*inside(r), "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        _queue(wanted, a, r)
        yield a, b, r
    finally:
        for name in (a, b, r):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def _queue(wanted: dict[str, Any], a: str, r: str) -> None:
    rate = f"{wanted['rate_bps']}bit"
    tbf = ("tbf", "rate", rate, "burst", str(wanted["burst_bytes"]), "limit", str(wanted["limit_bytes"]))
    if wanted["queue"] == "tbf-host":
        printed(*inside(a), "tc", "qdisc", "add", "dev", "mta0", "root", "handle", "1:", *tbf)
    elif wanted["queue"] == "tbf-router":
        printed(*inside(r), "tc", "qdisc", "add", "dev", "mts0", "root", "handle", "1:", *tbf)
    elif wanted["queue"] == "htb-host":
        tc = (*inside(a), "tc")
        printed(*tc, "qdisc", "add", "dev", "mta0", "root", "handle", "1:", "htb", "default", "10")
        printed(*tc, *_HTB, "rate", rate)
        packets = str(wanted["limit_bytes"] // 1500)
        printed(*tc, "qdisc", "add", *_BELOW, "pfifo", "limit", packets)
    else:
        fifo = ("root", "handle", "1:", "pfifo", "limit", "1000")
        printed(*inside(a), "tc", "qdisc", "add", "dev", "mta0", *fifo)
