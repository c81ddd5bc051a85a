//! 802.11 frames that hold several packets, and those that hold a part of one.
//!
//! Reference: IEEE 802.11-2020 sections 9.3.2.2 (A-MSDU), 10.4 (fragmentation), 10.5 (defragmentation).

use std::collections::HashMap;

use super::record::Record;
use crate::wifi::{Header, Mac, control, decode_header, decode_radio};

const FCS: usize = 4;
/// Packets whose parts are waited for at a time; a receiver needs to keep three.
const HELD: usize = 64;
/// Bytes kept of each: 16 fragments of the longest body.
const MOST: usize = 16 * 2346;
/// Parts of a packet that are further apart are of two.
const LIFETIME_NS: i64 = 10_000_000_000;

/// A packet put together, with its LLC header.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Packet {
    /// What was captured of it without a hole.
    pub data: Vec<u8>,
    /// Its length.
    pub wire: usize,
}

/// What a frame holds.
pub(crate) enum Inside<'a> {
    /// A part that others must follow, or that lacks those before it.
    Nothing,
    /// The last part: the packet.
    Whole(Packet),
    /// Several packets.
    Several {
        /// What was captured of the frame's body.
        body: &'a [u8],
        /// Bytes of the body when it was sent.
        wire: usize,
    },
}

/// Sender, receiver, traffic identifier, sequence number.
type Key = (Mac, Mac, Option<u8>, u16);

struct Held {
    packet: Packet,
    /// Number of the next part.
    next: u8,
    t_ns: i64,
}

/// Parts that wait for those that follow.
#[derive(Default)]
pub(crate) struct Parts {
    held: HashMap<Key, Held>,
}

impl Parts {
    pub(crate) fn take<'a>(&mut self, record: &Record<'a>) -> Inside<'a> {
        let Some((header, body, wire)) = frame(record) else { return Inside::Nothing };
        if header.fragment == 0 && !header.has(control::MORE) {
            return if header.aggregated { Inside::Several { body, wire } } else { Inside::Nothing };
        }
        self.part(&header, record.t_ns, body, wire).map_or(Inside::Nothing, Inside::Whole)
    }

    /// Add a part; the packet, if it was the last.
    fn part(&mut self, header: &Header, t_ns: i64, body: &[u8], wire: usize) -> Option<Packet> {
        let key = (header.ta?, header.ra, header.tid, header.sequence?);
        if header.fragment == 0 {
            self.make_room(t_ns);
            let packet = Packet { data: body.to_vec(), wire };
            self.held.insert(key, Held { packet, next: 1, t_ns });
            return None;
        }
        let held = self.held.get_mut(&key)?;
        // The same part again.
        if header.fragment < held.next {
            return None;
        }
        let room = held.packet.wire + wire <= MOST && t_ns.saturating_sub(held.t_ns).abs() <= LIFETIME_NS;
        if header.fragment > held.next || !room {
            self.held.remove(&key);
            return None;
        }
        // Behind a part that was cut nothing has its place.
        if held.packet.data.len() == held.packet.wire {
            held.packet.data.extend_from_slice(body);
        }
        held.packet.wire += wire;
        held.next += 1;
        if header.has(control::MORE) { None } else { self.held.remove(&key).map(|held| held.packet) }
    }

    fn make_room(&mut self, t_ns: i64) {
        if self.held.len() < HELD {
            return;
        }
        self.held.retain(|_, held| t_ns.saturating_sub(held.t_ns).abs() <= LIFETIME_NS);
        if self.held.len() >= HELD
            && let Some(oldest) = self.held.iter().min_by_key(|(_, held)| held.t_ns).map(|(&key, _)| key)
        {
            self.held.remove(&oldest);
        }
    }
}

/// The header of a frame that can be read, and its body.
fn frame<'a>(record: &Record<'a>) -> Option<(Header, &'a [u8], usize)> {
    let (radio, at) = decode_radio(record.link_type, record.data).ok()?;
    let wire = (record.wire_length as usize).saturating_sub(at + if radio.fcs { FCS } else { 0 });
    let data = record.data.get(at..)?;
    let data = &data[..data.len().min(wire)];
    let header = decode_header(data, wire).ok()?;
    let length = header.length + if radio.padded { header.length.wrapping_neg() % 4 } else { 0 };
    Some((header, data.get(length..)?, wire.saturating_sub(length)))
}
