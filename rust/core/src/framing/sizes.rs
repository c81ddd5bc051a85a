//! Bytes that packets take on a line: PPP in HDLC-like framing (RFC 1662), escapes and header compression.

use super::vj::{Compressor, Kind};
use crate::fcs::FCS16;

const PPP_IP: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const PPP_VJ_COMPRESSED: u16 = 0x002d;
const PPP_VJ_UNCOMPRESSED: u16 = 0x002f;

/// A packet as far as it was captured.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// On the wire.
    pub length: usize,
    /// Its first bytes.
    pub data: &'a [u8],
}

impl Packet<'_> {
    /// Bytes that were not captured.
    #[must_use]
    pub fn unseen(&self) -> usize {
        self.length.saturating_sub(self.data.len())
    }
}

/// What PPP makes of a packet; see `multitracer.layers.framemap.sizes.Framing`.
#[derive(Clone, Copy, Debug)]
pub struct Framing {
    /// Address and control field are sent.
    pub address: bool,
    /// The protocol takes one byte.
    pub short_protocol: bool,
    /// Flags that a frame has of its own.
    pub flags: u8,
    /// Control characters that are escaped.
    pub accm: u32,
    /// The compressor's ways, if it is used: slot numbers left out, special cases used.
    pub vj: Option<(bool, bool)>,
}

/// Sizes in the stream, without an opening flag: those that are certain, and how many bytes of them may be escaped
/// as they were not captured.
#[must_use]
pub fn sizes(framing: Framing, packets: &[Packet<'_>]) -> (Vec<i64>, Vec<i64>) {
    let mut compressor = framing.vj.map(|(leave, special)| Compressor::new(leave, special));
    let mut escaped = [false; 256];
    for (byte, special) in escaped.iter_mut().enumerate().take(32) {
        *special = framing.accm >> byte & 1 == 1;
    }
    escaped[0x7d] = true;
    escaped[0x7e] = true;
    let (mut known, mut blind) = (Vec::with_capacity(packets.len()), Vec::with_capacity(packets.len()));
    for packet in packets {
        let (kind, information) = match &mut compressor {
            Some(compressor) => compressor.compress(*packet),
            None => (Kind::Ip, packet.data.into()),
        };
        let protocol = match kind {
            Kind::Ip if packet.data.first().is_some_and(|first| *first >= 0x60) => PPP_IPV6,
            Kind::Ip => PPP_IP,
            Kind::Compressed => PPP_VJ_COMPRESSED,
            Kind::Uncompressed => PPP_VJ_UNCOMPRESSED,
        };
        let [high, low] = protocol.to_be_bytes();
        let head = [0xff, 0x03, high, low];
        let head = match (framing.address, framing.short_protocol) {
            (true, false) => &head[..],
            (true, true) => &[0xff, 0x03, low],
            (false, false) => &head[2..],
            (false, true) => &head[3..],
        };
        let escapes = |bytes: &[u8]| bytes.iter().filter(|byte| escaped[usize::from(**byte)]).count();
        let unseen = packet.unseen();
        let mut size = head.len() + information.len() + 2 + usize::from(framing.flags) + unseen;
        size += escapes(head) + escapes(&information);
        if unseen == 0 {
            let mut check = FCS16.digest();
            check.update(head);
            check.update(&information);
            size += escapes(&check.finalize().to_le_bytes());
        }
        known.push(i64::try_from(size).unwrap_or(i64::MAX));
        blind.push(if unseen > 0 { i64::try_from(unseen + 2).unwrap_or(i64::MAX) } else { 0 });
    }
    (known, blind)
}
