"""What belongs to a recorded host: the addresses of its interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def addresses(settings: Mapping[str, Any]) -> frozenset[str]:
    """Addresses of the captured interface, as `multitracer record` writes them; empty if not told."""
    interface = settings.get("interface")
    known = interface.get("addresses") if isinstance(interface, Mapping) else None
    return frozenset(str(one) for one in known) if isinstance(known, list) else frozenset()
