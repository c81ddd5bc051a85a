"""RLP frames in a capture, as GSMTAP over UDP (docs/formats/gsmtap.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model import fileoptions, schema
from multitracer.model.errors import CorruptTrace, UsageError
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Source, Trace

ENTITIES = ["ms", "iwf"]
_UPLINK_FROM = {"ms": True, "iwf": False}


def sniff(head: bytes) -> bool:
    """Whether the first packets of a capture hold RLP frames in GSMTAP, and none holds TCP."""
    return native.sniff_gsmtap(head)


def parse(path: str) -> Trace:
    """Read RLP frames: `link_frames` and `link_events`, as an rlpdump would have them.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If it holds no RLP frame.

    Notes
    -----
    Every frame is one that an entity sent. Offsets of bytes are counted here, over all resets; bytes that a
    reset flushed before they were sent are not in any frame, so they are not counted.

    Reference: 3GPP TS 24.022; libosmocore ``gsmtap.h``.
    """
    return configured(path, {})


def configured(path: str, settings: Mapping[str, Any]) -> Trace:
    """As `parse`, with who sends what has the uplink bit (``uplink_from = "iwf"``), and N2 (``n2 = 6``)."""
    sender = fileoptions.text(settings, path, "uplink_from", tuple(_UPLINK_FROM)) or "ms"
    n2 = settings.get("n2")
    if n2 is not None and (isinstance(n2, bool) or not isinstance(n2, int) or not 0 < n2 < 1 << 15):
        raise UsageError(f"measurement.toml: n2 of {path} must be a number of retransmissions")
    scan = native.read_gsmtap(path, uplink_is_mobile=_UPLINK_FROM[sender], n2=n2)
    frames = Table.in_time(schema.LINK_FRAMES, scan.tables["link_frames"])
    events = Table.in_time(schema.LINK_EVENTS, scan.tables["link_events"])
    times = [int(t) for table in (frames, events) if len(table) for t in table["t_ns"][[0, -1]]]
    if not times:
        raise CorruptTrace(
            f"{path}: no undamaged RLP frame (GSMTAP type 0x14, UDP port 4729) in this capture"
        )
    facts = scan.facts
    kinds = (
        dict(zip(*np.unique(events.words("kind"), return_counts=True), strict=True)) if len(events) else {}
    )
    source = Source(
        path=path,
        format="gsmtap",
        layer="link",
        records=facts["rlp_frames"],
        clock="realtime",
        first_ns=min(times),
        last_ns=max(times),
        resolution_ns=facts["resolution_ns"],
        point="+".join(ENTITIES),
        details={
            "packets": facts["lines"],
            "packets_by_kind": {"I": len(frames), **{str(kind): int(n) for kind, n in kinds.items()}},
            "other_gsmtap_packets": facts["other_types"],
            "tcp_packets": facts["tcp"],
            "frames_with_flow_control_bit": facts["held_off"],
            "uplink_from": sender,
        },
    )
    tables = {"link_frames": frames, "link_events": events}
    return Trace(source, tables, scan.issues, entities=list(ENTITIES))


PARSER = Parser(
    name="gsmtap",
    title="captures of GSM RLP frames in GSMTAP (osmo-bts, multitracer lab)",
    layer="link",
    sniff=sniff,
    parse=parse,
    configured=configured,
)
