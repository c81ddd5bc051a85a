"""Questions whose answers are in JSON, figures and Python, and not in the text of ``analyze``."""

from __future__ import annotations

UNSHOWN = frozenset(
    {
        "acks",
        "arrivals",
        "flight",
        "frame_map",
        "goodput",
        "handshake",
        "idle_losses",
        "limits",
        "queueing",
        "recoveries",
        "round_trips",
        "rtt_deviation",
    }
)
"""The text does not state why one of them has no answer."""
