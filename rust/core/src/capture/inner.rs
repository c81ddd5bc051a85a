//! Tunnels inside IP: where the inner packet begins.
//!
//! Reference: RFC 2784 and 2890 (GRE), RFC 2637 (PPTP), RFC 7348 (VXLAN), RFC 8926 (Geneve), RFC 7510 (MPLS in
//! UDP), RFC 8086 (GRE in UDP), RFC 2661 (L2TP), RFC 4380 (Teredo), RFC 3378 (EtherIP), 3GPP TS 29.281 (GTP-U),
//! RFC 5415 and 5416 (CAPWAP), draft-massar-v6ops-ayiya-02 (AYIYA).

use super::kinds::Kind;
use super::layers::{Layer, walk};
use super::record::{Stop, be16, require};
use super::tunnel::{Path, Tunnel};

const IP_IN_IP: u8 = 4;
const UDP: u8 = 17;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const ETHER_IP: u8 = 97;
const MPLS: u8 = 137;

/// Offset of an IP header inside the payload of an IP packet; the packet's own kind if it is no tunnel.
pub(crate) fn packet(
    outer_v6: bool,
    protocol: u8,
    data: &[u8],
    wire: u32,
    path: &mut Path,
) -> Result<usize, Stop> {
    match protocol {
        IP_IN_IP | IPV6 => {
            path.enter(if protocol == IPV6 && !outer_v6 { Tunnel::SixInFour } else { Tunnel::IpInIp })?;
            Ok(0)
        }
        GRE => gre(data, wire, 0, path),
        MPLS => walk(Layer::Mpls, data, wire, 0, path),
        ETHER_IP => {
            path.enter(Tunnel::EtherIp)?;
            walk(Layer::Ethernet, data, wire, 2, path)
        }
        UDP => {
            // Ports are only a hint: what then makes no sense was UDP like any other.
            let before = *path;
            udp(data, wire, path).map_err(|stop| {
                if let Stop::Malformed(_) | Stop::Kind(Kind::OtherEthertype) = stop {
                    *path = before;
                    return Stop::Kind(Kind::Udp);
                }
                stop
            })
        }
        other => Err(Stop::Kind(Kind::of_protocol(other))),
    }
}

fn gre(data: &[u8], wire: u32, at: usize, path: &mut Path) -> Result<usize, Stop> {
    require(data, wire, at + 4, "packet shorter than a GRE header")?;
    let (flags, protocol) = (be16(data, at), be16(data, at + 2));
    // Source routing is long gone.
    if flags & 0x4000 != 0 {
        return Err(Stop::Kind(Kind::Gre));
    }
    let (checksum, key, sequence) = (flags & 0x8000 != 0, flags & 0x2000 != 0, flags & 0x1000 != 0);
    let optional = [checksum, key, sequence, flags & 7 == 1 && flags & 0x80 != 0];
    let inner = at + 4 + 4 * optional.into_iter().filter(|&there| there).count();
    let (layer, inner) = match (flags & 7, protocol) {
        (0, 0x88be) => {
            path.enter(Tunnel::Erspan)?;
            // Type II has a sequence number in GRE and a header of its own, type I neither.
            (Layer::Ethernet, inner + if sequence { 8 } else { 0 })
        }
        (0, 0x22eb) => {
            path.enter(Tunnel::Erspan)?;
            require(data, wire, inner + 12, "packet ends inside an ERSPAN header")?;
            (Layer::Ethernet, inner + 12 + usize::from(data[inner + 11] & 1) * 8)
        }
        // WCCP version 2 puts four bytes before the packet, which cannot begin like IPv4; version 1 none.
        (0, 0x883e) => {
            path.enter(Tunnel::Gre)?;
            let redirect = data.get(inner).is_some_and(|first| first >> 4 != 4);
            (Layer::Ip, inner + if redirect { 4 } else { 0 })
        }
        (0, protocol) => {
            path.enter(Tunnel::Gre)?;
            // Access points of Aruba: the protocol tells the frame's station and priority.
            let wireless = matches!(protocol, 0x8200..=0x8370) && protocol & 0xf == 0;
            (if wireless { Layer::Ieee80211 } else { Layer::Ethertype(protocol) }, inner)
        }
        (1, 0x880b) => {
            path.enter(Tunnel::Pptp)?;
            if data.len() == inner {
                return Err(Stop::Kind(Kind::Gre));
            }
            (Layer::Ppp, inner)
        }
        _ => return Err(Stop::Kind(Kind::Gre)),
    };
    match walk(layer, data, wire, inner, path) {
        Err(Stop::Kind(Kind::OtherEthertype | Kind::Llc)) => Err(Stop::Kind(Kind::Gre)),
        outcome => outcome,
    }
}

fn udp(data: &[u8], wire: u32, path: &mut Path) -> Result<usize, Stop> {
    const PLAIN: Stop = Stop::Kind(Kind::Udp);
    let (Some(header), true) = (data.first_chunk::<8>(), wire >= 8) else { return Err(PLAIN) };
    let (source, destination) = (be16(header, 0), be16(header, 2));
    let body = &data[8..];
    let byte = |at: usize| body.get(at).copied().ok_or(PLAIN);
    match (source, destination) {
        // 8472 is what Linux used before the port was assigned.
        (_, 4789 | 8472) if byte(0)? & 0x08 != 0 => {
            path.enter(Tunnel::Vxlan)?;
            walk(Layer::Ethernet, data, wire, 16, path)
        }
        // Generic protocol extension: the last byte before the VNI says what follows.
        (_, 4790) if byte(0)? & 0x0c == 0x0c => {
            let layer = match byte(3)? {
                1 | 2 => Layer::Ip,
                3 => Layer::Ethernet,
                _ => return Err(PLAIN),
            };
            path.enter(Tunnel::Vxlan)?;
            walk(layer, data, wire, 16, path)
        }
        (_, 6081) if byte(0)? >> 6 == 0 => {
            let options = usize::from(byte(0)? & 0x3f) * 4;
            let protocol = u16::from_be_bytes([byte(2)?, byte(3)?]);
            path.enter(Tunnel::Geneve)?;
            walk(Layer::Ethertype(protocol), data, wire, 16 + options, path)
        }
        (_, 6635) => {
            path.enter(Tunnel::MplsInUdp)?;
            walk(Layer::Mpls, data, wire, 8, path)
        }
        (_, 4754) => gre(data, wire, 8, path),
        (2152, _) | (_, 2152) => gtp(data, wire, path),
        (1701, _) | (_, 1701) => l2tp(data, wire, path),
        (3544, _) | (_, 3544) => teredo(data, wire, path),
        (5072, _) | (_, 5072) => ayiya(data, wire, path),
        (5247, _) | (_, 5247) => capwap(data, wire, path),
        _ => Err(PLAIN),
    }
}

/// A G-PDU, with the extension headers in front of its packet.
fn gtp(data: &[u8], wire: u32, path: &mut Path) -> Result<usize, Stop> {
    require(data, wire, 16, "packet shorter than a GTP-U header")?;
    // Version 1, protocol type GTP, message G-PDU.
    if data[8] & 0xf0 != 0x30 || data[9] != 0xff {
        return Err(Stop::Kind(Kind::Udp));
    }
    let mut at = 16;
    if data[8] & 7 != 0 {
        at += 4;
        // The type of the first extension is the last byte; each one ends with the type of the next.
        loop {
            require(data, wire, at, "packet ends inside a GTP-U header")?;
            if data[8] & 4 == 0 || data[at - 1] == 0 {
                break;
            }
            require(data, wire, at + 1, "packet ends inside a GTP-U header")?;
            if data[at] == 0 {
                return Err(Stop::Malformed("GTP-U extension of length 0"));
            }
            at += usize::from(data[at]) * 4;
        }
    }
    match data.get(at).map(|first| first >> 4) {
        Some(4 | 6) => {
            path.enter(Tunnel::GtpU)?;
            Ok(at)
        }
        _ => Err(Stop::Kind(Kind::Udp)),
    }
}

fn l2tp(data: &[u8], wire: u32, path: &mut Path) -> Result<usize, Stop> {
    require(data, wire, 14, "packet shorter than an L2TP header")?;
    let flags = be16(data, 8);
    // A control message, or not version 2.
    if flags & 0x8000 != 0 || flags & 0xf != 2 {
        return Err(Stop::Kind(Kind::Udp));
    }
    let mut at = 8 + 6;
    at += if flags & 0x4000 != 0 { 2 } else { 0 };
    at += if flags & 0x0800 != 0 { 4 } else { 0 };
    if flags & 0x0200 != 0 {
        require(data, wire, at + 2, "packet ends inside an L2TP header")?;
        at += 2 + usize::from(be16(data, at));
    }
    path.enter(Tunnel::L2tp)?;
    walk(Layer::Ppp, data, wire, at, path)
}

/// Authentication and origin indications may come before the IPv6 packet.
fn teredo(data: &[u8], wire: u32, path: &mut Path) -> Result<usize, Stop> {
    let mut at = 8;
    require(data, wire, at + 4, "packet shorter than a Teredo indication")?;
    if be16(data, at) == 1 {
        at += 13 + usize::from(data[at + 2]) + usize::from(data[at + 3]);
        require(data, wire, at + 2, "packet ends inside a Teredo indication")?;
    }
    if be16(data, at) == 0 {
        at += 8;
    }
    match data.get(at).map(|first| first >> 4) {
        Some(6) => {
            path.enter(Tunnel::Teredo)?;
            Ok(at)
        }
        _ => Err(Stop::Kind(Kind::Udp)),
    }
}

/// Identity and signature have lengths of their own; then a packet, which the header names.
fn ayiya(data: &[u8], wire: u32, path: &mut Path) -> Result<usize, Stop> {
    const FORWARD: u8 = 1;
    require(data, wire, 16, "packet shorter than an AYIYA header")?;
    let (identity, signature) = (1_usize << (data[8] >> 4), usize::from(data[9] >> 4) * 4);
    if data[10] & 0xf != FORWARD || !matches!(data[11], IP_IN_IP | IPV6) {
        return Err(Stop::Kind(Kind::Udp));
    }
    path.enter(Tunnel::Ayiya)?;
    walk(Layer::Ip, data, wire, 16 + identity + signature, path)
}

/// Between an access point and its controller: Ethernet, or 802.11 as it was on the air.
fn capwap(data: &[u8], wire: u32, path: &mut Path) -> Result<usize, Stop> {
    const IEEE_80211: u32 = 1;
    require(data, wire, 16, "packet shorter than a CAPWAP header")?;
    match data[8] {
        0 => {}
        // DTLS.
        1 => return Err(Stop::Kind(Kind::NotOpened)),
        _ => return Err(Stop::Kind(Kind::Udp)),
    }
    let words = u32::from_be_bytes([0, data[9], data[10], data[11]]);
    let (length, binding) = ((words >> 19) as usize * 4, words >> 9 & 0x1f);
    let (native, fragment, keep_alive) = (words & 0x100 != 0, words & 0x80 != 0, words & 0x8 != 0);
    if length < 8 || keep_alive {
        return Err(Stop::Kind(Kind::Udp));
    }
    path.enter(Tunnel::Capwap)?;
    let layer = match (native, binding) {
        _ if fragment => return Err(Stop::Kind(Kind::NotOpened)),
        (false, _) => Layer::Ethernet,
        (true, IEEE_80211) => Layer::Ieee80211,
        _ => return Err(Stop::Kind(Kind::NotOpened)),
    };
    walk(layer, data, wire, 8 + length, path)
}
