"""The link as one direction of data sees it: who sends, who receives, what is known of its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multitracer.layers.link.sendings import sendings
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.frozen import frozen
from multitracer.model.linktype import LinkType
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline

if TYPE_CHECKING:
    import numpy.typing as npt

MOSTLY = 0.5  # so many frames of one size are no chance
TOLERANCE_SLOTS = 0.5  # a frame that comes half a slot late is jitter of the log, not an empty slot
_LAST_NS = np.iinfo(np.int64).max
_MOST_SLOT_NS = 1 << 62  # more is the span of a damaged log, and no time can be added to it


@frozen
class LinkPath:
    """The direction of the link that carries the TCP data.

    Attributes
    ----------
    sender : int
        The entity next to the data sender: the one that sends more user bytes for the first time.
    receiver : int or None
        Its peer; None if the log knows only one entity.
    slot_ns : int
        Time between two frames of a busy sender.
    payload_bytes : int
        User bytes of a full frame; a shorter one means that the send buffer ran empty.
    window : int or None
        Frames that may be unacknowledged; None if the log does not show it.
    t1_ns : int or None
        Time after which the link polls for an acknowledgement; None if the log does not show it.
    sent : Table
        Data frames sent by the sender, in time order, all transmissions.
    first : Table
        Of them, the first transmissions.
    arrived_ns : array
        For each row of `first`: when the peer first received it; -1 if never seen.
    reports_ns : array
        Times of every frame that the sender sent, data and others, in order.
    air_ns : array
        Times of every frame on the medium: of both entities where they share it, else `reports_ns`.
    kind : LinkType
    """

    sender: int
    receiver: int | None
    slot_ns: int
    payload_bytes: int
    window: int | None
    t1_ns: int | None
    sent: Table
    first: Table
    arrived_ns: npt.NDArray[np.int64]
    reports_ns: npt.NDArray[np.int64]
    air_ns: npt.NDArray[np.int64]
    kind: LinkType

    @property
    def has_full_frames(self) -> bool:
        """Whether a frame that is not full shows an empty buffer: not so where sizes are granted."""
        full = self.first["length"] == self.payload_bytes
        return self.kind.slotted or float(np.mean(full)) >= MOSTLY

    @property
    def tolerance_ns(self) -> int:
        """How much later than a slot a frame may come before the slot counts as empty."""
        return round(self.slot_ns * TOLERANCE_SLOTS)

    def slots(self, t_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Begin and end of the slots that begin at these times; shape (n, 2)."""
        ends = np.where(t_ns > _LAST_NS - self.slot_ns, _LAST_NS, t_ns + self.slot_ns)
        return np.column_stack([t_ns, ends])


def link_path(m: Timeline) -> LinkPath | None:
    """The direction of the link that carries the TCP data; None if the log shows no data frame being sent."""
    return m.once("link_path", lambda: _link_path(m))


def _link_path(m: Timeline) -> LinkPath | None:
    frames = m.table("link_frames").sorted_by("t_ns")
    stood = sendings(m, frames)
    sending = stood.where(stood["action"] == stood.code("action", "snd"))
    new = first_rows(m, sending)
    if not len(new):
        return None
    # Each frame counts as a byte more than it holds: one that sent only empty frames is still a sender.
    sender = int(np.argmax(np.bincount(sending["entity"][new], weights=_bytes(sending.where(new)) + 1)))
    others = [entity for entity in sorted_unique(frames["entity"]).tolist() if entity != sender]
    receiver = others[0] if len(others) == 1 else None
    sent = sending.where(sending["entity"] == sender)
    first = sent.where(first_rows(m, sent))
    kind = m.link_type(sender)
    events = m.table("link_events")
    signals = events["t_ns"][
        (events["entity"] == sender) & (events["action"] == events.code("action", "snd"))
    ]
    reports = np.sort(np.concatenate([sent["t_ns"], signals]))
    air = sending["t_ns"] if kind.shared else reports
    payload = setting(m, "payload_bytes")
    slot_ms = setting(m, "slot_ms")
    window = setting(m, "window")
    t1_ms = setting(m, "t1_ms")
    return LinkPath(
        sender=sender,
        receiver=receiver,
        slot_ns=min(round(slot_ms * 1e6) if slot_ms else _usual_step(air), _MOST_SLOT_NS),
        payload_bytes=int(payload) if payload else max(int(first["length"].max()), 1),
        window=int(window) if window else None,
        t1_ns=round(t1_ms * 1e6) if t1_ms else None,
        sent=sent,
        first=first,
        arrived_ns=arrivals(first, frames, receiver),
        reports_ns=reports,
        air_ns=air,
        kind=kind,
    )


def first_rows(m: Timeline, sent: Table) -> npt.NDArray[np.int64]:
    """Rows of first transmissions; a monitor may have missed them: then the first that it saw of a frame.

    Parameters
    ----------
    m : Timeline
    sent : Table
        Frames that were sent, in time order.
    """
    first = sent["attempt"] == 0
    watched = [e for e in sorted_unique(sent["entity"]).tolist() if m.link_type(e).observer == "monitor"]
    for entity in watched:
        mine = np.flatnonzero((sent["entity"] == entity) & (sent["offset"] >= 0))
        first[mine] = False
        first[mine[np.unique(sent["offset"][mine], return_index=True)[1]]] = True
    return np.flatnonzero(first)


def setting(m: Timeline, name: str) -> float | None:
    """A positive setting that a link log states in its header; None if none does."""
    for source in m.sources:
        if source.layer != "link":
            continue
        nested = source.details.get("settings")
        for facts in (source.details, nested if isinstance(nested, dict) else {}):
            try:
                value = float(facts[name])
            except (KeyError, TypeError, ValueError):
                continue
            if 0 < value < 1e9:
                return value
    return None


def arrivals(first: Table, frames: Table, receiver: int | None) -> npt.NDArray[np.int64]:
    """For each first transmission: when the peer first received that frame; -1 if never seen.

    Frames are distinguished by their offset in the byte stream, which is never used twice, even across
    resets.

    Parameters
    ----------
    first : Table
        First transmissions of one entity.
    frames : Table
        All frames of the log.
    receiver : int or None
        The peer's entity; None if the log has none.

    Returns
    -------
    int array
        One for each row of `first`, in nanoseconds.
    """
    missing = np.full(len(first), -1, dtype=np.int64)
    if receiver is None:
        return missing
    received = frames.where(
        (frames["action"] == frames.code("action", "rcv"))
        & (frames["entity"] == receiver)
        & (frames["offset"] >= 0)
        & (frames["duplicate"] == 0)
    )
    if not len(received):
        return missing
    offsets, where = np.unique(received["offset"], return_index=True)
    at = np.minimum(np.searchsorted(offsets, first["offset"]), len(offsets) - 1)
    found = (offsets[at] == first["offset"]) & (first["offset"] >= 0)
    return np.where(found, received["t_ns"][where[at]], missing)


def _bytes(frames: Table) -> npt.NDArray[np.int64]:
    return np.maximum(frames["length"].astype(np.int64), 0)


def _usual_step(times: npt.NDArray[np.int64]) -> int:
    """The slot of a log that does not state it: a busy sender uses every slot, so the median step is one."""
    steps = np.diff(times)
    steps = steps[steps > 0]
    return int(np.median(steps)) if len(steps) else 1
