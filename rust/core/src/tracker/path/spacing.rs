//! A queue of the sender's own that takes segments of many packets (TSO), and sends each when the link has taken the one before:
//! the time behind a segment is as long as the link needs for it, whatever its length. No round trip from here shows that queue,
//! and no window: an application that writes as much each time keeps the same time, not the same rate. Where the host divides such
//! a segment behind that queue, its packets follow each other at once.

use super::Link;
use crate::tracker::fields::{Fields, Walk, walk_over};

/// Rates within this part of each other are the same.
const ALIKE: f64 = 0.03;
/// So many segments at that rate, of another length than the one before by a tenth...
const VARIED: u32 = 6;
/// ...and for this part of the time, show a link.
const MOST: f64 = 0.6;
/// A sender fills a segment with no more than this...
const MOST_BYTES: u32 = 65_536;
/// ...and what follows within this is of the same segment, which the receiver's host divided (GRO); a link of 1.3 Gbit/s needs as long
/// for half of the longest.
const DIVIDED_NS: i64 = 200_000;
/// An ACK releases fewer full segments, but in slow start.
const SEGMENTS: i64 = 3;

/// Segments longer than a full one, and the time behind them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spacing {
    /// How many more had the rate of those below than not.
    votes: u32,
    /// How many of them had another length than the one before, and the length of that.
    varied: u32,
    before: u32,
    /// Where the first of those begins that follow each other at once.
    pub from: i64,
    /// Bytes and time at that rate, and time of all.
    alike_bytes: u64,
    alike_ns: i64,
    all_ns: i64,
}

impl Fields for Spacing {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        // Where they begin is kept with what they follow.
        let Spacing { votes, varied, before, from: _, alike_bytes, alike_ns, all_ns } = self;
        walk_over!(walk: votes, varied, before, alike_bytes, alike_ns, all_ns);
    }
}

impl Spacing {
    /// Nothing is kept of whoever sends no such segments.
    pub fn any(&self) -> bool {
        Spacing { from: 0, ..*self } != Spacing::default()
    }

    /// A full segment ends at a byte, and the time until the next: it may be the last of a longer one that the host divided.
    #[inline(always)]
    pub fn behind_full(&mut self, (unit, end): (i64, i64), gap_ns: i64) {
        if gap_ns > DIVIDED_NS {
            let all = end.wrapping_sub(self.from);
            if all >= SEGMENTS * unit && all <= i64::from(MOST_BYTES) {
                self.behind((all as u32, end), gap_ns);
            }
            self.from = end;
        }
    }

    /// A segment of so many bytes ends at a byte, and the time until the next.
    #[cold]
    pub fn behind(&mut self, (length, end): (u32, i64), gap_ns: i64) {
        self.all_ns = self.all_ns.saturating_add(gap_ns);
        if gap_ns <= DIVIDED_NS {
            return;
        }
        let all = u32::try_from(end.saturating_sub(self.from)).unwrap_or(0);
        self.from = end;
        // The first that is looked at, and what was sent again, is as long as it is.
        let length = if (length..=MOST_BYTES).contains(&all) { all } else { length };
        let rate = f64::from(length) * 1e9 / gap_ns as f64;
        if (rate / self.rate() - 1.0).abs() <= ALIKE {
            self.votes = self.votes.saturating_add(1);
            self.alike_bytes = self.alike_bytes.saturating_add(u64::from(length));
            self.alike_ns = self.alike_ns.saturating_add(gap_ns);
            self.varied += u32::from(length.abs_diff(self.before) > self.before / 10);
        } else if self.votes > 1 {
            self.votes -= 1;
        } else {
            (self.votes, self.varied) = (1, 0);
            (self.alike_bytes, self.alike_ns) = (u64::from(length), gap_ns);
        }
        self.before = length;
    }

    /// Bytes a second.
    fn rate(&self) -> f64 {
        (self.alike_bytes as f64).max(1.0) * 1e9 / self.alike_ns.max(1) as f64
    }

    /// The link that this shows.
    pub fn link(&self) -> Option<Link> {
        let full = self.alike_ns as f64 / self.all_ns.max(1) as f64;
        (self.varied >= VARIED && full >= MOST).then_some(Link {
            bytes_per_s: self.rate() as u64,
            full_permille: (full * 1000.0) as u32,
            fair: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(segments: impl Iterator<Item = (u32, i64)>) -> Option<Link> {
        let (mut spacing, mut end) = (Spacing::default(), 0);
        segments.for_each(|(length, gap_ns)| {
            end += i64::from(length);
            spacing.behind((length, end), gap_ns);
        });
        spacing.link()
    }

    #[test]
    fn a_time_that_goes_with_the_length_is_that_of_a_link() {
        let lengths = (1..30).map(|number| 3000 + 20_000 * (number % 3));
        let link = of(lengths.map(|length| (length, i64::from(length) * 2000 + 5000))).expect("a link");
        assert!((link.bytes_per_s as f64 / 500_000.0 - 1.0).abs() < 0.01, "{link:?}");
        assert_eq!(link.full_permille, 1000);
    }

    #[test]
    fn a_segment_that_the_receiver_s_host_divided_is_one() {
        let parts = |number: u32| {
            let (first, second) = (20_000, 1000 + 9000 * (number % 3));
            [(first, 60_000), (second, i64::from(first + second) * 2000)]
        };
        let link = of((1..30).flat_map(parts)).expect("a link");
        assert!((link.bytes_per_s as f64 / 500_000.0 - 1.0).abs() < 0.01, "{link:?}");
    }

    /// Bursts of full segments, as a shaper sends what the host divides behind it; and the same behind single ones.
    #[test]
    fn bursts_that_the_sender_s_host_divided_are_segments() {
        for (most, found) in [(20, true), (2, false)] {
            let (mut spacing, mut end) = (Spacing::default(), 0);
            for number in 1..40 {
                let segments = 1 + number % most;
                end += 1000 * segments;
                spacing.behind_full((1000, end), segments * 2_000_000);
            }
            let link = spacing.link();
            assert_eq!(link.is_some(), found);
            assert!(link.is_none_or(|link| (link.bytes_per_s as f64 / 500_000.0 - 1.0).abs() < 0.01));
        }
    }

    #[test]
    fn as_much_each_time_may_be_what_an_application_writes() {
        assert_eq!(of((0..30).map(|_| (40_000, 50_000_000))), None);
    }

    #[test]
    fn a_time_that_is_always_the_same_is_no_link_s() {
        assert_eq!(of((1..30).map(|number| (3000 + 20_000 * (number % 3), 40_000_000))), None);
    }
}
