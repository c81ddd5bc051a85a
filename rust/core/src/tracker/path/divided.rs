//! The payload of a full segment where no SYN told the MSS, and the sender's network card divides what it sends (TSO): most
//! segments are whole multiples of it then.

use crate::tracker::fields::{Fields, Walk, walk_over};

/// No path has a smaller one (RFC 9293 section 3.7.1: an MSS of 536, with timestamps).
const LEAST: u32 = 524;
/// Payload that one packet of Ethernet has at most: longer ones are divided, or their link takes longer packets.
const ONE_PACKET: u32 = 1460;
/// Segments in a row that are no multiples of it are too many beyond this.
const MOST: u8 = 32;

/// By vote: what the end of a write leaves is no multiple of anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Divided {
    size: u32,
    votes: u8,
}

impl Fields for Divided {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Divided { size, votes } = self;
        walk_over!(walk: size, votes);
    }
}

impl Divided {
    /// A segment of so much payload.
    pub fn see(&mut self, length: u32) {
        let common = common(self.size, length);
        if common >= LEAST {
            (self.size, self.votes) = (common, (self.votes + 1).min(MOST));
        } else if self.votes == 0 {
            (self.size, self.votes) = (length, 1);
        } else {
            self.votes -= 1;
        }
    }

    /// Whether so much payload may be several packets of a size that no SYN told.
    pub fn may_divide(&self, length: u32) -> bool {
        self.size > 0 && length > ONE_PACKET
    }

    /// Payload of a full segment, of which the `largest` seen is one, or several.
    pub fn full(&self, largest: u32) -> u32 {
        if largest > ONE_PACKET && self.size > 0 && largest.is_multiple_of(self.size) {
            self.size
        } else {
            largest
        }
    }
}

/// The largest common divisor.
fn common(mut one: u32, mut other: u32) -> u32 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(lengths: &[u32]) -> u32 {
        let mut divided = Divided::default();
        lengths.iter().for_each(|&length| divided.see(length));
        divided.full(lengths.iter().copied().max().unwrap_or(0))
    }

    #[test]
    fn most_segments_are_multiples_of_a_full_one() {
        assert_eq!(full(&[2896, 4344, 2896]), 1448);
        assert_eq!(full(&[900, 2856, 172, 2856, 1428, 2856]), 1428);
        assert_eq!(full(&[4344, 4344, 3792, 4344, 2896, 3792]), 1448);
    }

    #[test]
    fn what_fits_into_one_packet_is_one() {
        assert_eq!(full(&[1200, 600, 1200, 600]), 1200);
        assert_eq!(full(&[8948, 8948, 100, 8948]), 8948);
    }
}
