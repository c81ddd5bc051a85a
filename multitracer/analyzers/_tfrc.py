"""TCP-friendly rate control: the throughput equation (RFC 5348)."""

from __future__ import annotations

from math import sqrt

from multitracer.model.lazy import np
from multitracer.model.table import Array


def throughput_bps(segment_bytes: float, rtt_s: float, loss_event_rate: float) -> float | None:
    """X_calc: the rate that TCP would have on this path, in bits per second; None without a loss event.

    Parameters
    ----------
    segment_bytes : float
        s, the mean size of a packet's data.
    rtt_s : float
        R, the round-trip time.
    loss_event_rate : float
        p, loss events per packet, 0 to 1.

    Notes
    -----
    ``X = s / (R sqrt(2bp/3) + t_RTO 3 sqrt(3bp/8) p (1 + 32 p^2))`` with b = 1 and t_RTO = 4 R.

    Reference: RFC 5348 section 3.1.
    """
    if segment_bytes <= 0 or rtt_s <= 0 or not 0 < loss_event_rate <= 1:
        return None
    p = loss_event_rate
    fast = rtt_s * sqrt(2 * p / 3)
    slow = 4 * rtt_s * 3 * sqrt(3 * p / 8) * p * (1 + 32 * p * p)
    return 8 * segment_bytes / (fast + slow)


def throughputs_bps(segment_bytes: float, rtt_s: Array, loss_event_rate: Array) -> Array:
    """`throughput_bps` of arrays; NaN without a loss event."""
    p = np.where((loss_event_rate > 0) & (loss_event_rate <= 1) & (rtt_s > 0), loss_event_rate, np.nan)
    fast = rtt_s * np.sqrt(2 * p / 3)
    slow = 4 * rtt_s * 3 * np.sqrt(3 * p / 8) * p * (1 + 32 * p * p)
    return 8 * segment_bytes / (fast + slow) if segment_bytes > 0 else np.full(len(p), np.nan)
