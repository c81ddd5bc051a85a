//! Link types: where the first IP header begins.
//!
//! Reference: the LINKTYPE_ list of tcpdump.org.

use super::kinds::Kind;
use super::layers::{self, Layer};
use super::record::{Stop, be16, be32, require};
use super::tunnel::Path;
use super::wifi;

/// A link type that is decoded, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkType {
    Ethernet,
    /// Bare IP, version by the first nibble.
    Ip,
    /// BSD loopback: a 4-byte address family, in the byte order of the host that captured.
    Loopback,
    LinuxSll,
    LinuxSll2,
    /// A header of fixed length that says nothing of what follows, then IP.
    Fixed(u8),
    /// So many bytes, then PPP.
    Ppp(u8),
    /// Direction instead of the HDLC address.
    Pppd,
    /// PPP or Cisco HDLC.
    Hdlc,
    /// So many bytes, then Cisco HDLC.
    CiscoHdlc(u8),
    PppOverEther,
    FrameRelay(u8),
    /// LLC without anything before it.
    Llc,
    Fddi,
    TokenRing,
    FireWire,
    InfiniBand,
    Ieee80211,
    Radiotap,
    Prism,
    Avs,
    Ppi,
    Pktap,
    Nflog,
    Pflog,
    Ipnet,
    /// ARCNET; with the offset that Linux puts before the protocol.
    Arcnet(bool),
    Unsupported,
}

impl LinkType {
    /// The decoder for a LINKTYPE_ number.
    pub(crate) fn from_code(code: u16) -> Self {
        match code {
            1 => LinkType::Ethernet,
            // 12 and 14 are DLT_RAW as BSD and OpenBSD number it; files with them exist.
            12 | 14 | 101 | 228 | 229 => LinkType::Ip,
            0 | 108 => LinkType::Loopback,
            113 => LinkType::LinuxSll,
            276 => LinkType::LinuxSll2,
            6 => LinkType::TokenRing,
            // SLIP: direction and 15 bytes of the compressed header; the packet behind them is whole.
            7 => LinkType::Arcnet(false),
            8 => LinkType::Fixed(16),
            9 => LinkType::Ppp(0),
            10 => LinkType::Fddi,
            50 => LinkType::Hdlc,
            51 => LinkType::PppOverEther,
            100 => LinkType::Llc,
            104 => LinkType::CiscoHdlc(0),
            105 => LinkType::Ieee80211,
            107 => LinkType::FrameRelay(0),
            // ENC of OpenBSD: address family, SPI, flags.
            109 => LinkType::Fixed(12),
            117 => LinkType::Pflog,
            119 => LinkType::Prism,
            127 => LinkType::Radiotap,
            129 => LinkType::Arcnet(true),
            138 => LinkType::FireWire,
            163 => LinkType::Avs,
            166 => LinkType::Pppd,
            192 => LinkType::Ppi,
            204 => LinkType::Ppp(1),
            205 => LinkType::CiscoHdlc(1),
            206 => LinkType::FrameRelay(1),
            226 => LinkType::Ipnet,
            239 => LinkType::Nflog,
            242 => LinkType::InfiniBand,
            258 => LinkType::Pktap,
            _ => LinkType::Unsupported,
        }
    }

    /// The IP packet right behind the usual headers, as captured and its length on the wire, and its
    /// [`place`](LinkType::place); `None` for what [`LinkType::network`] has to look at.
    #[inline(always)]
    pub(crate) fn plain(self, data: &[u8], wire: u32) -> Option<(&[u8], u32, u32)> {
        let (length, ethertype) = match self {
            LinkType::Ethernet => {
                let (header, data) = data.split_first_chunk::<14>()?;
                let is_ip = matches!(be16(header, 12), 0x0800 | 0x86dd);
                return if is_ip { Some((data, wire.checked_sub(14)?, 0)) } else { None };
            }
            LinkType::Ip => return Some((data, wire, 0)),
            LinkType::LinuxSll => (16, be16(data.first_chunk::<16>()?, 14)),
            LinkType::LinuxSll2 => (20, be16(data.first_chunk::<20>()?, 0)),
            _ => return None,
        };
        let is_ip = matches!(ethertype, 0x0800 | 0x86dd);
        if is_ip { Some((&data[length..], wire.checked_sub(length as u32)?, self.place(data))) } else { None }
    }

    /// Offset of the IP header.
    pub(crate) fn network(self, data: &[u8], wire: u32, path: &mut Path) -> Result<usize, Stop> {
        match self {
            LinkType::Ethernet => {
                require(data, wire, 14, "frame shorter than an Ethernet header")?;
                match be16(data, 12) {
                    0x0800 | 0x86dd => Ok(14),
                    other => layers::walk(Layer::Ethertype(other), data, wire, 14, path),
                }
            }
            LinkType::Ip => Ok(0),
            other => other.rarer(data, wire, path),
        }
    }

    #[inline(never)]
    fn rarer(self, data: &[u8], wire: u32, path: &mut Path) -> Result<usize, Stop> {
        let (layer, at) = match self {
            LinkType::LinuxSll => {
                require(data, wire, 16, "packet shorter than an SLL header")?;
                (Layer::Ethertype(be16(data, 14)), 16)
            }
            LinkType::LinuxSll2 => {
                require(data, wire, 20, "packet shorter than an SLL2 header")?;
                (Layer::Ethertype(be16(data, 0)), 20)
            }
            LinkType::Loopback => (Layer::Ip, loopback(data, wire)?),
            LinkType::Fixed(length) => (Layer::Ip, usize::from(length)),
            LinkType::Ppp(skip) => (Layer::Ppp, usize::from(skip)),
            LinkType::Pppd => {
                require(data, wire, 2, "frame shorter than a PPP header")?;
                (Layer::PppProtocol, 1 + usize::from(data[1] == 0x03))
            }
            LinkType::Hdlc => {
                require(data, wire, 4, "frame shorter than an HDLC header")?;
                // Cisco's addresses: unicast and broadcast.
                if matches!(data[0], 0x0f | 0x8f) {
                    (Layer::Ethertype(be16(data, 2)), 4)
                } else {
                    (Layer::Ppp, 0)
                }
            }
            LinkType::CiscoHdlc(skip) => {
                let at = usize::from(skip);
                require(data, wire, at + 4, "frame shorter than an HDLC header")?;
                (Layer::Ethertype(be16(data, at + 2)), at + 4)
            }
            LinkType::PppOverEther => (Layer::Pppoe, 0),
            LinkType::FrameRelay(skip) => (Layer::FrameRelay, usize::from(skip)),
            LinkType::Llc => (Layer::Llc, 0),
            LinkType::Fddi => {
                require(data, wire, 13, "frame shorter than an FDDI header")?;
                // Frame control: LLC frames only; others are the ring's own.
                if data[0] & 0x30 != 0x10 {
                    return Err(Stop::Kind(Kind::Llc));
                }
                (Layer::Llc, 13)
            }
            LinkType::TokenRing => {
                require(data, wire, 14, "frame shorter than a Token Ring header")?;
                if data[1] & 0xc0 != 0x40 {
                    return Err(Stop::Kind(Kind::Llc));
                }
                // A source address with the first bit set: a routing field follows, and says how long it is.
                let routed = data[8] & 0x80 != 0;
                if routed {
                    require(data, wire, 16, "frame ends inside a routing field")?;
                }
                (Layer::Llc, 14 + if routed { usize::from(data[14] & 0x1f) } else { 0 })
            }
            LinkType::FireWire => {
                require(data, wire, 18, "packet shorter than a FireWire header")?;
                (Layer::Ethertype(be16(data, 16)), 18)
            }
            LinkType::InfiniBand => {
                require(data, wire, 44, "packet shorter than an IP-over-InfiniBand header")?;
                (Layer::Ethertype(be16(data, 40)), 44)
            }
            LinkType::Ieee80211 => wifi::frame(data, wire, 0, false)?,
            LinkType::Radiotap => wifi::radiotap(data, wire)?,
            LinkType::Prism => wifi::prism(data, wire)?,
            LinkType::Avs => wifi::avs(data, wire)?,
            LinkType::Ppi => {
                require(data, wire, 8, "packet shorter than a PPI header")?;
                let inner = u32::from_le_bytes([data[4], data[5], data[6], data[7]]);
                return nested(data, wire, u32::from(le16(data, 2)), inner, path);
            }
            LinkType::Pktap => {
                require(data, wire, 12, "packet shorter than a PKTAP header")?;
                let word = |at| u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
                return nested(data, wire, word(0), word(8), path);
            }
            LinkType::Arcnet(offset) => (Layer::Ip, arcnet(data, wire, offset)?),
            LinkType::Nflog => (Layer::Ip, nflog(data, wire)?),
            LinkType::Pflog => {
                require(data, wire, 4, "packet shorter than a PFLOG header")?;
                (Layer::Ip, usize::from(data[0]).next_multiple_of(4))
            }
            LinkType::Ipnet => {
                require(data, wire, 24, "packet shorter than an IPNET header")?;
                match data[1] {
                    2 | 26 => (Layer::Ip, 24),
                    _ => return Err(Stop::Kind(Kind::OtherFamily)),
                }
            }
            LinkType::Ethernet => (Layer::Ethernet, 0),
            LinkType::Ip => (Layer::Ip, 0),
            LinkType::Unsupported => return Err(Stop::Kind(Kind::UnsupportedLinkType)),
        };
        layers::walk(layer, data, wire, at, path)
    }

    /// Where within the host a cooked packet was seen: the same packet comes by several such places.
    #[inline]
    pub(crate) fn place(self, data: &[u8]) -> u32 {
        match self {
            // Packet type: 4 is outgoing.
            LinkType::LinuxSll => data.get(1).copied().map_or(0, u32::from),
            LinkType::LinuxSll2 if data.len() > 10 => be32(data, 4) << 3 | u32::from(data[10] & 7),
            _ => 0,
        }
    }
}

/// A header that carries the link type of what follows it.
fn nested(data: &[u8], wire: u32, length: u32, code: u32, path: &mut Path) -> Result<usize, Stop> {
    let at = length as usize;
    require(data, wire, at, "header longer than the packet")?;
    let link = u16::try_from(code).map_or(LinkType::Unsupported, LinkType::from_code);
    match link {
        // Neither nests in itself, so this ends.
        LinkType::Ppi | LinkType::Pktap => Err(Stop::Kind(Kind::UnsupportedLinkType)),
        _ => Ok(at + link.network(&data[at..], wire - length, path)?),
    }
}

pub(super) fn le16(data: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([data[at], data[at + 1]])
}

fn loopback(data: &[u8], wire: u32) -> Result<usize, Stop> {
    require(data, wire, 4, "packet shorter than a loopback header")?;
    let mut family = be32(data, 0);
    if family > 0xffff {
        family = family.swap_bytes();
    }
    match family {
        // AF_INET6 is 10 on Linux, 23 on Windows, 24 on NetBSD and OpenBSD, 28 on FreeBSD, 30 on macOS.
        2 | 10 | 23 | 24 | 28 | 30 => Ok(4),
        _ => Err(Stop::Kind(Kind::OtherFamily)),
    }
}

/// Source, destination, protocol; then of RFC 1201 a flag and a number, twice if the first flag says so.
fn arcnet(data: &[u8], wire: u32, offset: bool) -> Result<usize, Stop> {
    const EXCEPTION: u8 = 0xff;
    let at = if offset { 5 } else { 3 };
    require(data, wire, at, "frame shorter than an ARCNET header")?;
    match data[at - 1] {
        // IP of RFC 1051 has no more.
        240 => return Ok(at),
        // IP of RFC 1201, IPv6 of RFC 2497.
        212 | 196 => {}
        // ARP of both, RARP.
        213 | 214 | 241 => return Err(Stop::Kind(Kind::Arp)),
        _ => return Err(Stop::Kind(Kind::OtherEthertype)),
    }
    require(data, wire, at + 3, "frame ends inside an ARCNET header")?;
    let at = at + if data[at] == EXCEPTION { 4 } else { 0 };
    require(data, wire, at + 3, "frame ends inside an ARCNET header")?;
    // A part of a packet.
    if data[at] != 0 { Err(Stop::Kind(Kind::NotOpened)) } else { Ok(at + 3) }
}

/// Family, version, resource; then attributes in the byte order of the host, of which one is the packet.
fn nflog(data: &[u8], wire: u32) -> Result<usize, Stop> {
    const PAYLOAD: u16 = 9;
    require(data, wire, 4, "packet shorter than an NFLOG header")?;
    if !matches!(data[0], 2 | 10) {
        return Err(Stop::Kind(Kind::OtherFamily));
    }
    let mut at = 4;
    loop {
        require(data, wire, at + 4, "NFLOG without a packet")?;
        let (mut length, mut kind) = (le16(data, at), le16(data, at + 2) & 0x7fff);
        // Attribute types are small numbers: a large one is in the other byte order.
        if kind > 0xff {
            (length, kind) = (be16(data, at), be16(data, at + 2) & 0x7fff);
        }
        if kind == PAYLOAD {
            return Ok(at + 4);
        }
        if length < 4 {
            return Err(Stop::Malformed("NFLOG attribute shorter than its header"));
        }
        at += usize::from(length).next_multiple_of(4);
    }
}

/// Name of a link type, without the prefix LINKTYPE_; "unknown" if it is not a common one.
pub fn name(code: u16) -> &'static str {
    match code {
        0 => "NULL",
        1 => "ETHERNET",
        6 => "IEEE802_5",
        7 => "ARCNET_BSD",
        8 => "SLIP",
        9 => "PPP",
        10 => "FDDI",
        12 | 14 | 101 => "RAW",
        50 => "PPP_HDLC",
        51 => "PPP_ETHER",
        100 => "ATM_RFC1483",
        104 => "C_HDLC",
        105 => "IEEE802_11",
        107 => "FRELAY",
        108 => "LOOP",
        109 => "ENC",
        113 => "LINUX_SLL",
        117 => "PFLOG",
        119 => "IEEE802_11_PRISM",
        127 => "IEEE802_11_RADIOTAP",
        129 => "ARCNET_LINUX",
        138 => "APPLE_IP_OVER_IEEE1394",
        147..=162 => "USER",
        163 => "IEEE802_11_AVS",
        166 => "PPP_PPPD",
        187 => "BLUETOOTH_HCI_H4",
        189 => "USB_LINUX",
        192 => "PPI",
        195 => "IEEE802_15_4_WITHFCS",
        201 => "BLUETOOTH_HCI_H4_WITH_PHDR",
        204 => "PPP_WITH_DIR",
        205 => "C_HDLC_WITH_DIR",
        206 => "FRELAY_WITH_DIR",
        220 => "USB_LINUX_MMAPPED",
        226 => "IPNET",
        228 => "IPV4",
        229 => "IPV6",
        239 => "NFLOG",
        242 => "IPOIB",
        252 => "WIRESHARK_UPPER_PDU",
        253 => "NETLINK",
        258 => "PKTAP",
        271 => "VSOCK",
        276 => "LINUX_SLL2",
        _ => "unknown",
    }
}
