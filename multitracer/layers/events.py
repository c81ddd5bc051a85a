"""The unified table: what every layer saw, in time order, under the paper's series names.

Names are ``<layer><point>_<what>``: ``TcpSnd_data``, ``TcpRcv_ack``, ``RlpSnd_rexmt``. *Snd* and *Rcv*
are relative to the bulk of the data of the connection; the link entity next to the TCP data sender is
*RlpSnd* (*WifiSnd*, *RlcSnd*: `LinkType.prefix`). Per entity, ``data`` and ``rexmt`` are frames in the data
direction (sent by RlpSnd, received by RlpRcv) and ``ack`` are frames against it; a signal (``srej``,
``xoff``, ``xon``) is named where it was received, and with ``_sent`` where it was sent.

Reference: Paper section 4.5; RFC 7011 section 2 (observation point).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from multitracer.layers.link.resetlog import handshakes
from multitracer.model import schema
from multitracer.model.linktype import RLP
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

_FIN, _SYN, _RST = 0x001, 0x002, 0x004
_SIDES = np.array(["Snd", "Rcv", "Mid"], dtype=object)
_POINTS = np.array(["snd", "rcv", ""], dtype=object)
_SND, _RCV, _MID = 0, 1, 2
_SENT, _RECEIVED = 0, 1
_STATES = (
    ("cwnd", "cwnd", 1.0),
    ("ssthresh", "ssthresh", 1.0),
    ("snd_wnd", "rwnd", 1.0),
    ("srtt_ns", "srtt", 1e-9),
    ("rto_ns", "rto", 1e-9),
)


def unified(timeline: Timeline) -> Table:
    """The table of all events of a timeline, built at the first call; see `unify`."""
    return timeline.once("events", lambda: unify(timeline))


def in_slices(timeline: Timeline, rows: int, low: int, high: int) -> Iterator[Table]:
    """The events of a timeline in order of time, as tables that are made one after another; see `unify`.

    Put together they are the rows of `unify` in the same order, without what that keeps of all at once.

    Parameters
    ----------
    timeline : Timeline
    rows : int
        About how many events a table holds; those of one instant are never parted.
    low, high : int
        Nanoseconds: events from `low` on and before `high`.

    Yields
    ------
    Table
        As `unify` gives them; none is empty.
    """
    tables = {name: table.sorted_by("t_ns") for name in _OF_EVENTS if len(table := timeline.table(name))}
    lengths = [len(table) for table in tables.values()]
    # Every so many rows of each table one time; between two of them no table has more.
    edges = np.unique(
        np.concatenate([np.array([low, high]), *(table["t_ns"][::rows] for table in tables.values())])
    )
    edges = edges[(edges >= low) & (edges <= high)] if sum(lengths) else edges[:0]
    side, begun = _entity_sides(timeline), _resets_begun(timeline)
    for first, end in pairwise(edges.tolist()):
        part = {}
        for name, table in tables.items():
            begin, stop = np.searchsorted(table["t_ns"], [first, end])
            part[name] = table.where(np.arange(begin, stop))
        slice_of = replace(timeline, tables={**timeline.tables, **part})
        slice_of.once("data_dirs", partial(_data_dirs, timeline))
        found = _unify(slice_of, side, begun)
        if len(found):
            yield found


_OF_EVENTS = ("segments", "tcp_states", "kernel_events", "link_frames", "link_events", "series")
"""Tables whose rows are events."""


def unify(measurement: Timeline) -> Table:
    """All events of a measurement in one table.

    Parameters
    ----------
    measurement : Timeline

    Returns
    -------
    Table
        Schema `EVENTS`, sorted by time. `value` holds bytes (``rwnd``, the window of an ACK, bytes
        flushed at a reset), packets (``cwnd``, ``ssthresh``) or seconds (``srtt``, ``rto``), by its name.
        Sockets that no capture knows are left out where there are captures.
    """
    return _unify(measurement, _entity_sides(measurement), _resets_begun(measurement))


def _unify(measurement: Timeline, side: Array, begun: set[tuple[int, int]]) -> Table:
    """The events of the rows that a timeline has; what is asked of all of it was asked before."""
    parts = [*_segments(measurement), *_states(measurement), *_kernel_events(measurement)]
    parts += [*_frames(measurement, side), *_signals(measurement, side, begun), *_series(measurement)]
    return Table.concat(schema.EVENTS, [part for part in parts if len(part)]).sorted_by("t_ns")


def sender_entity(measurement: Timeline) -> int | None:
    """The link entity next to the TCP data sender, the one that sends most bytes; None without a log."""
    surplus = _entity_surplus(measurement)
    if not len(surplus):
        return None
    top = int(np.argmax(surplus))
    return top if len(surplus) > 1 or surplus[top] > 0 else None


def _entity_surplus(measurement: Timeline) -> Array:
    frames = measurement.table("link_frames")
    count = len(measurement.entities)
    known = (frames["entity"] >= 0) & (frames["length"] > 0)
    sent = known & (frames["action"] == _SENT) & (frames["attempt"] == 0)
    received = known & (frames["action"] == _RECEIVED) & (frames["duplicate"] <= 0)
    length = frames["length"].astype(np.float64)
    total = np.bincount(frames["entity"][sent], length[sent], minlength=count)
    return np.asarray(total - np.bincount(frames["entity"][received], length[received], minlength=count))


def _entity_sides(measurement: Timeline) -> Array:
    """Side of each entity; the last entry answers for frames without one."""
    top = sender_entity(measurement)
    return np.array([int(i != top) for i in range(len(measurement.entities))] + [_MID], dtype=np.int64)


def _part(
    table: Table, rows: Array, layer: str, kind: str | Array, names: Array, points: Array, **columns: Any
) -> Table:
    """Events made of some rows of a table."""
    count = len(rows)
    code = schema.EVENTS.code
    given = {
        "t_ns": table["t_ns"][rows],
        "source": table["source"][rows],
        "record": table["record"][rows],
        "layer": np.full(count, code("layer", layer), dtype=np.int8),
        "kind": np.full(count, code("kind", kind), dtype=np.int8) if isinstance(kind, str) else kind,
        "name": names,
        "point": points,
        "conn": table["conn"][rows] if "conn" in table else np.full(count, -1, dtype=np.int32),
        **columns,
    }
    return Table.filled(schema.EVENTS, count, given)


def _named(prefix: str, suffix: str) -> Array:
    """The names of one series by side."""
    return np.array([f"{prefix}{side}_{suffix}" for side in _SIDES], dtype=object)


def _data_dirs(measurement: Timeline) -> Array:
    """Direction of the data by connection; the last entry answers for connection -1."""
    return measurement.once(
        "data_dirs", lambda: np.array([*(c.data_dir for c in measurement.connections), 0], dtype=np.int64)
    )


def _segments(measurement: Timeline) -> Iterator[Table]:
    table = measurement.table("segments")
    if not len(table):
        return
    places = {"snd": _SND, "rcv": _RCV}
    by_source = np.array([places.get(s.point or "", _MID) for s in measurement.sources], dtype=np.int64)
    if measurement.snd is None and measurement.rcv is None and len(measurement.sources) == 1:
        by_source[:] = _SND  # a place unknown: analysed as the sender's
    side = by_source[table["source"]]
    along = table["dir"] == _data_dirs(measurement)[table["conn"]]
    control = (table["flags"] & (_SYN | _FIN | _RST)) != 0
    payload = table["length"] > 0
    code = schema.EVENTS.code

    def rows_of(mask: Array, kind: str | Array, suffix: str, **columns: Any) -> Table:
        rows = np.flatnonzero(mask)
        picked = {name: values[rows] for name, values in columns.items()}
        kinds = kind if isinstance(kind, str) else kind[rows]
        points = _POINTS[side[rows]]
        return _part(table, rows, "tcp", kinds, _named("Tcp", suffix)[side[rows]], points, **picked)

    again = np.where(table["duplicate"] > 0, code("kind", "retransmission"), code("kind", "data")).astype(
        np.int8
    )
    window = np.where(table["window"] >= 0, table["window"], np.nan).astype(np.float64)
    yield rows_of(payload & along, again, "data", seq=table["seq"], length=table["length"])
    yield rows_of(payload & ~along, again, "reverse_data", seq=table["seq"], length=table["length"])
    acks = ~along & (table["ack"] >= 0) & ((table["flags"] & (_SYN | _RST)) == 0)
    yield rows_of(acks, "ack", "ack", seq=table["ack"], value=window)
    yield rows_of(control, "control", "control", seq=table["seq"], length=table["length"])


def _socket_sides(measurement: Timeline, table: Table) -> tuple[Array, Array]:
    """For each row of a kernel table whether it counts, and the side of its socket."""
    ours = (table["conn"] >= 0) | (len(measurement.connections) == 0)
    along = table["dir"] == _data_dirs(measurement)[table["conn"]]
    return ours, np.where(along | (table["conn"] < 0), _SND, _RCV)


def _states(measurement: Timeline) -> Iterator[Table]:
    table = measurement.table("tcp_states")
    if not len(table):
        return
    ours, side = _socket_sides(measurement, table)
    for column, suffix, scale in _STATES:
        rows = np.flatnonzero(ours & (table[column] >= 0))
        value = table[column][rows].astype(np.float64) * scale
        names = _named("Tcp", suffix)[side[rows]]
        seq = table["snd_una"][rows]
        yield _part(table, rows, "kernel", "state", names, _POINTS[side[rows]], seq=seq, value=value)


def _kernel_events(measurement: Timeline) -> Iterator[Table]:
    table = measurement.table("kernel_events")
    if not len(table):
        return
    ours, side = _socket_sides(measurement, table)
    for word, suffix, kind in (
        ("retransmit", "kernel_rexmt", "retransmission"),
        ("cong_state", "cong_state", "state"),
        ("sock_state", "sock_state", "state"),
        ("other", "kernel_other", "state"),
    ):
        rows = np.flatnonzero(ours & (table["kind"] == table.code("kind", word)))
        value = table["value"][rows].astype(np.float64)
        yield _part(
            table, rows, "kernel", kind, _named("Tcp", suffix)[side[rows]], _POINTS[side[rows]], value=value
        )


def _series(measurement: Timeline) -> Iterator[Table]:
    """Series of logs that users define: under their own names, with the point that is stated for the file."""
    table = measurement.table("series")
    points = np.array([source.point or "" for source in measurement.sources], dtype=object)
    on_link = np.array([source.layer == "link" for source in measurement.sources], dtype=bool)
    for layer, wanted in (("kernel", False), ("link", True)):
        rows = np.flatnonzero(on_link[table["source"]] == wanted) if len(table) else np.empty(0, np.int64)
        yield _part(
            table,
            rows,
            layer,
            "state",
            table["name"][rows],
            points[table["source"][rows]],
            value=table["value"][rows],
        )


def _entity_names(measurement: Timeline) -> Array:
    return np.array([*measurement.entities, ""], dtype=object)


def _link_named(measurement: Timeline, sides: Array, suffix: str) -> Array:
    """The names of one series by entity; the last entry answers for frames without one."""
    kinds = [measurement.link_type(entity) for entity in range(len(measurement.entities))]
    prefixes = [*(kind.prefix for kind in kinds), kinds[0].prefix if kinds else RLP.prefix]
    names = [f"{prefix}{_SIDES[side]}_{suffix}" for prefix, side in zip(prefixes, sides, strict=True)]
    return np.array(names, dtype=object)


def _frames(measurement: Timeline, sides: Array) -> Iterator[Table]:
    table = measurement.table("link_frames")
    if not len(table):
        return
    entity = table["entity"].astype(np.int64)
    side, names = sides[entity], _entity_names(measurement)
    sent = table["action"] == _SENT
    again = sent & (table["attempt"] > 0)
    along = np.where(side == _RCV, ~sent, sent)  # what RlpSnd sends and RlpRcv receives goes with the data
    for mask, suffix, kind in (
        (along & ~again, "data", "frame"),
        (~along & ~again, "ack", "frame"),
        (again, "rexmt", "frame_retransmission"),
    ):
        rows = np.flatnonzero(mask)
        value = np.where(again[rows], table["attempt"][rows], np.nan)
        yield _part(
            table,
            rows,
            "link",
            kind,
            _link_named(measurement, sides, suffix)[entity[rows]],
            names[entity[rows]],
            seq=table["offset"][rows],
            length=table["length"][rows],
            value=value,
        )


def _resets_begun(measurement: Timeline) -> set[tuple[int, int]]:
    """Time and entity of each link reset, as `link_resets` counts them."""
    if not len(measurement.table("link_events")):
        return set()
    return {(one.start_ns, one.entity) for one in handshakes(measurement)}


def _first_of_resets(table: Table, begun: set[tuple[int, int]]) -> Array:
    """Lines of the log with which a link reset began: one for each."""
    lines = zip(table["t_ns"].tolist(), table["entity"].tolist(), strict=True)
    return np.array([line in begun for line in lines], dtype=np.bool_)


def _signals(measurement: Timeline, sides: Array, begun: set[tuple[int, int]]) -> Iterator[Table]:
    table = measurement.table("link_events")
    if not len(table):
        return
    entity = table["entity"].astype(np.int64)
    names = _entity_names(measurement)
    sent = table["action"] == _SENT
    words = {"reset": "rst", "drop": "drop", "RNR": "xoff", "RR": "xon"}
    kinds = {"reset": "reset", "drop": "drop"}
    first = _first_of_resets(table, begun)
    for code in np.unique(table["kind"]).tolist():
        word = schema.LINK_KINDS[code]
        suffix = words.get(word, word.lower())
        for outgoing in (False, True):
            rows = np.flatnonzero((table["kind"] == code) & (sent == outgoing))
            value = np.where(table["flush_tx"][rows] >= 0, table["flush_tx"][rows], np.nan).astype(np.float64)
            series = _link_named(measurement, sides, f"{suffix}_sent" if outgoing else suffix)[entity[rows]]
            kind = kinds.get(word, "signal")
            if word == "reset":
                # The paper's RlpSnd_rst is a reset of the link, by either entity; the rest are what followed.
                peer = _link_named(measurement, sides, "rst_peer")[entity[rows]]
                performed = np.array([f"{name.partition('_')[0][:-3]}Snd_rst" for name in peer], dtype=object)
                series = np.where(first[rows], performed, peer)
            yield _part(
                table,
                rows,
                "link",
                kind,
                series,
                names[entity[rows]],
                length=table["length"][rows],
                value=value,
            )
