"""Captures of LTE and NR PDUs: MAC, RLC, PDCP (docs/formats/rlc.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

from multitracer import native
from multitracer.model import fileoptions, schema
from multitracer.model.errors import CorruptTrace, Issue, UsageError
from multitracer.model.lazy import np
from multitracer.model.linktype import rlc
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Source, Trace
from multitracer.parsers._helpers.tcptables import tcp_tables

ENTITIES = ["ue", "bs"]
_TABLES = (schema.LINK_FRAMES, schema.LINK_EVENTS, schema.LINK_RADIO, schema.RLC_PDUS, schema.RLC_SDUS)
_SHOWN = 20


def sniff(head: bytes) -> bool:
    """Whether the first packets of a capture hold PDUs of LTE or NR, and none holds TCP."""
    return native.sniff_rlc(head)


def parse(path: str) -> Trace:
    """Read the busiest bearer, and the TCP in it where it is not ciphered.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no bearer is in it.

    Notes
    -----
    A PDU that was captured is a "snd" row of its sender. Where the file shows that both ends captured it
    (interfaces "ue" and "bs"), what an end received is a "rcv" row.

    Reference: 3GPP TS 36.322, TS 38.322 (RLC); TS 36.321, TS 38.321 (MAC).
    """
    return configured(path, {})


def configured(path: str, settings: Mapping[str, Any]) -> Trace:
    """As `parse`, of a certain terminal (``ue = 70``) or ``bearer = "drb2"``; ``seen_at = "bs"``: by whom."""
    ue, bearer, seen_at = _choice(path, settings)
    scan = native.read_rlc(path, ue=ue, bearer=bearer, view=seen_at)
    if scan.facts["bearer"] is None:
        raise CorruptTrace(f"{path}: {_nothing(scan.facts, ue, bearer)}")
    return _trace(path, scan)


def merge_traces(traces: list[Trace], settings_of: Callable[[str], Mapping[str, Any]]) -> list[Trace]:
    """The captures of both ends of a bearer, or of its two directions, with one numbering.

    What an end received is a "rcv" row then. Two that share no PDUs, or were taken at one place, stay apart.
    """
    logs = [
        trace
        for trace in traces
        if trace.source.format == "rlc" and trace.source.layer == "link" and os.path.isfile(trace.source.path)
    ]
    for first, second in combinations(logs, 2):
        paths = first.source.path, second.source.path
        choices = [_choice(path, settings_of(path)) for path in paths]
        scans = native.read_rlc_pair(paths, choices)
        if scans is not None:
            joined = [_trace(path, scan, both=True) for path, scan in zip(paths, scans, strict=True)]
            new = {one.source.path: [one, *one.others] for one in joined}
            rest = [trace for trace in traces if trace.source.path not in new]
            return [*new[paths[0]], *new[paths[1]], *rest]
    return traces


def _choice(path: str, settings: Mapping[str, Any]) -> tuple[int | None, str | None, str | None]:
    """Terminal, bearer and view that measurement.toml asks for."""
    ue = settings.get("ue")
    if ue is not None and (isinstance(ue, bool) or not isinstance(ue, int) or not 0 < ue < 1 << 16):
        raise UsageError(f"measurement.toml: ue of {path} must be a number from 1 to 65535 (UEID or C-RNTI)")
    bearer = fileoptions.text(settings, path, "bearer")
    return ue, bearer, fileoptions.text(settings, path, "seen_at", ("air", *ENTITIES))


def _trace(path: str, scan: native.Scan, both: bool = False) -> Trace:
    """A trace of what was read; `both`: another file has the other end's view."""
    facts = scan.facts
    tables = {declared.name: Table.in_time(declared, scan.tables[declared.name]) for declared in _TABLES}
    times = [int(t) for table in tables.values() if len(table) for t in table["t_ns"][[0, -1]]]
    if not times:
        raise CorruptTrace(f"{path}: PDUs of bearers, of which none can be decoded")
    source = Source(
        path=path,
        format="rlc",
        layer="link",
        records=facts["lines"],
        clock="realtime",
        first_ns=min(times),
        last_ns=max(times),
        resolution_ns=facts["resolution_ns"],
        point="+".join(ENTITIES),
        details=_details(facts),
    )
    ends = {"ue", "bs"} & set(facts["views"])
    seen = len(ends) == 2 or (both and bool(ends))
    links = [rlc(facts["bearer"]["radio"], seen, facts["bearer"]["mode"])] * len(ENTITIES)
    trace = Trace(source, tables, scan.issues, entities=list(ENTITIES), links=links)
    inside = _clear_text(path, facts)
    if inside is not None:
        trace.others.append(inside)
    return trace


def _nothing(facts: Mapping[str, Any], ue: int | None, bearer: str | None) -> str:
    known = ", ".join(f"ue {one['ue']} {one['bearer']}" for one in facts["bearers"][:_SHOWN])
    if known and (ue is not None or bearer is not None):
        return f"the bearer that measurement.toml asks for is not in it; there are {known}"
    if facts["counts"]["pdus"]:
        return (
            "PDUs of LTE or NR, but no bearer; "
            "capture at the MAC or RLC layer of a terminal that is connected"
        )
    return "no MAC, RLC or PDCP PDU in it (LINKTYPE 147, 149 or 252, or UDP with their names)"


def _details(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What `info` shows in addition."""
    bearers = facts["bearers"]
    details: dict[str, Any] = {
        **facts["bearer"],
        "seen_at": facts["views"],
        "pdus_shared_with_the_other_end": facts.get("shared_pdus"),
        "pdus_by_kind": {name: count for name, count in facts["counts"].items() if count},
        "bearers": bearers[:_SHOWN],
        "pdcp_sn_bits": facts["pdcp_bits"] or None,
        "ip_packets_in_the_clear": facts["packets"],
    }
    if len(bearers) > _SHOWN:
        details["bearer_count"] = len(bearers)
    return details


def _clear_text(path: str, facts: Mapping[str, Any]) -> Trace | None:
    """The TCP in the bearer's packets, each at the time its last byte was first sent."""
    found = facts.get("tcp")
    if found is None or not len(found["segments"]["t_ns"]):
        return None
    tables = tcp_tables(found)
    times = tables["segments"]["t_ns"]
    source = Source(
        path=path,
        format="rlc",
        layer="tcp",
        records=facts["packets"],
        clock="realtime",
        first_ns=int(times.min()),
        last_ns=int(times.max()),
        resolution_ns=facts["resolution_ns"],
        tcp_segments=len(times),
        details={"inside": "PDCP, not ciphered"},
    )
    issues = [Issue(code, count, record, detail, path) for code, count, record, detail in found["issues"]]
    places = np.asarray(found["offsets"], dtype=np.int64)
    return Trace(source, tables, issues, connections=found["connections"], places=places)


PARSER = Parser(
    name="rlc",
    title="captures of LTE and 5G NR PDUs: MAC, RLC, PDCP (srsRAN, OpenAirInterface, LTESniffer, lab)",
    layer="link",
    sniff=sniff,
    parse=parse,
    configured=configured,
    merge_traces=merge_traces,
)
