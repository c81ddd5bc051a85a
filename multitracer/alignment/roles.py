"""Observation points: where on the path a capture was taken, found from what it saw."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from multitracer.model.arrays.statistics import quantiles
from multitracer.model.lazy import np
from multitracer.model.table import Array, Table

LEAST_RTT_NS = 500_000
"""Below half a millisecond in all, the hosts' own delays hide which side of the path is near."""

_SYN, _ACK = 0x02, 0x10
_CONTROL = 0x17  # FIN, SYN, RST and ACK
_NEAR = 0.25  # share of the RTT on one side below which the capture is at that side's host


class Split(NamedTuple):
    """How the RTT is split at one capture.

    Attributes
    ----------
    data_to_ack_ns : float
        From data passing the capture to its acknowledgment coming back: the far side of the path.
    ack_to_data_ns : float
        From an acknowledgment passing to the data that it released: the near side.
    point : str
        "snd", "rcv" or "mid".
    """

    data_to_ack_ns: float
    ack_to_data_ns: float
    point: str

    def words(self) -> str:
        """For `source.details`."""
        return (
            f"guess, by the split of the RTT: data to its ACK {self.data_to_ack_ns / 1e6:.3f} ms, "
            f"ACK to new data {self.ack_to_data_ns / 1e6:.3f} ms"
        )


def most_data(data_bytes: Sequence[int], unseen_bytes: Sequence[int]) -> int:
    """Direction with most payload; where no capture has any, that of which most was acknowledged.

    Parameters
    ----------
    data_bytes, unseen_bytes : sequence of int
        By direction: payload, and what was acknowledged without having been captured.
    """
    bytes_ = data_bytes if any(data_bytes) else unseen_bytes
    return int(bytes_[1] > bytes_[0])


def observed(summary: Mapping[str, Any], data_dir: int) -> dict[str, Any] | None:
    """What the core judged of a capture's place on the path (docs/limits.md), by one connection's summary.

    Returns
    -------
    dict or None
        `point` (snd, rcv, mid, or None), `grade` and `evidence`; None if the summary is not the core's.
    """
    text = summary.get(("forward", "reverse")[data_dir], {}).get("path")
    found: dict[str, Any] | None = None if text is None else json.loads(text)["observation"]
    return found


def split_of_rtt(segments: Table, conn: int, data_dir: int) -> Split | None:
    """Judge one capture alone by the two parts of its RTT.

    Next to the sender new data follows ACKs at once; next to the receiver ACKs follow data at once. Low
    percentiles are compared: delayed ACKs and waiting for the window lengthen single cases only.
    None if data or ACKs are missing.

    Parameters
    ----------
    segments : Table
        Of one capture.
    conn : int
        The connection.
    data_dir : int
        The direction that carries the bulk of the data, 0 or 1.
    """
    mine = segments["conn"] == conn
    opening = _handshake(segments, mine, data_dir)
    if opening is not None:
        return opening
    is_data = mine & (segments["dir"] == data_dir) & (segments["length"] > 0)
    is_ack = mine & (segments["dir"] != data_dir) & (segments["ack"] >= 0)
    t_data, end = segments["t_ns"][is_data], (segments["seq"] + segments["length"])[is_data]
    t_ack, ack = segments["t_ns"][is_ack], segments["ack"][is_ack]
    if len(t_data) < 2 or len(t_ack) < 2:
        return None
    forward = _first_occurrences(end)  # the first transmission of each segment
    first_end, at = end[forward], forward
    highest = np.maximum.accumulate(ack)
    advance = np.flatnonzero(np.diff(highest, prepend=highest[0] - 1) > 0)
    place = np.searchsorted(first_end, ack[advance])
    exact = (place < len(first_end)) & (first_end[np.minimum(place, len(first_end) - 1)] == ack[advance])
    if not exact.any():
        return None
    to_ack = t_ack[advance[exact]] - t_data[at[place[exact]]]
    following = np.searchsorted(t_data, t_ack[advance], side="left")
    released = following < len(t_data)
    if not released.any():
        return None
    to_data = t_data[following[released]] - t_ack[advance[released]]
    far = float(quantiles(to_ack[to_ack >= 0], (0.1,))[0]) if (to_ack >= 0).any() else 0.0
    near = float(quantiles(to_data, (0.1,))[0])
    if far + near <= 0:
        return None
    return Split(far, near, point_by_share(near / (far + near)))


def _handshake(segments: Table, mine: Array, data_dir: int) -> Split | None:
    """The split by SYN, SYN+ACK and ACK, which no window or delayed ACK lengthens; None if not seen."""
    flags = segments["flags"] & _CONTROL
    syn = np.flatnonzero(mine & (flags == _SYN))
    answer = np.flatnonzero(mine & (flags == _SYN | _ACK))
    if len(syn) != 1 or len(answer) != 1:
        return None
    third = np.flatnonzero(mine & (segments["dir"] == segments["dir"][syn[0]]) & (flags & _ACK != 0))
    if len(third) == 0:
        return None
    t_ns = segments["t_ns"]
    server_side = float(t_ns[answer[0]] - t_ns[syn[0]])
    client_side = float(t_ns[third[0]] - t_ns[answer[0]])
    if server_side < 0 or client_side < 0 or server_side + client_side < LEAST_RTT_NS:
        return None
    sends = int(segments["dir"][syn[0]]) == data_dir
    far, near = (server_side, client_side) if sends else (client_side, server_side)
    return Split(far, near, point_by_share(near / (far + near)))


def point_by_share(near_share: float) -> str:
    """Observation point by the share of the RTT that lies on the data sender's side."""
    return "snd" if near_share <= _NEAR else "rcv" if near_share >= 1 - _NEAR else "mid"


def _first_occurrences(values: Array) -> Array:
    """Index of the first occurrence of each value, in ascending order of value."""
    return np.unique(values, return_index=True)[1]
