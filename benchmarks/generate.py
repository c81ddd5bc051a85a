"""Captures for the benchmarks of growth, written by NumPy in a moment: connections, losses, reordering.

Usage: python benchmarks/generate.py KIND COUNT FILE    (``-`` is standard output)

Each kind makes one thing large: ``bulk`` packets of one clean transfer, ``connections`` that are short,
``parallel`` packets of fifty connections that lose and repair a segment now and then,
``holes`` open in the scoreboard at once, ``wide`` one hole with all that follows it selectively acknowledged,
``scattered`` holes filled in no order, ``reordered`` segments seen in no order within windows, ``shuffled``
in no order at all.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

SEGMENT = 1000
STEP_US = 10
SYN, ACK, FIN = 0x02, 0x10, 0x01
KEPT = 66
"""Bytes kept of each packet: Ethernet, IPv4, TCP with 12 bytes of options (or of payload)."""

RECORD = np.dtype(
    [
        *[(name, "<u4") for name in ("t_s", "t_us", "kept", "original")],
        ("ethernet", "u1", 14),
        *[("version", "u1"), ("tos", "u1"), ("ip_length", ">u2"), ("ip_id", ">u2"), ("fragment", ">u2")],
        *[("ttl", "u1"), ("protocol", "u1"), ("ip_checksum", ">u2"), ("source", ">u4"), ("target", ">u4")],
        *[("source_port", ">u2"), ("target_port", ">u2"), ("seq", ">u4"), ("ack", ">u4")],
        *[("offset", "u1"), ("flags", "u1"), ("window", ">u2"), ("checksum", ">u2"), ("urgent", ">u2")],
        *[("kinds", "u1", 4), ("left", ">u4"), ("right", ">u4")],
    ]
)

Packets = np.ndarray


def blank(count: int) -> Packets:
    """Packets from the client without payload, numbered 1."""
    packets = np.zeros(count, RECORD)
    packets["kept"] = KEPT
    packets["ethernet"] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]
    packets["version"], packets["ttl"], packets["protocol"] = 0x45, 64, 6
    packets["source"], packets["target"] = 0x0A000001, 0x0A630002
    packets["source_port"], packets["target_port"] = 40000, 5201
    packets["seq"], packets["ack"] = 1, 1
    packets["flags"], packets["offset"], packets["window"] = ACK, 0x50, 65535
    packets["ip_length"] = 40
    return packets


def from_server(packets: Packets) -> Packets:
    """The same, the other way."""
    packets["source"], packets["target"] = packets["target"].copy(), packets["source"].copy()
    packets["source_port"], packets["target_port"] = (
        packets["target_port"].copy(),
        packets["source_port"].copy(),
    )
    return packets


def data(numbers: np.ndarray) -> Packets:
    """Segments of the client by number from 0."""
    packets = blank(len(numbers))
    packets["seq"] = 1 + numbers * SEGMENT
    packets["ip_length"] = 40 + SEGMENT
    return packets


def acks(numbers: np.ndarray | int, left: np.ndarray | int = 0, right: np.ndarray | int = 0) -> Packets:
    """ACKs of the server for all below a number, with one SACK block of numbers where `right` is not 0."""
    columns = np.broadcast_arrays(np.atleast_1d(numbers), left, right)
    packets = from_server(blank(len(columns[0])))
    packets["ack"] = 1 + columns[0] * SEGMENT
    packets["left"], packets["right"] = 1 + columns[1] * SEGMENT, 1 + columns[2] * SEGMENT
    selective = columns[2] > 0
    packets["offset"][selective] = 0x80
    packets["ip_length"][selective] = 52
    packets["kinds"] = [1, 1, 5, 10]
    return packets


def handshake() -> Packets:
    """SYN, SYN+ACK, ACK with SACK and the largest window scale agreed."""
    packets = blank(3)
    packets[1:2] = from_server(packets[1:2].copy())
    packets["flags"] = [SYN, SYN | ACK, ACK]
    packets["seq"][:2] = 0
    packets["ack"][0] = 0
    packets["offset"][:2], packets["ip_length"][:2] = 0x80, 52
    packets["kinds"][:2] = [2, 4, SEGMENT >> 8, SEGMENT & 255]
    packets["left"][:2] = 0x01030300 | 14  # window scale
    packets["right"][:2] = 0x01010402  # SACK permitted
    return packets


def between(*parts: Packets) -> Packets:
    """Parts of equal length, one of each in turn."""
    return np.stack(parts, axis=1).reshape(-1)


def bulk(count: int, first: int = 0) -> Packets:
    """Two segments and an ACK, over and over: `count` packets, or those from `first` on."""
    number = np.arange(first // 3, count // 3)
    packets = between(data(2 * number), data(2 * number + 1), acks(2 * number + 2))
    return packets if first else np.concatenate([handshake(), packets])


def connections(count: int, first: int = 0) -> Packets:
    """`count` connections of ten packets, one after the other, or those from `first` on."""
    number = np.array([0])
    end = acks(2)
    end["flags"] = FIN | ACK
    last = blank(2)
    last["seq"], last["ack"] = 1 + 2 * SEGMENT, [1, 2]
    last["flags"] = [FIN | ACK, ACK]
    one = np.concatenate(
        [handshake(), data(number), acks(1), data(number + 1), acks(2), last[:1], end, last[1:]]
    )
    packets = np.tile(one, count - first)
    which = np.repeat(np.arange(first, count), len(one))
    client = np.tile(one["source_port"] == 40000, count - first)
    port, address = 1024 + which % 60000, 0x0A000001 + which // 60000
    for end_name, here in (("source", client), ("target", ~client)):
        packets[end_name][here] = address[here]
        packets[f"{end_name}_port"][here] = port[here]
    return packets


FLOWS = 50


def parallel(count: int) -> Packets:
    """About `count` packets of fifty connections at once; each loses every 197th segment and repairs it by
    fast retransmit."""
    number = np.arange(96)
    late = 193 + np.arange(4)
    block = np.concatenate(
        [
            between(data(2 * number), data(2 * number + 1), acks(2 * number + 2)),
            data(np.array([192])),  # lost behind the capture
            between(data(late), acks(192, 193, late + 1)),
            data(np.array([192])),
            acks(197),
        ]
    )
    blocks = max(count // (FLOWS * len(block)), 1)
    one = np.tile(block, blocks)
    sent = one["source_port"] == 40000
    moved = np.repeat(np.arange(blocks, dtype=np.uint64) * 197 * SEGMENT, len(block)).astype(np.uint32)
    one["seq"] += np.where(sent, moved, 0).astype(np.uint32)
    one["ack"] += np.where(sent, 0, moved).astype(np.uint32)
    selective = ~sent & (one["offset"] == 0x80)
    for edge in ("left", "right"):
        one[edge] += np.where(selective, moved, 0).astype(np.uint32)
    one = np.concatenate([handshake(), one])
    packets = np.repeat(one, FLOWS)
    client = packets["source_port"] == 40000
    port = np.tile(40000 + np.arange(FLOWS), len(one)).astype(np.uint16)
    packets["source_port"][client] = port[client]
    packets["target_port"][~client] = port[~client]
    return packets


def holes(count: int) -> Packets:
    """Every other segment lost: `count` SACK blocks, then each loss repaired in order."""
    odd = 2 * np.arange(count)
    lost = between(data(odd), acks(odd + 2))
    return np.concatenate([handshake(), data(np.arange(2 * count)), acks(0, odd + 1, odd + 2), lost])


def wide(count: int) -> Packets:
    """The first segment lost, and a SACK block that grows over `count` others."""
    number = np.arange(count)
    parts = [data(np.arange(count + 1)), acks(0, 1, 2 + number), data(number[:1]), acks(count + 1)]
    return np.concatenate([handshake(), *parts])


def scattered(count: int) -> Packets:
    """As `holes`, the blocks and the repairs in no order."""
    random = np.random.default_rng(1)
    even = 2 * random.permutation(count)
    lost = 2 * random.permutation(count - 1) + 2
    repairs = between(data(lost), acks(0, lost - 1, lost + 2))
    end = [data(np.array([0])), acks(2 * count)]
    return np.concatenate(
        [handshake(), data(np.arange(2 * count)), acks(0, even + 1, even + 2), repairs, *end]
    )


def reordered(count: int) -> Packets:
    """`count` segments, each in no order among a hundred neighbours, one ACK for each hundred."""
    random = np.random.default_rng(1)
    rows = np.arange(count // 100 * 100).reshape(-1, 100)
    order = random.permuted(rows, axis=1)
    packets = np.empty((len(rows), 101), RECORD)
    packets[:, :100] = data(order.reshape(-1)).reshape(-1, 100)
    packets[:, 100] = acks(rows[:, -1] + 1)
    return np.concatenate([handshake(), packets.reshape(-1)])


def shuffled(count: int) -> Packets:
    """`count` segments in no order at all, and one ACK at the end."""
    order = np.random.default_rng(1).permutation(count)
    return np.concatenate([handshake(), data(order), acks(count)])


KINDS = {f.__name__: f for f in (bulk, connections, parallel, holes, wide, scattered, reordered, shuffled)}


STREAMED = {"bulk": (bulk, 300_000), "connections": (connections, 30_000)}
"""Kinds that are made in pieces of so many, whatever their count."""


def pieces(kind: str, count: int) -> Iterator[Packets]:
    """All packets, a part at a time."""
    if kind not in STREAMED:
        yield KINDS[kind](count)
        return
    make, size = STREAMED[kind]
    for first in range(0, max(count, 1), size):
        yield make(min(first + size, count), first)


def write_to(file: BinaryIO, kind: str, count: int, jitter: bool = False) -> int:
    """Write a capture; the number of its packets. With jitter, times are not at equal distances."""
    random = np.random.default_rng(7)
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, KEPT, 1))
    written, passed_us = 0, 0.0
    for part in pieces(kind, count):
        packets = part.astype(RECORD)  # joining arrays turns their bytes to the machine's order
        packets["original"] = np.maximum(14 + packets["ip_length"].astype("u4"), KEPT)
        if jitter:
            steps = passed_us + np.cumsum(random.exponential(STEP_US, len(packets)))
            t_us, passed_us = steps.astype("u8"), float(steps[-1])
        else:
            t_us = np.arange(written, written + len(packets), dtype="u8") * STEP_US
        packets["t_s"], packets["t_us"] = 1_700_000_000 + t_us // 1_000_000, t_us % 1_000_000
        file.write(packets.data)
        written += len(packets)
    return written


def write(path: Path, kind: str, count: int, jitter: bool = False) -> int:
    """The same into a file."""
    with path.open("wb") as file:
        return write_to(file, kind, count, jitter)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    if sys.argv[3] == "-":
        write_to(sys.stdout.buffer, sys.argv[1], int(sys.argv[2]))
    else:
        print(f"{write(Path(sys.argv[3]), sys.argv[1], int(sys.argv[2])):,} packets")
