//! Both halves of the round trip, as one point between the ends sees them.
//!
//! Toward the receiver: from data that passes to its ACK (Karn's rule holds). Toward the sender: from an ACK that passes
//! to the first data that echoes its timestamp (RFC 7323), or to the ACK of what the receiver itself sent, its
//! SYN or SYN+ACK at least. What an end waits before it answers is in both: the smallest is an upper bound.

mod added;
mod toward_sender;

use super::clock::{Clock, Ticks};
use super::echoes::Echoes;
use super::histogram::{Bounded, FINER};
use crate::tracker::fields::{Fields, Walk, walk_answers, walk_over};

/// Round trip times in nanoseconds, from a microsecond on.
pub(super) type Times = Bounded<10>;
/// Of the whole: what a queue adds is small beside a long path, and taken from the difference.
pub(super) type Whole = Bounded<10, FINER>;

pub(super) use added::Added;

const DAY_NS: i64 = 86_400_000_000_000;

/// What is known of both halves.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Halves {
    /// Data segments closer than this follow each other; what an ACK releases comes within `slack_ns`.
    pub quick_ns: i64,
    pub slack_ns: i64,
    /// Smallest toward the receiver, and toward the sender; `i64::MAX` if none was measured.
    far_min_ns: i64,
    near_min_ns: i64,
    /// The same, 0 if it was not measured.
    near_best_ns: i64,
    /// The last of each; -1 if there is none.
    far_ns: i64,
    near_last_ns: i64,
    /// The last ACK seems to have been delayed, and so many did.
    delayed: bool,
    pub(super) delays: u32,
    /// An ACK whose timestamp no data has echoed yet: when it passed (-1: none is waited for), its TSval, and when the data had
    /// passed that it measured (-1: none).
    probe_ns: i64,
    probe_val: u32,
    probe_from_ns: i64,
    /// The smallest time in which packets went all the way round, one after the other (`i64::MAX`: none were seen to).
    loop_min_ns: i64,
    /// When an ACK passed, and the data that echoed it, whose own ACK will close a loop (`i64::MAX`: none is waited for).
    turn: (i64, i64),
    /// Newest TSval of any ACK.
    seen_val: Option<u32>,
    pub echoes: u32,
    /// What the data waited in a queue before this point that was measured last, by its sender's clock, at most (`i64::MAX`:
    /// nothing tells).
    late_ns: i64,
    /// What the last ones took without what data waited by that clock: more than the least in the direction of ACKs, or at
    /// the sender.
    pub(super) unqueued: Echoes,
    pub clock: Clock,
    /// The clock of the receiver, by the ACKs: what they waited in a queue between it and this point.
    pub acks: Ticks,
    /// What queues added to round trips.
    pub(super) added: Added,
    /// Round trips whose half toward the sender nothing measured at that time.
    pub unsure: u32,
    pub far: Times,
    pub near: Times,
    /// The sum of both, for each ACK.
    pub whole: Whole,
}

impl Default for Halves {
    fn default() -> Self {
        Halves {
            far_min_ns: i64::MAX,
            near_min_ns: i64::MAX,
            near_best_ns: 0,
            far_ns: -1,
            near_last_ns: -1,
            delayed: false,
            delays: 0,
            probe_ns: -1,
            probe_val: 0,
            probe_from_ns: -1,
            loop_min_ns: i64::MAX,
            turn: (-1, i64::MAX),
            seen_val: None,
            echoes: 0,
            late_ns: i64::MAX,
            clock: Clock::default(),
            acks: Ticks::default(),
            added: Added::default(),
            unqueued: Echoes::default(),
            unsure: 0,
            quick_ns: QUICK_NS.0,
            slack_ns: SLACK_NS.1,
            far: Times::default(),
            near: Times::default(),
            whole: Whole::default(),
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
            delayed,
            delays,
            probe_ns,
            probe_val,
            probe_from_ns,
            loop_min_ns,
            turn,
            seen_val,
            echoes,
            late_ns,
            clock,
            acks,
            added,
            unqueued,
            unsure,
            quick_ns,
            slack_ns,
            far,
            near,
            whole,
        } = self;
        walk.time(probe_ns);
        walk_over!(walk: clock, acks, unsure);
        if acks.tick_ns > 0 {
            added.walk(walk);
        } else if W::READS {
            *added = Added::default();
        }
        let mut asked = *probe_ns >= 0 && *probe_from_ns >= 0;
        let [mut turning, mut looped, mut late] = [turn.1, *loop_min_ns, *late_ns].map(|ns| ns < i64::MAX);
        // Most have no echo.
        let mut echoed = unqueued.last_ns >= 0;
        let mut delaying = *delays > 0;
        let mut answered = unqueued.answer_ns >= 0;
        let mut apart = answered && unqueued.answer_ns != *near_best_ns;
        let kept = [
            &mut asked,
            &mut turning,
            &mut looped,
            &mut echoed,
            &mut answered,
            &mut late,
            &mut apart,
            delayed,
            &mut delaying,
        ];
        walk_answers(walk, kept);
        if late {
            late_ns.walk(walk);
        } else {
            *late_ns = i64::MAX;
        }
        if delaying {
            delays.walk(walk);
        } else {
            *delays = 0;
        }
        // What is short takes few bytes: times before others that are there.
        let since = |walk: &mut W, from_ns: &mut i64, until_ns: i64, known: bool| {
            let mut took_ns = if known { until_ns.wrapping_sub(*from_ns) } else { 0 };
            if known {
                took_ns.walk(walk);
            }
            *from_ns = if known { until_ns.wrapping_sub(took_ns) } else { -1 };
        };
        since(walk, probe_from_ns, *probe_ns, asked);
        if turning {
            walk.time(&mut turn.1);
        } else {
            turn.1 = i64::MAX;
        }
        since(walk, &mut turn.0, turn.1, turning);
        walk_over!(walk: far_min_ns, near_min_ns, near_best_ns, far_ns, near_last_ns, probe_val, seen_val, echoes);
        unqueued.walk(walk, echoed);
        // That answer often was the soonest.
        if W::READS {
            unqueued.answer_ns = if answered { *near_best_ns } else { -1 };
        }
        if apart {
            unqueued.answer_ns.walk(walk);
        }
        walk_over!(walk: quick_ns, slack_ns, far, near, whole);
        // It often is the sum of both.
        let sum_ns = far_min_ns.wrapping_add(*near_min_ns);
        let mut over_ns = loop_min_ns.wrapping_sub(sum_ns);
        if looped {
            over_ns.walk(walk);
        }
        *loop_min_ns = if looped { sum_ns.wrapping_add(over_ns) } else { i64::MAX };
    }
}

/// Least and most of what counts as one burst, and of what a sender takes to react.
const QUICK_NS: (i64, i64) = (10_000, 200_000);
const SLACK_NS: (i64, i64) = (300_000, 5_000_000);
/// A host answers itself within this, at its best.
pub(super) const HOST_NS: i64 = 1_000_000;
/// What a receiver delays the ACK of a lone segment by, at least (RFC 5681 section 4.2: up to 500 ms; stacks in use: 25 ms to
/// 200 ms).
const DELAYED_NS: i64 = 20_000_000;

/// ...and at most. On a slow link the next segment alone takes longer.
const MOST_DELAYED_NS: i64 = 250_000_000;

impl Halves {
    /// What the connection has measured already, and the loop of its handshake.
    pub fn begin(&mut self, far_ns: Option<i64>, near_ns: Option<i64>, handshake_ns: Option<i64>) {
        self.loop_min_ns = handshake_ns.unwrap_or(i64::MAX);
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

    /// Smallest whole round trip; `None` without both halves.
    pub fn least_ns(&self) -> Option<i64> {
        self.far_min_ns().zip(self.near_min_ns()).map(|both| least_ns(both, self.loop_min_ns()))
    }

    /// Smallest that was seen as a whole, one packet after the other.
    pub fn loop_min_ns(&self) -> Option<i64> {
        (self.loop_min_ns < i64::MAX).then_some(self.loop_min_ns)
    }

    /// Smallest round trip toward the sender.
    pub fn near_min_ns(&self) -> Option<i64> {
        (self.near_min_ns < i64::MAX).then_some(self.near_min_ns)
    }

    /// How often each was measured.
    pub fn measured(&self) -> [u32; 2] {
        [self.far.samples(), self.echoes]
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

    /// The same of data alone: what a sender of known clock waited itself is none of it, nor what ACKs waited by the clock of
    /// their sender.
    pub fn queued_data_ns(&self) -> i64 {
        self.queued_behind_ns() + self.queued_before_ns()
    }

    /// Of it, what waits between this point and the receiver.
    fn queued_behind_ns(&self) -> i64 {
        (self.queued_far_ns() - self.acks.waited_ns().unwrap_or(0)).max(0)
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
        self.far.samples()
    }

    /// What the whole path takes now; `None` unless the sender's clock tells what it waits itself.
    pub fn crossing_ns(&self) -> Option<i64> {
        (self.late_ns < i64::MAX).then(|| self.base_ns().saturating_add(self.queued_data_ns()))
    }

    /// Median of the whole round trip over its smallest, without the part that was no wait of data; `None` without a sample.
    pub fn median_queued_ns(&self) -> Option<f64> {
        self.whole
            .quantile(0.5)
            .map(|median_ns| (median_ns - self.base_ns() as f64) * self.added.data_share().unwrap_or(1.0))
    }

    /// Whether the round trip mostly took twice its smallest or more, and data waited in hardly any of that: ACKs did, in the queue of
    /// a link in their direction.
    pub fn mostly_acks(&self) -> bool {
        let twice =
            self.whole.quantile(0.5).is_some_and(|median_ns| median_ns >= 2.0 * self.base_ns() as f64);
        twice && self.added.data_share().is_some_and(|share| share < OF_DATA)
    }

    /// What hardly any round trip is longer than; `None` without a sample.
    pub fn longest_ns(&self) -> Option<i64> {
        self.whole.quantile(0.95).map(|longest_ns| longest_ns as i64)
    }

    #[cfg(test)]
    pub fn acknowledged(&mut self, t_ns: i64, rtt_ns: i64, lone: bool, counts: bool) {
        self.measured_far(t_ns, rtt_ns, (lone, lone, 1), (counts, false));
    }

    #[cfg(test)]
    pub fn fill(&mut self) {
        [&mut self.far, &mut self.near].into_iter().for_each(Times::fill);
        self.whole.fill();
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

    /// Packets went all the way round in this time, one after the other; what their hosts waited is in it.
    #[inline(always)]
    fn went_round(&mut self, took_ns: i64) {
        if (1..self.loop_min_ns).contains(&took_ns) {
            self.loop_min_ns = took_ns;
        }
    }

    /// An ACK measured the half toward the receiver; one of a `single` segment may have been delayed, and that of a `lone` one
    /// behind which nothing more came. It stands for so many `segments`, if it `counts`. Its sender may be one that `waits` for its
    /// application before it echoes an ACK.
    #[inline(always)]
    pub fn measured_far(
        &mut self,
        t_ns: i64,
        rtt_ns: i64,
        (single, lone, segments): (bool, bool, u16),
        (counts, waits): (bool, bool),
    ) {
        if !(0..DAY_NS).contains(&rtt_ns) {
            return;
        }
        self.far_least(rtt_ns);
        if t_ns - rtt_ns >= self.turn.1 {
            self.went_round(t_ns - self.turn.0);
            self.turn = (-1, i64::MAX);
        }
        // Longer than the last by as much as a receiver delays an ACK, it shows no queue: the next one does, if it is as long.
        let later_ns = rtt_ns - self.far_ns;
        let longer = single
            && self.far_ns >= 0
            && (DELAYED_NS.max(self.far_ns / 8) + 1..=MOST_DELAYED_NS).contains(&later_ns);
        let delayed = longer && self.waited_for(later_ns, lone);
        self.delayed = delayed;
        if !(lone || delayed) || self.far_ns < 0 || rtt_ns < self.far_ns {
            self.far_ns = rtt_ns;
        }
        if counts && delayed {
            self.delays = self.delays.saturating_add(1);
        } else if counts {
            self.far.add_for(rtt_ns, segments);
            let near = self.toward_sender(t_ns, rtt_ns, waits);
            let near_ns = near.least_ns.saturating_add(near.data_ns).saturating_add(near.other_ns);
            self.whole.add_for(rtt_ns.saturating_add(near_ns), segments);
            if let Some(waited_ns) = self.acks.waited_ns().filter(|_| near.known) {
                self.added.add(rtt_ns - self.far_min_ns, waited_ns, (near.data_ns, near.other_ns));
            }
        }
    }

    /// Whether the receiver may have waited so long for another segment. While a longer queue stands, that comes as soon as the
    /// link has transmitted it. What most ACKs take is no exception: a slow link takes as long for each segment.
    #[cold]
    #[inline(never)]
    fn waited_for(&self, later_ns: i64, lone: bool) -> bool {
        let exception = self.delays <= self.far.samples();
        exception && (lone || (!self.delayed && self.queued_far_ns() < later_ns))
    }
}

/// The smallest whole round trip. The least of both halves may be of different times: none need have taken their sum, so
/// that one that was seen counts. Next to an end, its half is as good as none, and what was seen as a whole is longer by what
/// the hosts waited; a half that is short, but not that short, has its part in one that is nearly the sum.
pub(super) fn least_ns((far_ns, near_ns): (i64, i64), round_ns: Option<i64>) -> i64 {
    let sum_ns = far_ns.saturating_add(near_ns);
    let Some(round_ns) = round_ns else { return sum_ns };
    let short_ns = far_ns.min(near_ns);
    let counts = short_ns > HOST_NS || short_ns > sum_ns / NOTHING && !apart(sum_ns, round_ns, 0);
    if counts { round_ns.max(sum_ns) } else { sum_ns }
}

/// Whether what was seen as a whole is longer than the sum of both halves by more than chance.
pub(super) fn apart(sum_ns: i64, round_ns: i64, least_ns: i64) -> bool {
    round_ns.saturating_sub(sum_ns) > (sum_ns / 20 * 3).max(least_ns)
}

/// Of what queues added to round trips, data did not wait in a link's queue if it has less than this part.
const OF_DATA: f64 = 0.2;
/// A half that is less than one part of so many is none.
const NOTHING: i64 = 32;
