"""Traces of LENA's PHY and MAC: RSRP, SINR, MCS, transport blocks, cells (docs/formats/ns3-lena-phy.md)."""

from __future__ import annotations

import math
import os
import re
from typing import Any

from multitracer.model.errors import CorruptTrace
from multitracer.model.parser import Parser
from multitracer.model.trace import Source, Trace
from multitracer.parsers._helpers import jsonlog, testlog

_TITLES = re.compile(rb"^% ?time\tcellId\tIMSI\t(?:RNTI|frame)\t[^\r\n]*", re.MULTILINE)
_MOST_TERMINALS = 256

# Titles in small letters: the series, and how a value becomes one
_VALUES = {
    "rsrp": ("rsrp_dbm", "watt"),
    "sinr": ("sinr_db", "ratio"),
    "sinrlinear": ("sinr_db", "ratio"),
    "mcs": ("mcs", ""),
    "mcstb1": ("mcs", ""),
    "size": ("transport_block_bytes", ""),
    "sizetb1": ("transport_block_bytes", ""),
    "correct": ("block_errors", "not"),
}


def sniff(head: bytes) -> bool:
    """Whether there is a line of titles that LENA writes above its PHY and MAC traces."""
    return _TITLES.search(head) is not None


def parse(path: str) -> Trace:
    """Read `series` of the link, by terminal (``IMSI 1``); ``cell`` has a row where a terminal changes it.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no line can be read.

    Reference: ns-3 ``src/lte/helper/phy-stats-calculator.cc``, ``mac-stats-calculator.cc``.
    """
    tally = jsonlog.Tally(path)
    values = testlog.Values(tally)
    titles: list[str] = []
    cells: dict[str, str] = {}
    count = 0
    prefix = {"dl": "dl_", "ul": "ul_"}.get(os.path.basename(path)[:2].lower(), "")
    for number, line in testlog.lines(path, tally):
        if line.startswith("%"):
            titles = [title.strip().lower() for title in line[1:].split("\t")]
            continue
        fields = line.split("\t")
        if not line.strip():
            continue
        t_ns, row = _row(titles, fields)
        if t_ns is None or row.get("imsi") is None:
            tally.add("unparsed-line", number, line[:60])
            continue
        label = f"IMSI {row['imsi'][:20]}"
        if label not in cells and len(cells) >= _MOST_TERMINALS:
            tally.add("unparsed-line", number, f"more than {_MOST_TERMINALS} terminals")
            continue
        count += 1
        cell = row.get("cellid", "")
        if cells.get(label) != cell:
            cells[label] = cell
            if (parsed := _number(cell)) is not None:
                values.add(t_ns, number, "cell", parsed, label)
        for title, (name, form) in _VALUES.items():
            found = _converted(row.get(title), form)
            if found is not None:
                plain = name in ("rsrp_dbm", "sinr_db")
                values.add(t_ns, number, name if plain and prefix == "dl_" else prefix + name, found, label)
    if not count or not len(values):
        raise CorruptTrace(f"{path}: no line of a terminal can be read; is it cut or another format?")
    series = values.table()
    details: dict[str, Any] = {
        "terminals": len(cells),
        "direction": {"dl_": "downlink", "ul_": "uplink"}.get(prefix),
        "titles": [title for title in titles if title][:20],
    }
    source = Source(
        path=path,
        format="ns3-lena-phy",
        layer="link",
        records=count,
        clock="simulation",
        first_ns=int(series["t_ns"][0]),
        last_ns=int(series["t_ns"][-1]),
        # Times have six significant digits.
        resolution_ns=10 ** max(0, len(str(int(series["t_ns"][-1]))) - 6),
        details=details,
    )
    return Trace(source, {"series": series}, tally.issues())


def _row(titles: list[str], fields: list[str]) -> tuple[int | None, dict[str, str]]:
    row = dict(zip(titles, (field.strip() for field in fields), strict=False))
    time_s = _number(row.get("time", ""))
    return (None if time_s is None or time_s < 0 else testlog.nanoseconds(time_s)), row


def _number(text: str | None) -> float | None:
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _converted(text: str | None, form: str) -> float | None:
    found = _number(text)
    if found is None or form == "":
        return found
    if form == "not":
        return 0.0 if found else 1.0
    if found <= 0:
        return None
    return 10 * math.log10(found) + (30 if form == "watt" else 0)


PARSER = Parser(
    name="ns3-lena-phy",
    title="ns-3 LENA: RSRP, SINR, MCS, block errors and cells (DlRsrpSinrStats.txt, DlMacStats.txt ...)",
    layer="link",
    sniff=sniff,
    parse=parse,
)
