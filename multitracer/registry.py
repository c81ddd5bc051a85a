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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from multitracer.questions import QUESTIONS, Question
from multitracer.trace import Layer, Trace

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from multitracer.analysis import Analyzer

PARSERS = {
    "pcap": "multitracer.parsers.pcap:PCAP",
    "pcapng": "multitracer.parsers.pcap:PCAPNG",
    "ftrace": "multitracer.parsers.ftrace:PARSER",
    "ss": "multitracer.parsers.ss:PARSER",
    "tcpprobe": "multitracer.parsers.tcpprobe:PARSER",
    "siftr": "multitracer.parsers.siftr:PARSER",
    "iperf3": "multitracer.parsers.iperf3:PARSER",
    "tcpinfo": "multitracer.parsers.tcpinfo:PARSER",
    "ndt7": "multitracer.parsers.ndt7:PARSER",
    "bcc": "multitracer.parsers.bcc:PARSER",
    "rlpdump": "multitracer.parsers.rlpdump:PARSER",
    "gsmtap": "multitracer.parsers.gsmtap:PARSER",
    "rlc": "multitracer.parsers.rlc:PARSER",
    "srsran": "multitracer.parsers.srsran:PARSER",
    "mobileinsight": "multitracer.parsers.mobileinsight:PARSER",
    "dccp": "multitracer.parsers.dccp:PARSER",
    "dccpprobe": "multitracer.parsers.dccpprobe:PARSER",
    "wifi": "multitracer.parsers.wifi:PARSER",
    "pppd": "multitracer.parsers.pppd:PARSER",
    "ns2": "multitracer.parsers.ns2:PARSER",
    "ns2-variables": "multitracer.parsers.ns2variables:PARSER",
    "ns3-ascii": "multitracer.parsers.ns3ascii:PARSER",
    "ns3-series": "multitracer.parsers.ns3series:PARSER",
    "flowmonitor": "multitracer.parsers.flowmonitor:PARSER",
    "ns3-lena": "multitracer.parsers.lena:PARSER",
    "omnetpp": "multitracer.parsers.omnetpp:PARSER",
    "csv": "multitracer.parsers.csv:PARSER",
}

CAPTURES = frozenset({"pcap", "pcapng", "gsmtap", "rlc", "dccp", "wifi"})
"""Built-in parsers of pcap and pcapng files: no other is asked about one, whatever text its packets carry."""

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
    "energy": "multitracer.analyzers.energy:ANALYZER",
    "flow_totals": "multitracer.analyzers.flow_totals:ANALYZER",
    "diagnosis": "multitracer.analyzers.diagnosis:ANALYZER",
}

PLOTS = {
    "multilayer": "multitracer.plots.multilayer:PLOT",
    "figure-4": "multitracer.plots.figure_4:PLOT",
    "figure-5": "multitracer.plots.figure_5:PLOT",
    "figure-6": "multitracer.plots.figure_6:PLOT",
    "figure-7": "multitracer.plots.figure_7:PLOT",
    "figure-8": "multitracer.plots.figure_8:PLOT",
    "figure-9": "multitracer.plots.figure_9:PLOT",
    "figure-10": "multitracer.plots.figure_10:PLOT",
    "figure-11": "multitracer.plots.figure_11:PLOT",
    "figure-12": "multitracer.plots.figure_12:PLOT",
    "tsg": "multitracer.plots.tsg:PLOT",
    "rtt": "multitracer.plots.rtt:PLOT",
    "cwnd": "multitracer.plots.cwnd:PLOT",
    "throughput": "multitracer.plots.throughput:PLOT",
    "queue": "multitracer.plots.queue:PLOT",
    "owd": "multitracer.plots.owd:PLOT",
    "bearer": "multitracer.plots.bearer:PLOT",
    "air": "multitracer.plots.air:PLOT",
    "layers": "multitracer.plots.layers:PLOT",
    "idle": "multitracer.plots.idle:PLOT",
    "cdf": "multitracer.plots.cdf:PLOT",
    "compare": "multitracer.plots.compare:PLOT",
}


@dataclass(frozen=True)
class Parser:
    """One file format.

    Attributes
    ----------
    name : str
        Value of `--format`.
    title : str
        One line for `multitracer formats`.
    layer : {"tcp", "kernel", "link"}
    sniff : callable
        ``sniff(head: bytes) -> bool``: whether the first bytes of the (decompressed) file are of this format.
        Judges structure only, never raises.
    named : callable or None
        ``named(path)``: whether a file of this name may be of this format, where any table of numbers has its
        structure; None if content alone decides.
    parse : callable
        ``parse(path: str) -> Trace``. Raises `CorruptTrace` if nothing can be used, `UnreadableFile` on I/O
        errors.
    summarise : callable or None
        As `parse`, without tables and in memory that does not grow with the file; captures only.
    configured : callable or None
        ``configured(path, settings)``: as `parse`, with what ``[sources."FILE"]`` of measurement.toml says
        about the file (units, columns, direction); None if the format has nothing to set.
    together : callable or None
        ``together(traces, settings_of)``: all traces of a measurement, those of several files of one thing
        (the captures of both ends of a link) read as that; ``settings_of(path)`` as for `configured`.
    """

    name: str
    title: str
    layer: Layer
    sniff: Callable[[bytes], bool]
    parse: Callable[[str], Trace]
    summarise: Callable[[str], Trace] | None = None
    configured: Callable[[str, Mapping[str, Any]], Trace] | None = None
    named: Callable[[str], bool] | None = None
    together: Callable[[list[Trace], Callable[[str], Mapping[str, Any]]], list[Trace]] | None = None

    def claims(self, path: str, head: bytes) -> bool:
        """Whether a file with these first bytes is of this format."""
        return (self.named is None or self.named(path)) and self.sniff(head)

    @property
    def page(self) -> str:
        """Where the format is described, in the documentation."""
        return f"docs/formats/{self.name}.md"

    def read(self, path: str, settings: Mapping[str, Any]) -> Trace:
        """Parse a file with its settings, where the format takes any."""
        return self.parse(path) if self.configured is None else self.configured(path, settings)


def load(reference: str) -> Any:
    """The object behind ``module:attribute``."""
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


T = TypeVar("T")


class _Lazy(Mapping[str, T], Generic[T]):
    """What a group holds by name, each loaded when it is asked for: most files need few of them."""

    group: str
    builtin: Mapping[str, str]

    def __init__(self) -> None:
        self._loaded = _added(self.group, self.builtin)
        self._names = [*self.builtin, *self._loaded]

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            self._loaded[name] = load(self.builtin[name])
        found: T = self._loaded[name]
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Parsers(_Lazy[Parser]):
    """Parsers by name."""

    group = "multitracer.parsers"
    builtin = PARSERS


class Analyzers(_Lazy[Any]):
    """Analyzers by name."""

    group = "multitracer.analyzers"
    builtin = ANALYZERS


def parsers() -> Parsers:
    """All parsers by name."""
    return Parsers()


def analyzers() -> Mapping[str, Analyzer]:
    """All analyzers by name."""
    return Analyzers()


def question(known: Mapping[str, Analyzer], name: str) -> Question | Analyzer:
    """What an analyzer needs; a built-in one is not loaded for it."""
    return QUESTIONS[name] if isinstance(known, Analyzers) and name in QUESTIONS else known[name]


def plots() -> dict[str, Any]:
    """All plots by name."""
    return _collect("multitracer.plots", PLOTS)


def _collect(group: str, builtin: dict[str, str]) -> dict[str, Any]:
    return {name: load(reference) for name, reference in builtin.items()} | _added(group, builtin)


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
    # importlib.metadata takes longer to load than all parsers do: only where there is something to find.
    if not _announced(tuple((folder, _changed_ns(folder)) for folder in sys.path)):
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=group)


@lru_cache(maxsize=4)
def _announced(folders: tuple[tuple[str, int], ...]) -> bool:
    """Whether a distribution in one of these folders may have entry points for this package."""
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return True
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
