//! Packet captures to segments.
//!
//! One file per layer: `source` (window over the bytes), `pcap` and `pcapng` (file formats), `link`, `wifi`,
//! `layers` (what is between a link and IP), `ip`, `inner` (tunnels in IP), `fragment`, `tcp`, `checksum`,
//! `icmp`, `copies` (the same packet twice). [`read`] streams a capture of any size through a fixed buffer and hands every TCP
//! segment to a [`Sink`]; every other record is counted by [`Kind`].

use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;

mod ahead;
mod batch;
mod checksum;
mod copies;
pub mod datagram;
mod decode;
mod error;
mod few;
mod follow;
mod fragment;
pub mod frames;
mod icmp;
mod info;
mod inner;
mod ip;
mod kinds;
mod layers;
mod link;
mod mptcp;
mod packets;
mod parts;
mod pcap;
mod pcapng;
mod rawpackets;
mod record;
pub mod records;
mod source;
mod tcp;
#[cfg(test)]
mod tests;
pub mod transport;
mod tunnel;
mod unchecked;
mod wifi;
mod wifiparts;
mod without;

pub use crate::input::Progress;
pub use batch::Batch;
pub use error::ReadError;
pub use few::Few;
pub use follow::{Gauge, follow};
pub use icmp::IcmpError;
pub use info::{CaptureInfo, Comment, Interface};
pub use kinds::{Kind, KindCounts};
pub use link::name as link_type_name;
pub use packets::{IpPackets, MOST_BYTES, ip_packets, ip_packets_in};
pub use parts::{continuation, packet_of_parts, read_parts};
pub use rawpackets::RawPackets;
pub use without::Without;

use crate::input::decompressed_head;
use crate::issue::Issues;
use crate::segment::Segment;
use decode::{Decoder, Totals};
use pcapng::Blocks;
use record::Reader;
use source::Source;

/// Bytes of files that take longer to track than threads to begin.
const MUCH: u64 = 8 << 20;
/// Bytes that tell the format.
const SNIFFED: usize = 12;

/// Takes the TCP segments of a capture, in the order of the file.
pub trait Sink {
    /// Take one segment; the reference is only valid during the call.
    fn segment(&mut self, segment: &Segment);

    /// Take several, in their order.
    #[inline]
    fn segments(&mut self, segments: &[Segment]) {
        segments.iter().for_each(|segment| self.segment(segment));
    }

    /// Take an ICMP error that quotes a segment.
    fn icmp_error(&mut self, _error: &IcmpError) {}

    /// Take what is in a batch, in its order, or swap it for an empty one.
    #[inline]
    fn batch(&mut self, batch: &mut Batch) {
        batch.deliver(self);
    }

    /// Segments that are decoded before they are handed on: few, so that they stay close at hand.
    fn batch_size(&self) -> usize {
        64
    }

    /// Whether a record, by its number, is to be decoded at all.
    #[inline(always)]
    fn wants(&self, _record: u64) -> bool {
        true
    }
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
    format(&decompressed_head(head, SNIFFED)).is_some()
}

/// The name of the capture format that a content begins like.
pub fn format(content: &[u8]) -> Option<&'static str> {
    if pcap::sniff(content) {
        Some("pcap")
    } else if pcapng::sniff(content) {
        Some("pcapng")
    } else {
        None
    }
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
    thread::scope(|scope| decode_all(Source::open_ahead(scope, path, progress)?, sink, issues))
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

/// Whether files are large enough for several threads to track what is in them.
pub fn is_much(paths: &[PathBuf]) -> bool {
    let sizes = paths.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|file| file.len());
    sizes.sum::<u64>() >= MUCH
}

/// The bytes of one record, by its number from 1; `None` if the capture has fewer records.
///
/// # Errors
/// See [`ReadError`].
pub fn packet(path: &Path, record_number: u64) -> Result<Option<RawPacket>, ReadError> {
    with_reader(Source::open(path, None)?, Find(record_number))
}

/// What is done with a reader, whichever format it is of: the loop is compiled for each.
trait Work {
    type Output;
    fn run(self, reader: impl Reader) -> Result<Self::Output, ReadError>;
}

fn with_reader<W: Work>(mut source: Source<'_>, work: W) -> Result<W::Output, ReadError> {
    source.ensure(SNIFFED)?;
    if pcapng::sniff(source.bytes()) {
        work.run(Blocks::new(source)?)
    } else {
        work.run(pcap::Records::new(source)?)
    }
}

/// Finds one record.
struct Find(u64);

impl Work for Find {
    type Output = Option<RawPacket>;

    fn run(self, mut reader: impl Reader) -> Result<Self::Output, ReadError> {
        while let Some(record) = reader.next_record()? {
            if record.number == self.0 {
                return Ok(Some(RawPacket {
                    t_ns: record.t_ns,
                    orig_len: record.original_length,
                    data: record.data.to_vec(),
                    link_type: record.link_type,
                }));
            }
        }
        Ok(None)
    }
}

/// Decodes all records.
struct Decode<'a, S: Sink + ?Sized> {
    sink: &'a mut S,
    issues: &'a mut Issues,
}

impl<S: Sink + ?Sized> Work for Decode<'_, S> {
    type Output = CaptureInfo;

    fn run(self, mut reader: impl Reader) -> Result<Self::Output, ReadError> {
        let mut decoder = Decoder::new(self.sink);
        reader.each(&mut decoder)?;
        Ok(concluded(&decoder.finish(), &mut reader, self.issues))
    }
}

/// What there is to say once all records were decoded.
fn concluded(totals: &Totals, reader: &mut impl Reader, issues: &mut Issues) -> CaptureInfo {
    totals.report(issues);
    CaptureInfo::new(reader.close(issues), totals)
}

fn decode_all<S: Sink + ?Sized>(
    source: Source<'_>,
    sink: &mut S,
    issues: &mut Issues,
) -> Result<CaptureInfo, ReadError> {
    with_reader(source, Decode { sink, issues })
}
