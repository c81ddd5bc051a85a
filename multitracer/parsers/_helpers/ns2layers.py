"""What the layers below TCP did in an ns-2 simulation, as tables: MAC frames, drops, energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from multitracer.model import schema
from multitracer.model.lazy import np
from multitracer.model.linktype import LinkType
from multitracer.model.table import Array, Table

if TYPE_CHECKING:
    from multitracer.native import Scan

_CONTROL = ("RTS", "CTS", "ACK")
_TCP = ("tcp", "ack")
DROPS = LinkType(
    "ns2-drops",
    "queues and radios of ns-2",
    unit="packet",
    slotted=False,
    acknowledgement="none",
    lacks=frozenset(
        {"arrivals", "attempts", "airtime", "flow_control", "flushes", "idle", "offsets", "resets"}
    ),
)


def mac_frames(scan: Scan) -> Table:
    """Data and control frames that radios sent and received."""
    data, events, kinds = scan.tables["frames"], scan.tables["events"], scan.facts["kinds"]
    codes = np.full(len(kinds), -1, dtype=np.int8)
    for name in _CONTROL:
        codes[kinds.index(name)] = schema.MAC_KINDS.index(name)
    places = _nodes(scan.facts["entities"])
    received = (codes[events["kind"]] >= 0) & (events["action"] < len(schema.MAC_ACTIONS))
    parts = []
    for rows, mine, kind in (
        (data, np.ones(len(data["t_ns"]), dtype=bool), np.zeros(len(data["t_ns"]), dtype=np.int8)),
        (events, received, codes[events["kind"]]),
    ):
        columns: dict[str, Any] = {
            name: rows[name][mine] for name in ("t_ns", "record", "action", "length") if name in rows
        }
        columns |= {"node": places[rows["entity"][mine]], "kind": kind[mine]}
        columns["source"] = np.zeros(int(mine.sum()), dtype=np.int16)
        columns["attempt"] = rows["attempt"] if "attempt" in rows else np.zeros(len(columns["t_ns"]))
        if "ns" in rows:
            columns["uid"] = rows["ns"][mine]
        parts.append(Table.filled(schema.MAC_FRAMES, len(columns["t_ns"]), columns))
    return Table.concat(schema.MAC_FRAMES, parts).sorted_by("t_ns")


def packet_drops(scan: Scan) -> Table:
    """All drops with layer, reason and kind of packet."""
    events = scan.tables["events"]
    rows = np.flatnonzero(events["reason"] >= 0)
    words = [_words(reason) for reason in scan.facts["reasons"]]
    reason = events["reason"][rows]
    places = np.array(scan.facts["entities"] or [""], dtype=object)
    columns: dict[str, Any] = {name: events[name][rows] for name in ("t_ns", "record", "length")}
    columns |= {"place": places[events["entity"][rows]], "source": np.zeros(len(rows), dtype=np.int16)}
    for at, name in enumerate(("layer", "reason", "packet")):
        columns[name] = np.array([*(word[at] for word in words), ""], dtype=object)[reason]
    return Table.filled(schema.PACKET_DROPS, len(rows), columns).sorted_by("t_ns")


def link_drops(scan: Scan) -> tuple[Table, list[str]]:
    """Packets of TCP that a queue dropped or a radio gave up, as events of links, and the places."""
    events, kinds = scan.tables["events"], scan.facts["kinds"]
    ours = np.array([_words(reason)[2] in _TCP for reason in scan.facts["reasons"]] + [False])
    turn = {
        kinds.index("lost"): schema.LINK_EVENTS.code("kind", "drop"),
        kinds.index("given_up"): schema.LINK_EVENTS.code("kind", "discard"),
    }
    rows = np.flatnonzero(ours[events["reason"]] & np.isin(events["kind"], list(turn)))
    known, place = np.unique(events["entity"][rows], return_inverse=True)
    columns: dict[str, Any] = {name: events[name][rows] for name in ("t_ns", "record", "length")}
    columns |= {
        "source": np.zeros(len(rows), dtype=np.int16),
        "entity": place.astype(np.int16),
        "action": np.full(len(rows), schema.LINK_EVENTS.code("action", "evt")),
        "kind": np.array([turn[kind] for kind in events["kind"][rows].tolist()], dtype=np.int8),
    }
    names = [scan.facts["entities"][at] for at in known.tolist()]
    return Table.filled(schema.LINK_EVENTS, len(rows), columns).sorted_by("t_ns"), names


def energy(scan: Scan) -> Table:
    """What nodes have left, by their numbers."""
    left = scan.tables["energy"]
    columns: dict[str, Any] = {name: left[name] for name in ("t_ns", "record")}
    columns |= {"node": _nodes(scan.facts["entities"])[left["entity"]], "left": left["joules"]}
    columns["source"] = np.zeros(len(left["t_ns"]), dtype=np.int16)
    return Table.filled(schema.ENERGY, len(left["t_ns"]), columns).sorted_by("t_ns")


def _nodes(entities: list[str]) -> Array:
    """Numbers of nodes by entity, which are called ``_3_``; -1 for wired links, called ``0-1``."""
    numbers = [int(name.strip("_")) if name.startswith("_") else -1 for name in entities]
    return np.array(numbers or [-1], dtype=np.int64)


def _words(reason: str) -> tuple[str, str, str]:
    layer, _, rest = reason.partition(" ")
    why, _, packet = rest.partition(" ")
    return layer, "" if why == "---" else why, packet
