//! What a sender knows of its receiver: the ACKs that reached it, by when they passed this point or by the timestamps that
//! its data echoes.

use super::line::{Heard, Line, later_edge};
use crate::segment::Segment;
use crate::tracker::fields::{Fields, Walk, walk_over};

/// Up to a time.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub(super) struct Known {
    /// Cumulative ACK.
    pub una: i64,
    /// Right edge of the window; -1 if unknown.
    pub edge: i64,
    /// ACKs on their way to it.
    pub line: Line,
}

impl Fields for Known {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Known { una, edge, line } = self;
        walk_over!(walk: una, edge, line);
    }
}

impl Known {
    /// Of a sender that is looked at from now on, of which all below `una` is acknowledged.
    pub fn begin(&mut self, una: i64) {
        (self.una, self.edge) = (una, -1);
    }

    /// The next ACK reaches it.
    #[inline(always)]
    pub fn hear_next(&mut self) {
        if let Some(heard) = self.line.front() {
            // One after the other: both at once take three times as many instructions where vectors have no such maximum.
            let Heard { ack, edge, .. } = *heard;
            if ack > self.una {
                self.una = ack;
            }
            self.edge = later_edge(self.edge, edge);
            self.line.pop();
        }
    }

    /// What the sender had heard when it sent what passes at a time. The timestamp that it echoes tells: all before
    /// that one; of those with the same one (they have ticks of a millisecond, mostly), and without timestamps of
    /// all, those that passed a half round trip before.
    #[inline(always)]
    pub fn advance(
        &mut self,
        t_ns: i64,
        half_ns: i64,
        echoed: Option<u32>,
        mut each: impl FnMut(i64, (i64, i64)),
    ) {
        while let Some(heard) = self.line.front() {
            let known = match echoed.map(|ecr| heard.ts_val.wrapping_sub(ecr) as i32) {
                Some(..0) => heard.t_ns <= t_ns,
                Some(1..) => false,
                // It echoes one of those, and heard none before them: the first.
                Some(0) if self.edge < 0 => heard.t_ns <= t_ns,
                Some(0) | None => t_ns - heard.t_ns >= half_ns,
            };
            if !known {
                break;
            }
            let at_ns = heard.t_ns;
            self.hear_next();
            each(self.una, (at_ns, self.edge));
        }
    }

    /// Whether a segment, which is no full one, was cut off where the window ends.
    pub fn ends_with(&self, segment: &Segment, seq: i64, unit: i64) -> bool {
        let length = i64::from(segment.length);
        self.edge >= 0 && length < unit && seq.wrapping_add(length) == self.edge
    }

    /// Whether an ACK released what passes `at` a time, within so long: the last that its sender is known to have heard, or,
    /// close to the sender, where what the handshake took is more than the half, one that passed just before.
    #[inline(always)]
    pub fn prompted(&self, at: (i64, i64, i64, Option<u32>), slack_ns: i64) -> bool {
        let (t_ns, prompted_ns, near_ns, echoed) = at;
        let known = |heard: &Heard| echoed.is_none_or(|ecr| heard.ts_val.wrapping_sub(ecr) as i32 <= 0);
        prompted_ns > i64::MIN && t_ns - prompted_ns <= slack_ns
            || near_ns <= slack_ns
                && self.line.front().is_some_and(|heard| known(heard) && t_ns - heard.t_ns <= slack_ns)
    }
}
