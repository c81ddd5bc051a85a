"""DCCP with CCID 3 over a wireless link with a long queue in front of it, in simulated time.

Usage: python make_runs.py OUTPUT

Both ends are those of ccid3.py, the link is the lab's Wi-Fi-like one (`ArqSettings`); what crosses its ends
is written as captures, what the link lost as truth.json. No root and no kernel with DCCP are needed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ccid3 import INFINITE, Receiver, Sender
from packets import ACK, KEPT, REQUEST, RESPONSE, Packet, capture, numbers, packet

from multitracer.lab.interfaces import RealLink
from multitracer.lab.models import build_link

# 1440 bytes take 1.5 ms: 7 Mbit/s of data. The queue's length follows from the published round trip of 1 s.
WLAN = {
    "model": "arq",
    "rate_bps": 11e6,
    "overhead_us": 350,
    "backoff_us": 150,
    "delay_ms": 0.1,
    "retry_limit": 7,
    "queue_packets": 700,
}
AIR = {
    "kind": "gilbert_elliott",
    "loss_good": 0.02,
    "loss_bad": 0.4,
    "p_good_to_bad": 0.01,
    "p_bad_to_good": 0.2,
}
STEADY = AIR | {"p_good_to_bad": 0.0}
FULL = float("inf")


class Plan(NamedTuple):
    """A kind of run: what the application offers, for how long, how many seeds, over which air."""

    rate_bps: float
    seconds: float
    seeds: int = 10
    air: Mapping[str, Any] = AIR


PLANS = {
    "cbr-2": Plan(2e6, 60),
    "cbr-5": Plan(5e6, 60),
    "cbr-6": Plan(6e6, 60),
    "cbr-7": Plan(7e6, 150),
    # Fills 700 packets in the published 70 s: 0.11 Mbit/s more than the 7.01 that this link carries.
    "cbr-7.12": Plan(7.12e6, 100),
    "cbr-7.5": Plan(7.5e6, 90),
    "full": Plan(FULL, 180),
    "cbr-5-steady": Plan(5e6, 60, air=STEADY),
    "cbr-6-steady": Plan(6e6, 60, air=STEADY),
    "long": Plan(FULL, 1000, 5),
}


class Transfer(NamedTuple):
    """Packets as both ends see them, and packets with data that the link lost: on the air, in its queue."""

    sender_saw: list[Packet]
    receiver_saw: list[Packet]
    lost_on_air: int
    lost_in_queue: int


def transfer(link_settings: Mapping[str, Any], rate_bps: float, seconds: float, seed: int) -> Transfer:
    """A connection of that many seconds."""
    link = build_link(link_settings, seed)
    assert not isinstance(link, RealLink)
    saw: tuple[list[Packet], list[Packet]] = ([], [])

    def note(side: int, t_ns: int, raw: bytes) -> None:
        saw[side].append((t_ns, raw[:KEPT], len(raw)))

    def send(side: int, t_ns: int, raw: bytes) -> None:
        note(side, t_ns, raw)
        link.send(side, raw, t_ns)

    receiver, sender = Receiver(), None
    asked_ns = 10**9
    end_ns = asked_ns + int(seconds * 1e9)
    send(0, asked_ns, packet(REQUEST, 99))
    while True:
        t_ns = min(link.next_ns() or INFINITE, sender.due_ns() if sender else INFINITE)
        if t_ns >= end_ns:
            break
        for came in link.advance(t_ns):
            note(came.side, came.t_ns, came.packet)
            kind = numbers(came.packet)[0]
            if kind == REQUEST:
                send(1, came.t_ns, packet(RESPONSE, 499, 99))
            elif kind == RESPONSE:
                sender = Sender(rate_bps / 8, came.t_ns, (came.t_ns - asked_ns) / 1e9)
            elif kind == ACK and sender:
                sender.hear(came.t_ns, came.packet)
            elif answer := receiver.hear(came.t_ns, came.packet):
                send(1, came.t_ns, answer)
        if sender and (data := sender.act(t_ns)):
            send(0, t_ns, data)
        link.drain_log()
    lost = [one["what"] for one in link.truth.events if one["side"] == 0]
    return Transfer(*saw, lost.count("packet_lost"), lost.count("queue_drop"))


def run(folder: Path, name: str, plan: Plan, seed: int) -> None:
    """One run; one that is there is left alone."""
    if (folder / "measurement.toml").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    made = transfer(WLAN | {"air": plan.air}, plan.rate_bps, plan.seconds, seed)
    capture(folder / "snd.pcap", made.sender_saw)
    capture(folder / "rcv.pcap", made.receiver_saw)
    truth = {"lost_on_air": made.lost_on_air, "lost_in_queue": made.lost_in_queue}
    (folder / "truth.json").write_text(json.dumps(truth) + "\n")
    offered = "" if plan.rate_bps == FULL else f"offered_bps = {plan.rate_bps}\n"
    (folder / "measurement.toml").write_text(f'[parameters]\nrun = "{name}"\nseed = {seed}\n{offered}')


def main() -> None:
    """All runs into the directory that the command line names."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, plan in PLANS.items():
        for seed in range(1, plan.seeds + 1):
            run(Path(sys.argv[1]) / f"{name}-{seed}", name, plan, seed)
        print(name, flush=True)


if __name__ == "__main__":
    main()
