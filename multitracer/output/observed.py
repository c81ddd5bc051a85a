"""Where the capture of an entry of ``connections`` was taken, and how certain that is: one rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def hosts(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Addresses of the sender of the data of a connection, and of its receiver.

    Parameters
    ----------
    entry : mapping
        Of ``connections`` (docs/json.md).
    """
    first, second = (str(end).rpartition(":")[0] for end in entry["endpoints"])
    return (first, second) if entry["data_direction"] == "forward" else (second, first)


def observed_point(entry: Mapping[str, Any]) -> str | None:
    """Where the capture was taken, even by a guess: ``snd``, ``mid``, ``rcv``; None if unknown.

    Parameters
    ----------
    entry : mapping
        Of ``connections`` (docs/json.md). What its packets show of this connection comes first; without
        that (two captures were joined), the point of its source.
    """
    point: str | None = (entry.get("observation") or entry).get("point")
    return point


def is_guess(entry: Mapping[str, Any]) -> bool:
    """Whether the observation point is only a guess.

    Parameters
    ----------
    entry : mapping
        Of ``connections``.
    """
    return bool((entry.get("observation") or {}).get("grade") == "guess")


def known_point(entry: Mapping[str, Any]) -> str | None:
    """Where the capture was taken; None where that is unknown, or only a guess.

    Parameters
    ----------
    entry : mapping
        Of ``connections``.
    """
    return None if is_guess(entry) else entry["point"]
