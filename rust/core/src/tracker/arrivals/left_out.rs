//! New data that was lost before this point and has not come by yet: the IP identifications left out before a segment
//! count it. Sent again, it comes in order.

use super::ArrivalVerdict;
use super::books::Books;
use super::cause::Surroundings;
use super::judge::TIMER_NS;
use crate::segment::Segment;
use crate::tracker::sender::Sender;

impl Sender {
    /// Whether identifications that are left out are those of data that was lost: where ACKs take numbers too, they say little of
    /// data, and where packets overtake each other, they may yet come.
    pub(super) fn numbers_tell_of_data(&self, peer: &Sender) -> bool {
        let (data, back) = (self.totals.data_segments, peer.totals.data_segments);
        self.numbers_tell_of_packets() && back.saturating_mul(8) <= data
    }

    /// Whether they are those of packets that were lost, data or ACKs.
    pub(super) fn numbers_tell_of_packets(&self) -> bool {
        let overtaken = |books: &Books| books.counts.verdicts[ArrivalVerdict::Reordered as usize] > 0;
        self.ids.counts() && !self.books.as_deref().is_some_and(overtaken)
    }

    /// Bytes below `seq` that were neither seen nor acknowledged.
    pub(super) fn open_below(&self, seq: i64) -> i64 {
        let from = self.snd_una.min(seq);
        (seq - from) - self.sent.overlap(from, seq)
    }

    /// Identifications were left out before a segment: how much new data surely left the sender with them, and was lost.
    ///
    /// What else they may have been is taken off: retransmissions into the gaps below `seq`, which go out in order, and
    /// those of a timer that doubles, with its probe. Of what is left nothing but new data remains.
    pub(super) fn sent_unseen(
        &mut self,
        segment: &Segment,
        seq: i64,
        left_out: i64,
        in_order: bool,
        peer: &Sender,
    ) {
        if !self.numbers_tell_of_data(peer) {
            return;
        }
        let at = Surroundings::of(self, segment, seq, peer);
        if in_order && at.quiet_ns < TIMER_NS {
            return;
        }
        let Some(books) = &self.books else { return };
        let under_way = books.recovery.is_some_and(|(up_to, _)| self.snd_una < up_to || seq < up_to);
        let late = books.gap_at(seq).is_some_and(|gap| segment.t_ns - gap.t_ns >= TIMER_NS);
        if !in_order && (under_way || late && at.quiet_ns < TIMER_NS) {
            // Others may have been sent again, and lost, before this one.
            return;
        }
        let below = self.open_below(seq);
        let timestamps = segment.options.timestamps.is_some();
        let into_gaps = if below > 0 { self.ids.packets_of(below, timestamps) } else { 0 };
        let attempts = i64::from((at.quiet_ns.max(0) / TIMER_NS + 1).ilog2());
        let by_timer = if attempts > 0 { attempts - 1 + i64::from(self.sack_permitted) } else { 0 };
        // It had been called for: a fast retransmission of it was lost, too.
        let fast = i64::from(!self.sack_permitted && at.called && attempts > 0);
        let new = (left_out - into_gaps - by_timer - fast).max(i64::from(in_order));
        // What the sender's own queue refuses takes numbers too, and is sent later as if for the first time; but never
        // leaves a hole behind. Only where holes are as many is a number that is missing taken for lost.
        if let Some(books) = &mut self.books
            && new > 0
            && !books.unsettled.refuses()
            && books.claimed + new <= self.ids.holes()
        {
            books.claimed += new;
            books.sent_up_to = books.sent_up_to.max(self.snd_max + new * self.ids.payload(timestamps));
        }
    }

    /// Whether what goes on where all that was seen ends was sent before.
    pub(super) fn was_sent_before(&self, segment: &Segment, seq: i64) -> bool {
        let slack = self.ids.payload(true) / 4;
        let end = seq + i64::from(segment.length);
        self.books.as_ref().is_some_and(|books| seq < books.sent_up_to && end <= books.sent_up_to + slack)
    }

    /// What was sent before was shorter than a full segment: the numbers left out stand for so much less data.
    pub(super) fn was_short(&mut self, segment: &Segment) {
        let lacking = self.ids.payload(segment.options.timestamps.is_some()) - i64::from(segment.length);
        if let Some(books) = self.books.as_mut().filter(|_| lacking > 0) {
            books.sent_up_to -= lacking;
        }
    }
}
