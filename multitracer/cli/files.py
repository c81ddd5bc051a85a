"""On the terminal: what files are, and which formats are recognised. Loaded when it is printed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from multitracer.cli import words
from multitracer.cli.lines import heading as _heading, line as _line, table as _table
from multitracer.cli.render import print_issues
from multitracer.cli.terminal import Console
from multitracer.model import quantities

if TYPE_CHECKING:
    from multitracer.api.inventory import Inventory
    from multitracer.model.parser import Parser

Object = Mapping[str, Any]

COUNTS = ("bytes", "snaplen", "packets_by_kind")
"""Details that are counts, with their thousands apart; other whole numbers may be ports or channels."""


def formats_table(parsers: Sequence[Parser]) -> None:
    """Print the formats that are recognised."""
    table = _table("=name", "=layer", "what it is", "=described in")
    for parser in parsers:
        table.add_row(parser.name, parser.layer, parser.title, parser.page)
    Console().print(table)


def info_table(found: Inventory, details: bool = False) -> None:
    """Print what each file is; with `details`, a paragraph on each as well."""
    console = Console()
    table = _table("file", "=format", "point", "#records", "#TCP", "=begin", "#duration")
    contract = found.to_dict()
    rows: dict[tuple[object, ...], None] = {}
    for source in contract["sources"]:
        if "error" in source:
            continue
        first, last = source["first_s"], source["last_s"]
        row = (
            os.path.basename(source["path"]),
            source["format"],
            source["point"] or "?",
            f"{source['records']:,}",
            "" if source["tcp_segments"] is None else f"{source['tcp_segments']:,}",
            words.begin(first, source["clock"]),
            "" if first is None else words.duration(last - first),
        )
        # A table with columns of several layers is one file: printed once.
        rows.setdefault((source["path"], *row))
    for _, *cells in rows:
        table.add_row(*map(str, cells))
    if table.row_count:
        console.print(table)
    if details:
        for source in contract["sources"]:
            if "error" not in source:
                _details(console, source)
    for source in contract["sources"]:
        if "error" in source:
            _line(console, "cannot read", f"{source['path']}: {source['error']}", "red")
    if contract["skipped"]:
        names = ", ".join(os.path.basename(entry["path"]) for entry in contract["skipped"])
        _line(console, "not traces", names, "dim")
    print_issues(console, [issue for source in contract["sources"] for issue in source.get("issues", [])])


def _details(console: Console, source: Object) -> None:
    """All about one file that its line has no room for."""
    _heading(console, os.path.basename(source["path"]))
    _line(console, "Format", f"{source['format']}, layer {source['layer']}")
    _line(console, "Clock", source["clock"])
    rest = dict(source["details"])
    why, evidence = rest.pop("point_by", None), rest.pop("point_evidence", None)
    _line(console, "Point", f"{source['point'] or 'unknown'}{f' ({why})' if why else ''}")
    if evidence:
        _line(console, "Seen there", _seen(evidence))
    if source["connections"]:
        _line(console, "Connections", f"{source['connections']:,}")
    rows = ", ".join(f"{name} {count:,}" for name, count in source["rows"].items() if count)
    _line(console, "Rows", rows or "none")
    for name, value in rest.items():
        label = name.replace("_", " ").capitalize()
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            for at, item in enumerate(value):
                _line(console, "" if at else label, _facts(item))
            continue
        if name in COUNTS and isinstance(value, int):
            value = f"{value:,}"
        elif name in COUNTS and isinstance(value, dict):
            value = ", ".join(f"{kind} {number:,}" for kind, number in value.items())
        elif isinstance(value, dict):
            value = _facts(value)
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        if value not in (None, ""):
            _line(console, label, str(value))


def _seen(evidence: Object) -> str:
    """What in a capture shows where on the path it was taken: TTL, offloads, halves of the RTT."""
    seen = []
    hops = [
        f"{quantities.count(evidence[f'hops_from_{end}'], 'hop')} from the {end}"
        for end in ("sender", "receiver")
        if evidence.get(f"hops_from_{end}") is not None
    ]
    if hops:
        seen.append(f"{' and '.join(hops)} (by TTL)")
    offloading = [end for end in ("sender", "receiver") if evidence.get(f"{end}_offloads_checksums")]
    if offloading:
        seen.append(f"checksums left to the network card of the {' and the '.join(offloading)}")
    if evidence.get("segments_above_mss"):
        seen.append("segments larger than the MSS")
    halves = [
        f"at least {words.duration(evidence[f'toward_{end}_ms'] / 1e3)} toward the {end}"
        for end in ("receiver", "sender")
        if evidence.get(f"toward_{end}_ms") is not None
    ]
    if halves:
        seen.append(f"of the RTT {', '.join(halves)}")
    return "; ".join(seen)


def _facts(item: Object) -> str:
    """``ue 0, bearer rb3, data pdus 105``."""
    return ", ".join(f"{str(key).replace('_', ' ')} {one}" for key, one in item.items())
