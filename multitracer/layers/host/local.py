"""What belongs to a recorded host: its settings, the addresses of its interface."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from multitracer.model.table import Table
from multitracer.model.timeline import Timeline


def of(settings: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """What measurement.toml states about the host of a file: of several, that of its directory."""
    recorded = settings.get("recorded")
    if not isinstance(recorded, Mapping):
        return settings
    found = recorded.get(os.path.dirname(path))
    return found if isinstance(found, Mapping) else {}


def addresses(settings: Mapping[str, Any], path: str) -> frozenset[str]:
    """Addresses of the captured interface, as `multitracer record` writes them; empty if unknown."""
    interface = of(settings, path).get("interface")
    known = interface.get("addresses") if isinstance(interface, Mapping) else None
    return frozenset(str(one) for one in known) if isinstance(known, list) else frozenset()


def calls_logged(m: Timeline, source: int, events: Table) -> tuple[bool, bool]:
    """Whether writes, and reads, of applications are in a host's log: enabled when it was recorded, or seen.

    Parameters
    ----------
    m : Timeline
    source : int
        The kernel's log.
    events : Table
        `host_events` of it.

    Returns
    -------
    writes, reads : bool
    """
    from multitracer.model import schema

    record = of(m.settings, m.sources[source].path).get("record")
    enabled = record.get("tracepoints") if isinstance(record, Mapping) else None
    names = enabled if isinstance(enabled, list) else []
    writes, reads = (
        f"sock/sock_{name}_length" in names or bool((events["kind"] == schema.HOST_KINDS.index(name)).any())
        for name in ("send", "recv")
    )
    return writes, reads
