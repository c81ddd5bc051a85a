"""What both captures show of retransmitted data: the indexed search against a plain scan of all segments."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from multitracer.layers.tcp.arrived_copies import Arrival, ArrivedCopies
from multitracer.model import schema
from multitracer.model.table import Table

BAD = schema.CHECKSUMS.index("bad")


def table(random: np.random.Generator, rows: int, *, marks: bool) -> Table:
    """Segments of one direction at one capture, with bytes and packets that occur several times."""
    given: dict[str, Any] = {
        "t_ns": np.sort(random.integers(0, 4 * rows, rows)),
        "seq": 10 * random.integers(0, 12, rows),
        "length": 10 * random.integers(0, 3, rows),
        "ack": 10 * random.integers(0, 14, rows),
        "rtt_ns": random.integers(-1, 40, rows),
        "checksum": np.where(random.random(rows) < 0.1, BAD, 0),
        "ip_id": random.integers(1, 9, rows) * marks,
        "ts_val": random.integers(0, 9, rows) if random.random() < 0.5 else np.full(rows, -1),
    }
    return Table.filled(schema.SEGMENTS, rows, given | {"ack_raw": given["ack"] % 70})


def scanned(flows: dict[tuple[int, int], Table], seq: int, t_ns: int) -> Arrival:
    """The same by looking at every segment."""
    sent, received, answers, answered = (
        list(zip(*(rows[name].tolist() for name in NAMES), strict=True))
        for rows in (flows[0, 0], flows[0, 1], flows[1, 0], flows[1, 1])
    )

    def same(packets: list[Any], others: list[Any]) -> list[Any] | None:
        for mark, absent in ((IP_ID, 0), (TS_VAL, -1)):
            if packets and all(one[mark] != absent for one in packets):
                known = {one[mark] for one in packets}, {one[RAW] for one in packets}
                return [one for one in others if one[mark] in known[0] and one[RAW] in known[1]]
        return None

    def covers(one: Any) -> bool:
        return one[SUM] != BAD and one[SEQ] <= seq < one[SEQ] + one[LENGTH]

    there = [one for one in received if covers(one)]
    arrived = same([one for one in sent if covers(one) and one[T] < t_ns], there)
    if arrived is None:
        return Arrival(None)
    if not arrived:
        return Arrival(False)
    later = [one for one in answers if one[SUM] != BAD and one[ACK] > seq and one[T] > t_ns]
    left = [one for one in answered if one[SUM] != BAD and one[ACK] > seq]
    if not later:
        here = [*sent, *answers]
        longest = max((one[RTT] for one in here), default=0)
        lost = bool(left) and longest > 0 and max(one[T] for one in here) - left[0][T] > longest
        return Arrival(True, False if lost else None)
    found = same(later[:1], left)
    if not found:
        return Arrival(True)
    late = [one[T] for one in there if one[T] > arrived[-1][T]]
    return Arrival(True, not late or found[0][T] < late[0])


NAMES = ("t_ns", "seq", "length", "ack", "rtt_ns", "checksum", "ip_id", "ts_val", "ack_raw")
T, SEQ, LENGTH, ACK, RTT, SUM, IP_ID, TS_VAL, RAW = range(len(NAMES))


@pytest.mark.parametrize("marks", [True, False])
def test_as_by_a_scan_of_all_segments(marks: bool) -> None:
    random = np.random.default_rng(7)
    seen = set()
    for _ in range(300):
        sizes = random.integers(0, 25, 4).tolist()
        flows = {
            (way, source): table(random, sizes[2 * way + source], marks=marks)
            for way in (0, 1)
            for source in (0, 1)
        }
        m: Any = SimpleNamespace(flow=lambda _, way, source, flows=flows: flows[way, source])
        copies = ArrivedCopies(m, SimpleNamespace(index=0), 0, 0, 1)  # type: ignore[arg-type]
        for _ in range(6):
            seq, t_ns = 5 * int(random.integers(0, 26)), int(random.integers(0, 100))
            found = copies.of(seq, t_ns)
            assert found == scanned(flows, seq, t_ns)
            seen.add(found)
    assert len(seen) == (5 if marks else 4)


def test_the_first_answer_after_many_rows() -> None:
    rows = 5000
    ack = np.where(np.arange(rows) == 4321, 100, 10)
    ack[3] = 100
    acks = Table.filled(
        schema.SEGMENTS,
        rows,
        {"t_ns": np.arange(rows), "ack": ack, "ack_raw": ack, "ip_id": np.arange(rows) % 65535 + 1},
    )
    data = Table.filled(
        schema.SEGMENTS, 2, {"t_ns": [0, 50], "seq": [50, 50], "length": [10, 10], "ip_id": [7, 8]}
    )
    m: Any = SimpleNamespace(flow=lambda _, way, __: acks if way else data)
    assert ArrivedCopies(m, SimpleNamespace(index=0), 0, 0, 1).of(50, 50) == (True, False)  # type: ignore[arg-type]
