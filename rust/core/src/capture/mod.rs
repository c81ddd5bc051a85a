//! Packet captures to segments.
//!
//! One file per layer: `source` (file, decompression), `pcap` (file format), `link`, `ip`, `fragment`,
//! `tcp`, `checksum`. [`read`] streams a capture of any size through a fixed buffer and hands every TCP
//! segment to a [`Sink`]; every other record is counted by [`Kind`].

use std::io::Read;
use std::path::Path;

mod checksum;
mod decode;
mod error;
mod fragment;
mod info;
mod ip;
mod kinds;
mod link;
mod pcap;
mod record;
mod source;
mod tcp;
#[cfg(test)]
mod tests;

pub use error::ReadError;
pub use info::CaptureInfo;
pub use kinds::{Kind, KindCounts};
pub use link::name as link_type_name;
pub use crate::input::Progress;

use crate::input::decompressed_head;
use crate::issue::Issues;
use crate::segment::Segment;
use decode::Decoder;
use pcap::Records;
use source::Source;

/// Takes the TCP segments of a capture, in the order of the file.
pub trait Sink {
    /// Take one segment; the reference is only valid during the call.
    fn segment(&mut self, segment: &Segment);
}

/// One record of a capture, as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawPacket {
    /// Time stamp, nanoseconds since the epoch.
    pub t_ns: i64,
    /// Bytes of the packet when it was captured.
    pub orig_len: u32,
    /// The bytes that were kept, link header included.
    pub data: Vec<u8>,
    /// LINKTYPE_ number.
    pub link_type: u16,
}

/// Whether a file is a capture that [`read`] takes, by its first bytes (a few hundred suffice, compressed
/// or not).
pub fn sniff(head: &[u8]) -> bool {
    pcap::sniff(&decompressed_head(head, 4))
}

/// Read a capture file.
///
/// # Errors
/// See [`ReadError`]; damage behind the file header is reported in `issues` instead.
pub fn read<S: Sink + ?Sized>(
    path: &Path,
    sink: &mut S,
    issues: &mut Issues,
) -> Result<CaptureInfo, ReadError> {
    read_with(path, sink, issues, None)
}

/// As [`read`], watched and stopped by another thread.
///
/// # Errors
/// See [`ReadError`].
pub fn read_with<S: Sink + ?Sized>(
    path: &Path,
    sink: &mut S,
    issues: &mut Issues,
    progress: Option<&Progress>,
) -> Result<CaptureInfo, ReadError> {
    decode_all(Source::open(path, progress)?, sink, issues)
}

/// As [`read_with`], from any bytes: standard input, a test.
///
/// # Errors
/// See [`ReadError`].
pub fn read_from<S: Sink + ?Sized>(
    reader: impl Read + Send,
    sink: &mut S,
    issues: &mut Issues,
    progress: Option<&Progress>,
) -> Result<CaptureInfo, ReadError> {
    decode_all(Source::new(reader, progress)?, sink, issues)
}

/// The bytes of one record, by its number from 1; `None` if the capture has fewer records.
///
/// # Errors
/// See [`ReadError`].
pub fn packet(path: &Path, record_number: u64) -> Result<Option<RawPacket>, ReadError> {
    let mut records = Records::new(Source::open(path, None)?)?;
    let link_type = records.header().link_type;
    while let Some(record) = records.next_record()? {
        if record.number == record_number {
            return Ok(Some(RawPacket {
                t_ns: record.t_ns,
                orig_len: record.original_length,
                data: record.data.to_vec(),
                link_type,
            }));
        }
    }
    Ok(None)
}

fn decode_all<S: Sink + ?Sized>(
    source: Source<'_>,
    sink: &mut S,
    issues: &mut Issues,
) -> Result<CaptureInfo, ReadError> {
    let mut records = Records::new(source)?;
    let mut decoder = Decoder::new(sink);
    while let Some(record) = records.next_record()? {
        decoder.record(&record);
    }
    let totals = decoder.finish();
    let info = CaptureInfo::new(records.header(), records.compressed(), &totals);
    totals.report(&format!("{} ({})", info.link_type, info.link_type_name), issues);
    if let Some(damage) = records.damage() {
        issues.add(damage.code, damage.record, || damage.detail.clone());
    }
    Ok(info)
}
