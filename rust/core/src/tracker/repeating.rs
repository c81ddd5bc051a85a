//! Bytes or a flag that the sender puts on the wire again: why, what that does to its state, and the rows that say so.

use super::episode::{Episode, Trigger};
use super::foreseen::Again;
use super::outcome::{Cause, Retransmission, State};
use super::outstanding::Sent;
use super::sender::Sender;
use super::tail::LoneTail;
use super::timeout::{Timeout, Vote};
use super::undo::TakenBack;
use crate::segment::{Segment, flags};

impl Sender {
    /// Bytes or a flag that were sent before: why, and what that does to the sender's state.
    pub(super) fn send_again(
        &mut self,
        segment: &Segment,
        seq: i64,
        end: i64,
        duplicate: u32,
        before: Option<&Sent>,
        peer: &Sender,
    ) -> Cause {
        let t_ns = segment.t_ns;
        let ts_val = segment.options.timestamps.map(|(val, _)| val);
        let syn = segment.has(flags::SYN);
        self.hear(segment, seq);
        self.settle_before_repeat(t_ns);
        self.leave_loss_for_recovery(t_ns, before);
        self.doubt_probe_by_timer(t_ns, seq);
        let mut found = self.why_again(segment, seq, end, before);
        let again = Again {
            called_for: found.0 != Cause::Unknown,
            overtaken: before.is_some_and(|run| self.is_overtaken(run)),
            segments: if found.0 == Cause::Fast { self.wire_segments(segment.length) } else { 0 },
        };
        if self.confirm_taken_back(Some(again)) {
            found = self.why_again(segment, seq, end, before);
        }
        let (cause, alternative) = self.agree_on_cause(segment, seq, found, peer);
        let foreseen = cause == Cause::Fast && self.history.as_ref().is_some_and(|h| h.foreseen.is_some());
        let alternative = if foreseen { Cause::SlowStart } else { alternative };
        let segments = self.wire_segments(segment.length);
        self.totals.retransmissions[cause as usize] += segments;
        let rto_ns = if self.rto.measured() { self.rto.rto_us() * 1000 } else { -1 };
        if alternative == Cause::Timeout {
            let wide =
                self.episode == 0 && self.totals.max_flight >= 6 * i64::from(self.segment_size().max(1));
            let place = self.retransmissions.len() as u32;
            let tail = LoneTail::new(self.expiry(segment, seq, before), place, segments, wide);
            let history = self.history.get_or_insert_default();
            (history.lone_tail, history.probe_or_timeout) = (Some(tail), history.probe_or_timeout + segments);
        }
        let state_before = self.state;
        let marked = self.history.as_ref().zip(before).is_some_and(|(history, run)| history.is_marked(run));
        self.enter(cause, segment, seq, before);
        if cause == Cause::Timeout && !syn {
            let late = self.came_too_late(segment, seq, peer);
            if let Some(timeout) = self.timeouts.last_mut() {
                timeout.late = late;
            }
        }
        if !syn {
            self.count_lost_again(cause, marked, segments);
        } else if cause == Cause::Timeout && !segment.has(flags::ACK) {
            // A SYN is no data: it is marked as soon as it is sent again.
            let again = before.is_some_and(|run| run.transmissions > 1);
            self.history.get_or_insert_default().lost_again += u64::from(again);
        }
        if state_before == State::Open && self.state != State::Open {
            // Only now: it looks at what was acknowledged above, which would cost too much for each repetition.
            let trigger = self.trigger(cause, seq, before);
            self.open_episode(segment, seq, cause, trigger);
        }
        let (place, recover) = (self.retransmissions.len(), self.recover);
        let merged = if before.is_some_and(|run| run.end < end) { self.merged_in(seq, end) } else { 0 };
        let history = self.history.get_or_insert_default();
        history.merged += merged.saturating_sub(segments);
        if !matches!(cause, Cause::TailLossProbe | Cause::Handshake) && !syn {
            history.undo.sent_again(segments, ts_val);
        }
        if let (Cause::Timeout, Some(episode)) = (cause, history.episodes.last_mut()) {
            episode.timeouts += 1;
            episode.recover = recover;
        }
        history.remember(seq, place, segment.length);
        let kept = self.retransmissions.takes_rows(self.sums_up);
        if kept {
            history.keeps(seq);
        }
        let row = kept.then(|| self.row(segment, seq, duplicate, (cause, alternative), rto_ns, before));
        self.retransmissions.push(row);
        cause
    }

    /// Segments that had been sent of these bytes, and were not selectively acknowledged.
    #[cold]
    fn merged_in(&self, seq: i64, end: i64) -> u64 {
        let missing = self.outstanding.between(seq, end).filter(|run| !run.sacked());
        missing.map(|run| self.wire_segments((run.end.min(end) - run.seq.max(seq)) as u32)).sum()
    }

    /// What a table says of a repetition, before any ACK answers it.
    #[inline(never)]
    fn row(
        &self,
        segment: &Segment,
        seq: i64,
        duplicate: u32,
        (cause, alternative): (Cause, Cause),
        rto_ns: i64,
        before: Option<&Sent>,
    ) -> Retransmission {
        let t_ns = segment.t_ns;
        let ts_val = segment.options.timestamps.map(|(val, _)| val);
        let distinct = self.differs_in_timestamp(ts_val, seq, before, t_ns);
        Retransmission {
            t_ns,
            record: segment.record,
            seq,
            length: segment.length,
            duplicate,
            cause,
            transmission: before.map_or(2, |run| run.transmissions.saturating_add(1)),
            since_sent_ns: before.map_or(-1, |run| t_ns - run.last_ns),
            since_ack_ns: self.last_in_ns.map_or(-1, |last| t_ns - last),
            dupacks: self.dupacks,
            sacked: self.sacked.total(),
            rto_ns,
            episode: if self.state == State::Open { 0 } else { self.episode },
            alternative,
            eifel: Vote::Abstains,
            dsack: Vote::Abstains,
            answer_after_ns: None,
            answer_record: 0,
            shown_needless: false,
            ts_val: ts_val.filter(|_| distinct),
            ts_later: self.later_timestamp(ts_val, before, t_ns),
        }
    }

    fn why_again(&self, segment: &Segment, seq: i64, end: i64, before: Option<&Sent>) -> (Cause, Cause) {
        let syn = segment.has(flags::SYN);
        if syn && segment.has(flags::ACK) && self.last_in_syn && self.reacts(segment.t_ns) {
            (Cause::Handshake, Cause::None)
        } else if syn {
            // Nothing but the timer repeats a SYN; some stacks do not back off at first (Linux 6.5 and later).
            (Cause::Timeout, Cause::None)
        } else {
            self.classify(segment.t_ns, seq, end, before)
        }
    }

    /// Whether the timestamp of a repetition cannot be that of the copy before: of the first outstanding segment
    /// that is known; of others, if two ticks of the clock have passed.
    fn differs_in_timestamp(&self, ts_val: Option<u32>, seq: i64, before: Option<&Sent>, t_ns: i64) -> bool {
        if seq <= self.snd_una {
            return self.ts_head_before != ts_val;
        }
        let (Some((first, first_ns)), Some((last, last_ns))) = (self.ts_first, self.ts_last) else {
            return false;
        };
        let ticks = i64::from(last.wrapping_sub(first) as i32);
        let since_ns = before.map_or(0, |run| t_ns - run.last_ns);
        ticks > 0 && since_ns >= 2 * ((last_ns - first_ns) / ticks)
    }

    /// A TSval beyond that of the copy before, by the pace of the sender's clock; `None` while that is not known.
    fn later_timestamp(&self, ts_val: Option<u32>, before: Option<&Sent>, t_ns: i64) -> Option<u32> {
        let (ts_val, before) = (ts_val?, before?);
        let back = (t_ns - before.last_ns) / self.tick_ns()?.max(1);
        let back = back - 2 - back / 50;
        (0..i64::from(i32::MAX)).contains(&back).then(|| ts_val.wrapping_sub(back as u32))
    }

    /// What Linux counts as lost retransmissions (`TCPLostRetransmit`): when the timer expires, all on their way;
    /// else those that are sent again.
    fn count_lost_again(&mut self, cause: Cause, marked: bool, segments: u64) {
        let history = self.history.get_or_insert_default();
        match cause {
            Cause::Timeout => {
                history.lost_again += u64::from(history.retrans_out);
                history.retrans_out = u32::try_from(segments).unwrap_or(u32::MAX);
            }
            Cause::TailLossProbe | Cause::UnneededProbe => {}
            _ if marked => history.lost_again += segments,
            _ => {
                let more = u32::try_from(segments).unwrap_or(u32::MAX);
                history.retrans_out = history.retrans_out.saturating_add(more);
            }
        }
    }

    #[inline(never)]
    fn open_episode(&mut self, segment: &Segment, seq: i64, cause: Cause, trigger: Trigger) {
        self.episode += 1;
        let episode = Episode {
            number: self.episode,
            t_ns: segment.t_ns,
            record: segment.record,
            cause,
            trigger,
            seq,
            entry: self.snd_una,
            recover: self.recover,
            end_ns: None,
            end_record: 0,
            timeouts: 0,
            taken_back: TakenBack::No,
            first: self.retransmissions.len() as u32,
        };
        self.history.get_or_insert_default().episodes.push(episode);
    }

    /// The record of an expiry that is about to change the state.
    #[inline(never)]
    pub(super) fn expiry(&self, segment: &Segment, seq: i64, before: Option<&Sent>) -> Timeout {
        let ts_val = segment.options.timestamps.map(|(val, _)| val);
        let rto_ns = match (self.expiries, self.timeouts.last()) {
            (1.., Some(first)) => first.rto_ns,
            _ if self.rto.measured() => self.rto.bare_us() * 1000,
            _ => -1,
        };
        let waited_ns = segment.t_ns - self.timer_start_ns;
        let backoff = match self.timeouts.first() {
            _ if !segment.has(flags::SYN) => self.expiries.max(self.rto.doublings()),
            Some(first) => doublings_shown(first.waited_ns, waited_ns),
            None => 0,
        };
        Timeout {
            t_ns: segment.t_ns,
            record: segment.record,
            seq,
            length: segment.length,
            syn: segment.has(flags::SYN),
            backoff,
            silence_ns: segment.t_ns - self.last_out_ns.unwrap_or(segment.t_ns),
            rto_ns,
            ts_val,
            ts_val_before: self.ts_head_before,
            ts_later: self.later_timestamp(ts_val, before, segment.t_ns),
            echo: segment.options.timestamps.map(|(_, ecr)| ecr).filter(|_| seq < self.snd_una),
            waits: seq < self.snd_una && !segment.has(flags::SYN),
            reply: None,
            reported_ts: None,
            acked: seq < self.snd_una,
            late: false,
            snd_max: self.snd_max,
            answer_after_ns: None,
            answer_record: 0,
            eifel: Vote::Abstains,
            dsack: Vote::Abstains,
            frto: Vote::Abstains,
            ack_path: Vote::Abstains,
            waited_ns,
            rto_max_ns: self.rto.capped_us().map_or(-1, |cap_us| cap_us * 1000),
            followed: 0,
            doubled: 0,
            // In fast recovery, ACKs of what was sent again before say nothing about this expiry.
            settled: self.state == State::Recovery,
        }
    }
}

/// How often a timer of a SYN was doubled, by how long it ran: Linux 6.5 and later does not back off at first
/// (`tcp_syn_linear_timeouts`), so that expiries cannot be counted for it.
fn doublings_shown(first_ns: i64, waited_ns: i64) -> u16 {
    let (first_ns, waited_ns) = (first_ns.max(1), waited_ns.max(1));
    (0..16).find(|&times| waited_ns / 3 * 2 <= first_ns.saturating_mul(1 << times)).unwrap_or(16)
}
