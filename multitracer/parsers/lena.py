"""Statistics of LENA's radio bearers, RLC and PDCP (docs/formats/ns3-lena.md)."""

from __future__ import annotations

import os
import re
from typing import Any

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Source, Trace

_TITLES = re.compile(rb"^% ?start\tend\tCellId\tIMSI\tRNTI\tLCID\tnTxPDUs\tTxBytes\tnRxPDUs\tRxBytes\t", re.M)
# By position, as titles come twice: column, and nanoseconds in one of its unit
_COLUMNS: tuple[tuple[str, int], ...] = (
    ("t_ns", 10**9),
    ("end_ns", 10**9),
    ("cell", 1),
    ("imsi", 1),
    ("rnti", 1),
    ("lcid", 1),
    ("tx_pdus", 1),
    ("tx_bytes", 1),
    ("rx_pdus", 1),
    ("rx_bytes", 1),
    ("delay_ns", 10**9),
    ("delay_sd_ns", 10**9),
    ("delay_min_ns", 10**9),
    ("delay_max_ns", 10**9),
    ("pdu_bytes", 1),
    ("pdu_sd_bytes", 1),
    ("pdu_min_bytes", 1),
    ("pdu_max_bytes", 1),
)
_DIGITS = 6


def sniff(head: bytes) -> bool:
    """Whether there is the line of titles that LENA writes."""
    return _TITLES.search(head) is not None


def parse(path: str) -> Trace:
    """Read the totals of bearers by interval: `bearer_totals`.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no line can be read.

    Notes
    -----
    Only the name of the file shows layer and direction: ``DlRlcStats.txt``, ``UlPdcpStats.txt``.

    Reference: ns-3 ``src/lte/helper/radio-bearer-stats-calculator.cc``.
    """
    scan = native.scan("lena", path, columns=[(float(unit), _limit(name)) for name, unit in _COLUMNS])
    found = scan.tables["bearer_totals"]
    count = len(found["record"])
    if not count:
        raise CorruptTrace(f"{path}: no interval of a bearer can be read; is it cut or another format?")
    columns: dict[str, Any] = {name: found[str(place)] for place, (name, _) in enumerate(_COLUMNS)}
    columns["record"] = found["record"]
    layer, direction = _named(path)
    columns["layer"] = np.full(count, schema.BEARER_LAYERS.index(layer), dtype=np.int8)
    columns["direction"] = np.full(count, schema.BEARER_DIRECTIONS.index(direction), dtype=np.int8)
    totals = Table.filled(schema.BEARER_TOTALS, count, columns).sorted_by("t_ns")
    last = int(totals["end_ns"].max())
    source = Source(
        path=path,
        format="ns3-lena",
        layer="link",
        records=count,
        clock="simulation",
        first_ns=int(totals["t_ns"][0]),
        last_ns=last,
        resolution_ns=10 ** max(0, len(str(last)) - _DIGITS),
        details={
            "layer": layer or None,
            "direction": direction or None,
            "bearers": len(np.unique(totals["imsi"] * 64 + totals["lcid"] % 64)),
            **{name: int(totals[name].sum()) for name in ("tx_bytes", "rx_bytes", "tx_pdus", "rx_pdus")},
        },
    )
    return Trace(source, {"bearer_totals": totals}, scan.issues)


def _limit(name: str) -> float | None:
    """From where on values do not fit a column; None of one with decimals."""
    kind = np.dtype(schema.BEARER_TOTALS.by_name[name].dtype)
    return None if kind.kind == "f" else 2.0 ** (8 * kind.itemsize - 1)


def _named(path: str) -> tuple[str, str]:
    """Layer and direction by the name of the file; empty where it does not show them."""
    name = os.path.basename(path).lower()
    layer = next((layer for layer in ("rlc", "pdcp") if layer in name), "")
    direction = {"dl": "downlink", "ul": "uplink"}.get(name[:2], "")
    return layer, direction


PARSER = Parser(
    name="ns3-lena",
    title="ns-3 LENA: totals of LTE radio bearers (DlRlcStats.txt, UlPdcpStats.txt ...)",
    layer="link",
    sniff=sniff,
    parse=parse,
)
