//! Which of the verdicts an arrival below the highest byte seen is given: by its IP identification and its timestamp.

use super::ids::Step;
use super::verdict::ArrivalVerdict::{NetworkDuplicate, Reordered, Retransmission, Undecided};
use super::verdict::{ArrivalVerdict, Evidence};
use crate::segment::Segment;
use crate::tracker::sender::Sender;

/// Duplicate ACKs that call for a retransmission (RFC 5681 section 3.2).
pub(super) const DUPACK_THRESHOLD: usize = 3;
/// No stack in wide use fires its retransmission timer sooner.
pub(super) const TIMER_NS: i64 = 180_000_000;
/// Of round trips shorter than two ticks of the usual clock a timestamp does not tell the copies apart.
pub(super) const TICKS_NS: i64 = 2_000_000;

impl Sender {
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
            (None, None) => match self.judge_again_by_pace(segment, seq, peer) {
                (NetworkDuplicate, evidence) => match self.differs(segment, seq) {
                    Some(header) => (Retransmission, header),
                    None => (NetworkDuplicate, evidence),
                },
                found => found,
            },
        }
    }

    /// What shows that it is not the packet of the other copy: its identification, where both have one (RFC 6864), its
    /// ACK, or that it goes on behind the other's end. The network delivers the same packet again, and not another.
    fn differs(&self, segment: &Segment, seq: i64) -> Option<Evidence> {
        let copy = self.books.as_ref()?.copy_of(seq)?;
        let (id, ack) = copy.header.unwrap_or((0, segment.ack));
        if id != segment.ip_id && id != 0 && segment.ip_id != 0 {
            return Some(Evidence::IpId);
        }
        // Offload joins packets as they come: what is larger than a packet may be several, which came singly before.
        let longer = seq + i64::from(segment.length) > copy.end && segment.length <= self.segment_size();
        (ack != segment.ack || longer).then_some(Evidence::Header)
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
        if fresh && !counts && self.ids.is_last(segment) {
            // It went on where all that was seen before ended: it left after that.
            return Some(Retransmission);
        }
        if !counts && !self.ids.grows() {
            return None;
        }
        let books = self.books.as_ref()?;
        let id = match step {
            Step::Strange => return None,
            Step::Next | Step::Ahead(_) => return Some(Retransmission),
            Step::Behind(id) => id,
        };
        let copy_id = if fresh { None } else { books.copy_of(seq).and_then(|seen| seen.id) };
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
                0 if self.differs(segment, seq).is_some() => None,
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
}
