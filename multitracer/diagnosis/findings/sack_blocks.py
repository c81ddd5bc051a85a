"""SACK blocks that no sender can use: they are outside the data that was sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multitracer.diagnosis.findings.finding import MOST_EVIDENCE, Finding, plot_command
from multitracer.layers.tcp.transit import payload_at, valid_acks
from multitracer.model.timeline import Timeline

_LEAST = 3
"""So many ACKs have to have such blocks..."""
_MOSTLY = 0.5
"""...and this part of all that have blocks."""
_LOOKED_AT = 20
"""Connections that are looked at, at most."""


def unusable_blocks(m: Timeline, entries: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Report that SACK blocks are outside the data that was sent, as seen where the sender's numbers are.

    A firewall that changes sequence numbers, and ACK numbers back, and leaves the blocks as they are, makes
    all of them useless: a sender ignores what it has not sent.

    Parameters
    ----------
    m : Timeline
        With segments.
    entries : list of mapping
        Of the result `connections`.

    Returns
    -------
    list of Finding
        One, or none.

    References
    ----------
    RFC 2018 section 3 (blocks are of data that was received); RFC 9293 section 3.4.
    """
    wrong = of = 0
    evidence: list[tuple[str, int]] = []
    begin_s, end_s = np.inf, 0.0
    known = {one.index: one for one in m.connections}
    for entry in [one for one in entries if one["sack"] and one["duplicate_acks"] >= _LEAST][:_LOOKED_AT]:
        source, connection = entry["source"], known[entry["index"]]
        acks, data = valid_acks(m, connection, source), payload_at(m, connection, source)
        acks = acks.where(acks["sack_count"] > 0)
        if len(acks) < _LEAST or not len(data):
            continue
        # One past the FIN.
        last = int((data["seq"] + data["length"]).max()) + 1
        outside = (acks["sack_high"] > max(last, int(acks["ack"].max()))) | (acks["sack_high"] < 0)
        number = int(np.count_nonzero(outside))
        if number < max(_LEAST, _MOSTLY * len(acks)):
            continue
        wrong, of = wrong + number, of + len(acks)
        evidence += [
            (m.sources[source].path, int(record)) for record in acks["record"][outside][:MOST_EVIDENCE]
        ]
        begin_s, end_s = min(begin_s, entry["start"]), max(end_s, entry["end"])
    if not wrong:
        return []
    text = (
        f"the SACK blocks of {wrong:,} of {of:,} ACKs lie outside the data that was sent: something on the "
        "path changes sequence numbers and leaves these blocks as they are, so that the sender ignores them "
        "and repairs losses as without SACK"
    )
    return [
        Finding(text, 0.0, "sack_blocks", plot_command(m, begin_s, end_s), tuple(evidence[:MOST_EVIDENCE]))
    ]
