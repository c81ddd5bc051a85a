"""The size of an IP packet of most networks, and of what is in it beside data."""

from __future__ import annotations

PACKET_BYTES = 1500
"""The largest IP packet of most networks (the MTU of Ethernet)."""

HEADERS_BYTES = 52
"""The headers of IPv4 and of TCP with timestamps."""
