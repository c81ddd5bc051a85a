//! Link types: where the IP header begins.
//!
//! Reference: the LINKTYPE_ list of tcpdump.org; IEEE 802.1Q and 802.1ad for tags.

use super::kinds::Kind;
use super::record::{Stop, be16, be32, require};

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
            _ => LinkType::Unsupported,
        }
    }

    /// Offset of the IP header.
    #[inline]
    pub(crate) fn network(self, data: &[u8], wire: u32) -> Result<usize, Stop> {
        match self {
            LinkType::Ethernet => {
                require(data, wire, 14, "frame shorter than an Ethernet header")?;
                after_ethertype(data, wire, be16(data, 12), 14)
            }
            LinkType::Ip => Ok(0),
            LinkType::Loopback => loopback(data, wire),
            LinkType::LinuxSll => {
                require(data, wire, 16, "packet shorter than an SLL header")?;
                after_ethertype(data, wire, be16(data, 14), 16)
            }
            LinkType::LinuxSll2 => {
                require(data, wire, 20, "packet shorter than an SLL2 header")?;
                after_ethertype(data, wire, be16(data, 0), 20)
            }
            LinkType::Unsupported => Err(Stop::Kind(Kind::UnsupportedLinkType)),
        }
    }
}

/// Follow VLAN tags (802.1Q, 802.1ad, and the older QinQ types) and LLC/SNAP to IP.
#[inline]
fn after_ethertype(data: &[u8], wire: u32, ethertype: u16, at: usize) -> Result<usize, Stop> {
    match ethertype {
        0x0800 | 0x86dd => Ok(at),
        _ => after_tags(data, wire, ethertype, at),
    }
}

fn after_tags(data: &[u8], wire: u32, mut ethertype: u16, mut at: usize) -> Result<usize, Stop> {
    loop {
        match ethertype {
            0x0800 | 0x86dd => return Ok(at),
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                require(data, wire, at + 4, "frame ends inside a VLAN tag")?;
                ethertype = be16(data, at + 2);
                at += 4;
            }
            // A length, or SLL's 4 for "802.2": an LLC header follows; SNAP carries an EtherType again.
            0..=1500 => match data.get(at..at + 8) {
                Some([0xaa, 0xaa, 0x03, 0, 0, 0, high, low]) => {
                    ethertype = u16::from_be_bytes([*high, *low]);
                    at += 8;
                    if ethertype <= 1500 {
                        return Err(Stop::Kind(Kind::OtherEthertype));
                    }
                }
                _ => return Err(Stop::Kind(Kind::Llc)),
            },
            other => return Err(Stop::Kind(Kind::of_ethertype(other))),
        }
    }
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

/// Name of a link type, without the prefix LINKTYPE_; "unknown" if it is not a common one.
pub fn name(code: u16) -> &'static str {
    match code {
        0 => "NULL",
        1 => "ETHERNET",
        6 => "IEEE802_5",
        8 => "SLIP",
        9 => "PPP",
        10 => "FDDI",
        12 | 14 | 101 => "RAW",
        50 => "PPP_HDLC",
        51 => "PPP_ETHER",
        105 => "IEEE802_11",
        107 => "FRELAY",
        108 => "LOOP",
        113 => "LINUX_SLL",
        117 => "PFLOG",
        119 => "IEEE802_11_PRISM",
        127 => "IEEE802_11_RADIOTAP",
        147..=162 => "USER",
        187 => "BLUETOOTH_HCI_H4",
        189 => "USB_LINUX",
        192 => "PPI",
        195 => "IEEE802_15_4_WITHFCS",
        201 => "BLUETOOTH_HCI_H4_WITH_PHDR",
        204 => "PPP_WITH_DIR",
        220 => "USB_LINUX_MMAPPED",
        228 => "IPV4",
        229 => "IPV6",
        239 => "NFLOG",
        252 => "WIRESHARK_UPPER_PDU",
        253 => "NETLINK",
        258 => "PKTAP",
        271 => "VSOCK",
        276 => "LINUX_SLL2",
        _ => "unknown",
    }
}
