//! The IP packets of a capture as bytes, for what depends on every byte of them.
//!
//! Tables keep what analyses need. How many bytes a packet takes on a link that escapes bytes and compresses headers
//! (RFC 1662, RFC 1144) depends on its content.

use std::io::{Cursor, Read};
use std::path::PathBuf;

use super::record::Reader;
use super::source::Source;
use super::tunnel;
use super::{ReadError, Work, icmp, ip, parts, with_reader};

/// Records of a capture at most: a link that needs a map of bytes is slow.
pub const MOST_RECORDS: u64 = 200_000;
/// Bytes of packets at most.
pub const MOST_BYTES: usize = 256 << 20;

/// The outermost IP packets of a capture, behind link headers, tags and labels.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct IpPackets {
    /// For each packet: number of its record, from 1, over all files; and its length on the wire.
    pub rows: Vec<(u64, u32)>,
    /// For each packet, where its bytes end in `bytes`: those of one begin where those before it end.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl IpPackets {
    /// Record, length on the wire and captured bytes of each.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u32, &[u8])> {
        let begins = std::iter::once(&0).chain(&self.ends);
        let spans = begins.zip(&self.ends);
        self.rows
            .iter()
            .zip(spans)
            .map(|(&(record, length), (&begin, &end))| (record, length, &self.bytes[begin..end]))
    }
}

/// The IP packets of the files of one capture; `None` if there are more than [`MOST_RECORDS`] records or
/// [`MOST_BYTES`] bytes.
///
/// # Errors
/// See [`ReadError`]; damage behind the file header ends a file, as it does for [`super::read`]. `InvalidInput` for a
/// pipe: it was read once to learn of the capture.
pub fn ip_packets(paths: &[PathBuf]) -> Result<Option<IpPackets>, ReadError> {
    let mut found = IpPackets::default();
    let mut before = 0;
    for path in paths {
        parts::readable_again(path)?;
        match with_reader(Source::open(path, None)?, Gather { found: &mut found, before })? {
            Some(last) => before = last,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// As [`ip_packets`], of the bytes of one file, compressed or not.
///
/// # Errors
/// See [`ReadError`].
pub fn ip_packets_in(content: &[u8]) -> Result<Option<IpPackets>, ReadError> {
    from_reader(Cursor::new(content))
}

fn from_reader(reader: impl Read + Send) -> Result<Option<IpPackets>, ReadError> {
    let mut found = IpPackets::default();
    let last = with_reader(Source::new(reader, None)?, Gather { found: &mut found, before: 0 })?;
    Ok(last.map(|_| found))
}

struct Gather<'a> {
    found: &'a mut IpPackets,
    before: u64,
}

impl Work for Gather<'_> {
    /// The number of the last record; `None` if there are too many.
    type Output = Option<u64>;

    fn run(self, mut reader: impl Reader) -> Result<Self::Output, ReadError> {
        let Gather { found, before } = self;
        let (mut segment, mut last) = (icmp::blank(), before);
        while let Some(record) = reader.next_record()? {
            last = before + record.number;
            if last > MOST_RECORDS {
                return Ok(None);
            }
            let wire = record.wire_length;
            let Ok(at) = record.link.network(record.data, wire, &mut tunnel::Path::default()) else {
                continue;
            };
            let data = record.data.get(at..).unwrap_or_default();
            let wire = wire.saturating_sub(u32::try_from(at).unwrap_or(u32::MAX));
            if ip::parse(data, wire, &mut segment).is_err() {
                continue;
            }
            // Link padding is no part of the packet.
            let data = &data[..data.len().min(segment.ip_length as usize)];
            if found.bytes.len() + data.len() > MOST_BYTES {
                return Ok(None);
            }
            found.bytes.extend_from_slice(data);
            found.ends.push(found.bytes.len());
            found.rows.push((last, segment.ip_length));
        }
        Ok(Some(last))
    }
}
