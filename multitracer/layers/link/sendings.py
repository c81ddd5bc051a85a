"""Data frames that were sent, reported by their sender, or only by their receiver."""

from __future__ import annotations

import numpy as np

from multitracer.model.table import Table
from multitracer.model.timeline import Timeline


def sendings(m: Timeline, frames: Table) -> Table:
    """Frames of both entities, in order of time, with those that stand for what was sent.

    An entity that only its peer reports (a base station, seen by a phone) has no "snd" rows: the frames that
    arrived replace them. What was lost on the air is missing, and was retransmitted.

    Parameters
    ----------
    m : Timeline
    frames : Table
        Rows of `link_frames`.

    Returns
    -------
    Table
        The same rows; receptions of such an entity's frames are "snd" rows of that entity.
    """
    frames = frames.sorted_by("t_ns")
    unheard = [e for e in range(len(m.entities)) if m.link_type(e).observer == "receiver"]
    if not unheard or len(m.entities) != 2:
        return frames
    arrived = (frames["action"] == frames.code("action", "rcv")) & np.isin(1 - frames["entity"], unheard)
    return frames.replace(
        entity=np.where(arrived, 1 - frames["entity"], frames["entity"]),
        action=np.where(arrived, frames.code("action", "snd"), frames["action"]),
    )
