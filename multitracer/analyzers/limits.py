"""What limited the sender over time: its application, the receiver's window, the congestion window, recovery.

Each pause between two data segments belongs to one limit, by what the sender's capture shows at its start and
by what ended it: the phases, for a picture and as evidence. The shares of the whole are not counted from
them: `limits` of an entry has them as `connections` does, from the core or the kernel (docs/limits.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers.onepoint import one_point
from multitracer.layers.tcp.limits import Held, longest, phases
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.group_by import Grouped
from multitracer.model.schema.results import LIMIT_PHASES, LIMITS
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

_LISTED = 5


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Assign the time between data segments, first segment to last ACK, to what held the sender back.

    The rules, of which the first that fits counts, are in ``rust/core/src/segments/limits.rs``.

    References
    ----------
    RFC 5681 (cwnd), RFC 9293 3.8.6 (window), RFC 7661 (application-limited); T-RAT, Zhang et al. 2002.
    """
    held = longest(m, _LISTED)
    entries = [] if held is None else _entries(m, held, _Kernel(m))
    if held is None or not entries:
        return Result("limits", inconclusive="needs data and its ACKs in the capture next to the sender")
    table = Table.later(LIMIT_PHASES, int(held.phases.sum()), lambda: phases(m))
    return Result("limits", {"connections": entries}, {"phases": table})


def _entries(m: Timeline, held: Held, logged: _Kernel) -> list[dict[str, Any]]:
    rows = list(zip(*(column.tolist() for column in held.longest), strict=True))
    bounds = np.searchsorted(held.longest.of, np.arange(len(m.connections) + 1)).tolist()
    columns = (held.phases, held.length_ns, held.window_known)
    entries = []
    for at, (connection, count, length_ns, known) in enumerate(
        zip(m.connections, *(column.tolist() for column in columns), strict=True)
    ):
        if not count:
            continue
        entries.append(
            {
                "conn": connection.index,
                "seconds": round(length_ns / 1e9, 6),
                "window_known": known,
                "kernel": logged.of(connection),
                "limits": _inferred(m, connection),
                "longest": [_phase(m, *row) for row in rows[bounds[at] : bounds[at + 1]]],
            }
        )
    return entries


def _inferred(m: Timeline, connection: Connection) -> dict[str, Any] | None:
    """Shares as `connections` has them: of the whole transfer, with handshake and bandwidth."""
    if m.snd is None or m.snd not in connection.summaries:
        return None
    found: dict[str, Any] | None = one_point(m, connection, m.snd)["limits"]
    return found


def _phase(
    m: Timeline, _of: int, t_ns: int, end_ns: int, limit: int, outstanding: int, room: int, record: int
) -> dict[str, Any]:
    return {
        "start": round(m.seconds(t_ns), 6),
        "end": round(m.seconds(end_ns), 6),
        "limit": LIMITS[limit],
        "outstanding": outstanding,
        "room": room if room >= 0 else None,
        "record": record,
    }


class _Kernel:
    """Seconds by the kernel's own account (tcp_info).

    Only it knows of the send buffer: to a capture, a full one is an application that writes nothing.
    """

    def __init__(self, m: Timeline) -> None:
        self._states = m.table("tcp_states")
        self._rows = Grouped(self._states["conn"], self._states["dir"])

    def of(self, connection: Connection) -> dict[str, float] | None:
        """Of a connection; None without it."""
        rows = self._rows.rows(connection.index, connection.data_dir)
        if not len(rows):
            return None
        counters = {
            name: self._states[f"{name}_ns"][rows].max(initial=-1)
            for name in ("busy", "rwnd_limited", "sndbuf_limited")
        }
        if counters["busy"] < 0:
            return None
        return {f"{name}_s": round(max(int(value), 0) / 1e9, 6) for name, value in counters.items()}


ANALYZER = Analyzer(
    name="limits",
    question="What limited the sender over time: application, receiver, congestion window, recovery?",
    run=run,
    **QUESTIONS["limits"]._asdict(),
)
