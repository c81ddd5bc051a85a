//! SACK blocks (RFC 2018) and duplicate SACK (RFC 2883).

use super::outstanding::Sent;
use super::recovery::RECENT;
use super::sender::Sender;
use super::timeout::Vote;
use crate::segment::Segment;

impl Sender {
    /// SACK blocks (RFC 2018) and duplicate SACK (RFC 2883): whether anything was news, and when the first of
    /// what is newly known to have arrived was sent, if it was sent once.
    pub(super) fn on_sack(&mut self, segment: &Segment, ack: i64) -> (bool, Option<i64>) {
        let Some(space) = self.space else { return (false, None) };
        let blocks = segment.options.sack_blocks();
        if blocks.is_empty() {
            return (false, None);
        }
        self.totals.sack_segments += 1;
        let (mut fresh, mut first_sent_ns) = (false, None::<i64>);
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
                self.on_dsack(left, right);
                continue;
            }
            outer = Some((left, right));
            let (outstanding, rack_ns) = (&mut self.outstanding, &mut self.rack_ns);
            self.sacked.insert_with(left.max(ack), right, |_, _| fresh = true);
            if fresh {
                outstanding.sack(left, right, |run| {
                    *rack_ns = (*rack_ns).max(delivered(run));
                    if run.transmissions == 1 {
                        first_sent_ns =
                            Some(first_sent_ns.map_or(run.last_ns, |first| first.min(run.last_ns)));
                    }
                });
            }
        }
        (fresh, first_sent_ns)
    }

    fn on_dsack(&mut self, left: i64, right: i64) {
        self.totals.dsacks += 1;
        for timeout in self.timeouts.iter_mut().rev().take(RECENT) {
            if left <= timeout.seq && timeout.seq < right {
                timeout.dsack = Vote::Spurious;
                break;
            }
        }
    }
}

/// When a run that has now arrived was sent: unclear if it was sent more than once (RFC 8985 section 6.2).
pub(super) fn delivered(run: &Sent) -> i64 {
    if run.transmissions > 1 { run.first_ns } else { run.last_ns }
}
