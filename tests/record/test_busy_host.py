"""Recordings of a CPU that is really too busy to receive, and of a driver that really takes no packet."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support_record import Net, network, why_not

import multitracer as mt

_WHY = why_not() or ("" if (os.cpu_count() or 1) > 1 else "needs a CPU that can be busy, and another")
pytestmark = [
    pytest.mark.skipif(bool(_WHY), reason=_WHY or "can be recorded"),
    pytest.mark.usefixtures("kernel_to_itself"),
]
_RULES = 4000

_FLOOD = """
import os, socket, sys, time
os.sched_setaffinity(0, {0})
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_SOCKET, 32, 16 << 20)  # SO_SNDBUFFORCE: more than a CPU's queue holds
end = time.monotonic() + 1
while time.monotonic() < end:
    for _ in range(100):
        sender.sendto(bytes(200), (sys.argv[1], 9))
"""
_HOG = """
import os, time
os.sched_setaffinity(0, {1})
end = time.monotonic() + 30
while time.monotonic() < end:
    pass
"""
_SWITCH = """
import array, fcntl, socket, struct, sys
data = array.array("B", struct.pack("II", int(sys.argv[2], 0), int(sys.argv[3])))
with socket.socket() as sock:
    request = struct.pack("16sP", sys.argv[1].encode(), data.buffer_info()[0]) + bytes(16)
    fcntl.ioctl(sock.fileno(), 0x8946, request)
"""
_GRO, _TSO = "0x2c", "0x1f"  # linux/ethtool.h: ETHTOOL_SGRO, ETHTOOL_STSO


@contextmanager
def recording(net: Net, inside: str, device: str, path: Path) -> Iterator[None]:
    argv = [sys.executable, "-m", "multitracer", "record", "--quiet", "-o", str(path), "-i", device]
    recorder = subprocess.Popen(net.argv(inside, *argv), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (path / "measurement.toml").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.3)
    yield
    recorder.send_signal(signal.SIGINT)
    recorder.wait(60)


def analysed(path: Path) -> tuple[dict, dict[str, str]]:
    results = mt.analyze(mt.read(path)).results
    return results["host"].summary, {
        one["kind"]: one["text"] for one in results["diagnosis"].summary["sentences"]
    }


def test_a_cpu_that_is_too_busy_to_receive(tmp_path: Path) -> None:
    """One CPU receives all and has long to look at each packet: its input queue overflows."""
    with network(offload=False) as net:
        queue = f"/sys/class/net/{net.peer}/queues/rx-0/rps_cpus"
        steered = subprocess.run(net.argv(net.b, "sh", "-c", f"echo 2 >{queue}"), capture_output=True)
        made = subprocess.run(net.argv(net.b, "tc", "qdisc", "add", "dev", net.peer, "clsact"))
        rules = "".join(
            f"filter add dev {net.peer} ingress protocol ip prio 1 u32 match ip src 192.0.2.{at % 250}/32 "
            f"match ip dst 198.51.100.{at // 250}/32 flowid 1:1\n"
            for at in range(_RULES)
        )
        asked = subprocess.run(
            net.argv(net.b, "tc", "-batch", "-"), input=rules, text=True, capture_output=True
        )
        if steered.returncode or made.returncode or asked.returncode:
            pytest.skip("packets cannot be steered to a CPU here, or u32 is missing")
        with recording(net, net.b, net.peer, tmp_path / "r"), net.server():
            flood = subprocess.Popen(net.argv(net.a, sys.executable, "-c", _FLOOD, net.address))
            time.sleep(0.5)
            subprocess.run(net.argv(net.a, *net.client(200_000)), check=True, timeout=60)
            flood.wait(30)
    log = (tmp_path / "r" / "kernel.trace").read_text(errors="replace")
    host, said = analysed(tmp_path / "r")
    dropped = host["receiving"]["softnet"]["dropped"]
    if not dropped:
        pytest.skip("the CPU received it all")
    # Of each packet that softnet_stat counts, the kernel said that the CPU's queue was full.
    assert log.count("reason: CPU_BACKLOG") == dropped
    assert f"dropped {dropped:,} packets before TCP" in said["host_receiving"]


def test_a_driver_that_takes_no_packet(tmp_path: Path) -> None:
    """The other end of a veth does not come to empty its ring: the driver refuses, and the queue waits."""
    if shutil.which("chrt") is None or shutil.which("taskset") is None:
        pytest.skip("needs util-linux")
    with network(["pfifo", "limit", "1000"], offload=False) as net:
        net.run(net.b, sys.executable, "-c", _SWITCH, net.peer, _GRO, "1")
        net.run(net.a, sys.executable, "-c", _SWITCH, net.device, _TSO, "0")
        net.run(net.b, "sh", "-c", f"echo 1 >/sys/class/net/{net.peer}/threaded")
        found = subprocess.run(
            ["pgrep", f"napi/{net.peer}"[:15]], capture_output=True, text=True
        ).stdout.split()
        if len(found) != 1:
            pytest.skip("this kernel receives by no thread of its own")
        subprocess.run(["taskset", "-pc", "1", found[0]], check=True, capture_output=True)
        hog = subprocess.Popen([sys.executable, "-c", _HOG])
        try:
            with recording(net, net.a, net.device, tmp_path / "r"), net.server():
                subprocess.run(["chrt", "-i", "-p", "0", found[0]], check=True)
                flood = subprocess.Popen(net.argv(net.a, sys.executable, "-c", _FLOOD, net.address))
                client = subprocess.Popen(net.argv(net.a, *net.client(200_000)))
                flood.wait(30)
                hog.kill()
                subprocess.run(["chrt", "-o", "-p", "0", found[0]], check=True)
                assert client.wait(60) == 0
        finally:
            hog.kill()
            hog.wait()
        requeued = json.loads(net.run(net.a, "tc", "-s", "-j", "qdisc", "show", "dev", net.device))[0][
            "requeues"
        ]
    host, said = analysed(tmp_path / "r")
    if not requeued:
        pytest.skip("this kernel's veth refuses no packet (Linux 6.16 and later do)")
    device = host["device"]
    assert 0 < device["busy"] <= requeued
    assert device["busy_s"] > 0.1
    assert "took no packet" in said["host_busy"]
