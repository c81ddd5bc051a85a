"""Two network namespaces with a veth pair and a slow queue between them, to record real transfers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

PORT = 5001

SERVER = """
import socket, sys, time
port, pause, size = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
with socket.create_server(("0.0.0.0", port)) as server:
    print("ready", flush=True)
    peer, _ = server.accept()
    with peer:
        total = 0
        if pause:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        while data := peer.recv(size):
            total += len(data)
            if pause:
                time.sleep(pause)
    print(total, flush=True)
"""
CLIENT = """
import socket, sys, time
host, port, total, chunk, pause = sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:5]), float(sys.argv[5])
with socket.create_connection((host, port)) as peer:
    while total > 0:
        peer.sendall(bytes(min(chunk, total)))
        total -= chunk
        if pause and total > 0:
            time.sleep(pause)
    peer.shutdown(socket.SHUT_WR)
    peer.recv(1)
"""


def why_not() -> str:
    """Why nothing can be recorded here; "" if it can."""
    if os.geteuid() != 0:
        return "recording needs root"
    if shutil.which("ip") is None or shutil.which("tc") is None:
        return "needs iproute2"
    probe = f"mtprobe{os.getpid() % 10000}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True)
    if made.returncode:
        return "network namespaces cannot be made here"
    subprocess.run(["ip", "netns", "del", probe], capture_output=True)
    from multitracer.record import tracing

    with open("/proc/filesystems", encoding="ascii") as file:
        if "tracefs" not in file.read() or tracing.reach(False).root == "":
            return "no tracefs"
    return ""


@dataclass(frozen=True)
class Net:
    """Namespaces `a` and `b`, their ends of the wire, and the address of `b`."""

    a: str
    b: str
    device: str
    peer: str
    address: str

    def argv(self, inside: str, *argv: str) -> list[str]:
        return ["ip", "netns", "exec", inside, *argv]

    def run(self, inside: str, *argv: str) -> str:
        said = subprocess.run(self.argv(inside, *argv), capture_output=True, text=True, timeout=120)
        assert said.returncode == 0, said.stderr
        return said.stdout

    def client(self, total: int, chunk: int = 65_536, pause_s: float = 0.0) -> list[str]:
        words = (self.address, str(PORT), str(total), str(chunk), str(pause_s))
        return [sys.executable, "-c", CLIENT, *words]

    @contextmanager
    def server(self, pause_s: float = 0.0, size: int = 65_536) -> Iterator[None]:
        argv = self.argv(self.b, sys.executable, "-c", SERVER, str(PORT), str(pause_s), str(size))
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield
            process.wait(60)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def record(self, path: str, *options: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "multitracer", "record", "-o", path, "-i", self.device, *options]
        return subprocess.run(self.argv(self.a, *argv), capture_output=True, text=True, timeout=120)


@contextmanager
def routed(queue: Sequence[str]) -> Iterator[Net]:
    """Two ends with a router between them, on whose way out there is a queueing discipline."""
    tag = f"{os.getpid() % 100_000}{threading.get_ident() % 97}"
    a, r, b = (f"mt{letter}{tag}" for letter in "ARB")
    net = Net(a, b, f"mta{tag}"[:15], f"mtb{tag}"[:15], "10.92.0.2")
    near, far = f"mtr{tag}"[:15], f"mts{tag}"[:15]
    try:
        for name in (a, r, b):
            _ip("netns", "add", name)
        for (ns, device, address), (other, peer, gateway) in (
            ((a, net.device, "10.91.0.1/24"), (r, near, "10.91.0.254/24")),
            ((b, net.peer, "10.92.0.2/24"), (r, far, "10.92.0.254/24")),
        ):
            _ip("link", "add", device, "netns", ns, "type", "veth", "peer", "name", peer, "netns", other)
            for inside, one, its in ((ns, device, address), (other, peer, gateway)):
                _ip("-n", inside, "addr", "add", its, "dev", one)
                _ip("-n", inside, "link", "set", one, "gso_max_segs", "1", "up")
            _ip("-n", ns, "route", "add", "default", "via", gateway.partition("/")[0])
        net.run(r, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        net.run(r, "tc", "qdisc", "add", "dev", far, "root", "handle", "1:", *queue)
        yield net
    finally:
        for name in (a, r, b):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@contextmanager
def network(queue: Sequence[str] = (), offload: bool = True) -> Iterator[Net]:
    """A net with a queueing discipline on the first end, ``tbf rate 20mbit ...``."""
    tag = f"{os.getpid() % 100_000}{threading.get_ident() % 97}"
    net = Net(f"mtA{tag}", f"mtB{tag}", f"mta{tag}"[:15], f"mtb{tag}"[:15], "10.91.0.2")
    try:
        for name in (net.a, net.b):
            _ip("netns", "add", name)
        _ip(
            "link",
            "add",
            net.device,
            "netns",
            net.a,
            "type",
            "veth",
            "peer",
            "name",
            net.peer,
            "netns",
            net.b,
        )
        for name, device, address in ((net.a, net.device, "10.91.0.1"), (net.b, net.peer, net.address)):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            if not offload:
                _ip("-n", name, "link", "set", device, "gso_max_segs", "1")
            _ip("-n", name, "link", "set", device, "up")
        if queue:
            net.run(net.a, "tc", "qdisc", "add", "dev", net.device, "root", "handle", "1:", *queue)
        yield net
    finally:
        for name in (net.a, net.b):
            with suppress(OSError):
                subprocess.run(["ip", "netns", "del", name], capture_output=True)


def _ip(*words: str) -> None:
    said = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert said.returncode == 0, (words, said.stderr)
