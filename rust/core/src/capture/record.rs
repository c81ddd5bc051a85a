//! What every capture format delivers, and what ends a delivery early.

use super::ReadError;
use super::info::Facts;
use super::kinds::Kind;
use super::link::LinkType;
use super::source::{End, Source};
use crate::issue::Issues;

/// Delivers the records of a capture file.
pub(crate) trait Reader {
    /// The next record, or `None` at the end or at the first damage.
    fn next_record(&mut self) -> Result<Option<Record<'_>>, ReadError>;

    /// All records that are left, up to the end or the first damage.
    fn each(&mut self, taker: &mut impl Take) -> Result<(), ReadError>
    where
        Self: Sized;

    /// Why reading stopped, if not at the end of the file.
    fn damage(&self) -> Option<&Damage>;

    /// What is known of the file, once it was read.
    fn facts(&mut self) -> Facts;

    /// Put what is wrong with the file among the issues, and tell what is known of it, once it was read.
    fn close(&mut self, issues: &mut Issues) -> Facts {
        if let Some(damage) = self.damage() {
            issues.add(damage.code, damage.record, || damage.detail.clone());
        }
        let facts = self.facts();
        issues.take_in(&facts.issues);
        facts
    }
}

/// Takes the records of a capture, one after the other.
pub(crate) trait Take {
    /// Take a record: becomes part of the loop over usual records, so that none is built in memory to be handed over.
    fn take(&mut self, record: &Record<'_>);

    /// The same, to be called where records are rare.
    #[inline(never)]
    fn take_rare(&mut self, record: &Record<'_>) {
        self.take(record);
    }
}

impl<F: FnMut(&Record<'_>)> Take for F {
    #[inline(always)]
    fn take(&mut self, record: &Record<'_>) {
        self(record);
    }
}

/// One record of a capture, in the reader's buffer.
#[derive(Clone, Copy)]
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
    /// LINKTYPE_ number that `link` decodes.
    pub(crate) link_type: u16,
    /// Which interface of the file it was captured on.
    pub(crate) interface: u32,
    pub(crate) data: &'a [u8],
}

/// Damage of the file at which reading stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) code: &'static str,
    pub(crate) record: u64,
    pub(crate) detail: String,
}

impl Damage {
    /// What the end of a source means in the middle of a record; `None` if it is none.
    pub(crate) fn at_end(source: &Source<'_>, record: u64, inside: &str) -> Option<Self> {
        let left = source.bytes().len();
        let (code, detail) = match source.end() {
            Some(End::Damaged(why)) => ("bad-record", format!("compressed data: {why}")),
            Some(End::OverLimit(why)) => ("decompression-limit", why.clone()),
            Some(End::Truncated) => {
                ("truncated-file", format!("the compressed data ends inside record {record}"))
            }
            _ if left > 0 => {
                ("truncated-file", format!("{left} bytes are left for the {inside} of packet {record}"))
            }
            _ => return None,
        };
        Some(Damage { code, record, detail })
    }
}

/// Byte order of a file or section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// This machine's.
    pub(crate) const NATIVE: ByteOrder =
        if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

    #[inline(always)]
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let b = array(bytes, at);
        if self == ByteOrder::Big { u16::from_be_bytes(b) } else { u16::from_le_bytes(b) }
    }

    #[inline(always)]
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let b = array(bytes, at);
        if self == ByteOrder::Big { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) }
    }

    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32(bytes, at)), u64::from(self.u32(bytes, at + 4)));
        if self == ByteOrder::Big { first << 32 | second } else { second << 32 | first }
    }
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
    u16::from_be_bytes(array(data, at))
}

#[inline(always)]
pub(crate) fn be32(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(data, at))
}

/// One check for all bytes, where an index for each would have one for each.
#[inline(always)]
fn array<const N: usize>(data: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&data[at..at + N]);
    bytes
}
