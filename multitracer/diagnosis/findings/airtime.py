"""Sentences about the air of a Wi-Fi link: who had it, and what repeats and slow rates took of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from multitracer.diagnosis.findings.finding import (
    MOST_EVIDENCE,
    Finding,
    plot_command,
    seconds,
    share,
    transfer_spans,
)
from multitracer.layers.events import sender_entity
from multitracer.model.analysis import Result
from multitracer.model.arrays.intervals import Intervals, contains, total
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

BUSY_SHARE = 0.7
OTHERS_SHARE = 0.2
RETRY_SHARE = 0.1
SPAN_SHARE = 0.05
SLOW_SHARE = 0.3
SLOWER = 4
KNOWN_SHARE = 0.95


def air(m: Timeline, results: Mapping[str, Result]) -> list[Finding]:
    """Report who used the channel during the transfer, if that left little, and how the link used its part.

    Only frames that the monitor captured count, and nothing is reported where their airtime is unknown.

    Parameters
    ----------
    m : Timeline
    results : mapping
        With that of `air`.

    References
    ----------
    IEEE 802.11-2020 sections 10.3 (access to the medium), 9.4.2.27 (channel load).
    """
    found = results.get("air")
    span = transfer_spans(m)
    if found is None or found.inconclusive is not None or not len(span):
        return []
    said = (_busy(m, span), *_own(m, span))
    return [one for one in said if one is not None]


def _busy(m: Timeline, span: Intervals) -> Finding | None:
    received = m.table("link_air")
    received = received.where(_within(received["t_ns"], span))
    frames = int(received["frames"].sum())
    if not frames or int(received["unknown_frames"].sum()) > (1 - KNOWN_SHARE) * frames:
        return None
    names = ("own", "others", "everybody", "damaged")
    own, others, everybody, damaged = (int(received[f"{name}_ns"].sum()) / total(span) for name in names)
    busy, foreign = own + others + everybody + damaged, others + everybody
    if busy < BUSY_SHARE or foreign < OTHERS_SHARE:
        return None
    text = (
        f"the channel was busy for {share(min(busy, 1.0))} of the transfer, {share(foreign)} with frames of "
        f"others and {share(own)} with this link's: the link had to wait for channel access"
    )
    rows = np.argsort(-(received["others_ns"] + received["everybody_ns"]), kind="stable")[:MOST_EVIDENCE]
    command = plot_command(m, m.seconds(int(span[0, 0])), m.seconds(int(span[-1, 1])), "air")
    return Finding(text, 0.0, "air_busy", command, _records(m, received, rows))


def _own(m: Timeline, span: Intervals) -> list[Finding | None]:
    """What the data sender's time on the air went into."""
    sender = sender_entity(m)
    radio = m.table("link_radio")
    radio = radio.where((radio["entity"] == sender) & _within(radio["t_ns"], span))
    known = radio["airtime_ns"] >= 0
    if sender is None or not len(radio) or known.mean() < KNOWN_SHARE:
        return []
    airtime = np.maximum(radio["airtime_ns"], 0)
    if not airtime.sum():
        return []
    return [
        _retries(m, m.entities[sender], radio, airtime, total(span)),
        _slow(m, m.entities[sender], radio, airtime, total(span)),
    ]


def _retries(m: Timeline, name: str, radio: Table, airtime: Array, span_ns: int) -> Finding | None:
    again = radio["attempt"] > 0
    spent = int(airtime[again].sum())
    portion = spent / int(airtime.sum())
    if portion < RETRY_SHARE or spent < SPAN_SHARE * span_ns:
        return None
    text = (
        f"{share(portion)} of the airtime of {name} went into retransmitted frames: {seconds(spent / 1e9)} "
        f"of the {seconds(span_ns / 1e9)} that the transfer took, a frame up to "
        f"{int(radio['attempt'].max()) + 1} times"
    )
    rates = np.unique(radio["rate_bps"][again & (radio["rate_bps"] > 0)])
    if len(rates) > 1:
        rate = max(rates.tolist(), key=lambda one: int(airtime[again & (radio["rate_bps"] == one)].sum()))
        mine = radio["rate_bps"] == rate
        mcs = np.unique(radio["mcs"][mine & (radio["mcs"] >= 0)])
        at = f"MCS {int(mcs[0])} ({_rate(rate)})" if len(mcs) == 1 else _rate(rate)
        text += f"; most of that at {at}, where {share(float(again[mine].mean()))} of the frames were retries"
    rows = np.flatnonzero(again)
    rows = rows[np.argsort(-radio["attempt"][rows], kind="stable")][:MOST_EVIDENCE]
    first = m.seconds(int(radio["t_ns"][rows[0]]))
    command = plot_command(m, first, first, "air")
    return Finding(text, 0.0, "air_retries", command, _records(m, radio, rows))


def _slow(m: Timeline, name: str, radio: Table, airtime: Array, span_ns: int) -> Finding | None:
    known = radio["rate_bps"] > 0
    if not np.any(known):
        return None
    best = int(radio["rate_bps"].max())
    slow = known & (radio["rate_bps"] * SLOWER <= best)
    spent = int(airtime[slow].sum())
    if spent < SLOW_SHARE * int(airtime.sum()) or spent < SPAN_SHARE * span_ns:
        return None
    top = int(radio["rate_bps"][slow].max())
    text = (
        f"{share(spent / int(airtime.sum()))} of the airtime of {name} was spent at {_rate(top)} or less, "
        f"although some of its frames went at {_rate(best)}"
    )
    rows = np.flatnonzero(slow)
    rows = rows[np.argsort(-airtime[rows], kind="stable")][:MOST_EVIDENCE]
    first = m.seconds(int(radio["t_ns"][rows[0]]))
    return Finding(text, 0.0, "air_slow", plot_command(m, first, first, "air"), _records(m, radio, rows))


def _within(t_ns: Array, span: Intervals) -> Array:
    return contains(span + np.array([0, 1]), t_ns)  # the end counts, too


def _records(m: Timeline, table: Table, rows: Array) -> tuple[tuple[str, int], ...]:
    sources, records = table["source"][rows].tolist(), table["record"][rows].tolist()
    return tuple((m.sources[one].path, record) for one, record in zip(sources, records, strict=True))


def _rate(rate_bps: int) -> str:
    return f"{rate_bps / 1e6:g} Mbit/s"
