//! Loss recovery: why a segment was sent again, and what the next ACKs say about a timeout.
//!
//! A retransmission is clocked by an ACK (it follows one at once) or by a timer. Which timer, and which of the
//! sender's states, follows from RFC 6298 (RTO), RFC 8985 (RACK, tail loss probe), RFC 5681 and 6675 (fast).

use super::outcome::{AckKind, Cause, State};
use super::outstanding::Sent;
use super::sender::Sender;
use super::timeout::Vote;
use crate::segment::Segment;

/// A retransmission within this time of an incoming segment may be its reaction.
const REACTION_NS: i64 = 10_000_000;
/// No stack in wide use fires its retransmission timer sooner than this after its last activity.
const QUIET_NS: i64 = 180_000_000;
/// What a tail loss probe waits for the delayed ACK of a lone segment (RFC 8985 section 7.2, Linux's value).
const DELAYED_ACK_NS: i64 = 200_000_000;
/// Duplicate ACKs that trigger a fast retransmit (RFC 5681 section 3.2).
const DUPACK_THRESHOLD: u32 = 3;
/// Timeouts that later ACKs can still say something about.
pub(super) const RECENT: usize = 16;

impl Sender {
    /// Why `[seq, end)` is sent again at `t_ns`; `before` is the state of its first byte.
    pub(super) fn classify(&self, t_ns: i64, seq: i64, end: i64, before: Option<&Sent>) -> Cause {
        if seq < self.snd_una && end <= self.snd_una {
            // Acknowledged already: the ACK crossed it, or the capture is not at the sender.
            return self.cause_in_state(Cause::Unknown);
        }
        let rto_ns = self.rto.rto_us() * 1000;
        let since_in_ns = self.last_in_ns.map_or(i64::MAX, |last| t_ns - last);
        let quiet_ns = self.last_out_ns.map_or(since_in_ns, |last| since_in_ns.min(t_ns - last));
        let elapsed_ns = t_ns - self.timer_start_ns;
        let head = seq <= self.snd_una;
        let reaction = since_in_ns <= REACTION_NS && self.last_in_news;
        let evidence = self.loss_evidence(seq, before);
        if head && !(reaction && evidence) {
            let due = elapsed_ns >= rto_ns / 10 * 9;
            // Long before the estimate: a stack whose largest timeout is set low, unless loss was known.
            let silent = quiet_ns >= QUIET_NS && (quiet_ns >= rto_ns / 2 || !self.overtaken(seq, before));
            if due || silent {
                return if self.probes_first(t_ns, end, rto_ns) {
                    Cause::TailLossProbe
                } else {
                    Cause::Timeout
                };
            }
        }
        if self.state == State::Open {
            if !reaction && self.probes_first(t_ns, end, rto_ns) {
                return Cause::TailLossProbe;
            }
            return if evidence { Cause::Fast } else { Cause::Unknown };
        }
        self.cause_in_state(Cause::Unknown)
    }

    /// Whether something that was sent later, or lies above, is known to have arrived.
    fn overtaken(&self, seq: i64, before: Option<&Sent>) -> bool {
        before.is_some_and(|run| run.last_ns < self.rack_ns)
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
        let overtaken = before.is_some_and(|run| run.last_ns < self.rack_ns);
        match self.state {
            State::Open => {
                self.dupacks >= DUPACK_THRESHOLD
                    || (self.sack_permitted && overtaken)
                    || self.sacked.highest().is_some_and(|high| high > seq)
            }
            State::Recovery | State::Loss => {
                overtaken || self.dupacks == 0 || seq > self.snd_una || self.dupacks >= DUPACK_THRESHOLD
            }
        }
    }

    /// Whether a segment sent now may be the reaction to one that came in.
    pub(super) fn reacts(&self, t_ns: i64) -> bool {
        self.last_in_ns.is_some_and(|last| t_ns - last <= REACTION_NS)
    }

    /// Whether the sender's next timer is the tail loss probe's (RFC 8985 section 7): SACK, no recovery going on, no
    /// probe out yet, and the last segment in sequence.
    fn probes_first(&self, t_ns: i64, end: i64, rto_ns: i64) -> bool {
        end >= self.snd_max && self.probe_due(t_ns, rto_ns)
    }

    /// Whether the probe's timer has run out: two smoothed RTTs since the last segment either way, 200 ms more for a
    /// lone segment (whose ACK may be delayed), but not later than the retransmission timer. That one counts from
    /// the sending of the head if the probe was scheduled by a sending, and from now if by an ACK (Linux).
    pub(super) fn probe_due(&self, t_ns: i64, rto_ns: i64) -> bool {
        if self.state != State::Open || !self.sack_permitted || !self.rto.measured() || self.probe_out {
            return false;
        }
        let Some(head) = self.outstanding.at(self.snd_una) else { return false };
        let last_out_ns = self.last_out_ns.unwrap_or(self.timer_start_ns);
        let scheduled_ns = self.timer_start_ns.max(last_out_ns);
        let alone = self.outstanding.len() <= 1;
        let mut wait_ns = 2 * self.rto.srtt_us() * 1000 + if alone { DELAYED_ACK_NS } else { 0 };
        let by_sending = last_out_ns > self.timer_start_ns;
        let rto_left_ns = if by_sending { head.last_ns + rto_ns - last_out_ns } else { rto_ns };
        if rto_left_ns > 0 {
            wait_ns = wait_ns.min(rto_left_ns);
        }
        t_ns - scheduled_ns >= wait_ns / 10 * 9
    }

    /// What sending again for `cause` does to the sender's state.
    pub(super) fn enter(&mut self, cause: Cause, segment: &Segment, seq: i64, ts_val: Option<u32>) {
        for timeout in self.timeouts.iter_mut().rev().take(RECENT) {
            timeout.followed |= timeout.seq != seq;
        }
        match cause {
            Cause::Timeout => {
                self.expire(segment, seq, ts_val);
                self.expiries = self.expiries.saturating_add(1);
                self.rto.back_off();
                self.state = State::Loss;
                self.recover = self.snd_max;
                self.timer_start_ns = segment.t_ns;
            }
            Cause::Fast => {
                if self.state == State::Open {
                    self.state = State::Recovery;
                    self.recover = self.snd_max;
                }
                if seq <= self.snd_una {
                    self.timer_start_ns = segment.t_ns;
                }
            }
            Cause::SlowStart if seq <= self.snd_una => self.timer_start_ns = segment.t_ns,
            Cause::TailLossProbe => {
                self.timer_start_ns = segment.t_ns;
                self.probe_out = true;
            }
            _ => {}
        }
    }

    /// What an ACK says about the timeouts that wait for their answer.
    pub(super) fn judge(&mut self, segment: &Segment, ack: i64, kind: AckKind, dsack: bool) {
        let ts_ecr = segment.options.timestamps.map(|(_, ecr)| ecr);
        let mut undone = false;
        for timeout in self.timeouts.iter_mut().rev().take(RECENT) {
            match timeout.answer_after_ns {
                None if kind == AckKind::Advance && ack > timeout.seq => {
                    timeout.answer(segment.t_ns, segment.record, ts_ecr);
                    // Of several expiries in a row the first one counts: the echo must be older than the first time
                    // that the segment was sent again.
                    undone = timeout.eifel == Vote::Spurious;
                }
                None => {}
                // F-RTO, second step (RFC 5682 section 2.1): the next ACK, if only the head was sent again.
                Some(_) if !timeout.settled => {
                    match kind {
                        AckKind::Advance if ack <= timeout.snd_max && !timeout.followed => {
                            timeout.frto = Vote::Spurious
                        }
                        AckKind::Duplicate if !dsack && !timeout.followed => timeout.frto = Vote::Genuine,
                        _ => {}
                    }
                    timeout.settled |= matches!(kind, AckKind::Advance | AckKind::Duplicate);
                    break;
                }
                Some(_) => break,
            }
        }
        if undone && self.state == State::Loss {
            // The stack that can tell takes the recovery back (RFC 3522, 4015).
            self.state = State::Open;
        }
    }
}
