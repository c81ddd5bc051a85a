"""What cost the most time, in words: the head of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from multitracer.report.words import count, duration, rate, share, spelled

Object = Mapping[str, Any]
Stretch = tuple[float, float]

MOST_PLACES = 8
"""Places of one fact that can be gone to; its table has all."""

IDLE_WORDS = {
    "timeout_wait": "The link stood idle while TCP waited for its retransmission timer",
    "recovery_stall": "The link stood idle while TCP recovered from a loss",
    "receiver_window": "The link stood idle because the receiver's window was closed",
    "application": "The link stood idle because the application gave TCP no data",
    "local_drop": "The link stood idle after the sender's own queue had dropped segments",
    "handshake/slow_start": "The link stood idle during the handshake and slow start",
    "unknown": "The link stood idle for a cause that the traces do not show",
}


@dataclass(frozen=True)
class Fact:
    """One thing that cost time.

    Attributes
    ----------
    cost_s : float or None
        Seconds; None where time cannot be told.
    title, text : str
    places : tuple of (start, end)
        Where to look, in seconds from the first TCP event; the longest first.
    """

    cost_s: float | None
    title: str
    text: str
    places: tuple[Stretch, ...] = ()


def facts(contract: Object) -> list[Fact]:
    """All facts of an analysis, by cost; what overlaps in time is not subtracted."""
    found = [
        *_idle(contract),
        *_resets(contract),
        *_timeouts(contract),
        *_twice(contract),
        *_flow_control(contract),
        *_local_drops(contract),
    ]
    return sorted(found, key=lambda fact: -1.0 if fact.cost_s is None else fact.cost_s, reverse=True)


def longest(stretches: list[Stretch]) -> tuple[Stretch, ...]:
    """The longest few."""
    return tuple(sorted(stretches, key=lambda one: one[0] - one[1])[:MOST_PLACES])


def _idle(contract: Object) -> Iterator[Fact]:
    phases: dict[str, list[Stretch]] = {}
    for phase in contract["idle_phases"]:
        phases.setdefault(phase["cause"], []).append((phase["start"], phase["end"]))
    for cause, stretches in phases.items():
        lengths = [end - start for start, end in stretches]
        yield Fact(
            sum(lengths),
            f"Link idle: {spelled(cause)}",
            f"{IDLE_WORDS.get(cause, IDLE_WORDS['unknown'])}: {count(len(lengths), 'phase')}, "
            f"{duration(sum(lengths))} in all, the longest {duration(max(lengths))}.",
            longest(stretches),
        )


def _resets(contract: Object) -> Iterator[Fact]:
    resets = contract["link"]["resets"]
    if not resets:
        return
    gaps = _merged([gap for gap in map(gap_of, resets) if gap is not None])
    lost = sum(reset.get("segments_lost") or 0 for reset in resets)
    ruined = sum(reset.get("segments_discarded") or 0 for reset in resets)
    text = f"The link was reset {_times(len(resets))}"
    if gaps:
        lengths = [end - start for start, end in gaps]
        most = duration(max(lengths))
        text += f"; nothing arrived in order for {duration(sum(lengths))}, {most} at once at most"
    if lost or ruined:
        text += f". {count(lost, 'segment')} never arrived, {ruined:,} arrived damaged and were discarded"
    places = longest(gaps) or tuple((reset["t"], reset["t"] + 1.0) for reset in resets[:MOST_PLACES])
    yield Fact(sum(end - start for start, end in gaps) if gaps else None, "Link resets", text + ".", places)


def gap_of(reset: Object) -> Stretch | None:
    """Begin and end of the gap behind a reset, if they are known."""
    start, end = reset.get("gap_start"), reset.get("gap_end")
    if start is None or end is None or end <= start:
        return None
    return float(start), float(end)


def _merged(stretches: list[Stretch]) -> list[Stretch]:
    """Two resets can share one gap: it costs its time once."""
    found: list[Stretch] = []
    for start, end in sorted(stretches):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _timeouts(contract: Object) -> Iterator[Fact]:
    events = [event for one in contract["connections"] for event in one["timeouts"].get("events", [])]
    for verdict, words in (
        ("spurious", "were not needed: the data, or its acknowledgment, was still on its way"),
        ("genuine", "were needed: data or all of its acknowledgments had been lost"),
        ("inconclusive", "cannot be judged from these traces"),
    ):
        mine = [event for event in events if event["verdict"] == verdict]
        if not mine:
            continue
        stretches = [(event["t"] - event["silence_s"], event["t"]) for event in mine]
        silence = sum(event["silence_s"] for event in mine)
        kinds = sorted({name for event in mine for name, vote in event["votes"].items() if vote == verdict})
        because = f" Told by: {', '.join(spelled(kind) for kind in kinds)}." if kinds else ""
        if len(mine) == 1:
            words = words.replace("were", "was")
        yield Fact(
            silence,
            f"Timeouts, {verdict}",
            f"{count(len(mine), 'timeout')} {words}. The sender had been silent for {duration(silence)} "
            f"before {'it' if len(mine) == 1 else 'them'}.{because}",
            longest(stretches),
        )


def _twice(contract: Object) -> Iterator[Fact]:
    for one in contract["connections"]:
        sent, twice, pace = one["bytes"]["sent"], one["bytes"]["duplicate"], one["throughput_bps"]
        if not twice or not sent:
            continue
        spent = 8 * twice / pace if pace else None
        causes = ", ".join(
            f"{number:,} {spelled(cause)}"
            for cause, number in one["retransmissions"].items()
            if cause != "total" and number
        )
        about = "" if spent is None else f": at {rate(pace)} that is {duration(spent)}"
        segments = count(one["retransmissions"]["total"], "segment")
        yield Fact(
            spent,
            "Bytes sent twice",
            f"{twice:,} of {sent:,} bytes ({share(twice / sent)}) had been sent before{about}. "
            f"{segments} by cause: {causes or 'none known'}. Connection {one['index']}.",
        )


def _flow_control(contract: Object) -> Iterator[Fact]:
    found = contract["link"]["flow_control"]
    if not found or not found.get("count"):
        return
    intervals = [
        (one["start"], one["end"])
        for one in found.get("intervals") or ()
        if one.get("start") is not None and one.get("end") is not None
    ]
    yield Fact(
        sum(end - start for start, end in intervals) or None,
        "Link flow control",
        f"The receiving end of the link held {found['entity']} off {_times(found['count'])}, "
        f"{share(found['share'])} of the transfer. While it was held off, TCP could not have gone faster.",
        longest(intervals),
    )


def _local_drops(contract: Object) -> Iterator[Fact]:
    drops = contract["link"]["local_drops"]
    if drops:
        yield Fact(
            None,
            "Dropped by the sender's own queue",
            f"{count(len(drops), 'segment')} of TCP never reached the link: the queue before it was full. "
            "Each had to be found missing and sent again.",
            tuple((drop["t"] - 0.5, drop["t"] + 2.0) for drop in drops[:MOST_PLACES]),
        )


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")
