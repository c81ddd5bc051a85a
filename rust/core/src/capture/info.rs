use std::collections::BTreeMap;

use super::decode::Totals;
use super::link;
use crate::issue::Issues;

/// An interface that packets were captured on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// LINKTYPE_ number.
    pub link_type: u16,
    /// Its name without the prefix, e.g. "ETHERNET".
    pub link_type_name: &'static str,
    /// Snap length, bytes; 0 means no limit.
    pub snaplen: u32,
    /// Resolution of its time stamps, at least 1.
    pub resolution_ns: u32,
    /// What the host calls it; empty if the file does not say.
    pub name: String,
    /// In more words.
    pub description: String,
    /// Records from it.
    pub packets: u64,
}

/// A comment that somebody left in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The record that it is on; 0 if it is on the file or an interface.
    pub record: u64,
    /// Its words, perhaps cut.
    pub text: String,
}

/// What the file itself says, apart from its packets.
pub(crate) struct Facts {
    pub(crate) format: &'static str,
    pub(crate) link_type: u16,
    pub(crate) snaplen: u32,
    pub(crate) resolution_ns: u32,
    pub(crate) swapped: bool,
    pub(crate) compressed: Option<&'static str>,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) interface_count: u64,
    pub(crate) blocks: BTreeMap<String, u64>,
    pub(crate) application: String,
    pub(crate) comments: Vec<Comment>,
    pub(crate) comment_count: u64,
    pub(crate) issues: Issues,
}

/// What is known of a capture once it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureInfo {
    /// File format: "pcap" or "pcapng".
    pub format: &'static str,
    /// LINKTYPE_ number; of the first interface with packets, if there are several.
    pub link_type: u16,
    /// Its name without the prefix, e.g. "ETHERNET".
    pub link_type_name: &'static str,
    /// Snap length, bytes.
    pub snaplen: u32,
    /// Complete records.
    pub records: u64,
    /// Segments handed to the sink: records of kind "tcp", and segments put together from IP fragments.
    pub tcp_segments: u64,
    /// Earliest time stamp, nanoseconds since the epoch.
    pub first_ns: Option<i64>,
    /// Latest time stamp.
    pub last_ns: Option<i64>,
    /// Resolution of the time stamps; the coarsest of all interfaces.
    pub resolution_ns: u32,
    /// Sum of the packets' original lengths.
    pub bytes: u64,
    /// Sum of the bytes that were kept of them.
    pub captured_bytes: u64,
    /// Records by [`Kind`](super::Kind) name; they add up to `records`.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Records in a tunnel or with a tag, by its name; a record in two counts in both.
    pub tunnels: BTreeMap<&'static str, u64>,
    /// TCP segments whose checksum was left to the network card: a capture on the sending host.
    pub offloaded_checksums: u64,
    /// Compression of the file, if any: "gzip", "zstd", "xz", "bzip2", "lz4".
    pub compressed: Option<&'static str>,
    /// Whether time stamps are in nanoseconds.
    pub nanosecond: bool,
    /// Whether the (first section of the) file's byte order is not this machine's.
    pub swapped: bool,
    /// The first interfaces.
    pub interfaces: Vec<Interface>,
    /// How many interfaces there are.
    pub interface_count: u64,
    /// pcapng: blocks by their name.
    pub blocks: BTreeMap<String, u64>,
    /// pcapng: the program that wrote the file; empty if unknown.
    pub application: String,
    /// pcapng: the first comments.
    pub comments: Vec<Comment>,
    /// How many comments there are.
    pub comment_count: u64,
}

impl CaptureInfo {
    pub(crate) fn new(facts: Facts, totals: &Totals) -> Self {
        CaptureInfo {
            format: facts.format,
            link_type: facts.link_type,
            link_type_name: link::name(facts.link_type),
            snaplen: facts.snaplen,
            records: totals.records,
            tcp_segments: totals.tcp_segments,
            first_ns: totals.span().map(|(first, _)| first),
            last_ns: totals.span().map(|(_, last)| last),
            resolution_ns: facts.resolution_ns,
            bytes: totals.bytes,
            captured_bytes: totals.captured_bytes,
            kinds: totals.kinds.to_map(),
            tunnels: totals.tunnels.to_map(),
            offloaded_checksums: totals.offloaded_checksums,
            compressed: facts.compressed,
            nanosecond: facts.resolution_ns == 1,
            swapped: facts.swapped,
            interfaces: facts.interfaces,
            interface_count: facts.interface_count,
            blocks: facts.blocks,
            application: facts.application,
            comments: facts.comments,
            comment_count: facts.comment_count,
        }
    }
}
