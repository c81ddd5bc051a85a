"""What a real run needs of the machine, checked before anything is touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from multitracer.model.errors import UsageError

CAP_NET_ADMIN = 12
CAP_SYS_ADMIN = 21

PROGRAMS = {
    "ip": "install iproute2 (Debian, Ubuntu: apt install iproute2; Fedora: dnf install iproute)",
    "ss": "install iproute2, or run with --set trace.ss=false",
    "tc": "install iproute2",
    "tcpdump": "install tcpdump (Debian, Ubuntu: apt install tcpdump)",
    "iperf3": "install iperf3, or choose a scenario without an iperf3 flow",
}


class LabError(UsageError):
    """A measurement that cannot be made here, or a step of it that failed."""


def missing(programs: Iterable[str], tun_device: str = "/dev/net/tun") -> list[str]:
    """What this machine lacks for a run, each with the way to get it; empty if nothing does.

    Parameters
    ----------
    programs : iterable of str
        Names out of `PROGRAMS`.
    tun_device : str
        The device that makes TUN interfaces.
    """
    lacks = []
    if not _has_capabilities(CAP_NET_ADMIN, CAP_SYS_ADMIN):
        lacks.append("root (CAP_NET_ADMIN and CAP_SYS_ADMIN): run it with sudo, or in a privileged container")
    if not os.path.exists(tun_device):
        lacks.append(f"{tun_device}: modprobe tun, or start the container with --device {tun_device}")
    elif not os.access(tun_device, os.R_OK | os.W_OK):
        lacks.append(f"permission for {tun_device}: run it with sudo")
    lacks.extend(f"{name}: {PROGRAMS[name]}" for name in programs if shutil.which(name) is None)
    return lacks


def require(programs: Iterable[str]) -> None:
    """Refuse a run that cannot work.

    Raises
    ------
    LabError
        Names all that is missing at once.
    """
    lacks = missing(programs)
    if lacks:
        raise LabError("the lab cannot run here; missing:\n" + "\n".join(f"  {item}" for item in lacks))


def _has_capabilities(*numbers: int) -> bool:
    """Effective capabilities of this process (proc(5)); False where the system does not report them."""
    try:
        with open("/proc/thread-self/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("CapEff:"):
                    effective = int(line.split()[1], 16)
                    return all(effective >> number & 1 for number in numbers)
    except OSError:
        pass
    return False
