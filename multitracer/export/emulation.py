"""What the link did, for replay: a trace for Mahimahi, and an error trace for the lab.

References
----------
Paper 4.1 (trace-based emulation, Noble et al., SIGCOMM 97), 4.2 ("input for trace replay"). Mahimahi,
mm-link(1): a line per opportunity to deliver 1500 bytes, in milliseconds from the start.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.export import conditions
from multitracer.export.files import writing
from multitracer.layers.link import airtime
from multitracer.layers.link.path import link_path
from multitracer.layers.link.resetlog import handshakes
from multitracer.model.arrays.intervals import Intervals, contains, intervals
from multitracer.model.errors import UsageError
from multitracer.model.table import Array
from multitracer.model.timeline import Timeline

OPPORTUNITY = 1500  # bytes, fixed by Mahimahi
PER_LINE = 50
RLP_BYTES = 24  # user data of a frame in a time slot (GSM 04.22, 240-bit frames)
_ALL_NS = 1 << 62
MOST_SLOTS = 1 << 25
"""Slots of a trace: a week of RLP, nine hours of LTE. Beyond, a clock was set or a stamp is damaged."""


def opportunities(measurement: Timeline) -> list[int]:
    """Milliseconds at which the link of the data sender could have delivered another 1500 bytes.

    Every slot that the air did not destroy carries one frame's user bytes, used or not; slots in which the
    peer held the sender off (XOFF) or the link was being reset carry none.

    Raises
    ------
    UsageError
        Without a link log, if it spans more than `MOST_SLOTS`, or if the link never carried 1500 bytes.
    """
    path = link_path(measurement)
    if path is None:
        raise UsageError("a link trace needs a link log that shows data frames being sent")
    first, last = int(path.reports_ns[0]), int(path.reports_ns[-1])
    slots = _slots(first, last, path.slot_ns)
    usable = np.ones(slots, dtype=bool)
    lost = _lost(measurement, path.sender)[:slots]
    usable[: len(lost)] &= ~lost
    for start, end in _held(measurement, path.sender):
        usable[max((start - first) // path.slot_ns, 0) : max((end - first) // path.slot_ns, 0)] = False
    carried = np.cumsum(np.where(usable, path.payload_bytes, 0))
    if carried[-1] < OPPORTUNITY:
        raise UsageError(f"the link carried {int(carried[-1]):,} bytes: less than Mahimahi's {OPPORTUNITY}")
    wanted = np.arange(1, int(carried[-1]) // OPPORTUNITY + 1) * OPPORTUNITY
    at = np.searchsorted(carried, wanted)
    return [max(int(ms), 1) for ms in ((at + 1) * path.slot_ns // 1_000_000).tolist()]


def errors(measurement: Timeline, entity: int) -> list[int]:
    """1 for each slot of an entity that the air destroyed, else 0: what `multitracer.lab.air.Air` replays.

    Slots count from the first frame that any entity sent, as those of the lab's link do. A slot is destroyed
    if a frame was sent in it and the log shows no reception at the peer that fits: the same frame, about one
    link delay later. Slots in which the log shows nothing sent show nothing and count as good. So do those
    whose frames were still in transit when the log ended, and those whose frames reached a peer that had
    given up and ignored everything but the answer to its SABM: no log shows whether the air destroyed them,
    and a replay in which the peer does the same does not depend on it.

    Raises
    ------
    UsageError
        If the log shows nothing sent by the entity, or nothing received by another, or spans more than
        `MOST_SLOTS`.
    """
    return [int(lost) for lost in _lost(measurement, entity)]


def _slots(first_ns: int, last_ns: int, slot_ns: int) -> int:
    """How many slots there are from the first time to the last.

    Raises
    ------
    UsageError
        More than a trace may have.
    """
    count = (last_ns - first_ns) // slot_ns + 1
    if count > MOST_SLOTS:
        raise UsageError(
            f"the link log spans {(last_ns - first_ns) / 8.64e13:,.1f} days, {count:,} slots of "
            f"{slot_ns / 1e6:g} ms; a trace holds {MOST_SLOTS:,}: correct its time stamps, or cut the log"
        )
    return count


def _lost(measurement: Timeline, entity: int) -> Array:
    """The slots of an entity that the air destroyed, see `errors`: a bool array."""
    link = link_path(measurement)
    sent_ns, sent_key = airtime.lines(measurement, entity, "snd")
    received_ns, received_key = airtime.lines(measurement, entity, "rcv")
    delay = airtime.usual_delay_ns(sent_ns, sent_key, received_ns, received_key)
    if link is None or delay is None:
        raise UsageError("an error trace needs a link log with the frames of both ends, sent and received")
    arrived = airtime.received_ns(sent_ns, sent_key, received_ns, received_key, link.slot_ns) >= 0
    last = max(int(measurement.table(name)["t_ns"].max(initial=0)) for name in ("link_frames", "link_events"))
    # A damaged log may have slots of centuries: what is before all time leaves nothing known.
    known = sent_ns <= max(last - delay - airtime.LATE_SLOTS * link.slot_ns, -_ALL_NS)
    numbered, _ = airtime.lines(measurement, entity, "snd", unnumbered=False)
    unheeded = contains(_unresponsive(measurement, entity), sent_ns + delay) & np.isin(sent_ns, numbered)
    known &= ~unheeded
    begin_ns = _begin_ns(measurement)
    _slots(begin_ns, int(sent_ns.max()), link.slot_ns)
    slot = np.round((sent_ns - begin_ns) / link.slot_ns).astype(np.int64)
    good = np.zeros(int(slot.max()) + 1, dtype=bool)
    good[slot[arrived | ~known]] = True
    used = np.zeros(len(good), dtype=bool)
    used[slot] = True
    return np.asarray(used & ~good)


def _begin_ns(measurement: Timeline) -> int:
    """When the first frame of any entity was sent."""
    sent = [
        rows["t_ns"][rows["action"] == rows.code("action", "snd")]
        for rows in (measurement.table("link_frames"), measurement.table("link_events"))
    ]
    return int(np.concatenate(sent).min())


def _unresponsive(measurement: Timeline, entity: int) -> Intervals:
    """Times in which the peer of an entity had given up: from its reset to the answer or the other's SABM."""
    events = measurement.table("link_events").sorted_by("t_ns")
    events = events.where(events["entity"] != entity)
    kinds, causes = events.words("kind"), events.words("cause")
    received = events["action"] == events.code("action", "rcv")
    found, began = [], None
    for kind, cause, rcv, t_ns in zip(
        kinds.tolist(), causes.tolist(), received.tolist(), events["t_ns"].tolist(), strict=True
    ):
        if kind == "reset" and cause != "peer":
            began = t_ns + 1 if began is None else began  # what came at that moment was taken
        elif rcv and kind in ("UA", "SABM") and began is not None:
            found.append((began, t_ns))
            began = None
    if began is not None:
        found.append((began, int(np.iinfo(np.int64).max)))
    return intervals(found)


def write_mahimahi(measurement: Timeline, path: str) -> int:
    """Write a trace for ``mm-link``; returns the number of opportunities."""
    found = opportunities(measurement)
    with writing(path) as file:
        file.writelines(f"{ms}\n" for ms in found)
    return len(found)


def write_errors(measurement: Timeline, path: str) -> dict[str, int]:
    """Write a scenario for `multitracer lab run` that replays the air of both directions.

    Returns
    -------
    dict
        Lost slots by direction.

    Raises
    ------
    UsageError
    """
    link = link_path(measurement)
    if link is None:
        raise UsageError("an error trace needs a link log that shows data frames being sent")
    if link.payload_bytes > RLP_BYTES:
        raise UsageError(
            f"an error trace replays RLP, whose frames carry up to {RLP_BYTES} bytes; those of this link "
            f"carry {link.payload_bytes:,}: export it for Mahimahi"
        )
    sides = {"air_up": link.sender, "air_down": link.receiver}
    sending = _senders(measurement)
    found = {
        side: errors(measurement, entity)
        for side, entity in sides.items()
        if entity is not None and entity in sending
    }
    with writing(path) as file:
        file.write("# The air of a measured link, for replay: multitracer lab run FILE -o DIRECTORY\n")
        file.write(
            "# One number per slot: 1 destroyed, 0 not. air_up is the direction of the data.\n"
            "# What the traces do not show is as in the scenario that this one extends.\n"
        )
        file.write('shows = "replay of a measured link"\nextends = "figure-5-typical"\n')
        file.writelines(conditions.tables(measurement, link))
        for side, trace in found.items():
            file.write(f'\n[link.{side}]\nkind = "trace"\nrepeat = false\ntrace = [\n')
            file.writelines(_rows(trace))
            file.write("]\n")
    return {side: sum(trace) for side, trace in found.items()}


def resets_to_lose(measurement: Timeline) -> int:
    """Link resets of a measurement, which a replay of its air may not have.

    The air is replayed, slot by slot; a reset needs one frame to fail N2 times in a row, and which frame is
    in a slot depends on what TCP sends meanwhile.
    """
    return len(handshakes(measurement))


def _senders(measurement: Timeline) -> set[int]:
    """Entities that sent anything by the log."""
    found: set[int] = set()
    for name in ("link_frames", "link_events"):
        rows = measurement.table(name)
        found |= set(rows["entity"][rows["action"] == rows.code("action", "snd")].tolist())
    return found


def _rows(trace: Sequence[int]) -> list[str]:
    return [
        "  " + ",".join(map(str, trace[first : first + PER_LINE])) + ",\n"
        for first in range(0, len(trace), PER_LINE)
    ]


def _held(measurement: Timeline, entity: int) -> list[tuple[int, int]]:
    """Times in which the entity could send no user data: XOFF to XON, and from a reset to the next data."""
    events = measurement.table("link_events").sorted_by("t_ns")
    mine = events["entity"] == entity
    kinds = events.words("kind")
    received = mine & (events["action"] == events.code("action", "rcv"))
    found, began = [], None
    for kind, t_ns in zip(kinds[received].tolist(), events["t_ns"][received].tolist(), strict=True):
        if kind == "RNR" and began is None:
            began = t_ns
        elif kind == "RR" and began is not None:
            found.append((began, t_ns))
            began = None
    data: Array = measurement.table("link_frames")["t_ns"][
        (measurement.table("link_frames")["entity"] == entity)
        & (measurement.table("link_frames")["action"] == 0)
    ]
    data = np.sort(data)
    for t_ns in events["t_ns"][mine & (kinds == "reset")].tolist():
        after = int(np.searchsorted(data, t_ns, side="right"))
        if after < len(data):
            found.append((t_ns, int(data[after])))
    return found
