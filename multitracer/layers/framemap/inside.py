"""Packets that a capture of the link shows inside its frames: found by their content, not by their sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

if TYPE_CHECKING:
    import numpy.typing as npt

_KEY = ("conn", "dir", "seq", "length", "ack", "ts_val", "ip_id")
_ENOUGH = 0.5


def seen_inside(m: Timeline, rows: Table, first: Table) -> npt.NDArray[np.int64] | None:
    """Where in the stream each segment lies, by the frame in which the monitor read it.

    Parameters
    ----------
    m : Timeline
    rows : Table
        Segments at the end of the link, in the order of the capture.
    first : Table
        First transmissions of the entity there.

    Returns
    -------
    array or None
        By row: the first byte; -1 for packets that the monitor did not see. None if it could not read them,
        or has so few of them that the two are of different packets (segments put together by a network card).
    """
    if not len(first):
        return None
    log = m.sources[int(first["source"][0])].path
    inside = [i for i, s in enumerate(m.sources) if s.path == log and s.layer == "tcp"]
    segments = m.table("segments")
    theirs = segments.where(np.isin(segments["source"], inside)).sorted_by("record")
    places = _places(m, inside, theirs)
    if places is None:
        if m.link_type(int(first["entity"][0])).unit != "packet":
            return None
        theirs = theirs.where(np.isin(theirs["record"], first["record"]))
        if not len(theirs):
            return None
        order = np.argsort(first["record"], kind="stable")
        places = first["offset"][order[np.searchsorted(first["record"][order], theirs["record"])]]
    ours_key, their_key = _keys(rows, theirs)
    # Of packets that nothing distinguishes, the k-th seen is taken for the k-th sent.
    ours_key = ours_key * (len(rows) + 1) + _rank(ours_key)
    their_key = their_key * (len(rows) + 1) + np.minimum(_rank(their_key), len(rows))
    _, mine, other = np.intersect1d(ours_key, their_key, return_indices=True)
    if len(mine) < _ENOUGH * min(len(rows), len(theirs)):
        return None
    found = np.full(len(rows), -1, dtype=np.int64)
    found[mine] = places[other]
    return found


def _places(m: Timeline, inside: list[int], theirs: Table) -> Array | None:
    """Where each segment begins, as the reader of the link found it; None if unknown."""
    if len(inside) != 1:
        return None
    trace = m.traces[inside[0]]
    segments = trace.tables.get("segments")
    if trace.places is None or segments is None or len(segments) != len(theirs):
        return None
    return trace.places[np.argsort(segments["record"], kind="stable")]


def _keys(rows: Table, theirs: Table) -> tuple[Array, Array]:
    """Equal numbers for equal packets."""
    both = np.column_stack([np.concatenate([rows[name], theirs[name]]).astype(np.int64) for name in _KEY])
    _, codes = np.unique(both, axis=0, return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    return codes[: len(rows)], codes[len(rows) :]


def _rank(codes: Array) -> Array:
    """How many equal ones come before each."""
    order = np.argsort(codes, kind="stable")
    grouped = codes[order]
    rank = np.empty(len(codes), dtype=np.int64)
    rank[order] = np.arange(len(codes)) - np.searchsorted(grouped, grouped, side="left")
    return rank
