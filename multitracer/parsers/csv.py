"""Comma-separated values of any make, by their titles or by measurement.toml (docs/formats/csv.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer import native
from multitracer.model import fileoptions, schema
from multitracer.model.errors import CorruptTrace, Issue, UsageError
from multitracer.model.lazy import np
from multitracer.model.parser import Parser
from multitracer.model.table import Array, Table
from multitracer.model.trace import ClockKind, Flow, Layer, Source, Trace
from multitracer.parsers._helpers import csvcolumns, csvmap
from multitracer.parsers._helpers.csvcolumns import Layout

_HEAD_BYTES = 1 << 16
_EPOCH_NS = 10**17  # 1973: no machine is up for so long
_LARGEST = 9e18
_CLOCKS: dict[str, ClockKind] = {"realtime": "realtime", "monotonic": "monotonic", "unknown": "unknown"}
_LAYERS: dict[str, Layer] = {"kernel": "kernel", "link": "link"}
_FRAME = ("", "I", "data", "frame")

Columns = dict[str, Any]


def sniff(head: bytes) -> bool:
    """Whether the first line holds titles of our own making."""
    first = csvcolumns.first_line(head)
    return first is not None and csvcolumns.is_ours(first[1])


def parse(path: str) -> Trace:
    """Read values: `tcp_states` or `link_frames` and `link_events` by their titles, all others as `series`.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If no row can be used, or no column is known to hold times.
    """
    return configured(path, {})


def configured(path: str, settings: Mapping[str, Any]) -> Trace:
    """As `parse`, with the columns, names, units, clock, layer, socket and segment size that are stated.

    Raises
    ------
    UsageError
        Settings that contradict the file.
    """
    if "series" in settings:
        return csvmap.read(path, settings)
    plan = csvcolumns.layout(native.head(path, _HEAD_BYTES), settings, path)
    units = fileoptions.words(settings, path, "units")
    scan = native.scan("csv", path, header=plan.header, separator=plan.separator, kinds=plan.kinds())
    columns, sockets = _named(plan, scan)
    rows = len(columns["t_ns"])
    if not rows:
        raise CorruptTrace(f"{path}: no row of values can be read; see docs/formats/csv.md")
    issues = list(scan.issues)
    order = np.argsort(columns["t_ns"], kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    entities: list[str] = []
    flows: list[Flow] = []
    if "entity" in columns and "action" in columns:
        tables, entities = _frames(columns, issues, path)
        layer: Layer = "link"
    else:
        tables, flows = _values(columns, sockets, settings, units, path)
        wanted = fileoptions.text(settings, path, "layer", tuple(_LAYERS)) or "kernel"
        layer = "kernel" if flows else _LAYERS[wanted]
    first, last = int(columns["t_ns"][0]), int(columns["t_ns"][-1])
    asked = fileoptions.text(settings, path, "clock", tuple(_CLOCKS))
    source = Source(
        path=path,
        format="csv",
        layer=layer,
        records=rows,
        clock=_CLOCKS[asked] if asked else "realtime" if first >= _EPOCH_NS else "unknown",
        first_ns=first,
        last_ns=last,
        resolution_ns=scan.facts["resolution_ns"],
        point="+".join(entities) or None,
        details={
            "columns": [title for title in plan.titles if title],
            "rows": {name: len(table) for name, table in tables.items()},
            "stamps_without_zone_taken_as_utc": scan.facts["zoneless_stamps"],
        },
    )
    return Trace(source, tables, issues, flows, entities)


def _named(plan: Layout, scan: native.Scan) -> tuple[Columns, dict[str, list[str]]]:
    """Columns by our names, words as arrays of text; sockets by number, and what the numbers stand for."""
    found = scan.tables["csv"]
    words = dict(scan.facts["words"])
    columns: Columns = {"t_ns": found["t_ns"], "record": found["record"]}
    sockets: dict[str, list[str]] = {}
    read = [title for title in plan.titles if title and title != "time"]
    for place, title in enumerate(read):
        values = found[str(place)]
        if title in csvcolumns.SOCKETS:
            sockets[title] = words[place]
        elif place in words:
            values = np.array([*words[place], ""], dtype=object)[values]
        columns[title] = values
    return columns, sockets


def _values(
    columns: Columns,
    sockets: Mapping[str, list[str]],
    settings: Mapping[str, Any],
    units: Mapping[str, str],
    path: str,
) -> tuple[dict[str, Table], list[Flow]]:
    """Series by name, and TCP state where the socket is named."""
    renamed = fileoptions.words(settings, path, "names")
    place, flows = _flows(columns, sockets, settings, path)
    mss = settings.get("mss")
    if mss is not None and (isinstance(mss, bool) or not isinstance(mss, int) or not 0 < mss < 1 << 31):
        raise UsageError(f"measurement.toml: mss of {path} must be a number of bytes")
    parts: list[tuple[str, Array, Array]] = []
    if "name" in columns and "value" in columns:
        names = columns["name"]
        for name in dict.fromkeys(names.tolist()):
            rows = np.flatnonzero((names == name) & ~np.isnan(columns["value"]))
            parts.append((renamed.get(name, name), rows, columns["value"][rows]))
    else:
        for name, values in columns.items():
            if name not in ("t_ns", "record", *csvcolumns.SOCKETS):
                rows = (
                    np.flatnonzero(~np.isnan(values)) if values.dtype.kind == "f" else np.empty(0, np.int64)
                )
                parts.append((renamed.get(name, name), rows, values[rows]))
    states: Columns = {}
    used = np.zeros(len(columns["t_ns"]), dtype=bool)
    others: list[tuple[str, Array, Array]] = []
    for name, rows, values in parts:
        state = csvcolumns.state_of(name, units, path) if flows else None
        with np.errstate(over="ignore"):  # what is beyond any number is not sane either
            values = values * (_scale(name, units, path) if state is None else state.factor)
        if state is None:
            others.append((name, rows, values))
            continue
        known = place[rows] >= 0
        rows, values = rows[known], values[known]
        if state.per_mss:
            values = values / (mss or np.nan)
        column = states.setdefault(state.column, np.full(len(used), -1, dtype=np.int64))
        sane = (values >= 0) & (values < _LARGEST)
        column[rows[sane]] = np.rint(values[sane]).astype(np.int64)
        used[rows] = True
    tables = {"series": _series(columns, others)}
    if states:
        limits = {name: np.iinfo(schema.TCP_STATES.by_name[name].dtype).max for name in states}
        picked = {name: np.where(v <= limits[name], v, -1)[used] for name, v in states.items()}
        given = {"t_ns": columns["t_ns"][used], "record": columns["record"][used], "flow": place[used]}
        tables["tcp_states"] = Table.filled(schema.TCP_STATES, int(used.sum()), {**given, **picked})
    return tables, flows


def _scale(name: str, units: Mapping[str, str], path: str) -> float:
    """The factor to seconds or bytes that measurement.toml asks for."""
    unit = units.get(name)
    if unit is None:
        return 1.0
    return fileoptions.unit(
        unit, fileoptions.BYTES if unit in fileoptions.BYTES else fileoptions.SECONDS, path
    )


def _series(columns: Columns, parts: list[tuple[str, Array, Array]]) -> Table:
    rows = np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.int64)
    names = [np.full(len(part[1]), part[0], dtype=object) for part in parts]
    given = {
        "t_ns": columns["t_ns"][rows],
        "record": columns["record"][rows],
        "name": np.concatenate(names) if names else np.empty(0, object),
        "value": np.concatenate([part[2] for part in parts]) if parts else np.empty(0),
    }
    return Table.filled(schema.SERIES, len(rows), given).sorted_by("t_ns")


def _flows(
    columns: Columns, sockets: Mapping[str, list[str]], settings: Mapping[str, Any], path: str
) -> tuple[Array, list[Flow]]:
    """For each row the number of its socket, -1 without one."""
    rows = len(columns["t_ns"])
    place = np.full(rows, -1, dtype=np.int32)
    stated = [fileoptions.text(settings, path, name) for name in csvcolumns.SOCKETS]
    if all(stated):
        flow = fileoptions.flow(str(stated[0]), str(stated[1]))
        if flow is None:
            raise UsageError(f'measurement.toml: local and remote of {path} must be like "10.0.0.1:5201"')
        return np.zeros(rows, dtype=np.int32), [flow]
    if not all(name in columns for name in csvcolumns.SOCKETS):
        return place, []
    local, remote = columns["local"].astype(np.int64), columns["remote"].astype(np.int64)
    pairs, of_row = np.unique(local << 32 | remote, return_inverse=True)
    numbers = np.full(len(pairs), -1, dtype=np.int32)
    flows: dict[Flow, int] = {}
    for at, pair in enumerate(pairs.tolist()):
        flow = fileoptions.flow(sockets["local"][pair >> 32], sockets["remote"][pair & 0xFFFFFFFF])
        if flow is not None:
            numbers[at] = flows.setdefault(flow, len(flows))
    return numbers[of_row], list(flows)


def _frames(columns: Columns, issues: list[Issue], path: str) -> tuple[dict[str, Table], list[str]]:
    """Frames and events of a link; rows of an action that is not ours are opaque events."""
    entities = list(dict.fromkeys(columns["entity"].tolist()))
    number = {name: place for place, name in enumerate(entities)}
    entity = np.array([number[name] for name in columns["entity"].tolist()], dtype=np.int16)
    actions = {word: place for place, word in enumerate(schema.LINK_ACTIONS)}
    action = np.array([actions.get(word, -1) for word in columns["action"].tolist()], dtype=np.int8)
    text = columns.get("kind", np.full(len(action), "", dtype=object))
    known = {word: place for place, word in enumerate(schema.LINK_KINDS)}
    kind = np.array([known.get(word, 0) for word in text.tolist()], dtype=np.int8)
    is_frame = np.isin(text, _FRAME) & (action >= 0) & (action != actions["evt"])
    strange = np.flatnonzero(~is_frame & ((kind == 0) | (action < 0)))
    if len(strange):
        first = int(columns["record"][strange].min())
        words = f"{columns['action'][strange[0]]} {text[strange[0]]}".strip()[:100]
        issues.append(Issue("unknown-verb", len(strange), first, words, path))
    causes = {word: place for place, word in enumerate(schema.RESET_CAUSES)}
    cause = [causes.get(word, causes["other"]) for word in columns.get("cause", np.array([])).tolist()]
    common = {"t_ns": columns["t_ns"], "record": columns["record"], "entity": entity}
    common["action"] = np.where(action >= 0, action, actions["evt"]).astype(np.int8)
    integers = {name: _integers(columns[name]) for name in csvcolumns.FRAME_NUMBERS if name in columns}
    frames = {**common, **{("ns" if name == "seq" else name): v for name, v in integers.items()}}
    for name in ("attempt", "duplicate"):
        frames[name] = np.maximum(frames.get(name, np.zeros(len(entity), np.int64)), 0)
    events = {**common, "kind": np.where(action >= 0, kind, 0).astype(np.int8)}
    events |= {name: integers[name] for name in ("length", "nr") if name in integers}
    if cause:
        events["cause"] = np.array(cause, dtype=np.int8)
    return {
        "link_frames": _table(schema.LINK_FRAMES, frames, is_frame),
        "link_events": _table(schema.LINK_EVENTS, events, ~is_frame),
    }, entities


def _table(declared: schema.Schema, columns: Columns, rows: Array) -> Table:
    picked = {}
    for name, values in columns.items():
        limit = np.iinfo(declared.by_name[name].dtype).max
        picked[name] = np.where(values <= limit, values, -1)[rows]
    return Table.filled(declared, int(rows.sum()), picked)


def _integers(values: Array) -> Array:
    sane = (values >= 0) & (values < _LARGEST)
    return np.where(sane, np.rint(np.where(sane, values, 0)), -1).astype(np.int64)


PARSER = Parser(
    name="csv",
    title="comma-separated values: time,name,value; TCP state; link frames; others by measurement.toml",
    layer="kernel",
    sniff=sniff,
    parse=parse,
    configured=configured,
)
