//! Which of the verdicts an arrival below the highest byte seen is given.

use super::ids::Step;
use super::verdict::ArrivalVerdict::{NetworkDuplicate, Reordered, Retransmission, Undecided};
use super::verdict::{Arrival, ArrivalVerdict, Evidence};
use crate::segment::Segment;
use crate::tracker::outcome::State;
use crate::tracker::rows::HANDSHAKE;
use crate::tracker::rtt::RTO_INITIAL_US;
use crate::tracker::sender::Sender;

/// Duplicate ACKs that call for a retransmission (RFC 5681 section 3.2).
pub(super) const DUPACK_THRESHOLD: usize = 3;
/// No stack in wide use fires its retransmission timer sooner.
pub(super) const TIMER_NS: i64 = 180_000_000;
/// Of round trips shorter than two ticks of the usual clock a timestamp does not tell the copies apart.
const TICKS_NS: i64 = 2_000_000;

impl Sender {
    /// What could have been sent in answer to something that passed here takes at least this long to pass in its turn;
    /// `None` where no round trip of the path before this point was seen.
    pub(super) fn loop_ns(&self, peer: &Sender) -> Option<i64> {
        let before_ns = peer.rtt.min().or_else(|| peer.handshake_again_ns())?;
        Some(before_ns.saturating_add(self.rtt.min().unwrap_or(0)) / 10 * 9)
    }

    /// What the last copy of a SYN took to its ACK, where it was sent more than once: at least as long as the path takes,
    /// unless the ACK answers an earlier copy, which a timer of a second makes unlikely.
    fn handshake_again_ns(&self) -> Option<i64> {
        let copies =
            self.retransmissions().iter().take(HANDSHAKE).take_while(|row| row.length == 0 && row.seq <= 0);
        copies
            .filter_map(|row| row.answer_after_ns)
            .last()
            .filter(|ns| (1..RTO_INITIAL_US * 1000).contains(ns))
    }

    /// The verdict, and what it rests on; `fresh` if some of its bytes are seen for the first time, `missed` if its
    /// identification had been left out.
    pub(super) fn judge_below(
        &mut self,
        segment: &Segment,
        seq: i64,
        fresh: bool,
        step: Step,
        missed: bool,
        peer: &Sender,
    ) -> (ArrivalVerdict, Evidence) {
        let by_id = self.judge_by_id(segment, seq, fresh, step, missed);
        let by_time = self.judge_by_timestamp(segment, seq, fresh, peer);
        match (by_id, by_time) {
            (Some(id), Some(time)) if id == time => (id, Evidence::IpIdAndTimestamp),
            // Numbers that count are finer than a clock.
            (Some(id), Some(_)) if self.ids.counts() => (id, Evidence::IpId),
            (None, Some(Undecided)) | (Some(_), Some(_)) => (Undecided, Evidence::None),
            (Some(id), None) => (id, Evidence::IpId),
            (None, Some(time)) => (time, Evidence::Timestamp),
            (None, None) if fresh => self.judge_fresh_by_pace(segment, seq, peer),
            (None, None) => self.judge_again_by_pace(segment, seq, peer),
        }
    }

    fn judge_by_id(
        &self,
        segment: &Segment,
        seq: i64,
        fresh: bool,
        step: Step,
        missed: bool,
    ) -> Option<ArrivalVerdict> {
        let counts = self.ids.counts();
        if !counts && !self.ids.grows() {
            return None;
        }
        let books = self.books.as_ref()?;
        let id = match step {
            Step::Strange => return None,
            Step::Next | Step::Ahead(_) => return Some(Retransmission),
            Step::Behind(id) => id,
        };
        let copy_id = books.copy_of(seq).filter(|_| !fresh).and_then(|seen| seen.id);
        if copy_id == Some(id) {
            return Some(NetworkDuplicate);
        }
        if counts && !missed {
            // That packet was seen: not with other bytes, unless the numbers do not count. What was captured before it
            // was cut into packets the network did not double, and may have taken one number only.
            let whole = self.ids.packets(segment) > 1;
            return if fresh || whole || copy_id.is_some() { None } else { Some(NetworkDuplicate) };
        }
        let above = books.gap_at(seq).map(|gap| gap.id);
        let Some(against) = above.flatten().or(copy_id) else {
            // What lies above it had left before.
            let later = books.any_above(seq, |seen| seen.id.is_some_and(|other| other < id));
            return later.then_some(Retransmission);
        };
        Some(if id < against { Reordered } else { Retransmission })
    }

    fn judge_by_timestamp(
        &self,
        segment: &Segment,
        seq: i64,
        fresh: bool,
        peer: &Sender,
    ) -> Option<ArrivalVerdict> {
        let (ts_val, _) = segment.options.timestamps?;
        let books = self.books.as_ref()?;
        let since = |other: u32| ts_val.wrapping_sub(other) as i32;
        if !fresh && let Some(copied) = books.copy_of(seq).and_then(|copy| copy.ts_val) {
            return match since(copied) {
                1.. => Some(Retransmission),
                0 if self.loop_ns(peer).is_some_and(|loop_ns| loop_ns >= TICKS_NS) => Some(NetworkDuplicate),
                0 => None,
                _ => Some(Reordered),
            };
        }
        if let Some(above) = books.gap_at(seq).and_then(|gap| gap.ts_val) {
            return match since(above) {
                1.. => Some(Retransmission),
                // What answers to anything that passed here was sent a round trip after it.
                0 if self.loop_ns(peer).is_some_and(|loop_ns| loop_ns >= TICKS_NS) => Some(Reordered),
                0 => None,
                _ => Some(Reordered),
            };
        }
        match since(books.ts_newest?) {
            1.. => Some(Retransmission),
            0 => None,
            // Sent before all that is remembered: no answer to any of it.
            _ if books.oldest().and_then(|seen| seen.ts_val).is_none_or(|oldest| since(oldest) < 0) => {
                Some(NetworkDuplicate)
            }
            _ if books.any_above(seq, |seen| seen.ts_val.is_some_and(|other| since(other) > 0)) => {
                Some(Retransmission)
            }
            _ => Some(Undecided),
        }
    }

    /// New bytes, by when they came after what is above them, and what could have called for them.
    fn judge_fresh_by_pace(&self, segment: &Segment, seq: i64, peer: &Sender) -> (ArrivalVerdict, Evidence) {
        let Some(books) = self.books.as_ref() else { return (Undecided, Evidence::None) };
        let Some(gap) = books.gap_at(seq) else { return (Undecided, Evidence::None) };
        let lag_ns = segment.t_ns - gap.t_ns;
        let Some(loop_ns) = self.loop_ns(peer) else {
            return match (lag_ns >= TIMER_NS, self.dupacks >= DUPACK_THRESHOLD as u32) {
                (true, _) => (Retransmission, Evidence::Silence),
                (false, true) => (Retransmission, Evidence::DuplicateAcks),
                _ => (Undecided, Evidence::None),
            };
        };
        if lag_ns < loop_ns {
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
        // SACK calls for it a little after the first segment above (RFC 8985), else the third does.
        let needed = if self.sack_permitted { 1 } else { DUPACK_THRESHOLD };
        match books.nth_since(gap.t_ns, needed) {
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
        let recovering = self.books.as_ref().is_some_and(|books| {
            books.recovery.is_some_and(|(up_to, _)| self.snd_una < up_to || seq < up_to)
        });
        self.sack_permitted
            && since_ns < TIMER_NS
            && end <= self.snd_una
            && end < self.snd_max
            && !recovering
            && self.state == State::Open
            && !self.was_called_for(seq, segment.t_ns)
    }

    /// Bytes that were seen, by how long after the other copy they came.
    fn judge_again_by_pace(
        &mut self,
        segment: &Segment,
        seq: i64,
        peer: &Sender,
    ) -> (ArrivalVerdict, Evidence) {
        let loop_ns = self.loop_ns(peer);
        let Some(books) = self.books.as_ref() else { return (Undecided, Evidence::None) };
        let Some(copy) = books.copy_of(seq) else {
            // A sender that went on sending waited for no timer.
            let quiet_ns = self.last_out_ns.map_or(i64::MAX, |last_ns| segment.t_ns - last_ns);
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
            if segment.t_ns - gap.t_ns < 2 * loop_ns {
                self.correct_arrival(place, Reordered, Evidence::Followed);
                return (Retransmission, Evidence::Followed);
            }
            if !next_to_it && row.verdict == Retransmission {
                return (Reordered, Evidence::Followed);
            }
        }
        if since_ns >= loop_ns && !self.is_uncalled_for(segment, seq, since_ns) {
            return (Retransmission, Evidence::Silence);
        }
        (NetworkDuplicate, Evidence::TooSoon)
    }
}
