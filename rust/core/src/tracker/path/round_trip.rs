//! The round trip of a path as one point shows it: both halves, and the whole.

use super::half::{HOST_NS, Halves, Times, apart, least_ns};
use super::histogram::Bounded;
use crate::tracker::rtt::RttStatistics;

/// One half.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Half {
    /// Smallest, median and 95th percentile, nanoseconds.
    pub min_ns: Option<i64>,
    /// See above; `None` where too few were measured.
    pub median_ns: Option<f64>,
    /// See above.
    pub p95_ns: Option<f64>,
    /// Of how many.
    pub samples: u32,
    /// The path's own part at its best lies between these.
    pub bound_ns: Option<(i64, i64)>,
}

/// The whole round trip.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RoundTrip {
    /// To the receiver and back.
    pub toward_receiver: Half,
    /// To the sender and back.
    pub toward_sender: Half,
    /// Whether echoed timestamps measured the half toward the sender, beside the handshake or without.
    pub by_echo: bool,
    /// Whether the other direction's ACKs did (its SYN's at least).
    pub by_answer: bool,
    /// Share of the data that arrived by ACKs that measured a round trip; `None` before any did. Without SACK, recovery
    /// measures none.
    pub timed_share: Option<f64>,
    /// Smallest whole round trip: of packets that went round one after the other, where any were seen to.
    pub base_ns: Option<i64>,
    /// Whether the path's own may be less: too few round trips were measured here after the handshake.
    pub base_at_most: bool,
    /// ACKs that their receiver seems to have delayed: they are in neither median nor percentile.
    pub delayed_acks: u32,
    /// Whether data waited in the sender's own queue before this capture, of which nothing here shows how long: no timestamps.
    pub without_own_queue: bool,
    /// Median and 95th percentile of the sum.
    pub median_ns: Option<f64>,
    /// See above.
    pub p95_ns: Option<f64>,
}

impl RoundTrip {
    /// What a path tells, whose other direction measured `answers`.
    ///
    /// `unqueued`: the handshake was seen, and no other connection kept the queue of this one filled. `beside`: the capture
    /// is the sender's, so that the half toward it is none. Elsewhere only echoed timestamps show what the whole took
    /// after the handshake.
    pub(super) fn of(halves: &Halves, answers: &RttStatistics, unqueued: bool, beside: bool) -> Self {
        let half = |min_ns: Option<i64>, times: &Times, samples: u32| {
            let (median_ns, p95_ns) = quantiles(times, min_ns);
            let common = unqueued && times.samples() >= COMMON;
            let bound_ns = min_ns.map(|min_ns| bound(min_ns, median_ns.filter(|_| common)));
            Half { min_ns, median_ns, p95_ns, samples, bound_ns }
        };
        let near_ns = [halves.near_min_ns(), answers.min()].into_iter().flatten().min();
        let far = half(halves.far_min_ns(), &halves.far, halves.far.samples());
        let samples = halves.echoes.saturating_add(u32::try_from(answers.count).unwrap_or(u32::MAX));
        let near = half(near_ns, &halves.near, samples);
        let base_ns = far.min_ns.zip(near.min_ns).map(|both| least_ns(both, halves.loop_min_ns()));
        // Both halves were far shorter at some time: the whole was seldom seen when its queues were empty.
        let rare = far.min_ns.zip(near.min_ns).zip(base_ns).is_some_and(|((far_ns, near_ns), base_ns)| {
            apart(far_ns.saturating_add(near_ns), base_ns, RARE_NS)
        });
        let bounded = at_most(far.min_ns, near.min_ns, halves.near.samples());
        // Next to the sender, the half toward it is as good as none. Elsewhere echoes have to measure it all the time.
        let beside = beside && halves.beside_sender();
        let timed = halves.echoes > 0 || (beside && halves.clock.ticks.tick_ns > 0);
        // What the whole took rests on the handshake alone where no echo measured that half since; not if it was too long.
        let moved = halves.near.samples() == 0
            && near.min_ns.is_some_and(|least_ns| {
                least_ns > HOST_NS && answers.first_ns as f64 > SHARP.1 * least_ns as f64
            });
        // ACKs that are not counted, because they were delayed, were measured all the same.
        let acks = halves.whole.samples().saturating_add(halves.delays);
        let measured = timed && !moved && halves.whole.samples() > 0 && 2 * halves.unsure < acks;
        // What waited less than a tick of the clock is not known to have waited. Where the half toward the sender may be as
        // long as that, and longer than what is left of it here, the whole is not known.
        let tick_ns = if beside { 0.0 } else { halves.clock.ticks.tick_ns as f64 };
        let sharp = |ns: f64, far_ns: Option<f64>, part: f64| {
            let echoed = halves.near.quantile(part).zip(far_ns).map(|(near_ns, far_ns)| near_ns + far_ns);
            ns >= SHARP.0 * tick_ns || echoed.is_some_and(|most_ns| most_ns <= SHARP.1 * ns)
        };
        let (median_ns, p95_ns) = match base_ns {
            Some(_) if measured => match quantiles(&halves.whole, base_ns) {
                known @ (Some(median_ns), Some(p95_ns))
                    if sharp(median_ns, far.median_ns, 0.5) && sharp(p95_ns, far.p95_ns, 0.95) =>
                {
                    known
                }
                _ => (None, None),
            },
            Some(_) if beside && !bounded && halves.echoes == 0 => {
                let whole = quantiles(&halves.whole, base_ns);
                let with_host = |far_ns: Option<f64>| far_ns.map(|ns| ns + near.min_ns.unwrap_or(0) as f64);
                let host = (with_host(far.median_ns), with_host(far.p95_ns));
                // The half toward the sender was taken for as long as in its handshake, which had waited in its own queue.
                match (whole.0, host.0) {
                    (Some(whole_ns), Some(host_ns)) if whole_ns > LATER * host_ns => host,
                    _ => whole,
                }
            }
            _ => (None, None),
        };
        // The handshake, in front of which nothing waits yet, took longer than data that waits nearly always: a host was late.
        let later = |near_ns: i64| answers.first_ns.saturating_sub(near_ns) > (near_ns / 10).max(RARE_NS / 2);
        let late = near.min_ns.is_some_and(later);
        let queued = !beside && late && near.bound_ns.is_some_and(|(least_ns, _)| least_ns == 0);
        RoundTrip {
            toward_receiver: far,
            toward_sender: near,
            by_echo: halves.echoes > 0,
            by_answer: answers.count > 0,
            timed_share: None,
            base_ns,
            base_at_most: base_ns.is_some() && (bounded || rare || queued),
            delayed_acks: halves.delays,
            without_own_queue: false,
            median_ns,
            p95_ns,
        }
    }
}

/// A median of the whole that is longer by so much than that of the half toward the receiver has more in it than that and a host.
const LATER: f64 = 1.125;

/// Median and 95th percentile: a quantile is known to the width of a bucket, the least and the most exactly.
fn quantiles<const BUCKETS: usize>(
    times: &Bounded<10, BUCKETS>,
    min_ns: Option<i64>,
) -> (Option<f64>, Option<f64>) {
    let of = |part| times.quantile(part).map(|ns| ns.max(min_ns.unwrap_or(0) as f64));
    (of(0.5), of(0.95))
}

/// Whether the whole is but an upper bound: away from the sender, whose half was seldom measured (the handshake may have been
/// late, and what the sender sent later may have waited for its application). Next to it the half is that of its host or of its
/// own queue, and counts where it is most of the whole.
fn at_most(far_ns: Option<i64>, near_ns: Option<i64>, samples: u32) -> bool {
    samples < COMMON && near_ns > far_ns.map(|far_ns| far_ns.clamp(REACTION_NS, HOST_NS))
}

impl RoundTrip {
    /// The half toward the receiver of so few segments that nothing but their ACKs is known, and the round trip of the handshake.
    pub(super) fn with_few(self, far: Half, handshake_ns: Option<i64>) -> Self {
        let base_ns = far.min_ns.zip(self.toward_sender.min_ns).map(|both| least_ns(both, handshake_ns));
        let base_at_most = base_ns.is_some() && at_most(far.min_ns, self.toward_sender.min_ns, 0);
        RoundTrip { toward_receiver: far, base_ns, base_at_most, ..self }
    }

    /// A half of which only the smallest is known.
    pub(super) fn of_least(min_ns: Option<i64>, samples: u64) -> Half {
        let samples = u32::try_from(samples).unwrap_or(u32::MAX);
        Half { min_ns, samples, bound_ns: min_ns.map(|min_ns| bound(min_ns, None)), ..Half::default() }
    }
}

/// Ticks from which on one changes a time little; how much longer than that time it may be by another measure.
const SHARP: (f64, f64) = (3.3, 1.3);
/// A base RTT that is longer than the sum of both halves by less than this is one all the same.
const RARE_NS: i64 = 2_000_000;
/// What a host takes to answer, as a rule, if nothing of it is queued.
const REACTION_NS: i64 = 250_000;
/// Samples of which the half may be near the smallest by more than chance.
const COMMON: u32 = 16;

/// What the path takes at its best lies between. A host takes up to a millisecond, or a quarter of the whole, to answer,
/// and if half of all samples (`median_ns`) are no further than that from the smallest, the queues were empty then.
/// Where they are not, or are few, all may have been queued: the least that is sure is nothing.
fn bound(min_ns: i64, median_ns: Option<f64>) -> (i64, i64) {
    let host_ns = (min_ns / 4).max(1_000_000);
    let settled = median_ns.is_some_and(|median_ns| median_ns <= (min_ns + host_ns) as f64);
    (if settled { (min_ns - host_ns).max(0) } else { 0 }, min_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the handshake waited in the sender's own queue is no part of the path, but would be most of its RTT.
    #[test]
    fn a_half_that_is_most_of_the_whole_is_a_bound_until_it_was_measured_often() {
        let us = |us: i64| Some(1000 * us);
        assert!(at_most(us(20), us(700), 3) && at_most(us(20), us(2_000), 3));
        assert!(!at_most(us(20), us(200), 3), "a host's own");
        assert!(!at_most(us(800), us(700), 3) && at_most(us(80_000), us(1_100), 3));
        assert!(!at_most(us(20), us(700), COMMON));
    }
}
