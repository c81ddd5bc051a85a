"""Series, marks and spans of the link layer: RlpSnd_data, RlpSnd_rexmt, RlpSnd_rst, RlpSnd_xoff."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.model.table import Array, Table
from multitracer.plots.fold import Floats
from multitracer.plots.panel import Role, Series
from multitracer.plots.series.selection import Selection


def sending_entity(frames: Table) -> int | None:
    """The link entity that carries the data: the one that sent the most bytes for the first time."""
    first = frames.where((frames["action"] == frames.code("action", "snd")) & (frames["attempt"] == 0))
    if not len(first):
        return None
    sent = np.bincount(first["entity"], weights=np.maximum(first["length"], 0))
    return int(sent.argmax())


def frame_series(
    selection: Selection, frames: Table, entity: int, shift: int, group: str
) -> Iterator[Series]:
    """``RlpSnd_data`` and ``RlpSnd_rexmt`` of one entity, moved up by `shift` bytes.

    The link's byte stream counts from the beginning of the call; here it counts from the first frame sent
    after the first TCP event, so that a call that was long up before does not push the graph away.

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    frames : Table
        All frames of the log.
    entity : int
        The one that sends the data.
    shift : int
        Bytes.
    group : str
        Of the legend.

    Yields
    ------
    Series
        Seconds and bytes; none without a frame.
    """
    sent = frames.where(
        (frames["entity"] == entity)
        & (frames["action"] == frames.code("action", "snd"))
        & (frames["offset"] >= 0)
    )
    if not len(sent):
        return
    during = sent["offset"][sent["t_ns"] >= selection.measurement.t0_ns]
    prefix = selection.measurement.link_type(entity).prefix
    base = int(during.min()) if len(during) else int(sent["offset"].min())
    looks: tuple[tuple[str, Role, Array, str], ...] = (
        ("RlpSnd_data", "link_data", sent["attempt"] == 0, "frames"),
        ("RlpSnd_rexmt", "link_retransmission", sent["attempt"] > 0, "retransmitted"),
    )
    for name, role, wanted, words in looks:
        rows = sent.where(wanted)
        if len(rows):
            yield Series(
                name,
                role,
                selection.seconds(rows["t_ns"]),
                (rows["offset"] - base + shift).astype(np.float64),
                label=f"{name.replace('Rlp', prefix)} ({words})",
                group=group,
                record=rows["record"],
                source=int(rows["source"][0]),
            )


def xoff_intervals(selection: Selection, events: Table, entity: int) -> tuple[Floats, Floats]:
    """Times during which the peer held the sending entity off: from RNR (XOFF) to the next RR (XON).

    An interval that never ends goes to the last event of the log.

    Parameters
    ----------
    selection : Selection
        The flow that is drawn.
    events : Table
        All events of the log.
    entity : int
        The one that sends the data.

    Returns
    -------
    starts, ends : float array
        Seconds from the first TCP event.
    """
    kinds = events.words("kind")
    received = (events["entity"] == entity) & (events["action"] == events.code("action", "rcv"))
    signals = events.where(received & ((kinds == "RNR") | (kinds == "RR")))
    off = signals.words("kind") == "RNR"
    changes = np.flatnonzero(np.diff(off, prepend=False))
    x = selection.seconds(signals["t_ns"])
    starts = x[changes[off[changes]]]
    ends = x[changes[~off[changes]]]
    if len(ends) < len(starts):
        ends = np.append(ends, selection.seconds(events["t_ns"][-1:]))
    return starts, ends


def rate_between(series: Series, starts: Floats, ends: Floats, window: tuple[float, float]) -> float | None:
    """Bytes per second of a data series outside the intervals: the rate while the link may send (Paper 5.5).

    None if less than a tenth of the window is left.

    Parameters
    ----------
    series : Series
        Bytes over time.
    starts, ends : float array
        Of the intervals, in seconds.
    window : (float, float)
        Begin and end in seconds.
    """
    inside = series.inside(window)
    x, y = series.x[inside], series.y[inside]
    if len(x) < 3:
        return None
    held = np.clip(ends, x[0], x[-1]) - np.clip(starts, x[0], x[-1])
    free = float(x[-1] - x[0]) - float(held.sum())
    return float(y[-1] - y[0]) / free if free > 0.1 * (x[-1] - x[0]) else None


def longest_run(series: Series, starts: Floats, ends: Floats, window: tuple[float, float]) -> Series | None:
    """The points of the longest stretch between two intervals inside the window.

    Parameters
    ----------
    series : Series
        Bytes over time.
    starts, ends : float array
        Of the intervals, in seconds.
    window : (float, float)
        Begin and end in seconds.

    Returns
    -------
    Series or None
        None if it has fewer than three points.
    """
    edges = np.concatenate(([window[0]], np.clip(np.c_[starts, ends].ravel(), *window), [window[1]]))
    free = edges.reshape(-1, 2)
    begin, end = free[int(np.argmax(free[:, 1] - free[:, 0]))]
    inside = (series.x >= begin) & (series.x <= end)
    if int(inside.sum()) < 3:
        return None
    return Series(series.name, series.role, series.x[inside], series.y[inside])
