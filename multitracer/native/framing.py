"""Sizes of packets in a byte stream, and their places in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import multitracer._core as _core

if TYPE_CHECKING:
    from multitracer.model.table import Array


def framed_sizes(
    packets: list[tuple[int, bytes]],
    address: bool,
    short_protocol: bool,
    flags: int,
    accm: int,
    vj: tuple[bool, bool] | None,
) -> tuple[Array, Array]:
    """Sizes of packets under PPP: bytes that are certain, and how many of them may be escaped.

    Parameters
    ----------
    packets : list of (int, bytes)
        Length on the wire, and what was captured of it.
    address : bool
        Address and control field are sent.
    short_protocol : bool
        The protocol field takes one byte.
    flags : int
        Flags that a frame has of its own.
    accm : int
        Control characters that are escaped.
    vj : (bool, bool) or None
        Of the header compressor, if there is one: slot numbers are left out, special cases are used.

    Reference: RFC 1662, RFC 1144.

    Returns
    -------
    certain, escaped : int64 array
        One for each packet, in bytes.
    """
    return _core.framed_sizes(packets, address, short_protocol, flags, accm, vj)


def walk_anchors(
    packets: tuple[Array, Array, Array], anchors: tuple[Array, Array, Array], begin: int, rate: float
) -> tuple[Array, Array, int, int]:
    """Add up sizes from anchor to anchor.

    Parameters
    ----------
    packets : tuple of int64 arrays
        Sizes, bytes that may be escaped, pauses in front of packets that may have an opening flag (else 0).
    anchors : tuple of int64 arrays
        Offsets that end a packet, in order; how many packets at least and at most had entered by then.
    begin : int
        Offset of the first packet.
    rate : float
        Share of the bytes that were not captured that are escaped.

    Returns
    -------
    tuple
        Boundaries (one more than packets), by how much each may be off, anchors met, anchors missed.
    """
    return _core.walk_anchors(packets, anchors, begin, rate)
