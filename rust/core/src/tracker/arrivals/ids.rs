//! The IP identification of one direction as a count of transmissions.
//!
//! Linux numbers the packets of a socket in turn, with DF set or not; others number all packets of the host, or draw
//! numbers, or send zero (RFC 6864). Only what a direction itself has shown is used. A captured super-segment takes as
//! many numbers as it becomes packets.

use crate::segment::{Segment, flags};
use crate::tracker::fields::{Fields, Walk, walk_over};

/// A step further than this is no loss but another counter.
const FAR: i64 = 8192;
/// Packets after which a direction without any step of one is given up.
const PATIENCE: u16 = 64;
/// Steps of one before the count is trusted.
const ENOUGH: u16 = 3;
/// Payload of a packet where no SYN tells.
const USUAL_BYTES: u32 = 1460;
/// What timestamps take of each (RFC 7323 appendix A).
const TIMESTAMP_BYTES: u32 = 12;

/// What the direction has shown of its numbers, and the next that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ids {
    /// The next number, not wrapped.
    pub(super) next: i64,
    /// Largest payload of one packet, options included: the smaller MSS that a SYN announced (RFC 6691); 0 if none was seen.
    whole: u32,
    /// Packets with the number expected.
    hits: u16,
    /// Packets without, less those that were only overtaken.
    misses: u16,
    /// Packets a little ahead, as in a counter that others take from.
    ahead: u16,
    /// Where a strange number was expected to go on.
    elsewhere: u16,
    /// Packets of which both the number and the sequence numbers were left out.
    holes: u16,
}

/// Where a number stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The one expected, or not to be judged.
    Next,
    /// So many numbers were left out.
    Ahead(i64),
    /// Before the newest; it is this, not wrapped.
    Behind(i64),
    /// Of another counter.
    Strange,
}

impl Ids {
    /// The smaller MSS of both SYNs, or of the one captured; 0 if unknown.
    #[inline(always)]
    pub(in crate::tracker) fn agreed_mss(&self) -> u32 {
        self.whole
    }

    /// The MSS that limits this direction.
    pub(in crate::tracker) fn learn_mss(&mut self, mss: u16) {
        self.whole = u32::from(mss);
    }

    /// Whether the next packet, if nothing is lost or out of order, has this number; it is taken then.
    #[inline(always)]
    pub(in crate::tracker) fn goes_on(&mut self, segment: &Segment) -> bool {
        if segment.ip_id != self.next as u16
            || segment.length > self.limit(segment.options.timestamps.is_some())
        {
            return false;
        }
        self.next += 1;
        self.hits = self.hits.saturating_add(1);
        true
    }

    /// Payload that one packet may have: an MSS that was agreed counts the options that come with data (RFC 6691 section 2).
    #[inline(always)]
    fn limit(&self, timestamps: bool) -> u32 {
        match self.whole {
            0 => USUAL_BYTES,
            whole if timestamps && whole > TIMESTAMP_BYTES => whole - TIMESTAMP_BYTES,
            whole => whole,
        }
    }

    /// Packets that a segment takes.
    pub(super) fn packets(&self, segment: &Segment) -> i64 {
        self.packets_of(i64::from(segment.length), segment.options.timestamps.is_some())
    }

    /// Packets that so many bytes take.
    pub(in crate::tracker) fn packets_of(&self, bytes: i64, timestamps: bool) -> i64 {
        if bytes <= i64::from(self.limit(timestamps)) {
            return 1;
        }
        let payload = self.payload(timestamps);
        (bytes + payload - 1) / payload
    }

    /// Payload of a full packet.
    pub(super) fn payload(&self, timestamps: bool) -> i64 {
        let (whole, options) = (i64::from(self.limit(false)), i64::from(TIMESTAMP_BYTES));
        if timestamps && whole > options { whole - options } else { whole }
    }

    /// Whether nothing is to be learned from the numbers. One hit may be the first packet's, whose number was not
    /// expected: all are 0 then.
    #[inline(always)]
    pub(in crate::tracker) fn is_idle(&self) -> bool {
        self.misses >= PATIENCE && self.hits <= 1 && self.ahead == 0
    }

    /// The numbers may yet turn out to count.
    pub(super) fn is_plausible(&self) -> bool {
        self.misses <= self.hits.saturating_mul(2).saturating_add(16)
    }

    /// Others take numbers of the same counter: what is left out says nothing.
    pub(super) fn are_the_hosts(&mut self) {
        (self.hits, self.misses) = (0, u16::MAX);
    }

    /// The numbers count this direction's packets, each once.
    pub(super) fn counts(&self) -> bool {
        self.hits >= ENOUGH && self.hits >= self.misses
    }

    /// Whether the packet just seen had exactly the number expected.
    pub(super) fn is_last(&self, segment: &Segment) -> bool {
        let expected = self.next - self.packets(segment);
        self.hits > 0 && segment.ip_id != 0 && segment.ip_id == expected as u16
    }

    /// As many numbers were left out as packets of sequence numbers were: that is what numbers that count do.
    pub(super) fn accounts_for(&mut self, packets: i64) {
        self.holes = self.holes.saturating_add(u16::try_from(packets).unwrap_or(u16::MAX));
        self.hits = self.hits.saturating_add(1);
        self.misses = self.misses.saturating_sub(1);
    }

    /// How many packets were lost before this point while later ones were on their way.
    pub(super) fn holes(&self) -> i64 {
        i64::from(self.holes)
    }

    /// The numbers grow with time, whatever else takes some of them.
    pub(super) fn grows(&self) -> bool {
        let steady = u32::from(self.hits) + u32::from(self.ahead);
        steady >= 8 && steady >= 8 * u32::from(self.misses.saturating_sub(self.ahead))
    }

    /// Any packet that [does not go on](Ids::goes_on).
    pub(super) fn see(&mut self, segment: &Segment) -> Step {
        if segment.has(flags::SYN) || segment.has(flags::RST) {
            // An answer to a SYN, and a RST, may come from another counter than that of the connection.
            if self.hits == 0 && self.misses == 0 {
                let next = i64::from(segment.ip_id) + 1;
                if next > 1 && next == self.next && segment.has(flags::SYN) {
                    return Step::Behind(next - 1);
                }
                self.next = next;
            }
            return Step::Next;
        }
        let packets = self.packets(segment);
        // Linux answers a SYN with the number 0, whatever it counts from then on.
        if self.hits <= 1 && self.misses == 0 && self.next <= 1 && segment.ip_id != 0 {
            self.next = i64::from(segment.ip_id) + packets;
            return Step::Next;
        }
        let ahead = i64::from(segment.ip_id.wrapping_sub(self.next as u16) as i16);
        if self.hits == u16::MAX {
            (self.hits, self.misses, self.ahead) = (self.hits / 2, self.misses / 2, self.ahead / 2);
        }
        if ahead == 0 {
            self.hits += 1;
            self.next += packets;
            return Step::Next;
        }
        if !(-FAR..FAR).contains(&ahead) {
            self.misses = self.misses.saturating_add(1);
            if segment.ip_id == self.elsewhere {
                self.next += ahead + packets;
            }
            self.elsewhere = segment.ip_id.wrapping_add(packets as u16);
            return Step::Strange;
        }
        if ahead > 0 {
            self.misses = self.misses.saturating_add(1);
            if ahead < 256 {
                self.ahead = self.ahead.saturating_add(1);
            }
            self.next += ahead + packets;
            return Step::Ahead(ahead);
        }
        Step::Behind(self.next + ahead)
    }

    /// A number before the newest: had it been left out, it was overtaken, and its place in the count is found; else
    /// the numbers do not count, or a packet came twice.
    pub(super) fn came_late(&mut self, left_out: bool) {
        if left_out {
            self.hits = self.hits.saturating_add(1);
            self.misses = self.misses.saturating_sub(1);
        } else if !self.counts() {
            self.misses = self.misses.saturating_add(1);
        }
    }
}

impl Fields for Ids {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Ids { next, whole, hits, misses, ahead, elsewhere, holes } = self;
        walk_over!(walk: next, whole, hits, misses, ahead, elsewhere, holes);
    }
}
