//! UDP datagrams of a capture, for what is carried in them.

use std::io::{Cursor, Read};
use std::path::Path;

use super::record::{Reader, be16};
use super::source::Source;
use super::tunnel;
use super::{ReadError, Work, icmp, ip, with_reader};
use crate::issue::Issues;

const UDP: u8 = 17;
const UDP_HEADER: usize = 8;

/// One datagram.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    /// Packet number, from 1.
    pub record: u64,
    /// Time stamp, nanoseconds since the epoch.
    pub t_ns: i64,
    /// UDP ports.
    pub ports: (u16, u16),
    /// What was captured of the payload.
    pub payload: &'a [u8],
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

/// Hand every UDP datagram of a capture file to `each`.
///
/// # Errors
/// See [`ReadError`].
pub fn datagrams(
    path: &Path,
    issues: &mut Issues,
    each: impl FnMut(Datagram<'_>),
) -> Result<Counts, ReadError> {
    with_reader(Source::open(path, None)?, Walk { issues, each, most: u64::MAX })
}

/// As [`datagrams`], of at most `most` packets from any bytes.
///
/// # Errors
/// See [`ReadError`].
pub fn datagrams_from(
    reader: impl Read + Send,
    issues: &mut Issues,
    most: u64,
    each: impl FnMut(Datagram<'_>),
) -> Result<Counts, ReadError> {
    with_reader(Source::new(reader, None)?, Walk { issues, each, most })
}

/// As [`datagrams_from`], of the first bytes of a file.
///
/// # Errors
/// See [`ReadError`].
pub fn datagrams_in_head(
    head: &[u8],
    most: u64,
    each: impl FnMut(Datagram<'_>),
) -> Result<Counts, ReadError> {
    datagrams_from(Cursor::new(head.to_vec()), &mut Issues::default(), most, each)
}

struct Walk<'a, F> {
    issues: &'a mut Issues,
    each: F,
    most: u64,
}

impl<F: FnMut(Datagram<'_>)> Work for Walk<'_, F> {
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
            if packet.protocol != UDP || packet.fragment.is_some() || packet.payload.len() < UDP_HEADER {
                continue;
            }
            counts.udp += 1;
            let header = packet.payload;
            let end = usize::from(be16(header, 4)).clamp(UDP_HEADER, header.len());
            (self.each)(Datagram {
                record: record.number,
                t_ns: record.t_ns,
                ports: (be16(header, 0), be16(header, 2)),
                payload: &header[UDP_HEADER..end],
            });
        }
        if let Some(damage) = reader.damage() {
            self.issues.add(damage.code, damage.record, || damage.detail.clone());
        }
        let facts = reader.facts();
        for (code, seen) in facts.issues.iter() {
            self.issues.add_many(code, seen.count, seen.first_record, || seen.detail.clone());
        }
        counts.resolution_ns = i64::from(facts.resolution_ns);
        Ok(counts)
    }
}
