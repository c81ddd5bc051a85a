//! Trains that follow each other at the rate of a link: a window below the BDP is sent in less than a round trip.

use crate::tracker::fields::{Fields, Walk, walk_over};

/// Trains that came evenly, or while a queue stood, without a break.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::tracker::path) struct Run {
    /// How long they have so far, and what of that without a queue is not in the next.
    ran_ns: i64,
    pending_ns: i64,
    /// Time of all those without a queue that went on for a round trip.
    pub filled_ns: i64,
}

impl Fields for Run {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Run { ran_ns, pending_ns, filled_ns } = self;
        walk_over!(walk: ran_ns, pending_ns, filled_ns);
    }
}

impl Run {
    /// What comes next is another.
    pub fn end(&mut self) {
        (self.ran_ns, self.pending_ns) = (0, 0);
    }

    /// A train that goes on what came before, or breaks it.
    pub fn go_on(&mut self, queued: bool, even: bool, took_ns: i64, base_ns: i64) {
        if !(queued || even) {
            return self.end();
        }
        self.ran_ns = self.ran_ns.saturating_add(took_ns);
        self.pending_ns = self.pending_ns.saturating_add(if queued { 0 } else { took_ns });
        if self.ran_ns >= base_ns {
            self.filled_ns = self.filled_ns.saturating_add(std::mem::take(&mut self.pending_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Trains of 5 ms each: a window that is sent at once takes less than the round trip of 20 ms, and then nothing comes.
    #[test]
    fn only_trains_that_go_on_for_a_round_trip_fill_a_link() {
        let after = |burst: usize, queued: bool| {
            let mut run = Run::default();
            for number in 0..40 {
                let gap = number % (burst + 1) == burst;
                run.go_on(queued && number % 8 == 7, !gap, 5 * MS, 20 * MS);
            }
            run.filled_ns / MS
        };
        assert_eq!(after(3, false), 0, "15 ms of 20");
        assert_eq!(after(4, false), 160, "all but the gaps");
        assert_eq!(after(40, false), 200);
        assert_eq!(after(40, true), 175, "a queue goes on, and counts for itself");
    }
}
