//! What a segment that the sender puts on the wire does: new data, data again, probes.

use super::arrivals::{ArrivalVerdict, Step};
use super::history::NewProbe;
use super::outcome::{Cause, SendOutcome, State};
use super::recovery::REACTION_NS;
use super::rtt::RTO_MIN_US;
use super::sender::{Sender, wire_segments};
use super::timers::PROBE_MIN_NS;
use crate::segment::{Segment, flags};

/// New data that follows a segment within this time was written with it.
const PROBE_ALONE_NS: i64 = 2_000_000;
/// Flags of a segment that is more than data and an ACK.
pub(super) const CONTROL: u16 = flags::SYN | flags::FIN | flags::RST;

impl Sender {
    /// This side sent a segment whose first sequence number is `seq`, and acknowledged so many bytes with it; `PLAIN` if
    /// it is known to have no flag of [`CONTROL`].
    #[inline(always)]
    pub fn on_send<const PLAIN: bool>(
        &mut self,
        segment: &Segment,
        seq: i64,
        acked_bytes: i64,
        peer: &Sender,
    ) -> SendOutcome {
        let t_ns = segment.t_ns;
        let ts_val = segment.options.timestamps.map(|(val, _)| val);
        let plain = PLAIN || segment.flags & CONTROL == 0;
        let idle = self.ids.goes_on(segment) || self.ids.is_idle();
        let step = if idle { Step::Next } else { self.stray(segment, seq, acked_bytes, peer) };
        let outcome = if plain && segment.length == 0 {
            let acks_lost = step != Step::Next && self.note_empty(segment, seq, step, acked_bytes);
            SendOutcome { acks_lost, ..self.send_nothing(seq, 0) }
        } else if plain && self.goes_on(segment, seq) {
            if step != Step::Next || self.books.is_some() {
                self.note_next(segment, seq, step, peer);
            }
            self.send_next(segment, seq, ts_val)
        } else {
            self.send_any(segment, seq, ts_val, step, peer)
        };
        if let Some(val) = ts_val {
            self.timestamps = true;
            self.ts_first.get_or_insert((val, t_ns));
            self.ts_last = Some((val, t_ns));
        }
        self.last_out_ns = Some(t_ns);
        self.totals.max_flight = self.totals.max_flight.max(self.flight());
        outcome
    }

    /// No sequence number is used: an ACK, perhaps as a probe.
    #[inline]
    fn send_nothing(&mut self, seq: i64, length: i64) -> SendOutcome {
        let probes = self.is_probe(seq, length) && self.totals.data_segments > 0;
        self.totals.probe_segments += u64::from(probes);
        SendOutcome::default()
    }

    /// Whether data (more than a byte: no probe) begins where all that was sent before ends, without a gap in what
    /// was seen of it. It counts as sent then.
    #[inline]
    fn goes_on(&mut self, segment: &Segment, seq: i64) -> bool {
        segment.length > 1 && seq == self.snd_max && self.sent.extend(seq, seq + i64::from(segment.length))
    }

    /// What [`Sender::send_any`] does with a segment that [`goes_on`](Sender::goes_on).
    #[inline(always)]
    fn send_next(&mut self, segment: &Segment, seq: i64, ts_val: Option<u32>) -> SendOutcome {
        let (t_ns, end) = (segment.t_ns, seq + i64::from(segment.length));
        self.count_data(segment);
        if self.outstanding.is_empty() {
            self.timer_start_ns = t_ns;
        } else if self.probe_out || self.is_quiet(t_ns) {
            self.probe_by_new_data(segment, end);
        }
        if self.history.as_ref().is_some_and(|history| history.awaits_new_data()) {
            self.new_data_after_loss(segment, seq);
        }
        self.outstanding.send_next(seq, end, t_ns);
        if self.snd_una == seq {
            self.ts_head_before = ts_val;
        }
        self.snd_max = end;
        SendOutcome { duplicate: 0, transmission: 1, cause: Cause::None, ..SendOutcome::default() }
    }

    #[inline(never)]
    fn send_any(
        &mut self,
        segment: &Segment,
        seq: i64,
        ts_val: Option<u32>,
        step: Step,
        peer: &Sender,
    ) -> SendOutcome {
        let length = i64::from(segment.length);
        let (syn, fin) = (segment.has(flags::SYN), segment.has(flags::FIN));
        let end = seq + length + i64::from(syn) + i64::from(fin);
        if end > seq && !segment.has(flags::RST) {
            // A FIN alone is an ACK, too.
            let acks_lost = fin && length == 0 && self.skips_acks(step);
            SendOutcome { acks_lost, ..self.send_data(segment, seq, end, ts_val, step, peer) }
        } else {
            if step != Step::Next {
                self.note_empty(segment, seq, step, 0);
            }
            self.send_nothing(seq, length)
        }
    }

    #[inline]
    fn count_data(&mut self, segment: &Segment) {
        self.totals.data_segments += 1;
        self.totals.data_bytes += u64::from(segment.length);
        self.totals.first_data_ns.get_or_insert(segment.t_ns);
        self.totals.last_data_ns = Some(segment.t_ns);
        if segment.length > self.largest_segment {
            self.largest_segment = segment.length;
            self.largest_options = segment.option_bytes();
        }
    }

    /// New data is sent while other data is on its way, and not in answer to anything.
    fn probe_by_new_data(&mut self, segment: &Segment, end: i64) {
        let t_ns = segment.t_ns;
        if self.probe_out {
            return self.doubt_probe(t_ns);
        }
        let single = self.wire_segments(segment.length) == 1;
        if !single || !self.probe_due(t_ns, self.rto.rto_us() * 1000) || self.is_paced(t_ns) {
            return;
        }
        let before = (self.timer_start_ns, self.history.as_ref().and_then(|history| history.probes));
        // The probe may as well be the next new segment (RFC 8985 section 7.3).
        self.totals.new_data_probes += 1;
        (self.probe_out, self.probe_high) = (true, end);
        self.timer_start_ns = t_ns;
        let history = self.history.get_or_insert_default();
        (history.probes, history.probe_repeats) = (Some(true), false);
        history.new_probe = Some(NewProbe { t_ns, timer_start_ns: before.0, probes: before.1 });
    }

    /// Nothing was sent for as long as any probe waits, and what came in last was answered already, or is too long ago to
    /// be answered now.
    #[inline]
    fn is_quiet(&self, t_ns: i64) -> bool {
        let Some(out_ns) = self.last_out_ns else { return true };
        let answered = || self.last_in_ns.is_some_and(|in_ns| in_ns <= out_ns);
        t_ns - out_ns >= PROBE_MIN_NS && (answered() || !self.reacts(t_ns))
    }

    /// The pause is short, and the same as that before: of a sender that is paced, whose pacing would hold a probe back too
    /// (Linux, `tcp_write_xmit`), of its own queue, or of an application that writes so.
    fn is_paced(&self, t_ns: i64) -> bool {
        let pause_ns = self.last_out_ns.map_or(0, |out_ns| t_ns - out_ns);
        let short = pause_ns < (self.rto.srtt_us() * 1000).max(REACTION_NS);
        let before_ns = self.outstanding.last_pause_ns().filter(|_| short);
        before_ns.is_some_and(|before_ns| pause_ns <= before_ns / 2 * 3 && before_ns <= pause_ns / 2 * 3)
    }

    /// More new data right behind what looked like a probe: a probe is one segment, so the application wrote.
    fn doubt_probe(&mut self, t_ns: i64) {
        let Some(history) = &mut self.history else { return };
        let Some(probe) = history.new_probe.take() else { return };
        if t_ns - probe.t_ns > PROBE_ALONE_NS || self.last_in_ns.is_some_and(|in_ns| in_ns >= probe.t_ns) {
            return;
        }
        self.was_no_probe(&probe, probe.probes);
    }

    /// New data was the application's: all is as before it, but for what is known of this host's probes.
    fn was_no_probe(&mut self, probe: &NewProbe, probes: Option<bool>) {
        self.totals.new_data_probes = self.totals.new_data_probes.saturating_sub(1);
        self.probe_out = false;
        self.timer_start_ns = probe.timer_start_ns;
        let history = self.history.get_or_insert_default();
        (history.probes, history.new_probe) = (probes, None);
    }

    /// The first outstanding segment is sent again, nothing calls for it, and its timer would not have expired yet if new data
    /// had been a probe, which restarts it. Without that it has: the application wrote, and this host sends no probes.
    pub(super) fn doubt_probe_by_timer(&mut self, t_ns: i64, seq: i64) {
        let due_ns = self.rto.rto_us() * 100 * 9;
        let first = self.probe_out && self.state == State::Open && seq <= self.snd_una;
        let history = self.history.as_ref().filter(|_| first);
        let Some(probe) = history.and_then(|history| history.new_probe) else { return };
        let silent = self.last_in_ns.is_none_or(|in_ns| in_ns < probe.t_ns);
        if silent && t_ns - probe.t_ns < due_ns && t_ns - probe.timer_start_ns >= due_ns {
            self.was_no_probe(&probe, probe.probes.or(Some(false)));
        }
    }

    fn new_data_after_loss(&mut self, segment: &Segment, seq: i64) {
        self.hear(segment, seq);
        self.learn_of_frto(segment.t_ns);
        self.confirm_taken_back(None);
        self.follow_lone_tail(segment.t_ns, self.wire_segments(segment.length));
    }

    /// A keep-alive or window probe of the Linux and BSD form: the byte before the first unacknowledged one.
    fn is_probe(&self, seq: i64, length: i64) -> bool {
        length <= 1 && seq == self.snd_una - 1 && self.snd_una == self.snd_max
    }

    fn send_data(
        &mut self,
        segment: &Segment,
        seq: i64,
        end: i64,
        ts_val: Option<u32>,
        step: Step,
        peer: &Sender,
    ) -> SendOutcome {
        let t_ns = segment.t_ns;
        let length = i64::from(segment.length);
        let (syn, fin) = (segment.has(flags::SYN), segment.has(flags::FIN));
        let data = seq + i64::from(syn);
        let data_ns = self.totals.last_data_ns;
        if length > 0 {
            self.count_data(segment);
        }
        if length == 1 && self.is_probe(seq, length) && self.sent.overlap(data, data + 1) == 1 {
            self.totals.probe_segments += 1;
            self.totals.data_segments -= 1;
            self.totals.data_bytes -= 1;
            return SendOutcome {
                duplicate: 0,
                transmission: 0,
                cause: Cause::UnneededProbe,
                ..SendOutcome::default()
            };
        }
        if length == 1 && self.last_window_raw == Some(0) && seq >= self.snd_una && end > self.snd_max {
            // One byte into a closed window: a probe, and data only if it is taken (RFC 9293 section 3.8.6.1).
            self.totals.probe_segments += 1;
            self.totals.data_segments -= 1;
            self.totals.data_bytes -= 1;
            self.probe_byte = Some(data);
            return SendOutcome {
                duplicate: 0,
                transmission: 0,
                cause: Cause::UnneededProbe,
                ..SendOutcome::default()
            };
        }
        if syn && length == 0 && self.totals.syn > 0 {
            if self.is_same_syn(t_ns, ts_val, step) {
                return SendOutcome::default();
            }
            if self.was_refused(peer) {
                self.begin_at(self.isn.unwrap_or(segment.seq), 0);
            }
        }
        if let Some(history) = &mut self.history {
            history.disturb();
        }
        let duplicate = self.sent.insert(data, data + length) as u32;
        let arrival = self.note_data(segment, data, duplicate, step, peer, data_ns);
        if arrival == ArrivalVerdict::NetworkDuplicate {
            return self.delivered_twice(segment);
        }
        self.totals.duplicate_bytes += u64::from(duplicate);
        let control_again = (syn && self.totals.syn > 0 && seq < self.snd_max)
            || (fin && length == 0 && self.fin_seq == Some(data));
        self.totals.syn += u32::from(syn);
        if fin {
            self.totals.fin += 1;
            self.fin_seq = Some(data + length);
        }
        let mut outcome = SendOutcome {
            duplicate,
            transmission: u16::from(length > 0),
            cause: Cause::None,
            ..SendOutcome::default()
        };
        let overtaken = duplicate > 0 && arrival == ArrivalVerdict::Reordered;
        if (duplicate > 0 && !overtaken) || control_again {
            let before = self.outstanding.at(seq).copied();
            outcome.transmission = before.map_or(2, |run| run.transmissions.saturating_add(1));
            outcome.cause = self.send_again(segment, seq, end, duplicate, before.as_ref(), peer);
        } else {
            if seq < self.snd_max && length > 0 {
                self.totals.out_of_order += 1;
            } else if !self.outstanding.is_empty() && (self.probe_out || self.is_quiet(t_ns)) {
                self.probe_by_new_data(segment, end);
            }
            if length > 0 && self.history.is_some() {
                self.new_data_after_loss(segment, seq);
            }
        }
        if self.outstanding.is_empty() {
            self.timer_start_ns = t_ns;
        }
        // An original that comes after its copy was sent before that.
        if end > self.snd_una && !overtaken {
            self.outstanding.send(seq.max(self.snd_una), end, t_ns);
        }
        if self.snd_una == seq {
            self.ts_head_before = ts_val;
        }
        self.snd_max = self.snd_max.max(end);
        outcome
    }

    /// Whether the network doubled a SYN: sooner than any timer it has the identification of the one before, or its timestamp.
    fn is_same_syn(&self, t_ns: i64, ts_val: Option<u32>, step: Step) -> bool {
        let soon = self.last_out_ns.is_some_and(|last_ns| t_ns - last_ns < RTO_MIN_US * 1000);
        let stamped = || ts_val.is_some_and(|val| self.ts_last.is_some_and(|(last, _)| val == last));
        soon && (matches!(step, Step::Behind(_)) || stamped())
    }

    /// A reset answered the SYN before: another is a new attempt, and no timer's (Windows tries three times).
    fn was_refused(&self, peer: &Sender) -> bool {
        self.has_sent_only_syn() && peer.totals.last_rst_ns >= self.last_out_ns
    }

    /// A packet that the sender sent once: it does nothing to its state.
    fn delivered_twice(&mut self, segment: &Segment) -> SendOutcome {
        self.totals.data_bytes -= u64::from(segment.length);
        self.totals.data_segments -= 1;
        SendOutcome::default()
    }

    /// What data is that does not simply go on; the data before it came at `data_ns`.
    fn note_data(
        &mut self,
        segment: &Segment,
        seq: i64,
        duplicate: u32,
        step: Step,
        peer: &Sender,
        data_ns: Option<i64>,
    ) -> ArrivalVerdict {
        if segment.length == 0 {
            if step != Step::Next {
                self.note_empty(segment, seq, step, 0);
            }
        } else if seq < self.snd_max && self.totals.data_segments > 1 {
            return self.note_below(segment, seq, duplicate, step, peer, data_ns);
        } else if seq > self.snd_max {
            self.note_gap(segment, seq, step);
        } else if step != Step::Next || self.books.is_some() {
            self.note_next(segment, seq, step, peer);
        }
        ArrivalVerdict::InOrder
    }

    /// A captured super-segment is several segments on the wire: the kernel counts those.
    pub(super) fn wire_segments(&self, length: u32) -> u64 {
        wire_segments(length, self.segment_size())
    }
}
