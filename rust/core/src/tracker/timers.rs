//! The sender's timers: when a tail loss probe is due, what a wait shows of the stack's largest timeout, and which
//! timer it was that sent a lone tail again.

use super::episode::Episode;
use super::outcome::{AckKind, Cause, State};
use super::rtt::RTO_INITIAL_US;
use super::sender::Sender;
use super::tail::LoneTail;
use super::verdicts::Brought;
use crate::segment::{Segment, flags};

/// What a tail loss probe waits for the delayed ACK of a lone segment (RFC 8985 section 7.2, Linux's value).
const DELAYED_ACK_NS: i64 = 200_000_000;
/// What it waits at least beyond two smoothed RTTs (Linux, `TCP_TIMEOUT_MIN_US`).
pub(super) const PROBE_MIN_NS: i64 = 2_000_000;
/// Waits of a capped timer differ by less than one part in so many (Linux: the steps of its timer wheel).
const CAP_JITTER: i64 = 12;

impl Sender {
    /// Whether the sender's next timer is the tail loss probe's (RFC 8985 section 7): SACK, no recovery going on, no
    /// probe out yet, and the last segment in sequence.
    pub(super) fn probes_first(&self, t_ns: i64, end: i64, rto_ns: i64) -> bool {
        end >= self.snd_max && self.probe_due(t_ns, rto_ns)
    }

    /// Whether a probe may be sent at all.
    pub(super) fn may_probe(&self) -> bool {
        self.state == State::Open && self.sack_permitted && self.rto.known() && !self.probe_out
    }

    /// An ACK of all that had been sent with a probe: whether it answers it (`tcp_process_tlp_ack`). If old data was
    /// sent again, only what comes after the ACK of the original does.
    pub(super) fn answer_probe(&mut self, ack: i64, brought: &Brought) {
        let repeats = self.history.as_ref().is_some_and(|history| history.probe_repeats);
        let duplicate = brought.kind == AckKind::Duplicate || brought.kind == AckKind::Repeat;
        if !repeats || ack > self.probe_high || brought.dsack.is_some() || (duplicate && !brought.fresh_sack)
        {
            self.probe_out = false;
        }
    }

    /// Whether the probe's timer has run out: two smoothed RTTs since the last segment either way, 200 ms more for a
    /// lone segment (whose ACK may be delayed), but not later than the retransmission timer. That one counts from
    /// the sending of the head if the probe was scheduled by a sending, and from now if by an ACK (Linux). Without a
    /// sample of the RTT it is one second.
    pub(super) fn probe_due(&self, t_ns: i64, rto_ns: i64) -> bool {
        if !self.may_probe() {
            return false;
        }
        let Some(head) = self.outstanding.at(self.snd_una) else { return false };
        let last_out_ns = self.last_out_ns.unwrap_or(self.timer_start_ns);
        let scheduled_ns = self.timer_start_ns.max(last_out_ns);
        let alone = self.outstanding.len() <= 1;
        let mut wait_ns = if self.rto.measured() {
            2 * self.rto.srtt_us() * 1000 + if alone { DELAYED_ACK_NS } else { PROBE_MIN_NS }
        } else {
            RTO_INITIAL_US * 1000
        };
        let by_sending = last_out_ns > self.timer_start_ns;
        let rto_left_ns = if by_sending { head.last_ns + rto_ns - last_out_ns } else { rto_ns };
        if rto_left_ns > 0 {
            wait_ns = wait_ns.min(rto_left_ns);
        }
        t_ns - scheduled_ns >= wait_ns / 10 * 9
    }

    /// What an expiry tells of the host: that its largest timeout is set low, if it does not wait as long as
    /// estimated, and twice the same.
    pub(super) fn learn_from_expiry(&mut self, segment: &Segment) {
        if segment.has(flags::SYN) || !self.rto.measured() {
            return;
        }
        let waited_ns = segment.t_ns - self.timer_start_ns;
        let called_for_ns = (self.rto.uncapped_us() << self.expiries.min(16)) * 1000;
        let capped_ns = self.rto.capped_us().map(|cap_us| cap_us * 1000);
        if waited_ns < called_for_ns / 10 * 9 {
            self.learn_cap(waited_ns, called_for_ns, segment.record);
        } else if capped_ns.is_some_and(|cap_ns| waited_ns > cap_ns + cap_ns / 4) {
            self.rto.uncap();
            self.history.get_or_insert_default().cap = Default::default();
        }
    }

    /// What an expiry tells of the host: that it does not probe, if a probe would have been due long before.
    pub(super) fn learn_of_probes(&mut self, segment: &Segment) {
        let undisturbed = self.may_probe() && self.dupacks == 0 && self.sacked.total() == 0;
        let since_ns = segment.t_ns - self.last_out_ns.unwrap_or(segment.t_ns).max(self.timer_start_ns);
        let probe_ns = 2 * self.rto.srtt_us() * 1000 + DELAYED_ACK_NS;
        if undisturbed && self.outstanding.len() > 1 && since_ns > probe_ns / 4 * 5 {
            self.history.get_or_insert_default().probes.get_or_insert(false);
        }
    }

    /// After an expiry, new data answers the first ACK although more was lost: only F-RTO does so (RFC 5682 section 2.1,
    /// step 2b). Lost is what was outstanding for two RTTs when the timer expired.
    pub(super) fn learn_of_frto(&mut self, t_ns: i64) {
        let first = self.state == State::Loss
            && self.snd_max == self.recover
            && self.dupacks == 0
            && self.reacts(t_ns)
            && self.timeouts.last().is_some_and(|last| last.followed == 0 && self.snd_una > last.seq);
        let Some(history) = self.history.as_mut().filter(|history| first && history.undo.awaits_frto())
        else {
            return;
        };
        let old_ns = history.expired_ns - 2 * self.rto.srtt_us() * 1000;
        if self.outstanding.at(self.snd_una).is_some_and(|run| !run.sacked() && run.last_ns < old_ns) {
            history.undo.show_frto();
        }
    }

    fn learn_cap(&mut self, waited_ns: i64, estimated_ns: i64, record: u64) {
        let cap = &mut self.history.get_or_insert_default().cap;
        let before_ns = std::mem::replace(&mut cap.last_ns, waited_ns);
        if (waited_ns - before_ns).abs() > before_ns / CAP_JITTER {
            if cap.waits == 0 {
                (cap.shortest_ns, cap.longest_ns) = (waited_ns, waited_ns);
            }
            return;
        }
        cap.waits = cap.waits.max(1) + 1;
        cap.shortest_ns = cap.shortest_ns.min(waited_ns);
        cap.longest_ns = cap.longest_ns.max(waited_ns);
        cap.estimated_ns = cap.estimated_ns.max(estimated_ns);
        cap.record = record;
        self.rto.cap(cap.shortest_ns / 1000);
    }

    /// A lone tail, or something else, is sent again: what the first retransmission was.
    #[inline(always)]
    pub(super) fn settle_before_repeat(&mut self, t_ns: i64) {
        if self.history.as_ref().is_some_and(|history| history.lone_tail.is_some()) {
            self.settle_tail_before_repeat(t_ns);
        }
    }

    #[cold]
    fn settle_tail_before_repeat(&mut self, t_ns: i64) {
        let Some(tail) = self.history.as_ref().and_then(|history| history.lone_tail) else { return };
        if tail.timeout.answer_after_ns.is_some() {
            self.settle(&tail, Cause::Unknown);
            return;
        }
        let cause = tail.on_repeat(t_ns, self.rto.rto_us() * 1000);
        self.settle(&tail, cause);
        if cause == Cause::Timeout {
            self.expiries = 1;
            self.rto.back_off();
            (self.state, self.recover) = (State::Loss, self.snd_max);
            self.probe_out = false;
        }
    }

    /// New data is sent after a lone tail was acknowledged.
    pub(super) fn follow_lone_tail(&mut self, t_ns: i64, segments: u64) {
        let Some(tail) = self.history.as_mut().and_then(|history| history.lone_tail.as_mut()) else { return };
        if let Some(cause) = tail.on_send(t_ns, segments) {
            let tail = *tail;
            self.settle(&tail, cause);
        }
    }

    /// It is decided, or can no longer be (`Unknown`), which timer sent a lone tail again.
    fn settle(&mut self, tail: &LoneTail, cause: Cause) {
        let record = tail.timeout.record;
        let history = self.history.get_or_insert_default();
        history.lone_tail = None;
        if cause == Cause::Unknown {
            return;
        }
        history.probe_or_timeout = history.probe_or_timeout.saturating_sub(tail.segments);
        history.probes = Some(cause == Cause::TailLossProbe);
        let mut row = self.retransmissions.get_mut(tail.place as usize);
        if let Some(row) = &mut row {
            (row.cause, row.alternative) = (cause, Cause::None);
        }
        if cause == Cause::Timeout {
            self.episode += 1;
            if let Some(row) = row {
                row.episode = self.episode;
            }
            history.corrections.push((record, cause));
            history.episodes.push(Episode::of_lone_tail(tail, self.episode));
            self.totals.retransmissions[Cause::TailLossProbe as usize] -= tail.segments;
            self.totals.retransmissions[Cause::Timeout as usize] += tail.segments;
            let at = self.timeouts.partition_point(|other| other.record < record);
            history.counted_from = history.counted_from.min(at);
            self.timeouts.insert(at, tail.timeout);
        }
    }
}
