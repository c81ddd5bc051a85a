"""Text logs of srsRAN Project's base station, RLC layer (docs/formats/srsran.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model.parser import Parser
from multitracer.model.trace import Trace
from multitracer.parsers._helpers.bearerlog import Bearer, Wanted, trace_of

_LINE = re.compile(rb"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6} \[[A-Z0-9-]+ *\] \[[A-Z]\] ", re.MULTILINE)


def sniff(head: bytes) -> bool:
    """Whether there are lines as srsRAN's logger writes them."""
    return _LINE.search(head) is not None


def parse(path: str) -> Trace:
    """Read the busiest bearer: data PDUs and status reports that the base station sent and received.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no RLC data PDU is in it.

    Notes
    -----
    What the base station received counts as sent by the terminal at that time, unless ``seen_at = "bs"``.
    Bytes are not compared: the log has them at another level only.

    Reference: srsRAN Project ``lib/rlc``; 3GPP TS 38.322.
    """
    return configured(path, {})


def configured(path: str, settings: Mapping[str, Any]) -> Trace:
    """As `parse`, of a certain terminal (``ue = 1``) or ``bearer = "drb1"``; ``seen_at = "bs"``."""
    wanted = Wanted.of(path, settings)
    scan = native.scan("srsran", path)
    found = {
        (ue, name): Bearer(columns, unknown, carried, highest)
        for ue, name, columns, unknown, carried, highest in scan.facts["bearers"]
    }
    trace = trace_of(path, "srsran", "nr", 0, found, wanted)
    trace.issues += scan.issues
    return trace


PARSER = Parser(
    name="srsran",
    title="text logs of srsRAN Project's base station (RLC layer)",
    layer="link",
    sniff=sniff,
    parse=parse,
    configured=configured,
)
