"""Facts about this host and its interface: what a reader must know of where a measurement was made."""

from __future__ import annotations

import array
import fcntl
import json
import os
import platform
import shutil
import socket
import struct
import subprocess
import time
from typing import Any

from multitracer.record.system import RecordError

_SIOCETHTOOL = 0x8946
# linux/ethtool.h: commands that read one switch each.
_SWITCHES = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}
_ETHTOOL_GFLAGS, _LRO = 0x25, 1 << 15


def interfaces() -> list[str]:
    """Names of the network interfaces in this network namespace."""
    return [name for _, name in socket.if_nameindex()]


def default_interface() -> str:
    """The interface of the default route, or the only one that is not the loopback.

    Raises
    ------
    RecordError
        There is neither.
    """
    try:
        with open("/proc/net/route", encoding="ascii") as file:
            rows = [line.split() for line in file][1:]
    except OSError:
        rows = []
    routes = [(int(row[6]), row[0]) for row in rows if len(row) > 7 and row[1] == row[7] == "00000000"]
    if routes:
        return min(routes)[1]
    others = [name for name in interfaces() if not _is_loopback(name)]
    if len(others) == 1:
        return others[0]
    raise RecordError(f"no default route: name the interface with -i (there are {', '.join(interfaces())})")


def _is_loopback(interface: str) -> bool:
    return _sysfs(interface, "type") == "772"


def _sysfs(interface: str, name: str) -> str | None:
    try:
        with open(f"/sys/class/net/{interface}/{name}", encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def interface_index(interface: str) -> int:
    """Its number in this network namespace.

    Raises
    ------
    RecordError
        There is no such interface.
    """
    try:
        return socket.if_nametoindex(interface)
    except OSError:
        raise RecordError(f"no interface {interface!r}; there are {', '.join(interfaces())}") from None


def offloads(interface: str) -> dict[str, bool]:
    """Which offloads are on (tso, gso, gro, lro); one that the driver does not report is left out."""
    found: dict[str, bool] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for name, command in {**_SWITCHES, "lro": _ETHTOOL_GFLAGS}.items():
            value = _ethtool(sock, interface, command)
            if value is not None:
                found[name] = bool(value & _LRO) if name == "lro" else bool(value)
    return found


def _ethtool(sock: socket.socket, interface: str, command: int) -> int | None:
    data = array.array("B", struct.pack("II", command, 0))
    request = struct.pack("16sP", interface.encode()[:15], data.buffer_info()[0])
    try:
        fcntl.ioctl(sock.fileno(), _SIOCETHTOOL, request + b"\0" * 16)
    except OSError:
        return None
    return int(struct.unpack("II", data.tobytes())[1])


def qdiscs(interface: str) -> list[dict[str, Any]]:
    """Queueing disciplines of an interface as ``tc -s -j`` reports them; empty without tc."""
    return json_of(["tc", "-s", "-j", "qdisc", "show", "dev", interface])


def json_of(argv: list[str]) -> list[dict[str, Any]]:
    """The list of objects that a program prints as JSON; empty if it is not there or prints none."""
    try:
        said = subprocess.run(argv, capture_output=True, timeout=5, env={**os.environ, "LC_ALL": "C"})
        value = json.loads(said.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return []
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def addresses(interface: str) -> list[str]:
    """Addresses of an interface, as ``ip -j addr`` reports them."""
    return [
        str(info["local"])
        for one in json_of(["ip", "-j", "addr", "show", "dev", interface])
        for info in one.get("addr_info", ())
        if isinstance(info, dict) and "local" in info
    ]


def is_wireless(interface: str) -> bool:
    """Whether it is a Wi-Fi interface."""
    return os.path.isdir(f"/sys/class/net/{interface}/phy80211") or os.path.isdir(
        f"/sys/class/net/{interface}/wireless"
    )


def clock_offset_ns() -> tuple[int, int]:
    """What CLOCK_MONOTONIC lacks to CLOCK_REALTIME, and half the time that reading both took, in ns.

    The best of several tries: both clocks run at one rate, so the difference only changes at a step.
    """
    best = (0, 1 << 62)
    for _ in range(20):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        real = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        half = (after - before + 1) // 2
        if half < best[1]:
            best = (real - (before + after) // 2, half)
    return best


def facts(interface: str) -> dict[str, Any]:
    """Host, kernel and interface as ``measurement.toml`` holds them."""
    system = platform.uname()
    mtu = _sysfs(interface, "mtu")
    speed = _sysfs(interface, "speed")
    driver = f"/sys/class/net/{interface}/device/driver"
    return {
        "host": {
            "name": system.node,
            "kernel": system.release,
            "machine": system.machine,
            "cpus": os.cpu_count() or 0,
            "congestion_control": _sysctl("net/ipv4/tcp_congestion_control"),
            "rmem": _sysctl("net/ipv4/tcp_rmem"),
            "wmem": _sysctl("net/ipv4/tcp_wmem"),
        },
        "interface": {
            "name": interface,
            "addresses": addresses(interface),
            "mtu_bytes": int(mtu) if mtu and mtu.isdigit() else None,
            "speed_bps": int(speed) * 1_000_000 if speed and speed.isdigit() else None,
            "driver": os.path.basename(os.path.realpath(driver)) if os.path.exists(driver) else None,
            "offloads": offloads(interface),
            "qdisc": [f"{one.get('kind', '?')} {one.get('handle', '')}".strip() for one in qdiscs(interface)],
        },
    }


def _sysctl(name: str) -> str | None:
    try:
        with open(f"/proc/sys/{name}", encoding="ascii") as file:
            return " ".join(file.read().split())
    except OSError:
        return None


def installed(program: str) -> bool:
    """Whether a program can be run."""
    return shutil.which(program) is not None
