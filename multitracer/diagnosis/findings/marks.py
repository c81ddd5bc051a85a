"""The packets behind the sentence on congestion marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.diagnosis.field.causes import MARKED
from multitracer.diagnosis.findings.finding import Finding, plot_command, resting_on
from multitracer.layers.tcp.transit import data_at
from multitracer.model.timeline import Timeline

Object = Mapping[str, Any]

_CWR = 0x80
"""Of the flags of a segment (RFC 3168 section 6.1)."""


def with_marks(m: Timeline, found: Sequence[Finding], entries: Sequence[Object]) -> list[Finding]:
    """The findings, with the segments that signal a reduced window (CWR) in the sentence on marks.

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
    if not any(one.kind == MARKED for one in found):
        return list(found)
    reduced = []
    for entry in entries:
        if (entry.get("ecn") or {}).get("cwr"):
            data = data_at(m, m.connection(entry["index"]), entry["source"])
            data = data.where((data["flags"] & _CWR > 0) & (data["length"] > 0))
            path = m.sources[entry["source"]].path
            times_ns, records = data["t_ns"].tolist(), data["record"].tolist()
            reduced += [(t_ns, path, record) for t_ns, record in zip(times_ns, records, strict=True)]
    if not reduced:
        return list(found)
    reduced.sort()
    at = m.seconds(reduced[0][0])
    records = [(path, record) for _, path, record in reduced]
    return resting_on(found, MARKED, records, plot_command(m, at, at))
