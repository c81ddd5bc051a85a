//! Both halves of the round trip, as one point between the ends sees them.
//!
//! Toward the receiver: from data that passes to its ACK (Karn's rule holds). Toward the sender: from an ACK that passes
//! to the first data that echoes its timestamp (RFC 7323), or to the ACK of what the receiver itself sent, its
//! SYN or SYN+ACK at least. What an end waits before it answers is in both: the smallest is an upper bound.

use super::gaps::SILENCE_NS;
use super::histogram::Histogram;
use crate::segment::Segment;
use crate::tracker::fields::{Fields, Walk, walk_over};

/// Round trip times in nanoseconds, from a microsecond on.
pub(super) type Times = Histogram<10>;

const DAY_NS: i64 = 86_400_000_000_000;

/// What is known of both halves.
#[derive(Debug, Clone)]
pub(super) struct Halves {
    /// Smallest toward the receiver, and toward the sender; `i64::MAX` if none was measured.
    far_min_ns: i64,
    near_min_ns: i64,
    /// The same, 0 if it was not measured.
    near_best_ns: i64,
    /// The last of each; -1 if there is none.
    far_ns: i64,
    near_last_ns: i64,
    /// An ACK whose timestamp no data has echoed yet: when it passed (-1: none is waited for), and its TSval.
    probe_ns: i64,
    probe_val: u32,
    /// Newest TSval of any ACK.
    seen_val: Option<u32>,
    echoes: u32,
    /// How late data comes by its sender's clock, at its best and when that was noted; and what the last that was
    /// measured can have waited in a queue before this point (`i64::MAX`: nothing tells).
    punctual: (i64, i64),
    late_ns: i64,
    /// Data segments closer than this follow each other; what an ACK releases comes within `slack_ns`.
    pub quick_ns: i64,
    pub slack_ns: i64,
    pub far: Times,
    pub near: Times,
    /// The sum of both, for each ACK.
    pub whole: Times,
}

impl Default for Halves {
    fn default() -> Self {
        Halves {
            far_min_ns: i64::MAX,
            near_min_ns: i64::MAX,
            near_best_ns: 0,
            far_ns: -1,
            near_last_ns: -1,
            probe_ns: -1,
            probe_val: 0,
            seen_val: None,
            echoes: 0,
            punctual: (0, 0),
            late_ns: i64::MAX,
            quick_ns: QUICK_NS.0,
            slack_ns: SLACK_NS.1,
            far: Times::default(),
            near: Times::default(),
            whole: Times::default(),
        }
    }
}

impl Fields for Halves {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Halves {
            far_min_ns,
            near_min_ns,
            near_best_ns,
            far_ns,
            near_last_ns,
            probe_ns,
            probe_val,
            seen_val,
            echoes,
            punctual,
            late_ns,
            quick_ns,
            slack_ns,
            far,
            near,
            whole,
        } = self;
        let (least_ns, noted_ns) = punctual;
        walk.time(noted_ns);
        walk_over!(walk: least_ns, late_ns);
        walk.time(probe_ns);
        walk_over!(walk: far_min_ns, near_min_ns, near_best_ns, far_ns, near_last_ns, probe_val, seen_val, echoes);
        walk_over!(walk: quick_ns, slack_ns, far, near, whole);
    }
}

/// Least and most of what counts as one burst, and of what a sender takes to react.
const QUICK_NS: (i64, i64) = (10_000, 200_000);
const SLACK_NS: (i64, i64) = (300_000, 5_000_000);
/// A host answers itself within this, at its best.
pub(super) const HOST_NS: i64 = 1_000_000;

impl Halves {
    /// What the connection has measured already.
    pub fn begin(&mut self, far_ns: Option<i64>, near_ns: Option<i64>) {
        if let Some(far_ns) = far_ns {
            self.far_least(far_ns);
        }
        if let Some(near_ns) = near_ns {
            self.near_least(near_ns);
        }
    }

    /// What it takes to the sender and back at least; 0 if nothing tells.
    #[inline(always)]
    pub fn near_ns(&self) -> i64 {
        self.near_best_ns
    }

    /// The same as it is now, with what waits in a queue before this point, as far as echoes tell.
    #[inline(always)]
    pub fn near_now_ns(&self) -> i64 {
        if self.near_last_ns >= 0 { self.near_last_ns } else { self.near_ns() }
    }

    /// Smallest round trip toward the receiver.
    pub fn far_min_ns(&self) -> Option<i64> {
        (self.far_min_ns < i64::MAX).then_some(self.far_min_ns)
    }

    /// Whether nothing but the sender's own host is between it and this point: an answer came as soon as a host's own.
    #[inline(always)]
    pub fn beside_sender(&self) -> bool {
        self.near_min_ns < HOST_NS
    }

    /// Smallest round trip toward the sender.
    pub fn near_min_ns(&self) -> Option<i64> {
        (self.near_min_ns < i64::MAX).then_some(self.near_min_ns)
    }

    /// How often each was measured.
    pub fn measured(&self) -> [u32; 2] {
        [self.far.samples, self.echoes]
    }

    /// Smallest whole round trip, as far as both halves are known.
    pub fn base_ns(&self) -> i64 {
        self.near_ns() + self.far_min_ns().unwrap_or(0)
    }

    /// How much longer than at its best the round trip takes now.
    #[inline(always)]
    pub fn queued_ns(&self) -> i64 {
        self.queued_far_ns() + self.queued_near_ns()
    }

    #[inline(always)]
    fn queued_far_ns(&self) -> i64 {
        if self.far_ns >= 0 { self.far_ns - self.far_min_ns } else { 0 }
    }

    #[inline(always)]
    fn queued_near_ns(&self) -> i64 {
        if self.near_last_ns >= 0 { self.near_last_ns - self.near_min_ns } else { 0 }
    }

    /// The same of data alone: what a sender of known clock waited itself is none of it.
    pub fn queued_data_ns(&self) -> i64 {
        self.queued_far_ns() + self.queued_before_ns()
    }

    /// Of it, what waits before this point.
    pub fn queued_before_ns(&self) -> i64 {
        self.queued_near_ns().min(self.late_ns)
    }

    /// Whether a queue anywhere on the path shows in the round trip: echoed timestamps measure the half toward the
    /// sender, or it is short, as the sender is near.
    #[inline(always)]
    pub fn shows_queues(&self) -> bool {
        self.echoes > 0 || 8 * self.near_ns() <= self.base_ns()
    }

    /// Samples of the half toward the receiver.
    #[inline(always)]
    pub fn samples(&self) -> u32 {
        self.whole.samples
    }

    /// What the whole path takes now; `None` unless the sender's clock tells what it waits itself.
    pub fn crossing_ns(&self) -> Option<i64> {
        (self.late_ns < i64::MAX).then(|| self.base_ns().saturating_add(self.queued_data_ns()))
    }

    /// Median of the whole round trip over its smallest; `None` without a sample.
    pub fn median_queued_ns(&self) -> Option<f64> {
        self.whole.quantile(0.5).map(|median_ns| median_ns - self.base_ns() as f64)
    }

    #[cfg(test)]
    pub fn fill(&mut self) {
        [&mut self.far, &mut self.near, &mut self.whole].into_iter().for_each(Histogram::fill);
    }

    #[cold]
    fn bounds_changed(&mut self) {
        let base_ns = self.base_ns();
        self.quick_ns = (base_ns / 8).clamp(QUICK_NS.0, QUICK_NS.1);
        self.slack_ns = (base_ns / 4).clamp(SLACK_NS.0, SLACK_NS.1);
    }

    #[inline]
    fn far_least(&mut self, rtt_ns: i64) {
        if rtt_ns < self.far_min_ns {
            self.far_min_ns = rtt_ns;
            self.bounds_changed();
        }
    }

    /// It took no longer than this.
    #[inline(always)]
    pub fn near_least(&mut self, rtt_ns: i64) {
        if (0..self.near_min_ns).contains(&rtt_ns) {
            (self.near_min_ns, self.near_best_ns) = (rtt_ns, rtt_ns);
            self.bounds_changed();
        }
    }

    /// An ACK measured the half toward the receiver; one of a `lone` segment may have been delayed.
    #[inline(always)]
    pub fn acknowledged(&mut self, rtt_ns: i64, lone: bool, counts: bool) {
        if !(0..DAY_NS).contains(&rtt_ns) {
            return;
        }
        self.far_least(rtt_ns);
        if !lone || self.far_ns < 0 || rtt_ns < self.far_ns {
            self.far_ns = rtt_ns;
        }
        if counts {
            self.far.add(rtt_ns);
            self.whole.add(rtt_ns + self.near_now_ns());
        }
    }

    /// An ACK passes on its way to the sender: wait for its echo, if for none yet.
    #[inline(always)]
    pub fn probe(&mut self, segment: &Segment) {
        let Some((val, _)) = segment.options.timestamps else { return };
        let newer = self.seen_val.map(|seen| (val.wrapping_sub(seen) as i32) > 0);
        if newer == Some(true) && self.probe_ns < 0 {
            (self.probe_ns, self.probe_val) = (segment.t_ns, val);
        }
        // An ACK that was overtaken is older: what follows it may have passed before with the same TSval.
        if newer != Some(false) {
            self.seen_val = Some(val);
        }
    }

    /// Data passes: the echo that was waited for, perhaps. If the application made it
    /// wait, only its bound counts; `idle`: nothing was under way here.
    #[inline(always)]
    pub fn echoed(
        &mut self,
        segment: &Segment,
        (waited, idle): (bool, bool),
        counts: bool,
        first: Option<(u32, i64)>,
    ) {
        let Some((val, ecr)) = segment.options.timestamps else { return };
        if self.probe_ns < 0 {
            return;
        }
        let beyond = ecr.wrapping_sub(self.probe_val) as i32;
        if beyond < 0 {
            return;
        }
        let took_ns = segment.t_ns.saturating_sub(self.probe_ns);
        self.probe_ns = -1;
        if beyond > 0 || !(0..DAY_NS).contains(&took_ns) {
            return;
        }
        self.near_least(took_ns);
        self.clock(segment.t_ns, val, first);
        self.echoes = self.echoes.saturating_add(1);
        if !waited {
            // With nothing under way, a sender of known clock that was silent for as long as its timer waited itself. Next to
            // it nothing else but its own queue, which its clock shows, makes an echo late: it waited for its application, or
            // to pace its segments.
            let least_ns = self.near_min_ns.saturating_add(self.late_ns);
            let silent = idle && took_ns.saturating_sub(least_ns) >= SILENCE_NS;
            let waited_itself = silent || self.beside_sender();
            let took_ns = if waited_itself { took_ns.min(least_ns) } else { took_ns };
            self.near_last_ns = took_ns;
            if counts {
                self.near.add(took_ns);
            }
        }
    }
}

impl Halves {
    /// What data can have waited before this point: how much later than at its best it comes by the clock that its
    /// TSval was read from, and a tick. `first` is the first TSval, and when it passed.
    fn clock(&mut self, t_ns: i64, val: u32, first: Option<(u32, i64)>) {
        let Some((first_val, first_ns)) = first else { return };
        let ticks = i64::from(val.wrapping_sub(first_val) as i32);
        let span_ns = t_ns.saturating_sub(first_ns);
        if ticks < KNOWN.0 || span_ns < KNOWN.1 {
            return;
        }
        let pace_ns = span_ns / ticks;
        let Some(tick_ns) = TICKS_NS.into_iter().find(|tick_ns| (pace_ns - tick_ns).abs() <= tick_ns / 5)
        else {
            self.late_ns = i64::MAX;
            return;
        };
        let late_ns = span_ns - ticks * tick_ns;
        let (least_ns, noted_ns) = self.punctual;
        let drift_ns = if noted_ns > 0 { t_ns.saturating_sub(noted_ns).max(0) / DRIFT } else { 0 };
        let least_ns = least_ns.saturating_add(drift_ns).min(late_ns);
        self.punctual = (least_ns, t_ns);
        self.late_ns = late_ns.saturating_sub(least_ns).saturating_add(tick_ns);
    }
}

/// Ticks of the clocks of TSval in use (RFC 7323 section 5.4), from how many of them and what time on a clock's is known.
const TICKS_NS: [i64; 4] = [1_000, 1_000_000, 4_000_000, 10_000_000];
const KNOWN: (i64, i64) = (100, 100_000_000);
/// Clocks differ by less than one part of so many.
const DRIFT: i64 = 5_000;

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
    /// Sum of the smallest.
    pub base_ns: Option<i64>,
    /// Median and 95th percentile of the sum.
    pub median_ns: Option<f64>,
    /// See above.
    pub p95_ns: Option<f64>,
}

impl RoundTrip {
    /// What a path tells, whose other direction measured at least `answered`, of `answers` samples.
    ///
    /// `unqueued`: the handshake was seen, and no other connection kept the queue of this one filled. `beside`: the capture
    /// is the sender's, so that the half toward it is none. Elsewhere only echoed timestamps show what the whole took
    /// after the handshake.
    pub(super) fn of(
        halves: &Halves,
        answered: Option<i64>,
        answers: u64,
        unqueued: bool,
        beside: bool,
    ) -> Self {
        // A quantile is known to the width of a bucket, the least exactly.
        let quantiles = |times: &Times, min_ns: Option<i64>| {
            let of = |part| times.quantile(part).map(|ns| ns.max(min_ns.unwrap_or(0) as f64));
            (of(0.5), of(0.95))
        };
        let half = |min_ns: Option<i64>, times: &Times, samples: u32| {
            let (median_ns, p95_ns) = quantiles(times, min_ns);
            let common = unqueued && times.samples >= COMMON;
            let bound_ns = min_ns.map(|min_ns| bound(min_ns, median_ns.filter(|_| common)));
            Half { min_ns, median_ns, p95_ns, samples, bound_ns }
        };
        let near_ns = [halves.near_min_ns(), answered].into_iter().flatten().min();
        let far = half(halves.far_min_ns(), &halves.far, halves.far.samples);
        let samples = halves.echoes.saturating_add(u32::try_from(answers).unwrap_or(u32::MAX));
        let near = half(near_ns, &halves.near, samples);
        let both = far.min_ns.zip(near.min_ns);
        let base_ns = both.map(|(far, near)| far + near);
        let measured = base_ns.is_some() && (beside || halves.echoes > 0);
        let (median_ns, p95_ns) = if measured { quantiles(&halves.whole, base_ns) } else { (None, None) };
        RoundTrip {
            toward_receiver: far,
            toward_sender: near,
            by_echo: halves.echoes > 0,
            by_answer: answers > 0,
            base_ns,
            median_ns,
            p95_ns,
        }
    }
}

impl RoundTrip {
    /// A half of which only the smallest is known.
    pub(super) fn of_least(min_ns: Option<i64>, samples: u64) -> Half {
        let samples = u32::try_from(samples).unwrap_or(u32::MAX);
        Half { min_ns, samples, bound_ns: min_ns.map(|min_ns| bound(min_ns, None)), ..Half::default() }
    }
}

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
