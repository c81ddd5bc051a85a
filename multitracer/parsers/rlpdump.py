"""rlpdump 1: the log of a reliable link's two entities (docs/formats/rlpdump.md)."""

from __future__ import annotations

import re
from typing import Any

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import ClockKind, Source, Trace

_FIRST_LINE = re.compile(rb"# rlpdump \d+(\s|$)")
_CLOCKS: dict[str, ClockKind] = {"realtime": "realtime", "monotonic": "monotonic"}


def sniff(head: bytes) -> bool:
    """Whether the first line is that of an rlpdump."""
    return _FIRST_LINE.match(head) is not None


def parse(path: str) -> Trace:
    """Read an rlpdump: frames and events of both entities, in order of time.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no line of it can be used.

    Notes
    -----
    Reference: rlpdump 1; Paper section 4.2.
    """
    scan = native.scan("rlpdump", path)
    frames = Table.in_time(schema.LINK_FRAMES, scan.tables["link_frames"])
    events = Table.in_time(schema.LINK_EVENTS, scan.tables["link_events"])
    times = [int(t) for table in (frames, events) if len(table) for t in table["t_ns"][[0, -1]]]
    if not times:
        raise CorruptTrace(f"{path}: no line of an rlpdump can be read; is it cut or another format?")
    settings: dict[str, Any] = {key: _number(value) for key, value in scan.facts["settings"]}
    source = Source(
        path=path,
        format="rlpdump",
        layer="link",
        records=len(frames) + len(events),
        clock=_CLOCKS.get(str(settings.get("clock")), "unknown"),
        first_ns=min(times),
        last_ns=max(times),
        resolution_ns=scan.facts["resolution_ns"],
        point="+".join(scan.facts["entities"]),
        details={"version": scan.facts["version"], **settings},
    )
    tables = {"link_frames": frames, "link_events": events}
    return Trace(source, tables, scan.issues, entities=scan.facts["entities"])


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text


PARSER = Parser(
    name="rlpdump",
    title="rlpdump 1: frames, resets and flow control of a reliable link",
    layer="link",
    sniff=sniff,
    parse=parse,
)
