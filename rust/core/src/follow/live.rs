//! The tracker that two threads share: one feeds it, the other asks.

use std::sync::Mutex;

use super::snapshot::{Snapshot, Sums};
use super::{Limits, locked};
use crate::capture::{Gauge, IcmpError, Sink};
use crate::issue::Issues;
use crate::segment::Segment;
use crate::tracker::Tracker;

/// What is known so far.
pub(super) struct Live {
    pub(super) tracker: Tracker,
    pub(super) segments: u64,
    /// Bytes that each connection had sent at the last snapshot.
    pub(super) before: Vec<u64>,
    /// Which of them were packed by then, and what those come to.
    pub(super) resting: Vec<bool>,
    pub(super) rested: Sums,
    /// All of what was given up.
    pub(super) forgotten: Sums,
    limits: Limits,
    issues: Issues,
}

impl Live {
    pub(super) fn new(limits: Limits) -> Self {
        Live {
            tracker: if limits.keep_segments { Tracker::new(true) } else { Tracker::summing_up() },
            segments: 0,
            before: Vec::new(),
            resting: Vec::new(),
            rested: Sums::default(),
            forgotten: Sums::default(),
            limits,
            issues: Issues::default(),
        }
    }

    #[inline]
    fn segment(&mut self, segment: &Segment) {
        self.tracker.segment(segment);
        self.segments += 1;
        if self.limits.keep_segments {
            return;
        }
        if self.tracker.connections().len() > self.limits.connections {
            self.make_room();
        }
    }

    /// A quarter at a time: giving up goes through all.
    #[cold]
    fn make_room(&mut self) {
        let keep = self.limits.connections - self.limits.connections / 4;
        let before = self.forgotten.connections;
        let kept = self.tracker.forget(keep, &mut self.issues, |connection| self.forgotten.add(connection));
        self.before = kept.iter().map(|&old| self.before.get(old as usize).copied().unwrap_or(0)).collect();
        let limit = self.limits.connections;
        self.issues.add_many("forgotten-connections", self.forgotten.connections - before, 0, || {
            format!("more than {limit} at a time: those that were idle for longest are left out")
        });
    }

    pub(super) fn snapshot(&mut self, gauge: &Gauge, busiest: usize) -> Snapshot {
        Snapshot::of(self, gauge, busiest)
    }

    /// The tracker, handed out once.
    pub(super) fn conclude(&mut self, issues: &mut Issues) -> Tracker {
        issues.take_in(&self.issues);
        std::mem::take(&mut self.tracker)
    }
}

/// The end of the thread that reads. Locking for each segment costs little while nobody else wants to.
pub(super) struct Shared<'a>(pub(super) &'a Mutex<Live>);

impl Sink for Shared<'_> {
    #[inline]
    fn segment(&mut self, segment: &Segment) {
        locked(self.0).segment(segment);
    }

    fn icmp_error(&mut self, error: &IcmpError) {
        locked(self.0).tracker.icmp_error(error);
    }

    /// Who asks is told of every segment that has come.
    fn batch_size(&self) -> usize {
        1
    }
}
