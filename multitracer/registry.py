"""What exists: parsers, analyzers and plots by name, each loaded when it is first used.

Built-ins are in explicit tables of ``module:attribute``; third parties add theirs by entry points
(`multitracer.parsers`, `multitracer.analyzers`, `multitracer.plots`). A broken plug-in warns, it does not
kill.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from multitracer.analyzers._needs import QUESTIONS, Question
from multitracer.model.parser import Parser

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from multitracer.model.analysis import Analyzer

PARSERS = {
    "pcap": "multitracer.parsers.pcap:PCAP",
    "pcapng": "multitracer.parsers.pcap:PCAPNG",
    "ftrace": "multitracer.parsers.ftrace:PARSER",
    "trace-dat": "multitracer.parsers.tracedat:PARSER",
    "retis": "multitracer.parsers.retis:PARSER",
    "ss": "multitracer.parsers.ss:PARSER",
    "counters": "multitracer.parsers.counters:PARSER",
    "tcpprobe": "multitracer.parsers.tcpprobe:PARSER",
    "siftr": "multitracer.parsers.siftr:PARSER",
    "iperf3": "multitracer.parsers.iperf3:PARSER",
    "iperf3-text": "multitracer.parsers.iperf3text:PARSER",
    "tcpinfo": "multitracer.parsers.tcpinfo:PARSER",
    "ndt7": "multitracer.parsers.ndt7:PARSER",
    "nuttcp": "multitracer.parsers.nuttcp:PARSER",
    "flent": "multitracer.parsers.flent:PARSER",
    "ping": "multitracer.parsers.ping:PARSER",
    "bcc": "multitracer.parsers.bcc:PARSER",
    "rlpdump": "multitracer.parsers.rlpdump:PARSER",
    "gsmtap": "multitracer.parsers.gsmtap:PARSER",
    "rlc": "multitracer.parsers.rlc:PARSER",
    "srsran": "multitracer.parsers.srsran:PARSER",
    "oai": "multitracer.parsers.oai:PARSER",
    "amarisoft": "multitracer.parsers.amarisoft:PARSER",
    "mobileinsight": "multitracer.parsers.mobileinsight:PARSER",
    "dccp": "multitracer.parsers.dccp:PARSER",
    "dccpprobe": "multitracer.parsers.dccpprobe:PARSER",
    "wifi": "multitracer.parsers.wifi:PARSER",
    "pppd": "multitracer.parsers.pppd:PARSER",
    "mahimahi": "multitracer.parsers.mahimahi:PARSER",
    "ns2": "multitracer.parsers.ns2:PARSER",
    "ns2-variables": "multitracer.parsers.ns2variables:PARSER",
    "ns3-ascii": "multitracer.parsers.ns3ascii:PARSER",
    "ns3-series": "multitracer.parsers.ns3series:PARSER",
    "flowmonitor": "multitracer.parsers.flowmonitor:PARSER",
    "ns3-lena": "multitracer.parsers.lena:PARSER",
    "ns3-lena-phy": "multitracer.parsers.lenaphy:PARSER",
    "omnetpp": "multitracer.parsers.omnetpp:PARSER",
    "csv": "multitracer.parsers.csv:PARSER",
}

CAPTURES = frozenset({"pcap", "pcapng", "gsmtap", "rlc", "dccp", "wifi"})
"""Built-in parsers of pcap and pcapng files: no other is asked, whatever text the packets contain."""

MARKS = {
    "ftrace": (
        *(b"# tracer: ", b"]", b"tcp_probe", b"tcp_retransmit_skb", b"tcp_cong_state_set"),
        *(b"tcp_set_state", b"inet_sock_set_state"),
    ),
    "trace-dat": (b"tracing",),
    "retis": (b'"common"',),
    "siftr": (b"siftrver=", b"i,", b"o,"),
    "iperf3": (
        *(b'"event"', b'"connected"', b'"sock_bufsize"', b'"connecting_to"', b'"tcp_mss_default"'),
        b'"accepted_connection"',
    ),
    "iperf3-text": (b"bits/sec",),
    "tcpinfo": (b'"RawIDM"', b'"Metadata"'),
    "ndt7": (b'"GitShortCommit"',),
    "nuttcp": (b" MB / ", b"megabytes="),
    "flent": (
        b'"FLENT_',
        b'"NETPERF_WRAPPER_',
        b'"DATA_FILENAME"',
        b'"STEP_SIZE"',
        b'"x_values"',
        b'"SERIES_META"',
    ),
    "ping": (b" bytes from ", b"Reply from "),
    "rlpdump": (b"# rlpdump ",),
    "srsran": (b"] [",),
    "oai": (b"UE RNTI ", b"sch_rounds "),
    "amarisoft": (
        *(b"# time layer dir ue_id ", b" [PHY] ", b" [MAC] ", b" [RLC] ", b" [PDCP] ", b" [RRC] "),
        b" [NAS] ",
    ),
    "mobileinsight": (b"<dm_log_packet>", b"~"),
    "pppd": (b"\x07",),
    "ns2-variables": (b"_ ",),
    "ns3-ascii": (b"ns3::",),
    "flowmonitor": (b"<FlowMonitor>",),
    "ns3-lena": (b"start\tend\tCellId\t",),
    "ns3-lena-phy": (b"time\tcellId\tIMSI\t",),
    "omnetpp": (b"version ",),
    "csv": (b"time",),
}
"""Built-in parsers that claim a file only if its head holds one of these: without, they are not loaded.

Those that are not named here are asked about every file.
"""

ANALYZERS = {
    "connections": "multitracer.analyzers.connections:ANALYZER",
    "throughput": "multitracer.analyzers.throughput:ANALYZER",
    "timeouts": "multitracer.analyzers.timeouts:ANALYZER",
    "losses": "multitracer.analyzers.losses_certain:ANALYZER",
    "recoveries": "multitracer.analyzers.recoveries:ANALYZER",
    "observation": "multitracer.analyzers.observation:ANALYZER",
    "limits": "multitracer.analyzers.limits:ANALYZER",
    "acks": "multitracer.analyzers.acks:ANALYZER",
    "round_trips": "multitracer.analyzers.round_trips:ANALYZER",
    "flight": "multitracer.analyzers.flight:ANALYZER",
    "link_resets": "multitracer.analyzers.link_resets:ANALYZER",
    "link_retransmissions": "multitracer.analyzers.link_retransmissions:ANALYZER",
    "bearer": "multitracer.analyzers.bearer:ANALYZER",
    "flow_control": "multitracer.analyzers.flow_control:ANALYZER",
    "arrivals": "multitracer.analyzers.arrivals:ANALYZER",
    "local_drops": "multitracer.analyzers.local_drops:ANALYZER",
    "idle_phases": "multitracer.analyzers.idle_phases:ANALYZER",
    "utilization": "multitracer.analyzers.utilization:ANALYZER",
    "frame_map": "multitracer.analyzers.frame_map:ANALYZER",
    "chains": "multitracer.analyzers.chains:ANALYZER",
    "queueing": "multitracer.analyzers.queueing:ANALYZER",
    "dccp": "multitracer.analyzers.dccp:ANALYZER",
    "goodput": "multitracer.analyzers.goodput:ANALYZER",
    "fairness": "multitracer.analyzers.fairness:ANALYZER",
    "idle_losses": "multitracer.analyzers.idle_losses:ANALYZER",
    "rtt_deviation": "multitracer.analyzers.rtt_deviation:ANALYZER",
    "air": "multitracer.analyzers.air:ANALYZER",
    "host": "multitracer.analyzers.host:ANALYZER",
    "mptcp": "multitracer.analyzers.mptcp:ANALYZER",
    "energy": "multitracer.analyzers.energy:ANALYZER",
    "flow_totals": "multitracer.analyzers.flow_totals:ANALYZER",
    "packet_drops": "multitracer.analyzers.packet_drops:ANALYZER",
    "hops": "multitracer.analyzers.hops:ANALYZER",
    "logs": "multitracer.analyzers.logs:ANALYZER",
    "conditions": "multitracer.analyzers.conditions:ANALYZER",
    "diagnosis": "multitracer.analyzers.diagnosis:ANALYZER",
    "handshake": "multitracer.analyzers.handshake:ANALYZER",
}

PLOTS = {
    "multilayer": "multitracer.plots.figures.multilayer:PLOT",
    "sender": "multitracer.plots.figures.sender:PLOT",
    "layer-rates": "multitracer.plots.figures.layer_rates:PLOT",
    "utilization": "multitracer.plots.figures.utilization:PLOT",
    "local-drop": "multitracer.plots.figures.local_drop:PLOT",
    "reset-gaps": "multitracer.plots.figures.reset_gaps:PLOT",
    "corrupted-segments": "multitracer.plots.figures.corrupted_segments:PLOT",
    "rto-backoff": "multitracer.plots.figures.rto_backoff:PLOT",
    "link-burst": "multitracer.plots.figures.link_burst:PLOT",
    "flow-control": "multitracer.plots.figures.flow_control:PLOT",
    "tsg": "multitracer.plots.figures.tsg:PLOT",
    "rtt": "multitracer.plots.figures.rtt:PLOT",
    "cwnd": "multitracer.plots.figures.cwnd:PLOT",
    "throughput": "multitracer.plots.figures.throughput:PLOT",
    "queue": "multitracer.plots.figures.queue:PLOT",
    "owd": "multitracer.plots.figures.owd:PLOT",
    "bearer": "multitracer.plots.figures.bearer:PLOT",
    "air": "multitracer.plots.figures.air:PLOT",
    "layers": "multitracer.plots.figures.layers:PLOT",
    "host": "multitracer.plots.figures.host:PLOT",
    "idle": "multitracer.plots.figures.idle:PLOT",
    "logs": "multitracer.plots.figures.logs:PLOT",
    "cdf": "multitracer.plots.figures.cdf:PLOT",
    "compare": "multitracer.plots.figures.compare:PLOT",
}

PLOT_ALIASES = {
    "figure-4": "sender",
    "figure-5": "layer-rates",
    "figure-6": "utilization",
    "figure-7": "local-drop",
    "figure-8": "reset-gaps",
    "figure-9": "corrupted-segments",
    "figure-10": "rto-backoff",
    "figure-11": "link-burst",
    "figure-12": "flow-control",
}
"""Figures of the 1999 paper by their number there: `plot_name` takes either."""

_EXPECTED_PLOTS = {
    "time-sequence": ("multilayer", "sender", "tsg"),
    "stevens": ("sender",),
    "tcptrace": ("tsg",),
    "window": ("cwnd",),
    "goodput": ("throughput",),
    "delay": ("owd", "rtt"),
    "timeline": ("layers", "multilayer"),
}
"""Common wrong names of figures, and those that show it."""


def load(reference: str) -> Any:
    """The object behind ``module:attribute``."""
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


T = TypeVar("T")


class OnDemand(Mapping[str, T], Generic[T]):
    """Values by name, each made when it is looked up.

    Parameters
    ----------
    names : sequence of str
    made : dict of str to T
        Those that are there already; the others join them.
    """

    def __init__(self, names: Sequence[str], made: dict[str, T]) -> None:
        self._names = names
        self._made = made

    @abstractmethod
    def make(self, name: str) -> T:
        """The value of a name that has none yet."""

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = self.make(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _Lazy(OnDemand[T]):
    """What a group holds by name, each loaded when it is asked for: most files need few of them."""

    group: str
    builtin: Mapping[str, str]

    def __init__(self) -> None:
        added = _added(self.group, self.builtin)
        super().__init__([*self.builtin, *added], added)

    def make(self, name: str) -> T:
        """Load it."""
        found: T = load(self.builtin[name])
        return found


class Parsers(_Lazy[Parser]):
    """Parsers by name."""

    group = "multitracer.parsers"
    builtin = PARSERS


class Analyzers(_Lazy[Any]):
    """Analyzers by name."""

    group = "multitracer.analyzers"
    builtin = ANALYZERS


class Plots(_Lazy[Any]):
    """Plots by name, without aliases."""

    group = "multitracer.plots"
    builtin = PLOTS


def may_claim(name: str, head: bytes) -> bool:
    """Whether a built-in parser may claim a file that begins so, known without loading it.

    Parameters
    ----------
    name : str
        The parser; true of one of a plug-in.
    head : bytes
        The first bytes of the decompressed file.
    """
    if name in CAPTURES:
        # No more than text; a capture, also one that is compressed once more, begins otherwise.
        return not head.isascii() or head.startswith(b"\n\r\r\n")
    return name not in MARKS or any(mark in head for mark in MARKS[name])


def parsers() -> Parsers:
    """All parsers by name."""
    return Parsers()


def analyzers() -> Mapping[str, Analyzer]:
    """All analyzers by name."""
    return Analyzers()


def question(known: Mapping[str, Analyzer], name: str) -> Question | Analyzer:
    """What an analyzer needs; a built-in one is not loaded for it."""
    return QUESTIONS[name] if isinstance(known, Analyzers) and name in QUESTIONS else known[name]


def self_declared() -> dict[str, Analyzer]:
    """Analyzers that declare all about themselves: plug-ins, and built-in ones that load nothing heavy.

    The others are in `QUESTIONS`, so that NumPy is not loaded for one that cannot answer; their keys and
    batch columns are in `multitracer.output.contract` and `multitracer.batch.rows`.
    """
    known = analyzers()
    return {name: known[name] for name in known if name not in QUESTIONS}


def plots() -> Plots:
    """All plots by name, without aliases."""
    return Plots()


def plot_name(kind: str) -> str:
    """The name of a plot that may be asked for by an alias; `kind` itself if it is none.

    Examples
    --------
    >>> plot_name("figure-8"), plot_name("tsg")
    ('reset-gaps', 'tsg')
    """
    return PLOT_ALIASES.get(kind, kind)


def no_plot(kind: str) -> str:
    """The message for a plot that does not exist: the nearest names, else all of them."""
    from difflib import get_close_matches

    known = [*plots(), *PLOT_ALIASES]
    near = get_close_matches(kind, known, 2)
    if kind in _EXPECTED_PLOTS:
        near = [*_EXPECTED_PLOTS[kind]]
    meant = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(plots())}"
    return f"unknown plot {kind!r}; {meant}"


def _added(group: str, builtin: Mapping[str, str]) -> dict[str, Any]:
    """What plug-ins add to a group."""
    found: dict[str, Any] = {}
    for entry in _plugins(group):
        if entry.name in builtin or entry.name in found:
            warnings.warn(f"plug-in {entry.value} ignored: {group} {entry.name!r} exists", stacklevel=3)
            continue
        try:
            found[entry.name] = entry.load()
        except Exception as error:  # a plug-in may fail in any way
            warnings.warn(f"plug-in {entry.value} ignored: {error!r}", stacklevel=3)
    return found


def _plugins(group: str) -> Iterable[EntryPoint]:
    folders = tuple((folder, _changed_ns(folder)) for folder in sys.path)
    finders = [one for one in sys.meta_path if hasattr(one, "find_distributions") and one is not PathFinder]
    # importlib.metadata takes longer to load than all parsers do: only where there is something to find.
    if not finders and not _announced(folders):
        return ()
    return _entries(group, folders, tuple(map(id, finders)))


@lru_cache(maxsize=8)
def _entries(
    group: str, folders: tuple[tuple[str, int], ...], finders: tuple[int, ...]
) -> tuple[EntryPoint, ...]:
    """Entry points, looked for once while folders and finders stay the same: other finders take long."""
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


@lru_cache(maxsize=4)
def _announced(folders: tuple[tuple[str, int], ...]) -> bool:
    """Whether a distribution in one of these folders may have entry points for this package."""
    return any(_announced_in(folder or os.curdir) for folder, _ in folders)


def _announced_in(folder: str) -> bool:
    try:
        names = os.listdir(folder)
    except NotADirectoryError:
        return True  # an archive
    except OSError:
        return False
    for name in names:
        if name.endswith((".egg", ".egg-link")):
            return True
        if name.endswith((".dist-info", ".egg-info")):
            try:
                with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                    if b"[multitracer." in file.read():
                        return True
            except OSError:
                continue
    return False


def _changed_ns(folder: str) -> int:
    try:
        return os.stat(folder or os.curdir).st_mtime_ns
    except OSError:
        return 0
