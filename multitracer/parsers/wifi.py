"""Captures of 802.11 frames, as a monitor receives them (docs/formats/wifi.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace, Issue, UsageError
from multitracer.model.linktype import WIFI
from multitracer.model.parser import Parser
from multitracer.model.table import Table
from multitracer.model.trace import Source, Trace
from multitracer.parsers._helpers.tcptables import tcp_tables

_ADDRESS = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
# Reported for the file by the reader of the link already.
_OF_THE_FILE = frozenset(
    {"bad-block", "bad-record", "decompression-limit", "malformed-packet", "time-backwards", "truncated-file"}
)


def sniff(head: bytes) -> bool:
    """Whether the first packet of a capture is an 802.11 frame, bare or after a radio header."""
    return native.sniff_wifi(head)


def parse(path: str) -> Trace:
    """Read the busiest link of a capture, and the TCP that it carried in the clear.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If its header is damaged, or no 802.11 frame can be read.

    Notes
    -----
    A transmission that was seen is a "snd" row, its acknowledgement a "rcv" row at the other side: what the
    monitor did not see is listed as "unseen" in `link_events`, never as lost.

    Reference: IEEE 802.11-2020 sections 9.2, 9.3, 10.3.2; radiotap.org.
    """
    return configured(path, {})


def configured(path: str, settings: Mapping[str, Any]) -> Trace:
    """As `parse`, with whose link is wanted (``station = "02:00:00:00:00:01"``), and ``retry_limit = 7``."""
    station = settings.get("station")
    if station is not None and not (isinstance(station, str) and _ADDRESS.fullmatch(station.lower())):
        raise UsageError(f'measurement.toml: station of {path} must be an address ("02:00:00:00:00:01")')
    limit = settings.get("retry_limit")
    if limit is not None and (
        isinstance(limit, bool) or not isinstance(limit, int) or not 0 < limit < 1 << 15
    ):
        raise UsageError(f"measurement.toml: retry_limit of {path} must be a number of retransmissions")
    address = None if station is None else bytes.fromhex(station.replace(":", ""))
    scan = native.read_wifi(path, station=address, retry_limit=limit)
    facts = scan.facts
    if facts["span"] is None or not facts["counts"]["kinds"]:
        raise CorruptTrace(f"{path}: no 802.11 frame can be read; is it cut, or of another link type?")
    if station is not None and not any(
        station.lower() == link[side]["address"] for link in facts["links"][:1] for side in (0, 1)
    ):
        raise UsageError(f"measurement.toml: {path} has no data of station {station}")
    trace = Trace(_source(path, facts), issues=scan.issues)
    if facts["links"]:
        trace.entities = _entities(facts["links"][0])
        trace.links = [WIFI] * len(trace.entities)
        trace.tables = {
            declared.name: Table.in_time(declared, scan.tables[declared.name])
            for declared in (schema.LINK_FRAMES, schema.LINK_EVENTS, schema.LINK_RADIO)
        }
    trace.tables[schema.LINK_AIR.name] = Table.in_time(schema.LINK_AIR, scan.tables[schema.LINK_AIR.name])
    inside = _clear_text(path, facts["repeats"])
    if inside is not None:
        trace.others.append(inside)
    return trace


def _entities(link: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """The two sides by their roles; by their addresses where there is no access point."""
    roles = [link[side]["role"] for side in (0, 1)]
    return roles if roles[0] != roles[1] else [link[side]["address"] for side in (0, 1)]


def _source(path: str, facts: Mapping[str, Any]) -> Source:
    first, last = facts["span"]
    links = facts["links"]
    counts = dict(facts["counts"])
    return Source(
        path=path,
        format="wifi",
        layer="link",
        records=facts["lines"],
        clock="realtime",
        first_ns=first,
        last_ns=last,
        resolution_ns=facts["resolution_ns"],
        point="+".join(_entities(links[0])) if links else None,
        details={
            "packets_by_kind": counts.pop("kinds"),
            **{name: count for name, count in counts.items() if count},
            **(_of_link(facts) if links else {}),
            "links": facts["link_count"],
        },
    )


def _of_link(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Both sides of the link that was read, and what else there is."""
    chosen, *others = facts["links"]
    found: dict[str, Any] = {
        name: {"address": side["address"], **{key: n for key, n in side.items() if isinstance(n, int) and n}}
        for name, side in zip(_entities(chosen), (chosen[0], chosen[1]), strict=True)
    }
    found |= {
        name: chosen[name] for name in ("roams", "power_changes", "asked_for", "held_back") if chosen[name]
    }
    if chosen["held_back_ns"]:
        found["held_back_s"] = round(chosen["held_back_ns"] / 1e9, 6)
    if facts["arrivals"]:
        found["arrivals"] = [_arrival(facts["span"][0], *one) for one in facts["arrivals"]]
    if facts["retry_limit"] is not None:
        found["retry_limit"] = facts["retry_limit"]
    if others:
        found["other_links"] = [
            {"between": [link[side]["address"] for side in (0, 1)], "bytes": _bytes(link)} for link in others
        ]
    return found


def _arrival(
    begin_ns: int,
    asked_ns: int | None,
    associated_ns: int | None,
    keyed_ns: int | None,
    keys_ns: int | None,
    data_ns: int | None,
    fast: bool,
) -> dict[str, Any]:
    """How long a station took from its first request to the next data, and what of it was for what."""
    steps = [one for one in (asked_ns, associated_ns, keyed_ns, keys_ns, data_ns) if one is not None]
    found: dict[str, Any] = {
        "t_s": round((steps[0] - begin_ns) / 1e9, 6),
        "took_ms": round((steps[-1] - steps[0]) / 1e6, 3),
    }
    for name, first, last in (
        ("association_ms", asked_ns, associated_ns),
        ("keys_ms", keyed_ns, keys_ns),
        ("first_data_ms", keys_ns if keys_ns is not None else associated_ns, data_ns),
    ):
        if first is not None and last is not None:
            found[name] = round((last - first) / 1e6, 3)
    return found | ({"fast_transition": True} if fast else {})


def _bytes(link: Mapping[int, Mapping[str, Any]]) -> int:
    return sum(int(link[side]["bytes"]) for side in (0, 1))


def _clear_text(path: str, repeats: list[int]) -> Trace | None:
    """The TCP of all stations that was not encrypted, each packet once however often the radio sent it."""
    found = native.read_capture(path, keep_segments=True, skip=repeats)
    tables = tcp_tables(found)
    if not len(tables["segments"]):
        return None
    info = found["info"]
    source = Source(
        path=path,
        format="wifi",
        layer="tcp",
        records=info["records"],
        clock="realtime",
        first_ns=info["first_ns"],
        last_ns=info["last_ns"],
        resolution_ns=info["resolution_ns"],
        tcp_segments=len(tables["segments"]),
        details={"link_type": info["link_type_name"], "sent_again_by_the_radio": len(repeats)},
    )
    issues = [
        Issue(code, count, record, detail, path)
        for code, count, record, detail in found["issues"]
        if code not in _OF_THE_FILE
    ]
    return Trace(source, tables, issues, connections=found["connections"])


PARSER = Parser(
    name="wifi",
    title="captures of 802.11 frames: radiotap, PPI, Prism, AVS, bare (monitor mode)",
    layer="link",
    sniff=sniff,
    parse=parse,
    configured=configured,
)
