"""The size of an IP packet of most networks, and of what is in it beside data."""

from __future__ import annotations

PACKET_BYTES = 1500
"""The largest IP packet of most networks (the MTU of Ethernet)."""

TIMESTAMPS_BYTES = 12
"""The option of timestamps, with what fills it up (RFC 7323, appendix A)."""

HEADERS_BYTES = 40 + TIMESTAMPS_BYTES
"""The headers of IPv4 and of TCP with timestamps."""

LEAST_HEADERS_BYTES = HEADERS_BYTES - TIMESTAMPS_BYTES
"""The same without timestamps."""

FULL_BYTES = PACKET_BYTES - LEAST_HEADERS_BYTES
"""The payload of the largest packet of most networks."""
