"""What these captures leave unknown about a connection, and why: where they were taken and what they miss.

The same analysis runs from any point of the path. Results hold for packets that passed that point: from
elsewhere than the sender, counts are bounds and causes are inferred. Each limit is stated with its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.onepoint import one_point
from multitracer.layers.other_traffic import OtherTraffic, other_traffic
from multitracer.layers.tcp.flow_batch import highest
from multitracer.layers.tcp.transit import Times
from multitracer.layers.tcp.two_way import TwoWay, two_way_batches
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.quantities import count
from multitracer.model.timeline import Connection, Timeline

_DIRECTIONS = ("forward", "reverse")
_WHERE = {"snd": "sender's", "rcv": "receiver's", "mid": "mid-path"}
_FILES = {
    "options-cut": "the snap length cut TCP options from {count} segments: SACK, timestamps and window scale "
    "in them are unknown, and so are causes and verdicts that rest on them",
    "duplicate-record": "records are copies of an earlier one (captured on several interfaces): {count}; "
    "they are left out and are no retransmissions",
    "time-backwards": "records with an earlier timestamp than the one before: {count}; delays and causes "
    "around them follow the order of the file, not the timestamps",
}


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """State the limits of every connection by the capture that stands for its sender."""
    statements: list[dict[str, Any]] = []
    for both in two_way_batches(m):
        unseen = _unseen_bytes(both).tolist()
        for connection, source, missing in zip(both.connections, both.sources, unseen, strict=True):
            if not connection.summaries:
                continue
            for code, text in _limits(m, connection, source, missing):
                statements.append({"conn": connection.index, "code": code, "text": text})
    others = other_traffic(m)
    if others is not None:
        statements.append({"conn": None, "code": "other_traffic", "text": _other_traffic(m, others)})
    for index, trace in enumerate(m.traces):
        for issue in trace.issues:
            if issue.code in _FILES and trace.source.layer == "tcp":
                words = f"from {_capture(m, index)}: {_FILES[issue.code].format(count=issue.count)}"
                statements.append({"conn": None, "code": issue.code.replace("-", "_"), "text": words})
    return Result("observation", {"statements": statements})


def _other_traffic(m: Timeline, others: OtherTraffic) -> str:
    from multitracer.diagnosis.field.phrases import percent
    from multitracer.diagnosis.findings.finding import joined

    packets = f"{others.packets:,} packets of {joined(others.names)} ({percent(others.share)} of all)"
    return (
        f"from {_capture(m, others.source)}: {packets} are not analysed; a link that carried them was full "
        "for longer, and idle for less time, than TCP alone shows"
    )


def _capture(m: Timeline, source: int) -> str:
    """``the sender's capture``, with a word on its place where that is not certain."""
    found = m.sources[source]
    grade, _, _ = str(found.details.get("point_by", "")).partition(",")
    return f"the {_WHERE.get(found.point or '', 'only')} capture{_PLACES.get(grade, '')}"


def _limits(m: Timeline, connection: Connection, source: int, unseen: int) -> list[tuple[str, str]]:
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
    found += _holes(m, connection, source, unseen)
    opened = data["syn"] and acks["syn"]
    never = (data["syn"] or acks["syn"]) and not (data.get("data_bytes") or acks.get("data_bytes"))
    if not (opened or never) and (whole or not (data["syn"] or acks["syn"])):
        counted = m.sources[source].clock == "simulation" and data["syn"]
        found.append(("no_handshake", _COUNTED if counted else _NO_HANDSHAKE))
    return [(code, f"from {_capture(m, source)}: {text}") for code, text in found]


_PLACES = {"guess": " (observation point guessed)", "likely": " (observation point likely, not certain)"}

_MID_PATH = (
    "losses before this point, and the causes of their retransmissions, are inferred; causes rest on ACKs "
    "that the sender saw later"
)
_NO_HANDSHAKE = (
    "the connection began before the capture: window scale, SACK permission and segment size are unknown; "
    "bytes are counted from the first that was seen"
)

_COUNTED = (
    "the simulated sender numbers packets and opens no connection: its first packet is taken as the SYN, and "
    "there are neither windows nor SACK blocks"
)


def _one_direction(data: Mapping[str, Any]) -> str:
    seen, missing = ("data", "acknowledgments") if data["segments"] else ("acknowledgments", "data")
    acked = data.get("unseen_acked_bytes", 0)
    if missing == "data" and acked:
        # The last byte may be a FIN.
        seen += f" of at least {acked - 1:,} bytes"
    return (
        f"only one direction was captured ({seen}, no {missing}): RTTs, bytes in flight, duplicate ACKs "
        "and the causes of retransmissions cannot be known"
    )


def _receiver_side(data: Mapping[str, Any]) -> str:
    twice = data["duplicate_bytes"]
    arrived = f"; {twice:,} bytes arrived more than once" if twice else ""
    return (
        "retransmissions of lost segments, and their causes, are inferred; timeouts whose retransmission was "
        f"lost are not visible, nor is the number of duplicate bytes sent{arrived}"
    )


def _holes(m: Timeline, connection: Connection, source: int, unseen: int) -> list[tuple[str, str]]:
    """Bytes that were acknowledged and never captured, and segments that arrived out of order."""
    data = connection.summaries[source][_DIRECTIONS[connection.data_dir]]
    arrivals = data.get("arrivals", {})
    undecided = arrivals.get("undecided", 0)
    # What was overtaken in transit to this capture was sent in order.
    late = max(data["out_of_order"] - arrivals.get("reordered", 0), 0)
    found = []
    if unseen > 0:
        found.append(
            (
                "capture_loss",
                f"{unseen:,} bytes were acknowledged that it never saw: the capture lost packets; they "
                "are missing from the counts and are not losses of the network",
            )
        )
    if late and m.sources[source].point == "snd":
        fill = count(late, "segment fills a sequence gap", "segments fill sequence gaps")
        here = "were dropped in the sender's own queue before this capture, or the capture lost them"
        seen = one_point(m, connection, source)["observation"]
        if seen is not None and seen["grade"] == "guess":
            why = f"if it was taken on the path (--point mid), they were lost before it, else they {here}"
        else:
            why = f"a sender begins in order, so the first copies {here}"
        found.append(("capture_loss", f"{fill}; {why}"))
    elif undecided:
        found.append(
            (
                "holes_filled",
                f"{count(undecided, 'segment')} arrived out of order; the capture does not decide between "
                "retransmission and reordering",
            )
        )
    return found


def _unseen_bytes(both: TwoWay) -> Times:
    """By connection: bytes from the first seen to the highest acknowledged that no segment carried."""
    data, acks = both.data, both.acks
    ends = data["seq"] + data["length"]
    reached, last = np.full(len(both), both.line.low), np.full(len(both), both.line.high)
    np.maximum.at(reached, both.acks_of, acks["ack"])
    closing = (data["flags"] & 1) > 0
    np.minimum.at(last, both.data_of[closing], ends[closing])
    reached = np.minimum(reached, last)
    rows = np.flatnonzero(data["length"] > 0)
    rows = rows[np.argsort(both.line.at(both.data_of[rows], data["seq"][rows]), kind="stable")]
    of, start = both.data_of[rows], data["seq"][rows]
    covered = highest(of, ends[rows])
    # Up to the next segment of the same connection; after the last one, to the end.
    following = np.append(of[1:] == of[:-1], False) if len(of) else np.zeros(0, dtype=np.bool_)
    until = np.where(following, np.minimum(np.append(start[1:], 0)[: len(of)], reached[of]), reached[of])
    missing = np.zeros(len(both), dtype=np.int64)
    np.add.at(missing, of, np.maximum(until - covered, 0))
    return missing


ANALYZER = Analyzer(
    name="observation",
    question="What do these captures leave unknown, and why?",
    run=run,
    **QUESTIONS["observation"]._asdict(),
)
