//! ICMP errors: what they quote of the packet that caused them.
//!
//! Reference: RFC 792, RFC 4443, RFC 1191 (MTU), RFC 5927.

use super::ip;
use super::record::{be16, be32};
use crate::segment::{Address, Checksum, Options, Segment};

/// An ICMP error that quotes a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IcmpError {
    /// Time stamp of its record, nanoseconds since the epoch.
    pub t_ns: i64,
    /// Number of its record.
    pub record: u64,
    /// Whether it is ICMPv6.
    pub v6: bool,
    /// ICMP type.
    pub icmp_type: u8,
    /// ICMP code.
    pub code: u8,
    /// MTU of the next hop, where the error is about size; 0 if it does not say.
    pub mtu: u32,
    /// Who reports it.
    pub reporter: Address,
    /// Source of the quoted segment.
    pub source: (Address, u16),
    /// Its destination.
    pub destination: (Address, u16),
    /// Its sequence number; routers quote at least as much of TCP.
    pub seq: u32,
}

/// Decode the ICMP message in `data`; `outer` is the packet around it.
pub(crate) fn error(v6: bool, data: &[u8], outer: &Segment) -> Option<IcmpError> {
    let (header, quoted) = data.split_at_checked(8)?;
    let (icmp_type, code) = (header[0], header[1]);
    let mtu = match (v6, icmp_type, code) {
        (false, 3, 4) => u32::from(be16(header, 6)),
        (true, 2, _) => be32(header, 4),
        (false, 3..=5 | 11 | 12, _) | (true, 1 | 3 | 4, _) => 0,
        _ => return None,
    };
    let mut inner = blank();
    // The quoted packet was longer than what is quoted of it: its own length field counts.
    let packet = ip::parse(quoted, u32::MAX, &mut inner).ok()?.transport().ok()?;
    if packet.protocol != ip::TCP || packet.fragment.is_some_and(|fragment| fragment.offset > 0) {
        return None;
    }
    let tcp = packet.payload.first_chunk::<8>()?;
    Some(IcmpError {
        t_ns: outer.t_ns,
        record: outer.record,
        v6,
        icmp_type,
        code,
        mtu,
        reporter: outer.source.0,
        source: (inner.source.0, be16(tcp, 0)),
        destination: (inner.destination.0, be16(tcp, 2)),
        seq: be32(tcp, 4),
    })
}

/// A segment of which nothing is known yet.
pub(crate) fn blank() -> Segment {
    let nowhere = (Address([0; 16]), 0);
    Segment {
        t_ns: 0,
        record: 0,
        source: nowhere,
        destination: nowhere,
        seq: 0,
        ack: 0,
        flags: 0,
        window: 0,
        length: 0,
        ip_length: 0,
        ip_id: 0,
        ttl: 0,
        ecn: 0,
        checksum: Checksum::Unverified,
        options: Options::default(),
    }
}
