//! One TCP segment as it was seen at an observation point: the line between decoding and tracking.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};

/// TCP flag bits as in the header (RFC 9293 section 3.1; AE is RFC 9768's).
pub mod flags {
    #![allow(missing_docs)]
    pub const FIN: u16 = 0x001;
    pub const SYN: u16 = 0x002;
    pub const RST: u16 = 0x004;
    pub const PSH: u16 = 0x008;
    pub const ACK: u16 = 0x010;
    pub const URG: u16 = 0x020;
    pub const ECE: u16 = 0x040;
    pub const CWR: u16 = 0x080;
    pub const AE: u16 = 0x100;
}

/// An IP address in 16 bytes; IPv4 in mapped form (`::ffff:a.b.c.d`), so that one key serves both.
#[derive(Debug, Clone, Copy, Eq, PartialOrd, Ord)]
pub struct Address(pub [u8; 16]);

impl PartialEq for Address {
    /// By halves, as [`Address::v4`] writes them: a wider load would wait for both stores to be through.
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        let ([a, b], [c, d]) = (self.halves(), other.halves());
        (a ^ c) | (b ^ d) == 0
    }
}

impl Hash for Address {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.halves().into_iter().for_each(|half| state.write_u64(half));
    }
}

impl Address {
    /// From the four octets of an IPv4 header.
    #[inline(always)]
    pub fn v4(octets: [u8; 4]) -> Self {
        let mapped = 0xffff_0000 | u64::from(u32::from_le_bytes(octets)) << 32;
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&mapped.to_le_bytes());
        Address(bytes)
    }

    /// Both halves, as words of this machine.
    #[inline(always)]
    pub fn halves(&self) -> [u64; 2] {
        let (halves, _) = self.0.as_chunks::<8>();
        [u64::from_ne_bytes(halves[0]), u64::from_ne_bytes(halves[1])]
    }

    /// From the sixteen octets of an IPv6 header.
    pub fn v6(octets: [u8; 16]) -> Self {
        Address(octets)
    }

    /// Whether it is an IPv4 address.
    #[inline(always)]
    pub fn is_v4(&self) -> bool {
        self.0[..12] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
    }

    /// For printing: mapped addresses come out as IPv4.
    pub fn to_ip(self) -> IpAddr {
        Ipv6Addr::from(self.0).to_canonical()
    }
}

/// Whether the TCP checksum holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Checksum {
    /// Not verified: the segment was not captured whole.
    #[default]
    Unverified = 0,
    /// Right over the whole segment.
    Good = 1,
    /// Wrong over the whole segment (on the sending host: perhaps left to the network card).
    Bad = 2,
}

/// What Multipath TCP options say (RFC 8684 section 3); all zero without one.
///
/// Keys are in MP_CAPABLE and mappings in DSS: they share their room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mptcp {
    /// The key of the sender ([`Mptcp::SENDER_KEY`]) or the data sequence number ([`Mptcp::MAPPING`]).
    pub a: u64,
    /// The key of the receiver ([`Mptcp::RECEIVER_KEY`]) or the data acknowledgment ([`Mptcp::DATA_ACK`]).
    pub b: u64,
    /// The token of MP_JOIN ([`Mptcp::TOKEN`]) or the subflow sequence number ([`Mptcp::MAPPING`]).
    pub token: u32,
    /// Bytes that the mapping covers.
    pub data_length: u16,
    /// Subtypes present, a bit each.
    pub subtypes: u16,
    /// Which of the values are there.
    pub has: u8,
    /// Of MP_CAPABLE: 0 (RFC 6824) or 1 (RFC 8684).
    pub version: u8,
    /// Of MP_JOIN, ADD_ADDR or REMOVE_ADDR.
    pub address_id: u8,
}

#[allow(missing_docs)]
impl Mptcp {
    pub const SENDER_KEY: u8 = 1;
    pub const RECEIVER_KEY: u8 = 2;
    pub const TOKEN: u8 = 4;
    pub const BACKUP: u8 = 8;
    pub const DATA_ACK: u8 = 16;
    pub const MAPPING: u8 = 32;
    pub const DATA_SEQ_64: u8 = 64;
    pub const DATA_FIN: u8 = 128;

    pub(crate) fn set(&mut self, bit: u8) {
        self.has |= bit;
    }
}

/// TCP options that the tracker uses (RFC 9293, 7323, 2018).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale shift count, as sent (values over 14 are used as 14, RFC 7323 section 2.3).
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks, left and right edge.
    pub sack: [(u32, u32); 4],
    /// How many of `sack` are present.
    pub sack_count: u8,
    /// A TCP Fast Open option (kind 34 or the experimental form).
    pub fast_open: bool,
    /// Multipath TCP.
    pub mptcp: Mptcp,
    /// Whether all option bytes were captured: if not, what is missing above is unknown, not absent.
    pub complete: bool,
}

impl Options {
    /// The SACK blocks present.
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sack[..self.sack_count as usize]
    }
}

/// One TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Time stamp of the record, nanoseconds since the epoch.
    pub t_ns: i64,
    /// Number of the record in its file, from 1 (Wireshark's frame number).
    pub record: u64,
    /// Source address and port.
    pub source: (Address, u16),
    /// Destination address and port.
    pub destination: (Address, u16),
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number; meaningful with ACK.
    pub ack: u32,
    /// Flags, see [`flags`].
    pub flags: u16,
    /// Window as in the header, unscaled.
    pub window: u16,
    /// Payload bytes on the wire, from the IP length, whatever was captured.
    pub length: u32,
    /// Bytes of the IP packet on the wire, headers included.
    pub ip_length: u32,
    /// IPv4 identification; 0 for IPv6.
    pub ip_id: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// ECN field of the IP header (RFC 3168): 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// TCP checksum.
    pub checksum: Checksum,
    /// Options.
    pub options: Options,
}

impl Segment {
    /// Bytes of TCP options, by the lengths of the packet; `None` if these do not add up, or the IP header has options.
    #[inline(always)]
    pub fn option_bytes(&self) -> Option<u8> {
        let ip_header = if self.source.0.is_v4() { 20 } else { 40 };
        let bytes = self.ip_length.checked_sub(self.length + ip_header + 20)?;
        (bytes <= 40).then_some(bytes as u8)
    }

    /// Whether a flag of [`flags`] is set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}
