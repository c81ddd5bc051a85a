//! 802.11 frames: only as far as an unprotected data frame's IP packet. `wifiparts` reads those that hold
//! several, or a part of one.
//!
//! Reference: IEEE 802.11 section 9.2; radiotap.org; the PPI and AVS header definitions.

use super::kinds::Kind;
use super::layers::Layer;
use super::link::le16;
use super::record::{Stop, be32, require};

const PADDED: u8 = 0x20;
const BAD_FCS: u8 = 0x40;

/// The LLC header of a data frame whose 802.11 header is at `at`.
///
/// `padded`: the 802.11 header is filled up to a multiple of four bytes.
pub(crate) fn frame(data: &[u8], wire: u32, at: usize, padded: bool) -> Result<(Layer, usize), Stop> {
    require(data, wire, at + 2, "frame shorter than its frame control")?;
    controlled(le16(data, at), data, wire, at, padded)
}

/// The same in a tunnel of an access point, of which some write the two bytes of the frame control in the other
/// order. The two lowest bits of a frame control are the version, which is 0: to or from an access point, one of
/// the two orders has it. What is encrypted, or not one whole packet, is not opened.
pub(crate) fn tunnelled(data: &[u8], wire: u32, at: usize) -> Result<(Layer, usize), Stop> {
    require(data, wire, at + 2, "frame shorter than its frame control")?;
    let control = le16(data, at);
    let control = if control & 3 == 0 { control } else { control.swap_bytes() };
    match controlled(control, data, wire, at, false) {
        Err(Stop::Kind(Kind::WifiProtected | Kind::WifiFragment | Kind::WifiAggregate)) => {
            Err(Stop::Kind(Kind::NotOpened))
        }
        outcome => outcome,
    }
}

fn controlled(control: u16, data: &[u8], wire: u32, at: usize, padded: bool) -> Result<(Layer, usize), Stop> {
    let (kind, subtype) = (control >> 2 & 3, control >> 4 & 0xf);
    match kind {
        0 => return Err(Stop::Kind(Kind::WifiManagement)),
        1 => return Err(Stop::Kind(Kind::WifiControl)),
        2 => {}
        _ => return Err(Stop::Kind(Kind::WifiOther)),
    }
    require(data, wire, at + 24, "frame shorter than an 802.11 header")?;
    // Bit 2 of a data frame's subtype says that it has no data.
    if subtype & 4 != 0 {
        return Err(Stop::Kind(Kind::WifiOther));
    }
    if control & 0x4000 != 0 {
        return Err(Stop::Kind(Kind::WifiProtected));
    }
    if data[at + 22] & 0xf != 0 || control & 0x0400 != 0 {
        return Err(Stop::Kind(Kind::WifiFragment));
    }
    let four_addresses = control & 0x0300 == 0x0300;
    let mut length = if four_addresses { 30 } else { 24 };
    if subtype & 8 != 0 {
        require(data, wire, at + length + 2, "frame ends inside its QoS control")?;
        if data[at + length] & 0x80 != 0 {
            return Err(Stop::Kind(Kind::WifiAggregate));
        }
        length += if control & 0x8000 != 0 { 6 } else { 2 };
    }
    let body = at + if padded { length.next_multiple_of(4) } else { length };
    Ok((Layer::Llc, body))
}

/// Behind a radiotap header, of which only padding and the verdict on the frame check sequence matter.
pub(crate) fn radiotap(data: &[u8], wire: u32) -> Result<(Layer, usize), Stop> {
    require(data, wire, 8, "packet shorter than a radiotap header")?;
    let length = usize::from(le16(data, 2));
    require(data, wire, length.max(8), "radiotap header longer than the packet")?;
    let present = data[4];
    let mut at = 4;
    // The highest bit of each word of presence bits says that another follows.
    loop {
        at += 4;
        if at > length {
            return Err(Stop::Malformed("radiotap presence bits beyond its header"));
        }
        if data[at - 1] & 0x80 == 0 {
            break;
        }
    }
    if present & 1 != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    let flags = if present & 2 != 0 { data[..length].get(at).copied().unwrap_or(0) } else { 0 };
    if flags & BAD_FCS != 0 {
        return Err(Stop::Kind(Kind::WifiBadFcs));
    }
    frame(data, wire, length, flags & PADDED != 0)
}

/// Behind a Prism header, or the AVS header that some drivers write under the same link type.
pub(crate) fn prism(data: &[u8], wire: u32) -> Result<(Layer, usize), Stop> {
    require(data, wire, 8, "packet shorter than a Prism header")?;
    if be32(data, 0) & 0xffff_f000 == 0x8021_1000 {
        return avs(data, wire);
    }
    let length = u32::from_le_bytes([data[4], data[5], data[6], data[7]]);
    // In the byte order of the host: one of the two is small.
    let length = length.min(length.swap_bytes()) as usize;
    require(data, wire, length, "Prism header longer than the packet")?;
    frame(data, wire, length, false)
}

/// Behind an AVS header.
pub(crate) fn avs(data: &[u8], wire: u32) -> Result<(Layer, usize), Stop> {
    require(data, wire, 8, "packet shorter than an AVS header")?;
    let length = be32(data, 4) as usize;
    require(data, wire, length, "AVS header longer than the packet")?;
    frame(data, wire, length, false)
}
