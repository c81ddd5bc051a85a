//! The same packet captured twice: on several interfaces of a host (`-i any`), or by a mirror port.
//!
//! A copy would look like a retransmission, so it must be told from one. What is compared: addresses, ports,
//! sequence, ack, flags, window, length, time stamps, SACK, and the IP identification, which a sender counts
//! up for every packet, sent again or not. Two cases:
//!
//! * Another point of the same host saw it (interface, direction, tunnel), or another of the path: on a shared
//!   segment a packet comes by once more behind a router, with a lower TTL. A point sees a packet once: if one
//!   that saw it sees it again, it was sent again.
//! * The same point saw it again at once. That is a copy only if identifications mean something in its
//!   direction: they vary, and no two packets have shared one. And only if half of its packets come so: a capture
//!   copies all that it sees, a network now and then one, and what the network delivers twice did arrive twice.
//!
//! Without an identification (IPv6, or 0, as Linux has it in every SYN+ACK) only the first case counts, and only within a
//! short time. A lower TTL is another point there too if the time stamp is the same, which a segment that is sent again
//! renews, or if it is a SYN, which no timer sends again so soon; else the path may have changed.
//!
//! Memory is bounded: tables that forget, so that in doubt a packet counts. A mirror puts thousands of packets between
//! the two. A place holds the last two packets that came there; once a copy came late, there is a second table for
//! those that had to leave: of copies 5,000 packets later all but a few in ten thousand are known.

use crate::segment::{Address, Segment, flags::SYN};

const PLACES: usize = 1 << 15;
/// Places of so many identifications that follow each other lie together.
const SIDE_BY_SIDE: u16 = 32;
const DIRECTIONS: usize = 2048;

/// Between two points of a host a packet may wait in a queue.
const ELSEWHERE_NS: u64 = 1_000_000_000;
/// In a router before a slow link; what tells packets apart allows for it.
const QUEUED_NS: u64 = 60_000_000_000;
/// Without an identification.
const UNIDENTIFIED_NS: u64 = 100_000_000;
/// No timer of TCP is so short.
const AT_ONCE_NS: u64 = 2_000_000;

/// A mirror copies a packet within this.
const MIRRORED_NS: u64 = 200_000;

/// Points that have seen a packet; the bridge, its port, the bond, its member.
const POINTS: usize = 4;

#[derive(Debug, Clone, Copy, Default)]
struct Packet {
    hash: u64,
    t_ns: i64,
    points: [u16; POINTS],
}

/// What is known of the identifications of a direction, in one word, which is loaded as it was stored: from the top
/// 32 bits that tell it from others, how many of its last packets came again at once, and how many there were, two
/// flags, and the last identification.
#[derive(Debug, Clone, Copy, Default)]
struct Direction(u64);

/// Remembers the last packets.
pub(crate) struct Copies {
    packets: Box<[[Packet; 2]; PLACES]>,
    /// What left `packets`; empty until a copy came late.
    older: Vec<[Packet; 2]>,
    directions: Box<[Direction; DIRECTIONS]>,
}

impl Default for Copies {
    fn default() -> Self {
        // Too many for the stack; and with so many that the compiler knows it, no place is beyond them.
        let places = vec![[Packet::default(); 2]; PLACES].into_boxed_slice();
        Copies {
            packets: places.try_into().unwrap_or_else(|_| unreachable!("as many as there are places")),
            older: Vec::new(),
            directions: Box::new([Direction::default(); DIRECTIONS]),
        }
    }
}

/// What a segment is looked up by.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Key {
    direction: u64,
    hash: u64,
    place: usize,
    point: u16,
}

impl Key {
    /// That of a segment; `point` is where it was seen.
    #[inline(always)]
    pub(crate) fn of(segment: &Segment, point: u32) -> Self {
        let direction = direction_of(segment);
        let hash = packet_of(segment, direction);
        // A copy that a sender makes has the TTL of the first; without identification, the path may have changed.
        let (hops, place) = match segment.ip_id {
            0 if is_of_one_time(segment) => (u32::from(segment.ttl), hash),
            0 => (0, hash),
            // Packets that share an identification meet in one place, where the later one puts out the earlier. Those
            // that follow each other lie side by side, where the cache holds the place of the next. Further ones are
            // mixed: if places of two directions only lay apart, all packets would meet where one does.
            id => {
                let near = mix(direction, u64::from(id / SIDE_BY_SIDE));
                (u32::from(segment.ttl), near ^ u64::from(id % SIDE_BY_SIDE))
            }
        };
        // Never 0, which means that a place is free.
        let point = ((point ^ hops << 24).wrapping_mul(0x9e37_79b1) >> 16) as u16 | 1;
        Key { direction, hash, place: place as usize % PLACES, point }
    }
}

impl Copies {
    /// Load the places of several segments, which are seldom in the cache: all at once, where one after the other would
    /// wait for each.
    #[inline(never)]
    pub(crate) fn fetch(&self, keys: &[Key]) {
        let loaded = keys.iter().fold(0, |loaded, key| {
            let [last, before] = &self.packets[key.place % PLACES];
            loaded ^ last.hash ^ u64::from(before.points[POINTS - 1])
        });
        std::hint::black_box(loaded);
    }

    /// Whether a segment was captured before; `key` is its own.
    #[inline(always)]
    pub(crate) fn is_copy(&mut self, segment: &Segment, key: &Key) -> bool {
        let Key { direction, hash, place, point } = *key;
        let [last, before] = &mut self.packets[place % PLACES];
        let ids = &mut self.directions[direction as usize % DIRECTIONS];
        if last.hash == hash {
            ids.observe(direction, segment.ip_id, true);
            let late = last.is_late(segment);
            let copy = last.seen_again(segment, point, ids);
            return self.noted(copy, late);
        }
        let again = before.hash == hash;
        ids.observe(direction, segment.ip_id, again);
        // Where packets share identifications, one that came between makes it a packet of its own.
        let known = segment.ip_id == 0 || ids.tell_apart();
        if again && known {
            let late = before.is_late(segment);
            let copy = before.seen_again(segment, point, ids);
            return self.noted(copy, late);
        }
        if !self.older.is_empty() {
            if known && let Some(old) = held(&mut self.older, hash).iter_mut().find(|old| old.hash == hash) {
                return old.seen_again(segment, point, ids);
            }
            let leaves = *before;
            let place = held(&mut self.older, leaves.hash);
            *place = [leaves, place[0]];
        }
        *before = *last;
        *last = Packet { hash, t_ns: segment.t_ns, points: [point, 0, 0, 0] };
        false
    }

    /// The same, where one was found: many more are then.
    #[inline(never)]
    pub(super) fn is_another_copy(&mut self, segment: &Segment, key: &Key) -> bool {
        self.is_copy(segment, key)
    }

    /// Whether it is a copy; from the first late one on, what leaves the table is kept.
    #[inline(always)]
    fn noted(&mut self, copy: bool, late: bool) -> bool {
        if copy && late && self.older.is_empty() {
            self.older = vec![[Packet::default(); 2]; PLACES];
        }
        copy
    }
}

/// Where a packet that left the first table is held: by its hash, so that those of one place go apart.
fn held(older: &mut [[Packet; 2]], hash: u64) -> &mut [Packet; 2] {
    &mut older[(hash >> 32) as usize % PLACES]
}

impl Packet {
    /// Whether a segment comes later than a host's other interface would show it.
    fn is_late(&self, segment: &Segment) -> bool {
        segment.t_ns.abs_diff(self.t_ns) > AT_ONCE_NS
    }

    /// Whether what is the same as this packet is a copy of it; `ids` is its direction.
    #[inline(never)]
    fn seen_again(&mut self, segment: &Segment, point: u16, ids: &mut Direction) -> bool {
        let identified = segment.ip_id != 0;
        let age = segment.t_ns.abs_diff(self.t_ns);
        let longest = if identified && ids.tell_apart() || !identified && segment.options.timestamps.is_some()
        {
            QUEUED_NS
        } else if identified || segment.has(SYN) {
            ELSEWHERE_NS
        } else {
            UNIDENTIFIED_NS
        };
        if age > longest {
            self.renew(segment.t_ns, point);
            return false;
        }
        if self.points.contains(&point) {
            let at_once = identified && age <= AT_ONCE_NS;
            let copied = at_once && ids.copied(age) && (ids.tell_apart() || segment.has(SYN));
            if !copied {
                self.renew(segment.t_ns, point);
            }
            return copied;
        }
        match self.points.iter_mut().find(|place| **place == 0) {
            Some(place) => *place = point,
            // More points than a host has: not what this is about.
            None => return false,
        }
        true
    }

    fn renew(&mut self, t_ns: i64, point: u16) {
        (self.t_ns, self.points) = (t_ns, [point, 0, 0, 0]);
    }
}

/// Whether a segment that is sent again would differ: by its time stamp, or as a SYN by when it comes.
fn is_of_one_time(segment: &Segment) -> bool {
    segment.options.timestamps.is_some() || segment.has(SYN)
}

impl Direction {
    const TAG: u64 = 0xffff_ffff << 32;
    /// Not all identifications were the same.
    const VARIES: u64 = 1 << 16;
    /// Two packets in a row had the same.
    const SHARED: u64 = 1 << 17;

    /// Of the last packets, how many there were.
    const PACKETS: u64 = 0x7f << 18;
    const ONE: u64 = 1 << 18;
    /// And how many of them came again, at once and at the same point.
    const AGAIN: u64 = 0x7f << 25;
    const ONE_AGAIN: u64 = 1 << 25;

    /// Take note of an identification.
    #[inline(always)]
    fn observe(&mut self, direction: u64, id: u16, same: bool) {
        let before = self.0;
        if (before ^ direction) >> 32 != 0 {
            self.0 = direction & Self::TAG | Self::ONE | u64::from(id);
        } else if !same {
            let flag = if before as u16 == id { Self::SHARED } else { Self::VARIES };
            self.0 = (before & !0xffff | flag | u64::from(id)) + Self::ONE;
            if before & Self::PACKETS == Self::PACKETS {
                self.0 -= Self::ONE;
                self.halve();
                self.0 += Self::ONE;
            }
        }
    }

    /// Whether identifications mean something.
    fn tell_apart(&self) -> bool {
        self.0 & (Self::VARIES | Self::SHARED) == Self::VARIES
    }

    /// A packet came again at once: whether half of all do. One is no habit, unless it came as soon as a mirror copies.
    fn copied(&mut self, age_ns: u64) -> bool {
        if self.0 & Self::AGAIN == Self::AGAIN {
            self.halve();
        }
        self.0 += Self::ONE_AGAIN;
        let first = self.0 & Self::AGAIN == Self::ONE_AGAIN;
        (!first || age_ns <= MIRRORED_NS)
            && 2 * ((self.0 & Self::AGAIN) / Self::ONE_AGAIN) >= (self.0 & Self::PACKETS) / Self::ONE
    }

    /// What was longer ago counts less.
    #[cold]
    fn halve(&mut self) {
        let counted = self.0 & (Self::PACKETS | Self::AGAIN);
        self.0 = self.0 & !(Self::PACKETS | Self::AGAIN)
            | counted >> 1 & (Self::PACKETS | Self::AGAIN) & !(1 << 24);
    }
}

/// The golden ratio: neighbouring numbers go apart.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xa076_1d64_78bd_642f);
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline(always)]
fn spread(address: &Address, first: u64) -> u64 {
    let [high, low] = address.halves();
    (low ^ high.wrapping_mul(SPREAD).rotate_left(29)).wrapping_mul(first)
}

#[inline(always)]
fn direction_of(segment: &Segment) -> u64 {
    // Not by 16 bits, which would be read as 32 where 16 were just written, and wait for the store to be through.
    let ports = u64::from(segment.source.1) << 20 | u64::from(segment.destination.1);
    let source = spread(&segment.source.0, 0xa076_1d64_78bd_642f);
    let destination = spread(&segment.destination.0, 0xe703_7ed1_a0b4_28db);
    mix(source ^ ports, destination)
}

#[inline(always)]
fn packet_of(segment: &Segment, direction: u64) -> u64 {
    let numbers = u64::from(segment.seq) << 32 | u64::from(segment.ack);
    // 9 bits, 16, 16, and what is left for the length.
    let (window, id) = (u64::from(segment.window), u64::from(segment.ip_id));
    let rest = u64::from(segment.length) << 41 | id << 25 | window << 9 | u64::from(segment.flags);
    let options = &segment.options;
    let packet = mix(direction ^ numbers, rest);
    if options.timestamps.is_none() && options.sack_count == 0 {
        return packet.max(1);
    }
    let (value, echo) = options.timestamps.unwrap_or((0, 0));
    let stamps = u64::from(value) << 32 | u64::from(echo);
    let sack = u64::from(options.sack[0].0) << 32 | u64::from(options.sack[0].1);
    mix(packet ^ stamps, sack).max(1)
}

#[cfg(test)]
mod tests;
