"""Which connections a diagnosis looks at: all of a few, the largest and the worst of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.model.timeline import Timeline
from multitracer.output.digest import digest

Object = Mapping[str, Any]

MOST = 1000
"""Of more connections, so many with most data and with most timeouts are looked at one by one."""


def looked_at(m: Timeline, entries: Sequence[Object]) -> list[Object]:
    """All of few connections; of many, those that the digest names: entries of a summary are dear to make.

    Parameters
    ----------
    m : Timeline
    entries : sequence of mapping
        Of ``connections`` (docs/json.md).
    """
    if isinstance(entries, list) and len(entries) <= MOST:
        return entries
    return m.once("looked_at", lambda: _chosen(entries))


def _chosen(entries: Sequence[Object]) -> list[Object]:
    if len(entries) <= MOST:
        return list(entries)
    places = digest(entries, MOST)
    return [entries[place] for place in sorted({*places["largest"], *places["worst"]})]
