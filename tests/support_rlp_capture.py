"""A transfer over the lab's RLP link, simulated: its log, a capture of its frames and one of its packets."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import dpkt
from support_lab import SECOND, tcp

from multitracer.lab.gsmtap import FrameWriter
from multitracer.lab.models import build_link

START_NS = 1_795_249_751 * SECOND
ADDRESSES = ("192.0.2.1", "192.0.2.2")
_DATA = 488


@dataclass(frozen=True)
class Call:
    """Files of one simulated call."""

    log: Path
    frames: Path
    packets: Path
    sent: int


def call(folder: Path, seconds: int = 60, **settings: Any) -> Call:
    """Send data from the mobile side, acknowledged now and then, and write what was seen.

    The capture of packets is on the mobile side, on a clock that is START_NS ahead of the link's.
    """
    link: Any = build_link({"model": "rlp", "raw_frames": True, **settings}, 3)
    folder.mkdir(parents=True, exist_ok=True)
    paths = Call(folder / "rlp.log", folder / "rlp.pcap", folder / "snd.pcap", 0)
    seen: list[tuple[int, bytes]] = []
    sent = 0
    with paths.log.open("w") as log, FrameWriter(str(paths.frames), ADDRESSES, START_NS) as frames:

        def drain() -> None:
            nonlocal sent
            log.writelines(_shifted(line) for line in link.drain_log())
            for frame in link.drain_frames():
                if frame.direction == "snd":
                    sent += 1
                    frames.write(frame.t_ns + START_NS, frame.side, frame.data)

        log.write(f"{link.log_header()}\n")
        for step in range(seconds * 2):
            t_ns = SECOND // 10 + step * SECOND // 2 + step % 7 * 1_000_000
            seen += [(d.t_ns, d.packet) for d in link.advance(t_ns) if d.side == 0]
            drain()
            packet = tcp(1 + step * _DATA, 1, bytes(_DATA), ip_id=step)
            if link.send(0, packet, t_ns):
                seen.append((t_ns, packet))
            if step > 6 and step % 2:
                link.send(1, _back(1, 1 + (step - 6) * _DATA), t_ns + 1)
        while (then := link.next_ns()) is not None and then < (seconds + 30) * SECOND:
            seen += [(d.t_ns, d.packet) for d in link.advance(then) if d.side == 0]
            drain()
    with paths.packets.open("wb") as file:
        writer = dpkt.pcap.Writer(file, linktype=101, nano=True)
        for t_ns, packet in sorted(seen):
            writer.writepkt_time(packet, Fraction(t_ns + START_NS, SECOND))
    return Call(paths.log, paths.frames, paths.packets, sent)


def _shifted(line: str) -> str:
    """A line of the log on the wall clock."""
    text = line.rstrip("\n") + "\n"
    if text.startswith("#"):
        return text
    stamp, rest = text.split(" ", 1)
    whole, _, decimals = stamp.partition(".")
    return f"{int(whole) + START_NS // SECOND}.{decimals} {rest}"


def _back(seq: int, ack: int) -> bytes:
    """An acknowledgment from the other end."""
    packet = dpkt.ip.IP(
        src=socket.inet_aton("10.0.0.2"),
        dst=socket.inet_aton("10.0.0.1"),
        p=6,
        id=ack & 0xFFFF,
        data=dpkt.tcp.TCP(sport=80, dport=1025, seq=seq, ack=ack, flags=0x10, win=8192),
    )
    packet.len = len(packet)
    return bytes(packet)
