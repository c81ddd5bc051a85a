"""Result files of OMNeT++: vectors, scalars, indexes of vectors (docs/formats/omnetpp.md)."""

from __future__ import annotations

import re
from typing import Any

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Source, Trace

_HEAD = re.compile(rb"(?:file \d+ \d+[ \t]*\r?\n)?version [123][ \t]*\r?\n(?:[^\n]*\n)??run [^\n]+")
_LISTED = 50


def sniff(head: bytes) -> bool:
    """Whether it begins with a version and a run, as result files do."""
    return _HEAD.match(head) is not None


def parse(path: str) -> Trace:
    """Read a result file: vectors as `series`, scalars and fields of statistics as `scalars`.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If there is no result in it.

    Notes
    -----
    Of an index, which has only blocks of vectors, `scalars` has the count, the smallest, the largest and the
    mean value of each vector.

    Reference: OMNeT++ Simulation Manual, "Result File Formats".
    """
    scan = native.scan("omnetpp", path)
    facts = scan.facts
    series, scalars = _series(scan), _index(facts) if facts["is_index"] else _scalars(scan)
    if not len(series) and not len(scalars):
        raise CorruptTrace(f"{path}: no result of OMNeT++ can be read; is it cut or another format?")
    first, last = facts["span"] or (0, 0)
    if len(scalars):
        scalars = scalars.replace(t_ns=np.full(len(scalars), last, dtype=np.int64))
    source = Source(
        path=path,
        format="omnetpp",
        layer="kernel",
        records=len(series) + len(scalars),
        clock="simulation",
        first_ns=first,
        last_ns=last,
        resolution_ns=facts["resolution_ns"],
        details=_details(facts),
    )
    return Trace(source, {"series": series, "scalars": scalars}, scan.issues)


def _series(scan: native.Scan) -> Table:
    raw = scan.tables["vectors"]
    names = np.array([" ".join(vector) for vector in scan.facts["vectors"]] or [""], dtype=object)
    columns = {name: raw[name] for name in ("t_ns", "record", "value")}
    columns["name"] = names[raw["vector"]]
    return Table.filled(schema.SERIES, len(raw["t_ns"]), columns).sorted_by("t_ns")


def _scalars(scan: native.Scan) -> Table:
    raw = scan.tables["scalars"]
    modules, names = (np.array(words, dtype=object) for words in scan.facts["scalars"])
    columns = {"record": raw["record"], "value": raw["value"], "module": modules, "name": names}
    return Table.filled(schema.SCALARS, len(raw["record"]), columns)


def _index(facts: dict[str, Any]) -> Table:
    """What an index holds of each vector that has values."""
    rows: list[tuple[int, str, str, float]] = []
    for (module, name), (record, count, low, high, total) in zip(
        facts["vectors"], facts["blocks"], strict=True
    ):
        if not count:
            continue
        found = {"count": float(count), "min": low, "max": high, "mean": total / count}
        rows += [(record, module, f"{name}:{word}", value) for word, value in found.items()]
    records, modules, names, values = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns = {
        "record": np.array(records, dtype=np.int64),
        "module": np.array(modules, dtype=object),
        "name": np.array(names, dtype=object),
        "value": np.array(values, dtype=np.float64),
    }
    return Table.filled(schema.SCALARS, len(rows), columns)


def _details(facts: dict[str, Any]) -> dict[str, Any]:
    details: dict[str, Any] = {
        "run": facts["run"],
        "attributes": facts["attributes"],
        "kind": "index of vectors" if facts["is_index"] else "vectors" if facts["vectors"] else "scalars",
    }
    if facts["vectors"]:
        details["vectors"] = len(facts["vectors"])
        details["names"] = sorted({name for _, name in facts["vectors"]})[:_LISTED]
    if facts["bins"]:
        details["histogram_cells_passed_over"] = facts["bins"]
    if facts["undefined"]:
        details["values_that_are_no_numbers"] = facts["undefined"]
    return details


PARSER = Parser(
    name="omnetpp",
    title="OMNeT++ result files: vectors (.vec), scalars (.sca), indexes (.vci)",
    layer="kernel",
    sniff=sniff,
    parse=parse,
)
