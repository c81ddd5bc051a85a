//! Why a segment was sent again, as far as it shows at a distance: what called for it passed here a round trip before.

use super::judge::TIMER_NS;
use super::verdict::ArrivalVerdict;
use crate::segment::Segment;
use crate::tracker::outcome::Cause;
use crate::tracker::sender::Sender;

/// What was to be seen around a retransmission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    seq: i64,
    end: i64,
    /// How long neither side had been heard of, less the round trip of the path before this point.
    quiet_ns: i64,
    /// Duplicate ACKs or SACK blocks call for it.
    called: bool,
}

impl Surroundings {
    pub(super) fn of(sender: &Sender, segment: &Segment, seq: i64, peer: &Sender) -> Self {
        let last_ns = sender.last_in_ns.max(sender.last_out_ns).unwrap_or(segment.t_ns);
        let before_ns = peer.rtt.min().unwrap_or(0);
        Surroundings {
            seq,
            end: seq + i64::from(segment.length),
            quiet_ns: segment.t_ns - last_ns - before_ns,
            called: sender.dupacks >= 3 || sender.sacked.highest().is_some_and(|high| high > seq),
        }
    }
}

impl Sender {
    /// The cause, and what it makes of the recovery under way.
    pub(super) fn cause_of_arrival(&mut self, at: &Surroundings) -> Cause {
        let (snd_una, snd_max) = (self.snd_una, self.snd_max);
        let sack = self.sack_permitted;
        let Some(books) = &mut self.books else { return Cause::Unknown };
        let recovery = books.recovery.filter(|(up_to, _)| snd_una < *up_to || at.seq < *up_to);
        let timer = at.quiet_ns >= TIMER_NS;
        let cause = match recovery {
            _ if timer
                && sack
                && !at.called
                && recovery.is_none()
                && at.end >= snd_max
                && at.seq > snd_una =>
            {
                Cause::TailLossProbe
            }
            _ if timer => Cause::Timeout,
            Some((_, true)) => Cause::SlowStart,
            Some((_, false)) => Cause::Fast,
            None if at.called => Cause::Fast,
            None if sack && at.end >= snd_max => Cause::TailLossProbe,
            None => Cause::Unknown,
        };
        let up_to = snd_max.max(at.end);
        books.recovery = match cause {
            Cause::Timeout => Some((up_to, true)),
            Cause::Fast if recovery.is_none() => Some((up_to, false)),
            _ => recovery,
        };
        cause
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
        let (data, back) = (self.totals.data_segments, peer.totals.data_segments);
        if !self.ids.is_alone() || back.saturating_mul(8) > data {
            // Where ACKs take numbers too, those left out say little of data.
            return;
        }
        let at = Surroundings::of(self, segment, seq, peer);
        if in_order && at.quiet_ns < TIMER_NS {
            return;
        }
        let Some(books) = &self.books else { return };
        if books.counts.verdicts[ArrivalVerdict::Reordered as usize] > 0 {
            // Where packets overtake each other, those left out may yet come.
            return;
        }
        let under_way = books.recovery.is_some_and(|(up_to, _)| self.snd_una < up_to || seq < up_to);
        let late = books.gap_at(seq).is_some_and(|gap| segment.t_ns - gap.t_ns >= TIMER_NS);
        if !in_order && (under_way || late && at.quiet_ns < TIMER_NS) {
            // Others may have been sent again, and lost, before this one.
            return;
        }
        let from = self.snd_una.min(seq);
        let below = (seq - from) - self.sent.overlap(from, seq);
        let timestamps = segment.options.timestamps.is_some();
        let into_gaps = if below > 0 { self.ids.packets_of(below, timestamps) } else { 0 };
        let attempts = i64::from((at.quiet_ns.max(0) / TIMER_NS + 1).ilog2());
        let by_timer = if attempts > 0 { attempts - 1 + i64::from(self.sack_permitted) } else { 0 };
        let new = (left_out - into_gaps - by_timer).max(i64::from(in_order));
        if let Some(books) = &mut self.books
            && new > 0
        {
            books.sent_up_to = books.sent_up_to.max(self.snd_max + new * self.ids.payload(timestamps));
        }
    }

    /// Whether what goes on where all that was seen ends was sent before.
    pub(super) fn was_sent_before(&self, segment: &Segment, seq: i64) -> bool {
        let slack = self.ids.payload(true) / 4;
        self.books.as_ref().is_some_and(|books| seq + i64::from(segment.length) <= books.sent_up_to + slack)
    }
}
