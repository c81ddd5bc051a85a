"""What senders had in the network by the core, and by a plain definition of each value."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support_flows import PAIRS, Pair, Row, laid_out, payload, valid_acks

from multitracer.model.schema import ACK_KINDS
from multitracer.model.table import Table
from multitracer.native import flight

CLOCK_NS = 4_000_000
"""A step of the clock: a segment that an ACK releases leaves within two."""
SYN, ACK, ECE, CWR = 0x002, 0x010, 0x040, 0x080

FACTS = st.tuples(
    st.sampled_from([0, ACK, ACK, ECE, CWR, SYN | ECE | CWR, SYN | ACK | ECE]),
    st.sampled_from([0, *(ACK_KINDS.index(kind) for kind in ("advance", "duplicate", "duplicate"))]),
)


@given(PAIRS, st.data())
def test_flights_are_as_defined(connections: list[Pair], drawn: st.DataObject) -> None:
    segments, data, acks = laid_out(connections)
    rows = [row for pair in connections for flow in pair for row in flow]
    for row in rows:
        row["t_ns"] *= CLOCK_NS
        row["flags"], row["ack_kind"] = drawn.draw(FACTS)
        row["cause"] = row["sack_count"] = 0
        row["sack_high"] = -1
    names = ("t_ns", "flags", "ack_kind")
    segments = segments.replace(**{name: np.array([row[name] for row in rows]) for name in names})
    found = flight.flights(segments, data, acks)
    both = [(payload(sent), valid_acks(received)) for sent, received in connections]
    assert found.of.tolist() == [at for at, pair in enumerate(both) if all(pair)]
    for place, at in enumerate(found.of.tolist()):
        sent, received = both[at]
        times = sorted(row["t_ns"] for row in sent + received)
        assert found.rows[place] == len(times)
        assert found.span_ns[place] == times[-1] - times[0]
        levels = _flight(sent, received)
        assert found.flight_most[place] == max(level for _, level in levels)
        over_time = sum(one[1] * (next_[0] - one[0]) for one, next_ in pairwise(levels))
        assert found.flight_over_time[place] == over_time
        assert 0 <= found.pipe_most[place] <= found.flight_most[place]
        for burst, repairs in ((found.burst, False), (found.burst_in_recovery, True)):
            assert tuple(int(column[place]) for column in burst) == _burst(sent, received, repairs)
        assert found.limited_transmit[place] == _limited_transmit(sent, received)
        plain = [row for row in sent + received if not row["flags"] & SYN]
        assert found.echoes[place] == sum(row in received and bool(row["flags"] & ECE) for row in plain)
        told = [row for row in plain if row in sent and row["flags"] & CWR]
        counts = int(found.reductions[place]), int(found.reductions_without_loss[place])
        assert counts == (len(told), sum(not _recovering(sent, received, row["t_ns"]) for row in told))
        opening = [row["flags"] for flow in connections[at] for row in flow if row["flags"] & SYN]
        asked = [flags for flags in opening if not flags & ACK]
        answered = [flags for flags in opening if flags & ACK]
        assert (found.asked[place], found.answered[place]) == ([-1, *asked][-1], [-1, *answered][-1])


def _flight(sent: list[Row], received: list[Row]) -> list[tuple[int, int]]:
    steps = sorted(
        [(row["t_ns"], row["record"], 0, row) for row in sent]
        + [(row["t_ns"], row["record"], 1, row) for row in received],
        key=lambda step: step[:3],
    )
    nxt = una = min(row["seq"] for row in sent)
    found = []
    for t_ns, _, kind, row in steps:
        if kind == 0:
            nxt = max(nxt, row["seq"] + row["length"])
        else:
            una = max(una, row["ack"])
        found.append((t_ns, max(nxt - una, 0)))
    return found


def _released_by(received: list[Row], t_ns: int) -> int | None:
    before = [at for at, row in enumerate(received) if row["t_ns"] <= t_ns]
    return before[-1] if before and t_ns - received[before[-1]]["t_ns"] <= 10_000_000 else None


def _burst(sent: list[Row], received: list[Row], repairs: bool) -> tuple[int, int, int, int]:
    counted = [row for row in sent if not repairs or _recovering(sent, received, row["t_ns"])]
    best = (0, 0, 0, 0)
    for at, ack in enumerate(received):
        lengths = [row["length"] for row in counted if _released_by(received, row["t_ns"]) == at]
        if len(lengths) > best[0]:
            best = (len(lengths), sum(lengths), ack["t_ns"], ack["record"])
    return best


def _limited_transmit(sent: list[Row], received: list[Row]) -> int:
    advance, duplicate = ACK_KINDS.index("advance"), ACK_KINDS.index("duplicate")
    count = 0
    for row in sent:
        at = _released_by(received, row["t_ns"])
        if at is None or row["duplicate"] > 0 or _recovering(sent, received, row["t_ns"]):
            continue
        kinds = [ack["ack_kind"] for ack in received[: at + 1]]
        since = len(kinds) - kinds[::-1].index(advance) if advance in kinds else 0
        count += kinds[-1] == duplicate and kinds[since:].count(duplicate) <= 2
    return count


def _recovering(sent: list[Row], received: list[Row], t_ns: int) -> bool:
    ends_ns = -1
    for at, row in enumerate(sent):
        begin_ns = row["t_ns"]
        if row["duplicate"] <= 0 or begin_ns <= ends_ns or begin_ns > t_ns:
            continue
        highest = max(one["seq"] + one["length"] for one in sent[: at + 1])
        covering = (one["t_ns"] for one in received if one["ack"] >= highest)
        ends_ns = max(next(covering, 1 << 62), begin_ns + 1)
    return t_ns < ends_ns


def test_rows_that_there_are_not_are_refused() -> None:
    segments: Table = laid_out([])[0]
    one = np.array([1], dtype=np.int64)
    with pytest.raises(ValueError, match="rows that a table does not have"):
        flight.flights(segments, (one, one + 1), (one, one))
