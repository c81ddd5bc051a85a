"""``/proc/net/dccpprobe`` of kernels before 4.16 (docs/formats/dccpprobe.md)."""

from __future__ import annotations

import re

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.fileoptions import HOST
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Array, Table
from multitracer.model.trace import Flow, Source, Trace

# Four columns, or eleven whose fifth (the mean packet size) is above zero: tcpprobe has hex there.
_LINE = re.compile(
    rb"^\d+\.\d{6}[ \t]+" + HOST + rb":\d+[ \t]+" + HOST + rb":\d+[ \t]+\d+"
    rb"([ \t]+[1-9]\d*([ \t]+\d+){6})?[ \t]*\r?$",
    re.MULTILINE,
)


def sniff(head: bytes) -> bool:
    """Whether there are lines of dccp_probe's four or eleven columns."""
    return _LINE.search(head) is not None


def parse(path: str) -> Trace:
    """Read a dccp_probe log: `dccp_states`, in order of time.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no line of it can be used.

    Notes
    -----
    Times count from the opening of the file, so the clock is "unknown". In the file, rates are bytes per
    second and p is in millionths.

    Reference: Linux ``net/dccp/probe.c`` up to 4.15.
    """
    scan = native.scan("dccpprobe", path)
    raw = scan.tables["dccp_states"]
    if not len(raw["t_ns"]):
        raise CorruptTrace(f"{path}: no line of a dccp_probe log can be read; is it cut or another format?")
    columns = {name: raw[name] for name in ("t_ns", "record", "flow", "length")}
    columns |= {
        "segment_bytes": raw["s"],
        "rtt_ns": _scaled(raw["rtt_us"], 1000),
        "loss_event_rate": np.where(raw["p"] >= 0, raw["p"] / 1e6, np.nan),
        "x_calc_bps": _scaled(raw["x_calc"], 8),
        "x_recv_bps": _scaled(raw["x_recv"], 8),
        "x_bps": _scaled(raw["x"], 8),
        "interval_ns": _scaled(raw["t_ipi_us"], 1000),
    }
    states = Table.filled(schema.DCCP_STATES, len(raw["t_ns"]), columns).sorted_by("t_ns")
    source = Source(
        path=path,
        format="dccpprobe",
        layer="dccp",
        records=len(states),
        clock="unknown",
        first_ns=int(states["t_ns"][0]),
        last_ns=int(states["t_ns"][-1]),
        resolution_ns=scan.facts["resolution_ns"],
        details={"with_ccid_3": int(np.count_nonzero(states["segment_bytes"] >= 0))},
    )
    return Trace(source, {"dccp_states": states}, scan.issues, [Flow(*flow) for flow in scan.facts["flows"]])


def _scaled(values: Array, factor: int) -> Array:
    return np.where(values >= 0, np.minimum(values, 2**62 // factor) * factor, -1)


PARSER = Parser(
    name="dccpprobe",
    title="/proc/net/dccpprobe: DCCP senders with CCID 3 (kernels before 4.16)",
    layer="dccp",
    sniff=sniff,
    parse=parse,
)
