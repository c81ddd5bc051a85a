//! What was lost behind this point: segments that came by twice, less those of which it shows that the first copy had
//! arrived.
//!
//! It had if the receiver had selectively acknowledged it, reports it as a duplicate (RFC 2883), acknowledges it sooner
//! than the second copy can have been answered, or echoes a timestamp older than that of the second copy (RFC 3522); and,
//! without SACK, if its ACKs never stopped before it although they stopped before another.

use super::books::Books;
use crate::segment::Segment;
use crate::tracker::sender::Sender;
use std::collections::BTreeMap;

/// Segments that are waited for, and as many that a duplicate may yet be reported of.
const DOUBTS: usize = 1024;

/// Segments that a delayed ACK acknowledges at most (RFC 5681 section 4.2).
const DELAYED: usize = 2;

/// A segment that came by again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Doubt {
    end: i64,
    t_ns: i64,
    ts_val: Option<u32>,
    /// Taken for lost.
    segments: u64,
}

/// What came by again, by its first byte, while it can still turn out that the copy before had arrived.
#[derive(Debug, Clone, Default)]
pub(super) struct Behind {
    unanswered: BTreeMap<i64, Doubt>,
    answered: BTreeMap<i64, Doubt>,
}

impl Behind {
    fn add(&mut self, seq: i64, mut doubt: Doubt) {
        for before in [self.unanswered.remove(&seq), self.answered.remove(&seq)].into_iter().flatten() {
            doubt.segments = doubt.segments.saturating_add(before.segments);
        }
        if self.unanswered.len() >= DOUBTS {
            self.unanswered.pop_first();
        }
        self.unanswered.insert(seq, doubt);
    }

    /// So many of what was taken for lost had arrived twice.
    fn reported(&mut self, left: i64, right: i64, segments: u64) -> u64 {
        let mut taken = 0;
        for doubts in [&mut self.answered, &mut self.unanswered] {
            let begin = doubts.range(..=left).next_back().filter(|(_, doubt)| doubt.end > left);
            let begin = begin.map_or(left, |(&seq, _)| seq);
            for (_, doubt) in doubts.range_mut(begin..right) {
                let part = doubt.segments.min(segments - taken);
                doubt.segments -= part;
                taken += part;
            }
        }
        taken
    }
}

impl Books {
    fn not_lost_behind(&mut self, segments: u64) {
        self.counts.downstream = self.counts.downstream.saturating_sub(segments);
    }
}

impl Sender {
    /// Data passes that came by before and is not acknowledged: the copy before was lost, as far as it shows yet.
    pub(super) fn suspect_behind(&mut self, segment: &Segment, seq: i64, segments: u64) {
        let end = seq + i64::from(segment.length);
        if self.sacked.overlap(seq, end) == end - seq {
            return;
        }
        let ts_val = segment.options.timestamps.map(|(val, _)| val);
        let books = self.books.get_or_insert_default();
        books.counts.downstream += segments;
        books.behind.add(seq, Doubt { end, t_ns: segment.t_ns, ts_val, segments });
    }

    /// An ACK advances from `snd_una`, with a report of duplicates or without.
    pub(in crate::tracker) fn settle_behind(
        &mut self,
        segment: &Segment,
        snd_una: i64,
        ack: i64,
        reports: bool,
    ) {
        let far_ns = self.rtt.min().unwrap_or(0);
        let sack = self.sack_permitted;
        let Some(books) = &mut self.books else { return };
        let behind = &mut books.behind;
        if behind.unanswered.first_key_value().is_none_or(|(&seq, _)| seq >= ack) {
            return;
        }
        let later = behind.unanswered.split_off(&ack);
        let covered = std::mem::replace(&mut behind.unanswered, later);
        let top = covered.values().map(|doubt| doubt.end).max().unwrap_or(ack);
        // A receiver that holds what lies above acknowledges each segment that it was waiting for at once: of many that one
        // ACK covers, it was waiting for the first alone.
        let many = !sack && covered.len() > DELAYED;
        let mut arrived = 0;
        for (place, (seq, doubt)) in covered.into_iter().enumerate() {
            let too_soon = segment.t_ns.saturating_sub(doubt.t_ns) < far_ns / 10 * 9;
            let older = segment.options.timestamps.zip(doubt.ts_val).is_some_and(|((_, ecr), val)| {
                let first = seq <= snd_una;
                !reports && (first || many && place > 0) && (ecr.wrapping_sub(val) as i32) < 0
            });
            // More than was sent again: it had waited for the first of it.
            let waiting = !sack && seq > snd_una && ack > top;
            if too_soon || older || waiting {
                arrived += doubt.segments;
            } else if sack {
                if behind.answered.len() >= DOUBTS {
                    behind.answered.pop_first();
                }
                behind.answered.insert(seq, doubt);
            }
        }
        books.not_lost_behind(arrived);
    }

    /// The receiver reports that these bytes arrived twice (RFC 2883).
    pub(in crate::tracker) fn arrived_twice(&mut self, left: i64, right: i64, segments: u64) {
        if let Some(books) = &mut self.books {
            let taken = books.behind.reported(left, right, segments);
            books.not_lost_behind(taken);
        }
    }
}
