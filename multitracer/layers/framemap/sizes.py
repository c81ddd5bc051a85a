"""How many bytes packets take in a byte stream: framing, escapes, header compression.

What a link does to packets is not in any trace. Each `Framing` is one way of doing it; which one a link uses
is found by trying (`multitracer.layers.framemap`).
"""

from __future__ import annotations

import numpy as np

from multitracer import native
from multitracer.model.frozen import frozen
from multitracer.model.table import Array


@frozen
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


@frozen
class Sizes:
    """Bytes that packets take in the stream, in the order in which the link took them.

    Attributes
    ----------
    known : int64 array
        Those that are certain; without an opening flag.
    unseen : int64 array
        Of them, bytes that were not captured: each may be escaped, which makes it two.
    """

    known: Array
    unseen: Array


def sizes(framing: Framing, packets: list[tuple[int, bytes]]) -> Sizes:
    """Size in the stream of each packet.

    Parameters
    ----------
    framing : Framing
    packets : list of (int, bytes)
        Length on the wire, and what was captured of it; in the order in which the link took them.
    """
    if not framing.hdlc:
        lengths = np.array([length for length, _ in packets], dtype=np.int64)
        return Sizes(lengths, np.zeros(len(packets), dtype=np.int64))
    vj = (framing.leave_slot_out, framing.special_cases) if framing.vj else None
    short = framing.protocol_bytes == 1
    return Sizes(*native.framed_sizes(packets, framing.address, short, framing.flags, framing.accm, vj))


def escape_rate(framing: Framing) -> float:
    """Share of random bytes that are escaped."""
    return len(framing.specials()) / 256 if framing.hdlc else 0.0
