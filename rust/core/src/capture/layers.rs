//! The headers between a link and IP: tags, LLC, PPP, MPLS. Each only adds bytes in front.
//!
//! Reference: IEEE 802.1Q, 802.1ad, 802.1ah and 802.1BR, RFC 1042, RFC 1661, RFC 2516, RFC 3032, RFC 4385, RFC 2427.

use super::kinds::Kind;
use super::record::{Stop, be16, require};
use super::tunnel::{Path, Tunnel};
use super::wifi;

/// What a header is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    Ethernet,
    /// What this EtherType (or length) says.
    Ethertype(u16),
    Llc,
    Ip,
    /// PPP, perhaps with HDLC address and control.
    Ppp,
    /// PPP from its protocol field on.
    PppProtocol,
    Pppoe,
    Mpls,
    FrameRelay,
    /// An 802.11 frame as access points put it into tunnels.
    Ieee80211,
}

/// Follow headers from `at` to the IP header; its offset.
#[cold]
#[inline(never)]
pub(crate) fn walk(
    mut layer: Layer,
    data: &[u8],
    wire: u32,
    mut at: usize,
    path: &mut Path,
) -> Result<usize, Stop> {
    let need = |needed: usize, what: &'static str| require(data, wire, needed, what);
    loop {
        (layer, at) = match layer {
            Layer::Ip | Layer::Ethertype(0x0800 | 0x86dd) => {
                need(at, "packet ends before its IP header")?;
                return Ok(at);
            }
            Layer::Ethernet => {
                need(at + 14, "frame shorter than an Ethernet header")?;
                (Layer::Ethertype(be16(data, at + 12)), at + 14)
            }
            Layer::Ethertype(0x8100 | 0x88a8 | 0x9100 | 0x9200) => {
                need(at + 4, "frame ends inside a VLAN tag")?;
                path.tag()?;
                (Layer::Ethertype(be16(data, at + 2)), at + 4)
            }
            Layer::Ethertype(0x893f) => {
                need(at + 8, "frame ends inside an E-tag")?;
                path.enter(Tunnel::ETag)?;
                (Layer::Ethertype(be16(data, at + 6)), at + 8)
            }
            Layer::Ethertype(0x8926) => {
                need(at + 6, "frame ends inside a VN-tag")?;
                path.enter(Tunnel::VnTag)?;
                (Layer::Ethertype(be16(data, at + 4)), at + 6)
            }
            // Flags and service identifier, then the customer's frame.
            Layer::Ethertype(0x88e7) => {
                path.enter(Tunnel::Pbb)?;
                (Layer::Ethernet, at + 4)
            }
            // Tree and time to live, then the whole frame.
            Layer::Ethertype(0x8903) => {
                path.enter(Tunnel::FabricPath)?;
                (Layer::Ethernet, at + 2)
            }
            Layer::Ethertype(0x8847 | 0x8848) => (Layer::Mpls, at),
            Layer::Ethertype(0x8864) => (Layer::Pppoe, at),
            // Transparent Ethernet bridging: GRE, Geneve.
            Layer::Ethertype(0x6558) => (Layer::Ethernet, at),
            // PPP in GRE.
            Layer::Ethertype(0x880b) => (Layer::Ppp, at),
            // A length, or SLL's 4 for "802.2".
            Layer::Ethertype(0..=1500) => (Layer::Llc, at),
            Layer::Ethertype(other) => return Err(Stop::Kind(Kind::of_ethertype(other))),
            Layer::Llc => match data.get(at..).unwrap_or_default() {
                // SNAP with an EtherType; 0000f8 is Apple's and Cisco's habit with bridges.
                [0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8, high, low, ..] => {
                    let ethertype = u16::from_be_bytes([*high, *low]);
                    if ethertype <= 1500 {
                        return Err(Stop::Kind(Kind::OtherEthertype));
                    }
                    (Layer::Ethertype(ethertype), at + 8)
                }
                // The SAP of IP itself.
                [0x06, 0x06, 0x03, ..] => (Layer::Ip, at + 3),
                _ => return Err(Stop::Kind(Kind::Llc)),
            },
            Layer::Ppp => {
                need(at + 2, "frame shorter than a PPP header")?;
                match be16(data, at) {
                    0xff03 => (Layer::PppProtocol, at + 2),
                    // Cisco HDLC where PPP was announced: unicast and broadcast; no protocol has such a number.
                    0x0f00 | 0x8f00 => {
                        need(at + 4, "frame shorter than an HDLC header")?;
                        (Layer::Ethertype(be16(data, at + 2)), at + 4)
                    }
                    _ => (Layer::PppProtocol, at),
                }
            }
            Layer::PppProtocol => ppp(data, wire, at)?,
            Layer::Pppoe => {
                need(at + 6, "frame shorter than a PPPoE header")?;
                // Version 1, type 1, a session's data.
                if data[at] != 0x11 || data[at + 1] != 0 {
                    return Err(Stop::Kind(Kind::Pppoe));
                }
                path.enter(Tunnel::Pppoe)?;
                (Layer::PppProtocol, at + 6)
            }
            Layer::Mpls => mpls(data, wire, at, path)?,
            Layer::FrameRelay => frame_relay(data, wire, at)?,
            Layer::Ieee80211 => wifi::tunnelled(data, wire, at)?,
        };
    }
}

/// The protocol field, perhaps compressed to one byte (RFC 1661 section 6.5).
fn ppp(data: &[u8], wire: u32, at: usize) -> Result<(Layer, usize), Stop> {
    require(data, wire, at + 1, "frame ends before its PPP protocol")?;
    let (protocol, at) = if data[at] & 1 == 1 {
        (u16::from(data[at]), at + 1)
    } else {
        require(data, wire, at + 2, "frame ends inside its PPP protocol")?;
        (be16(data, at), at + 2)
    };
    match protocol {
        0x0021 | 0x0057 => Ok((Layer::Ip, at)),
        0x0281 | 0x0283 => Ok((Layer::Mpls, at)),
        0x002d | 0x002f => Err(Stop::Kind(Kind::VjCompressed)),
        0x4000.. => Err(Stop::Kind(Kind::PppControl)),
        _ => Err(Stop::Kind(Kind::OtherPpp)),
    }
}

/// A label stack; what is below it is not said and must be guessed (RFC 4928).
fn mpls(data: &[u8], wire: u32, mut at: usize, path: &mut Path) -> Result<(Layer, usize), Stop> {
    path.enter(Tunnel::Mpls)?;
    for _ in 0..16 {
        require(data, wire, at + 4, "packet ends inside a label stack")?;
        let bottom = data[at + 2] & 1 == 1;
        at += 4;
        if bottom {
            return match data.get(at).map(|first| first >> 4) {
                Some(4 | 6) => Ok((Layer::Ip, at)),
                // A control word: a pseudowire, usually Ethernet's.
                Some(0) if data.len() > at + 4 => Ok((Layer::Ethernet, at + 4)),
                _ => Err(Stop::Kind(Kind::Mpls)),
            };
        }
    }
    Err(Stop::Malformed("more than 16 MPLS labels"))
}

/// RFC 2427 encapsulation, or Cisco's with an EtherType.
fn frame_relay(data: &[u8], wire: u32, mut at: usize) -> Result<(Layer, usize), Stop> {
    // Address octets end with one whose last bit is set; there are two to four.
    for _ in 0..4 {
        require(data, wire, at + 1, "frame ends inside its address")?;
        at += 1;
        if data[at - 1] & 1 == 1 {
            break;
        }
    }
    require(data, wire, at + 2, "frame ends before its protocol")?;
    if data[at] != 0x03 {
        return Ok((Layer::Ethertype(be16(data, at)), at + 2));
    }
    // A padding octet may come before the NLPID.
    at += 1 + usize::from(data[at + 1] == 0);
    require(data, wire, at + 1, "frame ends before its NLPID")?;
    match data[at] {
        0xcc | 0x8e => Ok((Layer::Ip, at + 1)),
        0x80 => {
            require(data, wire, at + 6, "frame ends inside a SNAP header")?;
            match data[at + 1..at + 4] {
                [0, 0, 0] => Ok((Layer::Ethertype(be16(data, at + 4)), at + 6)),
                _ => Err(Stop::Kind(Kind::OtherEthertype)),
            }
        }
        _ => Err(Stop::Kind(Kind::OtherEthertype)),
    }
}
