"""Statistics of LENA's radio bearers, RLC and PDCP (docs/formats/ns3-lena.md)."""

from __future__ import annotations

import math
import os
import re
from array import array
from typing import Any

from multitracer import native, schema
from multitracer.errors import CorruptTrace
from multitracer.jsonlog import Tally
from multitracer.lazy import np
from multitracer.registry import Parser
from multitracer.table import Table
from multitracer.trace import Source, Trace

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
_MEASURED = 10  # columns from here on are absent, or "nan", where nothing was received
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
    Which layer and direction it is, only the name of the file says: ``DlRlcStats.txt``, ``UlPdcpStats.txt``.

    Reference: ns-3 ``src/lte/helper/radio-bearer-stats-calculator.cc``.
    """
    tally, rows = Tally(path), _Rows()
    lines = native.Lines(path)
    for number, line in lines:
        if not line.strip() or line.startswith(b"%"):
            continue
        fault = rows.add(number, line)
        if fault is not None:
            tally.add(fault, number, line[:100].decode("utf-8", "replace"))
    found = np.frombuffer(rows.found, dtype=np.float64).reshape(-1, len(rows.names))
    count = len(found)
    if not count:
        raise CorruptTrace(f"{path}: no interval of a bearer can be read; is it cut or another format?")
    columns: dict[str, Any] = {name: found[:, place] for place, name in enumerate(rows.names)}
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
    return Trace(source, {"bearer_totals": totals}, tally.issues(lines.issues))


class _Rows:
    """Numbers of all lines, one after the other, in the order of `names`."""

    def __init__(self) -> None:
        self.names = ("record", *(name for name, _ in _COLUMNS))
        self.found = array("d")
        self._limits = {
            name: None
            if schema.BEARER_TOTALS.by_name[name].dtype == "float64"
            else int(np.iinfo(schema.BEARER_TOTALS.by_name[name].dtype).max)
            for name, _ in _COLUMNS
        }

    def add(self, number: int, line: bytes) -> str | None:
        """Take a line; the code of an issue where it is none."""
        words = line.split()
        if not _MEASURED <= len(words) <= len(_COLUMNS):
            return "unparsed-line"
        row: list[float] = [number]
        for place, (name, unit) in enumerate(_COLUMNS):
            value = _number(words[place]) if place < len(words) else math.nan
            limit = self._limits[name]
            if math.isnan(value) and place < _MEASURED:
                return "bad-number"
            if limit is None:
                row.append(value)
            elif math.isnan(value):
                row.append(-1)
            elif value * unit > limit:
                return "bad-number"
            else:
                row.append(round(value * unit))
        if row[2] < row[1]:
            return "bad-number"
        self.found.extend(row)
        return None


def _number(word: bytes) -> float:
    """A number that is neither negative nor infinite; NaN for anything else."""
    try:
        value = float(word)
    except ValueError:
        return math.nan
    return value if 0 <= value < math.inf else math.nan


def _named(path: str) -> tuple[str, str]:
    """Layer and direction by the name of the file; empty where it does not say."""
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
