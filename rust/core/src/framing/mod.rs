//! How many bytes packets take in a byte stream, and where in it they lie.
//!
//! [`sizes`]: framing, escapes and header compression; [`walk`]: sizes added up from one place where the stream
//! shows the end of a packet to the next.

pub mod sizes;
mod vj;
pub mod walk;
