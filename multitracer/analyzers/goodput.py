"""Goodput as a share: how much of what was sent arrived for the first time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.tcp.flow_batch import FlowBatch, Times, batches, covered, damaged, payload
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.timeline import Connection, Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Unique bytes received over bytes sent, of each connection and of all together; the same in segments.

    Received counts each byte once, and only in segments whose checksum is good; sent counts every byte that
    the sender's capture saw leave, again or not. Segments count as received if they bring a byte that the
    receiver did not have.

    References
    ----------
    D. Mehta, End-to-End TCP Performance Evaluation over Wireless Networks (docs/studies/manet-tcp.md).
    """
    entries = [entry for some in batches(m) for entry in _connections(m, some)]
    if not entries:
        return Result("goodput", inconclusive="needs both captures to see data of the same connection")
    sent, received = (sum(entry[name] for entry in entries) for name in ("sent_bytes", "received_bytes"))
    summary = {
        "value": round(received / sent, 6),
        "sent_bytes": sent,
        "received_bytes": received,
        "connections": entries,
    }
    return Result("goodput", summary)


def _connections(m: Timeline, connections: list[Connection]) -> list[dict[str, Any]]:
    """An entry for each connection of which both captures saw data."""
    near, far = payload(m, connections, m.snd), payload(m, connections, m.rcv)
    begun = near.first(near["t_ns"], 0) <= far.first(far["t_ns"], 0)
    both = (near.sizes > 0) & (far.sizes > 0)
    along, against = np.flatnonzero(both & begun), np.flatnonzero(both & ~begun)
    found = _entries(connections, along, near.chosen(along), far.chosen(along))
    # Data of a connection may flow against that of the others: the end that saw it first is its sender's.
    found |= _entries(connections, against, far.chosen(against), near.chosen(against))
    return [found[at] for at in sorted(found)]


def _entries(
    connections: list[Connection], places: Times, sent: FlowBatch, arrived: FlowBatch
) -> dict[int, dict[str, Any]]:
    whole = arrived.where(~damaged(arrived))
    fresh = whole.counted(whole["duplicate"] < whole["length"])
    columns = (places, sent.summed(sent["length"]), covered(whole), sent.sizes, fresh)
    return {
        at: {
            "conn": connections[at].index,
            "value": round(received_bytes / sent_bytes, 6),
            "sent_bytes": sent_bytes,
            "received_bytes": received_bytes,
            "sent_segments": sent_segments,
            "received_segments": received_segments,
        }
        for at, sent_bytes, received_bytes, sent_segments, received_segments in zip(
            *(column.tolist() for column in columns), strict=True
        )
    }


ANALYZER = Analyzer(
    name="goodput",
    question="How much of what each sender sent arrived, each byte once?",
    run=run,
    **QUESTIONS["goodput"]._asdict(),
)
