"""Two hosts and a router as namespaces joined by virtual Ethernet: the kernel carries the packets itself.

Offloads. Without ``network.offload`` every device finishes checksums and sends packets of one MSS, as a
capture on a wire would see them. With it the sending host's device does segmentation and checksums, as a
network card: its own capture, and the router's on that side, see super-segments with unfinished checksums;
the router's device towards the receiver cuts them to size.
"""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from multitracer.lab.link import Truth
from multitracer.lab.netns import DEVICE, Namespace
from multitracer.lab.offloads import set_offloads
from multitracer.lab.pump import Lateness
from multitracer.lab.settings import InterfacesSettings

FAR_DEVICE = "mt1"
"""The router's device towards side 1; `DEVICE` is the one towards side 0, and that of each host."""


class RealLink:
    """The kernel is the link: there is no model, hence no `Link` that packets are handed to, and no log."""

    def __init__(self, settings: InterfacesSettings) -> None:
        self.settings = settings
        self.truth = Truth()


class Router:
    """The namespace in the middle, and the wiring of all three.

    Parameters
    ----------
    hosts : tuple of Namespace
        Side 0 and side 1.
    addresses : tuple of str
        Of the hosts.
    mtu_bytes : int
    sender : int
        The side whose device does the offloads.
    offload, gro : bool
        See the module and `InterfacesSettings`.
    stack : ExitStack
        Takes the router's namespace.
    """

    def __init__(
        self,
        hosts: tuple[Namespace, Namespace],
        addresses: tuple[str, str],
        mtu_bytes: int,
        sender: int,
        offload: bool,
        gro: bool,
        stack: ExitStack,
    ) -> None:
        self.namespace = Namespace()
        stack.callback(self.namespace.close)
        self._no_ipv6(self.namespace)
        near = [
            address.rpartition(".")[0] + end for address, end in zip(addresses, (".3", ".4"), strict=True)
        ]
        for side, device in enumerate((DEVICE, FAR_DEVICE)):
            host, address, gateway = hosts[side], addresses[side], near[side]
            self._no_ipv6(host)
            self.namespace.ip(
                [
                    "link set lo up",
                    f"link add {device} type veth peer name {DEVICE} netns {host.path}",
                    f"link set {device} mtu {mtu_bytes} up",
                    f"addr add {gateway}/32 peer {address} dev {device}",
                ]
            )
            host.ip(
                [
                    "link set lo up",
                    f"link set {DEVICE} mtu {mtu_bytes} up",
                    f"addr add {address}/32 peer {gateway} dev {DEVICE}",
                    f"route add {addresses[1 - side]} via {gateway} dev {DEVICE}",
                ]
            )
            whole = offload and side == sender
            set_offloads(host, DEVICE, tx_checksum=whole, tso=whole, gso=whole)
            set_offloads(host, DEVICE, gro=gro and side != sender)
            set_offloads(self.namespace, device, tx_checksum=False, tso=False, gro=False)
        self.namespace.sysctl("net.ipv4.ip_forward", "1")

    def device(self, side: int) -> str:
        """The router's device towards a side."""
        return FAR_DEVICE if side else DEVICE

    def packets(self) -> int:
        """Packets that both devices have sent so far."""
        total = 0
        with self.namespace.entered(), open("/proc/thread-self/net/dev", encoding="ascii") as file:
            for line in file:
                name, found, numbers = line.partition(":")
                if found and name.strip() in (DEVICE, FAR_DEVICE):
                    total += int(numbers.split()[9])
        return total

    @staticmethod
    def _no_ipv6(namespace: Namespace) -> None:
        if namespace.sysctl_value("net.ipv6.conf.all.disable_ipv6") is not None:
            namespace.sysctl("net.ipv6.conf.all.disable_ipv6", "1")
            namespace.sysctl("net.ipv6.conf.default.disable_ipv6", "1")


class Watch:
    """In the place of the pump where the kernel carries the packets: it waits, and sees when none cross."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._seen = router.packets()
        self.lateness = Lateness()
        self._clock_gap_ns = time.time_ns() - time.monotonic_ns()
        self.last_packet_ns = time.time_ns()

    def step(self, watched: Sequence[Any], longest_s: float) -> list[Any]:
        """Wait for a watched descriptor or `longest_s`; those of `watched` that are readable."""
        ready, _, _ = select.select(watched, [], [], longest_s)
        seen = self._router.packets()
        if seen != self._seen:
            self._seen, self.last_packet_ns = seen, time.time_ns()
        return ready

    def finish(self) -> None:
        """Settle the clock check."""
        gap = time.time_ns() - time.monotonic_ns() - self._clock_gap_ns
        self.lateness.clock_step_s = round(gap / 1e9, 6)

    def release(self) -> None:
        """Nothing was taken."""
