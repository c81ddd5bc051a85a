//! What a segment from the other side acknowledges, and what it measures.

use super::outcome::{AckKind, AckOutcome, State};
use super::selective::delivered;
use super::sender::Sender;
use super::sending::CONTROL;
use super::verdicts::Brought;
use crate::segment::{Segment, flags};

impl Sender {
    /// The other side sent something, with an ACK or without.
    #[inline]
    pub fn arrived(&mut self, segment: &Segment) {
        self.last_in_ns = Some(segment.t_ns);
        self.last_in_syn = segment.has(flags::SYN) && !segment.has(flags::ACK);
    }

    /// The other side sent a segment with acknowledgment number `ack` for this direction; `PLAIN` if it is known to have
    /// no flag of [`CONTROL`].
    #[inline(always)]
    pub fn on_ack<const PLAIN: bool>(&mut self, segment: &Segment, ack: i64) -> AckOutcome {
        let plain = PLAIN || segment.flags & CONTROL == 0;
        if plain && self.is_undisturbed() && segment.options.sack_count == 0 {
            if self.snd_una < ack && ack <= self.snd_max {
                return self.on_next_ack(segment, ack);
            }
            if ack == self.snd_una && segment.length > 0 {
                return self.on_data_only(segment);
            }
        }
        self.on_any_ack(segment, ack)
    }

    /// Nothing is lost or reordered, as far as it shows, and nothing sent to probe.
    #[inline]
    fn is_undisturbed(&self) -> bool {
        self.is_calm()
            && self.sacked.is_empty()
            && !self.probe_out
            && self.probe_byte.is_none()
            && self.newreno.is_none()
    }

    /// What [`Sender::on_any_ack`] does with a plain ACK of some of what was sent, while nothing has disturbed.
    #[inline(always)]
    fn on_next_ack(&mut self, segment: &Segment, ack: i64) -> AckOutcome {
        let sent_ns = self.deliver_in_order(ack);
        let rtt_ns = self.measure(segment, ack, sent_ns, None);
        self.moved(segment.t_ns, ack);
        self.note_ack(segment, true);
        if self.books.is_some() && (segment.length == 0 || self.history.is_none()) {
            self.note_ask(segment);
        }
        AckOutcome { kind: AckKind::Advance, rtt_ns, by_sack: false }
    }

    /// The same with data that acknowledges nothing new.
    #[inline]
    fn on_data_only(&mut self, segment: &Segment) -> AckOutcome {
        self.note_ack(segment, false);
        AckOutcome { kind: AckKind::Repeat, ..AckOutcome::default() }
    }

    #[inline]
    fn note_ack(&mut self, segment: &Segment, news: bool) {
        self.last_window_raw = Some(segment.window);
        self.hear_anything(segment, news);
    }

    /// The same without what it offers: an old ACK says nothing of the window (RFC 9293 section 3.10.7.4).
    #[inline]
    fn hear_anything(&mut self, segment: &Segment, news: bool) {
        self.last_in_news = news;
        self.arrived(segment);
    }

    #[inline(never)]
    fn on_any_ack(&mut self, segment: &Segment, ack: i64) -> AckOutcome {
        let t_ns = segment.t_ns;
        let mut outcome = AckOutcome::default();
        let mut brought = Brought { snd_una: self.snd_una, state: self.state, ..Brought::default() };
        let fack = self.sacked.highest().unwrap_or(i64::MIN);
        let sacked_ns = self.on_sack(segment, ack, fack, &mut brought);
        let fresh_sack = brought.fresh_sack;
        let sack_rtt_ns = sacked_ns.map(|(first_ns, _)| t_ns - first_ns);
        let window_changed = self.last_window_raw.is_some_and(|last| last != segment.window);
        let control = segment.flags & CONTROL != 0;
        let out_before = self.segments_before(segment, ack);
        if ack > self.snd_una {
            outcome.kind = AckKind::Advance;
            outcome.rtt_ns = self.advance(segment, ack, fack, sack_rtt_ns, &mut brought);
        } else if ack < self.snd_una {
            outcome.kind = AckKind::Old;
        } else if segment.length == 0
            && !control
            && !self.outstanding.is_empty()
            && (fresh_sack || !window_changed)
        {
            // RFC 5681 section 2, and RFC 6675 section 2: new SACK information makes it one whatever the window.
            outcome.kind = AckKind::Duplicate;
            self.dupacks += 1;
            self.totals.duplicate_acks += 1;
            if self.books.is_some() {
                self.note_call(t_ns);
            }
        } else if segment.length == 0 && window_changed && !control {
            outcome.kind = AckKind::WindowUpdate;
            self.totals.window_updates += 1;
        } else {
            outcome.kind = AckKind::Repeat;
        }
        if let (Some(rtt_ns), false) = (sack_rtt_ns, outcome.kind == AckKind::Advance) {
            self.sample_by_sack(t_ns, rtt_ns);
        }
        if let (None, Some((_, last_ns))) = (outcome.rtt_ns, sacked_ns) {
            (outcome.rtt_ns, outcome.by_sack) = (Some(t_ns - last_ns), true);
        }
        let advanced = outcome.kind == AckKind::Advance;
        let duplicate =
            out_before.is_some_and(|before| self.count_duplicates(segment, brought.state, advanced, before));
        if outcome.kind == AckKind::Old {
            self.hear_anything(segment, fresh_sack);
        } else {
            let news = advanced || duplicate || fresh_sack || outcome.kind == AckKind::Duplicate;
            self.note_ack(segment, news);
        }
        brought.kind = outcome.kind;
        if self.books.is_some() {
            if outcome.kind == AckKind::Advance {
                self.settle_behind(segment, brought.snd_una, ack, brought.dsack.is_some());
            } else if segment.length == 0 && matches!(outcome.kind, AckKind::Duplicate | AckKind::Repeat) {
                self.repeats_ack(t_ns);
            }
            if segment.length == 0 && !matches!(outcome.kind, AckKind::Old | AckKind::WindowUpdate) {
                self.note_ask(segment);
            }
        }
        if self.probe_out && ack >= self.probe_high {
            self.answer_probe(ack, &brought);
        }
        self.judge(segment, ack, &brought);
        outcome
    }

    /// An ACK that only brought SACK news measures too. The timer starts anew only if what it measured was sent
    /// before the head was last sent, lest it never expire during recovery (as Linux does it).
    fn sample_by_sack(&mut self, t_ns: i64, rtt_ns: i64) {
        self.rto.sample(rtt_ns / 1000, self.snd_una, self.snd_max);
        if self.outstanding.at(self.snd_una).is_some_and(|head| rtt_ns > t_ns - head.last_ns) {
            self.timer_start_ns = t_ns;
        }
    }

    fn advance(
        &mut self,
        segment: &Segment,
        ack: i64,
        fack: i64,
        sack_rtt_ns: Option<i64>,
        brought: &mut Brought,
    ) -> Option<i64> {
        let t_ns = segment.t_ns;
        if let Some(byte) = self.probe_byte.take_if(|byte| ack > *byte) {
            self.take_probe(byte);
        }
        if ack > self.snd_max {
            self.snd_max = ack;
        }
        let sent_ns = if self.history.is_none() && fack == i64::MIN {
            self.deliver_in_order(ack)
        } else {
            self.deliver(t_ns, ack, fack, brought)
        };
        let sample_ns = self.measure(segment, ack, sent_ns, sack_rtt_ns);
        let unmeasured = || !self.rto.measured() && segment.options.timestamps.is_none();
        if self.snd_una == 0 && self.totals.syn > 1 && unmeasured() {
            self.rto.fall_back();
        }
        self.sacked.remove_below(ack);
        self.moved(t_ns, ack);
        // Without SACK, the state is held until something above the recovery point is acknowledged (RFC 6582).
        let done = if self.sack_permitted {
            ack >= self.recover
        } else {
            ack > self.recover || self.outstanding.is_empty()
        };
        if self.state != State::Open && done {
            self.state = State::Open;
        }
        sample_ns
    }

    /// The round-trip time that an ACK measures, by when the first and the last was sent that it covers.
    #[inline(always)]
    fn measure(
        &mut self,
        segment: &Segment,
        ack: i64,
        sent_ns: Option<(i64, i64)>,
        sack_rtt_ns: Option<i64>,
    ) -> Option<i64> {
        let t_ns = segment.t_ns;
        if let Some((first, last)) = sent_ns {
            self.rtt.add(t_ns - last);
            self.rto.sample((t_ns - first) / 1000, ack, self.snd_max);
            return Some(t_ns - last);
        }
        if let Some(rtt_ns) = sack_rtt_ns.or_else(|| self.rtt_by_timestamp(segment)) {
            self.rto.sample(rtt_ns / 1000, ack, self.snd_max);
        }
        None
    }

    /// The cumulative point moves.
    #[inline]
    fn moved(&mut self, t_ns: i64, ack: i64) {
        // The ACK of a FIN alone brings no data.
        let only_fin = self.fin_seq == Some(self.snd_una);
        self.snd_una = ack;
        if self.fin_seq.is_some() && self.outstanding.is_empty() {
            // Nothing is to come: what a finished connection keeps should be little.
            self.outstanding.release();
        }
        self.dupacks = 0;
        self.expiries = 0;
        self.timer_start_ns = t_ns;
        if !only_fin {
            self.totals.last_advance_ns = Some(t_ns);
        }
    }

    /// What an ACK covers where nothing was lost or reordered so far: when the first and the last of it were sent.
    #[inline]
    fn deliver_in_order(&mut self, ack: i64) -> Option<(i64, i64)> {
        let (mut sent_ns, mut newest_ns) = (None::<(i64, i64)>, i64::MIN);
        self.outstanding.acknowledge(ack, |run| {
            let (first, _) = sent_ns.unwrap_or((run.last_ns, 0));
            sent_ns = Some((first, run.last_ns));
            newest_ns = newest_ns.max(run.last_ns);
        });
        self.rack_ns = self.rack_ns.max(newest_ns);
        sent_ns.map(|sent_ns| answered(sent_ns, newest_ns))
    }

    /// The same in general; `None` if any of it was sent more than once.
    fn deliver(&mut self, t_ns: i64, ack: i64, fack: i64, brought: &mut Brought) -> Option<(i64, i64)> {
        let (mut sent_ns, mut retransmitted) = (None::<(i64, i64)>, false);
        let (mut rack_ns, mut newest_ns) = (self.rack_ns, i64::MIN);
        let (recover, min_rtt_ns) = (self.recover, self.known_min_rtt_ns());
        let (mut late, size) = (i64::MAX, self.segment_size());
        let Sender { outstanding, sacked, history, .. } = self;
        outstanding.acknowledge(ack, |run| {
            if run.transmissions > 1 {
                retransmitted = true;
                if let Some(history) = history.as_mut()
                    && !run.sacked()
                {
                    history.retransmission_arrived(run, size);
                }
            } else if !run.sacked() {
                let (first, _) = sent_ns.unwrap_or((run.last_ns, 0));
                sent_ns = Some((first, run.last_ns));
                newest_ns = newest_ns.max(run.last_ns);
                brought.original |= run.end <= recover && sacked.overlap(run.seq, run.end) == 0;
                // Of a super-segment, part may be known already.
                if run.seq < fack && sacked.overlap(run.seq, run.seq + 1) == 0 {
                    late = late.min(run.seq);
                }
            }
            rack_ns = rack_ns.max(delivered(run, t_ns, min_rtt_ns));
        });
        // Without SACK nothing tells that data sent once moved it, if other data was sent again (Linux).
        brought.original &= self.sack_permitted || !retransmitted;
        self.rack_ns = rack_ns;
        self.reordered(late, fack);
        sent_ns.filter(|_| !retransmitted).map(|sent_ns| answered(sent_ns, newest_ns))
    }

    /// The receiver took the byte of a window probe: it was data.
    #[cold]
    fn take_probe(&mut self, byte: i64) {
        if self.sent.insert(byte, byte + 1) == 0 {
            self.totals.data_segments += 1;
            self.totals.data_bytes += 1;
            self.snd_max = self.snd_max.max(byte + 1);
        }
    }

    /// RTT by the echoed timestamp, where Karn's rule forbids the other (RFC 7323 section 4).
    fn rtt_by_timestamp(&self, segment: &Segment) -> Option<i64> {
        let (_, echoed) = segment.options.timestamps?;
        let ((first_val, first_ns), (last_val, last_ns)) = (self.ts_first?, self.ts_last?);
        let ticks = i64::from(last_val.wrapping_sub(first_val) as i32);
        let span_ns = last_ns - first_ns;
        if ticks < 100 || span_ns < 100_000_000 {
            return None;
        }
        let back = i64::from(last_val.wrapping_sub(echoed) as i32);
        let tick_ns = (span_ns / ticks).max(1);
        let rtt_ns = back.checked_mul(tick_ns)?.checked_add(segment.t_ns - last_ns)?;
        // An echo of nothing that was sent here: some stacks put other numbers there.
        (rtt_ns > 0 && (0..=ticks).contains(&back)).then_some(rtt_ns)
    }
}

/// When the first and the last was sent that an ACK answers, of segments in the order of their bytes. If the newest is
/// another, it filled a gap: what lies above had arrived before and waited for it, and its ACK is that of the newest.
#[inline(always)]
fn answered((first_ns, last_ns): (i64, i64), newest_ns: i64) -> (i64, i64) {
    if last_ns < newest_ns { (newest_ns, newest_ns) } else { (first_ns, last_ns) }
}
