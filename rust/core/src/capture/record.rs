//! What every capture format delivers, and what ends a delivery early.

use super::kinds::Kind;
use super::link::LinkType;

/// One record of a capture, in the reader's buffer.
pub(crate) struct Record<'a> {
    /// From 1, as Wireshark counts.
    pub(crate) number: u64,
    pub(crate) t_ns: i64,
    /// Whether the sub-second field held a second or more.
    pub(crate) fraction_overflow: bool,
    /// Bytes of the packet when it was captured.
    pub(crate) original_length: u32,
    /// The same without a frame check sequence.
    pub(crate) wire_length: u32,
    pub(crate) link: LinkType,
    pub(crate) data: &'a [u8],
}

/// Damage of the file at which reading stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) code: &'static str,
    pub(crate) record: u64,
    pub(crate) detail: String,
}

/// Why decoding of a packet ended before TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It is of another kind, or was cut by the snap length.
    Kind(Kind),
    /// Its headers contradict each other.
    Malformed(&'static str),
}

/// Whether `needed` bytes of a header are there: on the wire (else the packet is malformed) and in the capture.
#[inline(always)]
pub(crate) fn require(data: &[u8], wire: u32, needed: usize, what: &'static str) -> Result<(), Stop> {
    if data.len() >= needed && wire as usize >= needed {
        Ok(())
    } else if (wire as usize) < needed {
        Err(Stop::Malformed(what))
    } else {
        Err(Stop::Kind(Kind::HeaderCut))
    }
}

#[inline(always)]
pub(crate) fn be16(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

#[inline(always)]
pub(crate) fn be32(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}
