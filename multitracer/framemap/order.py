"""Packets of encrypted frames, some of which a monitor missed: by direction, length, order and arrival.

Sequence numbers say how many frames went between two that were seen, whatever was missed; the capture behind
the link says when each packet had arrived.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]

_MODULUS = 4096
_NEAR_NS = 5_000_000
_LATE_NS = 8_000_000  # a host may be late by so much with several packets at once; numbers are not
_LONGEST_NS = 500_000_000
_BIN_NS = 500_000
_SEARCH = 64


def by_arrival(ns: Int, length: Int, heard_ns: Int, packet_bytes: Int, arrived_ns: Int) -> tuple[Int, float]:
    """The packet of each frame.

    Parameters
    ----------
    ns, length : array
        Sequence number and bytes of each frame, in the order of sending.
    heard_ns : array
        When its acknowledgement was seen; -1 if never.
    packet_bytes, arrived_ns : array
        Of each packet, in the order of sending: bytes, and when it passed the capture behind the link; -1 if
        it never did.

    Returns
    -------
    index : array
        Of its packet; -1 if none fits.
    agreement : float
        Share of the frames whose packet, counted on by sequence numbers, arrived when it had to.
    """
    index = np.full(len(ns), -1, dtype=np.int64)
    frames, packets = np.flatnonzero(heard_ns >= 0), np.flatnonzero(arrived_ns >= 0)
    packets = packets[np.argsort(arrived_ns[packets], kind="stable")]
    if not len(frames) or not len(packets):
        return index, 0.0
    arrived, size = arrived_ns[packets], packet_bytes[packets]
    due = heard_ns[frames] + _usual_delay(heard_ns[frames], arrived)
    # Frames that were seen to fail between two that arrived took numbers, and no arrivals.
    failed = np.cumsum(heard_ns < 0)[frames]
    at, agreed, last = -1, 0, -1
    for row, frame in enumerate(frames.tolist()):
        step = 1
        if last >= 0:
            step = (int(ns[frame]) - int(ns[frames[last]])) % _MODULUS - int(failed[row] - failed[last])
        guess = at + step if at >= 0 and 0 < step < _SEARCH else -1
        if (
            0 <= guess < len(size)
            and size[guess] == length[frame]
            and abs(arrived[guess] - due[row]) < _LATE_NS
        ):
            agreed += 1
        else:
            guess = _nearest(arrived, size, int(due[row]), int(length[frame]), at)
            if guess < 0:
                continue
        index[frame], at, last = packets[guess], guess, row
    return index, agreed / len(frames)


def _usual_delay(heard: Int, arrived: Int) -> int:
    """From the acknowledgement to the arrival: the difference that occurs most often."""
    low = np.searchsorted(arrived, heard - _NEAR_NS)
    found = [arrived[np.minimum(low + k, len(arrived) - 1)] - heard for k in range(_SEARCH)]
    apart = np.concatenate(found)
    apart = apart[(apart >= -_NEAR_NS) & (apart < _LONGEST_NS)]
    if not len(apart):
        return 0
    bins = (apart + _NEAR_NS) // _BIN_NS
    best = int(np.argmax(np.bincount(bins)))
    return int(np.median(apart[np.abs(bins - best) <= 1]))


def _nearest(arrived: Int, size: Int, due: int, length: int, after: int) -> int:
    """The later packet of that length that arrived nearest to a time; -1 if none did near it."""
    low = max(int(np.searchsorted(arrived, due - _NEAR_NS)), after + 1)
    high = int(np.searchsorted(arrived, due + _NEAR_NS))
    fits = np.flatnonzero(size[low:high] == length) + low
    return int(fits[np.argmin(np.abs(arrived[fits] - due))]) if len(fits) else -1
