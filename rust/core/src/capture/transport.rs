//! Whole IP packets of a capture, for transports other than TCP and for what is carried in UDP.

use std::io::Read;
use std::path::Path;

use super::record::Reader;
use super::source::Source;
use super::tunnel;
use super::{ReadError, Work, icmp, ip, with_reader};
use crate::issue::Issues;
use crate::segment::Address;

/// What an IP packet carries; fragments are left out.
#[derive(Debug, Clone, Copy)]
pub struct Transport<'a> {
    /// Packet number, from 1.
    pub record: u64,
    /// Time stamp, nanoseconds since the epoch.
    pub t_ns: i64,
    /// Source address.
    pub source: Address,
    /// Destination address.
    pub destination: Address,
    /// IP protocol number.
    pub protocol: u8,
    /// What was captured of the transport header and what follows it.
    pub data: &'a [u8],
    /// Bytes of it on the wire.
    pub wire_length: u32,
}

/// Packets of a capture, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub records: u64,
    /// TCP among them.
    pub tcp: u64,
    /// UDP among them.
    pub udp: u64,
    /// Step of the time stamps.
    pub resolution_ns: i64,
}

/// Hand every IP packet of a capture file to `each`.
///
/// # Errors
/// See [`ReadError`].
pub fn transports(
    path: &Path,
    issues: &mut Issues,
    each: impl FnMut(Transport<'_>),
) -> Result<Counts, ReadError> {
    with_reader(Source::open(path, None)?, Walk { issues, each, most: u64::MAX })
}

/// As [`transports`], of at most `most` packets from any bytes.
///
/// # Errors
/// See [`ReadError`].
pub fn transports_from(
    reader: impl Read + Send,
    issues: &mut Issues,
    most: u64,
    each: impl FnMut(Transport<'_>),
) -> Result<Counts, ReadError> {
    with_reader(Source::new(reader, None)?, Walk { issues, each, most })
}

struct Walk<'a, F> {
    issues: &'a mut Issues,
    each: F,
    most: u64,
}

impl<F: FnMut(Transport<'_>)> Work for Walk<'_, F> {
    type Output = Counts;

    fn run(mut self, mut reader: impl Reader) -> Result<Counts, ReadError> {
        let mut counts = Counts::default();
        let mut segment = icmp::blank();
        while counts.records < self.most {
            let Some(record) = reader.next_record()? else { break };
            counts.records += 1;
            let Ok(at) = record.link.network(record.data, record.wire_length, &mut tunnel::Path::default())
            else {
                continue;
            };
            let wire = record.wire_length.saturating_sub(at as u32);
            let data = record.data.get(at..).unwrap_or_default();
            let Ok(packet) = ip::parse(data, wire, &mut segment).and_then(ip::Packet::transport) else {
                continue;
            };
            counts.tcp += u64::from(packet.protocol == ip::TCP);
            counts.udp += u64::from(packet.protocol == super::datagram::UDP);
            if packet.fragment.is_some() {
                continue;
            }
            (self.each)(Transport {
                record: record.number,
                t_ns: record.t_ns,
                source: segment.source.0,
                destination: segment.destination.0,
                protocol: packet.protocol,
                data: packet.payload,
                wire_length: packet.payload_length,
            });
        }
        let facts = reader.close(self.issues);
        counts.resolution_ns = i64::from(facts.resolution_ns);
        Ok(counts)
    }
}
