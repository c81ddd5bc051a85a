"""What one place of a transmission interval carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from multitracer.lab.l2r import Chunk

MODULUS = 4096


@dataclass(frozen=True)
class Pdu:
    """What one place of a transmission interval carries.

    Attributes
    ----------
    kind : str
        "data", "status", "reset" or "reset_ack".
    sn : int
        Sequence number of data, ACK_SN of a status report.
    poll : bool
        A status report is asked for.
    chunk : Chunk
        User bytes and their place in the stream.
    nacks : tuple of int
        Missing PDUs, in a status report.
    epoch : int
        Re-establishments before it; what was in transit during one is dropped by lower layers.
    part : (int, bool) or None
        Of a segment of a PDU: its first byte within that, and whether it reaches its end.
    """

    kind: Literal["data", "status", "reset", "reset_ack"]
    sn: int = 0
    poll: bool = False
    chunk: Chunk | None = None
    nacks: tuple[int, ...] = ()
    epoch: int = 0
    part: tuple[int, bool] | None = None
