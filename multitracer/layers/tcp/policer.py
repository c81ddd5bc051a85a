"""Losses of a policer: a token bucket drops what exceeds its rate by more than a burst, and queues nothing.

What passes it is a straight line of its rate and what the bucket held above that. Packets are dropped where
it is empty, and no RTT grows before: in front of a drop-tail queue, packets wait there.

References
----------
Flach and others: An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016, section 3.
"""

from __future__ import annotations

import numpy as np

from multitracer.layers.tcp.loss_times import lost_behind, needless
from multitracer.layers.tcp.transit import Flags, Times, data_at
from multitracer.model.arrays.unique import sorted_unique
from multitracer.model.frozen import frozen
from multitracer.model.table import Table
from multitracer.model.timeline import Connection, Timeline

LEAST = 15
"""Of fewer losses nothing is concluded (section 3.1 there)."""

_EPISODES = 3
"""They have to be in so many pairs of RTTs: those of one fit any rate."""

_FITS = 0.85
_FITS_BEFORE, _LEAST_BEFORE = 0.65, 30
"""This part of the losses has to be at times when the bucket is empty; where they were lost before the
capture, only between which packets shows, so that of more of them fewer have to..."""

_EMPTY_PACKETS = 3.0
"""...but for so many packets."""

_BURST_PACKETS = 6.0
"""A smaller bucket passes no burst: what comes out of any link looks like that."""

_QUEUED = 0.5
"""The RTT may grow by this part of what a queue of the burst's size would add."""

_MEAN_LESS = 0.6
"""The bucket was full for a while if less passed between the losses than its rate allows: this part."""

_ALIKE, _EXACT = 0.97, 1.1
"""Rates that explain this part of the most losses are as good; where they differ by more, it is a bound."""

_RARE = 1000
"""One packet of so many may pass beyond the burst."""

_STEPS = 61
_NEAR = 0.99, 1.01, 21
_MOST_ROWS = 400_000


@frozen
class Policer:
    """A token bucket.

    Attributes
    ----------
    rate_bps : float
        Bits of IP packets a second.
    burst_bytes : float
        Bytes of IP packets that it lets pass at once.
    losses, of : int
        Losses that came while it was empty, of so many.
    at_least : bool
        Whether faster ones explain as many: it was seldom empty for long.
    """

    rate_bps: float
    burst_bytes: float
    losses: int
    of: int
    at_least: bool


def policer(
    m: Timeline, connection: Connection, source: int, rtt_ms: tuple[float, float], *, before: bool
) -> Policer | None:
    """The policer that dropped most of what a connection lost; None if its losses do not look like that.

    Parameters
    ----------
    m : Timeline
    connection : Connection
    source : int
        The capture.
    rtt_ms : tuple of float
        Base RTT, and what hardly any RTT exceeds, milliseconds.
    before : bool
        Whether the losses are before the capture, so that it never saw what was lost.
    """
    data = data_at(m, connection, source)
    if not LEAST < len(data) <= _MOST_ROWS:
        return None
    if before:
        passed, lost_ns = _lost_before(data)
    else:
        passed, lost_ns = lost_behind(data, needless(m, connection, source, data))
    found = token_bucket(data["t_ns"][passed], data["ip_length"][passed], lost_ns, rtt_ms)
    least, fits = (_LEAST_BEFORE, _FITS_BEFORE) if before else (LEAST, _FITS)
    return found if found is not None and found.of >= least and found.losses >= fits * found.of else None


def token_bucket(t_ns: Times, size: Times, lost_ns: Times, rtt_ms: tuple[float, float]) -> Policer | None:
    """The token bucket that explains most losses; None if there is none, or if packets waited in a queue.

    Parameters
    ----------
    t_ns, size : array
        When packets passed, ascending, and their bytes.
    lost_ns : array
        When others were lost, ascending.
    rtt_ms : tuple of float
        As of `policer`.
    """
    base_ms, most_ms = rtt_ms
    if len(lost_ns) < LEAST or not len(t_ns):
        return None
    episodes = len(sorted_unique((lost_ns - lost_ns[0]) // max(round(2e6 * most_ms), 1)))
    first, last = (int(np.searchsorted(t_ns, at)) for at in (lost_ns[0], lost_ns[-1]))
    span_s = float(lost_ns[-1] - lost_ns[0]) / 1e9
    if episodes < _EPISODES or last <= first or span_s <= 0:
        return None
    begun = t_ns[0]
    at_s, lost_s = (t_ns - begun) / 1e9, (lost_ns - begun) / 1e9
    came = np.cumsum(size, dtype=np.float64)
    mean = float(came[last - 1] - came[first]) / span_s
    packet = float(np.sort(size)[len(size) // 2])
    # The packet that passed last before each loss, and the next.
    place = np.maximum(np.searchsorted(t_ns, lost_ns, side="right") - 1, 0)
    next_one = np.minimum(place + 1, len(t_ns) - 1)
    # Where the bucket was never full in between, it is empty along a straight line.
    apart_s, above = lost_s - lost_s.mean(), came[place] - came[place].mean()
    slope = float((apart_s * above).sum() / (apart_s * apart_s).sum())
    rates = np.concatenate([np.linspace(mean, mean / _MEAN_LESS, _STEPS), slope * np.linspace(*_NEAR)])
    tried: list[tuple[int, float, float]] = []
    for rate in rates[rates > 0].tolist():
        over = came - rate * at_s
        taken = over - np.minimum.accumulate(np.minimum(over - size, 0.0))
        burst = float(np.partition(taken, -1 - len(taken) // _RARE)[-1 - len(taken) // _RARE])
        if most_ms - base_ms > _QUEUED * burst / rate * 1e3:
            # The first is the slowest, and has the largest burst of all.
            if not tried:
                return None
            continue
        # Tokens come until the loss; what passes after it takes the next.
        then = np.maximum(taken[place] - rate * (lost_s - at_s[place]), taken[next_one])
        if burst >= _BURST_PACKETS * packet:
            tried.append((int((then >= burst - _EMPTY_PACKETS * packet).sum()), rate, burst))
    if not tried:
        return None
    fits, rate, burst = max(tried, key=lambda one: one[0])
    alike = [other for number, other, _ in tried if number >= _ALIKE * fits]
    return Policer(8.0 * rate, burst, fits, len(lost_ns), max(alike) > _EXACT * min(alike))


def _lost_before(data: Table) -> tuple[Flags, Times]:
    """All segments passed; what fills a sequence gap was lost after the last one before it."""
    seq, ends = data["seq"], data["seq"] + data["length"]
    high = np.maximum.accumulate(ends)
    fills = np.flatnonzero(seq[1:] < high[:-1]) + 1
    left = np.searchsorted(high, seq[fills], side="right")
    return data["length"] > 0, np.sort(data["t_ns"][np.maximum(left - 1, 0)])
