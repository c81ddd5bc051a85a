//! The state of a header decompressor (RFC 1144): whether what comes out of it is right.

use change::{NEW_A, NEW_C, NEW_I, NEW_S, NEW_U, NEW_W, PUSH, SPECIAL_D, SPECIAL_I};

/// Bits of the first byte of a compressed packet: what differs from the one before (RFC 1144, section 3.2.2).
pub(crate) mod change {
    pub(crate) const NEW_C: u8 = 0x40;
    pub(crate) const NEW_I: u8 = 0x20;
    pub(crate) const PUSH: u8 = 0x10;
    pub(crate) const NEW_S: u8 = 0x08;
    pub(crate) const NEW_A: u8 = 0x04;
    pub(crate) const NEW_W: u8 = 0x02;
    pub(crate) const NEW_U: u8 = 0x01;
    /// Echoed interactive traffic.
    pub(crate) const SPECIAL_I: u8 = NEW_S | NEW_W | NEW_U;
    /// Unidirectional data; all bits that special cases use.
    pub(crate) const SPECIAL_D: u8 = NEW_S | NEW_A | NEW_W | NEW_U;
}

const PROTOCOL: usize = 9;
const TCP: u8 = 6;
const MAX_SLOTS: usize = 256;

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Restored, and its TCP checksum is right.
    Right,
    /// It cannot be restored, or the TCP checksum says that it was restored wrongly.
    Wrong,
    /// An uncompressed packet that sets the state anew.
    Fresh,
}

/// The decompressor of one direction.
#[derive(Debug)]
pub(crate) struct Decompressor {
    headers: Vec<Vec<u8>>,
    last: Option<usize>,
    /// Behind a damaged frame: packets without a connection number are thrown away.
    toss: bool,
}

impl Default for Decompressor {
    fn default() -> Self {
        Decompressor { headers: vec![Vec::new(); MAX_SLOTS], last: None, toss: false }
    }
}

impl Decompressor {
    /// A frame was damaged.
    pub(crate) fn damaged(&mut self) {
        self.toss = true;
    }

    /// An uncompressed packet: its protocol field holds the connection number.
    pub(crate) fn uncompressed(&mut self, packet: &[u8]) -> Outcome {
        let Some(length) = header_length(packet) else { return Outcome::Wrong };
        let slot = usize::from(packet[PROTOCOL]);
        let mut header = packet[..length].to_vec();
        header[PROTOCOL] = TCP;
        self.headers[slot] = header;
        self.last = Some(slot);
        self.toss = false;
        Outcome::Fresh
    }

    /// A compressed packet.
    pub(crate) fn compressed(&mut self, data: &[u8]) -> Outcome {
        self.restore(data).unwrap_or_else(|| {
            self.toss = true;
            Outcome::Wrong
        })
    }

    fn restore(&mut self, data: &[u8]) -> Option<Outcome> {
        let mut rest = Cursor(data);
        let changes = rest.octet()?;
        if changes & NEW_C != 0 {
            self.last = Some(usize::from(rest.octet()?));
            self.toss = false;
        } else if self.toss {
            return Some(Outcome::Wrong);
        }
        let header = self.headers.get_mut(self.last?)?;
        if header.is_empty() {
            return None;
        }
        let ip = usize::from(header[0] & 15) * 4;
        let checksum = [rest.octet()?, rest.octet()?];
        header[ip + 16..ip + 18].copy_from_slice(&checksum);
        let flags = &mut header[ip + 13];
        *flags = if changes & PUSH != 0 { *flags | 0x08 } else { *flags & !0x08 };
        let before =
            usize::from(u16::from_be_bytes([header[2], header[3]])).saturating_sub(header.len()) as u32;
        match changes & SPECIAL_D {
            SPECIAL_I => {
                add32(header, ip + 8, before);
                add32(header, ip + 4, before);
            }
            SPECIAL_D => add32(header, ip + 4, before),
            _ => {
                if changes & NEW_U != 0 {
                    header[ip + 13] |= 0x20;
                    let pointer = rest.delta()?;
                    header[ip + 18..ip + 20].copy_from_slice(&pointer.to_be_bytes());
                } else {
                    header[ip + 13] &= !0x20;
                }
                if changes & NEW_W != 0 {
                    add16(header, ip + 14, rest.delta()?);
                }
                if changes & NEW_A != 0 {
                    add32(header, ip + 8, u32::from(rest.delta()?));
                }
                if changes & NEW_S != 0 {
                    add32(header, ip + 4, u32::from(rest.delta()?));
                }
            }
        }
        add16(header, 4, if changes & NEW_I != 0 { rest.delta()? } else { 1 });
        let total = u16::try_from(header.len() + rest.0.len()).ok()?;
        header[2..4].copy_from_slice(&total.to_be_bytes());
        let packet = [&header[..], rest.0].concat();
        Some(if checksum_is_good(&packet, ip) { Outcome::Right } else { Outcome::Wrong })
    }
}

/// Bytes of the IPv4 and TCP headers at the start of a packet.
fn header_length(packet: &[u8]) -> Option<usize> {
    let ip = usize::from(packet.first()? & 15) * 4;
    let tcp = usize::from(packet.get(ip + 12)? >> 4) * 4;
    (packet[0] >> 4 == 4 && ip >= 20 && tcp >= 20 && packet.len() >= ip + tcp).then_some(ip + tcp)
}

/// Whether a TCP segment behind an IPv4 header of so many bytes has a right checksum (RFC 9293 section 3.1).
fn checksum_is_good(packet: &[u8], ip: usize) -> bool {
    let words = |bytes: &[u8]| -> u64 {
        bytes
            .chunks(2)
            .map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u64::from(*low)))
            .sum()
    };
    let segment = &packet[ip..];
    let mut sum = words(&packet[12..20]) + u64::from(TCP) + segment.len() as u64 + words(segment);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

fn add16(header: &mut [u8], at: usize, delta: u16) {
    let value = u16::from_be_bytes([header[at], header[at + 1]]).wrapping_add(delta);
    header[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

fn add32(header: &mut [u8], at: usize, delta: u32) {
    let value = u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    header[at..at + 4].copy_from_slice(&value.wrapping_add(delta).to_be_bytes());
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn octet(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// One octet, or 0 and two.
    fn delta(&mut self) -> Option<u16> {
        match self.octet()? {
            0 => Some(u16::from_be_bytes([self.octet()?, self.octet()?])),
            small => Some(u16::from(small)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_survived() {
        let mut state = Decompressor::default();
        for first in 0..=255u8 {
            for length in 0..12 {
                let data: Vec<u8> = std::iter::once(first).chain(0..length).collect();
                assert_eq!(state.compressed(&data), Outcome::Wrong);
            }
        }
        assert_eq!(state.uncompressed(&[0x45; 30]), Outcome::Wrong);
        assert_eq!(state.uncompressed(&[0x45; 60]), Outcome::Wrong);
    }
}
