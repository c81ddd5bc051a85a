//! UDP datagrams of a capture, for what is carried in them.

use std::io::{Cursor, Read};
use std::path::Path;

use super::ReadError;
use super::record::be16;
pub use super::transport::Counts;
use super::transport::{Transport, transports, transports_from};
use crate::issue::Issues;

pub(crate) const UDP: u8 = 17;
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

/// Hand every UDP datagram of a capture file to `each`.
///
/// # Errors
/// See [`ReadError`].
pub fn datagrams(
    path: &Path,
    issues: &mut Issues,
    each: impl FnMut(Datagram<'_>),
) -> Result<Counts, ReadError> {
    transports(path, issues, of_datagrams(each))
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
    transports_from(reader, issues, most, of_datagrams(each))
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

fn of_datagrams(mut each: impl FnMut(Datagram<'_>)) -> impl FnMut(Transport<'_>) {
    move |packet| {
        if packet.protocol != UDP || packet.data.len() < UDP_HEADER {
            return;
        }
        let header = packet.data;
        let end = usize::from(be16(header, 4)).clamp(UDP_HEADER, header.len());
        each(Datagram {
            record: packet.record,
            t_ns: packet.t_ns,
            ports: (be16(header, 0), be16(header, 2)),
            payload: &header[UDP_HEADER..end],
        });
    }
}
