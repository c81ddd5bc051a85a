//! Rates of trains: how often each was seen, and what those of a rate brought in how long.
//!
//! Jitter makes one train seem faster and the next one slower. The mean of their rates is too high then (a time in the
//! denominator), that of their bytes over their times is not.

use super::histogram::{FINER, Histogram};
use crate::tracker::fields::{Fields, Walk, walk_over};

/// Rates in bytes a second.
type Counts = Histogram<6>;
/// The same in buckets a quarter as wide.
type Finer = Histogram<6, FINER>;

/// Finer buckets in one of the others.
const QUARTERS: usize = FINER / Counts::BUCKETS;
/// The middle of many rates is sought among those within this part of it, then within that.
const WIDELY: f64 = 0.12;
const NEAR: f64 = 0.06;
/// If so much of the time of all around it is that near, it is exact.
const SHARP: f64 = 0.6;
const AROUND: f64 = 0.25;
/// It is sought in so many rounds, until it moves by less than this.
const ROUNDS: usize = 8;
const SAME: f64 = 0.001;

/// Bytes and time of the trains of one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sum {
    bucket: u16,
    bytes: i64,
    took_ns: i64,
}

impl Sum {
    fn rate(&self) -> f64 {
        self.bytes as f64 * 1e9 / (self.took_ns as f64).max(1.0)
    }
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
            *sums = vec![Sum::default(); (count as usize).min(FINER)];
        }
        sums.iter_mut().for_each(|sum| sum.walk(walk));
    }
}

impl Paces {
    /// Count a train that came at that rate.
    pub fn add(&mut self, rate: i64, bytes: i64, took_ns: i64) {
        self.counts.add(rate);
        let bucket = Finer::bucket(rate) as u16;
        let place = self.sums.partition_point(|sum| sum.bucket < bucket);
        if self.sums.get(place).is_none_or(|sum| sum.bucket != bucket) {
            self.sums.insert(place, Sum { bucket, ..Sum::default() });
        }
        let sum = &mut self.sums[place];
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.took_ns = sum.took_ns.saturating_add(took_ns);
    }

    /// Count one that lost something on its way: about its rate it may have come, but it brings nothing to the mean.
    pub fn add_torn(&mut self, rate: i64) {
        self.counts.add(rate);
    }

    /// The rate that most have, within an eighth, by what these brought in their time; and what share of all they are.
    pub fn mode(&self) -> Option<(f64, f64)> {
        let (bucket, share) = self.counts.mode()?;
        let (rate, _) = self.mean_of(|sum| (usize::from(sum.bucket) / QUARTERS).abs_diff(bucket) <= 1)?;
        Some((self.middle(rate), share))
    }

    /// Whether most of the trains around a rate have it: jitter, or a link that is idle for moments, spreads them.
    pub fn is_sharp(&self, rate: f64) -> bool {
        let took_ns = |within: f64| self.near(rate, within).map_or(0.0, |(_, took_ns)| took_ns);
        took_ns(NEAR) >= SHARP * took_ns(AROUND)
    }

    /// The rate around which most of the time is, from one near it on: the mean of what is within a part of it, again and again.
    /// Of rates that jitter spreads evenly a wide part has the mean; where moments without data make some of them smaller, a narrow
    /// one.
    fn middle(&self, rate: f64) -> f64 {
        self.settle(self.settle(rate, WIDELY), NEAR)
    }

    fn settle(&self, mut rate: f64, within: f64) -> f64 {
        for _ in 0..ROUNDS {
            match self.near(rate, within) {
                Some((mean, _)) if (mean / rate - 1.0).abs() > SAME => rate = mean,
                _ => break,
            }
        }
        rate
    }

    /// Of the trains within a part of a rate.
    fn near(&self, rate: f64, within: f64) -> Option<(f64, f64)> {
        self.mean_of(|sum| (sum.rate() / rate - 1.0).abs() <= within)
    }

    /// A rate that is no more than this part of another, with the time at it and at that one, nanoseconds: the one around which most of
    /// the time is.
    pub fn slower(&self, rate: f64, part: f64) -> Option<(f64, [f64; 2])> {
        let slow = self.sums.iter().filter(|sum| sum.rate() <= part * rate).max_by_key(|sum| sum.took_ns)?;
        let slower = self.middle(slow.rate());
        let [took_ns, rest_ns] = [slower, rate].map(|rate| self.near(rate, WIDELY).map_or(0.0, |(_, ns)| ns));
        (slower <= part * rate && self.is_sharp(slower)).then_some((slower, [took_ns, rest_ns]))
    }

    /// Bytes a second of some of the trains, and how long these took, nanoseconds.
    fn mean_of(&self, of: impl Fn(&Sum) -> bool) -> Option<(f64, f64)> {
        let (bytes, took_ns) = self
            .sums
            .iter()
            .filter(|sum| of(sum))
            .fold((0.0, 0.0), |(bytes, ns), sum| (bytes + sum.bytes as f64, ns + sum.took_ns as f64));
        (took_ns > 0.0).then(|| (bytes * 1e9 / took_ns, took_ns))
    }

    /// How many were counted.
    pub fn samples(&self) -> u32 {
        self.counts.samples
    }

    #[cfg(test)]
    pub fn fill(&mut self) {
        self.counts.fill();
        self.sums = (0..FINER as u16).map(|bucket| Sum { bucket, bytes: 1, took_ns: 1 }).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn add(paces: &mut Paces, bytes: i64, took_ns: i64) {
        let rate = (i128::from(bytes) * 1_000_000_000 / i128::from(took_ns.max(1))) as i64;
        paces.add(rate, bytes, took_ns);
    }

    proptest! {
        /// Trains of one link, each end of them late by some: what one takes longer, the next is shorter.
        #[test]
        fn jitter_does_not_change_the_rate(late_us in prop::collection::vec(0i64..1_500, 200..400)) {
            let mut paces = Paces::default();
            let (mut begin_us, bytes) = (0, 12_000);
            for (number, late_us) in late_us.into_iter().enumerate() {
                let end_us = 10_000 * (number as i64 + 1) + late_us;
                add(&mut paces, bytes, 1000 * (end_us - begin_us));
                begin_us = end_us;
            }
            let (rate, share) = paces.mode().expect("there are some");
            prop_assert!((rate / 1.2e6 - 1.0).abs() < 0.035, "{rate}");
            prop_assert!(share > 0.8);
        }

        /// A third of the trains has a moment in which the link was idle: the others show its rate.
        #[test]
        fn idle_moments_do_not_change_the_rate(idle_us in prop::collection::vec(300i64..2_500, 20..40)) {
            let mut paces = Paces::default();
            for idle_us in idle_us {
                add(&mut paces, 12_000, 1000 * (10_000 + idle_us));
                (0..2).for_each(|_| add(&mut paces, 12_000, 10_000_000));
            }
            let (rate, _) = paces.mode().expect("there are some");
            prop_assert!((rate / 1.2e6 - 1.0).abs() < 0.015, "{rate}");
            prop_assert!(paces.is_sharp(rate));
        }

        #[test]
        fn any_train_is_counted(trains in prop::collection::vec((0i64..1 << 50, 0i64..1 << 50), 0..100)) {
            let mut paces = Paces::default();
            trains.iter().for_each(|&(bytes, took_ns)| add(&mut paces, bytes, took_ns));
            prop_assert_eq!(paces.samples() as usize, trains.len());
            prop_assert_eq!(paces.mode().is_some(), trains.iter().any(|train| train.1 > 0));
        }
    }

    /// Rates spread evenly over a fifth and more to either side are no exact one.
    #[test]
    fn spread_rates_are_not_exact() {
        let mut paces = Paces::default();
        (8_000..12_500).step_by(45).for_each(|took_us| add(&mut paces, 12_000, 1000 * took_us));
        let (rate, _) = paces.mode().expect("there are some");
        assert!(!paces.is_sharp(rate));
    }
}
