//! What was delivered and how long the queue was over time, in few bins of widths that fit each other, so that
//! connections can be laid side by side.

use super::trains::ALIKE;
use crate::tracker::fields::{Fields, Walk, walk_over};
use std::borrow::Cow;

/// Bins at most; the width doubles when they are full.
pub(super) const BINS: usize = 64;
/// The first width, as a power of two of nanoseconds (about a millisecond).
const FIRST: u32 = 20;
/// Bins of which a rate is taken, at least, and what those in the middle hold.
const FEW: usize = 6;
const ENOUGH: u64 = 40_000;
/// ACKs of those: where a shaper releases, or a receiver acknowledges, dozens of segments at once, one such clump more or less
/// would be a change.
const MANY: u64 = 6;

/// Part of its rate that a link brings at least while it is full.
const FULL: f64 = 0.9;
/// What did not arrive of more than this part of what passed was lost behind this point.
const LOST: f64 = 0.02;

/// All of it.
pub(super) fn sum(bytes: &[u64]) -> f64 {
    bytes.iter().map(|&bytes| bytes as f64).sum()
}

fn sum_of(bins: &[Bin], of: fn(&Bin) -> u64) -> u64 {
    bins.iter().map(of).sum()
}

/// The part of what passed here that a link behind this point carried: of what it dropped, it carried nothing.
pub(super) fn carried(arrived: f64, passed: f64) -> f64 {
    if arrived > 0.0 && arrived < (1.0 - LOST) * passed { arrived / passed } else { 1.0 }
}

/// One bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bin {
    /// Bytes that arrived, by ACKs, and payload that passed here.
    pub bytes: u64,
    pub passed: u64,
    /// Sum of what the round trip took over its smallest, nanoseconds, and of how many ACKs.
    pub queued_ns: u64,
    pub acks: u32,
}

impl Fields for Bin {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Bin { bytes, passed, queued_ns, acks } = self;
        // Nearly all that passes arrives.
        let mut more = passed.wrapping_sub(*bytes) as i64;
        walk_over!(walk: bytes, &mut more, queued_ns, acks);
        *passed = bytes.wrapping_add(more as u64);
    }
}

impl Bin {
    fn take_in(&mut self, other: Bin) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.passed = self.passed.saturating_add(other.passed);
        self.queued_ns = self.queued_ns.saturating_add(other.queued_ns);
        self.acks = self.acks.saturating_add(other.acks);
    }
}

/// Bins from `first` on, each `2^width` nanoseconds wide and beginning at a multiple of that.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Series {
    pub bins: Vec<Bin>,
    pub first: i64,
    pub width: u32,
}

impl Fields for Series {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Series { bins, first, width } = self;
        let mut count = bins.len() as u32;
        walk_over!(walk: first, width, &mut count);
        if W::READS {
            *bins = vec![Bin::default(); (count as usize).min(BINS)];
        }
        bins.iter_mut().for_each(|bin| bin.walk(walk));
    }
}

impl Series {
    /// An ACK: so many bytes arrived, while so much was queued, and so much passed since the ACK before.
    #[inline(always)]
    pub fn add(&mut self, t_ns: i64, bytes: i64, queued_ns: i64, passed: u64) {
        let bin = self.at(t_ns);
        bin.passed = bin.passed.saturating_add(passed);
        bin.bytes = bin.bytes.saturating_add(bytes.max(0) as u64);
        bin.queued_ns = bin.queued_ns.saturating_add(queued_ns.max(0) as u64);
        bin.acks = bin.acks.saturating_add(1);
    }

    /// An ACK of the first few, of which the queue is not known.
    pub fn begin(&mut self, t_ns: i64, bytes: i64, passed: u64) {
        let bin = self.at(t_ns);
        bin.passed = bin.passed.saturating_add(passed);
        bin.bytes = bin.bytes.saturating_add(bytes.max(0) as u64);
    }

    /// An ACK that brought nothing new.
    pub fn pass(&mut self, t_ns: i64, passed: u64) {
        let bin = self.at(t_ns);
        bin.passed = bin.passed.saturating_add(passed);
    }

    #[inline(always)]
    fn at(&mut self, t_ns: i64) -> &mut Bin {
        let place = (t_ns >> self.width).wrapping_sub(self.first) as usize;
        if place < self.bins.len() { &mut self.bins[place] } else { self.bin_at(t_ns) }
    }

    /// The bin of a time for which there is none yet.
    #[cold]
    fn bin_at(&mut self, t_ns: i64) -> &mut Bin {
        if self.bins.is_empty() {
            (self.width, self.first) = (FIRST, t_ns >> FIRST);
        }
        let mut place = (t_ns >> self.width).wrapping_sub(self.first);
        while place >= BINS as i64 && self.width < 62 {
            self.widen();
            place = (t_ns >> self.width).wrapping_sub(self.first);
        }
        let place = place.clamp(0, BINS as i64 - 1) as usize;
        if place >= self.bins.len() {
            self.bins.resize(place + 1, Bin::default());
        }
        &mut self.bins[place]
    }

    /// From the first bin to the last.
    pub fn span_ns(&self) -> i64 {
        (self.bins.len() as i64) << self.width
    }

    /// What was found with the first ACK had come since then, evenly as far as is known: so many bytes.
    pub fn open_at(&mut self, since_ns: i64, bytes: u64) {
        let place = |width: u32| since_ns >> width;
        while self.width < 62
            && self.first.saturating_sub(place(self.width)) + self.bins.len() as i64 > BINS as i64
        {
            self.widen();
        }
        let more = self.first.saturating_sub(place(self.width));
        let Some(found) = self.bins.first().filter(|_| more > 0) else { return };
        let (bytes, passed) = (bytes.min(found.bytes), bytes.min(found.passed));
        let more = more as u64;
        let parts = |of: u64| (0..more).map(move |at| of * (at + 1) / (more + 1) - of * at / (more + 1));
        let before = parts(bytes).zip(parts(passed));
        let before: Vec<Bin> =
            before.map(|(bytes, passed)| Bin { bytes, passed, ..Bin::default() }).collect();
        self.bins[0].bytes -= sum_of(&before, |bin| bin.bytes);
        self.bins[0].passed -= sum_of(&before, |bin| bin.passed);
        self.bins.splice(0..0, before);
        self.first -= more as i64;
    }

    /// The rate, bytes a second, that most bins share, or else that a fifth of them exceed; `None` if there are too few.
    pub fn fast_rate(&self) -> Option<f64> {
        let (series, bytes) = self.in_bins_of(0)?;
        let usual = plateau_alone(&bytes).or_else(|| series.passed_plateau(&bytes));
        let usual = usual.unwrap_or(bytes[bytes.len() * 4 / 5] as f64);
        Some(usual * 1e9 / series.width_ns())
    }

    /// The same of what passed here: where ACKs come in clumps, data shows the rate.
    fn passed_plateau(&self, arrived: &[u64]) -> Option<f64> {
        let passed = self.sorted(|bin| bin.passed);
        plateau_alone(&passed).map(|usual| usual * carried(sum(arrived), sum(&passed)))
    }

    /// How long a link of that rate, bytes a second, was full: the time of bins as wide as a round trip, or wider, through which it
    /// brought as much as it can, but for the spacing of segments.
    pub fn full_ns(&self, rate: f64, round_trip_ns: i64) -> f64 {
        let Some((series, bytes)) = self.in_bins_of(round_trip_ns) else { return 0.0 };
        let least = FULL * rate * series.width_ns() / 1e9;
        bytes.iter().filter(|&&bytes| bytes as f64 >= least).count() as f64 * series.width_ns()
    }

    /// In bins of so much time at least, which hold enough that a few packets more or less, or later, are no change, and what
    /// arrived in each of them, the least first; `None` if there are too few.
    fn in_bins_of(&self, least_ns: i64) -> Option<(Cow<'_, Series>, Vec<u64>)> {
        let mut series = Cow::Borrowed(self);
        while series.bins.len() >= FEW + 2 {
            let bytes = series.sorted(|bin| bin.bytes);
            let acks = series.sorted(|bin| bin.acks.into());
            let enough = bytes[bytes.len() / 2] >= ENOUGH && acks[acks.len() / 2] >= MANY;
            if enough && series.width_ns() >= least_ns as f64 {
                return Some((series, bytes));
            }
            series.to_mut().widen();
        }
        None
    }

    /// Of a bin.
    pub fn width_ns(&self) -> f64 {
        (1u64 << self.width) as f64
    }

    /// What the bins hold throughout which it was there: all but the first and the last.
    pub fn whole(&self, of: fn(&Bin) -> u64) -> Vec<u64> {
        self.bins[1..self.bins.len() - 1].iter().map(of).collect()
    }

    /// The same, the least first.
    fn sorted(&self, of: fn(&Bin) -> u64) -> Vec<u64> {
        let mut held = self.whole(of);
        held.sort_unstable();
        held
    }

    /// Twice the width.
    #[cold]
    pub fn widen(&mut self) {
        let odd = (self.first & 1) as usize;
        let count = (self.bins.len() + odd).div_ceil(2);
        let mut wide = vec![Bin::default(); count];
        for (place, bin) in self.bins.iter().enumerate() {
            wide[(place + odd) / 2].take_in(*bin);
        }
        (self.bins, self.first, self.width) = (wide, self.first >> 1, self.width + 1);
    }
}

/// Bins that differ by no more hold the same but for a packet.
const NEAR: f64 = 1.0 / 16.0;

/// What the bins hold that are alike, if these are most of all: a link at its rate. A shaper that saved tokens in a pause,
/// and a host that stood still, fill a few bins far more than that.
fn alike(sorted: &[u64]) -> Option<&[u64]> {
    let until = |low: u64| sorted.partition_point(|&bytes| bytes as f64 <= low as f64 * (1.0 + ALIKE));
    let held = |&from: &usize| until(sorted[from]) - from;
    let best = (0..sorted.len()).max_by_key(held)?;
    let alike = &sorted[best..until(sorted[best])];
    (2 * alike.len() > sorted.len() && sum(alike) > 0.0).then_some(alike)
}

/// The mean of these.
pub(super) fn plateau(sorted: &[u64]) -> Option<f64> {
    alike(sorted).map(|alike| sum(alike) / alike.len() as f64)
}

/// The same of one connection alone. Bins that a link was idle for a moment of are among them: near the median, a packet more or
/// less is what is left.
fn plateau_alone(sorted: &[u64]) -> Option<f64> {
    let alike = alike(sorted)?;
    let middle = alike[alike.len() / 2] as f64;
    let below = |bound: f64| alike.partition_point(|&bytes| (bytes as f64) < bound);
    let near = &alike[below(middle * (1.0 - NEAR))..below(middle * (1.0 + NEAR))];
    Some(sum(near) / near.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A shaper at 1.5 MB/s that was idle for a tenth of the time, and made up for it at once.
    #[test]
    fn bursts_of_saved_tokens_are_not_the_rate() {
        let mut series = Series::default();
        for at in 0..600i64 {
            let bytes = match at % 100 {
                0..10 => 0,
                10..20 => 3000,
                _ => 1500,
            };
            series.add(at * 1_000_000, bytes, 0, bytes as u64);
        }
        let rate = series.fast_rate().expect("there are enough");
        assert!((rate / 1.5e6 - 1.0).abs() < 0.05, "{rate}");
    }

    /// A link at 1.3 MB/s that hands over 65 kB at a time, each acknowledged at once: bins hold one or two.
    #[test]
    fn clumps_are_not_the_rate() {
        let mut series = Series::default();
        for at in 0..200i64 {
            series.add(at * 50_000_000, 65_000, 0, 65_000);
        }
        let rate = series.fast_rate().expect("there are enough");
        assert!((rate / 1.3e6 - 1.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn pauses_and_clumps_do_not_change_the_rate() {
        let mut series = Series::default();
        for at in 0..4000i64 {
            // A segment each 4 ms; a fifth of them 3 ms late, and nothing for a quarter of the time.
            let late = if at % 5 == 0 { 3 } else { 0 };
            if at % 1000 < 750 {
                series.add((4 * at + late) * 1_000_000, 1500, 0, 1500);
            }
        }
        let rate = series.fast_rate().expect("there are enough");
        assert!((rate / 375_000.0 - 1.0).abs() < 0.05, "{rate}");
        assert_eq!(Series::default().fast_rate(), None);
    }

    /// Bins of 33 ms: a third of a second full, a third with room for a fifth, and nothing for the rest.
    #[test]
    fn a_link_is_full_while_it_brings_nine_tenths() {
        let mut series = Series::default();
        for at in 0..1000i64 {
            let bytes = if at < 335 {
                6000
            } else if at < 670 {
                4800
            } else {
                0
            };
            series.add(at << FIRST, bytes, 0, bytes as u64);
        }
        let rate = 6000.0 * 1e9 / (1i64 << FIRST) as f64;
        let full = series.full_ns(rate, 0) / series.span_ns() as f64;
        assert!((0.28..=0.36).contains(&full), "{full}");
        assert_eq!(series.full_ns(rate, 1 << 40), 0.0, "no bin is as wide");
        assert_eq!(series.full_ns(2.0 * rate, 0), 0.0);
    }

    proptest! {
        /// Whatever comes whenever: nothing is lost, and bins stay few.
        #[test]
        fn all_is_counted(steps in prop::collection::vec((any::<i64>(), 0i64..1 << 40), 1..200)) {
            let (mut series, mut sum) = (Series::default(), 0u64);
            for (t_ns, bytes) in steps {
                series.add(t_ns, bytes, 0, 0);
                sum += bytes as u64;
                prop_assert!(series.bins.len() <= BINS);
            }
            prop_assert_eq!(series.bins.iter().map(|bin| bin.bytes).sum::<u64>(), sum);
        }

        /// A bin holds what came within it, however often its width has doubled.
        #[test]
        fn bins_are_where_they_say(steps in prop::collection::vec(0i64..3_000_000_000, 1..100)) {
            let (mut series, mut t_ns, mut all) = (Series::default(), 1 << 50, Vec::new());
            for later in steps {
                t_ns += later;
                series.add(t_ns, 1, 0, 0);
                all.push(t_ns);
            }
            for (place, bin) in series.bins.iter().enumerate() {
                let held = all.iter().filter(|t| (**t >> series.width) - series.first == place as i64).count();
                prop_assert_eq!(bin.bytes, held as u64);
            }
        }
    }

    /// What came before the first ACK is spread over the time since it began to come: nothing is lost or counted twice by that.
    #[test]
    fn what_came_first_is_spread_over_its_time() {
        for (since, bytes) in
            [(0i64, 5_000u64), (40 << FIRST, 4_000), (95 << FIRST, 1_000), (100 << FIRST, 9_000)]
        {
            let mut series = Series::default();
            (100..140i64).for_each(|at| series.add(at << FIRST, 6_000, 0, 6_000));
            series.open_at(since, bytes);
            let brought: Vec<u64> = series.bins.iter().map(|bin| bin.bytes).collect();
            assert_eq!(sum(&brought), 40.0 * 6_000.0);
            assert!(series.bins.len() <= BINS && series.bins.iter().all(|bin| bin.bytes == bin.passed));
            assert_eq!(series.first, since >> series.width);
        }
    }
}
