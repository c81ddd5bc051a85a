"""Some connections of a measurement: by number, or by a filter."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from multitracer import native
from multitracer.api.measurement import Measurement
from multitracer.api.pcapfilter import Endpoints, compiled
from multitracer.model.derived import Derived
from multitracer.model.errors import NothingToRead, UsageError


def select(m: Measurement, conns: Collection[int] = (), filter: str = "") -> Measurement:
    """The measurement with some of its connections; clocks, numbers and times stay as they were.

    Parameters
    ----------
    m : Measurement
    conns : collection of int
        Numbers of connections (``index``); empty: all.
    filter : str
        In pcap-filter's words; empty: all. Both must hold.

    Returns
    -------
    Measurement

    Raises
    ------
    UsageError
        A connection that there is not, or a filter that cannot be read.
    NothingToRead
        No connection matches.
    """
    if not conns and not filter.strip():
        return m
    matches = compiled(filter)
    known = _endpoints(m)
    missing = sorted(set(conns) - set(known))
    if missing:
        there = f"numbers are 0 to {max(known):,}" if known else "there is none"
        raise UsageError(f"connection {missing[0]}: not in these traces; {there}")
    wanted = set(conns) or set(known)
    chosen = [index for index, ends in known.items() if index in wanted and matches(ends)]
    if not chosen:
        raise NothingToRead(f"no connection matches {filter!r}; analyze without --filter lists them")
    if m.summarised:
        whole = m.connections
        return replace(m, connections=Derived(len(chosen), lambda at: whole[chosen[at]]), _flows=None)
    keep = set(chosen)
    tables = {}
    for name, table in m.tables.items():
        if "conn" in table:
            table = table.where((table["conn"] < 0) | np.isin(table["conn"], chosen))
        tables[name] = table
    kept = [one for one in m.connections if one.index in keep]
    return replace(m, connections=kept, tables=tables, _flows=None)


def _endpoints(m: Measurement) -> dict[int, Endpoints]:
    """Endpoints by number of connection."""
    known = m.connections
    if isinstance(known, Derived) and known.origin is not None and native.are_summaries(known.origin):
        return dict(enumerate(native.endpoints(known.origin)))
    return {one.index: one.endpoints for one in known}
