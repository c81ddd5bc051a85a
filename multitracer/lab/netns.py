"""Network namespaces without names: they exist as long as someone holds them, and vanish whatever happens.

``ip netns add`` would leave a bind mount behind if the run were killed. A namespace that is only held by
descriptors and processes needs no cleaning up: the kernel removes it, with its devices and routes, when the
last of them is closed. To look into one while it runs: ``nsenter --net=PATH`` with `Namespace.path`.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from multitracer.lab.kernel import CLONE_NEWNET, setns, unshare
from multitracer.lab.requirements import LabError

DEVICE = "mt0"
_OWN = "/proc/thread-self/ns/net"


class Namespace:
    """One network namespace.

    Use as a context manager or call `close`.
    """

    def __init__(self) -> None:
        home = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        try:
            unshare(CLONE_NEWNET)
            try:
                self.fd = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
            finally:
                setns(home, CLONE_NEWNET)
        except OSError as error:
            raise LabError(f"no network namespace: {error.strerror}; is CONFIG_NET_NS on?") from error
        finally:
            os.close(home)

    @property
    def path(self) -> str:
        """For ``nsenter --net=PATH`` while the run lasts."""
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def close(self) -> None:
        """Let go; the kernel removes the namespace when its last process has ended."""
        os.close(self.fd)

    def __enter__(self) -> Namespace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """The calling thread is inside within the block; children started in it stay inside."""
        home = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        try:
            setns(self.fd, CLONE_NEWNET)
            try:
                yield
            finally:
                setns(home, CLONE_NEWNET)
        finally:
            os.close(home)

    def open(self, path: str) -> int:
        """Open a file of the namespace's ``/proc/net`` for reading; it stays bound to this namespace."""
        with self.entered():
            return os.open(f"/proc/thread-self/net/{path}", os.O_RDONLY | os.O_CLOEXEC)

    def ip(self, commands: Sequence[str]) -> None:
        """Run `ip` commands (without the leading "ip") inside, all in one process.

        Raises
        ------
        LabError
            With ip's own words.
        """
        with self.entered():
            done = subprocess.run(
                ["ip", "-batch", "-"], input="\n".join(commands) + "\n", capture_output=True, text=True
            )
        if done.returncode:
            raise LabError(f"ip failed: {done.stderr.strip() or done.returncode}")

    def sysctl(self, name: str, value: str) -> None:
        """Set one of this namespace's sysctls (dots or slashes in the name).

        Raises
        ------
        LabError
            The kernel has no such setting, or refuses the value.
        """
        path = "/proc/sys/" + name.replace(".", "/")
        try:
            with self.entered(), open(path, "w", encoding="ascii") as file:
                file.write(value)
        except FileNotFoundError:
            raise LabError(f"this kernel has no {name} (or not per namespace); leave it out") from None
        except OSError as error:
            raise LabError(f"{name} = {value!r} was refused by the kernel: {error.strerror}") from error

    def sysctl_value(self, name: str) -> str | None:
        """Read a sysctl; None if the kernel lacks it."""
        try:
            with self.entered(), open("/proc/sys/" + name.replace(".", "/"), encoding="ascii") as file:
                return file.read().strip()
        except OSError:
            return None

    def set_up(self, address: str, peer: str, mtu: int) -> None:
        """Give the TUN device of this namespace its address and bring it up.

        IPv6 is off, so that nothing but the run's own traffic crosses the link.

        Parameters
        ----------
        address : str
            Of the device.
        peer : str
            Address of the device at the other end.
        mtu : int
            Bytes.
        """
        if os.path.exists("/proc/sys/net/ipv6"):
            self.sysctl("net.ipv6.conf.all.disable_ipv6", "1")
        self.ip(
            [
                "link set lo up",
                # The link has its own interface queue; the kernel's in front of it must never drop.
                f"link set {DEVICE} mtu {mtu} txqueuelen 10000 up",
                f"addr add {address}/32 peer {peer} dev {DEVICE}",
            ]
        )


class Slot:
    """A number that no other run on this machine has at the same time; gives addresses and ports.

    The kernel's tracepoints name no namespace, so parallel runs are distinguished by port and address.
    An abstract socket is the lock: it leaves no file, and goes with the process.
    """

    COUNT = 1500
    PORTS = 16

    def __init__(self, first: int = 0) -> None:
        for step in range(self.COUNT):
            number = (first + step) % self.COUNT
            lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                lock.bind(f"\0multitracer-lab-{number}")
            except OSError:
                lock.close()
                continue
            self.number, self._lock = number, lock
            return
        raise LabError(f"{self.COUNT} runs are active on this machine; wait for one to end")

    def addresses(self) -> tuple[str, str]:
        """Address of side 0 and of side 1."""
        net = f"10.{77 + self.number // 250}.{self.number % 250 + 1}"
        return f"{net}.1", f"{net}.2"

    @property
    def port(self) -> int:
        """First of the `PORTS` server ports of the run."""
        return 5001 + self.number * self.PORTS

    def close(self) -> None:
        """Free the number."""
        self._lock.close()
