"""Variables that scripts of ns-3 write over time: cwnd, ssthresh, rtt ... (docs/formats/ns3-series.md)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model import fileoptions, schema
from multitracer.model.errors import CorruptTrace, UsageError
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Flow, Source, Trace

_NUMBER = rb"\+?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?:[mun]?s)?"
_LINE = re.compile(
    rb"(?P<time>" + _NUMBER + rb")[ \t]+" + _NUMBER + rb"(?:[ \t]+" + _NUMBER + rb")?[ \t]*\r?"
)
_FEW = 2

# Variable, how file names call it, unit
_VARIABLES = (
    ("cwnd", r"cwnd|congestion-?window", "bytes"),
    ("ssthresh", r"ss-?th(?:resh)?(?:old)?", "bytes"),
    ("srtt", r"s?rtt", "s"),
    ("rto", r"rto", "s"),
    ("inflight", r"(?:bytes-?)?in-?flight", "bytes"),
    ("snd_nxt", r"next-?tx|snd-?nxt", "bytes"),
    ("rcv_nxt", r"next-?rx|rcv-?nxt", "bytes"),
)
VARIABLES = tuple(name for name, _, _ in _VARIABLES)
_UNITS = {"bytes": ("bytes", "packets"), "s": tuple(fileoptions.SECONDS)}


def sniff(head: bytes) -> bool:
    """Whether all lines are a time that does not go back and one number or two."""
    lines = head.split(b"\n")[:-1]
    last, count = -1.0, 0
    for line in lines:
        if line.startswith(b"#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            return False
        try:
            time = float(found["time"].rstrip(b"muns"))
        except ValueError:
            return False
        if time < last:
            return False
        last, count = time, count + 1
    return count >= _FEW


def parse(path: str) -> Trace:
    """Read the values: `series`, named by the variable that the file's name holds, else by the file.

    Next to a capture of the same simulation they become `tcp_states` of the connection that they belong to.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no line can be read.

    Reference: ns-3 ``examples/tcp/tcp-variants-comparison.cc``, ``examples/tutorial/sixth.cc``.
    """
    return configured(path, {})


def configured(path: str, settings: Mapping[str, Any]) -> Trace:
    """As `parse`, with ``variable``, ``unit``, ``mss``, and the socket as ``local`` and ``remote``."""
    stated = fileoptions.text(settings, path, "variable", VARIABLES)
    variable = stated or _named(path)
    usual = {name: unit for name, _, unit in _VARIABLES}.get(variable or "")
    unit = fileoptions.text(settings, path, "unit", _UNITS.get(usual or "", ())) or usual
    mss = settings.get("mss")
    if mss is not None and (isinstance(mss, bool) or not isinstance(mss, int) or not 0 < mss < 1 << 31):
        raise UsageError(f"measurement.toml: mss of {path} must be a number of bytes")
    flows = _flows(path, settings)
    scan = native.scan("ns3_series", path)
    raw = scan.tables["series"]
    rows = len(raw["t_ns"])
    if not rows:
        raise CorruptTrace(f"{path}: no line of a time and a value can be read; is it cut or another format?")
    name = variable or os.path.basename(path).partition(".")[0] or "value"
    names = np.full(rows, name, dtype=object)
    series = Table.filled(schema.SERIES, rows, {**raw, "name": names}).sorted_by("t_ns")
    details: dict[str, Any] = {
        "variable": variable,
        "variable_by": "measurement.toml" if stated else "name of the file" if variable else None,
        "unit": unit,
        "significant_digits": scan.facts["digits"],
    }
    run = _run(path) if variable and not stated else None
    if run is not None:
        details["run"] = run
    if mss is not None:
        details["mss"] = mss
    source = Source(
        path=path,
        format="ns3-series",
        layer="kernel",
        records=rows,
        clock="simulation",
        first_ns=int(series["t_ns"][0]),
        last_ns=int(series["t_ns"][-1]),
        resolution_ns=scan.facts["resolution_ns"],
        details=details,
    )
    return Trace(source, {"series": series}, scan.issues, flows)


def named(path: str) -> bool:
    """Whether the name of a file holds a variable: numbers in two columns may be anything else."""
    return bool(_variables(path))


def _named(path: str) -> str | None:
    """The variable that the name of a file holds as a word; None if it holds none or several."""
    found = _variables(path)
    return found[0] if len(found) == 1 else None


def _run(path: str) -> str:
    """The rest of a file's name after its variable: files of one run, a variable each, have it in common."""
    called = "|".join(words for _, words, _ in _VARIABLES)
    stem = (
        re.sub(r"\.[A-Za-z]\w*$", "", os.path.basename(path))
        if _kept_by_stem(path)
        else os.path.basename(path)
    )
    left = re.sub(rf"(?<![a-z])(?:{called})(?![a-z])", "", stem, count=1, flags=re.IGNORECASE)
    return re.sub(r"[^A-Za-z0-9]+", "-", left).strip("-").lower()


def _kept_by_stem(path: str) -> bool:
    """Whether the name without its ending still holds the variable (``sixth.cwnd`` does not)."""
    stem, ending = os.path.splitext(os.path.basename(path))
    return bool(ending) and bool(_variables(stem))


def _variables(path: str) -> list[str]:
    words = re.sub(r"[^a-z]+", "-", os.path.basename(path).lower())
    return [
        name for name, called, _ in _VARIABLES if re.search(rf"(?:^|-)(?:{called})(?:-|$)", words) is not None
    ]


def _flows(path: str, settings: Mapping[str, Any]) -> list[Flow]:
    ends = [fileoptions.text(settings, path, name) for name in ("local", "remote")]
    if ends == [None, None]:
        return []
    flow = fileoptions.flow(str(ends[0]), str(ends[1]))
    if flow is None:
        raise UsageError(f'measurement.toml: local and remote of {path} must be like "10.0.0.1:5201"')
    return [flow]


PARSER = Parser(
    name="ns3-series",
    title="ns-3 variables over time: cwnd, ssthresh, rtt, rto, inflight, next-tx (two or three columns)",
    layer="kernel",
    sniff=sniff,
    parse=parse,
    configured=configured,
    named=named,
)
