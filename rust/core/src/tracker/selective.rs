//! SACK blocks (RFC 2018) and duplicate SACK (RFC 2883).

use super::outcome::State;
use super::outstanding::Sent;
use super::sender::Sender;
use super::verdicts::Brought;
use crate::segment::Segment;

impl Sender {
    /// SACK blocks (RFC 2018) and duplicate SACK (RFC 2883): when the first and the last of what is newly known to have
    /// arrived were sent, of what was sent once. `fack` is the end of what was selectively acknowledged before.
    #[inline]
    pub(super) fn on_sack(
        &mut self,
        segment: &Segment,
        ack: i64,
        fack: i64,
        brought: &mut Brought,
    ) -> Option<(i64, i64)> {
        if segment.options.sack_count == 0 { None } else { self.on_blocks(segment, ack, fack, brought) }
    }

    fn on_blocks(
        &mut self,
        segment: &Segment,
        ack: i64,
        fack: i64,
        brought: &mut Brought,
    ) -> Option<(i64, i64)> {
        let space = self.space?;
        let blocks = segment.options.sack_blocks();
        self.totals.sack_segments += 1;
        let (recover, min_rtt_ns) = (self.recover, self.known_min_rtt_ns());
        let (mut fresh, mut sent_ns) = (false, None::<(i64, i64)>);
        let (in_loss, size, mut late) = (self.state == State::Loss, self.segment_size(), i64::MAX);
        let mut outer = None::<(i64, i64)>;
        for (index, &(left, right)) in blocks.iter().enumerate().rev() {
            let left = space.unwrap(left, ack.max(self.snd_una));
            let right = space.unwrap(right, left);
            if right <= left || right > self.snd_max {
                continue;
            }
            let duplicate =
                index == 0 && (right <= ack || outer.is_some_and(|(l, r)| l <= left && right <= r));
            if duplicate {
                brought.dsack = Some((left, right));
                self.on_dsack(segment, left, right);
                continue;
            }
            outer = Some((left, right));
            let Sender { outstanding, sacked, rack_ns, history, retransmissions, .. } = self;
            let (mut low, mut high) = (i64::MAX, i64::MIN);
            sacked.insert_with(left.max(ack), right, |l, r| {
                fresh = true;
                (low, high) = (low.min(l), high.max(r));
                if (l < fack || in_loss) && outstanding.at(l).is_some_and(|run| run.transmissions == 1) {
                    late = late.min(l);
                    brought.original |= r <= recover;
                }
            });
            if fresh {
                outstanding.sack(left, right, |run| {
                    *rack_ns = (*rack_ns).max(delivered(run, segment.t_ns, min_rtt_ns));
                    if run.transmissions > 1 {
                        if let Some(history) = history.as_mut() {
                            history.retransmission_arrived(run, size);
                            history.answer_by_sack(retransmissions, segment, run);
                        }
                    } else if run.seq < high && run.end > low {
                        // A part of a super-segment that was acknowledged before measures nothing now.
                        let (first, last) = sent_ns.unwrap_or((run.last_ns, run.last_ns));
                        sent_ns = Some((first.min(run.last_ns), last.max(run.last_ns)));
                    }
                });
            }
        }
        brought.fresh_sack = fresh;
        let judged = self.state != State::Loss || self.history.as_ref().is_some_and(|h| h.undo.is_open());
        if judged {
            self.reordered(late, fack);
        }
        sent_ns
    }

    /// Data that was sent once, from `late` on, arrived behind what lies below `fack` (`tcp_check_sack_reordering`).
    #[inline]
    pub(super) fn reordered(&mut self, late: i64, fack: i64) {
        if late < fack {
            self.note_reordering(fack - late);
        }
    }

    #[cold]
    fn note_reordering(&mut self, extent: i64) {
        let reordering = &mut self.history.get_or_insert_default().reordering;
        reordering.by_sack += 1;
        reordering.extent = reordering.extent.max(extent);
    }

    /// The smallest RTT that the sender knows; 0 if it knows none. With timestamps it has measured one by the answer to its SYN,
    /// also where all was sent again (RFC 7323 section 4.1); how long that was does not show here.
    #[inline]
    pub(super) fn known_min_rtt_ns(&self) -> i64 {
        if self.rtt.min_ns == 0 && self.timestamps { 1 } else { self.rtt.min_ns }
    }
}

/// When a run that has now arrived was sent. If it was sent more than once, then last, unless that was less than
/// the smallest round trip ago (RFC 8985 section 6.2, step 2).
#[inline]
pub(super) fn delivered(run: &Sent, t_ns: i64, min_rtt_ns: i64) -> i64 {
    // Linux measures the smallest by SACK blocks too: it may be a little less than is known here.
    let too_late = run.transmissions > 1 && (min_rtt_ns == 0 || t_ns - run.last_ns < min_rtt_ns / 8 * 7);
    if too_late { run.first_ns } else { run.last_ns }
}
