"""How many bytes packets take in a byte stream: framing, escapes, header compression.

What a link does to packets is not in any trace. Each `Framing` is one way of doing it; which one a link uses
is found by trying (`multitracer.framemap`).
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from multitracer.ppp.hdlc import PPP_IP, PPP_IPV6, PPP_VJ_COMPRESSED, PPP_VJ_UNCOMPRESSED
from multitracer.ppp.vj import VjCompressor

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_KINDS = {"ip": PPP_IP, "compressed": PPP_VJ_COMPRESSED, "uncompressed": PPP_VJ_UNCOMPRESSED}


@dataclass(frozen=True)
class Framing:
    """What a link makes of an IP packet.

    Attributes
    ----------
    name : str
    hdlc : bool
        PPP in HDLC-like framing (RFC 1662); otherwise packets follow each other as they are.
    address : bool
        Address and control field are sent (no ACFC, RFC 1661 section 6.6).
    protocol_bytes : int
        2, or 1 with protocol field compression (RFC 1661 section 6.5).
    flags : int
        2 if each frame has an opening and a closing flag, 1 if two frames share one.
    accm : int
        Control characters that are escaped (RFC 1662 section 7.1).
    vj : bool
        TCP/IP header compression (RFC 1144).
    leave_slot_out : bool
        The compressor leaves out a connection number that is that of the packet before.
    special_cases : bool
        The compressor uses the short forms of RFC 1144 section 3.2.3.
    """

    name: str
    hdlc: bool = True
    address: bool = True
    protocol_bytes: int = 2
    flags: int = 1
    accm: int = 0
    vj: bool = False
    leave_slot_out: bool = False
    special_cases: bool = True

    def specials(self) -> bytes:
        """Bytes that are escaped."""
        return bytes(byte for byte in range(32) if self.accm >> byte & 1) + b"\x7d\x7e"


_ESCAPED = {
    0: "",
    0x000A0000: ", XON and XOFF escaped",
    0xFFFFFFFF: ", all control characters escaped",
}
PLAIN = Framing("packets as they are", hdlc=False)

FRAMINGS = (
    PLAIN,
    *(
        Framing(
            "".join(
                (
                    "PPP",
                    "" if address else ", no address field",
                    "" if protocol == 2 else ", short protocol field",
                    "" if flags == 1 else ", two flags each",
                    _ESCAPED[accm],
                    ", VJ" if vj else "",
                    " without slot numbers" if leave_out else "",
                    "" if short else " without special cases",
                )
            ),
            True,
            address,
            protocol,
            flags,
            accm,
            vj,
            leave_out,
            short,
        )
        for vj, leave_out, short in (
            (False, False, True),
            (True, False, True),
            (True, True, True),
            (True, False, False),
            (True, True, False),
        )
        for flags in (1, 2)
        for accm in _ESCAPED
        for address, protocol in ((True, 2), (False, 1), (False, 2), (True, 1))
    ),
)
"""Ways to be tried, the simplest first."""


class Sizes(NamedTuple):
    """Bytes in the stream.

    Attributes
    ----------
    known : int
        Those that are certain; without an opening flag.
    unseen : int
        Of them, bytes that were not captured: each may be escaped, which makes it two.
    """

    known: int
    unseen: int


def fcs16(data: bytes) -> int:
    """Frame check sequence (RFC 1662 appendix C), by the standard library's CRC over reversed bits."""
    crc = binascii.crc_hqx(data.translate(_REVERSED), 0xFFFF) ^ 0xFFFF
    return int(f"{crc:016b}"[::-1], 2)


def sizes(framing: Framing, packets: Iterable[tuple[int, bytes]]) -> list[Sizes]:
    """Size in the stream of each packet, in the order in which the link took them.

    Parameters
    ----------
    framing : Framing
    packets : iterable of (int, bytes)
        Length on the wire, and what was captured of it.
    """
    compressor = (
        VjCompressor(compress_slot=framing.leave_slot_out, special_cases=framing.special_cases)
        if framing.vj
        else None
    )
    special = framing.specials()
    found = []
    for length, data in packets:
        if not framing.hdlc:
            found.append(Sizes(length, 0))
            continue
        unseen = max(length - len(data), 0)
        kind, information = ("ip", data)
        if compressor is not None:
            # The compressor looks at headers only; what was not captured is filled up for its length check.
            kind, information = compressor.compress(data + bytes(unseen))
            information = information[: len(information) - unseen] if unseen else information
        protocol = PPP_IPV6 if kind == "ip" and data[:1] >= b"\x60" else _KINDS[kind]
        content = (b"\xff\x03" if framing.address else b"") + protocol.to_bytes(2, "big")[
            -framing.protocol_bytes :
        ]
        content += information
        if unseen:
            size = len(content) + unseen + 2 + framing.flags + _escapes(content, special)
            found.append(Sizes(size, unseen + 2))
            continue
        check = fcs16(content).to_bytes(2, "little")
        found.append(Sizes(len(content) + 2 + framing.flags + _escapes(content + check, special), 0))
    return found


def escape_rate(framing: Framing) -> float:
    """Share of random bytes that are escaped."""
    return len(framing.specials()) / 256 if framing.hdlc else 0.0


def _escapes(content: bytes, special: bytes) -> int:
    return len(content) - len(content.translate(None, special))
