"""The words for a reason of an idle phase, wherever phases are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LAST_ACK = "all data was sent; only its ACK was awaited"
"""Why a link is idle after the last data: the application is not to blame, though it gave TCP nothing."""

LAST_ACK_NAME = "wait for the last ACK"
"""What such a phase is called."""


def awaits_last_ack(phase: Mapping[str, Any]) -> bool:
    """Whether a phase of the result of `idle_phases` is the wait for the last ACK."""
    return phase.get("because") == LAST_ACK
