"""DCCP with CCID 3 over a wireless link with a long queue in front of it, in simulated time.

Usage: python make_runs.py OUTPUT

Both ends are those of ccid3.py, the link is the lab's Wi-Fi-like one (`ArqSettings`); what crosses its ends
is written as captures. No root and no kernel with DCCP are needed. Takes ten seconds, and 60 MB.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ccid3 import INFINITE, Receiver, Sender
from packets import ACK, REQUEST, RESPONSE, capture, numbers, packet

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
RUNS = {
    "cbr-2": (2e6, 60),
    "cbr-5": (5e6, 60),
    "cbr-6": (6e6, 60),
    "cbr-7": (7.5e6, 90),
    "full": (float("inf"), 180),
}
AIR = {
    "kind": "gilbert_elliott",
    "loss_good": 0.02,
    "loss_bad": 0.4,
    "p_good_to_bad": 0.01,
    "p_bad_to_good": 0.2,
}

Seen = list[tuple[int, bytes]]


def transfer(
    link_settings: Mapping[str, Any], rate_bps: float, seconds: float, seed: int
) -> tuple[Seen, Seen]:
    """Packets as both ends see them."""
    link = build_link(link_settings, seed)
    sender_saw: Seen = []
    receiver_saw: Seen = []

    def send(side: int, t_ns: int, raw: bytes) -> None:
        (sender_saw if side == 0 else receiver_saw).append((t_ns, raw))
        link.send(side, raw, t_ns)

    receiver, sender = Receiver(), None
    asked_ns = 10**9
    end_ns = asked_ns + int(seconds * 1e9)
    send(0, asked_ns, packet(REQUEST, 99))
    while True:
        t_ns = min(link.next_ns() or INFINITE, sender.due_ns() if sender else INFINITE)
        if t_ns >= end_ns:
            return sender_saw, receiver_saw
        for came in link.advance(t_ns):
            (sender_saw if came.side == 0 else receiver_saw).append((came.t_ns, came.packet))
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


def main() -> None:
    """All runs into the directory that the command line names."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, (rate_bps, seconds) in RUNS.items():
        folder = Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, seen in zip(
            ("snd.pcap", "rcv.pcap"), transfer(WLAN | {"air": AIR}, rate_bps, seconds, 1), strict=True
        ):
            capture(folder / file, seen)
        offered = "" if rate_bps == float("inf") else f"offered_bps = {rate_bps}\n"
        (folder / "measurement.toml").write_text(f'[parameters]\nrun = "{name}"\n{offered}')
        print(name, flush=True)


if __name__ == "__main__":
    main()
