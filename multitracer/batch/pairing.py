"""Which files of a directory belong together: captures of the same connections, logs of sockets, tests."""

from __future__ import annotations

import os
from typing import Any

from multitracer.model.errors import MultiTracerError
from multitracer.model.trace import Flow
from multitracer.reading.opening import open_trace
from multitracer.registry import parsers

Ends = frozenset[tuple[str, int]]
Seen = tuple[Ends, tuple[int, ...] | None]

_MOST = 20_000
"""Connections of one capture that are looked at: a share of a large capture is enough to know its twin."""


def groups(paths: list[str]) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Files that form a measurement each, and files that belong to none with the reason.

    Parameters
    ----------
    paths : list of str
        Traces of one directory.

    Returns
    -------
    groups : list of list of str
        At most one group if there are fewer than two captures: there is nothing to assign then.
    rest : list of (path, reason)
    """
    known = parsers()
    layers = {path: _layer(path) for path in paths}
    captures = [path for path in paths if layers[path] == "tcp"]
    if not captures:
        return _tests(paths, layers)
    if len(captures) < 2:
        return [paths], []
    seen: dict[str, set[Seen]] = {}
    rest: list[tuple[str, str]] = []
    for path in captures:
        summarise = next((p.summarise for p in known.values() if p.summarise and p.layer == "tcp"), None)
        try:
            trace = summarise(path) if summarise else open_trace(path)
        except MultiTracerError as error:
            rest.append((path, str(error).removeprefix(f"{path}: ")))
            continue
        seen[path] = {_connection(one) for one in trace.connections[:_MOST]}
    found = _joined(seen)
    if len(found) < 2:
        return [paths], []
    sockets = [{ends for path in one for ends, _ in seen[path]} for one in found]
    for path in paths:
        if layers[path] == "tcp":
            continue
        index = _owner(path, layers[path], found, sockets)
        if index is None:
            rest.append((path, "belongs to none of the captures here by its sockets or its name"))
        else:
            found[index].append(path)
    return [sorted(one) for one in found], rest


def _tests(paths: list[str], layers: dict[str, str]) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Tests in a directory without a capture: a measurement each, its other end's log with it.

    Both ends of a test have its cookie (iperf3), else its sockets.
    """
    known = parsers()
    formats = {path: _format(path) for path in paths}
    tests = [path for path in paths if formats[path] in known and known[formats[path]].whole_test]
    if len(tests) < 2:
        return [paths], []
    of: dict[object, list[str]] = {}
    ends: dict[object, set[Ends]] = {}
    rest: list[tuple[str, str]] = []
    for path in tests:
        try:
            trace = open_trace(path)
        except MultiTracerError as error:
            rest.append((path, str(error).removeprefix(f"{path}: ")))
            continue
        mine = frozenset(_ends(flow) for flow in trace.flows)
        key: object = trace.source.details.get("cookie") or mine or path
        of.setdefault(key, []).append(path)
        ends.setdefault(key, set()).update(mine)
    found = [sorted(members) for members in of.values()]
    sockets = [ends[key] for key in of]
    if len(found) < 2 and not rest:
        return [paths], []
    for path in paths:
        if path in tests:
            continue
        index = _owner(path, layers[path], found, sockets)
        if index is None:
            rest.append((path, "belongs to none of the tests here by its sockets or its name"))
        else:
            found[index].append(path)
    return sorted(sorted(one) for one in found), rest


def _ends(flow: Flow) -> Ends:
    return frozenset(((flow.local_address, flow.local_port), (flow.remote_address, flow.remote_port)))


def _format(path: str) -> str:
    """The parser that reads a file; "" if none or several claim it."""
    from multitracer import native

    head = native.head(path, 65536)
    claims = [name for name, parser in parsers().items() if parser.claims(path, head)]
    return claims[0] if len(claims) == 1 else ""


def _layer(path: str) -> str:
    from multitracer import native

    head = native.head(path, 65536)
    claims = [parser.layer for parser in parsers().values() if parser.claims(path, head)]
    return claims[0] if claims else ""


def _connection(summary: dict[str, Any]) -> Seen:
    """Endpoints and, where the handshake was seen, the ISNs: a port used again is another connection."""
    ends = frozenset((str(address), int(port)) for address, port in summary["endpoints"])
    isn = summary.get("isn") if summary.get("handshake") else None
    return ends, tuple(sorted(isn)) if isn else None


def _joined(seen: dict[str, set[Seen]]) -> list[list[str]]:
    """Captures that share a connection, directly or over others; in order of their names."""
    group = {path: index for index, path in enumerate(seen)}
    first: dict[Seen, str] = {}
    for path, connections in seen.items():
        for one in connections:
            other = first.setdefault(one, path)
            old, new = group[path], group[other]
            if old != new:
                group = {name: new if index == old else index for name, index in group.items()}
    together: dict[int, list[str]] = {}
    for path, index in group.items():
        together.setdefault(index, []).append(path)
    return sorted(sorted(one) for one in together.values())


def _owner(path: str, layer: str, found: list[list[str]], sockets: list[set[Ends]]) -> int | None:
    """The only group that has the sockets of a log; else the only one whose file names begin as its name."""
    mine: set[Ends] = set()
    if layer == "kernel":
        try:
            flows = open_trace(path).flows
        except MultiTracerError:
            flows = []
        mine = {_ends(flow) for flow in flows}
    fits = [index for index, one in enumerate(sockets) if one & mine]
    if mine and len(fits) == 1:
        return fits[0]
    stem = os.path.basename(path).split(".")[0]
    fits = [
        index
        for index, one in enumerate(found)
        if any(os.path.basename(name).split(".")[0] == stem for name in one)
    ]
    return fits[0] if len(fits) == 1 else None
