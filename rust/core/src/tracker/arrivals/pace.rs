//! The verdict on an arrival without a usable IP identification or timestamp: by how soon it came, and what could have
//! triggered it.

use super::judge::{DUPACK_THRESHOLD, TICKS_NS, TIMER_NS};
use super::verdict::ArrivalVerdict::{NetworkDuplicate, Reordered, Retransmission, Undecided};
use super::verdict::{Arrival, ArrivalVerdict, Evidence};
use crate::segment::Segment;
use crate::tracker::outcome::{Cause, State};
use crate::tracker::sender::Sender;

/// A segment that comes so many RTTs after what had overtaken it was not merely overtaken.
const LATEST: i64 = 4;

impl Sender {
    /// New bytes, by when they came after what is above them, and what could have called for them.
    pub(super) fn judge_fresh_by_pace(
        &self,
        segment: &Segment,
        seq: i64,
        peer: &Sender,
    ) -> (ArrivalVerdict, Evidence) {
        let Some(books) = self.books.as_ref() else { return (Undecided, Evidence::None) };
        let Some(gap) = books.gap_at(seq) else { return (Undecided, Evidence::None) };
        let lag_ns = segment.t_ns - gap.t_ns;
        let goes_on = books.repeats_in_turn(segment.t_ns, seq);
        let Some(loop_ns) = self.loop_ns(peer) else {
            return match (lag_ns >= TIMER_NS, self.dupacks >= DUPACK_THRESHOLD as u32) {
                (true, _) => (Retransmission, Evidence::Silence),
                (false, true) => (Retransmission, Evidence::DuplicateAcks),
                _ => (Undecided, Evidence::None),
            };
        };
        if goes_on.is_some_and(|since_ns| since_ns < loop_ns) {
            return (Retransmission, Evidence::InTurn);
        }
        // Where packets overtake each other all the time, a path that stands still delays what it holds.
        let delayed = || {
            let stood_ns = books.longest_pause_since(gap.t_ns);
            stood_ns >= loop_ns / 2 * 3 && lag_ns - stood_ns < loop_ns
        };
        if lag_ns < loop_ns || books.shuffles() && delayed() {
            return (Reordered, Evidence::TooSoon);
        }
        if lag_ns < loop_ns.saturating_mul(2) && books.overtakes_for_long() {
            return (Reordered, Evidence::TooSoon);
        }
        if lag_ns >= loop_ns + TIMER_NS {
            return (Retransmission, Evidence::Silence);
        }
        if books.recovery.is_some_and(|(up_to, _)| seq < up_to && self.snd_una < up_to) {
            return (Retransmission, Evidence::DuplicateAcks);
        }
        // With SACK the first segment above triggers it, where packets are overtaken a quarter of an RTT later (RFC 8985
        // section 6.2), else the third does.
        let nth_ns = |n: usize| books.nth_since(gap.t_ns, n);
        let wait_ns = if books.responses.overtakes() { loop_ns / 4 } else { 0 };
        let by_time_ns = nth_ns(1).filter(|_| self.sack_permitted).map(|first_ns| first_ns + wait_ns);
        match [by_time_ns, nth_ns(DUPACK_THRESHOLD)].into_iter().flatten().min() {
            Some(called_ns) if segment.t_ns - called_ns >= loop_ns => {
                (Retransmission, Evidence::DuplicateAcks)
            }
            _ => (Reordered, Evidence::TooSoon),
        }
    }

    /// Whether no sender repeats this so soon: it was acknowledged, no SACK called for it, no recovery is under way, and
    /// it is no probe of the last segment. Without SACK it hardly shows what was called for.
    fn is_uncalled_for(&self, segment: &Segment, seq: i64, since_ns: i64) -> bool {
        let end = seq + i64::from(segment.length);
        // What a timer repeats that expired while the path stood still comes one RTT after that.
        let since = segment.t_ns - TIMER_NS - since_ns;
        let recovering = self.books.as_ref().is_some_and(|books| {
            books.recovery.is_some_and(|(up_to, _)| self.snd_una < up_to || seq < up_to)
        });
        (self.sack_permitted || self.books.as_ref().is_some_and(|books| books.is_calm(segment.t_ns)))
            && since_ns < TIMER_NS
            && end <= self.snd_una
            && end < self.snd_max
            && !recovering
            && self.books.as_ref().is_none_or(|books| books.longest_pause_since(since) < TIMER_NS)
            && self.state == State::Open
            && !self.was_called_for(seq, segment.t_ns)
    }

    /// Bytes that were seen, by how long after the other copy they came.
    pub(super) fn judge_again_by_pace(
        &mut self,
        segment: &Segment,
        seq: i64,
        peer: &Sender,
    ) -> (ArrivalVerdict, Evidence) {
        let loop_ns = self.loop_ns(peer);
        let Some(books) = self.books.as_ref() else { return (Undecided, Evidence::None) };
        let Some(copy) = books.copy_of(seq) else {
            // A sender of data that went on sending waited for no timer.
            let quiet_ns = books.last_ns().map_or(i64::MAX, |last_ns| segment.t_ns - last_ns);
            return if loop_ns.is_some() && self.is_uncalled_for(segment, seq, quiet_ns) {
                (NetworkDuplicate, Evidence::TooSoon)
            } else {
                (Retransmission, Evidence::Silence)
            };
        };
        let since_ns = segment.t_ns - copy.t_ns;
        let Some(loop_ns) = loop_ns else {
            let called = self.dupacks >= DUPACK_THRESHOLD as u32;
            return match (since_ns >= TIMER_NS, called) {
                (true, _) => (Retransmission, Evidence::Silence),
                (false, true) => (Retransmission, Evidence::DuplicateAcks),
                _ => (Undecided, Evidence::None),
            };
        };
        let goes_on = books.repeats_in_turn(segment.t_ns, seq);
        if goes_on.is_some_and(|behind_ns| behind_ns < loop_ns) {
            return (Retransmission, Evidence::InTurn);
        }
        let next_to_it = books.is_last(&copy);
        let filled = copy.arrival.and_then(|place| books.arrivals.get(place));
        if next_to_it && since_ns < loop_ns.max(TICKS_NS) {
            // Behind a retransmission comes what it stood for, where packets are overtaken more often than doubled.
            let stood_for =
                |row: &Arrival| row.fresh && row.verdict == Retransmission && row.evidence.is_pace();
            let [overtaken, doubled] =
                [Reordered, NetworkDuplicate].map(|verdict| books.counts.verdicts[verdict as usize]);
            return if filled.is_some_and(stood_for) && overtaken > doubled {
                (Reordered, Evidence::Followed)
            } else {
                (NetworkDuplicate, Evidence::TooSoon)
            };
        }
        // The other copy filled a gap: one of the two was the first, late, unless a timer or lost ACKs came in between.
        if let (Some(place), Some(row), Some(gap)) = (copy.arrival, filled, books.gap_at(seq))
            && row.fresh
            && row.evidence.is_pace()
            && since_ns < TIMER_NS
        {
            let lag_ns = segment.t_ns - gap.t_ns;
            if lag_ns < loop_ns {
                return (NetworkDuplicate, Evidence::TooSoon);
            }
            if lag_ns < 2 * loop_ns {
                self.correct_arrival(place, Reordered, Evidence::Followed, Cause::None);
                return (Retransmission, Evidence::Followed);
            }
            let late = lag_ns < LATEST.saturating_mul(loop_ns) || since_ns < loop_ns;
            if !next_to_it && row.verdict == Retransmission && late {
                return (Reordered, Evidence::Followed);
            }
        }
        if since_ns >= loop_ns && !self.is_uncalled_for(segment, seq, since_ns) {
            return (Retransmission, Evidence::Silence);
        }
        (NetworkDuplicate, Evidence::TooSoon)
    }
}
