"""What a recording would switch on here, what is missing, and how to get it."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from multitracer.model.frozen import frozen
from multitracer.record import tracing
from multitracer.record.host import installed, interface_index, is_wireless
from multitracer.record.modem import MMCLI, Modem, find, looks_cellular
from multitracer.record.packetsocket import open_socket
from multitracer.record.sampling import SOFTNET
from multitracer.record.system import words_of

LAYERS = ("application", "tcp", "qdisc", "device", "drops")
"""Layers that tracepoints cover."""
NO_LINK = "none"
"""Source of the link of an interface that has none of its own to ask: nothing is lost."""


@frozen
class Source:
    """One source of a recording.

    Attributes
    ----------
    layer : str
    source : str
        Tracepoint, program or interface of the kernel.
    available : bool
    detail : str
        Filter or command.
    remedy : str
        How to get it, if it is missing.
    """

    layer: str
    source: str
    available: bool
    detail: str = ""
    remedy: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As printed by ``--json``."""
        return {
            "layer": self.layer,
            "source": self.source,
            "available": self.available,
            "detail": self.detail,
            "remedy": self.remedy,
        }


@frozen
class Plan:
    """All sources of a recording on one interface.

    Attributes
    ----------
    interface : str
    sources : list of Source
    choices : list of tracing.Choice
        Tracepoints to switch on; empty without tracefs.
    tracefs : tracing.Tracefs
    modem : Modem or None
        The cellular modem behind the interface.
    """

    interface: str
    sources: list[Source] = field(default_factory=list)
    choices: list[tracing.Choice] = field(default_factory=list)
    tracefs: tracing.Tracefs = field(default_factory=lambda: tracing.Tracefs(""))
    modem: Modem | None = None

    def has(self, source: str) -> bool:
        """Whether a source can be recorded."""
        return any(one.source == source and one.available for one in self.sources)

    @property
    def missing(self) -> list[Source]:
        """What cannot be recorded, with its remedy."""
        return [one for one in self.sources if not one.available]


def make(interface: str, ports: Sequence[int] = (), *, mount: bool = False) -> Plan:
    """Probe this host.

    Parameters
    ----------
    interface : str
    ports : sequence of int
        TCP ports to which tracepoints that know ports are restricted.
    mount : bool
        Whether tracefs may be mounted where it is not.

    Raises
    ------
    RecordError
        There is no such interface.
    """
    index = interface_index(interface)
    tracefs = tracing.reach(mount)
    choices = tracing.choices(tracefs, interface, index, ports) if tracefs.root else []
    sources = [_capture(interface)]
    # Not mounted yet: the tracepoints are unknown.
    unknown = bool(tracefs.root) and bool(tracefs.why)
    for wanted in tracing.WANTED:
        choice = next((one for one in choices if one.event == wanted.event), None)
        if choice is not None and (choice.there or unknown):
            sources.append(Source(wanted.layer, wanted.event, True, choice.filter))
        else:
            remedy = tracefs.why or "this kernel does not have it: the others are recorded"
            sources.append(Source(wanted.layer, wanted.event, False, "", remedy))
    modem = None if is_wireless(interface) else find(interface)
    sources += [*_samples(interface), _link(interface, modem)]
    return Plan(interface, sources, choices, tracefs, modem)


def _capture(interface: str) -> Source:
    command = "tcpdump" if installed("tcpdump") else "packet socket"
    try:
        open_socket(interface, 64).close()
    except OSError as error:
        remedy = f"{words_of(error)}: run as root, or give CAP_NET_RAW"
        return Source("wire", "capture", False, command, remedy)
    except AttributeError:
        return Source("wire", "capture", False, command, "packet sockets exist only on Linux")
    return Source("wire", "capture", True, command)


def _samples(interface: str) -> list[Source]:
    found = [
        Source("counters", "protocols", os.path.exists("/proc/net/snmp"), "/proc/net/snmp, netstat (nstat)"),
        Source("counters", "interface", True, "/proc/net/dev"),
        Source("counters", "softnet", os.path.exists(SOFTNET), SOFTNET),
    ]
    for source, program, package in (("sockets", "ss", "iproute2"), ("qdiscs", "tc", "iproute2")):
        remedy = "" if installed(program) else f"install {package}"
        found.append(Source("counters", source, installed(program), f"{program} every interval", remedy))
    remedy = "" if installed("ethtool") else "install ethtool"
    found.append(Source("counters", "driver", installed("ethtool"), f"ethtool -S {interface}", remedy))
    return found


def _link(interface: str, modem: Modem | None) -> Source:
    """Counters of the link: a Wi-Fi station, or a cellular modem."""
    if is_wireless(interface):
        remedy = "" if installed("iw") else "install iw"
        return Source("link", "iw", installed("iw"), f"iw dev {interface} station dump", remedy)
    if modem is not None:
        command = f"mmcli -m {modem.number} --signal-get"
        return Source("link", "mmcli", True, command if modem.polled_s else f"{command} ({polling(modem)})")
    if looks_cellular(interface):
        remedy = f"mmcli lists no modem with {interface}" if installed(MMCLI) else "install modemmanager"
        return Source("link", "mmcli", False, "", remedy)
    return Source("link", NO_LINK, False, "", f"{interface} is no Wi-Fi or cellular interface")


def polling(modem: Modem) -> str:
    """How to get more of a modem than the quality of its signal."""
    return f"RSRP, RSRQ and SNR only after mmcli -m {modem.number} --signal-setup=1"


def host_lines(plan: Plan) -> list[str]:
    """The plan in words, a line each: what is there first."""
    lines = [f"host {socket.gethostname()}, interface {plan.interface}"]
    if plan.tracefs.root and plan.tracefs.why:
        lines.append(f"{plan.tracefs.why}; record mounts it")
    lines += [
        f"  {one.layer:11} {one.source:26} {one.detail}".rstrip() for one in plan.sources if one.available
    ]
    if plan.missing:
        lines.append("not here:")
    for remedy in dict.fromkeys(one.remedy for one in plan.missing):
        lines += [f"  {one.layer:11} {one.source}" for one in plan.missing if one.remedy == remedy]
        lines[-1] = f"{lines[-1]:39} {remedy}".rstrip()
    return lines
