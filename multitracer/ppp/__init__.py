"""PPP as it runs over a byte stream: framing (RFC 1662) and header compression (RFC 1144)."""
