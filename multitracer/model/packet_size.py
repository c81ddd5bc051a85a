"""Sizes by the standards: of most networks' IP packets, of their headers, and of windows."""

from __future__ import annotations

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
