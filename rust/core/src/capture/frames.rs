//! Records of a capture with the datagram in them, for framings that are found both as a link type and in UDP.

use std::io::{Cursor, Read};
use std::path::Path;

use super::datagram::Datagram;
use super::record::{Reader, be16};
use super::source::Source;
use super::transport::Counts;
use super::tunnel;
use super::{ReadError, Work, icmp, ip, with_reader};
use crate::issue::Issues;

const UDP_HEADER: usize = 8;

/// One record.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Packet number, from 1.
    pub record: u64,
    /// Time stamp, nanoseconds since the epoch.
    pub t_ns: i64,
    /// LINKTYPE_ number.
    pub link_type: u16,
    /// Which interface of the file it was captured on.
    pub interface: u32,
    /// Bytes of it were not captured.
    pub cut: bool,
    /// What was captured.
    pub data: &'a [u8],
    /// The datagram in it, where the link type carries IP.
    pub datagram: Option<Datagram<'a>>,
}

/// Hand every record of a capture file to `each`.
///
/// # Errors
/// See [`ReadError`].
pub fn frames(
    path: &Path,
    issues: &mut Issues,
    each: impl FnMut(Frame<'_>),
) -> Result<(Counts, Vec<String>), ReadError> {
    with_reader(Source::open(path, None)?, Walk { issues, each, most: u64::MAX })
}

/// As [`frames`], from any bytes, at most `most` records.
///
/// # Errors
/// See [`ReadError`].
pub fn frames_from(
    reader: impl Read + Send,
    issues: &mut Issues,
    most: u64,
    each: impl FnMut(Frame<'_>),
) -> Result<(Counts, Vec<String>), ReadError> {
    with_reader(Source::new(reader, None)?, Walk { issues, each, most })
}

/// As [`frames_from`], of the first bytes of a file.
///
/// # Errors
/// See [`ReadError`].
pub fn frames_in_head(head: &[u8], most: u64, each: impl FnMut(Frame<'_>)) -> Result<Counts, ReadError> {
    let mut issues = Issues::default();
    frames_from(Cursor::new(head.to_vec()), &mut issues, most, each).map(|(counts, _)| counts)
}

struct Walk<'a, F> {
    issues: &'a mut Issues,
    each: F,
    most: u64,
}

impl<F: FnMut(Frame<'_>)> Work for Walk<'_, F> {
    type Output = (Counts, Vec<String>);

    fn run(mut self, mut reader: impl Reader) -> Result<Self::Output, ReadError> {
        let mut counts = Counts::default();
        let mut segment = icmp::blank();
        while counts.records < self.most {
            let Some(record) = reader.next_record()? else { break };
            counts.records += 1;
            let mut frame = Frame {
                record: record.number,
                t_ns: record.t_ns,
                link_type: record.link_type,
                interface: record.interface,
                cut: record.data.len() < record.wire_length as usize,
                data: record.data,
                datagram: None,
            };
            let start = record.link.network(record.data, record.wire_length, &mut tunnel::Path::default());
            if let Ok(at) = start {
                let wire = record.wire_length.saturating_sub(at as u32);
                let data = record.data.get(at..).unwrap_or_default();
                if let Ok(packet) = ip::parse(data, wire, &mut segment).and_then(ip::Packet::transport) {
                    counts.tcp += u64::from(packet.protocol == ip::TCP);
                    counts.udp += u64::from(packet.protocol == super::datagram::UDP);
                    let header = packet.payload;
                    if packet.protocol == super::datagram::UDP
                        && packet.fragment.is_none()
                        && header.len() >= UDP_HEADER
                    {
                        let end = usize::from(be16(header, 4)).clamp(UDP_HEADER, header.len());
                        frame.datagram = Some(Datagram {
                            record: record.number,
                            t_ns: record.t_ns,
                            ports: (be16(header, 0), be16(header, 2)),
                            payload: &header[UDP_HEADER..end],
                        });
                    }
                }
            }
            (self.each)(frame);
        }
        let facts = reader.close(self.issues);
        counts.resolution_ns = i64::from(facts.resolution_ns);
        let names = facts.interfaces.iter().map(|one| one.name.clone()).collect();
        Ok((counts, names))
    }
}
