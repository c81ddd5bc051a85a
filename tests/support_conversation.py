"""Conversations by hand, written as a capture: client A sends data to server B, with a known right answer.

Sequence numbers are relative: the SYN is 0, the first byte 1. Times are milliseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multitracer import native

FIN, SYN, RST, PSH, ACK, ECE, CWR = 0x01, 0x02, 0x04, 0x08, 0x10, 0x40, 0x80
HOST_A, HOST_B = b"\x0a\0\0\x01", b"\x0a\0\0\x02"
RAW = 101
Blocks = Sequence[tuple[int, int]]


def checksum(data: bytes) -> int:
    """Of the Internet (RFC 1071)."""
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


@dataclass
class Conversation:
    """What A and B send, as one capture has it.

    Attributes
    ----------
    sack, timestamps : bool
        Whether both ends offer them.
    scale : int or None
        Window scale of both ends.
    isn_a, isn_b, port_a : int
    packets : list of tuple
        Time in milliseconds and IP packet.
    """

    sack: bool = True
    timestamps: bool = False
    scale: int | None = None
    isn_a: int = 1000
    isn_b: int = 900_000
    port_a: int = 4000
    packets: list[tuple[float, bytes]] = field(default_factory=list)
    idents: list[int] = field(default_factory=lambda: [0, 0])

    def segment(
        self, t_ms: float, from_a: bool, seq: int, ack: int | None, flags: int = 0, payload: bytes = b"",
        window: int = 60_000, options: bytes = b"", ecn: int = 0, ident: int | None = None,
    ) -> None:  # fmt: skip
        """Any segment; `seq` and `ack` relative to the two ISNs."""
        own, peer = (self.isn_a, self.isn_b) if from_a else (self.isn_b, self.isn_a)
        ports = (self.port_a, 80) if from_a else (80, self.port_a)
        hosts = (HOST_A, HOST_B) if from_a else (HOST_B, HOST_A)
        side = 0 if from_a else 1
        self.idents[side] += 1
        number = self.idents[side] if ident is None else ident
        options += b"\x01" * (-len(options) % 4)
        flags |= ACK if ack is not None else 0
        number_a = ((ack or 0) + peer) % 2**32 if ack is not None else 0
        offset = (20 + len(options)) << 2
        fields = (*ports, (seq + own) % 2**32, number_a, offset, flags, window)
        tcp = bytearray(struct.pack(">HHIIBBHHH", *fields, 0, 0) + options + payload)
        pseudo = hosts[0] + hosts[1] + struct.pack(">HH", 6, len(tcp))
        struct.pack_into(">H", tcp, 16, checksum(pseudo + bytes(tcp)))
        head = bytearray(
            struct.pack(">BBHHHBBH4s4s", 0x45, ecn, 20 + len(tcp), number % 65536, 0, 64, 6, 0, *hosts)
        )
        struct.pack_into(">H", head, 10, checksum(bytes(head)))
        self.packets.append((t_ms, bytes(head) + bytes(tcp)))

    def handshake(self, t_ms: float = 0, rtt_ms: float = 100, mss: int = 1000) -> None:
        """SYN, SYN+ACK, ACK."""
        options = struct.pack(">BBH", 2, 4, mss)
        options += b"\x04\x02" if self.sack else b""
        options += bytes([3, 3, self.scale]) if self.scale is not None else b""
        self.segment(t_ms, True, 0, None, SYN, options=options + self._stamps(t_ms, 0))
        self.segment(t_ms + rtt_ms, False, 0, 1, SYN, options=options + self._stamps(t_ms + rtt_ms, t_ms))
        self.segment(t_ms + rtt_ms, True, 1, 1, options=self._stamps(t_ms + rtt_ms, t_ms + rtt_ms))

    def data(
        self,
        t_ms: float,
        seq: int,
        length: int = 1000,
        flags: int = 0,
        ecn: int = 0,
        ident: int | None = None,
    ) -> None:
        """A sends `length` bytes from `seq`."""
        payload = bytes((seq + i) % 251 for i in range(length))
        self.segment(
            t_ms, True, seq, 1, flags, payload, options=self._stamps(t_ms, 0), ecn=ecn, ident=ident
        )  # fmt: skip

    def ack(
        self, t_ms: float, number: int, blocks: Blocks = (), window: int = 60_000,
        echo_ms: float | None = None, flags: int = 0, payload: bytes = b"",
    ) -> None:  # fmt: skip
        """B acknowledges up to `number`, selectively the blocks; echoes what left 100 ms before."""
        options = self._stamps(t_ms, t_ms - 100 if echo_ms is None else echo_ms)
        if blocks:
            edges = [(edge + self.isn_a) % 2**32 for block in blocks for edge in block]
            options += b"\x01\x01" + bytes([5, 2 + 4 * len(edges)]) + struct.pack(f">{len(edges)}I", *edges)
        self.segment(t_ms, False, 1, number, flags, payload, window, options)

    def warm_up(self, segments: int = 10) -> int:
        """Segments acknowledged one by one 100 ms later, one in 200 ms: the estimator settles at 300 ms.

        Returns the next byte to send; the last ACK came at ``100 + 200 * segments`` ms.
        """
        for i in range(segments):
            self.data(200 + 200 * i, 1 + 1000 * i)
            self.ack(300 + 200 * i, 1001 + 1000 * i)
        return 1 + 1000 * segments

    def rounds(
        self, t_ms: float, seq: int, rounds: int, rtt_ms: float, *, segments: int = 10, window: int = 60_000
    ) -> tuple[float, int]:
        """So many segments in each RTT, and the time and the sequence number of the next."""
        for _ in range(rounds):
            for number in range(segments):
                self.data(t_ms, seq + 1000 * number)
            for number in range(1, segments + 1):
                self.ack(t_ms + rtt_ms + 0.01 * number, seq + 1000 * number, window=window)
            t_ms, seq = t_ms + rtt_ms + 1, seq + 1000 * segments
        return t_ms, seq

    def write(self, path: Path) -> Path:
        """The capture, in the order in which it was told."""
        with path.open("wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, RAW))
            for t_ms, data in self.packets:
                t_ns = 1_000_000_000_000 + round(t_ms * 1e6)
                file.write(struct.pack("<IIII", t_ns // 10**9, t_ns % 10**9, len(data), len(data)) + data)
        return path

    def read(self, path: Path) -> dict[str, Any]:
        """What the core makes of it."""
        return native.read_capture(str(self.write(path)), keep_segments=True)

    def _stamps(self, value_ms: float, echo_ms: float) -> bytes:
        if not self.timestamps:
            return b""
        return b"\x01\x01" + struct.pack(
            ">BBII", 8, 10, 10_000 + int(value_ms), max(10_000 + int(echo_ms), 0)
        )


def sender(found: dict[str, Any]) -> dict[str, Any]:
    """The only connection's summary of A's direction."""
    (connection,) = found["connections"]
    return dict(connection["forward"])
