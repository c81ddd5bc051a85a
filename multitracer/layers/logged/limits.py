"""What limited a sender, as far as a log of its socket proves it.

The kernel's own clocks decide (tcp_info: busy, receiver window, send buffer). Without them: of each
interval, whether what was sent fills the smaller window of that time, and which window that is.

References
----------
Linux ``net/ipv4/tcp.c`` (tcp_get_info_chrono_stats); RFC 4898 (tcpEStatsPerfSndLim...); RFC 5681 section 2.
"""

from __future__ import annotations

from typing import Literal

from multitracer.layers.logged.flows import LoggedFlow, Samples
from multitracer.model.frozen import frozen
from multitracer.model.lazy import np
from multitracer.model.table import Array

FULL = 0.6
"""A window is full where that share of it was sent in one RTT; samples are taken at ends of intervals."""

_FEW = 3

Grade = Literal["kernel", "inferred"]


@frozen
class Limit:
    """Shares of the time by what limited the sender.

    Attributes
    ----------
    shares : dict of str to float
        "application", "receiver_window", "send_buffer", "congestion_window", "unknown": of the time watched.
    span_s : float
        The time watched.
    grade : {"kernel", "inferred"}
        kernel: its own clocks; inferred: from windows, RTT and rate.
    record : int
        Where the evidence ends.
    """

    shares: dict[str, float]
    span_s: float
    grade: Grade
    record: int


def limits(found: LoggedFlow) -> Limit | None:
    """What limited the sender; None if the log does not show it (it is the receiver's, or lacks windows)."""
    if found.sends is not True:
        return None
    return _by_clocks(found) or _by_windows(found)


def _by_clocks(found: LoggedFlow) -> Limit | None:
    rows = found.states
    if rows is None:
        return None
    known = np.flatnonzero(rows["busy_ns"] >= 0)
    if not len(known):
        return None
    first, last = int(known[0]), int(known[-1])
    span_ns = int(rows["t_ns"][last]) - int(rows["t_ns"][first])
    if span_ns <= 0:
        return None

    def passed(name: str) -> float:
        # A clock that stands at zero is left out of ss: absent is none.
        begin, end = (max(int(rows[name][at]), 0) for at in (first, last))
        return min(max((end - begin) / span_ns, 0.0), 1.0)

    busy, receiver, buffer = passed("busy_ns"), passed("rwnd_limited_ns"), passed("sndbuf_limited_ns")
    shares = {
        "application": 1.0 - busy,
        "receiver_window": min(receiver, busy),
        "send_buffer": min(buffer, busy),
        "congestion_window": max(busy - receiver - buffer, 0.0),
    }
    return Limit(shares, span_ns / 1e9, "kernel", int(rows["record"][last]))


def _by_windows(found: LoggedFlow) -> Limit | None:
    rates, rtt, cwnd = found.rates, found.rtt, found.cwnd
    if not rates or not rtt or not cwnd or len(rates.end_ns) < _FEW:
        return None
    length = (rates.end_ns - rates.begin_ns).astype(np.float64)
    round_trip, window = at_ends(rtt, rates.end_ns), at_ends(cwnd, rates.end_ns)
    advertised = np.full(len(length), np.inf)
    if found.rwnd:
        advertised = at_ends(found.rwnd, rates.end_ns)
        advertised = np.where(advertised > 0, advertised, np.inf)
    smaller = np.minimum(window, advertised)
    with np.errstate(divide="ignore", invalid="ignore"):
        filled = rates.rate_bps / 8 * round_trip / smaller
    known = np.isfinite(filled)
    full = known & (filled >= FULL)
    total = float(length.sum())
    shares = {
        "application": float(length[known & ~full].sum()) / total,
        "receiver_window": float(length[full & (advertised < window)].sum()) / total,
        "congestion_window": float(length[full & (advertised >= window)].sum()) / total,
        "unknown": float(length[~known].sum()) / total,
    }
    return Limit(shares, total / 1e9, "inferred", int(rates.record[-1]))


def at_ends(found: Samples, t_ns: Array) -> Array:
    """The value at some times: the last one before or at each, NaN where there is none."""
    at = np.searchsorted(found.t_ns, t_ns, side="right") - 1
    values = found.value[np.maximum(at, 0)]
    return np.where(at >= 0, values, np.nan)
