//! What ACKs say, afterwards, of what was sent again: whether it had been needed, and whether the stack takes its
//! response back.

use super::foreseen::Again;
use super::history::History;
use super::outcome::{AckKind, State};
use super::outstanding::Sent;
use super::recovery::RECENT;
use super::rows::Repetitions;
use super::sender::{Sender, wire_segments};
use super::timeout::{Heard, Next, Vote, eifel, too_early};
use super::undo::{News, TakenBack};
use crate::segment::Segment;

/// What an ACK brought, besides its number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Brought {
    /// What it is.
    pub kind: AckKind,
    /// The cumulative point before it.
    pub snd_una: i64,
    /// State before it.
    pub state: State,
    /// A SACK block told something new.
    pub fresh_sack: bool,
    /// Its first block reports these bytes as arrived twice (RFC 2883).
    pub dsack: Option<(i64, i64)>,
    /// Data below the recovery point arrived that was sent once only.
    pub original: bool,
}

impl Brought {
    fn reports(&self, seq: i64) -> bool {
        self.dsack.is_some_and(|(left, right)| left <= seq && seq < right)
    }
}

impl Sender {
    /// What an ACK says about what was sent again and the recovery that goes on.
    pub(super) fn judge(&mut self, segment: &Segment, ack: i64, brought: &Brought) {
        if self.history.is_none() {
            return;
        }
        let ts_ecr = segment.options.timestamps.map(|(_, ecr)| ecr);
        self.judge_timeouts(segment, ack, brought, ts_ecr);
        if brought.kind == AckKind::Advance {
            self.answer_retransmissions(segment, ack, brought, ts_ecr);
        }
        self.take_back(segment, ack, brought, ts_ecr);
        self.calm_down(segment.options.sack_count > 0);
    }

    fn judge_timeouts(&mut self, segment: &Segment, ack: i64, brought: &Brought, ts_ecr: Option<u32>) {
        let (kind, mut still_arriving) = (brought.kind, None);
        if self.history.as_ref().is_some_and(|history| history.awaits_echo) {
            let (ts_val, min_rtt_ns) = (segment.options.timestamps.map(|(val, _)| val), self.rtt.min());
            if let Some(last) = self.timeouts.last_mut().filter(|last| ack > last.seq) {
                last.replied(segment.t_ns, ts_val, min_rtt_ns);
            }
        }
        self.count_doubled(segment, brought);
        for timeout in self.timeouts.iter_mut().rev().take(RECENT) {
            match timeout.answer_after_ns {
                None if kind == AckKind::Advance && ack > timeout.seq => {
                    timeout.answer(segment.t_ns, segment.record, ts_ecr, brought.reports(timeout.seq));
                }
                // F-RTO ends where the first ACK is a duplicate: others of the same flight were missing, whatever became of
                // this one (RFC 5682 section 2.1, step 2a).
                None if kind == AckKind::Duplicate && brought.dsack.is_none() => timeout.settled = true,
                None => {}
                // F-RTO, second step (RFC 5682 section 2.1): the next ACK, if only the head was sent again.
                Some(_) if !timeout.settled => {
                    match kind {
                        AckKind::Advance if ack <= timeout.snd_max && timeout.followed == 0 => {
                            timeout.frto = Vote::Spurious;
                            still_arriving = Some(timeout.answer_record);
                        }
                        // Of a SYN it says nothing: data followed.
                        AckKind::Duplicate
                            if brought.dsack.is_none() && timeout.followed == 0 && !timeout.syn =>
                        {
                            timeout.frto = Vote::Genuine
                        }
                        _ => {}
                    }
                    timeout.settled |= matches!(kind, AckKind::Advance | AckKind::Duplicate);
                    break;
                }
                Some(_) => break,
            }
        }
        if let Some(answer_record) = still_arriving {
            self.arrives_late(answer_record);
        }
        self.judge_tail(segment, ack, brought, ts_ecr);
    }

    /// What was sent with the copy that this answer reports arrives behind it: both are late, whichever ACKs were lost before.
    #[cold]
    fn arrives_late(&mut self, answer_record: u64) {
        for timeout in self.timeouts.iter_mut().rev().take(RECENT) {
            if timeout.answer_record == answer_record && timeout.eifel == Vote::Spurious {
                timeout.ack_path = Vote::Abstains;
            }
        }
    }

    /// An ACK that brings nothing new after the answer to an expiry may be the answer to a needless copy.
    fn count_doubled(&mut self, segment: &Segment, brought: &Brought) {
        if segment.length > 0 || !matches!(brought.kind, AckKind::Duplicate | AckKind::Repeat) {
            return;
        }
        let Some(timeout) = self.timeouts.last() else { return };
        // Sooner than any RTT it answers no copy: it may open the window by less than its scale shows.
        let after_ns = segment.t_ns.saturating_sub(timeout.t_ns);
        if timeout.answer_after_ns.is_none()
            || brought.snd_una > timeout.snd_max
            || too_early(Some(after_ns), self.rtt.min()) == Vote::Spurious
        {
            return;
        }
        self.note_doubled();
    }

    /// It may be.
    #[inline(never)]
    fn note_doubled(&mut self) {
        let Some(timeout) = self.timeouts.last_mut() else { return };
        timeout.doubled += 1;
        let (shown, seq, end) = (timeout.shown_needless(), timeout.seq, timeout.snd_max);
        if let (true, Some(history)) = (shown, &self.history) {
            for place in history.between(seq, end) {
                if let Some(row) = self.retransmissions.get_mut(place) {
                    row.shown_needless = true;
                }
            }
        }
    }

    fn judge_tail(&mut self, segment: &Segment, ack: i64, brought: &Brought, ts_ecr: Option<u32>) {
        let kind = brought.kind;
        let Some(tail) = self.history.as_mut().and_then(|history| history.lone_tail.as_mut()) else { return };
        if kind == AckKind::Advance && ack > tail.timeout.seq {
            let reports_it = brought.reports(tail.timeout.seq);
            tail.on_advance(segment.t_ns, segment.record, ts_ecr, reports_it);
        }
    }

    /// An ACK came right after others of the receiver had been lost before this point. If it answers a timeout, with the
    /// timestamp of a copy before, these were the ACKs of that copy: they were lost, not late.
    #[inline(never)]
    pub(super) fn answered_after_lost_acks(&mut self, segment: &Segment) {
        for timeout in self.timeouts.iter_mut().rev().take(RECENT) {
            if timeout.answer_record == segment.record && timeout.eifel == Vote::Spurious && !timeout.late {
                timeout.ack_path = Vote::Genuine;
            }
        }
    }

    /// The sender goes on: what it has heard of the receiver shows. An ACK of the segment had passed this point before it
    /// was sent again; if what the sender hears next is the answer to the copy, the ACKs before were lost behind this point,
    /// not late. If it had not heard any by the next expiry, those before the expiries before were lost, too.
    pub(super) fn hear(&mut self, segment: &Segment, seq: i64) {
        if self.history.as_ref().is_some_and(|history| history.awaits_echo) {
            self.hear_of_expiries(segment, seq);
        }
    }

    #[cold]
    fn hear_of_expiries(&mut self, segment: &Segment, seq: i64) {
        let echoed = segment.options.timestamps.map(|(_, ecr)| ecr);
        let near_ns = self.path.as_ref().and_then(|path| path.near_ns());
        let next = Next { t_ns: segment.t_ns, seq, echoed, near_ns };
        let (mut waits, mut lost) = (false, None);
        for timeout in self.timeouts.iter_mut().rev().take(RECENT) {
            match timeout.hears(&next, lost == Some(timeout.seq)) {
                Heard::Nothing => waits = true,
                Heard::Reply => lost = Some(timeout.seq),
                Heard::Before | Heard::Unknown => {}
            }
        }
        if let Some(history) = &mut self.history {
            history.awaits_echo = waits;
        }
    }

    /// A cumulative ACK answers what it covers. The timestamp that it echoes is that of the copy that moved it, the
    /// first of what was outstanding (RFC 7323 section 4.3).
    fn answer_retransmissions(
        &mut self,
        segment: &Segment,
        ack: i64,
        brought: &Brought,
        ts_ecr: Option<u32>,
    ) {
        let Some(history) = &mut self.history else { return };
        let answered = history.answered_by(ack);
        if answered.is_empty() || !history.may_keep(answered.start) {
            return;
        }
        for place in history.between(answered.start, answered.end) {
            let Some(row) = self.retransmissions.get_mut(place) else { continue };
            if row.answer_after_ns.is_some() {
                continue;
            }
            row.answer_after_ns = Some(segment.t_ns - row.t_ns);
            row.answer_record = segment.record;
            if row.seq > brought.snd_una || brought.reports(row.seq) {
                continue;
            }
            row.eifel = eifel(row.ts_val, row.ts_later, ts_ecr, true);
        }
    }

    /// These bytes arrived twice (RFC 2883). Where that happens to bytes that were sent once, the network duplicates
    /// packets, and it says nothing of what was sent again (RFC 3708 section 3).
    #[inline(never)]
    pub(super) fn on_dsack(&mut self, segment: &Segment, left: i64, right: i64) {
        let segments = self.wire_segments(u32::try_from(right - left).unwrap_or(u32::MAX));
        self.totals.dsacks += 1;
        // Of an ACK that the network made two of, the second reports the same duplicate.
        let report = (segment.ip_id, left);
        let before = self.history.as_mut().map(|history| std::mem::replace(&mut history.reported_by, report));
        let copied = segment.ip_id != 0 && before == Some(report);
        self.totals.dsack_segments += if copied { 0 } else { segments };
        let Some(history) = &mut self.history else {
            // Of what was sent once the network made two, and may do so again.
            if self.sent.overlap(left, right) > 0 {
                self.history.get_or_insert_default().duplicating = true;
            }
            return;
        };
        let sent_again: u64 = self.totals.retransmissions.iter().sum();
        if self.totals.dsack_segments <= sent_again {
            history.undo.reported(right, segments);
        }
        let mut known = false;
        for latest in history.around(left, right) {
            if left < latest.seq + i64::from(latest.length) {
                known = true;
                if let Some(row) = self.retransmissions.get_mut(latest.place())
                    && !history.duplicating
                {
                    row.dsack = Vote::Spurious;
                }
            }
        }
        history.duplicating |= !known;
        if history.duplicating {
            self.reports_prove_nothing();
            return;
        }
        for timeout in self.timeouts.iter_mut().rev().take(RECENT) {
            if left <= timeout.seq && timeout.seq < right {
                timeout.dsack = Vote::Spurious;
                timeout.reported_ts = segment.options.timestamps.map(|(val, _)| val);
                break;
            }
        }
        if !copied {
            self.arrived_twice(left, right, segments);
        }
    }

    fn take_back(&mut self, segment: &Segment, ack: i64, brought: &Brought, ts_ecr: Option<u32>) {
        let (recover, sack, size) = (self.recover, self.sack_permitted, self.segment_size());
        let Some(history) = &mut self.history else { return };
        let news = News {
            state: brought.state,
            advanced: brought.kind == AckKind::Advance,
            recovered: ack >= recover,
            original: brought.original,
            duplicate: brought.fresh_sack || brought.kind == AckKind::Duplicate,
            sent_new: self.snd_max > recover,
            retrans_out: history.retrans_out,
            sack,
        };
        let by_timestamp = news.state == State::Recovery && news.advanced && !news.recovered;
        let delayed = history.undo.is_delayed(ts_ecr);
        if by_timestamp && delayed {
            history.reordering.by_timestamp += 1;
            if let Some(newreno) = &mut self.newreno {
                let up_to = if newreno.any() { self.snd_max } else { ack };
                newreno.widen(wire_segments((up_to - brought.snd_una) as u32, size) as u32);
            }
        }
        let taken = history.undo.on_ack(&news, delayed);
        if taken != TakenBack::No {
            history.taken = Some((taken, brought.state, recover));
            if sack && matches!(taken, TakenBack::Partial | TakenBack::Full | TakenBack::Dsack) {
                history.forgotten_ns = self.rack_ns;
            }
            // Linux leaves the state of Loss only if SACK or F-RTO can tell.
            if self.state != State::Open && (sack || taken != TakenBack::Loss) {
                self.state = State::Open;
            }
        }
        // At a distance the sender may have sent more again before it heard these reports of duplicates: it takes back by
        // what arrived alone. Without timestamps it does not show whether it had heard that.
        let stamped = sack && ts_ecr.is_some();
        let undone = stamped && (taken == TakenBack::Frto || taken == TakenBack::Loss && delayed);
        if let Some(episode) = history.episodes.last_mut() {
            if taken != TakenBack::No {
                episode.taken_back = taken;
            }
            if episode.end_ns.is_none() && self.state == State::Open {
                episode.end_ns = Some(segment.t_ns);
                episode.end_record = segment.record;
            }
        }
        if undone {
            self.loss_undone(segment);
        }
        self.forget_stamp(brought);
    }

    /// When Linux forgets the time of the first retransmission (`retrans_stamp`).
    fn forget_stamp(&mut self, brought: &Brought) {
        let (open, original) = (self.state == State::Open, self.all_original());
        let Some(history) = &mut self.history else { return };
        let left = open && brought.state != State::Open;
        let dubious = brought.fresh_sack || brought.dsack.is_some() || brought.kind == AckKind::Duplicate;
        if (left && original) || (!left && open && dubious) {
            history.undo.forget_stamp();
        }
        history.just_left = left;
    }

    /// A segment is sent after a recovery was taken back: new data confirms it. A repetition that nothing calls for
    /// shows that the host does not take back what Linux would: whether it is so.
    pub(super) fn confirm_taken_back(&mut self, again: Option<Again>) -> bool {
        if let Some(decided) = self.weigh_frto(again) {
            return decided;
        }
        let (again, called_for) = (again.is_some(), again.is_some_and(|again| again.called_for));
        let Some(history) = &mut self.history else { return false };
        let Some((taken, state, recover)) = history.taken.take() else { return false };
        let goes_on = match taken {
            // Losses that SACK blocks show are a reason to send again at once.
            TakenBack::Frto => again && !history.undo.shows_frto() && self.sacked.total() == 0,
            TakenBack::Loss => again && !called_for,
            _ => false,
        };
        if !goes_on || self.snd_una >= recover {
            history.undo.confirm(taken);
            return false;
        }
        history.undo.revoke(taken);
        history.disturb();
        (self.state, self.recover) = (state, recover);
        if let Some(episode) = history.episodes.last_mut() {
            (episode.taken_back, episode.end_ns, episode.end_record) = (TakenBack::No, None, 0);
        }
        true
    }
}

impl History {
    /// A run that was sent again is known to have arrived: it is no longer on its way. `segment_size` is that of its
    /// sender.
    pub(super) fn retransmission_arrived(&mut self, run: &Sent, segment_size: u32) {
        if self.is_marked(run) {
            let segments = wire_segments((run.end - run.seq) as u32, segment_size) as u32;
            self.retrans_out = self.retrans_out.saturating_sub(segments);
        }
    }

    /// A SACK block answers what it covers; what it echoes is the timestamp of something before it.
    pub(super) fn answer_by_sack(&self, rows: &mut Repetitions, segment: &Segment, run: &Sent) {
        if !self.may_keep(run.seq) {
            return;
        }
        for place in self.between(run.seq, run.end) {
            if let Some(row) = rows.get_mut(place)
                && row.answer_after_ns.is_none()
                && row.seq + i64::from(row.length) <= run.end
            {
                row.answer_after_ns = Some(segment.t_ns - row.t_ns);
                row.answer_record = segment.record;
            }
        }
    }
}
