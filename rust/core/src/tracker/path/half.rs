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
    /// The same of the data that passed last, and a tick of that clock.
    late_now_ns: i64,
    tick_ns: i64,
    /// When an echo last measured the half toward the sender, and how long the last ones took without what data waited by
    /// that clock: more than the least in the direction of ACKs, or at the sender.
    echoed_ns: i64,
    surplus: [i64; SURPLUS],
    /// Of these, what a fourth does not exceed, more than the least: others waited at the sender.
    surplus_ns: i64,
    /// The least that the half toward the sender took without what data waited before this point (-1: unknown).
    unqueued_ns: i64,
    /// What data waited before this point, when it passed.
    passed: Passed,
    /// Round trips whose half toward the sender nothing measured at that time.
    unsure: u32,
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
            late_now_ns: i64::MAX,
            tick_ns: 0,
            echoed_ns: -1,
            surplus: [-1; SURPLUS],
            surplus_ns: 0,
            unqueued_ns: -1,
            passed: Passed::default(),
            unsure: 0,
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
            late_now_ns,
            tick_ns,
            echoed_ns,
            surplus,
            surplus_ns,
            unqueued_ns,
            passed,
            unsure,
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
        unsure.walk(walk);
        // Most connections have no timestamps, or end before these tell.
        let mut echoed = *echoed_ns >= 0;
        echoed.walk(walk);
        if echoed {
            walk.time(echoed_ns);
            walk_over!(walk: surplus, surplus_ns, unqueued_ns);
        } else if W::READS {
            (*echoed_ns, *surplus, *surplus_ns, *unqueued_ns) = (-1, [-1; SURPLUS], 0, -1);
        }
        let mut clocked = *tick_ns > 0;
        clocked.walk(walk);
        if clocked {
            walk_over!(walk: late_now_ns, tick_ns, passed);
        } else if W::READS {
            (*late_now_ns, *tick_ns, *passed) = (i64::MAX, 0, Passed::default());
        }
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
        self.far.samples
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
    pub fn acknowledged(&mut self, t_ns: i64, rtt_ns: i64, lone: bool, counts: bool) {
        if !(0..DAY_NS).contains(&rtt_ns) {
            return;
        }
        self.far_least(rtt_ns);
        if !lone || self.far_ns < 0 || rtt_ns < self.far_ns {
            self.far_ns = rtt_ns;
        }
        if counts {
            self.far.add(rtt_ns);
            let near_ns = self.toward_sender_ns(t_ns, rtt_ns);
            self.whole.add(rtt_ns.saturating_add(near_ns));
        }
    }

    /// What the half toward the sender took of what is acknowledged now: the least, what that data waited before this point by
    /// its clock, and what the last echoes took beyond that. Next to the sender nothing else waits.
    #[inline(always)]
    fn toward_sender_ns(&mut self, t_ns: i64, rtt_ns: i64) -> i64 {
        if self.late_now_ns == i64::MAX {
            let fresh_ns = FRESH_NS.max(2 * self.base_ns());
            let fresh = self.echoed_ns >= 0 && t_ns.saturating_sub(self.echoed_ns) <= fresh_ns;
            let itself = self.beside_sender() && self.near_last_ns > HOST_NS;
            self.unsure += u32::from((!fresh || itself) && self.unsure < u32::MAX);
            return self.near_now_ns();
        }
        let waited_ns = self.passed.at(t_ns - rtt_ns);
        let surplus_ns = if self.beside_sender() { 0 } else { self.surplus_ns };
        self.empty_ns().saturating_add(waited_ns).saturating_add(surplus_ns)
    }

    /// What the data that passed last waited before this point, by its sender's clock: less than a tick is taken as nothing.
    #[inline(always)]
    fn waited_ns(&self) -> Option<i64> {
        if self.late_now_ns == i64::MAX {
            return None;
        }
        let late_ns = self.late_now_ns - self.tick_ns;
        Some(if late_ns <= self.tick_ns { 0 } else { late_ns - self.tick_ns / 2 })
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
        self.clock(segment.t_ns, val, first);
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
        self.late_ns = self.late_now_ns;
        self.echoes = self.echoes.saturating_add(1);
        if !waited {
            if let Some(waited_ns) = self.waited_ns() {
                self.without_queue(took_ns - waited_ns, idle);
            }
            self.echoed_ns = segment.t_ns;
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
    /// An echo took so long without what its data waited before this point. With nothing under way (`idle`), the sender may
    /// have waited for anything.
    fn without_queue(&mut self, took_ns: i64, idle: bool) {
        let took_ns = took_ns.max(0);
        if self.unqueued_ns < 0 || took_ns < self.unqueued_ns {
            self.unqueued_ns = took_ns;
        }
        if !idle {
            self.surplus.rotate_right(1);
            self.surplus[0] = took_ns;
            let mut sorted = self.surplus;
            sorted.sort_unstable();
            let known = &sorted[sorted.partition_point(|took_ns| *took_ns < 0)..];
            let usual_ns = if known.len() >= FEW { known[(known.len() - 1) / 4] } else { 0 };
            self.surplus_ns = (usual_ns - self.empty_ns()).max(0);
        }
    }

    /// The least that the half toward the sender takes with no queue before this point.
    #[inline(always)]
    fn empty_ns(&self) -> i64 {
        if self.unqueued_ns >= 0 { self.near_ns().min(self.unqueued_ns) } else { self.near_ns() }
    }

    /// What data can have waited before this point: how much later than at its best it comes by the clock that its
    /// TSval was read from, and a tick. `first` is the first TSval, and when it passed.
    fn clock(&mut self, t_ns: i64, val: u32, first: Option<(u32, i64)>) {
        let Some((first_val, first_ns)) = first else { return };
        let ticks = i64::from(val.wrapping_sub(first_val) as i32);
        let span_ns = t_ns.saturating_sub(first_ns);
        if ticks < KNOWN.0 || span_ns < KNOWN.1 {
            return;
        }
        // Data may come late, in a queue that has grown since the first, but never early. So the largest that fits is the
        // tick, until it is seen to be too large; what was late by another is not comparable.
        let fits = |tick_ns: i64| {
            let clock_ns = ticks.saturating_mul(tick_ns);
            span_ns >= clock_ns - clock_ns / 5
                && span_ns - clock_ns <= clock_ns.saturating_mul(2).min(LATE_NS)
        };
        // A tick that fitted is looked at now and then.
        let due = self.tick_ns == 0 || val & 15 == 0;
        if due && !(self.tick_ns > 0 && fits(self.tick_ns)) {
            let found = TICKS_NS.into_iter().rev().find(|tick_ns| fits(*tick_ns));
            let Some(tick_ns) = found.filter(|tick_ns| self.tick_ns == 0 || *tick_ns < self.tick_ns) else {
                self.late_now_ns = i64::MAX;
                return;
            };
            (self.tick_ns, self.punctual) = (tick_ns, (0, 0));
        }
        let tick_ns = self.tick_ns;
        let late_ns = span_ns - ticks * tick_ns;
        let (least_ns, noted_ns) = self.punctual;
        let drift_ns = if noted_ns > 0 { t_ns.saturating_sub(noted_ns).max(0) / DRIFT } else { 0 };
        let least_ns = least_ns.saturating_add(drift_ns).min(late_ns);
        self.punctual = (least_ns, t_ns);
        self.late_now_ns = late_ns.saturating_sub(least_ns).saturating_add(tick_ns);
        if let Some(waited_ns) = self.waited_ns() {
            self.passed.note(t_ns, waited_ns, self.far_ns.max(0));
        }
    }
}

/// Ticks of the clocks of TSval in use (RFC 7323 section 5.4), from how many of them and what time on a clock's is known.
const TICKS_NS: [i64; 4] = [1_000, 1_000_000, 4_000_000, 10_000_000];
const KNOWN: (i64, i64) = (50, 50_000_000);
/// Data that is later than this by a clock has a clock of another tick, or was held up by an outage.
const LATE_NS: i64 = 1_000_000_000;
/// What data waited before this point that passed lately, at so many times in a round trip toward the receiver.
#[derive(Debug, Clone, Default)]
struct Passed {
    /// When it passed, and how long it had waited; the oldest is the next to be replaced.
    noted: [(i64, i64); PASSED],
    next: u32,
    /// How many of them had waited.
    waited: u32,
}

const PASSED: usize = 32;

impl Passed {
    #[inline(always)]
    fn note(&mut self, t_ns: i64, waited_ns: i64, round_ns: i64) {
        let last = (self.next as usize + PASSED - 1) % PASSED;
        if t_ns.saturating_sub(self.noted[last].0) >= round_ns / (PASSED as i64 / 2) {
            let place = &mut self.noted[self.next as usize];
            self.waited = self.waited + u32::from(waited_ns > 0) - u32::from(place.1 > 0);
            *place = (t_ns, waited_ns);
            self.next = (self.next + 1) % PASSED as u32;
        }
    }

    /// Of data that passed at a time: as noted last before it.
    #[inline(always)]
    fn at(&self, t_ns: i64) -> i64 {
        if self.waited == 0 {
            return 0;
        }
        let newest = self.next as usize + PASSED - 1;
        let mut noted = (0..PASSED).map(|back| self.noted[(newest - back) % PASSED]);
        let mut waited_ns = self.noted[newest % PASSED].1;
        while let Some((passed_ns, was_ns)) = noted.next()
            && passed_ns > 0
        {
            waited_ns = was_ns;
            if passed_ns <= t_ns {
                break;
            }
        }
        waited_ns
    }
}

impl Fields for Passed {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Passed { noted, next, waited } = self;
        let mut used = noted.iter().filter(|(t_ns, _)| *t_ns > 0).count() as u32;
        walk_over!(walk: next, waited, &mut used);
        // They are filled from the first on.
        if W::READS {
            *noted = [(0, 0); PASSED];
        }
        for (t_ns, waited_ns) in noted.iter_mut().take(used as usize) {
            walk.time(t_ns);
            waited_ns.walk(walk);
        }
    }
}

/// Echoes that stand for what ACKs wait, from how many on; and for how long one stands for those after it, at least.
const SURPLUS: usize = 8;
const FEW: usize = 3;
const FRESH_NS: i64 = 100_000_000;
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
        // Next to the sender, the half toward it is as good as none. Elsewhere echoes have to measure it all the time.
        let beside = beside && halves.beside_sender();
        let timed = halves.echoes > 0 || (beside && halves.tick_ns > 0);
        let measured = timed && 2 * halves.unsure < halves.whole.samples;
        // What waited less than a tick of the clock is not known to have waited. Where the half toward the sender may be as
        // long as that, and longer than what is left of it here, the whole is not known.
        let tick_ns = if beside { 0.0 } else { halves.tick_ns as f64 };
        let sharp = |ns: f64, far_ns: Option<f64>, part: f64| {
            let echoed = halves.near.quantile(part).zip(far_ns).map(|(near_ns, far_ns)| near_ns + far_ns);
            ns >= SHARP.0 * tick_ns || echoed.is_some_and(|most_ns| most_ns <= SHARP.1 * ns)
        };
        let (median_ns, p95_ns) = match base_ns {
            Some(_) if measured => match quantiles(&halves.whole, base_ns) {
                (Some(median_ns), Some(p95_ns))
                    if sharp(median_ns, far.median_ns, 0.5) && sharp(p95_ns, far.p95_ns, 0.95) =>
                {
                    (Some(median_ns), Some(p95_ns))
                }
                _ => (None, None),
            },
            Some(_) if beside && halves.echoes == 0 => {
                let near_ns = near.min_ns.unwrap_or(0) as f64;
                (far.median_ns.map(|ns| ns + near_ns), far.p95_ns.map(|ns| ns + near_ns))
            }
            _ => (None, None),
        };
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

/// Ticks from which on one changes a time little; how much longer than that time it may be by another measure.
const SHARP: (f64, f64) = (3.3, 1.3);
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
