//! Segments to connections.
