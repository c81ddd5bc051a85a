"""What many connections come to together, and which of them to look at first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from multitracer.model.derived import Derived
from multitracer.output.losses import possibly_again

Object = Mapping[str, Any]


def digest(connections: Sequence[Object], most: int) -> dict[str, Any]:
    """Over the entries of ``connections`` (docs/json.md), as they count.

    Parameters
    ----------
    connections : sequence of mapping
        Those of a large capture are asked of the core, which does not make them.
    most : int
        How many of the worst and of the largest are named.

    Returns
    -------
    dict
        ``connections``; sums ``bytes``, ``retransmissions``, ``timeouts``, ``closed`` (``fin``, ``reset``,
        ``open``, ``unanswered``, ``refused``), ``without_handshake`` of what was open; ``limits``: by the
        limit that held the sender for longest, the ``connections`` with data and their ``bytes``;
        ``repeating``, those that retransmitted anything or waited for a timer; ``possible``, segments in
        order that may be retransmissions; places of the ``worst`` of them (most timeouts, then most
        retransmitted segments), and of the ``largest`` (most bytes).
    """
    if isinstance(connections, Derived) and connections.digest is not None:
        return connections.digest(most)
    from multitracer.model.schema.tcp import CAUSES, UNDECIDED

    repeating, sending = [], []
    for place, one in enumerate(connections):
        worst = severity(one)
        if any(worst):
            repeating.append((*worst, place))
        if one["bytes"]["unique"] > 0:
            sending.append((-one["bytes"]["unique"], place))
    return {
        "connections": len(connections),
        "bytes": _sums(connections, "bytes", ("sent", "unique", "duplicate", "acked")),
        "retransmissions": _sums(
            connections, "retransmissions", ("total", *CAUSES[1:], "unseen", *UNDECIDED)
        ),
        "timeouts": _sums(connections, "timeouts", ("total", "spurious", "genuine", "inconclusive")),
        "closed": {word: sum(one["closed"] == word for one in connections) for word in _CLOSED},
        "without_handshake": sum(
            not one["handshake"] and one["closed"] not in _ATTEMPTS for one in connections
        ),
        "limits": _limits(connections),
        "repeating": len(repeating),
        "possible": sum(map(possibly_again, connections)),
        "worst": [place for *_, place in sorted(repeating)[:most]],
        "largest": [place for _, place in sorted(sending)[:most]],
    }


def severity(entry: Object) -> tuple[int, int]:
    """The order of connections, the worst first: by their timeouts, then by their retransmissions."""
    return -entry["timeouts"]["total"], -entry["retransmissions"]["total"]


LIMITS = (
    "application",
    "receiver_window",
    "congestion_window",
    "bandwidth",
    "loss_recovery",
    "handshake",
    "unknown",
)
"""What may limit a sender, in the order of the contract; of equal ones the first counts."""


def transfer_s(entry: Object) -> float:
    """Seconds that the limits of a connection are shares of; 0 where they are unknown.

    Parameters
    ----------
    entry : mapping
        Of ``connections`` (docs/json.md).
    """
    return float((entry.get("limits") or {}).get("seconds") or 0.0)


def limit_s(entry: Object, name: str) -> float:
    """Seconds of one of the limits of a connection, or of a part of one; 0 where they are unknown.

    Parameters
    ----------
    entry : mapping
        Of ``connections`` (docs/json.md).
    name : str
        A key of its ``limits``.
    """
    return float((entry.get("limits") or {}).get(name) or 0.0) * transfer_s(entry)


def dominating(entry: Object) -> str:
    """What limited a connection's sender for longest."""
    limits = entry.get("limits")
    return max(LIMITS, key=lambda name: limits[name]) if limits else "unknown"


def _limits(connections: Sequence[Object]) -> dict[str, dict[str, int]]:
    found = {name: {"connections": 0, "bytes": 0} for name in LIMITS}
    for one in connections:
        if one["bytes"]["sent"]:
            mine = found[dominating(one)]
            mine["connections"] += 1
            mine["bytes"] += one["bytes"]["unique"]
    return found


_CLOSED = ("fin", "reset", "open", "unanswered", "refused")
_ATTEMPTS = ("unanswered", "refused")


def _sums(connections: Sequence[Object], key: str, names: Sequence[str]) -> dict[str, int]:
    parts = [one[key] for one in connections]
    return {name: sum(map(itemgetter(name), parts)) for name in names}
