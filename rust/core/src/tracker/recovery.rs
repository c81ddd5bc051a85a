//! Loss recovery: why a segment was sent again, and what the next ACKs say about a timeout.
//!
//! A retransmission is clocked by an ACK (it follows one at once) or by a timer. Which timer, and which of the
//! sender's states, follows from RFC 6298 (RTO), RFC 8985 (RACK, tail loss probe), RFC 5681 and 6675 (fast).

use super::episode::Trigger;
use super::outcome::{Cause, State};
use super::outstanding::Sent;
use super::sender::Sender;
use super::timers::PROBE_MIN_NS;
use crate::segment::{Segment, flags};

/// A retransmission within this time of an incoming segment may be its reaction.
pub(super) const REACTION_NS: i64 = 10_000_000;
/// No stack in wide use fires its retransmission timer sooner than this after its last activity.
const QUIET_NS: i64 = 180_000_000;
/// Duplicate ACKs that trigger a fast retransmit (RFC 5681 section 3.2).
const DUPACK_THRESHOLD: u32 = 3;
/// Timeouts that later ACKs can still say something about.
pub(super) const RECENT: usize = 16;

impl Sender {
    /// Why `[seq, end)` is sent again at `t_ns`, and what else it may be by the same packets (`None` if nothing);
    /// `before` is the state of its first byte.
    pub(super) fn classify(&self, t_ns: i64, seq: i64, end: i64, before: Option<&Sent>) -> (Cause, Cause) {
        if seq < self.snd_una && end <= self.snd_una {
            // Acknowledged already: the ACK crossed it, or the capture is not at the sender.
            return (self.cause_in_state(Cause::Unknown), Cause::None);
        }
        if self.syn_data_refused(t_ns) {
            return (Cause::SlowStart, Cause::None);
        }
        let rto_ns = self.rto.rto_us() * 1000;
        let since_in_ns = self.last_in_ns.map_or(i64::MAX, |last| t_ns - last);
        let quiet_ns = self.last_out_ns.map_or(since_in_ns, |last| since_in_ns.min(t_ns - last));
        let elapsed_ns = t_ns - self.timer_start_ns;
        let head = seq <= self.snd_una;
        let reaction = since_in_ns <= REACTION_NS && self.last_in_news;
        let evidence = self.loss_evidence(seq, before);
        let forgotten = self.forgotten_is_due(t_ns, rto_ns, before);
        if head && (forgotten || !self.called_for(t_ns, before, reaction && evidence)) {
            let due = elapsed_ns >= rto_ns / 10 * 9
                || forgotten
                || self.overdue(t_ns, rto_ns, before)
                || (quiet_ns > REACTION_NS && self.overdue_in_recovery(t_ns, rto_ns, before));
            // Long before the estimate: a stack whose largest timeout is set low, unless loss was known.
            let silent = quiet_ns >= QUIET_NS && (quiet_ns >= rto_ns / 2 || !self.overtaken(seq, before));
            if due || silent {
                let probes = self.history.as_ref().and_then(|history| history.probes);
                return match (self.probes_first(t_ns, end, rto_ns), probes) {
                    (false, _) => (Cause::Timeout, Cause::None),
                    (true, Some(false)) if due => (Cause::Timeout, Cause::None),
                    (true, None) if due => (Cause::TailLossProbe, Cause::Timeout),
                    (true, _) => (Cause::TailLossProbe, Cause::None),
                };
            }
        }
        if self.state != State::Open {
            return (self.cause_in_state(Cause::Unknown), Cause::None);
        }
        let cause = if !reaction && self.probes_first(t_ns, end, rto_ns) {
            Cause::TailLossProbe
        } else if evidence || (head && reaction && self.newreno.as_ref().is_some_and(|newreno| newreno.any()))
        {
            // Sooner than after three duplicate ACKs: a stack with a lower threshold.
            Cause::Fast
        } else if !head && end >= self.snd_max && self.may_probe() {
            // Sooner than estimated; but nothing else sends the last segment and not the first.
            Cause::TailLossProbe
        } else {
            Cause::Unknown
        };
        (cause, Cause::None)
    }

    /// The data of a SYN is sent again in answer to what acknowledged the SYN alone (RFC 7413 section 4.2.1): this side
    /// has sent nothing else since. Linux counts it as what follows a loss (`tcp_non_congestion_loss_retransmit`).
    fn syn_data_refused(&self, t_ns: i64) -> bool {
        let again = self.totals.retransmissions[Cause::SlowStart as usize];
        self.state == State::Open
            && self.totals.segments == u64::from(self.totals.syn) + again + 1
            && self.reacts(t_ns)
    }

    /// A probe is out: the next one is scheduled all the same, by the last ACK or new data, may not be sent when it is due,
    /// and the timer takes its place, counted from the sending of the first segment (Linux, `tcp_send_loss_probe`).
    fn overdue(&self, t_ns: i64, rto_ns: i64, before: Option<&Sent>) -> bool {
        let by_sending = self.last_out_ns.is_some_and(|last| last > self.timer_start_ns);
        let by_ack = t_ns - self.timer_start_ns >= 2 * self.rto.srtt_us() * 1000;
        self.probe_out
            && self.state == State::Open
            && (by_sending || by_ack)
            && before.is_some_and(|run| t_ns - run.last_ns >= rto_ns / 10 * 9)
    }

    /// Whether what came back calls for the first outstanding segment now, and no timer is needed to send it again:
    /// `answers` if it follows an ACK at once that shows it lost.
    fn called_for(&self, t_ns: i64, before: Option<&Sent>, answers: bool) -> bool {
        let Some(newreno) = self.newreno.as_ref().filter(|_| self.state == State::Open) else {
            return answers || self.awaited_reordering(t_ns, before);
        };
        newreno.called_ns().is_some_and(|called_ns| t_ns - called_ns <= REACTION_NS)
            || (answers && self.dupacks == DUPACK_THRESHOLD)
    }

    /// What RACK marked lost in a recovery that was taken back is not looked at by RACK again (Linux: it is no longer in the
    /// list of what was sent, `tcp_rack_detect_loss`): nothing but the timer sends it, counted from its sending.
    fn forgotten_is_due(&self, t_ns: i64, rto_ns: i64, before: Option<&Sent>) -> bool {
        self.history.as_ref().zip(before).is_some_and(|(history, run)| {
            run.last_ns < history.forgotten_ns && t_ns - run.last_ns >= rto_ns / 20 * 19
        })
    }

    /// SACK shows that what was sent later has arrived, and the sender waited for reordering: up to a smoothed RTT, by the
    /// timer that takes the place of the retransmission timer (RFC 8985 section 6.2, steps 4 and 5).
    fn awaited_reordering(&self, t_ns: i64, before: Option<&Sent>) -> bool {
        self.state == State::Open
            && self.sack_permitted
            && before.is_some_and(|run| self.is_overtaken(run))
            && self.may_await_reordering(t_ns)
    }

    /// The last ACK told something new, no longer ago than a sender waits for reordering.
    fn may_await_reordering(&self, t_ns: i64) -> bool {
        self.last_in_news
            && self.last_in_ns.is_some_and(|last| t_ns - last <= self.rto.srtt_us() * 1000 + REACTION_NS)
    }

    /// In a recovery with SACK nothing came for a smoothed RTT, in which all would have been sent again that SACK shows
    /// lost, and the timer has run since the first segment was sent last: after a wait for reordering Linux counts it from
    /// there (`tcp_rearm_rto`). Slow start, which a sender may pace, has all to send again that it has not yet.
    fn overdue_in_recovery(&self, t_ns: i64, rto_ns: i64, before: Option<&Sent>) -> bool {
        (self.state == State::Recovery || self.state == State::Loss && self.was_sent_again(before))
            && self.sack_permitted
            && self.last_in_ns.is_none_or(|last| t_ns - last > self.rto.srtt_us() * 1000 + REACTION_NS)
            && before.is_some_and(|run| t_ns - run.last_ns >= rto_ns / 20 * 19)
    }

    /// What shows a sender without a timer that `seq` is lost.
    pub(super) fn trigger(&self, cause: Cause, seq: i64, before: Option<&Sent>) -> Trigger {
        let three_segments = i64::from(DUPACK_THRESHOLD) * i64::from(self.segment_size().max(1));
        let above =
            self.sacked.highest().map_or(0, |high| self.sacked.overlap_up_to(seq, high, three_segments));
        if cause == Cause::Timeout {
            Trigger::Timer
        } else if above > 0 && above >= three_segments {
            Trigger::Sack
        } else if above > 0 || (self.sack_permitted && before.is_some_and(|run| self.is_overtaken(run))) {
            Trigger::Rack
        } else {
            Trigger::DuplicateAcks
        }
    }

    /// Whether something is known to have arrived that was sent later, or in the same burst behind it (RFC 8985 section
    /// 6.2: `RACK_sent_after` compares the ends of segments that were sent at the same time).
    pub(super) fn is_overtaken(&self, run: &Sent) -> bool {
        let in_burst = |behind: &Sent| behind.sacked() && behind.last_ns == run.last_ns;
        run.last_ns < self.rack_ns
            || (run.last_ns == self.rack_ns && self.outstanding.at(run.end).is_some_and(in_burst))
    }

    /// Whether something that was sent later, or lies above, is known to have arrived.
    fn overtaken(&self, seq: i64, before: Option<&Sent>) -> bool {
        before.is_some_and(|run| self.is_overtaken(run))
            || self.dupacks >= DUPACK_THRESHOLD
            || self.sacked.highest().is_some_and(|high| high > seq)
    }

    fn cause_in_state(&self, otherwise: Cause) -> Cause {
        match self.state {
            State::Open => otherwise,
            State::Recovery => Cause::Fast,
            State::Loss => Cause::SlowStart,
        }
    }

    /// Whether what came back tells the sender that the segment is lost.
    fn loss_evidence(&self, seq: i64, before: Option<&Sent>) -> bool {
        let overtaken = before.is_some_and(|run| self.is_overtaken(run));
        match self.state {
            State::Open if self.newreno.as_ref().is_some_and(|newreno| newreno.calls()) => true,
            State::Open => {
                self.dupacks >= DUPACK_THRESHOLD
                    || (self.sack_permitted && overtaken)
                    || self.sacked.highest().is_some_and(|high| high > seq)
            }
            // Without SACK no ACK tells that what was sent again is lost again (RFC 6582).
            State::Recovery | State::Loss if !self.sack_permitted && self.was_sent_again(before) => false,
            State::Recovery | State::Loss => {
                overtaken || self.dupacks == 0 || seq > self.snd_una || self.dupacks >= DUPACK_THRESHOLD
            }
        }
    }

    /// In this recovery, and the timer has not expired since.
    fn was_sent_again(&self, before: Option<&Sent>) -> bool {
        self.history.as_ref().zip(before).is_some_and(|(history, run)| history.is_marked(run))
    }

    /// Whether a segment sent now may be the reaction to one that came in.
    pub(super) fn reacts(&self, t_ns: i64) -> bool {
        self.last_in_ns.is_some_and(|last| t_ns - last <= REACTION_NS)
    }

    /// What sending again for `cause` does to the sender's state.
    pub(super) fn enter(&mut self, cause: Cause, segment: &Segment, seq: i64, before: Option<&Sent>) {
        self.count_followed(seq);
        match cause {
            Cause::Timeout => self.enter_loss(segment, seq, before),
            Cause::Fast => {
                if self.state == State::Open {
                    self.state = State::Recovery;
                    self.recover = self.snd_max;
                    let (snd_una, fresh) = (self.snd_una, self.all_original());
                    let probe = u32::from(self.probe_repeats());
                    let history = self.history.get_or_insert_default();
                    let in_flight = history.retrans_out.saturating_add(probe);
                    history.undo.begin(snd_una, in_flight, fresh || !history.just_left);
                    self.probe_out = false;
                    if let Some(newreno) = &mut self.newreno {
                        newreno.began();
                    }
                }
                if seq <= self.snd_una {
                    self.timer_start_ns = segment.t_ns;
                }
            }
            Cause::SlowStart => {
                if seq <= self.snd_una {
                    self.timer_start_ns = segment.t_ns;
                }
                // New data that answered the expiry keeps F-RTO going, whatever is sent again meanwhile (Linux,
                // `tcp_xmit_recovery`).
                if self.snd_max <= self.recover {
                    self.history.get_or_insert_default().undo.expect_frto(false);
                }
            }
            Cause::TailLossProbe => {
                self.timer_start_ns = segment.t_ns;
                (self.probe_out, self.probe_high) = (true, self.snd_max);
                let history = self.history.get_or_insert_default();
                (history.probed_ns, history.probe_repeats) = (segment.t_ns, true);
            }
            _ => {}
        }
    }

    /// Something is sent again behind the last expiries. Of those that another one followed, and that were shown to be
    /// followed often enough, no more is asked: most are far from the cache by then.
    fn count_followed(&mut self, seq: i64) {
        let count = self.timeouts.len();
        let known = self.history.as_ref().map_or(0, |history| history.counted_from);
        let from = known.max(count.saturating_sub(RECENT));
        let Some(recent) = self.timeouts.get_mut(from..) else { return };
        recent.iter_mut().for_each(|timeout| timeout.followed += u32::from(timeout.seq != seq));
        let before_last = recent.len().saturating_sub(1);
        let done =
            recent[..before_last].iter().take_while(|timeout| timeout.followed >= timeout.doubled.max(1));
        let counted_from = from + done.count();
        if let Some(history) = &mut self.history {
            history.counted_from = counted_from;
        }
    }

    /// Whether a probe is out that sent data again.
    fn probe_repeats(&self) -> bool {
        self.probe_out && self.history.as_ref().is_some_and(|history| history.probe_repeats)
    }

    /// After an expiry, SACK shows that what was sent again since is lost again: Linux leaves the state Loss for
    /// Recovery then (`tcp_fastretrans_alert`, FLAG_LOST_RETRANS), and what follows is fast retransmit.
    pub(super) fn leave_loss_for_recovery(&mut self, t_ns: i64, before: Option<&Sent>) {
        let overtaken = before.is_some_and(|run| self.is_overtaken(run));
        if self.state != State::Loss || !self.sack_permitted || !overtaken {
            return;
        }
        let timer_due = t_ns - self.timer_start_ns >= self.rto.rto_us() * 1000 / 10 * 9;
        if !self.reacts(t_ns) && (timer_due || !self.may_await_reordering(t_ns)) {
            return;
        }
        if !self.was_sent_again(before) && !self.waited_for_new_data(t_ns) {
            return;
        }
        self.state = State::Recovery;
        self.recover = self.snd_max;
        let (snd_una, fresh) = (self.snd_una, self.all_original());
        let history = self.history.get_or_insert_default();
        let in_flight = history.retrans_out;
        history.undo.begin(snd_una, in_flight, fresh);
    }

    /// New data that followed the expiry is overtaken, and the wait for its reordering is over: Linux enters Recovery from Loss
    /// then, and sends what it has marked lost (`tcp_rack_reo_timeout`).
    fn waited_for_new_data(&self, t_ns: i64) -> bool {
        let expired_ns = self.history.as_ref().map_or(i64::MAX, |history| history.expired_ns);
        (!self.reacts(t_ns) || self.waited_for_reordering(t_ns))
            && self
                .outstanding
                .at(self.recover)
                .is_some_and(|run| !run.sacked() && run.first_ns > expired_ns && self.is_overtaken(run))
    }

    /// The last ACK was answered, and since then as long has passed as RACK waits at least for what is overtaken: a quarter of
    /// the smallest RTT (RFC 8985 section 6.2, step 4), and what Linux adds to any timer. Farther from the sender than its host,
    /// what it sends in answer to an ACK comes as late.
    fn waited_for_reordering(&self, t_ns: i64) -> bool {
        if !self.path.as_ref().is_some_and(|path| path.beside_sender()) {
            return false;
        }
        let least_ns = self.rtt.min().map_or(i64::MAX, |min_ns| (min_ns / 4).max(PROBE_MIN_NS));
        self.last_out_ns.is_some_and(|out_ns| {
            t_ns - out_ns >= least_ns && self.last_in_ns.is_some_and(|in_ns| in_ns <= out_ns)
        })
    }

    /// Nothing that was sent again is on its way, nor first in line (`tcp_any_retrans_done`).
    pub(super) fn all_original(&self) -> bool {
        let on_its_way = self.history.as_ref().is_some_and(|history| history.retrans_out > 0);
        !on_its_way && self.outstanding.at(self.snd_una).is_none_or(|head| head.transmissions <= 1)
    }

    #[cold]
    fn enter_loss(&mut self, segment: &Segment, seq: i64, before: Option<&Sent>) {
        if !self.overdue(segment.t_ns, self.rto.rto_us() * 1000, before) {
            self.learn_from_expiry(segment);
        }
        self.learn_of_probes(segment);
        self.leave_frto_open();
        let timeout = self.expiry(segment, seq, before);
        self.timeouts.push(timeout);
        let (snd_una, recover) = (self.snd_una, self.recover);
        // A recovery under way is judged from its own beginning, unless it is over or an expiry was answered in it.
        let again = self.state != State::Open
            && (snd_una >= recover || self.state == State::Loss && self.expiries == 0);
        let in_flight = u32::from(self.probe_repeats());
        let history = self.history.get_or_insert_default();
        history.awaits_echo |= timeout.waits;
        if !segment.has(flags::SYN) {
            if self.state == State::Open || again {
                history.undo.begin(snd_una, in_flight, false);
            }
            history.undo.expect_frto(self.state == State::Open || self.expiries > 0);
        }
        history.expired_ns = segment.t_ns;
        // All of it is marked lost now, and is sent again.
        history.forgotten_ns = 0;
        self.probe_out = false;
        if let Some(newreno) = &mut self.newreno {
            newreno.forget();
        }
        self.expiries = self.expiries.saturating_add(1);
        self.rto.back_off();
        self.state = State::Loss;
        self.recover = self.snd_max;
        self.timer_start_ns = segment.t_ns;
    }
}
