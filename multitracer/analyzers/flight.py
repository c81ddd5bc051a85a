"""What the sender had in the network over time: FlightSize and pipe, bursts, limited transmit, ECN.

FlightSize is what was sent and not acknowledged. Of it, data that the receiver holds already (SACK), and data
overtaken by it, is not in the network any more: pipe (RFC 6675) is the rest, and what was retransmitted
since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.tcp.flow_batch import Times
from multitracer.layers.tcp.in_flight import Burst, Flights, flights, in_flight_table, means
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.schema.sender import IN_FLIGHT
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

_CWR, _ECE, _AE = 0x080, 0x040, 0x100


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Describe the data direction of every connection, by the capture next to its sender.

    References
    ----------
    RFC 5681 section 2 (FlightSize); RFC 6675 section 4 (pipe), in the form of FACK (Mathis and Mahdavi,
    SIGCOMM 1996): every gap below the highest byte selectively acknowledged counts as lost, and all that is
    out when the timer expires (RFC 6298 section 5); without SACK each duplicate ACK stands for a segment (RFC
    6582). RFC 3042 (limited transmit); RFC 6937 (proportional rate reduction); RFC 3168, 9768 (ECN).
    """
    found = flights(m)
    if found is None or not len(found.of):
        return Result("flight", inconclusive="needs data and its ACKs in the capture next to the sender")
    table = Table.later(IN_FLIGHT, int(found.rows.sum()), lambda: in_flight_table(m))
    return Result("flight", {"connections": _entries(m, found)}, {"in_flight": table})


def _entries(m: Timeline, found: Flights) -> list[dict[str, Any]]:
    columns = (
        found.of.tolist(),
        _levels(found.flight_most, found.flight_over_time, found.span_ns),
        _levels(found.pipe_most, found.pipe_over_time, found.span_ns),
        _bursts(m, found.burst),
        _bursts(m, found.burst_in_recovery),
        found.limited_transmit.tolist(),
        _ecn(found),
    )
    return [
        {
            "conn": m.connections[of].index,
            "flight": flight,
            "pipe": pipe,
            "bursts": {"largest": most, "largest_in_recovery": repaired},
            "limited_transmit": limited,
            "ecn": ecn,
        }
        for of, flight, pipe, most, repaired, limited, ecn in zip(*columns, strict=True)
    ]


def _levels(most: Times, over_time: Array, spans_ns: Times) -> list[dict[str, int]]:
    """The largest of each connection, and the mean over time."""
    return [
        {"max_bytes": largest, "mean_bytes": mean}
        for largest, mean in zip(most.tolist(), means(over_time, spans_ns), strict=True)
    ]


def _bursts(m: Timeline, burst: Burst) -> list[dict[str, Any] | None]:
    """The most that one ACK released to each sender; in loss recovery RFC 6937 bounds it."""
    return [
        {"segments": segments, "bytes": bytes_, "t": round(m.seconds(t_ns), 6), "record": record}
        if segments
        else None
        for segments, bytes_, t_ns, record in zip(*(column.tolist() for column in burst), strict=True)
    ]


def _ecn(found: Flights) -> list[dict[str, Any]]:
    """Congestion signalled by marks: what the receiver echoed, and reductions that were not for a loss."""
    counts = np.column_stack([found.echoes, found.reductions, found.reductions_without_loss]).tolist()
    entries = []
    for asked, answered, counted in zip(found.asked.tolist(), found.answered.tolist(), counts, strict=True):
        negotiated = _agreed(*(flags if flags >= 0 else None for flags in (asked, answered)))
        # The bits of accurate ECN are a counter.
        plain = negotiated not in ("none", "accurate")
        values = counted if plain else (None, None, None)
        names = ("echoes", "reductions", "without_loss")
        entries.append({"negotiated": negotiated, **dict(zip(names, values, strict=True))})
    return entries


def _agreed(asked: int | None, answered: int | None) -> str:
    """What a handshake agreed: `none`, `classic` or `accurate`; `unknown` if it was not captured."""
    if asked is None or answered is None:
        return "unknown"
    bits = answered & (_AE | _CWR | _ECE)
    if not asked & _ECE or not asked & _CWR or bits in (0, _AE | _CWR | _ECE):
        return "none"
    if bits in (_ECE, _AE | _ECE):
        return "classic"
    return "accurate" if asked & _AE else "none"


ANALYZER = Analyzer(
    name="flight",
    question="How much did the sender have in flight (RFC 5681, 6675); bursts, limited transmit, ECN?",
    run=run,
    **QUESTIONS["flight"]._asdict(),
)
