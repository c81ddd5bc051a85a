//! What Van Jacobson's TCP/IP header compression makes of packets (RFC 1144, appendix A.2).
//!
//! The same compressor as `multitracer.lab.ppp.vj`, from which the lab's link is made; a test holds one to the other.

use std::borrow::Cow;

use super::sizes::Packet;
use crate::ppp::vj::change::{NEW_A, NEW_C, NEW_I, NEW_S, NEW_U, NEW_W, PUSH, SPECIAL_D, SPECIAL_I};

const ACK: u8 = 0x10;
const URG: u8 = 0x20;
/// SYN, FIN, RST and ACK.
const STATE: u8 = 0x17;
const SLOTS: usize = 16;
/// IP and TCP headers with all options.
const MOST_HEADER: usize = 120;

/// As which protocol a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ip,
    Compressed,
    Uncompressed,
}

struct Saved {
    key: [u8; 12],
    slot: u8,
    header: Vec<u8>,
}

/// The compressor of one direction.
pub(crate) struct Compressor {
    /// The connection that was used last is the last one.
    saved: Vec<Saved>,
    leave_slot_out: bool,
    special_cases: bool,
    last_slot: Option<u8>,
}

impl Compressor {
    pub(crate) fn new(leave_slot_out: bool, special_cases: bool) -> Self {
        Self { saved: Vec::with_capacity(SLOTS), leave_slot_out, special_cases, last_slot: None }
    }

    /// What goes over the line of a packet; bytes that were not captured are left out at its end.
    pub(crate) fn compress<'a>(&mut self, packet: Packet<'a>) -> (Kind, Cow<'a, [u8]>) {
        let total = packet.data.len() + packet.unseen();
        // The rules look at headers and the length; what was not captured of a header counts as zeros.
        let mut known = Cow::Borrowed(packet.data);
        if known.len() < MOST_HEADER.min(total) {
            known.to_mut().resize(MOST_HEADER.min(total), 0);
        }
        let Some((tcp, length)) = compressible(&known, total) else { return (Kind::Ip, packet.data.into()) };
        let header = &known[..length];
        let mut key = [0; 12];
        key[..8].copy_from_slice(&header[12..20]);
        key[8..].copy_from_slice(&header[tcp..tcp + 4]);
        let Some(at) = self.saved.iter().position(|one| one.key == key) else {
            let slot = match self.saved.len() {
                SLOTS => self.saved.remove(0).slot,
                used => used as u8,
            };
            self.saved.push(Saved { key, slot, header: header.to_vec() });
            self.last_slot = Some(slot);
            return (Kind::Uncompressed, uncompressed(packet.data, slot));
        };
        let mut saved = self.saved.remove(at);
        let slot = saved.slot;
        let encoded = deltas(header, total, &saved.header, tcp, self.special_cases);
        saved.header.clear();
        saved.header.extend_from_slice(header);
        self.saved.push(saved);
        let Some((changes, deltas)) = encoded else {
            self.last_slot = Some(slot);
            return (Kind::Uncompressed, uncompressed(packet.data, slot));
        };
        let mut out = Vec::with_capacity(packet.data.len());
        if self.leave_slot_out && self.last_slot == Some(slot) {
            out.push(changes);
        } else {
            out.extend([changes | NEW_C, slot]);
            self.last_slot = Some(slot);
        }
        out.extend_from_slice(&header[tcp + 16..tcp + 18]);
        out.extend_from_slice(&deltas);
        // Where the capture ends within the header, what is sent ends as much earlier as bytes are unseen.
        let missing = length.saturating_sub(packet.data.len());
        out.extend_from_slice(packet.data.get(length..).unwrap_or_default());
        out.truncate(out.len().saturating_sub(missing));
        (Kind::Compressed, out.into())
    }
}

fn uncompressed(data: &[u8], slot: u8) -> Cow<'_, [u8]> {
    let mut out = data.to_vec();
    if let Some(protocol) = out.get_mut(9) {
        *protocol = slot;
    }
    out.into()
}

/// Length of the IP header and of both headers; None if the packet is to pass as it is.
fn compressible(packet: &[u8], total: usize) -> Option<(usize, usize)> {
    if total < 40 || packet[0] >> 4 != 4 || packet[9] != 6 {
        return None;
    }
    let tcp = usize::from(packet[0] & 15) * 4;
    if tcp < 20 || total < tcp + 20 {
        return None;
    }
    let options = usize::from(packet[tcp + 12] >> 4) * 4;
    let length = tcp + options;
    if options < 20 || total < length || usize::from(word(packet, 2)) != total {
        return None;
    }
    let fragment = word(packet, 6) & 0x3fff != 0;
    if fragment || packet[tcp + 13] & STATE != ACK {
        return None;
    }
    // The decompressor makes a new checksum: a header that arrived damaged must not be repaired on the way.
    (checksum(&packet[..tcp]) == 0).then_some((tcp, length))
}

/// Change mask and deltas against the saved header; None if it must go uncompressed.
fn deltas(new: &[u8], total: usize, old: &[u8], tcp: usize, special_cases: bool) -> Option<(u8, Vec<u8>)> {
    let same = old.len() == new.len()
        && new[..2] == old[..2]
        && new[6..10] == old[6..10]
        && new[20..tcp] == old[20..tcp]
        && new[tcp + 12] == old[tcp + 12]
        && new[tcp + 20..] == old[tcp + 20..]
        // ECE and CWR are younger than the RFC, which would lose their changes.
        && (new[tcp + 13] ^ old[tcp + 13]) & 0xc0 == 0;
    if !same {
        return None;
    }
    let mut changes = 0;
    let mut out = Vec::new();
    if new[tcp + 13] & URG != 0 {
        encode(&mut out, word(new, tcp + 18), true);
        changes |= NEW_U;
    } else if new[tcp + 18..tcp + 20] != old[tcp + 18..tcp + 20] {
        return None;
    }
    let window = word(new, tcp + 14).wrapping_sub(word(old, tcp + 14));
    if window != 0 {
        encode(&mut out, window, false);
        changes |= NEW_W;
    }
    let ack = u16::try_from(long(new, tcp + 8).wrapping_sub(long(old, tcp + 8))).ok()?;
    let seq = u16::try_from(long(new, tcp + 4).wrapping_sub(long(old, tcp + 4))).ok()?;
    if ack != 0 {
        encode(&mut out, ack, false);
        changes |= NEW_A;
    }
    if seq != 0 {
        encode(&mut out, seq, false);
        changes |= NEW_S;
    }
    let last_data = usize::from(word(old, 2)) - old.len();
    let all_of_last = usize::from(seq) == last_data;
    if changes == 0 {
        // Data behind a bare ACK is fine; the same header again is a retransmission or a window probe.
        if total == usize::from(word(old, 2)) || last_data != 0 {
            return None;
        }
    } else if changes == SPECIAL_I || changes == SPECIAL_D {
        return None; // a real change that looks like one of the special cases
    } else if special_cases && changes == NEW_S | NEW_A && seq == ack && all_of_last {
        (changes, out) = (SPECIAL_I, Vec::new());
    } else if special_cases && changes == NEW_S && all_of_last {
        (changes, out) = (SPECIAL_D, Vec::new());
    }
    let identification = word(new, 4).wrapping_sub(word(old, 4));
    if identification != 1 {
        encode(&mut out, identification, true);
        changes |= NEW_I;
    }
    if new[tcp + 13] & 0x08 != 0 {
        changes |= PUSH;
    }
    Some((changes, out))
}

/// A number of one byte, or a zero byte and two (RFC 1144, section 3.2.2).
fn encode(out: &mut Vec<u8>, value: u16, zero: bool) {
    match u8::try_from(value) {
        Ok(short) if short != 0 || !zero => out.push(short),
        _ => {
            out.push(0);
            out.extend(value.to_be_bytes());
        }
    }
}

fn checksum(header: &[u8]) -> u16 {
    let total: u32 =
        header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (total & 0xffff) + (total >> 16);
    !u16::try_from((folded & 0xffff) + (folded >> 16)).expect("folded twice")
}

fn word(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

fn long(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}
