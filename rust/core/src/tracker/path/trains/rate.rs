//! The rate of a link, as the trains of a path show it.

use super::{ALIKE, Trains};

/// Trains before a rate is a link's at all.
const FEW: u32 = 8;
/// Part of them that has to share it.
const PLATEAU: f64 = 0.5;
/// A link that shows by its rate alone is full for this part of the time, at least.
const USUAL: f64 = 0.2;
/// If so many trains share it, and this part of all even ones, half of that is enough: loss recovery may take all the rest.
const SELDOM: f64 = 0.1;
const SURE: f64 = 0.7;
const MANY: u32 = 30;
/// A link has another rate if it is no more than this part of the first, and came for this part of the time...
const APART: f64 = 0.6;
const CHANGED: f64 = 0.1;
/// ...and a queue stood for most of both: a smaller window fills no queue.
const QUEUED: f64 = 0.8;
/// ...and, unless most trains have one of them, both were all that there was for this part of the time.
const MOSTLY: f64 = 0.6;

impl Trains {
    /// The rate that most trains share, and what share of them that is. While a queue stands, a link delivers at its own
    /// rate: where most of the time is that, and much slower, trains are bursts that something gathered.
    pub fn plateau(&self) -> Option<(f64, f64)> {
        let gathered = |rate: f64| 2 * self.queued_ns > self.all_ns && rate > 2.0 * self.queued_rate();
        self.rates.mode().filter(|(rate, _)| self.rates.samples() >= FEW && !gathered(*rate))
    }

    /// The rate of a link that shows in trains. While a queue stands, it is that of the plateau. Without one, it may as well
    /// be that of bursts, or of a reader that opens its window step by step: it has to be the rate of a good part of
    /// the time, and not of one that the receiver's window took.
    pub fn constant_rate(&self) -> Option<f64> {
        let (rate, share) = self.plateau().filter(|(_, share)| *share >= PLATEAU)?;
        let queued = 2 * self.queued_ns > self.all_ns;
        let sure = share >= SURE && self.rates.samples() >= MANY;
        let least = if sure { SELDOM } else { USUAL };
        let usual = || {
            let even_ns = self.even_ns as f64 * self.unqueued.share_of_time(rate, ALIKE);
            even_ns + self.queued_ns as f64 >= least * self.all_ns as f64
        };
        (queued || (!self.window_bound() && usual())).then_some(rate)
    }

    /// The rates, bytes a second, of a link that has not one but two at least, slower first: while a queue stood, trains came evenly at
    /// either for a good part of the time.
    pub fn changing_rates(&self) -> Option<[f64; 2]> {
        let (rate, _) = self.rates.mode().filter(|_| self.rates.samples() >= FEW)?;
        let least_ns = CHANGED * self.all_ns as f64;
        let (slower, [slow_ns, fast_ns]) = self.rates.slower(rate, APART)?;
        let both_ns = slow_ns + fast_ns;
        let queued = self.queued_ns as f64 >= QUEUED * both_ns && !self.window_bound();
        // What something gathered comes fast for a moment, and leaves much of the time empty.
        let mostly = both_ns >= MOSTLY * self.all_ns as f64 || self.plateau().is_some();
        (slow_ns.min(fast_ns) >= least_ns && queued && mostly).then_some([slower, rate])
    }

    /// Whether the trains around a rate show it within a few percent.
    pub fn show_exactly(&self, rate: f64) -> bool {
        self.rates.is_sharp(rate)
    }

    /// The rate at which most even trains came, if there are some.
    pub fn usual_rate(&self) -> Option<f64> {
        self.rates.mode().filter(|_| self.rates.samples() >= FEW).map(|(rate, _)| rate)
    }

    /// Bytes a second while a queue stood.
    pub fn queued_rate(&self) -> f64 {
        self.bytes_queued as f64 * 1e9 / (self.queued_ns as f64).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Held;
    use super::super::tests::heard_with;
    use super::*;
    use crate::tracker::path::half::Halves;

    const UNIT: i64 = 1000;
    const MS: i64 = 1_000_000;

    /// So many trains at one rate, and as many again that wait for something in their middle.
    fn at_one_rate(even: i64, waiting: i64) -> Option<f64> {
        let mut halves = Halves::default();
        halves.near_least(100_000);
        (0..2).for_each(|_| halves.acknowledged(0, MS, false, true));
        let evenly = (0..8 * even).map(|_| 2);
        let gaps = evenly.chain((0..8 * waiting).map(|number| if number % 8 == 4 { 33 } else { 2 }));
        let acks: Vec<_> = gaps.zip(1..).map(|(gap_ms, number)| (gap_ms, UNIT * number, 0)).collect();
        let mut trains = Trains { sack: true, ..Trains::default() };
        heard_with(&halves, &mut trains, &acks);
        trains.constant_rate()
    }

    /// Trains at one rate, then at half of it or less, with a queue in front of the link of so many milliseconds.
    fn at_two_rates(fast: i64, slow: i64, slow_ms: i64, queue_ms: i64) -> Option<[f64; 2]> {
        let mut halves = Halves::default();
        halves.near_least(100_000);
        [40, 40 + queue_ms].into_iter().for_each(|rtt_ms| halves.acknowledged(0, rtt_ms * MS, false, true));
        let gaps = (0..8 * fast).map(|_| 2).chain((0..8 * slow).map(|_| slow_ms));
        let acks: Vec<_> = gaps.zip(1..).map(|(gap_ms, number)| (gap_ms, UNIT * number, 0)).collect();
        let mut trains = Trains { sack: true, ..Trains::default() };
        heard_with(&halves, &mut trains, &acks);
        trains.changing_rates()
    }

    #[test]
    fn a_link_has_two_rates_if_a_queue_stood_at_both() {
        let [slower, faster] = at_two_rates(40, 15, 6, 40).expect("two rates");
        assert!(
            (slower * 6.0 / 1e6 - 1.0).abs() < 0.1 && (faster * 2.0 / 1e6 - 1.0).abs() < 0.1,
            "{slower} {faster}"
        );
        assert_eq!(at_two_rates(40, 15, 6, 0), None, "a smaller window without a queue");
        assert_eq!(at_two_rates(40, 2, 6, 40), None, "for a moment");
        assert_eq!(at_two_rates(40, 20, 3, 40), None, "two thirds of a rate may be a mean");
        let [slower, faster] = at_two_rates(60, 12, 40, 400).expect("most of the time at the slower one");
        assert!((slower / 25_000.0 - 1.0).abs() < 0.1 && (faster / 500_000.0 - 1.0).abs() < 0.1, "{slower}");
    }

    /// ACKs of three segments each; behind the link one of every other train is lost, which had taken its time.
    #[test]
    fn what_was_lost_makes_no_rate_smaller() {
        let mut halves = Halves::default();
        halves.near_least(100_000);
        (0..2).for_each(|_| halves.acknowledged(0, MS, false, true));
        for seen in [true, false] {
            let mut trains = Trains { sack: true, ..Trains::default() };
            let (mut t_ns, mut missing) = (0, 0);
            for number in 1..=300 {
                let lost = number % 10 == 3;
                t_ns += if lost { 8 * MS } else { 6 * MS };
                missing += if lost && seen { UNIT } else { 0 };
                let arrived = 3 * UNIT * number;
                trains.acknowledge(t_ns, (arrived, missing, -1), UNIT, &halves, Held::default());
            }
            let rate = trains.constant_rate().expect("a rate");
            assert_eq!((rate / 500_000.0 - 1.0).abs() < 0.005, seen, "{rate}");
        }
    }

    #[test]
    fn a_link_without_a_queue_shows_in_a_quarter_of_the_time() {
        let rate = at_one_rate(30, 30).expect("a rate");
        assert!((rate / 500_000.0 - 1.0).abs() < 0.1, "{rate}");
        assert_eq!(at_one_rate(12, 30), None, "an eighth of the time may be bursts");
        assert!(at_one_rate(40, 110).is_some(), "of many that all have it, a tenth is enough");
        assert_eq!(at_one_rate(40, 150), None);
    }
}
