"""Sentences about connections that carry data in both directions at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from multitracer.diagnosis.field.entries import is_transfer
from multitracer.diagnosis.field.saying import sentences
from multitracer.diagnosis.findings.broken_off import Summary
from multitracer.diagnosis.findings.finding import Finding, several
from multitracer.output.observed import hosts


def other_direction(connections: Sequence[Summary], command: str) -> Finding | None:
    """What limited the direction with less data, in one sentence.

    Parameters
    ----------
    connections : sequence of Summary
        Of the result `connections`.
    command : str
        Draws the measurement.

    Returns
    -------
    Finding or None
        None where that direction has little data, or the ends take turns.
    """
    others = [entry["reverse"] for entry in connections if _at_once(entry)]
    said = next((one.text for one in sentences(others) if one.text), "") if others else ""
    if not said:
        return None
    count = several(sum(entry["bytes"]["unique"] for entry in others), "byte")
    if len(connections) == 1:
        text = f"{_way(others[0])} ({count}): {said}"
    elif len(others) == 1:
        text = f"connection {others[0]['index']}, {_way(others[0])} ({count}): {said}"
    else:
        text = f"{len(others):,} connections in their other direction ({count}): {said}"
    return Finding(text, 0.0, "other_direction", command)


def named(found: Sequence[Finding], connections: Sequence[Summary]) -> list[Finding]:
    """The findings, the first with its direction where the only connection has another one.

    Parameters
    ----------
    found : sequence of Finding
    connections : sequence of Summary
        Of the result `connections`.
    """
    if not found or len(connections) != 1 or not _at_once(connections[0]):
        return list(found)
    return [replace(found[0], text=f"{_way(connections[0])}: {found[0].text}"), *found[1:]]


def _at_once(entry: Summary) -> bool:
    """Whether the other direction has a transfer of its own."""
    return "reverse" in entry and is_transfer(entry["reverse"])


def _way(entry: Summary) -> str:
    """``from 10.0.0.1 to 10.0.0.2``."""
    sender, receiver = hosts(entry)
    return f"from {sender} to {receiver}"
