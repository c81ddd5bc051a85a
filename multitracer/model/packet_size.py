"""Sizes by the standards: of most networks' IP packets, of their headers, and of windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PACKET_BYTES = 1500
"""The largest IP packet of most networks (the MTU of Ethernet)."""

TIMESTAMPS_BYTES = 12
"""The option of timestamps, with what fills it up (RFC 7323, appendix A)."""

HEADERS_BYTES = 40 + TIMESTAMPS_BYTES
"""The headers of IPv4 and of TCP with timestamps."""

LARGEST_UNSCALED = 65_535
"""The largest window without scaling (RFC 7323 section 2.2)."""

INITIAL_SEGMENTS = 10
"""The initial congestion window, in segments (RFC 6928)."""

LEAST_HEADERS_BYTES = HEADERS_BYTES - TIMESTAMPS_BYTES
"""The same without timestamps."""

FULL_BYTES = PACKET_BYTES - LEAST_HEADERS_BYTES
"""The payload of the largest packet of most networks."""


def agreed_mss(*sides: Mapping[str, Any]) -> int | None:
    """The smaller MSS of both SYNs, or that of the one captured: neither end sends more in a segment.

    Parameters
    ----------
    *sides : mapping
        The tracker's summary of each direction of a connection.

    References
    ----------
    RFC 9293 section 3.7.1.
    """
    return min((int(side["mss"]) for side in sides if side["mss"]), default=None)
