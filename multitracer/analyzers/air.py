"""The air: who had it, how the link's frames went over it, and how many the monitor received."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.schema.results import AIR_RATES
from multitracer.model.table import Array, Table
from multitracer.model.timeline import Timeline

STEP_NS = 100_000_000
SECOND_STEPS = 10
SILENCE_NS = 1_000_000_000
_OWNERS = ("own", "others", "everybody", "damaged")


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Shares of the time that frames of the link and of others were on the air, and rates and signal by side.

    The time is that of the capture. What was on the air and not received (other channels, stations out of
    reach, noise) is in no share, and neither are the times between frames that the medium needs.

    References
    ----------
    IEEE 802.11-2020 sections 10.3 (access to the medium), 9.4.2.27 (channel load, which counts the same).
    """
    air = m.table("link_air")
    span_ns = max(int(air["t_ns"][-1] - air["t_ns"][0]) + STEP_NS, STEP_NS)
    sums = {name: int(air[f"{name}_ns"].sum()) for name in _OWNERS}
    unknown = int(air["unknown_frames"].sum())
    known = int(air["frames"].sum()) - unknown
    busy = sum((air[f"{name}_ns"] for name in _OWNERS), np.zeros(len(air), dtype=np.int64))
    radio = m.table("link_radio")
    rates = _rates(m, radio)
    summary = {
        "span_s": round(span_ns / 1e9, 6),
        "frames": known + unknown,
        "unknown_frames": unknown,
        "busy_share": _share(int(busy.sum()), span_ns) if known else None,
        "shares": {name: _share(sums[name], span_ns) for name in _OWNERS} if known else None,
        "busiest_second": _busiest(m, air["t_ns"], busy, air["own_ns"])
        if known and span_ns > SECOND_STEPS * STEP_NS
        else None,
        "silences": _silences(m, air["t_ns"]),
        "entities": [
            _entity(m, entity, radio, rates, span_ns) for entity in np.unique(radio["entity"]).tolist()
        ],
    }
    return Result("air", summary, {"air_rates": rates})


def _share(part_ns: int, span_ns: int) -> float:
    return round(part_ns / span_ns, 6)


def _busiest(m: Timeline, t_ns: Array, busy: Array, own: Array) -> dict[str, float]:
    """The second in which most of the air was taken."""
    begin = np.searchsorted(t_ns, t_ns - (SECOND_STEPS - 1) * STEP_NS)
    total = np.concatenate([[0], np.cumsum(busy)])
    ours = np.concatenate([[0], np.cumsum(own)])
    sums = total[1:] - total[begin]
    at = int(np.argmax(sums))
    return {
        "t": round(m.seconds(int(t_ns[at]) - (SECOND_STEPS - 1) * STEP_NS), 6),
        "busy_share": round(int(sums[at]) / 1e9, 6),
        "own_share": round(int(ours[at + 1] - ours[begin[at]]) / 1e9, 6),
    }


def _silences(m: Timeline, t_ns: Array) -> dict[str, Any]:
    """Times of a second and more without any frame: the channel is dead, or the monitor was elsewhere."""
    gaps = np.diff(t_ns) - STEP_NS
    long = np.flatnonzero(gaps >= SILENCE_NS)
    longest = int(long[np.argmax(gaps[long])]) if len(long) else None
    return {
        "count": len(long),
        "s": round(int(gaps[long].sum()) / 1e9, 6),
        "longest": None
        if longest is None
        else {
            "t": round(m.seconds(int(t_ns[longest]) + STEP_NS), 6),
            "s": round(int(gaps[longest]) / 1e9, 6),
        },
    }


def _rates(m: Timeline, radio: Table) -> Table:
    """Transmissions by side, rate and MCS: how many, how many of them again, and their airtime."""
    keys = np.stack([radio["entity"].astype(np.int64), radio["rate_bps"], radio["mcs"].astype(np.int64)])
    kinds, place = np.unique(keys, axis=1, return_inverse=True)
    place = np.ravel(place)
    count = kinds.shape[1]
    again = radio["attempt"] > 0
    return Table(
        AIR_RATES,
        {
            "entity": kinds[0],
            "rate_bps": kinds[1],
            "mcs": kinds[2],
            "transmissions": np.bincount(place, minlength=count),
            "retries": np.bincount(place, weights=again, minlength=count).astype(np.int64),
            "airtime_ns": np.bincount(
                place, weights=np.maximum(radio["airtime_ns"], 0), minlength=count
            ).astype(np.int64),
        },
    )


def _entity(m: Timeline, entity: int, radio: Table, rates: Table, span_ns: int) -> dict[str, Any]:
    """How one side's data went over the air."""
    mine = radio.where(radio["entity"] == entity)
    own = rates.where(rates["entity"] == entity)
    sent, again = len(mine), mine["attempt"] > 0
    airtime = np.maximum(mine["airtime_ns"], 0)
    known = bool(np.any(mine["airtime_ns"] >= 0))
    known_rate = mine["rate_bps"][mine["rate_bps"] > 0]
    signal = mine["signal_dbm"][mine["signal_dbm"] != 0]
    channels, frames = np.unique(mine["channel_mhz"][mine["channel_mhz"] > 0], return_counts=True)
    return {
        "entity": m.entities[entity],
        "transmissions": sent,
        "retries": int(again.sum()),
        "retry_share": round(float(again.mean()), 6),
        "airtime_s": round(int(airtime.sum()) / 1e9, 6) if known else None,
        "airtime_share": _share(int(airtime.sum()), span_ns) if known else None,
        "retry_airtime_s": round(int(airtime[again].sum()) / 1e9, 6) if known else None,
        "rate_bps": _quantiles(known_rate),
        "rates": [
            {
                "rate_bps": rate if rate > 0 else None,
                "mcs": mcs if mcs >= 0 else None,
                "transmissions": count,
                "share": round(count / sent, 6),
                "retry_share": round(retries / count, 6),
                "airtime_s": round(airtime_ns / 1e9, 6),
            }
            for rate, mcs, count, retries, airtime_ns in zip(
                *(
                    own[name].tolist()
                    for name in ("rate_bps", "mcs", "transmissions", "retries", "airtime_ns")
                ),
                strict=True,
            )
        ],
        "signal_dbm": _quantiles(signal),
        "channels": [
            {"mhz": mhz, "transmissions": count}
            for mhz, count in zip(channels.tolist(), frames.tolist(), strict=True)
        ],
    }


def _quantiles(values: Array) -> dict[str, float] | None:
    if not len(values):
        return None
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return {"p10": round(float(low), 3), "median": round(float(middle), 3), "p90": round(float(high), 3)}


ANALYZER = Analyzer(
    name="air",
    question="How was the channel used, and how were the link's frames transmitted?",
    run=run,
    **QUESTIONS["air"]._asdict(),
)
