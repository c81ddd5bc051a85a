//! Packet captures to segments.
