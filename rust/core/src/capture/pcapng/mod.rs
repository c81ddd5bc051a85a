//! The pcapng file format: sections, interfaces, packets of three kinds; other blocks are counted and skipped.
//!
//! Reference: draft-ietf-opsawg-pcapng.

mod blocks;
mod described;
mod interface;
mod options;
mod packets;
mod usual;

pub(crate) use blocks::{Blocks, sniff};
