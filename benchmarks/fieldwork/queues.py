"""What dropped the packets of a transfer, and what is told of it (`queue_at_losses`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

MOST = 0.6
"""A full queue dropped the packets if it dropped this part of them."""

FEW = 3


def drops(truth: Json, point: str, *, before: bool) -> tuple[int, int] | None:
    """Data packets that a full queue dropped on one side of a point, and those lost otherwise.

    Parameters
    ----------
    truth : mapping
        A run's ``truth.json``.
    point : str
        "snd", "mid" or "rcv".
    before : bool
        Those before the point, instead of those behind it.

    Returns
    -------
    tuple of int or None
        None if the run has no path of hops, or the point is at its end on that side.
    """
    settings = truth["settings"]
    hops = len(settings["link"].get("hop", ()))
    if not hops or (point == "snd" and before) or (point == "rcv" and not before):
        return None
    side = 0 if settings["network"]["sender"] == "ms" else 1
    first = 0 if side == 0 else hops - 1
    chosen = set(range(hops)) if point != "mid" else {hop for hop in range(hops) if (hop == first) == before}
    mine = [event for event in truth["events"] if event.get("side") == side and event.get("hop") in chosen]
    full = sum(event["what"] == "queue_drop" for event in mine)
    return full, sum(event["what"] == "packet_lost" for event in mine)


def told_of_queues(truth: Json, point: str, connections: Sequence[Json]) -> list[Json]:
    """What is told of the queue of a single transfer, and whether it is so; empty where it could not be.

    Parameters
    ----------
    truth : mapping
    point : str
    connections : sequence of mapping
        As `analyze` has them.
    """
    if len(connections) != 1:
        return []
    losses, told = connections[0]["losses"], connections[0]["queue_at_losses"] or {"dropped": None}
    found = drops(truth, point, before=losses["upstream"] > losses["downstream"])
    if found is None or sum(found) < FEW:
        return []
    full, others = found
    share = full / (full + others)
    right = share >= MOST if told["dropped"] else share <= 1 - MOST
    return [{"full": full, "others": others, "dropped": told["dropped"], "right": right}]


def is_wrong(told: Json) -> bool:
    """Whether something is told that is not so."""
    return told["dropped"] is not None and not told["right"]
