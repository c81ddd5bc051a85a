"""PPP in HDLC-like framing: flags, escapes, FCS-16 (RFC 1662)."""

from __future__ import annotations

from typing import NamedTuple

FLAG = 0x7E
ESCAPE = 0x7D
GOOD_FCS = 0xF0B8

PPP_IP = 0x0021
PPP_VJ_COMPRESSED = 0x002D
PPP_VJ_UNCOMPRESSED = 0x002F
PPP_IPV6 = 0x0057


def _fcs_table() -> tuple[int, ...]:
    """Table of RFC 1662 appendix C.2 (polynomial x^16 + x^12 + x^5 + 1, reflected)."""
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ 0x8408 if value & 1 else value >> 1
        table.append(value)
    return tuple(table)


_TABLE = _fcs_table()


def fcs16(data: bytes, fcs: int = 0xFFFF) -> int:
    """Frame check sequence over `data`, not yet complemented (RFC 1662 appendix C.2)."""
    table = _TABLE
    for byte in data:
        fcs = (fcs >> 8) ^ table[(fcs ^ byte) & 0xFF]
    return fcs


def encode(protocol: int, information: bytes, accm: int = 0, opening_flag: bool = False) -> bytes:
    """Frame a packet; two frames share one flag unless `opening_flag` asks for a separate one.

    Seven bytes of overhead without escapes (Paper 4.6): address, control, protocol, FCS and closing flag.

    Parameters
    ----------
    protocol : int
        PPP protocol number, 16 bits (RFC 1661).
    information : bytes
        What the frame carries.
    accm : int
        Bit n: the control character n is escaped (RFC 1662 section 7.1).
    opening_flag : bool
        Begin with a flag even though the frame before ended with one.

    Returns
    -------
    bytes
        The bytes on the line.
    """
    content = b"\xff\x03" + protocol.to_bytes(2, "big") + information
    fcs = fcs16(content) ^ 0xFFFF
    content += bytes((fcs & 0xFF, fcs >> 8))
    out = bytearray(b"\x7e" if opening_flag else b"")
    for byte in content:
        if byte in (FLAG, ESCAPE) or (byte < 32 and (accm >> byte) & 1):
            out += bytes((ESCAPE, byte ^ 0x20))
        else:
            out.append(byte)
    out.append(FLAG)
    return bytes(out)


class PppFrame(NamedTuple):
    """A frame found by the receiver.

    Attributes
    ----------
    end : int
        Stream offset after its closing flag.
    protocol : int
        PPP protocol number; -1 for a damaged frame.
    information : bytes
        The packet; empty for a damaged frame.
    """

    end: int
    protocol: int
    information: bytes


class HdlcDecoder:
    """Finds frames in any byte stream.

    Parameters
    ----------
    mru : int
        Frames longer than this are damaged (RFC 1661 section 6.1); it also bounds memory.
    """

    def __init__(self, mru: int = 65_535) -> None:
        self._mru = mru
        self._frame = bytearray()
        self._escaped = False
        self._overlong = False

    def feed(self, data: bytes, offset: int = 0) -> list[PppFrame]:
        """Take the next bytes of the stream, the first at stream offset `offset`; frames that they completed.

        Fewer than four bytes between flags are silently skipped, a bad FCS or an aborted frame gives a
        `PppFrame` with protocol -1 (RFC 1662 section 4.3).
        """
        frames: list[PppFrame] = []
        for index, byte in enumerate(data):
            if byte == FLAG:
                frame = self._finish(offset + index + 1)
                if frame is not None:
                    frames.append(frame)
            elif self._escaped:
                self._frame.append(byte ^ 0x20)
                self._escaped = False
            elif byte == ESCAPE:
                self._escaped = True
            elif len(self._frame) <= self._mru + 8:
                self._frame.append(byte)
            else:
                self._overlong = True
        return frames

    def _finish(self, end: int) -> PppFrame | None:
        content, aborted = bytes(self._frame), self._escaped or self._overlong
        self._frame.clear()
        self._escaped = self._overlong = False
        if len(content) < 4 and not (aborted and content):
            return None
        damaged = PppFrame(end, -1, b"")
        if aborted or fcs16(content) != GOOD_FCS:
            return damaged
        body = content[2:-2] if content[:2] == b"\xff\x03" else content[:-2]
        if not body:
            return damaged
        if body[0] & 1:  # protocol field compression: the last byte of a protocol number is odd
            return PppFrame(end, body[0], body[1:])
        if len(body) < 2 or not body[1] & 1:
            return damaged
        return PppFrame(end, (body[0] << 8) | body[1], body[2:])
