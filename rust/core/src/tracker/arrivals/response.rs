//! How long a retransmission takes at least to pass here after what triggers it.
//!
//! That is the smallest RTT seen, of both sides of this point. Where the capture holds no answers of the sender but
//! that of the handshake, it may be far too long: a queue stood on the path then. What follows shows it. Of three
//! segments that pass above a gap, each selectively acknowledged, the sender retransmits what is in the gap (RFC 5681,
//! 6675, 8985). If the gap was only filled late by the network, that retransmission passes here as a second copy. If
//! none ever does, what filled the gaps were the retransmissions.

use super::judge::{DUPACK_THRESHOLD, TIMER_NS};
use super::verdict::ArrivalVerdict::Retransmission;
use super::verdict::Evidence;
use crate::segment::Segment;
use crate::tracker::outcome::Cause;
use crate::tracker::rows::HANDSHAKE;
use crate::tracker::rtt::RTO_INITIAL_US;
use crate::tracker::sender::Sender;
use std::collections::VecDeque;

/// Gaps whose second copy is awaited, at a time.
const AWAITED: usize = 16;
/// Gaps without a second copy that show a measured RTT to be too long.
const ENOUGH: usize = 2;
/// Sooner than this part of the measured RTT nothing is answered, however wrong that is.
pub(super) const AT_ONCE: i64 = 8;
/// A second copy takes no more than so many of the measured RTTs: queues grow.
const PATIENCE: i64 = 3;

/// A gap that was filled sooner than the measured RTT after it had been reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Filled {
    /// Place of what filled it among the arrivals.
    place: u32,
    /// When enough had passed above it to trigger a retransmission, and when it was filled.
    called_ns: i64,
    t_ns: i64,
}

/// What shows whether the measured RTT is too long.
#[derive(Debug, Clone, Default)]
pub(super) struct Responses {
    awaited: VecDeque<Filled>,
    /// No second copy came, of so many.
    unanswered: Vec<Filled>,
    /// A second copy came: the network does fill gaps late.
    answered: bool,
    /// Gaps filled so soon that no path is measured that wrong: the network does reorder.
    at_once: usize,
    /// The shortest time from trigger to retransmission of those, once they are enough.
    least_ns: Option<i64>,
    /// When the last gap was filled by what was judged by its pace.
    filled_ns: Option<i64>,
}

/// Whether a verdict rests on the time of an arrival and what came around it.
fn by_pace(evidence: Evidence) -> bool {
    evidence.is_pace() || evidence == Evidence::Followed
}

impl Responses {
    /// Whether the network certainly overtakes packets, however long the RTT is.
    pub(super) fn overtakes(&self) -> bool {
        self.answered || self.at_once > ENOUGH
    }
}

impl Sender {
    /// What could have been sent in answer to something that passed here takes at least this long to pass in its turn;
    /// `None` where no round trip of the path before this point was seen.
    pub(super) fn loop_ns(&self, peer: &Sender) -> Option<i64> {
        let before_ns = peer.rtt.min().or_else(|| peer.handshake_again_ns())?;
        let measured_ns = before_ns.saturating_add(self.rtt.min().unwrap_or(0));
        let shown_ns = self.books.as_ref().and_then(|books| books.responses.least_ns);
        Some(shown_ns.map_or(measured_ns, |shown_ns| measured_ns.min(shown_ns)) / 10 * 9)
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

    /// A gap was filled too soon for a retransmission by the measured RTT. If enough had been reported above it for the
    /// sender to retransmit, a second copy will show whether it was one all the same.
    pub(super) fn await_second_copy(&mut self, segment: &Segment, seq: i64, place: u32, peer: &Sender) {
        let loop_ns = self.loop_ns(peer).unwrap_or(i64::MAX);
        let Some(books) = &mut self.books else { return };
        let lag_ns = books.gap_at(seq).map_or(0, |gap| segment.t_ns - gap.t_ns);
        if lag_ns < loop_ns / AT_ONCE {
            books.responses.at_once += 1;
            return;
        }
        if !self.is_reported_missing(seq) {
            return;
        }
        let Some(books) = self.books.as_mut().filter(|books| !books.responses.answered) else { return };
        let called_ns = books.gap_at(seq).and_then(|gap| books.nth_since(gap.t_ns, DUPACK_THRESHOLD));
        let Some(called_ns) = called_ns.filter(|&called_ns| called_ns < segment.t_ns) else { return };
        let responses = &mut books.responses;
        if responses.awaited.len() < AWAITED {
            responses.awaited.push_back(Filled { place, called_ns, t_ns: segment.t_ns });
        }
    }

    /// Whether ACKs that passed here report so much above a byte that any sender retransmits it.
    fn is_reported_missing(&self, seq: i64) -> bool {
        let size = i64::from(self.largest_segment).max(1);
        let above = self.sacked.overlap(seq, self.snd_max);
        if self.sack_permitted {
            above > (DUPACK_THRESHOLD as i64 - 1) * size
        } else {
            seq == self.snd_una && self.dupacks >= DUPACK_THRESHOLD as u32
        }
    }

    /// New bytes filled a gap: a second copy of them may follow.
    pub(super) fn filled_gap(&mut self, t_ns: i64, evidence: Evidence) {
        if let Some(books) = self.books.as_mut().filter(|_| by_pace(evidence)) {
            books.responses.filled_ns = Some(t_ns);
        }
    }

    /// Bytes passed that had passed. If they had filled a gap, the network may have filled it late, and this is what the
    /// sender sent in answer.
    pub(super) fn second_copy(&mut self, t_ns: i64, seq: i64) {
        let Some(books) = &mut self.books else { return };
        let lately = |filled_ns: i64| t_ns.saturating_sub(filled_ns) < TIMER_NS;
        if books.responses.answered || !books.responses.filled_ns.is_some_and(lately) {
            return;
        }
        let Some(copy) = books.copy_of(seq).filter(|copy| lately(copy.t_ns)) else { return };
        let filled = copy.arrival.and_then(|place| books.arrivals.get(place));
        if filled.is_some_and(|row| row.fresh && by_pace(row.evidence)) {
            books.responses = Responses { answered: true, ..Responses::default() };
        }
    }

    /// Second copies that have not come in time never will.
    pub(super) fn settle_responses(&mut self, t_ns: i64, peer: &Sender) {
        if self.books.as_ref().is_none_or(|books| books.responses.awaited.is_empty()) {
            return;
        }
        let (Some(loop_ns), Some(books)) = (self.loop_ns(peer), &mut self.books) else { return };
        let responses = &mut books.responses;
        // Numbers that count say what was sent first; the copy may have been lost in its turn.
        if self.ids.counts() {
            responses.awaited.clear();
            return;
        }
        while let Some(filled) = responses.awaited.front()
            && t_ns - filled.called_ns > loop_ns.saturating_mul(PATIENCE)
        {
            responses.unanswered.push(*filled);
            responses.awaited.pop_front();
        }
        if responses.unanswered.len() < ENOUGH * (responses.at_once + 1) {
            return;
        }
        let shown = std::mem::take(&mut responses.unanswered);
        let least_ns = shown.iter().map(|filled| filled.t_ns - filled.called_ns).min();
        responses.least_ns = least_ns.into_iter().chain(responses.least_ns).min();
        // How long segments were overtaken for was measured by the wrong RTT.
        books.overtaken = [0, 0];
        for filled in shown {
            self.correct_arrival(filled.place, Retransmission, Evidence::DuplicateAcks, Cause::Fast);
        }
    }
}
