"""Link resets as the log reports them: lines of both entities, one group per reset."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from multitracer.layers.link.sendings import sendings
from multitracer.model.arrays.intervals import Intervals, intervals
from multitracer.model.frozen import changeable
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline

PEER_REPEAT_NS = 3_000_000_000  # SABM is repeated every T1, which is below a second (GSM 04.22)


@changeable
class Handshake:
    """One link reset.

    Attributes
    ----------
    entity : int
        The one that gave up; its peer, if the log lacks the other's line.
    cause : str
        n2, protocol, other; peer if only the line of the other entity is there.
    start_ns : int
    end_ns : int or None
        The initiator has the UA; None if the log does not show that.
    lines : list of int
        Rows of `link_events` that report it.
    """

    entity: int
    cause: str
    start_ns: int
    end_ns: int | None = None
    lines: list[int] = field(default_factory=list)


def handshakes(m: Timeline) -> list[Handshake]:
    """Group the reset lines of all entities.

    The line of the entity that gave up begins a reset. Lines of its peer belong to the reset before them: the
    peer resets once for each SABM that reaches it. A second give-up before the UA belongs to the same reset.
    """
    events = m.table("link_events").sorted_by("t_ns")
    kinds, causes = events.words("kind"), events.words("cause")
    found: list[Handshake] = []
    for row in np.flatnonzero(kinds == "reset").tolist():
        entity, t_ns, cause = int(events["entity"][row]), int(events["t_ns"][row]), str(causes[row])
        current = found[-1] if found else None
        if current is not None and _continues(current, entity, cause, t_ns):
            current.lines.append(row)
            if current.cause == "peer":
                current.end_ns = t_ns
            elif cause != "peer":
                # Both gave up: it is over when both have their UA.
                other_ns = _completed(m, events, Handshake(entity, cause, t_ns))
                current.end_ns = max(filter(None, (current.end_ns, other_ns)), default=None)
            continue
        handshake = Handshake(entity, cause or "other", t_ns, lines=[row])
        handshake.end_ns = t_ns if cause == "peer" else _completed(m, events, handshake)
        found.append(handshake)
    return found


def handshake_spans(m: Timeline, found: list[Handshake]) -> Intervals:
    """Times during resets; one that the log never shows completed lasts to its last line."""
    events = m.table("link_events").sorted_by("t_ns")
    return intervals(
        [(one.start_ns, one.end_ns or max(int(events["t_ns"][row]) for row in one.lines)) for one in found]
    )


def flushes(m: Timeline, found: list[Handshake], entity: int | None) -> list[list[int]]:
    """For each reset: when an entity emptied its buffers, which it may do several times.

    Its own lines show it. Without any it is taken to be when the handshake was over. The other entity resumes
    sending before the one that gave up has its UA: the handshake's end is not the border of its stream.

    Parameters
    ----------
    m : Timeline
    found : list of Handshake
        Resets of the link, in order of time.
    entity : int or None
        Whose buffers; None where there is none.

    Returns
    -------
    list of list of int
        Times in nanoseconds, by reset.
    """
    events = m.table("link_events").sorted_by("t_ns")
    times = []
    for one in found:
        own = [int(events["t_ns"][row]) for row in one.lines if events["entity"][row] == entity]
        last = max(int(events["t_ns"][row]) for row in one.lines)
        times.append(own or [one.end_ns or last])
    return times


def _continues(current: Handshake, entity: int, cause: str, t_ns: int) -> bool:
    if cause == "peer":
        # The other entity's lines: after its peer's, or after its own previous one if its peer keeps no log.
        if current.cause != "peer":
            return entity != current.entity or t_ns <= (current.end_ns or t_ns)
        return entity == current.entity and t_ns - (current.end_ns or current.start_ns) < PEER_REPEAT_NS
    return current.cause != "peer" and (current.end_ns is None or t_ns < current.end_ns)


def _completed(m: Timeline, events: Table, reset: Handshake) -> int | None:
    """When the initiator had the UA, or the SABM of a peer that gave up, too; else when it resumed."""
    after = (events["entity"] == reset.entity) & (events["t_ns"] > reset.start_ns)
    received = after & (events["action"] == events.code("action", "rcv"))
    answered = np.isin(events["kind"], [events.code("kind", word) for word in ("UA", "SABM")])
    answers = events["t_ns"][received & answered]
    frames = sendings(m, m.table("link_frames"))
    sent = (frames["entity"] == reset.entity) & (frames["action"] == frames.code("action", "snd"))
    data = frames["t_ns"][sent & (frames["t_ns"] > reset.start_ns)]
    ends = [int(times.min()) for times in (answers, data) if len(times)]
    return min(ends) if ends else None
