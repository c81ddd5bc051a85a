"""What the counters of a recorded host show: how much one grew, and what was dropped before TCP took it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.layers.host.local import of
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

_WRAP = 1 << 32  # softnet_stat prints counters of 32 bits


def change(m: Timeline, source: int, begin: str, end: str = "") -> int | None:
    """By how much a counter of this host grew over the recording; None if it is not there.

    Parameters
    ----------
    m : Timeline
    source : int
        The kernel's log of the host.
    begin, end : str
        With `end`, the first counter whose name begins and ends so; otherwise `begin` is the name.
    """
    counters = _own(m, source)
    if not len(counters):
        return None
    names = counters["name"]
    if end:
        found = [
            name for name in dict.fromkeys(names.tolist()) if name.startswith(begin) and name.endswith(end)
        ]
        # A discipline counts what its children drop, too: the root alone is asked.
        found = found[:1]
    else:
        found = [begin]
    if not found or not len(names):
        return None
    values = counters["value"][names == found[0]]
    if not len(values):
        # nstat leaves out what is zero.
        return 0 if not end else None
    first = counters["t_ns"][names == found[0]][0]
    zero = not end and first > counters["t_ns"][0]
    return int(values[-1]) - (0 if zero else int(values[0]))


def _own(m: Timeline, source: int) -> Table:
    """Rows of `host_counters` that are of the host of a log; none where that is not known."""
    counters = m.table("host_counters")
    if not len(counters) or not is_lone_host(m, source):
        return counters.where(np.zeros(len(counters), dtype=bool))
    mine = [at for at in range(len(m.sources)) if folder(m, at) == folder(m, source)]
    return counters.where(np.isin(counters["source"], mine))


def is_lone_host(m: Timeline, source: int) -> bool:
    """Whether the counters recorded with a log can only be of its host."""
    kernels = [int(value) for value in sorted_unique(m.table("host_events")["source"])]
    return [one for one in kernels if folder(m, one) == folder(m, source)] == [source]


def folder(m: Timeline, source: int) -> str:
    """The directory of a source."""
    return os.path.dirname(m.sources[source].path)


def lost_events(m: Timeline, source: int) -> int:
    """Events that the kernel could not keep, by the log's marks or the recorder's count.

    Parameters
    ----------
    m : Timeline
    source : int
        The kernel's log of the host.
    """
    marks = sum(issue.count for issue in m.traces[source].issues if issue.code == "lost-events")
    recorded = of(m.settings, m.sources[source].path).get("record", {})
    said = recorded.get("lost_events", 0) if isinstance(recorded, Mapping) else 0
    return max(marks, said if isinstance(said, int) and is_lone_host(m, source) else 0)


def receiving(m: Timeline, source: int) -> dict[str, Any]:
    """What was dropped between driver and socket, by counters of the whole host.

    Parameters
    ----------
    m : Timeline
    source : int
        The kernel's log of the host.

    Returns
    -------
    dict
        As `host.receiving` of the JSON.

    Notes
    -----
    ``dropped`` of softnet_stat counts packets that found the input queue of a CPU full
    (net.core.netdev_max_backlog), ``time_squeeze`` the rounds of receiving that ended with packets left, as
    budget or time was used up. Both in one interval between two samples, on one CPU: it had more to receive
    than it could. A full queue alone may be a burst.
    """
    counters = _own(m, source)
    return {
        "softnet": _softnet(counters),
        "backlog_drops": change(m, source, "TcpExtTCPBacklogDrop"),
        "receive_queue_drops": change(m, source, "TcpExtTCPRcvQDrop"),
    }


def _softnet(counters: Table) -> dict[str, Any] | None:
    names = counters["name"]
    cpus = sorted({int(name.split(".")[1]) for name in set(names.tolist()) if name.startswith("softnet.")})
    if not cpus:
        return None
    rows = []
    certain = likely = False
    for cpu in cpus:
        grown = {
            what: _growth(counters, f"softnet.{cpu}.{what}")
            for what in ("processed", "dropped", "time_squeeze", "flow_limit")
        }
        rows.append({"cpu": cpu, **{what: int(steps.sum()) for what, (_, steps) in grown.items()}})
        dropped, squeezed = (grown[what][0] for what in ("dropped", "time_squeeze"))
        likely |= len(dropped) > 0 and len(squeezed) > 0
        certain |= bool(np.isin(dropped, squeezed).any())
    sums = {what: sum(row[what] for row in rows) for what in rows[0] if what != "cpu"}
    grade = "certain" if certain else "likely" if likely else None
    return {**sums, "cpu_busy": grade, "cpus": rows}


def _growth(counters: Table, name: str) -> tuple[Array, Array]:
    """Times (ns) of samples in which a counter had grown, and by how much; it is logged when it changes."""
    own = counters["name"] == name
    steps = np.diff(counters["value"][own]) % _WRAP
    return counters["t_ns"][own][1:], steps


def drop_records(m: Timeline, source: int) -> list[tuple[str, int]]:
    """File and line of each sample in which the input queue of a CPU had dropped more packets."""
    counters = _own(m, source)
    found: list[tuple[str, int]] = []
    for name in sorted(set(counters["name"].tolist())):
        if name.startswith("softnet.") and name.endswith(".dropped"):
            own = counters.where(counters["name"] == name)
            found += [
                (m.sources[at].path, record)
                for at, record in zip(own["source"][1:].tolist(), own["record"][1:].tolist(), strict=True)
            ]
    return found
