"""Van Jacobson TCP/IP header compression (RFC 1144), written from its text.

The failure modes are the RFC's own: a lost delta leaves the decompressor with a wrong copy of the header, and
every later compressed packet comes out with wrong sequence numbers that only the TCP checksum betrays
(section 4.1).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal

NEW_C, NEW_I, PUSH, NEW_S, NEW_A, NEW_W, NEW_U = 0x40, 0x20, 0x10, 0x08, 0x04, 0x02, 0x01
SPECIAL_I = NEW_S | NEW_W | NEW_U  # echoed interactive traffic
SPECIAL_D = NEW_S | NEW_A | NEW_W | NEW_U  # unidirectional data
SPECIALS = NEW_S | NEW_A | NEW_W | NEW_U
FIN, SYN, RST, PSH, ACK, URG = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20

Kind = Literal["ip", "compressed", "uncompressed"]


class VjCompressor:
    """The compressor of one direction.

    Parameters
    ----------
    slots : int
        Connections kept, 3 to 256.
    compress_slot : bool
        Leave the connection number out where it is that of the packet before.
    """

    def __init__(self, slots: int = 16, compress_slot: bool = True, special_cases: bool = True) -> None:
        self._free = list(range(slots - 1, -1, -1))
        self._saved: OrderedDict[bytes, tuple[int, bytes]] = OrderedDict()
        self._compress_slot = compress_slot
        self._special_cases = special_cases
        self._last_slot = -1

    def compress(self, packet: bytes) -> tuple[Kind, bytes]:
        """Compress an IP packet (RFC 1144 appendix A.2); anything but plain TCP passes as it is."""
        header_length = _compressible(packet)
        if header_length == 0:
            return "ip", packet
        ip_length = (packet[0] & 15) * 4
        key = packet[12:20] + packet[ip_length : ip_length + 4]
        if key not in self._saved:
            if self._free:
                slot = self._free.pop()
            else:
                _, (slot, _) = self._saved.popitem(last=False)
            return self._uncompressed(packet, header_length, key, slot)
        slot, old = self._saved[key]
        encoded = _deltas(packet, header_length, old, ip_length, self._special_cases)
        if encoded is None:
            return self._uncompressed(packet, header_length, key, slot)
        changes, deltas = encoded
        self._remember(packet, header_length, key, slot)
        checksum = packet[ip_length + 16 : ip_length + 18]
        if self._compress_slot and self._last_slot == slot:
            head = bytes((changes,))
        else:
            head = bytes((changes | NEW_C, slot))
            self._last_slot = slot
        return "compressed", head + checksum + deltas + packet[header_length:]

    def _uncompressed(self, packet: bytes, header_length: int, key: bytes, slot: int) -> tuple[Kind, bytes]:
        self._remember(packet, header_length, key, slot)
        self._last_slot = slot
        return "uncompressed", packet[:9] + bytes((slot,)) + packet[10:]

    def _remember(self, packet: bytes, header_length: int, key: bytes, slot: int) -> None:
        self._saved[key] = (slot, packet[:header_length])
        self._saved.move_to_end(key)


class VjDecompressor:
    """The decompressor of one direction.

    Parameters
    ----------
    slots : int
        Connections kept, as in the compressor.

    Attributes
    ----------
    tossing : bool
        Compressed packets without a connection number are dropped, because a frame was lost to damage.
    """

    def __init__(self, slots: int = 16) -> None:
        self._headers: list[bytes | None] = [None] * slots
        self._last_slot = -1
        self.tossing = True

    def error(self) -> None:
        """Note that the framing saw a damaged frame (RFC 1144 section 4.1, type ERROR)."""
        self.tossing = True

    def decompress(self, kind: Kind, packet: bytes) -> bytes | None:
        """Restore a packet (RFC 1144 appendix A.3).

        Returns
        -------
        bytes or None
            The packet, with wrong numbers if deltas were lost; None if it had to be tossed.
        """
        if kind == "ip":
            return packet
        if kind == "uncompressed":
            return self._uncompressed(packet)
        return self._compressed(packet)

    def _uncompressed(self, packet: bytes) -> bytes | None:
        slot = packet[9] if len(packet) >= 40 else -1
        restored = packet[:9] + b"\x06" + packet[10:]
        header_length = _header_length(restored)
        if header_length == 0 or not 0 <= slot < len(self._headers):
            self.tossing = True
            return None
        self._headers[slot] = restored[:header_length]
        self._last_slot = slot
        self.tossing = False
        return restored

    def _compressed(self, packet: bytes) -> bytes | None:
        reader = _Reader(packet)
        changes = reader.byte()
        if changes & NEW_C:
            slot = reader.byte()
            if not 0 <= slot < len(self._headers):
                self.tossing = True
                return None
            self.tossing = False
            self._last_slot = slot
        elif self.tossing:
            return None
        header = self._headers[self._last_slot] if self._last_slot >= 0 else None
        if header is None:
            self.tossing = True
            return None
        restored = _apply(bytearray(header), changes, reader)
        if restored is None:
            self.tossing = True
            return None
        self._headers[self._last_slot] = bytes(restored)
        return bytes(restored) + packet[reader.position :]


class _Reader:
    """Reads the numbers of a compressed header; `bad` once the packet is too short."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.bad = False

    def byte(self) -> int:
        if self.position >= len(self.data):
            self.bad = True
            return 0
        self.position += 1
        return self.data[self.position - 1]

    def delta(self) -> int:
        """One byte, or a zero byte and two (RFC 1144 section 3.2.2)."""
        first = self.byte()
        return first if first else (self.byte() << 8) | self.byte()


def _apply(header: bytearray, changes: int, reader: _Reader) -> bytearray | None:
    tcp = (header[0] & 15) * 4
    checksum = bytes((reader.byte(), reader.byte()))
    last_data = int.from_bytes(header[2:4], "big") - len(header)
    header[tcp + 16 : tcp + 18] = checksum
    flags = header[tcp + 13] | PSH if changes & PUSH else header[tcp + 13] & ~PSH
    seq = int.from_bytes(header[tcp + 4 : tcp + 8], "big")
    ack = int.from_bytes(header[tcp + 8 : tcp + 12], "big")
    if changes & SPECIALS in (SPECIAL_I, SPECIAL_D):
        flags &= ~URG  # the RFC's code forgets it; no packet with URG is sent as a special case
    if changes & SPECIALS == SPECIAL_I:
        ack += last_data
        seq += last_data
    elif changes & SPECIALS == SPECIAL_D:
        seq += last_data
    else:
        if changes & NEW_U:
            flags |= URG
            header[tcp + 18 : tcp + 20] = reader.delta().to_bytes(2, "big")
        else:
            flags &= ~URG
        if changes & NEW_W:
            window = int.from_bytes(header[tcp + 14 : tcp + 16], "big") + reader.delta()
            header[tcp + 14 : tcp + 16] = (window & 0xFFFF).to_bytes(2, "big")
        if changes & NEW_A:
            ack += reader.delta()
        if changes & NEW_S:
            seq += reader.delta()
    ip_id = int.from_bytes(header[4:6], "big") + (reader.delta() if changes & NEW_I else 1)
    length = len(header) + len(reader.data) - reader.position
    if reader.bad or length > 0xFFFF:
        return None
    header[tcp + 13] = flags
    header[tcp + 4 : tcp + 8] = (seq & 0xFFFFFFFF).to_bytes(4, "big")
    header[tcp + 8 : tcp + 12] = (ack & 0xFFFFFFFF).to_bytes(4, "big")
    header[4:6] = (ip_id & 0xFFFF).to_bytes(2, "big")
    header[2:4] = length.to_bytes(2, "big")
    header[10:12] = b"\0\0"
    header[10:12] = ip_checksum(bytes(header[:tcp])).to_bytes(2, "big")
    return header


def _header_length(packet: bytes) -> int:
    """Length of a well-formed IPv4 and TCP header; 0 if it is not one."""
    if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != 6:
        return 0
    ip_length = (packet[0] & 15) * 4
    if ip_length < 20 or len(packet) < ip_length + 20:
        return 0
    tcp_length = (packet[ip_length + 12] >> 4) * 4
    length = ip_length + tcp_length
    return length if tcp_length >= 20 and len(packet) >= length else 0


def _compressible(packet: bytes) -> int:
    """Header length of a packet that may be compressed; 0 if it is to pass as it is."""
    length = _header_length(packet)
    if length == 0 or int.from_bytes(packet[2:4], "big") != len(packet):
        return 0
    if int.from_bytes(packet[6:8], "big") & 0x3FFF:  # a fragment
        return 0
    ip_length = (packet[0] & 15) * 4
    if packet[ip_length + 13] & (SYN | FIN | RST | ACK) != ACK:
        return 0
    # The decompressor makes a new checksum: a header that arrived damaged must not be repaired here.
    return length if ip_checksum(packet[:ip_length]) == 0 else 0


def _deltas(
    packet: bytes, header_length: int, old: bytes, tcp: int, special_cases: bool
) -> tuple[int, bytes] | None:
    """Change mask and deltas against the saved header; None if it must go uncompressed."""
    if (
        len(old) != header_length
        or packet[:2] != old[:2]
        or packet[6:10] != old[6:10]
        or packet[20:tcp] != old[20:tcp]
        or packet[tcp + 12] != old[tcp + 12]
        or packet[tcp + 20 : header_length] != old[tcp + 20 : header_length]
        # ECE and CWR are younger than the RFC, which would lose their changes.
        or (packet[tcp + 13] ^ old[tcp + 13]) & 0xC0
    ):
        return None
    changes = 0
    out = bytearray()
    urgent = int.from_bytes(packet[tcp + 18 : tcp + 20], "big")
    if packet[tcp + 13] & URG:
        out += _encode(urgent, zero=True)
        changes |= NEW_U
    elif packet[tcp + 18 : tcp + 20] != old[tcp + 18 : tcp + 20]:
        return None
    window = (_word(packet, tcp + 14) - _word(old, tcp + 14)) & 0xFFFF
    if window:
        out += _encode(window)
        changes |= NEW_W
    ack = (_long(packet, tcp + 8) - _long(old, tcp + 8)) & 0xFFFFFFFF
    seq = (_long(packet, tcp + 4) - _long(old, tcp + 4)) & 0xFFFFFFFF
    if ack > 0xFFFF or seq > 0xFFFF:
        return None
    if ack:
        out += _encode(ack)
        changes |= NEW_A
    if seq:
        out += _encode(seq)
        changes |= NEW_S
    last_data = _word(old, 2) - header_length
    if changes == 0:
        # Data after a bare ACK is fine; a repeated header is a retransmission or a window probe.
        if not (_word(packet, 2) != _word(old, 2) and last_data == 0):
            return None
    elif changes in (SPECIAL_I, SPECIAL_D):
        return None  # a real change that looks like one of the special cases
    elif special_cases and changes == NEW_S | NEW_A and seq == ack == last_data:
        changes, out = SPECIAL_I, bytearray()
    elif special_cases and changes == NEW_S and seq == last_data:
        changes, out = SPECIAL_D, bytearray()
    ip_id = (_word(packet, 4) - _word(old, 4)) & 0xFFFF
    if ip_id != 1:
        out += _encode(ip_id, zero=True)
        changes |= NEW_I
    if packet[tcp + 13] & PSH:
        changes |= PUSH
    return changes, bytes(out)


def _encode(value: int, zero: bool = False) -> bytes:
    return bytes((0, value >> 8, value & 0xFF)) if value > 255 or (zero and value == 0) else bytes((value,))


def _word(data: bytes, at: int) -> int:
    return (data[at] << 8) | data[at + 1]


def _long(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")


def ip_checksum(header: bytes) -> int:
    """Internet checksum of `header` (RFC 1071); 0 over a header that contains a right one."""
    if len(header) % 2:
        header += b"\0"
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
