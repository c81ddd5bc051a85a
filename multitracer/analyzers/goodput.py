"""Goodput as a share: how much of what was sent arrived for the first time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analysis import Analyzer, Result
from multitracer.intervals import intervals, total
from multitracer.measurement import Connection, Measurement
from multitracer.transfer.dataends import data_ends
from multitracer.transfer.transit import damaged


def run(m: Measurement, results: Mapping[str, Result]) -> Result:
    """Unique bytes received over bytes sent, of each connection and of all together; the same in segments.

    Received counts each byte once, and only in segments whose checksum is good; sent counts every byte that
    the sender's capture saw leave, again or not. Segments count as received if they bring a byte that the
    receiver did not have.

    References
    ----------
    D. Mehta, End-to-End TCP Performance Evaluation over Wireless Networks (docs/studies/manet-tcp.md).
    """
    entries = [entry for one in m.connections if (entry := _connection(m, one)) is not None]
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


def _connection(m: Measurement, connection: Connection) -> dict[str, Any] | None:
    sent, arrived = data_ends(m, connection)
    if arrived is None:
        return None
    whole = arrived.where(~damaged(arrived))
    sent_bytes = int(sent["length"].sum())
    received = total(intervals(np.column_stack([whole["seq"], whole["seq"] + whole["length"]])))
    return {
        "conn": connection.index,
        "value": round(received / sent_bytes, 6),
        "sent_bytes": sent_bytes,
        "received_bytes": received,
        "sent_segments": len(sent),
        "received_segments": int(np.count_nonzero(whole["duplicate"] < whole["length"])),
    }


ANALYZER = Analyzer(
    name="goodput",
    question="How much of what each sender sent arrived, each byte once?",
    needs=("segments", "snd", "rcv"),
    run=run,
)
