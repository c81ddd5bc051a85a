"""Counters of the host, once per interval: sockets (ss), protocols, queueing disciplines, the interface.

Written as the tools print them, so that a loop in a shell makes the same files: a line with the Unix time,
then ``ss -tinmOH``, or one line of JSON each of ``nstat -asj``, ``tc -s -j qdisc`` and ``ip -s -j link``,
the lines of ``/proc/net/softnet_stat``, and what ``ethtool``, ``iw`` or ``mmcli`` report of the link.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from multitracer.linux.counters import parse_counters
from multitracer.record.host import installed, is_wireless, json_of
from multitracer.record.modem import Asking

_SHARE = 0.2  # of one CPU's time, at most: what takes more is done less often
SOFTNET = "/proc/net/softnet_stat"
_STATISTICS = ("bytes", "packets", "errors", "dropped")


class Sampler(threading.Thread):
    """Calls `take` with the open file once per interval, and less often where that takes much CPU time.

    Parameters
    ----------
    path : str
    interval_s : float
    take : callable
        ``take(file)``: write one sample.

    Attributes
    ----------
    samples : int
        How many were taken.
    longest_s : float
        How long one took at most: its values may be so much newer than its time stamp.
    failed : str
        Why no more are taken; "" while they are.
    """

    def __init__(self, path: str, interval_s: float, take: Callable[[BinaryIO], None]) -> None:
        super().__init__(daemon=True, name=os.path.basename(path))
        self._file: BinaryIO = open(path, "wb", buffering=1 << 16)  # noqa: SIM115  (closed by finish)
        self._interval_s = interval_s
        self._take = take
        self._end = threading.Event()
        self._took_s = self._cost_s = 0.0
        self.samples = 0
        self.longest_s = 0.0
        self.failed = ""

    def start(self) -> None:
        """Take the first sample and continue in parallel: the caller's next steps are between two samples."""
        self._once()
        super().start()

    def run(self) -> None:
        """Sample in between, and at the end."""
        while not self.failed:
            if self._end.wait(pause_s(self._interval_s, self._took_s, self._cost_s)):
                break
            self._once()
        self._once()

    def _once(self) -> None:
        began, cost_s = time.monotonic(), _cpu_s()
        try:
            self._take(self._file)
            self._file.flush()
            self.samples += 1
        except (OSError, subprocess.SubprocessError) as error:
            self.failed = getattr(error, "strerror", None) or str(error)
        self._took_s = time.monotonic() - began
        self._cost_s = _cpu_s() - cost_s
        self.longest_s = max(self.longest_s, self._took_s)

    def finish(self) -> None:
        """Take the last sample and close the file."""
        self._end.set()
        if self.is_alive():
            self.join(10)
        with suppress(OSError):
            self._file.close()


def pause_s(interval_s: float, took_s: float, cost_s: float) -> float:
    """Time until the next sample, which keeps to the interval unless that costs more than a share of a CPU.

    Parameters
    ----------
    interval_s : float
        Wanted between two samples.
    took_s : float
        How long the last one took.
    cost_s : float
        CPU time of it: on a busy host, much less.
    """
    return max(interval_s - took_s, cost_s * (1 / _SHARE - 1), 0.0)


def _cpu_s() -> float:
    """CPU time of this thread and of all programs that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time() + children.ru_utime + children.ru_stime


def sockets(file: BinaryIO) -> None:
    """One sample of this host's TCP sockets."""
    stamp = f"{time.time_ns() / 1e9:.9f}\n".encode()
    said = subprocess.run(["ss", "-tinmOH"], capture_output=True, timeout=10)
    file.write(stamp + said.stdout)


def counters(interface: str, asking: Asking | None = None) -> Callable[[BinaryIO], None]:
    """One sample of protocols, queueing disciplines, the interface and its link, for a `Sampler`.

    Parameters
    ----------
    interface : str
    asking : Asking, optional
        The cellular modem behind the interface.
    """
    has_tc = installed("tc")
    has_ethtool = installed("ethtool")
    has_iw = is_wireless(interface) and installed("iw")

    def take(file: BinaryIO) -> None:
        lines: list[Any] = [{"kernel": protocol_counters()}, [interface_counters(interface)]]
        if has_tc:
            lines.append(json_of(["tc", "-s", "-j", "qdisc", "show", "dev", interface]))
        stamp = time.time_ns()
        text = [json.dumps(line, separators=(",", ":")) for line in lines]
        text += softnet_lines()
        if has_ethtool:
            text += _driver(interface)
        if has_iw:
            text += [f"# iw {line}" for line in _station(interface)]
        if asking is not None:
            text += asking.lines()
        head = f"{stamp // 1_000_000_000}.{stamp % 1_000_000_000:09d}"
        file.write("\n".join([head, *text, ""]).encode())

    return take


def _driver(interface: str) -> list[str]:
    """What the driver counts; nothing where it counts nothing."""
    try:
        said = subprocess.run(["ethtool", "-S", interface], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return said.stdout.splitlines() if said.returncode == 0 else []


def _station(interface: str) -> list[str]:
    try:
        said = subprocess.run(
            ["iw", "dev", interface, "station", "dump"], capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in said.stdout.splitlines()]


def protocol_counters() -> dict[str, int]:
    """Counters of IP, TCP and UDP of this network namespace, by nstat's names."""
    found: dict[str, int] = {}
    for name in ("snmp", "netstat"):
        with open(f"/proc/thread-self/net/{name}", encoding="ascii") as file:
            found.update(parse_counters(file.read()))
    return {name: value for name, value in found.items() if value}


def softnet_lines() -> list[str]:
    """What each CPU received from drivers, a line each, of all interfaces; empty without it."""
    try:
        with open(SOFTNET, encoding="ascii") as file:
            return file.read().splitlines()
    except OSError:
        return []


def interface_counters(interface: str) -> dict[str, Any]:
    """Counters of an interface in the words of ``ip -s -j link``; a removed one: without counters."""
    counts: dict[str, dict[str, int]] = {"rx": {}, "tx": {}}
    # Not sysfs: that shows the network namespace in which it was mounted.
    with open("/proc/thread-self/net/dev", encoding="utf-8", errors="replace") as file:
        for line in file:
            name, _, rest = line.partition(":")
            values = rest.split()
            if name.strip() == interface and len(values) >= 12:
                for side, first in (("rx", 0), ("tx", 8)):
                    counts[side] = dict(zip(_STATISTICS, map(int, values[first : first + 4]), strict=True))
    return {"ifname": interface, "stats64": counts}
