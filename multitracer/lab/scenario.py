"""A scenario: everything that defines a measurement except the seed, as TOML.

```toml
shows = "what a reader should see"     # one line
paper = "Figure 8, Section 5.3"        # optional
extends = "figure-5-typical"           # optional: take that scenario and change it
duration_s = 280                       # estimate for the reader
limit_s = 900                          # stop the transfer after this time

[network]                              # see Network
[trace]                                # see Tracing
[tcp]                                  # net.ipv4.tcp_* sysctls of both namespaces, without the prefix
[tcp.sender]                           # of one of them
[[flow]]                               # see Flow; at least one
[link]                                 # model = "rlp", and that model's settings
```
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from multitracer.lab.models import INTERFACES, build_link
from multitracer.lab.netns import Slot
from multitracer.lab.settings import QdiscSettings, from_mapping, one_of, within
from multitracer.model.errors import UsageError

SysctlValue = int | str | list[int]

TCP_BASELINE: dict[str, SysctlValue] = {
    "congestion_control": "cubic",
    "sack": 1,
    "dsack": 1,
    "timestamps": 1,
    "window_scaling": 1,
    "frto": 2,
    "recovery": 1,
    "early_retrans": 3,
    "reordering": 3,
    "ecn": 2,
    "no_metrics_save": 1,
    "slow_start_after_idle": 1,
    "moderate_rcvbuf": 1,
    "rmem": [4096, 131072, 6291456],
    "wmem": [4096, 16384, 4194304],
}
"""Linux's usual settings, part of every run: a new namespace inherits some from the machine otherwise."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """Where the flows run.

    Attributes
    ----------
    mtu_bytes : int
        Of both devices.
    sender : str
        "ms" or "iwf": which end of the link sends the data.
    offload : bool
        TCP segmentation offload: the senders' captures see super-segments.
    quiet_s : float
        The run ends when no packet has crossed for this long after the last connection closed.
    drain_s : float
        How long connections may take to close after the flows have ended.
    qdisc : QdiscSettings
        A queue of the kernel in front of the link, or at the router between real interfaces.
    """

    mtu_bytes: int = 1500
    sender: str = "ms"
    offload: bool = False
    quiet_s: float = 1.0
    drain_s: float = 60.0
    qdisc: QdiscSettings = field(default_factory=QdiscSettings)

    def __post_init__(self) -> None:
        within("network.mtu_bytes", self.mtu_bytes, 68, 65_535)
        one_of("network.sender", self.sender, ("ms", "iwf"))
        within("network.quiet_s", self.quiet_s, 0.0, 60.0)
        within("network.drain_s", self.drain_s, 0.0, 3600.0)

    @property
    def sender_side(self) -> int:
        """0 for ms, 1 for iwf."""
        return 0 if self.sender == "ms" else 1


@dataclass(frozen=True, kw_only=True)
class Tracing:
    """What is recorded.

    Attributes
    ----------
    snaplen : int
        Bytes that tcpdump keeps per packet; 0: all.
    capture_buffer_kib : int
        tcpdump's kernel buffer.
    events : bool
        Kernel tracepoints.
    event_names : tuple of str
        "tcp/tcp_probe", ...; empty: those of the default list that the kernel has.
    event_clock : str
        Trace clock: "local", "mono", "boot", ...
    event_buffer_kib : int
        Ring buffer per CPU.
    ss : bool
        Sample the sender's sockets.
    ss_interval_s : float
        How often.
    gsmtap : bool
        Write the frames of a link that has frames as a GSMTAP capture, ``frames/rlp.pcap``.
    middle : bool
        Capture between the hops of a path ("mid.pcap", or "mid1.pcap" and so on where it has more than two),
        or at the router between real interfaces.
    begin_s, end_s : float
        The captures hold only packets from that many seconds after the start of the traffic on, and until
        then; 0: all. What was captured before they were cut stays in the folder "whole".
    """

    snaplen: int = 128
    capture_buffer_kib: int = 4096
    events: bool = True
    event_names: tuple[str, ...] = ()
    event_clock: str = "local"
    event_buffer_kib: int = 2048
    ss: bool = True
    ss_interval_s: float = 1.0
    gsmtap: bool = True
    middle: bool = False
    begin_s: float = 0.0
    end_s: float = 0.0

    def __post_init__(self) -> None:
        within("trace.snaplen", self.snaplen, 0, 262_144)
        within("trace.capture_buffer_kib", self.capture_buffer_kib, 64, 2**20)
        within("trace.event_buffer_kib", self.event_buffer_kib, 4, 2**20)
        within("trace.ss_interval_s", self.ss_interval_s, 0.01, 3600.0)
        within("trace.begin_s", self.begin_s, 0.0, 1e6)
        within("trace.end_s", self.end_s, 0.0, 1e6)
        if self.end_s and self.end_s <= self.begin_s:
            raise UsageError("trace.end_s: a capture ends after it begins")
        for name in self.event_names:
            if not re.fullmatch(r"\w+/\w+", name):
                raise UsageError(f"trace.event_names: {name!r} is not group/event")


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One connection.

    Attributes
    ----------
    kind : str
        "bulk", "paced" (`rate_bps`), "bursty" (`burst_bytes`, then `pause_s`), "request_response", or
        "iperf3" (the program; only `bytes`, `start_s`, `reverse` apply).
    bytes : int
        To send; request_response sends `requests` times `request_bytes` instead.
    start_s : float
        After the start of the run.
    reverse : bool
        From the receiving end of the scenario to the sending one.
    count : int
        That many of them.
    data : str
        "text" (nothing to escape in HDLC), "random" or "zeros".
    write_bytes, read_bytes : int
        Unit of the application's writes and reads.
    sndbuf_bytes, rcvbuf_bytes : int
        SO_SNDBUF, SO_RCVBUF at both ends; 0: the kernel's autotuning. Linux doubles the value given.
    mss_bytes : int
        TCP_MAXSEG; 0: by the MTU.
    nodelay : bool
        No Nagle.
    read_bps : float
        Rate at which the receiver reads; 0: at once.
    stall_after_bytes, stall_s : int, float
        The receiver stops reading there, for that long: the window closes.
    reset_at_close : bool
        The receiver closes with RST.
    """

    kind: str = "bulk"
    bytes: int = 100_000
    start_s: float = 0.0
    reverse: bool = False
    count: int = 1
    data: str = "text"
    write_bytes: int = 8192
    read_bytes: int = 65_536
    sndbuf_bytes: int = 0
    rcvbuf_bytes: int = 0
    mss_bytes: int = 0
    nodelay: bool = False
    rate_bps: float = 1e6
    burst_bytes: int = 10_000
    pause_s: float = 1.0
    requests: int = 10
    request_bytes: int = 200
    response_bytes: int = 2000
    think_s: float = 0.5
    read_bps: float = 0.0
    stall_after_bytes: int = 0
    stall_s: float = 0.0
    reset_at_close: bool = False

    def __post_init__(self) -> None:
        kinds = ("bulk", "paced", "bursty", "request_response", "iperf3")
        one_of("flow.kind", self.kind, kinds)
        one_of("flow.data", self.data, ("text", "random", "zeros"))
        for name in (
            "bytes",
            "write_bytes",
            "read_bytes",
            "burst_bytes",
            "requests",
            "request_bytes",
            "count",
        ):
            within(f"flow.{name}", getattr(self, name), 1, 10**12)
        for name in ("sndbuf_bytes", "rcvbuf_bytes", "mss_bytes", "response_bytes", "stall_after_bytes"):
            within(f"flow.{name}", getattr(self, name), 0, 10**9)
        for name in ("start_s", "pause_s", "think_s", "stall_s"):
            within(f"flow.{name}", getattr(self, name), 0.0, 1e5)
        within("flow.rate_bps", self.rate_bps, 1.0, 1e12)
        within("flow.read_bps", self.read_bps, 0.0, 1e12)

    @property
    def payload_bytes(self) -> int:
        """Bytes that the client sends."""
        return self.requests * self.request_bytes if self.kind == "request_response" else self.bytes


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One measurement's definition; see the module for the file."""

    name: str
    shows: str
    paper: str = ""
    duration_s: float = 60.0
    limit_s: float = 900.0
    network: Network = field(default_factory=Network)
    trace: Tracing = field(default_factory=Tracing)
    flows: tuple[Flow, ...] = (Flow(),)
    tcp: Mapping[str, Any] = field(default_factory=dict)
    link: Mapping[str, Any] = field(default_factory=dict)

    def sysctls(self, side: str) -> dict[str, SysctlValue]:
        """What the scenario itself sets for "sender" or "receiver", without the baseline."""
        common = {key: value for key, value in self.tcp.items() if not isinstance(value, Mapping)}
        return {**common, **self.tcp.get(side, {})}

    def congestion_control(self, side: str) -> str:
        """Name of the algorithm at "sender" or "receiver"."""
        return str({**TCP_BASELINE, **self.sysctls(side)}["congestion_control"])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in TOML."""
        return asdict(self)

    @property
    def programs(self) -> list[str]:
        """External programs that a run of it needs."""
        wanted = ["ip", "tcpdump"]
        if self.trace.ss:
            wanted.append("ss")
        if self.network.qdisc.kind:
            wanted.append("tc")
        if any(flow.kind == "iperf3" for flow in self.flows):
            wanted.append("iperf3")
        return wanted


def from_table(name: str, table: Mapping[str, Any]) -> Scenario:
    """Check a scenario's table (with "extends" already applied).

    Raises
    ------
    UsageError
        Naming the key that makes no sense.
    """
    known = {"shows", "paper", "duration_s", "limit_s", "network", "trace", "flow", "tcp", "link"}
    if unknown := sorted(set(table) - known):
        raise UsageError(f"{name}: unknown {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    flows = table.get("flow", [{}])
    if isinstance(flows, Mapping):
        flows = [flows]
    if not isinstance(flows, list):
        raise UsageError(f"scenario {name}: flow: tables are needed, not {flows!r}")
    try:
        made = Scenario(
            name=name,
            shows=_text(table, "shows", name),
            paper=_text(table, "paper", ""),
            duration_s=_seconds(table, "duration_s", 60.0),
            limit_s=_seconds(table, "limit_s", 900.0),
            network=from_mapping(Network, _table(table, "network"), "network"),
            trace=from_mapping(Tracing, _table(table, "trace"), "trace"),
            flows=tuple(flow for given in flows for flow in _copies(given)),
            tcp=_tcp(_table(table, "tcp")),
            link=dict(_table(table, "link")),
        )
        build_link(made.link, seed=0)
        _fits(made)
    except UsageError as error:
        raise UsageError(f"scenario {name}: {error}") from None
    if not 1 <= len(made.flows) <= Slot.PORTS:
        raise UsageError(f"scenario {name}: {len(made.flows)} flows; 1 to {Slot.PORTS} are possible")
    return made


def assign(table: dict[str, Any], setting: str) -> None:
    """Apply ``key=value`` to a scenario's table; keys have dots, values are TOML (or bare words).

    ``flow.bytes=1000`` changes all flows, ``flow.0.bytes=1000`` the first.

    Raises
    ------
    UsageError
        No "=", or a key that leads nowhere.
    """
    key, found, text = setting.partition("=")
    if not found or not key.strip():
        raise UsageError(f"--set {setting}: KEY=VALUE is needed")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    set_value(table, key.strip(), value)


def set_value(table: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key of a scenario's table to a value.

    Parameters
    ----------
    table : dict of str to Any
        The scenario as TOML gives it; changed in place.
    key : str
        Names joined by dots, as ``link.loss``.
    value : Any
    """
    _set(table, key.split("."), value, key)


def _set(node: Any, path: Sequence[str], value: Any, key: str) -> None:
    head, rest = path[0], path[1:]
    if isinstance(node, list):
        if head.isdigit():
            if int(head) >= len(node):
                raise UsageError(f"{key}: there are only {len(node)}, counted from 0")
            _set(node[int(head)], rest, value, key) if rest else node.__setitem__(int(head), value)
        else:
            for item in node:
                _set(item, path, value, key)
    elif isinstance(node, dict):
        if rest:
            _set(node.setdefault(head, [{}] if head == "flow" and len(path) > 1 else {}), rest, value, key)
        else:
            node[head] = value
    else:
        raise UsageError(f"{key}: {head!r} is below a plain value")


def _fits(scenario: Scenario) -> None:
    """Refuse what the chosen link has no place for."""
    model = scenario.link.get("model")
    if scenario.trace.middle and model not in ("path", INTERFACES):
        raise UsageError(f"trace.middle: model {model!r} has no middle; path and {INTERFACES} have")
    if scenario.network.qdisc.kind and scenario.network.qdisc.at == "router" and model != INTERFACES:
        raise UsageError(f"network.qdisc.at: model {model!r} has no router; {INTERFACES} has")


def _copies(table: Any) -> list[Flow]:
    if not isinstance(table, Mapping):
        raise UsageError(f"flow: a table is needed, not {table!r}")
    flow = from_mapping(Flow, table, "flow")
    if flow.count > Slot.PORTS:
        raise UsageError(f"flow.count: at most {Slot.PORTS} flows are possible")
    return [flow] * flow.count


def _tcp(table: Mapping[str, Any]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for key, value in table.items():
        if key in ("sender", "receiver") and isinstance(value, Mapping):
            checked[key] = _tcp(value)
        elif not re.fullmatch(r"[a-z0-9_]+", key):
            raise UsageError(f"tcp.{key}: not the name of a sysctl below net.ipv4.tcp_")
        elif isinstance(value, bool):
            checked[key] = int(value)
        elif isinstance(value, int | str) or (
            isinstance(value, list) and value and all(isinstance(item, int) for item in value)
        ):
            checked[key] = value
        else:
            raise UsageError(f"tcp.{key}: a number, a word or a list of numbers is needed, not {value!r}")
    return checked


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, Mapping):
        raise UsageError(f"{key}: a table is needed, not {value!r}")
    return value


def _text(table: Mapping[str, Any], key: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise UsageError(f"{key}: text is needed, not {value!r}")
    return value


def _seconds(table: Mapping[str, Any], key: str, default: float) -> float:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise UsageError(f"{key}: a number of seconds is needed, not {value!r}")
    return float(value)
