//! For how long a link was full, as the trains of a path show it.

use super::{ALIKE, Trains};
use crate::tracker::fields::{Fields, Walk, walk_over};

/// Rates of a link, bytes a second: the one that most trains share, and the one while a queue stood.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::tracker::path) struct LinkRates {
    pub constant: Option<f64>,
    pub queued: Option<f64>,
}

/// Time of trains that the receiver's window did not take; of that, while a queue stood; and what filled a link without one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::tracker::path) struct Delivered {
    free_ns: i64,
    queued_ns: i64,
    filled_ns: i64,
}

impl Fields for Delivered {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Delivered { free_ns, queued_ns, filled_ns } = self;
        walk_over!(walk: free_ns, queued_ns, filled_ns);
    }
}

/// A link that carries data for this part of the time is full: what is left is the spacing of segments.
pub(in crate::tracker::path) const CARRIED: f64 = 0.85;
/// Part of a time that trains have to cover, to stand for all of it.
const TOLD: f64 = 0.8;

impl Trains {
    /// Time in which the link was full: a queue stood, whatever the rate was then (a radio link's changes, and others may share it), or
    /// trains came at the plateau.
    fn full_ns(&self, rates: LinkRates) -> i64 {
        self.queued_ns + (self.run.filled_ns as f64 * self.even_share(rates)) as i64
    }

    /// Share of a time without hindrance by application and receiver's window in which it was full: only trains tell,
    /// and they leave out the ends of what comes between two pauses.
    pub fn full_share_of(&self, busy_ns: f64, rates: LinkRates) -> f64 {
        let free_ns = (self.all_ns - self.window_all_ns) as f64;
        let full_ns = (self.full_ns(rates) - self.window_queued_ns) as f64;
        let trains = full_ns / free_ns.max(busy_ns * TOLD).max(1.0);
        let carried = self.carried_share(rates).filter(|share| *share >= CARRIED).unwrap_or(0.0);
        trains.max(carried).clamp(0.0, 1.0)
    }

    /// Trains so far.
    #[inline(always)]
    pub fn delivered(&self) -> Delivered {
        Delivered {
            free_ns: self.all_ns - self.window_all_ns,
            queued_ns: self.queued_ns - self.window_queued_ns,
            filled_ns: self.run.filled_ns,
        }
    }

    /// The same share of a part of that time, from what trains had delivered in it.
    pub fn full_share_in(&self, part: Delivered, busy_ns: f64, rates: LinkRates) -> f64 {
        let full_ns = part.queued_ns as f64 + part.filled_ns as f64 * self.even_share(rates);
        (full_ns / (part.free_ns as f64).max(busy_ns * TOLD).max(1.0)).clamp(0.0, 1.0)
    }

    /// Part of the even trains without a queue that came at the rate of the link.
    fn even_share(&self, rates: LinkRates) -> f64 {
        rates.constant.map_or(0.0, |rate| self.unqueued.share_of_time(rate, ALIKE))
    }

    /// What a link of the plateau's rate needs for the bytes of all trains, as a part of their time; `None` without
    /// one, or where the receiver's window took some of it.
    fn carried_share(&self, rates: LinkRates) -> Option<f64> {
        let rate = rates.constant?;
        let free = self.all_ns > 0 && self.window_all_ns < self.all_ns / 10;
        // Rates of a few trains are no link's, unless that is the rate while a queue stood.
        let agreed = rates.queued.is_some_and(|queued| (queued / rate - 1.0).abs() <= ALIKE);
        let told_ns = self.queued_ns + self.even_ns;
        let covered = 2 * told_ns >= self.all_ns || agreed && 4 * self.queued_ns >= self.all_ns;
        (free && covered).then(|| self.bytes_all as f64 * 1e9 / rate.max(1.0) / self.all_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A link that carries nine tenths of the time is full. That its rate is a link's shows in most of the time, or where a queue
    /// stood for a quarter of it and has the same one.
    #[test]
    fn a_queue_confirms_the_rate_of_a_link() {
        for (queued_rate, queued_ns, full) in [(1e6, 300, true), (1e6, 200, false), (1.3e6, 300, false)] {
            let trains = Trains {
                all_ns: 1_000_000_000,
                queued_ns: queued_ns * MS,
                bytes_all: 900_000,
                ..Trains::default()
            };
            let rates = LinkRates { constant: Some(1e6), queued: Some(queued_rate) };
            assert_eq!(trains.full_share_of(1e9, rates) >= 0.9, full, "{queued_rate} {queued_ns}");
        }
    }

    /// A queue stood, and the link was slower than its usual rate, or others had most of it: it was full.
    #[test]
    fn a_link_with_a_queue_is_full_at_any_rate() {
        let trains = Trains {
            all_ns: 1_000_000_000,
            queued_ns: 800 * MS,
            bytes_all: 250_000,
            bytes_queued: 200_000,
            ..Trains::default()
        };
        let rates = LinkRates { constant: Some(1e6), queued: Some(1e6) };
        assert!((trains.full_share_of(1e9, rates) - 0.8).abs() < 0.01);
    }
}
