"""What belongs to a recorded host: its settings, the addresses of its interface."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def of(settings: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """What measurement.toml says of the host of a file: where there are several, of that of its directory."""
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
