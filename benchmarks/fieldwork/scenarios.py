"""Random scenarios over the axes of the field, the same for the same seed.

Four families. "path": what packets meet on the way, in user space, so that delay is real and the tap has a
part of the path before it and one behind. "everyday": what hosts and their queues do, over real interfaces
or over a path with a queue of the kernel in front. "writers": an application whose writes come closer
together than the RTT, and bulk transfers over the same paths in writes of the same sizes. "policed": bulk
transfers through a policer, and in every second run through a drop-tail queue of the same rate and size
instead. Axes are drawn independently of each other (transport: congestion control, SACK, timestamps, segment
size, offload; impairments: each absent in half of the runs or so), so that every pair of values meets in a
campaign of some hundreds. No draw looks at a result. A fifth family, "matrix", draws nothing
(`fieldwork.matrix`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from fieldwork.matrix import matrix_run

Table = dict[str, Any]

FAMILIES = ("path", "everyday", "writers", "policed", "matrix")
_LIMIT_S = 20.0


def scenario(family: str, seed: int, number: int) -> Table:
    """The table of run `number` of a campaign, as a scenario file holds it."""
    if family == "matrix":
        return matrix_run(number)
    rng = random.Random(f"field {family} {seed} {number}")
    table = _transport(rng)
    if family == "path":
        _path(rng, table)
    elif family == "writers":
        _writer_or_bulk(rng, table, number)
    elif family == "policed":
        _policed(rng, table, number)
    else:
        names = sorted(EVERYDAY)
        name = names[number % len(names)]
        EVERYDAY[name](rng, table)
        table["shows"] = f"everyday: {name}"
    return table


def _transport(rng: random.Random) -> Table:
    """Axes that every run has."""
    return {
        "shows": "random path",
        "limit_s": _LIMIT_S,
        "network": {
            "mtu_bytes": rng.choice([1500, 1500, 1500, 576]),
            "sender": rng.choice(["ms", "iwf"]),
            "offload": rng.random() < 0.2,
            "quiet_s": 0.3,
            "drain_s": 15,
        },
        "trace": {"events": False, "ss_interval_s": 0.1, "snaplen": 100, "middle": True},
        "tcp": {
            "congestion_control": rng.choice(["cubic", "cubic", "reno", "bbr"]),
            "sack": int(rng.random() < 0.7),
            "timestamps": int(rng.random() < 0.7),
            "frto": rng.choice([2, 2, 0]),
            "recovery": rng.choice([1, 1, 0]),
            "early_retrans": rng.choice([3, 3, 0]),
            "slow_start_after_idle": rng.choice([1, 1, 0]),
        },
        "flow": [{"kind": "bulk", "bytes": 500_000, "data": "zeros"}],
    }


def _data(table: Table) -> tuple[str, str]:
    """Names of the data's direction and of the acknowledgements'."""
    return ("up", "down") if table["network"]["sender"] == "ms" else ("down", "up")


def _two_hops(rng: random.Random, table: Table, rate_bps: float, delay_ms: float, queue: int) -> list[Table]:
    """A path of two hops with the bottleneck in one of them; in the order from the sender."""
    part = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9])
    hops: list[Table] = []
    bottleneck = rng.randrange(2)
    forward, back = _data(table)
    for number, share in enumerate((part, 1 - part)):
        slow = number == bottleneck
        hops.append(
            {
                forward: {"rate_bps": rate_bps if slow else 0.0, "queue_packets": queue if slow else 0},
                back: {"rate_bps": 0.0, "queue_packets": 0},
                "delay_ms": round(delay_ms * share, 3),
                "jitter_ms": rng.choice([0.0, 0.0, 0.3, 2.0]),
                "routers": rng.choice([0, 1, 1, 2, 4]),
            }
        )
    ordered = hops if table["network"]["sender"] == "ms" else hops[::-1]
    table["link"] = {"model": "path", "hop": ordered}
    return hops


def _volume(rng: random.Random, rate_bps: float, most_s: float) -> int:
    """Bytes for one to `most_s` seconds at the rate, 0.1 to 3 MB."""
    return int(min(3e6, max(1e5, rate_bps / 8 * rng.uniform(0.8, most_s))))


def _path(rng: random.Random, table: Table) -> None:
    rate_bps = rng.choice([1.5e6, 3e6, 6e6, 10e6, 16e6])
    hops = _two_hops(rng, table, rate_bps, rng.choice([4.0, 10.0, 25.0, 50.0]), rng.choice([10, 20, 50, 200]))
    forward, back = _data(table)
    flow = table["flow"][0]
    flow["bytes"] = _volume(rng, rate_bps, 3.0)
    flow["rcvbuf_bytes"] = rng.choice([0, 0, 0, 20_000, 60_000, 200_000])
    if rng.random() < 0.5:
        rng.choice(hops)[forward]["loss"] = rng.choice([0.002, 0.01, 0.03])
    if rng.random() < 0.25:
        rng.choice(hops)[forward]["air"] = {
            "kind": "gilbert_elliott",
            "loss_bad": rng.choice([0.5, 0.9]),
            "p_good_to_bad": rng.choice([0.002, 0.006]),
            "p_bad_to_good": rng.choice([0.1, 0.3]),
        }
    if rng.random() < 0.3:
        rng.choice(hops)[back]["loss"] = rng.choice([0.02, 0.1, 0.25])
    if rng.random() < 0.45:
        direction = rng.choice(hops)[forward]
        direction["reorder"] = rng.choice([0.003, 0.01, 0.03])
        direction["reorder_ms"] = rng.choice([1.5, 4.0, 12.0, 40.0])
    if rng.random() < 0.15:
        hop = rng.choice(hops)
        hop["jitter_ms"], hop["jitter_reorders"] = rng.choice([2.0, 6.0]), True
    if rng.random() < 0.35:
        direction = rng.choice(hops)[rng.choice([forward, forward, back])]
        direction["duplicate"] = rng.choice([0.004, 0.02])
        direction["duplicate_ms"] = rng.choice([0.0, 0.0, 1.0, 8.0, 30.0])
    if rng.random() < 0.3:
        pauses = sorted(rng.uniform(0.2, 2.5) for _ in range(rng.choice([1, 2])))
        rng.choice(hops)[forward]["pauses_s"] = [
            [round(at, 3), rng.choice([0.15, 0.4, 0.9])] for at in pauses
        ]


def _real(rng: random.Random, table: Table) -> None:
    """Real interfaces; the tap on either side of the router's queue."""
    table["link"] = {
        "model": "interfaces",
        "tap": rng.choice(["sender", "receiver"]),
        "gro": rng.random() < 0.15,
    }


def _wide(rng: random.Random, table: Table, delay_ms: float) -> None:
    """A path that delays and nothing else."""
    _two_hops(rng, table, 0.0, delay_ms, 0)


def _queue(rng: random.Random, table: Table, at: str, deep_ms: tuple[float, float]) -> float:
    """A queue of the kernel; its rate."""
    rate_bps = rng.choice([4e6, 8e6, 12e6, 20e6])
    limit = max(5_000, int(rate_bps / 8 * rng.uniform(*deep_ms) / 1e3))
    table["network"]["qdisc"] = {
        "kind": rng.choice(["tbf", "htb"]),
        "at": at,
        "rate_bps": rate_bps,
        "limit_bytes": limit,
        "burst_bytes": rng.choice([3200, 6000]),
    }
    return rate_bps


def _sender_queue(rng: random.Random, table: Table, flows: int = 1) -> None:
    # Linux lets a connection fill its own queue with little (TCP small queues): only short ones drop.
    rate_bps = _queue(rng, table, "sender", rng.choice([(2, 8), (8, 60)]))
    if rng.random() < 0.5:
        _real(rng, table)
    else:
        _wide(rng, table, rng.choice([3.0, 10.0, 30.0]))
    _bulk(rng, table, rate_bps, flows)


def _router_queue(rng: random.Random, table: Table, flows: int = 1) -> None:
    if rng.random() < 0.5:
        rate_bps = _queue(rng, table, "router", (8, 60))
        _real(rng, table)
    else:
        rate_bps = rng.choice([4e6, 8e6, 16e6])
        _two_hops(rng, table, rate_bps, rng.choice([3.0, 10.0, 30.0]), rng.choice([10, 25, 60]))
    _bulk(rng, table, rate_bps, flows)


def _bulk(rng: random.Random, table: Table, rate_bps: float, flows: int) -> None:
    total = _volume(rng, rate_bps, 3.0)
    table["flow"] = [
        {
            "kind": "bulk",
            "data": "zeros",
            "bytes": max(40_000, int(total / flows * rng.uniform(0.6, 1.4))),
            "start_s": round(rng.uniform(0, 0.4), 3) if flows > 1 else 0.0,
        }
        for _ in range(flows)
    ]


def _flow(table: Table, kind: str, **settings: Any) -> None:
    """One flow of zeros."""
    table["flow"] = [{"kind": kind, "data": "zeros", **settings}]


def _bloat(rng: random.Random, table: Table) -> None:
    at = rng.choice(["sender", "router"])
    rate_bps = _queue(rng, table, at, (250, 900))
    if at == "router" or rng.random() < 0.5:
        _real(rng, table)
    else:
        _wide(rng, table, rng.choice([3.0, 10.0]))
    _bulk(rng, table, rate_bps, 1)


def _anywhere(rng: random.Random, table: Table) -> None:
    if rng.random() < 0.5:
        _real(rng, table)
    else:
        _wide(rng, table, rng.choice([2.0, 10.0, 40.0]))


def _slow_reader(rng: random.Random, table: Table) -> None:
    _anywhere(rng, table)
    rate_bps = rng.choice([1e6, 3e6, 8e6])
    _flow(
        table,
        "bulk",
        bytes=_volume(rng, rate_bps, 3.0),
        read_bps=rate_bps,
        read_bytes=rng.choice([2000, 6000, 20_000]),
        rcvbuf_bytes=rng.choice([12_000, 25_000, 80_000]),
    )


def _stalled_reader(rng: random.Random, table: Table) -> None:
    _anywhere(rng, table)
    size = rng.choice([200_000, 600_000, 1_500_000])
    _flow(
        table,
        "bulk",
        bytes=size,
        rcvbuf_bytes=rng.choice([12_000, 25_000, 80_000]),
        stall_after_bytes=int(size * rng.uniform(0.1, 0.8)),
        stall_s=rng.choice([0.7, 1.5, 3.0]),
    )


def _small_window(rng: random.Random, table: Table) -> None:
    delay_ms = rng.choice([15.0, 30.0, 60.0])
    _wide(rng, table, delay_ms)
    window = rng.choice([6_000, 12_000, 30_000])
    rate_bps = window * 8 / (2 * delay_ms / 1e3)
    _flow(table, "bulk", bytes=_volume(rng, rate_bps, 3.0), rcvbuf_bytes=window)


def _pausing_writer(rng: random.Random, table: Table) -> None:
    _anywhere(rng, table)
    burst, pause_s = rng.choice([3_000, 20_000, 60_000]), rng.choice([0.08, 0.2, 0.5])
    _flow(
        table,
        "bursty",
        burst_bytes=burst,
        pause_s=pause_s,
        bytes=int(burst * rng.uniform(1.5, 4) / pause_s),
        nodelay=rng.random() < 0.5,
    )


def _paced_writer(rng: random.Random, table: Table) -> None:
    _anywhere(rng, table)
    rate_bps = rng.choice([3e5, 1e6, 3e6])
    _flow(
        table,
        "paced",
        rate_bps=rate_bps,
        write_bytes=rng.choice([500, 4000, 16_000]),
        bytes=int(rate_bps / 8 * rng.uniform(1.5, 3.5)),
    )


def _questions(rng: random.Random, table: Table) -> None:
    _anywhere(rng, table)
    table["flow"] = [
        {
            "kind": "request_response",
            "requests": rng.choice([5, 15]),
            "request_bytes": rng.choice([100, 20_000]),
            "response_bytes": rng.choice([300, 10_000]),
            "think_s": rng.choice([0.05, 0.2]),
        }
    ]


def _writer_or_bulk(rng: random.Random, table: Table, number: int) -> None:
    """Runs of an even number write at a rate of their own, the others as fast as they can."""
    rate_bps, delay_ms = rng.choice([3e6, 6e6, 10e6, 16e6]), rng.choice([4.0, 10.0, 20.0, 40.0])
    hops = _two_hops(rng, table, rate_bps, delay_ms, rng.choice([20, 40, 80, 160]))
    if rng.random() < 0.25:
        rng.choice(hops)[_data(table)[0]]["loss"] = rng.choice([0.001, 0.01])
    write = rng.choice([400, 1448, 2000, 4000, 8000, 16_000, 40_000])
    nodelay = rng.random() < 0.4
    if number % 2:
        table["shows"] = "writers: bulk"
        _flow(table, "bulk", write_bytes=write, nodelay=nodelay, bytes=_volume(rng, rate_bps, 3.0))
        return
    table["shows"] = "writers: writer"
    own_bps = rate_bps * rng.choice([0.1, 0.2, 0.4, 0.6, 0.8])
    size = int(own_bps / 8 * rng.uniform(1.5, 3.0))
    _flow(table, "paced", rate_bps=own_bps, write_bytes=write, nodelay=nodelay, bytes=size)


def _policed(rng: random.Random, table: Table, number: int) -> None:
    """Runs of an even number have a policer, the others a queue of its size and rate."""
    rate_bps, burst = rng.choice([2e6, 4e6, 8e6, 14e6]), rng.choice([15_000, 30_000, 60_000, 120_000])
    hops = _two_hops(rng, table, 0.0, rng.choice([4.0, 10.0, 20.0, 40.0]), 0)
    direction = rng.choice(hops)[_data(table)[0]]
    if number % 2:
        table["shows"] = "policed: queue"
        direction.update(rate_bps=rate_bps, queue_bytes=burst)
    else:
        table["shows"] = "policed: policer"
        direction.update(police_bps=rate_bps, police_bytes=burst)
    _flow(table, "bulk", bytes=int(min(5e6, rate_bps / 8 * rng.uniform(3.0, 6.0))))


EVERYDAY: dict[str, Callable[[random.Random, Table], None]] = {
    "sender_queue": _sender_queue,
    "router_queue": _router_queue,
    "sender_queue_flows": lambda rng, table: _sender_queue(rng, table, rng.choice([3, 5, 8, 14])),
    "router_queue_flows": lambda rng, table: _router_queue(rng, table, rng.choice([3, 5, 8, 14])),
    "bloat": _bloat,
    "slow_reader": _slow_reader,
    "stalled_reader": _stalled_reader,
    "small_window": _small_window,
    "pausing_writer": _pausing_writer,
    "paced_writer": _paced_writer,
    "questions": _questions,
}
"""What an everyday run is made of, by name; a campaign takes them in turn."""
