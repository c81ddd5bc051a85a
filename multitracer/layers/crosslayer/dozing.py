"""Packets that waited at the access point for a station that dozed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from multitracer.layers import framemap
from multitracer.layers.link.path import link_path
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.frozen import frozen
from multitracer.model.table import Table
from multitracer.model.timeline import Timeline

if TYPE_CHECKING:
    import numpy.typing as npt

Times: TypeAlias = "npt.NDArray[np.int64]"


@frozen
class HeldBack:
    """Packets to the data sender's station that waited for it to wake up, in the order of their arrival.

    Attributes
    ----------
    arrived_ns : int64 array
        When the sender's capture saw them.
    came_ns, awake_ns : int64 array
        From when they waited for it, and when it woke up.
    """

    arrived_ns: Times
    came_ns: Times
    awake_ns: Times

    def wait(self, arrived_ns: int, span_ns: tuple[int, int]) -> tuple[int, int] | None:
        """Since when the packet that arrived at a time had waited, and when the station woke up.

        None if it had not, or for no more than half of the time span.
        """
        row = int(np.searchsorted(self.arrived_ns, arrived_ns))
        if row >= len(self.arrived_ns) or self.arrived_ns[row] != arrived_ns:
            return None
        came, awake = int(self.came_ns[row]), int(self.awake_ns[row])
        covered = min(awake, span_ns[1]) - max(came, span_ns[0])
        return (came, awake) if 2 * covered > span_ns[1] - span_ns[0] else None


def held_back(m: Timeline, held_off: Table | None) -> HeldBack | None:
    """Find them: they were there before the station woke up, and were sent after that.

    A packet counts if it was there earlier by more than the clocks may be wrong.

    Parameters
    ----------
    m : Timeline
    held_off : Table or None
        `XOFF_INTERVALS`: when a station signalled that it dozes, and that it is awake.

    Returns
    -------
    HeldBack or None
        None if the link has no power save, or no bound of its clocks is known.

    References
    ----------
    IEEE 802.11, "Power management in a non-DMG infrastructure network".
    """
    path = link_path(m)
    if path is None or held_off is None or m.rcv is None or not path.kind.power_save:
        return None
    sleeps = held_off.where(held_off["entity"] != path.sender).sorted_by("t_ns")
    spans = framemap.of(m).spans
    there = (spans["entity"] != path.sender) & (spans["sent_ns"] >= 0) & (spans["arrived_ns"] >= 0)
    packets = spans.where(there).sorted_by("arrived_ns")
    if not len(packets) or not len(sleeps):
        return None
    slack = 0
    for source in (m.rcv, *sorted_unique(m.table("link_events")["source"]).tolist()):
        bound = m.clocks[source].uncertainty_ns
        if bound is None:
            return None
        slack += bound
    # The last sleep that began before the packet was sent.
    last = np.searchsorted(sleeps["t_ns"], packets["sent_ns"], side="right") - 1
    began, awake = sleeps["t_ns"][last], sleeps["end_ns"][last]
    waited = (last >= 0) & (packets["t_ns"] + slack < awake) & (awake <= packets["sent_ns"])
    came = np.maximum(packets["t_ns"], began)
    return HeldBack(packets["arrived_ns"][waited], came[waited], awake[waited])
