//! Why a segment was sent again, as far as it shows at a distance: what called for it passed here a round trip before.

use super::judge::TIMER_NS;
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
            _ if timer && sack && !at.called && recovery.is_none() && at.end >= snd_max && at.seq > snd_una => Cause::TailLossProbe,
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

    /// Whether what goes on where all that was seen ends was sent before, and lost with all that left numbers out.
    pub(super) fn was_sent_before(&mut self, segment: &Segment, peer: &Sender) -> bool {
        let loop_ns = self.loop_ns(peer);
        let (data, back) = (self.totals.data_segments, peer.totals.data_segments);
        let Some(books) = &mut self.books else { return false };
        if !self.ids.counts() || back * 8 > data {
            // Where ACKs take numbers too, those left out say little of data.
            return false;
        }
        let since_ns = segment.t_ns - books.unseen.since_ns;
        if loop_ns.is_none_or(|loop_ns| since_ns < loop_ns.max(1_000_000)) {
            books.unseen.packets = 0;
            return false;
        }
        self.sent.len() == 1
    }
}
