"""Kernel tracepoints as trace-cmd records them, trace.dat (docs/formats/trace-dat.md).

Each event becomes the line that ``trace-cmd report -t`` would print, and that text goes through the core's
scanner ``ftrace``: one place knows what tracepoints mean.
"""

from __future__ import annotations

from multitracer.model.parser import Parser
from multitracer.model.trace import Trace
from multitracer.parsers._helpers.tracedatmagic import MAGIC


def sniff(head: bytes) -> bool:
    """Whether it begins as trace-cmd's files do."""
    return head.startswith(MAGIC)


def parse(path: str) -> Trace:
    """Read a trace.dat: tables as of the text of tracepoints, in order of time over all CPUs.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no event in it can be read, or none is of TCP and the layers around it.

    Notes
    -----
    `record` is the number of the event in order of time, as the lines of ``trace-cmd report`` are.

    Reference: the manual pages trace-cmd.dat.v6(5), trace-cmd.dat.v7(5).
    """
    from multitracer.parsers._helpers import tracedatlines

    return tracedatlines.trace_of(path)


PARSER = Parser(
    name="trace-dat",
    title="kernel TCP tracepoints as trace-cmd records them: trace.dat",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
