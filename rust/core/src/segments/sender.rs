//! What the sender of a connection knew: what it had sent, what was acknowledged, and which window it was offered.

use std::ops::Range;

use super::flows::ValidAcks;
use super::loss_recovery::{Reached, Recovery, recoveries};

/// A segment that an ACK releases leaves within this.
pub(super) const ACK_CLOCK_NS: i64 = 10_000_000;

/// Columns of all segments, flow behind flow, each in order of time.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    /// When each was captured.
    pub t_ns: &'a [i64],
    /// Its number in the capture.
    pub record: &'a [i64],
    /// Its first byte.
    pub seq: &'a [i64],
    /// What it acknowledges.
    pub ack: &'a [i64],
    /// Its payload.
    pub length: &'a [i32],
    /// How much of it was sent before.
    pub duplicate: &'a [i32],
    /// The window that it offers; -1 while the scale is unknown.
    pub window: &'a [i32],
    /// What is known of its checksum.
    pub checksum: &'a [i8],
}

/// A sender, with the memory for the next.
#[derive(Debug, Default)]
pub(super) struct Sender {
    /// Its segments with payload.
    pub data: Vec<usize>,
    /// What acknowledges them, without those damaged on the way.
    pub acks: Vec<usize>,
    /// For each of `data`, the highest byte sent until then, plus one (SND.NXT).
    pub highest: Vec<i64>,
    /// For each of `acks`, what was acknowledged until then (SND.UNA).
    pub acked: Vec<i64>,
    /// For each of `acks`, the right edge of the window offered until then; -1 while the scale is unknown.
    pub edges: Vec<i64>,
    /// Loss recoveries.
    pub recoveries: Vec<Recovery>,
}

impl Sender {
    /// Take another one, by the rows of its data and of what came from the other end.
    pub fn take(&mut self, segments: &Segments<'_>, data: Range<usize>, acks: &Range<usize>) {
        self.data.clear();
        self.data.extend(data.filter(|&row| segments.length[row] > 0));
        self.acks.clear();
        let valid = ValidAcks::of(segments.ack, segments.checksum, acks);
        self.acks.extend(valid.rows().map(|row| acks.start + row));
        let ends = self.data.iter().map(|&row| segments.seq[row] + i64::from(segments.length[row]));
        rising(&mut self.highest, ends);
        rising(&mut self.acked, self.acks.iter().map(|&row| segments.ack[row]));
        let edge = |&row: &usize| match segments.window[row] {
            window @ 0.. => segments.ack[row] + i64::from(window),
            _ => -1,
        };
        rising(&mut self.edges, self.acks.iter().map(edge));
        self.recover(segments);
    }

    fn recover(&mut self, segments: &Segments<'_>) {
        self.recoveries.clear();
        let again = || (0..self.data.len()).filter(|&at| segments.duplicate[self.data[at]] > 0);
        if again().next().is_none() {
            return;
        }
        let again_ns: Vec<i64> = again().map(|at| segments.t_ns[self.data[at]]).collect();
        let sent: Vec<i64> = again().map(|at| self.highest[at]).collect();
        let acks_ns: Vec<i64> = self.acks.iter().map(|&row| segments.t_ns[row]).collect();
        let (one, other) = (vec![0; again_ns.len()], vec![0; acks_ns.len()]);
        self.recoveries = recoveries(
            Reached { of: &one, t_ns: &again_ns, highest: &sent },
            Reached { of: &other, t_ns: &acks_ns, highest: &self.acked },
        );
    }
}

/// For each value, the highest until then.
fn rising(into: &mut Vec<i64>, values: impl Iterator<Item = i64>) {
    into.clear();
    let mut most = i64::MIN;
    into.extend(values.map(|value| {
        most = most.max(value);
        most
    }));
}

/// Looks for the last of some times up to others, which ascend as a rule.
#[derive(Debug, Default)]
pub(super) struct Before {
    at: usize,
}

impl Before {
    /// How many times are not later; `count` times ascend, and `time` is that of each.
    pub fn count(&mut self, count: usize, time: impl Fn(usize) -> i64, t_ns: i64) -> usize {
        self.at = self.at.min(count);
        while self.at > 0 && time(self.at - 1) > t_ns {
            self.at -= 1;
        }
        while self.at < count && time(self.at) <= t_ns {
            self.at += 1;
        }
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_knows_what_was_sent_acknowledged_and_offered() {
        let segments = Segments {
            t_ns: &[0, 1, 2, 3, 4, 5, 6, 7],
            record: &[1, 2, 3, 5, 4, 6, 7, 8],
            seq: &[0, 1, 101, 1, 0, 1, 1, 1],
            ack: &[0, 1, 1, 1, 1, 101, 50, 201],
            length: &[0, 100, 100, 100, 0, 0, 0, 0],
            duplicate: &[0, 0, 0, 100, 0, 0, 0, 0],
            window: &[9, 9, 9, 9, -1, 300, 20, 100],
            checksum: &[0, 0, 0, 0, 0, 0, 0, 0],
        };
        let mut sender = Sender::default();
        for _ in 0..2 {
            sender.take(&segments, 0..4, &(4..8));
            assert_eq!((&sender.data[..], &sender.acks[..]), (&[1, 2, 3][..], &[4, 5, 6, 7][..]));
            assert_eq!(sender.highest, [101, 201, 201]);
            assert_eq!(sender.acked, [1, 101, 101, 201]);
            assert_eq!(sender.edges, [-1, 401, 401, 401]);
            assert_eq!(sender.recoveries, [Recovery { of: 0, begin_ns: 3, end_ns: 7 }]);
        }
    }

    #[test]
    fn times_are_counted_whatever_their_order() {
        let mut before = Before::default();
        let times = [1, 3, 3, 8];
        let counts = [0, 3, 9, 2, 3].map(|t_ns| before.count(times.len(), |at| times[at], t_ns));
        assert_eq!(counts, [0, 3, 4, 1, 3]);
    }
}
