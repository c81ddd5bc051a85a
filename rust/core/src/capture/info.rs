use std::collections::BTreeMap;

use super::decode::Totals;
use super::link;
use super::pcap::FileHeader;

/// What is known of a capture once it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureInfo {
    /// File format: "pcap".
    pub format: &'static str,
    /// LINKTYPE_ number.
    pub link_type: u16,
    /// Its name without the prefix, e.g. "ETHERNET".
    pub link_type_name: &'static str,
    /// Snap length of the file header, bytes.
    pub snaplen: u32,
    /// Complete records.
    pub records: u64,
    /// Segments handed to the sink: records of kind "tcp", and segments put together from IP fragments.
    pub tcp_segments: u64,
    /// Earliest time stamp, nanoseconds since the epoch.
    pub first_ns: Option<i64>,
    /// Latest time stamp.
    pub last_ns: Option<i64>,
    /// Resolution of the time stamps.
    pub resolution_ns: u32,
    /// Sum of the packets' original lengths.
    pub bytes: u64,
    /// Sum of the bytes that were kept of them.
    pub captured_bytes: u64,
    /// Records by [`Kind`](super::Kind) name; they add up to `records`.
    pub kinds: BTreeMap<&'static str, u64>,
    /// TCP segments whose checksum was left to the network card: a capture on the sending host.
    pub offloaded_checksums: u64,
    /// Compression of the file, if any: "gzip".
    pub compressed: Option<&'static str>,
    /// Whether time stamps are in nanoseconds.
    pub nanosecond: bool,
    /// Whether the file's byte order is not this machine's.
    pub swapped: bool,
}

impl CaptureInfo {
    pub(crate) fn new(header: &FileHeader, compressed: Option<&'static str>, totals: &Totals) -> Self {
        CaptureInfo {
            format: "pcap",
            link_type: header.link_type,
            link_type_name: link::name(header.link_type),
            snaplen: header.snaplen,
            records: totals.records,
            tcp_segments: totals.tcp_segments,
            first_ns: totals.span.map(|(first, _)| first),
            last_ns: totals.span.map(|(_, last)| last),
            resolution_ns: if header.nanosecond { 1 } else { 1_000 },
            bytes: totals.bytes,
            captured_bytes: totals.captured_bytes,
            kinds: totals.kinds.to_map(),
            offloaded_checksums: totals.offloaded_checksums,
            compressed,
            nanosecond: header.nanosecond,
            swapped: header.big_endian != cfg!(target_endian = "big"),
        }
    }
}
