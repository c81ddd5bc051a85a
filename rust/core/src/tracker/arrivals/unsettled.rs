//! Data in order that may have been sent before: identifications were left out before it, and a timer may have sent it.
//!
//! Where all of a flight is lost before this point, it goes out again after a timeout and comes as if for the first time. What
//! the sender's own queue refuses takes numbers, too, and TCP tries it again by a timer, or with the next ACK (Linux,
//! `tcp_check_probe_timer`): that was never sent before. One capture does not tell the two apart. Only a queue that has
//! refused nothing else, and holes that show losses on the way, let what follows count as sent again.

use super::judge::TIMER_NS;
use crate::segment::Segment;
use crate::tracker::sender::Sender;

/// A retransmission timer doubles with each expiry (RFC 6298, section 5.5); the one that tries refused segments again does not.
const BACKED_OFF: (i64, i64) = (9, 5);

/// What came in order behind identifications that were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Unsettled {
    /// Up to where that may have been sent before.
    up_to: i64,
    /// Segments on the wire below that, which came since; and how many more may be, one for each that was left out.
    segments: u64,
    left: u64,
    /// Identifications left out sooner than anything can have been sent again, where no data is missing: the sender's own
    /// queue refused these.
    refusals: i64,
    /// Identifications left out before data in order that a timer may have sent, and in how many runs.
    timed: [u64; 2],
    /// Such a segment, alone: how long a time it ended, and where it ends. And whether one right behind it took so much longer
    /// that a timer had backed off.
    waited_ns: i64,
    end: i64,
    backed_off: bool,
}

impl Unsettled {
    /// Identifications left out that a timer's retransmissions explain, if those were lost in their turn, and in how many runs.
    pub(super) fn timed(&self) -> [u64; 2] {
        self.timed
    }

    /// A segment comes so long after the one before, with identifications left out.
    fn wait(&mut self, waited_ns: i64, seq: i64, length: i64) {
        self.backed_off |=
            seq == self.end && waited_ns >= self.waited_ns.saturating_mul(BACKED_OFF.0) / BACKED_OFF.1;
        (self.waited_ns, self.end) = (waited_ns, seq + length);
    }

    /// Whether the sender's own queue is known to refuse segments.
    pub(super) fn refuses(&self) -> bool {
        self.refusals > 0
    }

    /// Whether a byte is below that.
    #[inline(always)]
    pub(super) fn may_hold(&self, seq: i64) -> bool {
        seq < self.up_to
    }

    /// What was left out was overtaken.
    pub(super) fn settle(&mut self) {
        self.up_to = 0;
    }
}

impl Sender {
    /// New data goes on where all that was seen ends, after identifications that were left out.
    #[inline(never)]
    pub(super) fn note_left_out(&mut self, segment: &Segment, seq: i64, left_out: i64, peer: &Sender) {
        // The longest that its silence may have been: that a timer was possible is enough.
        let quiet_ns = self.last_out_ns.map_or(0, |last_ns| segment.t_ns.saturating_sub(last_ns));
        if quiet_ns >= TIMER_NS {
            let payload = self.ids.payload(segment.options.timestamps.is_some());
            // Before the first data, other packets of the host took them.
            let counted = self.ids.is_plausible() && self.totals.data_segments > 1;
            let unsettled = &mut self.books.get_or_insert_default().unsettled;
            unsettled.up_to = seq + left_out * payload;
            unsettled.left = left_out.unsigned_abs();
            if counted {
                unsettled.timed[0] += u64::try_from(left_out).unwrap_or(0);
                unsettled.timed[1] += 1;
            }
            unsettled.wait(quiet_ns, seq, i64::from(segment.length));
            return;
        }
        let under_way = |(up_to, _): (i64, bool)| self.snd_una < up_to || seq < up_to;
        let recovers = self.books.as_ref().is_none_or(|books| books.recovery.is_some_and(under_way));
        if recovers || self.open_below(seq) > 0 {
            return;
        }
        let (quiet_ns, round_trip_ns) = self.pause_before(segment, seq, peer);
        if let Some(books) = self.books.as_mut().filter(|_| quiet_ns < round_trip_ns) {
            books.unsettled.refusals += left_out;
        }
    }

    /// New data in order, which is not known to have been sent before.
    #[inline(always)]
    pub(super) fn note_unsettled(&mut self, segment: &Segment, seq: i64) {
        if self.books.as_ref().is_none_or(|books| seq >= books.unsettled.up_to) {
            return;
        }
        let segments = self.wire_segments(segment.length);
        if let Some(books) = &mut self.books {
            let unsettled = &mut books.unsettled;
            let counted = segments.min(unsettled.left);
            (unsettled.segments, unsettled.left) = (unsettled.segments + counted, unsettled.left - counted);
        }
    }

    /// Whether a timer that backs off sent segments again that came in order: all before them were lost, or refused.
    pub(in crate::tracker) fn backs_off(&self, peer: &Sender) -> bool {
        let backed_off = self.books.as_ref().is_some_and(|books| books.unsettled.backed_off);
        backed_off && self.numbers_alone() && self.numbers_tell_of_data(peer)
    }

    /// Segments with data that came in order, and that a timer may have sent again, or sent for the first time as the
    /// sender's own queue had refused them; 0 where identifications do not count the packets of this direction. Of ends that
    /// both send data, it may also have been an ACK that was lost.
    pub fn unsettled(&self) -> u64 {
        let books = self.books.as_ref().filter(|_| self.numbers_alone() && self.numbers_tell_of_packets());
        let Some(books) = books else { return 0 };
        let segments = books.unsettled.segments;
        match self.not_captured() {
            0 => segments,
            // What the capture lost took numbers, and nobody sent it again.
            dropped => segments.min(books.unseen()[0].saturating_sub(dropped)),
        }
    }
}
