"""Fairness: how equally the connections of a measurement shared the path."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from multitracer.analyzers._needs import QUESTIONS
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.arrays.statistics import jain, standard_deviation
from multitracer.model.timeline import Timeline
from multitracer.output.digest import limit_s


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Spread of goodput over the connections that sent data.

    Each connection counts with the bytes that were acknowledged, from its first data segment (from its
    handshake, if all that was sent first was lost) to the last ACK of its data, or, if it never closed, to
    the last ACK of any: one that stalls until the end got less, not the same in less time. Only like is
    compared with like: those that ran for half of the longest one's time or more, or delivered a third of the
    largest one's bytes or more while the others were there (who got more ended sooner), or never closed, and
    did not wait for their application or receiver for most of it. A short reply that was all there was to
    send got no unfair share. One that delivered nothing counts as zero. The standard deviation is that of a
    sample (n - 1). With one connection there is nothing to share: deviation and index are None.

    References
    ----------
    docs/studies/window-queue-segment.md. R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984.
    """
    sent = [one for one in results["throughput"].summary["connections"] if one["start"] is not None]
    if not sent:
        return Result("fairness", inconclusive="needs a connection that sent data")
    closed = {one["index"]: one["closed"] != "open" for one in results["connections"].summary["connections"]}
    entries = {one["index"]: one for one in results["connections"].summary["connections"]}
    rated = [one for one in sent if not _too_short(one, entries[one["conn"]])]
    compared = _alike(rated, entries) if len(rated) > 1 else rated
    if not compared:
        return Result("fairness", inconclusive="no two connections competed at the same time")
    left_out = len(sent) - len(compared)
    sent = compared
    last = max(one["end"] for one in sent)
    rates = [
        _rate_bps(one, one["end"] if closed[one["conn"]] else last, _shut_out_s(entries[one["conn"]]))
        for one in sent
    ]
    mean = sum(rates) / len(rates)
    spread = standard_deviation(rates)
    summary = {
        "flows": len(rates),
        "left_out": left_out,
        "shut_out": sum(1 for one in sent if _shut_out_s(entries[one["conn"]]) > 0),
        "value": jain(rates),
        "goodput_mean_bps": round(mean, 3),
        "goodput_std_bps": spread,
        "goodput_min_bps": min(rates),
        "goodput_max_bps": max(rates),
        "relative_std": None if spread is None or not mean else round(spread / mean, 6),
    }
    return Result("fairness", summary)


def _too_short(one: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Whether it has no rate though its data arrived: it was one segment."""
    return one["goodput_bps"] is None and (entry.get("bytes") or {}).get("acked", 0) > 0


_ALIKE, _AS_MUCH = 0.5, 1 / 3
_LITTLE = 0.01
"""Where none wanted all that it could get, one that delivered less of what the largest did is left out."""
_TOGETHER = 0.25
"""Others have to be there for this part of the time of a connection, on average."""


def _alike(sent: list[dict[str, Any]], entries: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Connections that wanted all that they could get, for about as long and at the same time; or none.

    Where all waited for their application or receiver, those of about the same size are compared.
    """
    last = max(one["end"] for one in sent)
    spans = {
        one["conn"]: (one["end"] if entries[one["conn"]]["closed"] != "open" else last) - one["start"]
        for one in sent
    }
    acked = {one["conn"]: (one["goodput_bps"] or 0.0) * (one["end"] - one["start"]) for one in sent}
    longest_s, most = max(spans.values()), max(acked.values())
    present = _Presence([(one["start"], one["start"] + spans[one["conn"]]) for one in sent])

    def is_alike(one: dict[str, Any]) -> bool:
        conn = one["conn"]
        as_long, as_much = spans[conn] >= _ALIKE * longest_s, acked[conn] >= _AS_MUCH * most > 0
        begin = one["start"]
        return bool(as_long or (as_much and present.company(begin, begin + spans[conn]) >= _ALIKE))

    found = [one for one in sent if is_alike(one) and not _held_back(entries[one["conn"]])]
    if not found:
        found = [one for one in sent if is_alike(one) and acked[one["conn"]] >= _LITTLE * most]
    beside = _Presence([(one["start"], one["start"] + spans[one["conn"]]) for one in found])
    together = [
        one for one in found if beside.company(one["start"], one["start"] + spans[one["conn"]]) >= _TOGETHER
    ]
    return together if len(together) > 1 else []


class _Presence:
    """For how long connections were there until a time, all together, without a look at each pair of them."""

    def __init__(self, spans: Sequence[tuple[float, float]]) -> None:
        self._number = len(spans)
        self._edges = [sorted(edge) for edge in zip(*spans, strict=True)]
        self._sums = [list(accumulate(edge, initial=0.0)) for edge in self._edges]

    def until(self, t: float) -> float:
        """Seconds of all of them before a time."""
        found = []
        for edge, sums in zip(self._edges, self._sums, strict=True):
            number = bisect_left(edge, t)
            found.append(number * t - sums[number])
        return float(found[0] - found[1])

    def company(self, begin: float, end: float) -> float:
        """Part of the time of one of them that the others were there, on average; 0 without others."""
        own = end - begin
        if self._number < 2 or own <= 0:
            return 0.0
        return (self.until(end) - self.until(begin) - own) / (own * (self._number - 1))


def _shut_out_s(entry: Mapping[str, Any]) -> float:
    """Seconds between its handshake and its first data segment seen, in which all data was lost."""
    return limit_s(entry, "loss_recovery_before_data")


def _held_back(entry: Mapping[str, Any]) -> bool:
    """Whether it had nothing to send, or its receiver no room, for most of the time."""
    limits = entry.get("limits") or {}
    return bool(limits.get("application", 0.0) + limits.get("receiver_window", 0.0) > _ALIKE)


def _rate_bps(one: Mapping[str, Any], end: float, before_s: float) -> float:
    """Goodput of a connection over its time until `end`, and `before_s` before its first data segment."""
    if not one["goodput_bps"]:
        return 0.0
    own, whole = float(one["end"] - one["start"]), float(end - one["start"]) + before_s
    return round(float(one["goodput_bps"]) * own / whole, 3)


ANALYZER = Analyzer(
    name="fairness",
    question="How equally did the connections share the path?",
    run=run,
    **QUESTIONS["fairness"]._asdict(),
)
