//! New data that was lost while what was lost before goes out again.
//!
//! In recovery a sender sends new data with each retransmission (RFC 6937). If all of it is lost, it goes out again in its
//! turn, and comes in order here: nothing above it was ever seen. The identifications that were left out between the
//! retransmissions count it.

use super::ids::Step;
use super::judge::TIMER_NS;
use crate::segment::Segment;
use crate::tracker::sender::Sender;

/// A few identifications may be those of probes or of a last segment; and near the sender of what its own queue refused.
const LEAST: i64 = 3;
const LEAST_NEAR: i64 = 12;

/// So often is noted when gaps were passed over; later ones count as passed over with the last of these.
const NOTED: usize = 64;

/// Segments of one direction that were sent above all that was seen, while gaps below it were filled.
#[derive(Debug, Clone, Default)]
pub(super) struct Beyond {
    /// Where all that was seen ended when the first gap was filled.
    from: i64,
    packets: i64,
    /// End of the highest segment that filled a gap since.
    filled: i64,
    /// Up to where gaps were passed over, and when.
    passed: Vec<(i64, i64)>,
    /// Some of it has come.
    begun: bool,
}

impl Beyond {
    /// Whether anything may come in order that was sent before.
    #[inline(always)]
    pub(super) fn expects(&self) -> bool {
        self.packets > 0
    }

    /// A gap was filled by `seq`, up to `end`, where all that was seen ends at `high`; so many identifications were left out.
    fn fill(&mut self, (seq, end): (i64, i64), high: i64, left_out: i64, t_ns: i64, rtt_ns: i64) {
        if self.filled == 0 {
            *self = Beyond { from: high, ..Beyond::default() };
        }
        // Gaps are filled in order: one that was passed over was filled before, and that was lost.
        let in_vain = if seq < self.filled { self.in_vain(seq, t_ns, rtt_ns) } else { 0 };
        self.packets = (self.packets + left_out - in_vain).max(0);
        if left_out > 0 && seq > self.filled && self.passed.len() < NOTED {
            self.passed.push((seq, t_ns));
        }
        self.filled = self.filled.max(end);
    }

    /// How often a gap that was passed over had been filled in vain, at the most: once, and again after each RTT.
    fn in_vain(&self, seq: i64, t_ns: i64, rtt_ns: i64) -> i64 {
        let at = self.passed.partition_point(|&(up_to, _)| up_to <= seq);
        let since_ns = self.passed.get(at).or(self.passed.last()).map_or(t_ns, |&(_, passed_ns)| passed_ns);
        t_ns.saturating_sub(since_ns).checked_div(rtt_ns).unwrap_or(0).max(1)
    }
}

impl Sender {
    /// A segment sent again filled a gap.
    pub(super) fn gap_filled(&mut self, segment: &Segment, seq: i64, step: Step, quiet_ns: i64) {
        let (high, alone) = (self.snd_max, self.ids.counts());
        let payload = self.ids.payload(segment.options.timestamps.is_some());
        let Some(books) = &mut self.books else { return };
        if quiet_ns >= TIMER_NS || !alone {
            // A timer sends everything again, lost retransmissions among it.
            books.beyond = Beyond::default();
            return;
        }
        let mut left_out = if let Step::Ahead(packets) = step { packets } else { 0 };
        let next = books.beyond.filled;
        if left_out > 0 && seq < next {
            // Before it began again, it may have filled the next gaps in vain: none passes over them.
            let open = (high - next) - self.sent.overlap(next, high);
            left_out = (left_out - (open + payload - 1) / payload).max(0);
        }
        let rtt_ns = self.path.as_ref().map_or(0, |path| path.base_ns());
        let filled = (seq, seq + i64::from(segment.length));
        books.beyond.fill(filled, high, left_out, segment.t_ns, rtt_ns);
    }

    /// New data came above a gap: all that was sent before is below it.
    pub(super) fn gap_opened(&mut self) {
        if let Some(books) = &mut self.books {
            books.beyond = Beyond::default();
        }
    }

    /// What goes on where all that was seen ends: whether it was sent beyond that before.
    #[inline(never)]
    pub(super) fn was_sent_beyond(&mut self, segment: &Segment, seq: i64, step: Step, peer: &Sender) -> bool {
        let (sure, below) = (self.numbers_tell_of_data(peer), self.open_below(seq));
        let payload = self.ids.payload(segment.options.timestamps.is_some());
        let end = seq + i64::from(segment.length);
        let holes = self.ids.holes();
        let near = self.path.as_ref().is_none_or(|path| path.beside_sender());
        let least = if near { LEAST_NEAR } else { LEAST };
        let Some(books) = &mut self.books else { return false };
        if let Step::Ahead(left_out) = step {
            books.beyond.packets += left_out;
        }
        // A gap that is still open was filled in vain, too.
        let gaps = (below + payload - 1) / payload;
        let sent = books.beyond.packets - gaps - if near { LEAST } else { 0 };
        let sent_up_to = books.beyond.from + sent * payload;
        let enough = books.beyond.begun || sent >= least;
        // What the sender's own queue refuses takes numbers, too, but leaves no holes behind.
        let found = sure && enough && end <= sent_up_to && sent_up_to - seq <= holes * payload;
        books.beyond.begun = found;
        if !found {
            books.beyond = Beyond::default();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_between_retransmissions_is_new() {
        let mut beyond = Beyond::default();
        for at in 0..3 {
            beyond.fill((1000 + 2000 * at, 2000 + 2000 * at), 9000, 1, at, 10);
        }
        assert_eq!((beyond.from, beyond.packets), (9000, 3));
    }

    #[test]
    fn a_gap_that_was_passed_over_had_been_filled_in_vain() {
        let mut beyond = Beyond::default();
        beyond.fill((1000, 2000), 9000, 0, 0, 10);
        beyond.fill((5000, 6000), 9000, 1, 1, 10);
        beyond.fill((3000, 4000), 9000, 0, 12, 10);
        assert_eq!(beyond.packets, 0);
    }

    #[test]
    fn a_gap_may_have_been_filled_in_vain_once_each_round_trip() {
        let mut beyond = Beyond::default();
        beyond.fill((1000, 2000), 9000, 0, 0, 10);
        beyond.fill((5000, 6000), 9000, 1, 1, 10);
        // The second attempt for what was passed over was lost as well, or this was new data.
        beyond.fill((6000, 7000), 9000, 1, 11, 10);
        beyond.fill((3000, 4000), 9000, 0, 21, 10);
        assert_eq!(beyond.packets, 0);
    }
}
