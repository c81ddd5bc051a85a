"""The records and the picture of times in which a path was stalled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.diagnosis.findings.finding import Finding, plot_command, resting_on
from multitracer.model.timeline import Timeline

Object = Mapping[str, Any]


def shown(m: Timeline, found: Sequence[Finding], entries: Sequence[Object]) -> list[Finding]:
    """The findings, with records and picture of the standstills in the sentence that names them.

    Parameters
    ----------
    m : Timeline
    found : sequence of Finding
    entries : sequence of mapping
        Of ``connections`` (docs/json.md).

    Returns
    -------
    list of Finding
        In their order.
    """
    every = [(entry["source"], one) for entry in entries for one in entry.get("standstills") or ()]
    if not every:
        return list(found)
    longest = max((one for _, one in every), key=lambda one: float(one["length_s"]))
    command = plot_command(m, longest["start"], longest["start"] + longest["length_s"])
    records = [(m.sources[source].path, one["record"]) for source, one in every]
    return resting_on(found, "standstill", records, command)
