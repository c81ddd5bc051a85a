"""What a trace.dat of trace-cmd holds before its events: formats, clocks, where the pages of each CPU are."""

from __future__ import annotations

from dataclasses import dataclass, field

from multitracer.model.frozen import frozen
from multitracer.parsers._helpers.eventformat import EventFormat
from multitracer.parsers._helpers.ringbuffer import PageLayout


@frozen
class CpuPages:
    """Where the pages of one CPU are.

    Attributes
    ----------
    cpu : int
        Its number.
    offset, size : int
        In the file, bytes.
    compressed : bool
        Whether they are in chunks, each compressed.
    """

    cpu: int
    offset: int
    size: int
    compressed: bool


@dataclass
class Buffer:
    """What was recorded of one trace instance.

    Attributes
    ----------
    name : str
        Of the instance; "" for the one at the top.
    clock : str
        Trace clock; "" if not recorded.
    page_bytes : int
    cpus : list of CpuPages
    """

    name: str
    clock: str
    page_bytes: int
    cpus: list[CpuPages] = field(default_factory=list)


@dataclass
class TraceDat:
    """A trace.dat, without its events.

    Attributes
    ----------
    version : int
    layout : PageLayout
    long_bytes : int
        Of the kernel.
    formats : dict of int to EventFormat
        By the number that records begin with.
    buffers : list of Buffer
    clock : str
        The trace clock that was chosen (``[mono]``); "" if not recorded.
    offset_ns : int
        To add to every time: ``--date`` and ``--ts-offset``.
    dated : bool
        Whether `offset_ns` makes Unix time of them (``--date``).
    tsc : (int, int) or None
        Factor and shift that make nanoseconds of ticks.
    shifted : bool
        Whether times are of a guest and the file has the offset to those of its host.
    overruns : int
        Events that the kernel counted as lost, in all of its buffers.
    release : str
        Kernel, as of uname.
    cut : str
        What could not be read as the file ends too early; "" if nothing.
    """

    version: int = 0
    layout: PageLayout = field(default_factory=lambda: PageLayout("<"))
    long_bytes: int = 8
    formats: dict[int, EventFormat] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    clock: str = ""
    offset_ns: int = 0
    dated: bool = False
    tsc: tuple[int, int] | None = None
    shifted: bool = False
    overruns: int = 0
    release: str = ""
    cut: str = ""
