"""PDUs of LTE as the stack of a terminal or a base station hands them to a capture.

Reference: 3GPP TS 36.322 (RLC), 36.321 (MAC), 36.331 (RRC); Wireshark's framing for UDP (packet-rlc-lte.h,
packet-mac-lte.h).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from types import TracebackType
from typing import IO

_UEID = 1
_FIRST_RNTI = 0x4601
_PORTS = struct.Struct(">HHHH")
_DATA_PORT = 9999
_DRB, _CCCH = 5, 1
_SHORT_SN, _LONG_SN = 10, 16
_SHORT_LI, _LONG_LI = 11, 15
_LARGEST_SHORT = (1 << _SHORT_LI) - 1
_LINKTYPE_USER2 = 149
# RRC messages on CCCH: distinguished by their first bits.
_REQUEST = bytes([0x00, 0x11, 0x80, 0x12, 0x34, 0x54])  # rrcConnectionReestablishmentRequest, otherFailure
_ANSWER = bytes([0x00, 0x00, 0x80, 0x00, 0x00])  # rrcConnectionReestablishment


class PduCoder:
    """Makes the bytes of PDUs.

    Parameters
    ----------
    window : int
        PDUs that may be unacknowledged: more than half of 1024 need sequence numbers of 16 bits.
    payload_bytes : int
        Of a full PDU: parts beyond 2047 bytes need length indicators of 15 bits.
    """

    def __init__(self, window: int, payload_bytes: int) -> None:
        self.sn_bits = _SHORT_SN if window <= 1 << (_SHORT_SN - 1) else _LONG_SN
        self.li_bits = _SHORT_LI if payload_bytes <= _LARGEST_SHORT else _LONG_LI

    def data(
        self,
        sn: int,
        poll: bool,
        data: bytes,
        cuts: Sequence[int],
        begins: bool,
        ends: bool,
        part: tuple[int, bool] | None = None,
    ) -> bytes:
        """A data PDU, or a segment of one.

        Parameters
        ----------
        sn : int
        poll : bool
        data : bytes
        cuts : sequence of int
            Places within `data` at which one packet ends and the next begins.
        begins, ends : bool
            Whether it begins and ends with a packet.
        part : (int, bool), optional
            Of a segment: its first byte within the PDU, and whether it reaches its end.

        Returns
        -------
        bytes
            Header and data (3GPP TS 36.322, 6.2.1.4 and 6.2.1.5).
        """
        start, last = part if part is not None else (0, False)
        bits = [
            (1, 1),
            (int(part is not None), 1),
            (int(poll), 1),
            (int(not begins), 1),
            (int(not ends), 1),
            (int(bool(cuts)), 1),
        ]
        if self.sn_bits == _LONG_SN:
            bits += [(int(last), 1), (0, 1)]
        bits.append((sn % (1 << self.sn_bits), self.sn_bits))
        if part is not None:
            bits += [(start, 16)] if self.sn_bits == _LONG_SN else [(int(last), 1), (start, 15)]
        before = 0
        for place, cut in enumerate(cuts):
            bits += [(int(place + 1 < len(cuts)), 1), (cut - before, self.li_bits)]
            before = cut
        return _packed(bits) + data

    def status(self, ack_sn: int, nacks: Sequence[int]) -> bytes:
        """A status report."""
        mask = (1 << self.sn_bits) - 1
        bits = [(0, 4), (ack_sn & mask, self.sn_bits), (int(bool(nacks)), 1)]
        for place, sn in enumerate(nacks):
            bits += [(sn & mask, self.sn_bits), (int(place + 1 < len(nacks)), 1), (0, 1)]
        return _packed(bits)

    def bearer(self, uplink: bool, pdu: bytes) -> bytes:
        """Framing of an RLC PDU of the data bearer."""
        tags = bytes([4, 2, self.sn_bits, 3, not uplink, 5, 0, _UEID, 6, 0, _DRB, 7, 0, 1])
        extended = b"\x08" if self.li_bits == _LONG_LI else b""
        return _datagram(b"rlc-lte" + tags + extended + b"\x01" + pdu)

    @staticmethod
    def reestablishment(uplink: bool) -> bytes:
        """Framing and message: the terminal's request, or the base station's answer."""
        tags = bytes([1, 3, not uplink, 5, 0, _UEID, 6, 0, _CCCH, 7, 0, 0])
        return _datagram(b"rlc-lte" + tags + b"\x01" + (_REQUEST if uplink else _ANSWER))

    @staticmethod
    def arrival(cell: int) -> bytes:
        """The MAC PDU with which a terminal makes itself known by its C-RNTI in its `cell`-th cell."""
        rnti = struct.pack(">H", _FIRST_RNTI + cell)
        context = bytes([1, 0, 3, 2]) + rnti + bytes([3, 0, _UEID, 1])
        # C-RNTI (LCID 27), then padding.
        return _datagram(b"mac-lte" + context + b"\x3b\x1f" + rnti + bytes(4))


class PduWriter:
    """Writes a pcapng of link type 149 with two interfaces, one per end of the bearer.

    Parameters
    ----------
    path : str
    """

    both_ends = True

    def __init__(self, path: str) -> None:
        self._file: IO[bytes] = open(path, "wb")  # noqa: SIM115 - closed in close
        self._block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
        for name in (b"ue", b"bs"):
            options = _option(2, name) + _option(9, b"\x09") + struct.pack("<HH", 0, 0)
            self._block(1, struct.pack("<HHI", _LINKTYPE_USER2, 0, 0) + options)

    def write(self, t_ns: int, side: int, frame: bytes) -> None:
        """Add a PDU that `side` sent or received at `t_ns`."""
        fixed = struct.pack("<IIIII", side, t_ns >> 32, t_ns & 0xFFFFFFFF, len(frame), len(frame))
        self._block(6, fixed + _padded(frame))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _block(self, kind: int, body: bytes) -> None:
        length = struct.pack("<I", len(body) + 12)
        self._file.write(struct.pack("<I", kind) + length + body + length)

    def __enter__(self) -> PduWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _datagram(payload: bytes) -> bytes:
    return _PORTS.pack(_DATA_PORT, _DATA_PORT, 8 + len(payload), 0) + payload


def _packed(bits: Sequence[tuple[int, int]]) -> bytes:
    """Values of so many bits each, first bit first, filled up with zeros."""
    value = total = 0
    for number, width in bits:
        value = value << width | number
        total += width
    fill = -total % 8
    return (value << fill).to_bytes((total + fill) // 8, "big")
