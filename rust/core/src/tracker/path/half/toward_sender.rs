//! The half of the round trip toward the sender: from an ACK that passes to the first data that echoes its timestamp.

use super::{DAY_NS, HOST_NS, Halves};
use crate::segment::Segment;
use crate::tracker::path::gaps::SILENCE_NS;

/// For how long an echo stands for those after it, at least.
const FRESH_NS: i64 = 100_000_000;

impl Halves {
    /// An ACK passes on its way to the sender: wait for its echo, if for none yet. `rtt_ns` is what it measured (-1: nothing).
    #[inline(always)]
    pub fn probe(&mut self, segment: &Segment, rtt_ns: i64) {
        let Some((val, _)) = segment.options.timestamps else { return };
        let newer = self.seen_val.map(|seen| (val.wrapping_sub(seen) as i32) > 0);
        if newer == Some(true) && self.probe_ns < 0 {
            (self.probe_ns, self.probe_val) = (segment.t_ns, val);
            self.probe_from_ns = if rtt_ns >= 0 { segment.t_ns - rtt_ns } else { -1 };
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
        let tick_ns = self.clock.ticks.tick_ns;
        let sooner_ns = self.clock.see(segment.t_ns, val, first, self.far_ns.max(0));
        if self.clock.ticks.tick_ns != tick_ns && tick_ns > 0 {
            self.unqueued.restart();
        }
        if sooner_ns > 0 {
            self.unqueued.sooner(sooner_ns);
        }
        if self.probe_ns < 0 {
            return;
        }
        let beyond = ecr.wrapping_sub(self.probe_val) as i32;
        if beyond < 0 {
            return;
        }
        let took_ns = segment.t_ns - self.probe_ns;
        let (asked_ns, from_ns) = (self.probe_ns, self.probe_from_ns);
        (self.probe_ns, self.probe_from_ns) = (-1, -1);
        if beyond > 0 || !(0..DAY_NS).contains(&took_ns) {
            return;
        }
        self.near_least(took_ns);
        if from_ns >= 0 {
            self.went_round(segment.t_ns - from_ns);
        }
        self.turn = (asked_ns, segment.t_ns);
        self.late_ns = self.clock.ticks.late_ns;
        self.echoes = self.echoes.saturating_add(1);
        if !waited {
            if let Some(waited_ns) = self.clock.ticks.waited_ns() {
                self.unqueued.add(took_ns - waited_ns, idle);
            }
            self.unqueued.last_ns = segment.t_ns;
            // With nothing under way, a sender of known clock that was silent for as long as its timer waited itself. Next to
            // it nothing else but its own queue, which its clock shows, makes an echo late: it waited for its application, or
            // to pace its segments.
            let empty_ns = self.unqueued.empty_ns(self.near_min_ns, self.clock.ticks.early_ns());
            let least_ns = empty_ns.saturating_add(self.late_ns);
            let silent = idle && took_ns - least_ns >= SILENCE_NS;
            let waited_itself = silent || self.beside_sender();
            let took_ns = if waited_itself { took_ns.min(least_ns) } else { took_ns };
            self.near_last_ns = took_ns;
            if counts {
                self.near.add(took_ns);
            }
        }
    }

    /// What the half toward the sender took of what is acknowledged now: the least, what that data waited before this point by
    /// its clock, and what the last echoes took beyond that. Next to the sender nothing else waits; nor is anything else known of one
    /// that `waits` for its application.
    #[inline(always)]
    pub(super) fn toward_sender(&mut self, t_ns: i64, rtt_ns: i64, waits: bool) -> Near {
        if self.clock.ticks.late_ns == i64::MAX {
            let fresh_ns = FRESH_NS.max(2 * self.base_ns());
            let last_ns = self.unqueued.last_ns;
            let fresh = last_ns >= 0 && t_ns - last_ns <= fresh_ns;
            let itself = self.beside_sender() && self.near_last_ns > HOST_NS;
            self.unsure += u32::from((!fresh || itself) && self.unsure < u32::MAX);
            return Near { least_ns: self.near_now_ns(), data_ns: 0, other_ns: 0, known: false };
        }
        let data_ns = self.clock.waited_at(t_ns - rtt_ns);
        let least_ns = self.unqueued.empty_ns(self.near_ns(), self.clock.ticks.early_ns());
        let other_ns = if waits || self.beside_sender() { 0 } else { self.unqueued.surplus_ns(least_ns) };
        Near { least_ns, data_ns, other_ns, known: true }
    }
}

/// The half of a round trip toward the sender, nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Near {
    pub least_ns: i64,
    /// What data waited before this point.
    pub data_ns: i64,
    /// What ACKs waited on their way, or the sender itself.
    pub other_ns: i64,
    /// Whether the sender's clock tells which.
    pub known: bool,
}
