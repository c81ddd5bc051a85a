//! IPv4 and IPv6 headers, extension headers included: where the transport header begins and how long it is.
//!
//! Reference: RFC 791, RFC 8200, RFC 4302 (AH), RFC 2675 (jumbograms).

use super::kinds::Kind;
use super::record::{Stop, be16, be32, require};
use crate::segment::{Address, Segment};

pub(crate) const TCP: u8 = 6;

/// Far beyond what any offload builds (Linux: 512 KiB).
const MAX_LENGTH: u32 = 16 << 20;

/// A fragment of a larger packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Identification.
    pub(crate) id: u32,
    /// Offset of the payload in the original packet's, bytes.
    pub(crate) offset: u32,
    /// Whether more fragments follow.
    pub(crate) more: bool,
    /// Kind under which it is counted.
    pub(crate) kind: Kind,
}

/// The payload of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet<'a> {
    pub(crate) v6: bool,
    /// What the payload is: an extension header, until [`Packet::transport`].
    pub(crate) protocol: u8,
    pub(crate) fragment: Option<Fragment>,
    /// Whether the destination is still another one than the pseudo header's (routing header not used up).
    pub(crate) rerouted: bool,
    /// Transport header and what was captured behind it, link padding removed.
    pub(crate) payload: &'a [u8],
    /// Bytes of transport header and payload on the wire.
    pub(crate) payload_length: u32,
}

/// Decode the IP packet at the start of `data`, of which `wire` bytes were on the wire.
///
/// What the header says of a segment is written in place: moving 140 bytes about costs more than decoding them.
#[inline(always)]
pub(crate) fn parse<'a>(data: &'a [u8], wire: u32, segment: &mut Segment) -> Result<Packet<'a>, Stop> {
    require(data, wire, 1, "no IP header")?;
    match data[0] >> 4 {
        4 => v4(data, wire, segment),
        6 => v6(data, wire, segment),
        _ => Err(Stop::Malformed("IP version is neither 4 nor 6")),
    }
}

/// The TCP segment, as captured and its length on the wire, of the most usual packet: IPv4 without options, not a
/// fragment, or IPv6 without extension headers, with room for the 20 bytes of the TCP header. `None` for whatever else
/// [`parse`] takes, or complains of.
#[inline(always)]
pub(crate) fn plain_tcp<'a>(data: &'a [u8], wire: u32, segment: &mut Segment) -> Option<(&'a [u8], u32)> {
    let (fixed, payload) = data.split_first_chunk::<20>()?;
    if fixed[0] != 0x45 {
        return plain_v6(data, wire, segment);
    }
    let length = u32::from(be16(fixed, 2));
    let plain = fixed[9] == TCP && be16(fixed, 6) & 0x3fff == 0;
    if !plain || length < 40 || wire < 20 {
        return None;
    }
    v4_fields(fixed, length, segment);
    let length = length - 20;
    Some((&payload[..payload.len().min(length as usize)], length))
}

#[inline(always)]
fn plain_v6<'a>(data: &'a [u8], wire: u32, segment: &mut Segment) -> Option<(&'a [u8], u32)> {
    let (fixed, payload) = data.split_first_chunk::<40>()?;
    let length = u32::from(be16(fixed, 4));
    let plain = fixed[0] >> 4 == 6 && fixed[6] == TCP;
    if !plain || length < 20 || wire < 40 {
        return None;
    }
    v6_fields(fixed, 40 + length, segment);
    Some((&payload[..payload.len().min(length as usize)], length))
}

#[inline(always)]
fn v6_fields(fixed: &[u8; 40], length: u32, segment: &mut Segment) {
    segment.source.0 = Address::v6(array16(fixed, 8));
    segment.destination.0 = Address::v6(array16(fixed, 24));
    segment.ip_length = length;
    segment.ip_id = 0;
    segment.ttl = fixed[7];
    segment.ecn = fixed[1] >> 4 & 3;
}

#[inline(always)]
fn v4_fields(fixed: &[u8; 20], length: u32, segment: &mut Segment) {
    segment.source.0 = Address::v4([fixed[12], fixed[13], fixed[14], fixed[15]]);
    segment.destination.0 = Address::v4([fixed[16], fixed[17], fixed[18], fixed[19]]);
    segment.ip_length = length;
    segment.ip_id = be16(fixed, 4);
    segment.ttl = fixed[8];
    segment.ecn = fixed[1] & 3;
}

/// An IPv6 address, moved in halves: [`Address::halves`] reads it as it was stored.
#[inline(always)]
fn array16(fixed: &[u8; 40], at: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&fixed[at..at + 16]);
    bytes
}

#[inline(always)]
fn v4<'a>(data: &'a [u8], wire: u32, segment: &mut Segment) -> Result<Packet<'a>, Stop> {
    require(data, wire, 20, "packet shorter than an IPv4 header")?;
    let Some(fixed) = data.first_chunk::<20>() else { return Err(Stop::Kind(Kind::HeaderCut)) };
    let header = usize::from(fixed[0] & 0x0f) * 4;
    if header < 20 {
        return Err(Stop::Malformed("IPv4 header length below 20"));
    }
    let length = match be16(fixed, 2) {
        0 => length_of_record(wire)?,
        total => u32::from(total),
    };
    if (length as usize) < header {
        return Err(Stop::Malformed("IPv4 total length below the header length"));
    }
    let data = &data[..data.len().min(length as usize)];
    let flags = be16(fixed, 6);
    let fragment = (flags & 0x3fff != 0).then(|| Fragment {
        id: u32::from(be16(fixed, 4)),
        offset: u32::from(flags & 0x1fff) * 8,
        more: flags & 0x2000 != 0,
        kind: Kind::Ipv4Fragment,
    });
    v4_fields(fixed, length, segment);
    Ok(Packet {
        v6: false,
        protocol: fixed[9],
        fragment,
        rerouted: false,
        payload: data.get(header..).unwrap_or_default(),
        payload_length: length - header as u32,
    })
}

#[inline(always)]
fn v6<'a>(data: &'a [u8], wire: u32, segment: &mut Segment) -> Result<Packet<'a>, Stop> {
    require(data, wire, 40, "packet shorter than an IPv6 header")?;
    let Some(fixed) = data.first_chunk::<40>() else { return Err(Stop::Kind(Kind::HeaderCut)) };
    let length = match be16(data, 4) {
        0 if data[6] != NO_NEXT_HEADER => length_of_record(wire)?,
        payload => 40 + u32::from(payload),
    };
    let data = &data[..data.len().min(length as usize)];
    v6_fields(fixed, length, segment);
    Ok(Packet {
        v6: true,
        protocol: data[6],
        fragment: None,
        rerouted: false,
        payload: &data[40..],
        payload_length: length - 40,
    })
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const NO_NEXT_HEADER: u8 = 59;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;

impl Packet<'_> {
    /// Walk extension headers up to the transport header or a fragment; AH occurs behind IPv4 as well.
    pub(crate) fn transport(mut self) -> Result<Self, Stop> {
        while self.fragment.is_none() {
            match self.protocol {
                AUTHENTICATION => {}
                HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | FRAGMENT | MOBILITY | HIP | SHIM6 if self.v6 => {
                }
                _ => break,
            }
            self.skip_extension()?;
        }
        Ok(self)
    }

    fn skip_extension(&mut self) -> Result<(), Stop> {
        let (data, wire) = (self.payload, self.payload_length);
        require(data, wire, 8, "packet ends inside an IP extension header")?;
        let header = match self.protocol {
            FRAGMENT => 8,
            AUTHENTICATION => (usize::from(data[1]) + 2) * 4,
            _ => (usize::from(data[1]) + 1) * 8,
        };
        require(data, wire, header, "packet ends inside an IP extension header")?;
        match self.protocol {
            ROUTING => self.rerouted |= data[3] > 0,
            FRAGMENT => {
                let (offset, more) = (u32::from(be16(data, 2) & !7), data[3] & 1 != 0);
                // An atomic fragment (RFC 6946) is a whole packet.
                self.fragment = (offset > 0 || more).then(|| Fragment {
                    id: be32(data, 4),
                    offset,
                    more,
                    kind: Kind::Ipv6Fragment,
                });
            }
            _ => {}
        }
        self.protocol = data[0];
        self.payload = &data[header..];
        self.payload_length = wire - header as u32;
        Ok(())
    }
}

/// Length of a packet whose length field is 0: segmentation offload and BIG TCP leave it empty (with or
/// without a jumbo payload option), and the record knows.
#[inline]
fn length_of_record(wire: u32) -> Result<u32, Stop> {
    if wire <= MAX_LENGTH {
        Ok(wire)
    } else {
        Err(Stop::Malformed("IP length 0 in a record of impossible length"))
    }
}
