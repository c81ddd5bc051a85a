"""Two scenarios with the same seed that differ in one cause of slowness and in nothing else.

Every kind draws its rate, delay, congestion control and size at random; no draw looks at a result.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Table = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One cause.

    Attributes
    ----------
    draw : callable
        From a generator: the scenario with the cause, and without it.
    told : tuple of str
        Kinds of sentences that tell of it: their costs are the predicted gain.
    """

    draw: Callable[[random.Random], tuple[Table, Table]]
    told: tuple[str, ...]


def pair(kind: str, seed: int, number: int) -> tuple[Table, Table]:
    """The two tables of pair `number`, with the cause and without it."""
    having, lacking = KINDS[kind].draw(random.Random(f"gain {kind} {seed} {number}"))
    for table in (having, lacking):
        table["shows"] = f"gain: {kind}"
    return having, lacking


def _base(rng: random.Random) -> Table:
    return {
        "limit_s": 90.0,
        "network": {"mtu_bytes": 1500, "sender": "ms", "quiet_s": 0.3, "drain_s": 15},
        "trace": {"events": False, "ss": False, "snaplen": 100, "gsmtap": False},
        "tcp": {
            "congestion_control": rng.choice(["cubic", "cubic", "reno", "bbr"]),
            "sack": int(rng.random() < 0.8),
            "timestamps": int(rng.random() < 0.8),
        },
        "flow": [{"kind": "bulk", "bytes": 1_000_000, "data": "zeros"}],
    }


def _path(rng: random.Random, seconds: tuple[float, float]) -> tuple[Table, float, float]:
    """One link whose queue never drops, so that no other cause takes the place of the one left out."""
    table = _base(rng)
    rate_bps, delay_ms = rng.choice([2e6, 4e6, 8e6, 12e6]), rng.choice([5.0, 15.0, 40.0])
    table["link"] = {
        "model": "plain",
        "delay_ms": delay_ms,
        "up": {"rate_bps": rate_bps, "queue_packets": 0},
        "down": {"rate_bps": 0.0, "queue_packets": 0},
    }
    table["flow"][0]["bytes"] = int(rate_bps / 8 * rng.uniform(*seconds))
    return table, rate_bps, delay_ms


def _loss(rng: random.Random) -> tuple[Table, Table]:
    lacking, _, _ = _path(rng, (1.5, 4.0))
    having = copy.deepcopy(lacking)
    having["link"]["up"]["loss"] = rng.choice([0.003, 0.01, 0.03])
    return having, lacking


def _small_window(rng: random.Random) -> tuple[Table, Table]:
    lacking, rate_bps, delay_ms = _path(rng, (1.0, 2.5))
    having = copy.deepcopy(lacking)
    bdp = rate_bps / 8 * 2 * delay_ms / 1e3
    having["flow"][0]["rcvbuf_bytes"] = max(4_000, int(bdp * rng.uniform(0.2, 0.7)))
    return having, lacking


def _slow_reader(rng: random.Random) -> tuple[Table, Table]:
    lacking, rate_bps, _ = _path(rng, (1.0, 2.5))
    having = copy.deepcopy(lacking)
    having["flow"][0].update(
        read_bps=rate_bps * rng.uniform(0.3, 0.8), read_bytes=rng.choice([2000, 6000]), rcvbuf_bytes=40_000
    )
    lacking["flow"][0]["rcvbuf_bytes"] = 0
    return having, lacking


def _pauses(rng: random.Random) -> tuple[Table, Table]:
    lacking, rate_bps, _ = _path(rng, (1.0, 2.5))
    having = copy.deepcopy(lacking)
    pause_s = rng.choice([0.1, 0.3, 0.8])
    having["flow"][0].update(
        kind="bursty", burst_bytes=int(rate_bps / 8 * rng.uniform(0.2, 0.6)), pause_s=pause_s
    )
    return having, lacking


def _spikes(rng: random.Random) -> tuple[Table, Table]:
    lacking, _, _ = _path(rng, (2.0, 4.0))
    having = copy.deepcopy(lacking)
    starts = sorted(rng.uniform(0.4, 1.8) for _ in range(rng.choice([1, 2])))
    having["link"]["up"]["pauses_s"] = [
        [round(at + 1.2 * place, 3), rng.choice([0.3, 0.6, 1.0])] for place, at in enumerate(starts)
    ]
    return having, lacking


def _bloat(rng: random.Random) -> tuple[Table, Table]:
    lacking, rate_bps, delay_ms = _path(rng, (2.0, 4.0))
    lacking["tcp"]["sack"] = 1
    lacking["link"]["up"]["queue_packets"] = max(20, int(1.5 * rate_bps * 2 * delay_ms / 1e3 / 12_000))
    having = copy.deepcopy(lacking)
    having["link"]["up"]["queue_packets"] = int(rate_bps * rng.uniform(0.4, 1.0) / 12_000)
    return having, lacking


def _short_queue(rng: random.Random) -> tuple[Table, Table]:
    lacking, _, _ = _path(rng, (1.5, 4.0))
    having = copy.deepcopy(lacking)
    having["link"]["up"]["queue_packets"] = rng.choice([4, 7, 12])
    return having, lacking


def _sender_queue(rng: random.Random) -> tuple[Table, Table]:
    table = _base(rng)
    rate_bps, delay_ms = rng.choice([4e6, 8e6, 12e6]), rng.choice([3.0, 10.0, 30.0])
    table["link"] = {"model": "plain", "delay_ms": delay_ms, "rate_bps": 0.0, "queue_packets": 0}
    table["network"]["qdisc"] = {
        "kind": "tbf",
        "at": "sender",
        "rate_bps": rate_bps,
        "limit_bytes": 2_000_000,
        "burst_bytes": 3200,
    }
    table["flow"][0]["bytes"] = int(rate_bps / 8 * rng.uniform(1.5, 4.0))
    having = copy.deepcopy(table)
    having["network"]["qdisc"]["limit_bytes"] = rng.choice([5_000, 9_000, 16_000])
    return having, table


def _wireless(rng: random.Random, seconds: tuple[float, float]) -> Table:
    """A link that repeats packets and keeps a log."""
    table = _base(rng)
    rate_bps = rng.choice([5.5e6, 11e6])
    table["link"] = {
        "model": "arq",
        "rate_bps": rate_bps,
        "delay_ms": rng.choice([5.0, 20.0]),
        "retry_limit": 7,
        "queue_packets": 100,
        "half_duplex": False,
    }
    table["flow"][0]["bytes"] = int(0.75 * rate_bps / 8 * rng.uniform(*seconds))
    return table


def _leaves(rng: random.Random) -> tuple[Table, Table]:
    lacking = _wireless(rng, (2.0, 4.0))
    having = copy.deepcopy(lacking)
    having["link"].update(
        leave_at_s=[round(rng.uniform(0.6, 1.5), 2)], away_ms=rng.choice([400.0, 900.0, 2000.0])
    )
    return having, lacking


def _given_up(rng: random.Random) -> tuple[Table, Table]:
    having = _wireless(rng, (1.5, 4.0))
    having["link"]["air_up"] = {
        "kind": "gilbert_elliott",
        "loss_good": rng.choice([0.02, 0.05]),
        "loss_bad": 0.7,
        "p_good_to_bad": 0.003,
        "p_bad_to_good": 0.15,
    }
    lacking = copy.deepcopy(having)
    having["link"]["retry_limit"], lacking["link"]["retry_limit"] = 1, 50
    return having, lacking


def _burst(rng: random.Random) -> tuple[Table, Table]:
    lacking = _wireless(rng, (2.0, 4.0))
    lacking["link"].update(retry_limit=10_000, backoff_us=0.0)
    having = copy.deepcopy(lacking)
    start, length = rng.randrange(80, 200), rng.choice([25, 60, 120])
    having["link"]["air_up"] = {
        "kind": "list",
        "slot_ms": 10.0,
        "lost_slots": list(range(start, start + length)),
    }
    return having, lacking


def _link_queue(rng: random.Random) -> tuple[Table, Table]:
    lacking = _wireless(rng, (1.5, 4.0))
    lacking["link"]["queue_packets"] = 200
    having = copy.deepcopy(lacking)
    having["link"]["queue_packets"] = rng.choice([4, 7, 12])
    return having, lacking


def _call(rng: random.Random) -> tuple[Table, Table]:
    """Resets of a data call, five times as fast as GSM's."""
    table = _base(rng)
    table["tcp"].update(congestion_control="reno", window_scaling=0)
    table["network"]["mtu_bytes"] = 512
    table["flow"][0].update(
        bytes=rng.choice([40_000, 70_000]), data="text", rcvbuf_bytes=8192, sndbuf_bytes=8192
    )
    table["link"] = {
        "model": "rlp",
        "slot_ms": 4.0,
        "delay_ms": 36.0,
        "t1_ms": 96.0,
        "n2": 5,
        "on_failure": "reset_forever",
        "air": {
            "kind": "gilbert_elliott",
            "loss_good": 0.002,
            "loss_bad": 0.85,
            "p_good_to_bad": 0.001,
            "p_bad_to_good": 0.008,
        },
    }
    lacking = copy.deepcopy(table)
    lacking["link"]["n2"] = 200
    return table, lacking


_RECOVERY = ("loss", "spurious", "idle_timeout_wait", "idle_recovery_stall")
KINDS: dict[str, Kind] = {
    "loss": Kind(_loss, (*_RECOVERY, "bottleneck")),
    "small-window": Kind(_small_window, ("idle_receiver_window",)),
    "slow-reader": Kind(_slow_reader, ("idle_receiver_window",)),
    "pauses": Kind(_pauses, ("idle_application",)),
    "delay-spikes": Kind(_spikes, (*_RECOVERY, "standstill", "ack_loss")),
    "bloat": Kind(_bloat, ("queue",)),
    "short-queue": Kind(_short_queue, (*_RECOVERY, "bottleneck")),
    "sender-queue": Kind(_sender_queue, ("local_drop", "idle_local_drop")),
    "link-leaves": Kind(_leaves, ("link_reset",)),
    "link-gives-up": Kind(_given_up, ("link_loss", *_RECOVERY)),
    "link-burst": Kind(_burst, ("link_burst", "link_burst_harmless")),
    "link-queue": Kind(_link_queue, ("local_drop", "idle_local_drop")),
    "call-resets": Kind(_call, ("link_reset",)),
}
