//! How often a quantity was how large, in fixed memory: eight buckets to the octave, or more.

use crate::tracker::fields::{Fields, Walk};

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
    pub fn quantile(&self, part: f64) -> Option<f64> {
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
                let (low, high) = (Self::floor(bucket), Self::floor(bucket + 1));
                return Some(low + (high - low) * inside);
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
