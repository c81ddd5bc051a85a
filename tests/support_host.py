"""Tracepoints of a host made by hand."""

from __future__ import annotations

from multitracer.model import schema
from multitracer.model.table import Table


def events(*rows: tuple) -> Table:
    """Rows of ``(kind, t_us, skb, other columns)``."""
    filled = [
        {
            "kind": schema.HOST_KINDS.index(kind),
            "t_ns": t_us * 1000,
            "record": at + 1,
            "skb": skb,
            "cpu": 0,
            **more,
        }
        for at, (kind, t_us, skb, more) in enumerate(rows)
    ]
    absent = {"sk": -1, "flow": -1, "length": -1, "value": -1, "extra": -1, "name": -1, "pid": 5, "source": 0}
    names = schema.HOST_EVENTS.by_name
    return Table(schema.HOST_EVENTS, {name: [{**absent, **row}[name] for row in filled] for name in names})
