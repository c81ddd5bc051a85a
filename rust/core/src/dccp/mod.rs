//! DCCP (RFC 4340): packets of a capture to columns, with what CCID 2 and 3 tell in their options.

mod capture;
mod header;
mod options;
mod sequence;
#[cfg(test)]
mod tests;

pub use capture::{DccpCapture, Packets, read, read_from, sniff};
pub use header::{Header, TYPES};
pub use options::Options;
