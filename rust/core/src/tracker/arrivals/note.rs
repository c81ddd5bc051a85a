//! What each segment of a direction leaves in the books.

use super::books::Gap;
use super::cause::Surroundings;
use super::ids::Step;
use super::recent::Seen;
use super::verdict::{Arrival, ArrivalVerdict, Evidence};
use crate::segment::Segment;
use crate::tracker::outcome::Cause;
use crate::tracker::sender::Sender;

impl Sender {
    /// Where the IP identification of a segment stands that does not go on, if there is anything to learn from it; it acknowledges
    /// so many bytes.
    #[inline(never)]
    pub(in crate::tracker) fn stray(
        &mut self,
        segment: &Segment,
        seq: i64,
        acked_bytes: i64,
        peer: &Sender,
    ) -> Step {
        // An ACK beyond all data that passed tells of data, too.
        let first = self.totals.data_segments == 0 && (segment.length > 0 || seq > self.snd_max);
        // Of what acknowledges the SYN of the other end itself, the ACK of the handshake before it was lost: that is no data.
        let answers_syn = first && peer.isn.is_some() && (1..=acked_bytes).contains(&peer.snd_una);
        let step = match self.ids.see(segment) {
            Step::Ahead(1) if answers_syn => Step::Next,
            Step::Ahead(left_out) if answers_syn => Step::Ahead(left_out - 1),
            step => step,
        };
        self.first_left_out |= first && matches!(step, Step::Ahead(_));
        if let Step::Ahead(left_out) = step
            && self.ids.is_plausible()
            && (self.books.is_some()
                || self.totals.data_segments > 0
                || self.ids.counts()
                || first && seq > self.snd_max)
        {
            let from = self.ids.next - self.ids.packets(segment) - left_out;
            self.books.get_or_insert_default().miss(from, from + left_out);
        }
        step
    }

    /// Takes the identification of a segment that comes late from those left out; whether it was one of them.
    #[inline(always)]
    pub(super) fn found(&mut self, segment: &Segment, step: Step) -> bool {
        let Step::Behind(id) = step else { return false };
        let packets = self.ids.packets(segment);
        let missed = self.books.as_mut().is_some_and(|books| books.find(id, packets));
        if let Some(books) = self.books.as_mut().filter(|_| missed) {
            // What was left out was overtaken, not lost: nothing more follows from it.
            (books.sent_up_to, books.shown_up_to) = (0, 0);
            books.unsettled.settle();
        }
        self.ids.came_late(missed);
        missed
    }

    /// New data that goes on where all that was seen ends.
    #[inline(never)]
    pub(in crate::tracker) fn note_next(&mut self, segment: &Segment, seq: i64, step: Step, peer: &Sender) {
        let expected = self.books.as_ref().is_none_or(|books| books.expects(seq));
        match step {
            // Nearly all: nothing of it may have been sent before.
            Step::Next | Step::Strange if !expected => self.remember_as(segment, seq, step, None),
            _ => self.note_expected(segment, seq, step, peer),
        }
    }

    /// The same of what may have been sent before, or whose identification is not the next.
    #[inline(never)]
    fn note_expected(&mut self, segment: &Segment, seq: i64, step: Step, peer: &Sender) {
        self.found(segment, step);
        if let Step::Ahead(left_out) = step {
            self.sent_unseen(segment, seq, left_out, true, peer);
            self.note_left_out(segment, seq, left_out, peer);
        }
        let mut arrival = None;
        let beyond = self.books.as_ref().is_some_and(|books| books.beyond.expects());
        if beyond && self.was_sent_beyond(segment, seq, step, peer) || self.was_sent_before(segment, seq) {
            let found = (ArrivalVerdict::Retransmission, Evidence::MissingIds);
            arrival = Some(self.enter_arrival(segment, seq, found, true, 0, peer));
            self.was_short(segment);
        } else {
            self.note_unsettled(segment, seq);
        }
        self.remember(segment, seq, step, arrival);
    }

    /// New data above what was skipped.
    #[inline(never)]
    pub(in crate::tracker) fn note_gap(&mut self, segment: &Segment, seq: i64, step: Step) {
        let id = self.number(segment, step);
        self.found(segment, step);
        self.gap_opened();
        let (from, t_ns) = (self.snd_max, segment.t_ns);
        let timestamps = segment.options.timestamps.is_some();
        let packets = self.ids.packets_of(seq - from, timestamps);
        if step == Step::Ahead(packets) {
            self.ids.accounts_for(packets);
        }
        let ts_val = segment.options.timestamps.map(|(val, _)| val);
        let books = self.books.get_or_insert_default();
        books.open_gap(Gap { from, end: seq, t_ns, id, ts_val });
        self.remember(segment, seq, step, None);
    }

    /// Data below the highest byte seen; so many bytes of it had been seen, and the data before it at `data_ns`.
    #[inline(never)]
    pub(in crate::tracker) fn note_below(
        &mut self,
        segment: &Segment,
        seq: i64,
        duplicate: u32,
        step: Step,
        peer: &Sender,
        data_ns: Option<i64>,
    ) -> ArrivalVerdict {
        let missed = self.found(segment, step);
        if self.books.is_none() {
            self.begin_books(segment, seq, data_ns);
        }
        let fresh = duplicate < segment.length;
        self.settle_responses(segment.t_ns, peer);
        let found = self.judge_below(segment, seq, fresh, step, missed, peer);
        if !fresh && found.0 != ArrivalVerdict::NetworkDuplicate {
            self.second_copy(segment.t_ns, seq);
        }
        if let (Step::Ahead(left_out), ArrivalVerdict::Retransmission) = (step, found.0) {
            self.sent_unseen(segment, seq, left_out, false, peer);
        }
        if fresh && found.0 == ArrivalVerdict::Retransmission {
            self.gap_filled(
                segment,
                seq,
                step,
                data_ns.map_or(0, |last_ns| segment.t_ns.saturating_sub(last_ns)),
            );
        }
        match found {
            (ArrivalVerdict::Reordered, _) if !fresh => self.original_came(seq),
            (ArrivalVerdict::Reordered, Evidence::TooSoon) => self.note_overtaken(segment.t_ns, seq, peer),
            _ => {}
        }
        let place = self.enter_arrival(segment, seq, found, false, duplicate, peer);
        if !fresh && let Some(books) = &mut self.books {
            let by_timer = books.arrivals.get(place).is_some_and(|row| row.cause == Cause::Timeout);
            books.copied_ns = if by_timer { books.copy_of(seq).map(|copy| copy.t_ns) } else { None };
        }
        if fresh {
            self.filled_gap(segment.t_ns, found.1);
        }
        if fresh && found == (ArrivalVerdict::Reordered, Evidence::TooSoon) {
            self.await_second_copy(segment, seq, place, peer);
        }
        let twice = found.0 == ArrivalVerdict::NetworkDuplicate;
        let of = if twice { self.duplicated(seq).unwrap_or(place) } else { place };
        self.remember(segment, seq, step, Some(of));
        found.0
    }

    /// The row of what the network duplicated: that may be what filled a gap, and its original may be yet to come.
    #[cold]
    #[inline(never)]
    fn duplicated(&self, seq: i64) -> Option<u32> {
        self.books.as_ref()?.copy_of(seq)?.arrival
    }

    /// It was overtaken: for how long, against what a retransmission takes.
    fn note_overtaken(&mut self, t_ns: i64, seq: i64, peer: &Sender) {
        let loop_ns = self.loop_ns(peer);
        let Some((books, loop_ns)) = self.books.as_mut().zip(loop_ns) else { return };
        if let Some(lag_ns) = books.gap_at(seq).map(|gap| t_ns.saturating_sub(gap.t_ns)) {
            books.overtaken_by(lag_ns, loop_ns);
        }
    }

    /// What was taken for lost before this point was overtaken by its retransmission.
    fn original_came(&mut self, seq: i64) {
        let Some(books) = &mut self.books else { return };
        let copy = books.copy_of(seq).and_then(|copy| copy.arrival);
        if let Some(row) = copy.and_then(|place| books.arrivals.get(place))
            && row.fresh
            && row.verdict == ArrivalVerdict::Retransmission
        {
            books.counts.upstream = books.counts.upstream.saturating_sub(u64::from(row.segments));
            books.counts.doubled += u64::from(row.segments);
        }
    }

    /// The first that is not in order: of all before, the last segment and what is not acknowledged are known.
    fn begin_books(&mut self, segment: &Segment, seq: i64, data_ns: Option<i64>) {
        let end = seq + i64::from(segment.length);
        let stamp = self.ts_last.map(|(val, _)| val);
        // An ACK may have come since, with a later timestamp than the last data.
        let own = segment.options.timestamps.map(|(val, _)| val);
        let later =
            |last: u32| own.is_some_and(|val| end == self.snd_max && (val.wrapping_sub(last) as i32) < 0);
        let known = stamp.filter(|last| !later(*last));
        // Of what was acknowledged the edges are not known: what does not end with the last is none of it.
        let least = if end < self.snd_max { end } else { 0 };
        let from = match self.outstanding.at(self.snd_max - 1) {
            Some(run) => run.seq,
            None => (self.snd_max - i64::from(self.largest_segment)).max(least),
        };
        let unacked = self.outstanding.at(seq).map(|run| (seq, run.end, run.last_ns, None));
        let last = data_ns.map(|t_ns| (from, self.snd_max, t_ns, known));
        let books = self.books.get_or_insert_default();
        books.stamp(stamp);
        for (seq, end, t_ns, ts_val) in unacked.into_iter().chain(last) {
            books.remember(&Seen { seq, end, t_ns, id: None, header: None, ts_val, arrival: None });
        }
    }

    /// The identification of a segment, if it says anything.
    pub(super) fn number(&self, segment: &Segment, step: Step) -> Option<i64> {
        match step {
            Step::Strange => None,
            _ if self.ids.is_idle() => None,
            Step::Behind(id) => Some(id),
            Step::Next | Step::Ahead(_) => Some(self.ids.next - self.ids.packets(segment)),
        }
    }

    #[inline(never)]
    fn remember(&mut self, segment: &Segment, seq: i64, step: Step, arrival: Option<u32>) {
        self.remember_as(segment, seq, step, arrival);
    }

    #[inline(always)]
    fn remember_as(&mut self, segment: &Segment, seq: i64, step: Step, arrival: Option<u32>) {
        let id = self.number(segment, step);
        let ts_val = segment.options.timestamps.map(|(val, _)| val);
        let Some(books) = &mut self.books else { return };
        books.stamp(ts_val);
        books.remember(&Seen {
            seq,
            end: seq + i64::from(segment.length),
            t_ns: segment.t_ns,
            id,
            header: Some((segment.ip_id, segment.ack)),
            ts_val,
            arrival,
        });
    }

    /// Adds a row, of which so many bytes had been seen; its place.
    fn enter_arrival(
        &mut self,
        segment: &Segment,
        seq: i64,
        (verdict, evidence): (ArrivalVerdict, Evidence),
        in_order: bool,
        duplicate: u32,
        peer: &Sender,
    ) -> u32 {
        let segments = self.wire_segments(segment.length);
        let mut cause = Cause::None;
        if verdict == ArrivalVerdict::Retransmission {
            cause = self.cause_of_arrival(&Surroundings::of(self, segment, seq, peer).in_order(in_order));
        }
        let sums_up = self.sums_up;
        let books = self.books.get_or_insert_default();
        if !in_order {
            books.counts.verdicts[verdict as usize] += 1;
        }
        let arrival = Arrival {
            t_ns: segment.t_ns,
            record: segment.record,
            seq,
            length: segment.length,
            segments: u32::try_from(segments).unwrap_or(u32::MAX),
            verdict,
            evidence,
            cause,
            in_order,
            fresh: duplicate < segment.length,
            partial: duplicate > 0 && duplicate < segment.length,
        };
        books.counts.count(&arrival);
        let place = books.arrivals.push(sums_up, arrival);
        if verdict == ArrivalVerdict::Retransmission && !arrival.fresh {
            self.suspect_behind(segment, seq, segments);
        }
        place
    }

    /// The cause of a segment just noted that was seen before: its sender's state tells, if what is known of that here
    /// is what the sender knew; else what passed here before.
    pub(in crate::tracker) fn agree_on_cause(
        &mut self,
        segment: &Segment,
        seq: i64,
        found: (Cause, Cause),
        peer: &Sender,
    ) -> (Cause, Cause) {
        let distant = self.is_distant(seq, peer);
        // Whatever else it is, after a timeout nothing but slow start sends it again. Next to the sender its own state shows that
        // timeout, too, unless what its timer sent was seen for the first time.
        let fast = !self.sack_permitted && found.0 == Cause::Fast;
        let books = self.books.as_deref().filter(|books| fast && (distant || books.counts.upstream > 0));
        let recovery = books.and_then(|books| books.recovery);
        let slow_start = recovery.is_some_and(|(up_to, timer)| timer && seq < up_to);
        let rows = self.books.as_mut().map(|books| &mut books.arrivals);
        let Some(row) = rows.and_then(|rows| rows.last_mut()).filter(|row| row.record == segment.record)
        else {
            return found;
        };
        let unknown = |cause: Cause| matches!(cause, Cause::Unknown | Cause::None);
        if !unknown(row.cause) && (distant || unknown(found.0)) {
            return (row.cause, Cause::None);
        }
        let found = if slow_start { (Cause::SlowStart, Cause::None) } else { found };
        if !unknown(found.0) {
            row.cause = found.0;
        }
        found
    }

    /// The verdict of an earlier arrival put right by what followed; its cause, if it was sent again.
    pub(super) fn correct_arrival(
        &mut self,
        place: u32,
        verdict: ArrivalVerdict,
        evidence: Evidence,
        cause: Cause,
    ) {
        let Some(books) = &mut self.books else { return };
        let Some(row) = books.arrivals.get_mut(place) else { return };
        if row.verdict == verdict || row.in_order {
            return;
        }
        books.counts.verdicts[row.verdict as usize] -= 1;
        books.counts.verdicts[verdict as usize] += 1;
        books.counts.discount(row);
        (row.verdict, row.evidence, row.cause) = (verdict, evidence, cause);
        books.counts.count(row);
    }

    /// The cause of an earlier retransmission put right by what followed.
    pub(super) fn correct_cause(&mut self, place: u32, cause: Cause) {
        let Some(row) = self.books.as_mut().and_then(|books| books.arrivals.get_mut(place)) else { return };
        if row.verdict != ArrivalVerdict::Retransmission || row.cause != Cause::Fast {
            return;
        }
        row.cause = cause;
        let (record, fresh, segments) = (row.record, row.is_new(), u64::from(row.segments));
        let counts = match &mut self.books {
            Some(books) if fresh => &mut books.counts.inferred,
            _ => &mut self.totals.retransmissions,
        };
        counts[Cause::Fast as usize] = counts[Cause::Fast as usize].saturating_sub(segments);
        counts[cause as usize] += segments;
        if !fresh {
            if let Some(row) = self.retransmissions.latest_mut(record) {
                row.cause = cause;
            }
            self.history.get_or_insert_default().corrections.push((record, cause));
        }
    }
}
