//! Rates of trains: how often each was seen, and what those of a rate brought in how long.
//!
//! Jitter makes one train seem faster and the next one slower. The mean of their rates is too high then (a time in the
//! denominator), that of their bytes over their times is not.

use super::histogram::Histogram;
use crate::tracker::fields::{Fields, Walk, walk_over};

/// Rates in bytes a second.
type Counts = Histogram<6>;

/// Bytes and time of the trains of one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sum {
    bucket: u16,
    bytes: i64,
    took_ns: i64,
}

impl Fields for Sum {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Sum { bucket, bytes, took_ns } = self;
        walk_over!(walk: bucket, bytes, took_ns);
    }
}

/// Rates of trains.
#[derive(Debug, Clone, Default)]
pub(super) struct Paces {
    counts: Counts,
    /// By bucket, those that hold something.
    sums: Vec<Sum>,
}

impl Fields for Paces {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Paces { counts, sums } = self;
        let mut count = sums.len() as u32;
        walk_over!(walk: counts, &mut count);
        if W::READS {
            *sums = vec![Sum::default(); (count as usize).min(Counts::BUCKETS)];
        }
        sums.iter_mut().for_each(|sum| sum.walk(walk));
    }
}

impl Paces {
    /// Count a train.
    pub fn add(&mut self, bytes: i64, took_ns: i64) {
        let rate = (i128::from(bytes) * 1_000_000_000 / i128::from(took_ns.max(1))) as i64;
        self.counts.add(rate);
        let bucket = Counts::bucket(rate) as u16;
        let place = self.sums.partition_point(|sum| sum.bucket < bucket);
        if self.sums.get(place).is_none_or(|sum| sum.bucket != bucket) {
            self.sums.insert(place, Sum { bucket, ..Sum::default() });
        }
        let sum = &mut self.sums[place];
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.took_ns = sum.took_ns.saturating_add(took_ns);
    }

    /// The rate that most have, within an eighth, by what these brought in their time; and what share of all they are.
    pub fn mode(&self) -> Option<(f64, f64)> {
        let (bucket, share) = self.counts.mode()?;
        let near = self.sums.iter().filter(|sum| usize::from(sum.bucket).abs_diff(bucket) <= 1);
        let (bytes, took_ns) =
            near.fold((0.0, 0.0), |(bytes, ns), sum| (bytes + sum.bytes as f64, ns + sum.took_ns as f64));
        (took_ns > 0.0).then(|| (bytes * 1e9 / took_ns, share))
    }

    /// How many were counted.
    pub fn samples(&self) -> u32 {
        self.counts.samples
    }

    #[cfg(test)]
    pub fn fill(&mut self) {
        self.counts.fill();
        self.sums = (0..Counts::BUCKETS as u16).map(|bucket| Sum { bucket, bytes: 1, took_ns: 1 }).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Trains of one link, each end of them late by some: what one takes longer, the next is shorter.
        #[test]
        fn jitter_does_not_change_the_rate(late_us in prop::collection::vec(0i64..1_500, 200..400)) {
            let mut paces = Paces::default();
            let (mut begin_us, bytes) = (0, 12_000);
            for (number, late_us) in late_us.into_iter().enumerate() {
                let end_us = 10_000 * (number as i64 + 1) + late_us;
                paces.add(bytes, 1000 * (end_us - begin_us));
                begin_us = end_us;
            }
            let (rate, share) = paces.mode().expect("there are some");
            prop_assert!((rate / 1.2e6 - 1.0).abs() < 0.01, "{rate}");
            prop_assert!(share > 0.8);
        }

        #[test]
        fn any_train_is_counted(trains in prop::collection::vec((0i64..1 << 50, 0i64..1 << 50), 0..100)) {
            let mut paces = Paces::default();
            trains.iter().for_each(|&(bytes, took_ns)| paces.add(bytes, took_ns));
            prop_assert_eq!(paces.samples() as usize, trains.len());
            prop_assert_eq!(paces.mode().is_some(), trains.iter().any(|train| train.1 > 0));
        }
    }
}
