"""RLP frames of 240 bits: header 16, information 200, FCS 24 (3GPP TS 24.022 section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FRAME_BYTES = 30
INFORMATION_BYTES = 25
USER_BYTES = 24
MODULUS = 62

S_WORDS = ("RR", "RNR", "REJ", "SREJ")
U_CODES = {
    "UI": 0x00,
    "DM": 0x03,
    "SABM": 0x07,
    "DISC": 0x08,
    "UA": 0x0C,
    "NULL": 0x0F,
    "REMAP": 0x11,
    "XID": 0x17,
    "TEST": 0x1C,
}
_U_WORDS = {code: word for word, code in U_CODES.items()}
_NS_S_FRAME = 62
_NS_U_FRAME = 63

# L2R status octet, address field (3GPP TS 27.002 L2RCOP)
STATUS_EMPTY = 0x1F
STATUS_FULL = 0x1E
STATUS_FLOW_CONTROL = 0x20


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ 0xAD85DD if value & 1 else value >> 1
        table.append(value)
    return tuple(table)


_TABLE = _table()


def fcs24(data: bytes) -> int:
    """Frame check sequence of header and information (section 4.4, polynomial 0xBBA1B5, bits reflected)."""
    fcs, table = 0xFFFFFF, _TABLE
    for byte in data:
        fcs = (fcs >> 8) ^ table[(fcs ^ byte) & 0xFF]
    return fcs ^ 0xFFFFFF


@dataclass(frozen=True)
class RlpFrame:
    """One frame's fields.

    Attributes
    ----------
    kind : str
        "I" (information, with a supervisory part), "S" (supervisory alone) or "U" (unnumbered).
    command : bool
        C/R bit: command or response.
    pf : bool
        Poll bit of a command, final bit of a response.
    ns, nr : int
        N(S) of an I frame; N(R) of an I or S frame.
    word : str
        Supervisory word of I and S frames (RR, RNR, REJ, SREJ), or the U frame's name.
    information : bytes
        25 octets, the first one L2R's status octet; shorter ones are filled with zeros.
    """

    kind: Literal["I", "S", "U"]
    word: str
    command: bool = True
    pf: bool = False
    ns: int = 0
    nr: int = 0
    information: bytes = b""


def encode(frame: RlpFrame) -> bytes:
    """Build the 30 octets of a frame."""
    if frame.kind == "U":
        ns, low, r = _NS_U_FRAME, 0, U_CODES[frame.word]
    else:
        ns = frame.ns if frame.kind == "I" else _NS_S_FRAME
        low, r = S_WORDS.index(frame.word), frame.nr
    first = int(frame.command) | low << 1 | (ns & 0x1F) << 3
    second = ns >> 5 | int(frame.pf) << 1 | r << 2
    body = bytes((first, second)) + frame.information[:INFORMATION_BYTES].ljust(INFORMATION_BYTES, b"\0")
    return body + fcs24(body).to_bytes(3, "little")


def decode(data: bytes) -> RlpFrame | None:
    """Read a frame; None if its length or FCS is wrong, or a U frame's code is unknown."""
    if len(data) != FRAME_BYTES or fcs24(data[:-3]) != int.from_bytes(data[-3:], "little"):
        return None
    ns = data[0] >> 3 | (data[1] & 1) << 5
    command, pf, r = bool(data[0] & 1), bool(data[1] & 2), data[1] >> 2
    information = data[2:-3]
    if ns == _NS_U_FRAME:
        word = _U_WORDS.get(r & 0x1F)
        return None if word is None else RlpFrame("U", word, command, pf, information=information)
    word = S_WORDS[data[0] >> 1 & 3]
    if ns == _NS_S_FRAME:
        return RlpFrame("S", word, command, pf, nr=r, information=information)
    return RlpFrame("I", word, command, pf, ns, r, information)


def pack_user(data: bytes, flow_control: bool = False) -> bytes:
    """Put up to 24 user bytes after L2R's status octet; a second status octet ends a short run."""
    flow = STATUS_FLOW_CONTROL if flow_control else 0
    if not data:
        return bytes((flow | STATUS_EMPTY,)).ljust(INFORMATION_BYTES, b"\xff")
    if len(data) == USER_BYTES:
        return bytes((flow | STATUS_FULL,)) + data
    return (bytes((flow | len(data),)) + data + bytes((flow | STATUS_EMPTY,))).ljust(
        INFORMATION_BYTES, b"\xff"
    )


def unpack_user(information: bytes) -> bytes:
    """User bytes of an information field; status changes between them are passed over."""
    user, position = b"", 0
    while position < len(information):
        address = information[position] & 0x1F
        position += 1
        if address == STATUS_FULL:
            return user + information[position : position + USER_BYTES]
        if not 0 < address < USER_BYTES:
            break
        user += information[position : position + address]
        position += address
    return user
