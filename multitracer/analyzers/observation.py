"""What these captures cannot tell about a connection, and why: where they were taken and what they miss.

The same analysis runs from any point of the path. What it says holds for packets that passed that point: from
elsewhere than the sender, counts are bounds and causes are guesses. Each limit is stated with its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analysis import Analyzer, Result
from multitracer.intervals import intervals, subtract, total
from multitracer.measurement import Connection, Measurement
from multitracer.table import Table
from multitracer.transfer.transit import data_at, near_sender, valid_acks

_DIRECTIONS = ("forward", "reverse")
_WHERE = {"snd": "sender's", "rcv": "receiver's", "mid": "mid-path"}
_FILES = {
    "options-cut": "the snap length cut TCP options from {count} segments: SACK, timestamps and window scale "
    "in them are unknown, and so are causes and verdicts that rest on them",
    "duplicate-record": "{count} records are copies of an earlier one (captured on several interfaces); they "
    "are left out and are no retransmissions",
    "time-backwards": "{count} records are older than the one before: delays and causes around them rest on "
    "the order of the file, not on the stamps",
}


def run(m: Measurement, results: Mapping[str, Result]) -> Result:
    """State the limits of every connection by the capture that stands for its sender."""
    statements: list[dict[str, Any]] = []
    for connection in m.connections:
        if not connection.summaries:
            continue
        source = _source(m, connection)
        for code, text in _limits(m, connection, source):
            statements.append({"conn": connection.index, "code": code, "text": text})
    for index, trace in enumerate(m.traces):
        for issue in trace.issues:
            if issue.code in _FILES and trace.source.layer == "tcp":
                words = f"from {_where(m, index)} capture: {_FILES[issue.code].format(count=issue.count)}"
                statements.append({"conn": None, "code": issue.code.replace("-", "_"), "text": words})
    return Result("observation", {"statements": statements})


def _source(m: Measurement, connection: Connection) -> int:
    preferred = near_sender(m)
    if preferred is not None and preferred in connection.summaries:
        return preferred
    return min(connection.summaries)


def _where(m: Measurement, source: int) -> str:
    return f"the {_WHERE.get(m.sources[source].point or '', 'only')}"


def _limits(m: Measurement, connection: Connection, source: int) -> list[tuple[str, str]]:
    summary = connection.summaries[source]
    data = summary[_DIRECTIONS[connection.data_dir]]
    acks = summary[_DIRECTIONS[1 - connection.data_dir]]
    point = m.sources[source].point
    whole = data["segments"] > 0 and acks["segments"] > 0
    found = []
    if not whole:
        found.append(("one_direction", _one_direction(data)))
    elif point == "rcv":
        found.append(("receiver_side", _receiver_side(data)))
    elif point != "snd":
        found.append(("mid_path", _MID_PATH))
    found += _holes(m, connection, source)
    if not (data["syn"] and acks["syn"]) and (whole or not (data["syn"] or acks["syn"])):
        counted = m.sources[source].clock == "simulation" and data["syn"]
        found.append(("no_handshake", _COUNTED if counted else _NO_HANDSHAKE))
    where = f"from {_where(m, source)} capture"
    return [(code, f"{where}: {text}") for code, text in found]


_MID_PATH = (
    "losses before this point look like new data and those behind it like retransmissions; round-trip times "
    "cover only the path behind it; causes rest on ACKs that the sender saw later"
)
_NO_HANDSHAKE = (
    "the connection began before the capture: window scale, SACK permission and segment size are unknown; "
    "bytes are counted from the first that was seen"
)

_COUNTED = (
    "the simulated sender numbers packets and opens no connection: its first packet stands for the SYN, and "
    "there are neither windows nor SACK blocks"
)


def _one_direction(data: Mapping[str, Any]) -> str:
    seen, missing = ("data", "acknowledgments") if data["segments"] else ("acknowledgments", "data")
    return (
        f"only one direction was captured ({seen}, no {missing}): round-trip times, flight, duplicate ACKs "
        "and the causes of retransmissions cannot be known"
    )


def _receiver_side(data: Mapping[str, Any]) -> str:
    return (
        "a retransmission whose first copy was lost on the way looks like new data here; the "
        f"{data['duplicate_bytes']:,} duplicate bytes are those that arrived twice, not those that the "
        "sender sent twice; causes, timeouts and round-trip times are the sender's and cannot be known"
    )


def _holes(m: Measurement, connection: Connection, source: int) -> list[tuple[str, str]]:
    """Bytes that were acknowledged and never captured, and segments that came behind later ones."""
    rows = data_at(m, connection, source)
    data = rows.where(rows["length"] > 0)
    acks = valid_acks(m, connection, source)
    late = connection.summaries[source][_DIRECTIONS[connection.data_dir]]["out_of_order"]
    found = []
    if len(data) and len(acks):
        fin = rows.where((rows["flags"] & 1) > 0)
        last = int((fin["seq"] + fin["length"]).min()) if len(fin) else int(acks["ack"].max())
        unseen = _unseen_bytes(data, min(int(acks["ack"].max()), last))
        if unseen > 0:
            found.append(
                (
                    "capture_loss",
                    f"{unseen:,} bytes were acknowledged that it never saw: the capture lost packets; they "
                    "are missing from the counts and are not losses of the network",
                )
            )
    if late and m.sources[source].point == "snd":
        found.append(
            (
                "capture_loss",
                f"{late:,} segments fill holes; a sender begins in order, so the capture lost their first "
                "copies (or holds records out of order): retransmissions may be missing from the counts",
            )
        )
    elif late:
        found.append(
            (
                "holes_filled",
                f"{late:,} segments came behind later ones: lost before this point and sent again, or "
                "reordered; which of both cannot be known",
            )
        )
    return found


def _unseen_bytes(data: Table, reached: int) -> int:
    """Bytes between the first that was seen and the highest acknowledged that no segment carried."""
    sent = intervals(np.column_stack([data["seq"], data["seq"] + data["length"]]))
    return total(subtract(intervals([(int(data["seq"].min()), reached)]), sent))


ANALYZER = Analyzer(
    name="observation",
    question="What can these captures not tell, and why?",
    run=run,
    needs=("segments",),
)
