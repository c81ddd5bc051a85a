//! How often a quantity was how large, in fixed memory: eight buckets to the octave, or more.

use crate::tracker::fields::{Fields, Walk, walk_over};

/// Octaves; below the first and above the last all is counted in these.
const OCTAVES: usize = 32;
/// Buckets with eight, and with 32, to the octave.
const USUAL: usize = OCTAVES << 3;
pub const FINER: usize = OCTAVES << 5;
/// A bucket that holds so many is full: one more sample may stand for as many.
const HALVED_FROM: u16 = u16::MAX / 2;

/// Counts of values from `2^LOW` on. A full bucket halves all of them, so that shares and quantiles stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram<const LOW: u32, const BUCKETS: usize = USUAL> {
    counts: [u16; BUCKETS],
    /// Values counted in all.
    pub samples: u32,
}

impl<const LOW: u32, const BUCKETS: usize> Default for Histogram<LOW, BUCKETS> {
    fn default() -> Self {
        Histogram { counts: [0; BUCKETS], samples: 0 }
    }
}

impl<const LOW: u32, const BUCKETS: usize> Histogram<LOW, BUCKETS> {
    /// How many buckets there are.
    pub const BUCKETS: usize = BUCKETS;
    /// Buckets to the octave, as a power of two.
    const FINE: u32 = (BUCKETS / OCTAVES).ilog2();

    /// The bucket of a value.
    #[inline(always)]
    pub fn bucket(value: i64) -> usize {
        // A floating-point number holds its octave, and the fine part behind it; of negative ones all is negative.
        let place =
            ((value as f64).to_bits() as i64 >> (52 - Self::FINE)) - i64::from((1023 + LOW) << Self::FINE);
        place.clamp(0, BUCKETS as i64 - 1) as usize
    }

    /// Smallest value of a bucket.
    fn floor(bucket: usize) -> f64 {
        let (octave, fine) = ((bucket >> Self::FINE) as i32, (bucket & ((1 << Self::FINE) - 1)) as f64);
        (1.0 + fine / f64::from(1 << Self::FINE)) * 2f64.powi(octave + LOW as i32)
    }

    /// Count a value.
    #[inline(always)]
    pub fn add(&mut self, value: i64) {
        self.samples += u32::from(self.samples != u32::MAX);
        let count = &mut self.counts[Self::bucket(value)];
        *count += 1;
        if *count == u16::MAX {
            self.halve();
        }
    }

    /// Count a value as one sample that stands for so many, less than a bucket has room for when it is halved.
    #[inline(always)]
    pub fn add_for(&mut self, value: i64, weight: u16) {
        self.samples += u32::from(self.samples != u32::MAX);
        let count = &mut self.counts[Self::bucket(value)];
        *count = count.wrapping_add(weight);
        if *count >= HALVED_FROM {
            self.halve();
        }
    }

    #[cold]
    fn halve(&mut self) {
        self.counts.iter_mut().for_each(|count| *count = count.div_ceil(2));
    }

    /// The value below which this part of the counts lies, to a bucket's width (a twelfth of it at most with eight to the
    /// octave, for counts are taken as even inside); `None` without any.
    #[cfg(test)]
    pub fn quantile(&self, part: f64) -> Option<f64> {
        self.quantile_within(part, (f64::NEG_INFINITY, f64::INFINITY))
    }

    /// The same, where no value is beyond these: in the first and the last bucket that hold any, the values lie between them.
    fn quantile_within(&self, part: f64, (least, most): (f64, f64)) -> Option<f64> {
        let total: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        if total == 0 {
            return None;
        }
        let wanted = part * total as f64;
        let mut below = 0.0;
        for (bucket, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let next = below + f64::from(count);
            if next >= wanted {
                let inside = ((wanted - below) / f64::from(count)).clamp(0.0, 1.0);
                let (low, high) = (Self::floor(bucket).max(least), Self::floor(bucket + 1).min(most));
                return Some((low + (high - low) * inside).clamp(least, most));
            }
            below = next;
        }
        None
    }

    /// The bucket that holds most, with the one on either side of it, and what share of all these three hold.
    pub fn mode(&self) -> Option<(usize, f64)> {
        let count = |bucket: usize| f64::from(self.counts.get(bucket).copied().unwrap_or(0));
        let around =
            |bucket: usize| bucket.checked_sub(1).map_or(0.0, &count) + count(bucket) + count(bucket + 1);
        let total: f64 = self.counts.iter().map(|&count| f64::from(count)).sum();
        let best = (0..BUCKETS).max_by(|&a, &b| around(a).total_cmp(&around(b)))?;
        (total > 0.0).then(|| (best, around(best) / total))
    }

    /// What share of a sum of `1 / value` over all comes from values within a part of one value.
    pub fn share_of_time(&self, value: f64, within: f64) -> f64 {
        let (mut near, mut all) = (0.0, 0.0);
        for (bucket, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let middle = (Self::floor(bucket) + Self::floor(bucket + 1)) / 2.0;
            let time = f64::from(count) / middle;
            all += time;
            if middle >= value * (1.0 - within) {
                near += time;
            }
        }
        if all > 0.0 { near / all } else { 0.0 }
    }
}

/// The same with the least and the most of all values: no quantile is beyond these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounded<const LOW: u32, const BUCKETS: usize = USUAL> {
    histogram: Histogram<LOW, BUCKETS>,
    /// The least, and by how much the most is larger.
    least: i64,
    span: u64,
}

impl<const LOW: u32, const BUCKETS: usize> Default for Bounded<LOW, BUCKETS> {
    fn default() -> Self {
        Bounded { histogram: Histogram::default(), least: 0, span: 0 }
    }
}

impl<const LOW: u32, const BUCKETS: usize> Bounded<LOW, BUCKETS> {
    /// Values counted in all.
    #[inline(always)]
    pub fn samples(&self) -> u32 {
        self.histogram.samples
    }

    /// Count a value.
    #[inline(always)]
    pub fn add(&mut self, value: i64) {
        self.bound(value);
        self.histogram.add(value);
    }

    /// Count a value as one sample that stands for so many, less than a bucket has room for when it is halved.
    #[inline(always)]
    pub fn add_for(&mut self, value: i64, weight: u16) {
        self.bound(value);
        self.histogram.add_for(value, weight);
    }

    /// Most are neither the least nor the most.
    #[inline(always)]
    fn bound(&mut self, value: i64) {
        if value.wrapping_sub(self.least) as u64 > self.span || self.histogram.samples == 0 {
            self.widen(value);
        }
    }

    #[cold]
    #[inline(never)]
    fn widen(&mut self, value: i64) {
        let first = self.histogram.samples == 0;
        let (least, most) = if first { (value, value) } else { (self.least, self.most()) };
        let (least, most) = (least.min(value), most.max(value));
        (self.least, self.span) = (least, most.wrapping_sub(least) as u64);
    }

    fn most(&self) -> i64 {
        self.least.saturating_add_unsigned(self.span)
    }

    /// The least of all; `None` without any.
    pub fn least(&self) -> Option<i64> {
        (self.histogram.samples > 0).then_some(self.least)
    }

    /// The value below which this part of the counts lies: within a bucket's width, and never beyond the least or the most.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        self.histogram.quantile_within(part, (self.least as f64, self.most() as f64))
    }

    /// A value in every bucket.
    #[cfg(test)]
    pub fn fill(&mut self) {
        self.histogram.fill();
        (self.least, self.span) = (0, i64::MAX as u64);
    }
}

impl<const LOW: u32, const BUCKETS: usize> Fields for Bounded<LOW, BUCKETS> {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Bounded { histogram, least, span } = self;
        histogram.walk(walk);
        if histogram.samples > 0 {
            walk_over!(walk: least, span);
        } else if W::READS {
            (*least, *span) = (0, 0);
        }
    }
}

impl<const LOW: u32, const BUCKETS: usize> Fields for Histogram<LOW, BUCKETS> {
    /// Of most, nearly all buckets are empty: those that are not, each with the distance from the one before.
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Histogram { counts, samples } = self;
        samples.walk(walk);
        let mut left = counts.iter().filter(|count| **count > 0).count() as u32;
        left.walk(walk);
        if W::READS {
            counts.fill(0);
        }
        let mut place = 0;
        for _ in 0..left {
            let found = counts[place..].iter().position(|count| *count > 0).unwrap_or(0);
            let mut step = found as u32;
            step.walk(walk);
            place = (place + step as usize).min(BUCKETS - 1);
            counts[place].walk(walk);
            place = (place + 1).min(BUCKETS - 1);
        }
    }
}

#[cfg(test)]
impl<const LOW: u32, const BUCKETS: usize> Histogram<LOW, BUCKETS> {
    /// A value in every bucket.
    pub fn fill(&mut self) {
        self.counts.fill(u16::MAX - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A value that stands for three lies where three of it would; buckets that are full keep the shares.
    #[test]
    fn a_value_may_stand_for_several() {
        let (mut weighted, mut each) = (Histogram::<10>::default(), Histogram::<10>::default());
        for round in 0..100_000 {
            for (value, weight) in [(1 << 20, 1), (1 << 24, 3), (1 << 28, 256)] {
                weighted.add_for(value, weight);
                if round < 100 {
                    (0..weight).for_each(|_| each.add(value));
                }
            }
            if round == 99 {
                assert_eq!(weighted.counts, each.counts);
                assert_eq!((weighted.samples, each.samples), (300, 26_000));
            }
        }
        for part in [0.002, 0.01, 0.5, 0.95] {
            let apart = weighted.quantile(part).unwrap() / each.quantile(part).unwrap();
            assert!((apart - 1.0).abs() < 0.2, "{part}: {apart}");
        }
    }

    proptest! {
        /// Quantiles are those of the values, to the width of a bucket.
        #[test]
        fn quantiles_are_near(mut values in prop::collection::vec(1i64 << 12..1 << 40, 1..300), part in 0.0..1.0f64) {
            let mut histogram = Histogram::<10>::default();
            values.iter().for_each(|&value| histogram.add(value));
            values.sort_unstable();
            let exact = values[((part * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1] as f64;
            let found = histogram.quantile(part).unwrap();
            prop_assert!((found / exact - 1.0).abs() <= 0.126, "{found} {exact}");
            let mut finer = Histogram::<10, FINER>::default();
            values.iter().for_each(|&value| finer.add(value));
            let found = finer.quantile(part).unwrap();
            prop_assert!((found / exact - 1.0).abs() <= 0.032, "{found} {exact}");
        }

        #[test]
        fn any_value_is_counted(values in prop::collection::vec(any::<i64>(), 0..300)) {
            let mut histogram = Histogram::<10>::default();
            values.iter().for_each(|&value| histogram.add(value));
            prop_assert_eq!(histogram.samples as usize, values.len());
        }
    }

    proptest! {
        /// However few values there are, no quantile is beyond them.
        #[test]
        fn quantiles_are_within_the_values(values in prop::collection::vec(1i64 << 8..1 << 30, 1..60), part in 0.0..1.0f64) {
            let mut times = Bounded::<10>::default();
            values.iter().for_each(|&value| times.add(value));
            let (least, most) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
            prop_assert_eq!((times.least(), times.most()), (Some(least), most));
            let found = times.quantile(part).unwrap();
            prop_assert!((least as f64..=most as f64).contains(&found), "{found} {least} {most}");
        }
    }

    /// Fifty round trips between 80.7 and 81.3 ms, all in one bucket that is 2 ms wide: its quantiles are among them.
    #[test]
    fn a_bucket_is_no_wider_than_its_values() {
        let mut times = Bounded::<10, FINER>::default();
        (0..50).for_each(|number| times.add_for(80_720_000 + 12_000 * number, 2));
        for (part, exact_ns) in [(0.0, 80.72e6), (0.5, 81.02e6), (0.95, 81.28e6), (1.0, 81.308e6)] {
            let found_ns = times.quantile(part).unwrap();
            assert!((found_ns - exact_ns).abs() <= 2e4, "{part}: {found_ns}");
        }
        assert_eq!(Bounded::<10>::default().quantile(0.5), None);
    }

    #[test]
    fn shares_stay_when_a_bucket_is_full() {
        let mut histogram = Histogram::<10>::default();
        for turn in 0..400_000 {
            histogram.add(if turn % 4 == 0 { 1 << 14 } else { 1 << 20 });
        }
        let (bucket, share) = histogram.mode().unwrap();
        let apart = bucket.abs_diff(Histogram::<10>::bucket(1 << 20));
        assert!((share - 0.75).abs() < 0.01 && apart <= 1, "{bucket} {share}");
        assert!(histogram.quantile(0.2).unwrap() < 20_000.0);
    }
}
