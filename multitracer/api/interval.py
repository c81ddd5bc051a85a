"""What limited a capture's transfers in one interval, by what was counted in it (``--follow``).

It names what the interval shows and no more: nothing here is a cost, and where nothing was lost, waited for
or delayed, what limits the senders is not known before the whole is analysed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.model.quantities import RETRANSMISSION_WORDS, count

Object = Mapping[str, Any]

DELAY_TIMES = 2.0
"""A smoothed RTT of so many times the smallest seen of its connection counts as delay, if it is also"""
DELAY_MS = 10.0
"""so much above it."""
MOST_BASES = 10_000
"""Connections whose smallest smoothed RTT is kept; beyond, those seen longest ago are forgotten."""


class Intervals:
    """Compares each running summary with the one before."""

    def __init__(self) -> None:
        self._timeouts = 0
        self._causes: dict[str, int] = {}
        self._base_ms: dict[tuple[str, ...], float] = {}

    def cause(self, found: Object) -> dict[str, Any]:
        """The main cause of the interval that ends with a running summary.

        Parameters
        ----------
        found : mapping
            As `Follower.running` makes it (docs/live.md).

        Returns
        -------
        dict
            ``kind`` (``timeouts``, ``retransmissions``, ``delay``, ``silence``, ``unknown``), ``text``, and
            ``timeouts`` and ``retransmissions`` of the interval.
        """
        now = found["interval"]
        total = found["timeouts"]["total"]
        timeouts = max(total - self._timeouts, 0)
        self._timeouts = total
        causes = {name: int(found["retransmissions"][name]) for name in RETRANSMISSION_WORDS}
        new = {name: n - self._causes.get(name, 0) for name, n in causes.items()}
        self._causes = causes
        retransmissions = max(sum(new.values()), 0)
        kind, text = self._cause(now, timeouts, retransmissions, new)
        return {"kind": kind, "text": text, "timeouts": timeouts, "retransmissions": retransmissions}

    def _cause(
        self, now: Object, timeouts: int, retransmissions: int, new: Mapping[str, int]
    ) -> tuple[str, str]:
        delay = self._delay(now["busiest"])
        retransmitted = count(retransmissions, "retransmission")
        if timeouts:
            return "timeouts", f"{count(timeouts, 'timeout')}, {retransmitted}"
        if retransmissions:
            most = max(new, key=lambda name: new[name])
            return "retransmissions", f"{retransmitted}, mostly {RETRANSMISSION_WORDS[most]}"
        if delay is not None:
            ends, srtt_ms, base_ms = delay
            return "delay", (
                f"delay: smoothed RTT {srtt_ms:,.0f} ms from {ends[0]} to {ends[1]}, "
                f"minimum {base_ms:,.0f} ms"
            )
        if not now["bytes"]:
            return "silence", "no data was sent"
        return "unknown", "no loss, timeout or delay seen; the limit is not known yet"

    def _delay(self, busiest: list[Object]) -> tuple[tuple[str, ...], float, float] | None:
        """The connection whose smoothed RTT is the most above its smallest so far, if that is far above."""
        worst: tuple[tuple[str, ...], float, float] | None = None
        for one in busiest:
            srtt_ms = one["srtt_ms"]
            if srtt_ms is None:
                continue
            ends = tuple(one["endpoints"])
            base_ms = self._base_ms[ends] = min(srtt_ms, self._base_ms.pop(ends, srtt_ms))
            if len(self._base_ms) > MOST_BASES:
                del self._base_ms[next(iter(self._base_ms))]
            far = srtt_ms >= DELAY_TIMES * base_ms and srtt_ms - base_ms >= DELAY_MS
            if far and (worst is None or srtt_ms - base_ms > worst[1] - worst[2]):
                worst = ends, srtt_ms, base_ms
        return worst
