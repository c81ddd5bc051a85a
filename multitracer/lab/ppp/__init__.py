"""PPP as the lab speaks it over a byte stream: framing (RFC 1662), header compression (RFC 1144)."""
