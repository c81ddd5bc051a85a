//! One direction of a connection, from its sender's point of view: what it sent, what came back.

use super::interval::IntervalSet;
use super::outstanding::{Outstanding, Sent};
use super::recovery::RECENT;
use super::rtt::{RtoEstimator, RttStatistics};
use super::sequence::Unwrapper;
use super::timeout::{Timeout, Vote};
use crate::segment::{Segment, flags};

/// Why a segment was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Cause {
    #[default]
    None = 0,
    Timeout = 1,
    Fast = 2,
    SlowStart = 3,
    TailLossProbe = 4,
    UnneededProbe = 5,
    Unknown = 6,
    /// A SYN+ACK in answer to a SYN that came again.
    Handshake = 7,
}

/// Number of causes, `None` included.
pub const CAUSES: usize = 8;

/// What an ACK says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum AckKind {
    #[default]
    None = 0,
    Advance = 1,
    Duplicate = 2,
    WindowUpdate = 3,
    Repeat = 4,
    Old = 5,
}

/// Loss recovery state, as the congestion avoidance state of Linux (Disorder and CWR count as Open).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// No loss known.
    #[default]
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// A segment with bytes sent before, and the evidence for its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Retransmission {
    pub t_ns: i64,
    pub record: u64,
    pub seq: i64,
    pub length: u32,
    pub duplicate: u32,
    pub cause: Cause,
    pub transmission: u16,
    pub since_sent_ns: i64,
    pub since_ack_ns: i64,
    pub dupacks: u32,
    pub sacked: i64,
    pub rto_ns: i64,
    pub episode: u32,
}

/// What a sent segment did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct SendOutcome {
    pub duplicate: u32,
    pub transmission: u16,
    pub cause: Cause,
}

/// What an ACK did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct AckOutcome {
    pub kind: AckKind,
    pub rtt_ns: Option<i64>,
}

/// Totals of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Totals {
    pub segments: u64,
    pub data_segments: u64,
    pub data_bytes: u64,
    pub duplicate_bytes: u64,
    pub probe_segments: u64,
    pub new_data_probes: u64,
    pub out_of_order: u64,
    pub retransmissions: [u64; CAUSES],
    pub syn: u32,
    pub fin: u32,
    pub rst: u32,
    pub corrupted: u64,
    pub good_checksums: u64,
    pub bad_checksums: u64,
    pub duplicate_acks: u64,
    pub sack_segments: u64,
    pub dsacks: u64,
    pub zero_windows: u64,
    pub window_updates: u64,
    pub max_flight: i64,
    pub max_window: i64,
    pub ece: u64,
    pub ce: u64,
    pub first_data_ns: Option<i64>,
    pub last_data_ns: Option<i64>,
    pub last_advance_ns: Option<i64>,
}

/// One direction.
#[derive(Debug, Clone, Default)]
pub struct Sender {
    pub(super) space: Option<Unwrapper>,
    pub(super) isn: Option<u32>,
    pub(super) totals: Totals,
    pub(super) rtt: RttStatistics,
    pub(super) timeouts: Vec<Timeout>,
    pub(super) retransmissions: Vec<Retransmission>,
    /// The other side's window for this direction: raw field of its last segment, and its scale.
    pub(super) mss: Option<u16>,
    pub(super) window_scale: Option<u8>,
    pub(super) sack_permitted: bool,
    pub(super) timestamps: bool,
    pub(super) largest_segment: u32,
    pub(super) snd_una: i64,
    pub(super) snd_max: i64,
    pub(super) outstanding: Outstanding,
    sent: IntervalSet,
    pub(super) sacked: IntervalSet,
    fin_seq: Option<i64>,
    pub(super) state: State,
    pub(super) recover: i64,
    pub(super) episode: u32,
    pub(super) expiries: u16,
    pub(super) rto: RtoEstimator,
    pub(super) timer_start_ns: i64,
    pub(super) last_out_ns: Option<i64>,
    pub(super) last_in_ns: Option<i64>,
    /// Whether the last segment that came in told anything new about what was delivered.
    pub(super) last_in_news: bool,
    last_in_syn: bool,
    /// A tail loss probe is out and not answered.
    pub(super) probe_out: bool,
    pub(super) dupacks: u32,
    /// When the most recently sent of the delivered segments was sent (RACK.xmit_ts, RFC 8985).
    pub(super) rack_ns: i64,
    last_window_raw: Option<u16>,
    /// The byte of a window probe that is not acknowledged.
    probe_byte: Option<i64>,
    /// Last TSval sent, when, and the first of that connection, to convert echoed ones to times.
    ts_last: Option<(u32, i64)>,
    ts_first: Option<(u32, i64)>,
    ts_head_before: Option<u32>,
}

impl Sender {
    /// Relative sequence number of a raw one; the first number seen founds the space.
    #[inline]
    pub fn unwrap(&mut self, raw: u32, first_byte: bool) -> i64 {
        match self.space {
            Some(space) => space.unwrap(raw, self.snd_max),
            None => {
                let base = if first_byte { raw } else { raw.wrapping_sub(1) };
                self.space = Some(Unwrapper::new(base));
                let relative = i64::from(!first_byte);
                self.snd_una = relative;
                self.snd_max = relative;
                relative
            }
        }
    }

    /// Relative sequence number of a raw one; -1 if this direction was never seen.
    pub fn locate(&self, raw: u32) -> i64 {
        self.space.map_or(-1, |space| space.unwrap(raw, self.snd_max))
    }

    /// Bytes sent and not acknowledged (RFC 5681: FlightSize).
    pub fn flight(&self) -> i64 {
        self.snd_max - self.snd_una
    }

    /// Payload bytes sent at least once.
    pub fn unique_bytes(&self) -> i64 {
        self.sent.total()
    }

    /// Bytes acknowledged that this capture never saw: what it lost itself. A single one may be a FIN.
    pub fn unseen_bytes(&self) -> i64 {
        let fin = self.fin_seq.is_some_and(|fin| self.snd_una > fin);
        let acked = self.snd_una - i64::from(fin);
        let Some(first) = self.sent.lowest() else { return 0 };
        let unseen = (acked - first).max(0) - self.sent.overlap(first, acked);
        if unseen > 1 { unseen } else { 0 }
    }

    /// Payload bytes acknowledged cumulatively, of those seen.
    pub fn acked_bytes(&self) -> i64 {
        self.sent.overlap(i64::MIN / 2, self.snd_una)
    }

    /// This side sent a segment whose first sequence number is `seq`.
    pub fn on_send(&mut self, segment: &Segment, seq: i64) -> SendOutcome {
        let t_ns = segment.t_ns;
        let length = i64::from(segment.length);
        let (syn, fin) = (segment.has(flags::SYN), segment.has(flags::FIN));
        let end = seq + length + i64::from(syn) + i64::from(fin);
        let mut outcome = SendOutcome::default();
        let ts_val = segment.options.timestamps.map(|(val, _)| val);
        if end > seq && !segment.has(flags::RST) {
            outcome = self.send_data(segment, seq, end, ts_val);
        } else if self.is_probe(seq, length) && self.totals.data_segments > 0 {
            self.totals.probe_segments += 1;
        }
        if let Some(val) = ts_val {
            self.timestamps = true;
            self.ts_first.get_or_insert((val, t_ns));
            self.ts_last = Some((val, t_ns));
        }
        self.last_out_ns = Some(t_ns);
        self.totals.max_flight = self.totals.max_flight.max(self.flight());
        outcome
    }

    /// A keep-alive or window probe of the Linux and BSD form: the byte before the first unacknowledged one.
    fn is_probe(&self, seq: i64, length: i64) -> bool {
        length <= 1 && seq == self.snd_una - 1 && self.snd_una == self.snd_max
    }

    fn send_data(&mut self, segment: &Segment, seq: i64, end: i64, ts_val: Option<u32>) -> SendOutcome {
        let t_ns = segment.t_ns;
        let length = i64::from(segment.length);
        let (syn, fin) = (segment.has(flags::SYN), segment.has(flags::FIN));
        let data = seq + i64::from(syn);
        if length > 0 {
            self.totals.data_segments += 1;
            self.totals.data_bytes += length as u64;
            self.totals.first_data_ns.get_or_insert(t_ns);
            self.totals.last_data_ns = Some(t_ns);
            self.largest_segment = self.largest_segment.max(segment.length);
        }
        if length == 1 && self.is_probe(seq, length) && self.sent.overlap(data, data + 1) == 1 {
            self.totals.probe_segments += 1;
            self.totals.data_segments -= 1;
            self.totals.data_bytes -= 1;
            return SendOutcome { duplicate: 0, transmission: 0, cause: Cause::UnneededProbe };
        }
        if length == 1 && self.last_window_raw == Some(0) && seq >= self.snd_una && end > self.snd_max {
            // One byte into a closed window: a probe, and data only if it is taken (RFC 9293 section 3.8.6.1).
            self.totals.probe_segments += 1;
            self.totals.data_segments -= 1;
            self.totals.data_bytes -= 1;
            self.probe_byte = Some(data);
            return SendOutcome { duplicate: 0, transmission: 0, cause: Cause::UnneededProbe };
        }
        let duplicate = self.sent.insert(data, data + length) as u32;
        self.totals.duplicate_bytes += u64::from(duplicate);
        let control_again = (syn && self.totals.syn > 0 && seq < self.snd_max)
            || (fin && length == 0 && self.fin_seq == Some(data));
        self.totals.syn += u32::from(syn);
        if fin {
            self.totals.fin += 1;
            self.fin_seq = Some(data + length);
        }
        let mut outcome = SendOutcome { duplicate, transmission: u16::from(length > 0), cause: Cause::None };
        if duplicate > 0 || control_again {
            let before = self.outstanding.at(seq).copied();
            outcome.transmission = before.map_or(2, |run| run.transmissions.saturating_add(1));
            let answers_syn = syn && segment.has(flags::ACK) && self.last_in_syn && self.reacts(t_ns);
            let cause = if answers_syn {
                Cause::Handshake
            } else if syn {
                // Nothing but the timer repeats a SYN; some stacks do not back off at first (Linux 6.5 and later).
                Cause::Timeout
            } else {
                self.classify(t_ns, seq, end, before.as_ref())
            };
            outcome.cause = cause;
            self.totals.retransmissions[cause as usize] += self.wire_segments(segment.length);
            let rto_ns = if self.rto.measured() { self.rto.rto_us() * 1000 } else { -1 };
            let state_before = self.state;
            self.enter(cause, segment, seq, ts_val);
            if state_before == State::Open && self.state != State::Open {
                self.episode += 1;
            }
            self.retransmissions.push(Retransmission {
                t_ns,
                record: segment.record,
                seq,
                length: segment.length,
                duplicate,
                cause,
                transmission: outcome.transmission,
                since_sent_ns: before.map_or(-1, |run| t_ns - run.last_ns),
                since_ack_ns: self.last_in_ns.map_or(-1, |last| t_ns - last),
                dupacks: self.dupacks,
                sacked: self.sacked.total(),
                rto_ns,
                episode: self.episode,
            });
        } else if seq < self.snd_max && length > 0 {
            self.totals.out_of_order += 1;
        } else if !self.outstanding.is_empty()
            && !self.reacts(t_ns)
            && self.probe_due(t_ns, self.rto.rto_us() * 1000)
        {
            // The probe may as well be the next new segment (RFC 8985 section 7.3).
            self.totals.new_data_probes += 1;
            self.probe_out = true;
            self.timer_start_ns = t_ns;
        }
        if self.outstanding.is_empty() {
            self.timer_start_ns = t_ns;
        }
        if end > self.snd_una {
            self.outstanding.send(seq.max(self.snd_una), end, t_ns);
        }
        if self.snd_una == seq {
            self.ts_head_before = ts_val;
        }
        self.snd_max = self.snd_max.max(end);
        outcome
    }

    /// A captured super-segment is several segments on the wire: the kernel counts those.
    fn wire_segments(&self, length: u32) -> u64 {
        let mss = self.segment_size();
        if mss == 0 || length <= mss { 1 } else { u64::from(length.div_ceil(mss)) }
    }

    /// Payload of a full segment: the MSS agreed less the timestamps option; 0 if unknown.
    pub fn segment_size(&self) -> u32 {
        self.mss.map_or(0, |mss| u32::from(mss).saturating_sub(if self.timestamps { 12 } else { 0 }))
    }

    /// The record of an expiry that is about to change the state.
    pub(super) fn expire(&mut self, segment: &Segment, seq: i64, ts_val: Option<u32>) {
        let base_ns =
            if self.rto.measured() { (self.rto.rto_us() >> self.expiries.min(16)) * 1000 } else { -1 };
        self.timeouts.push(Timeout {
            t_ns: segment.t_ns,
            record: segment.record,
            seq,
            length: segment.length,
            backoff: self.expiries,
            silence_ns: segment.t_ns - self.last_out_ns.unwrap_or(segment.t_ns),
            rto_ns: base_ns,
            ts_val,
            ts_val_before: self.ts_head_before,
            snd_max: self.snd_max,
            answer_after_ns: None,
            answer_record: 0,
            eifel: Vote::Abstains,
            dsack: Vote::Abstains,
            frto: Vote::Abstains,
            followed: false,
            // In fast recovery, ACKs of what was sent again before say nothing about this expiry.
            settled: self.state == State::Recovery,
        });
    }

    /// The other side sent something, with an ACK or without.
    pub fn arrived(&mut self, segment: &Segment) {
        self.last_in_ns = Some(segment.t_ns);
        self.last_in_syn = segment.has(flags::SYN) && !segment.has(flags::ACK);
    }

    /// The other side sent a segment with acknowledgment number `ack` for this direction.
    pub fn on_ack(&mut self, segment: &Segment, ack: i64) -> AckOutcome {
        let t_ns = segment.t_ns;
        let mut outcome = AckOutcome::default();
        let dsacks_before = self.totals.dsacks;
        let (fresh_sack, sacked_ns) = self.on_sack(segment, ack);
        let sack_rtt_ns = sacked_ns.map(|sent_ns| t_ns - sent_ns);
        let dsack = self.totals.dsacks > dsacks_before;
        let window_changed = self.last_window_raw.is_some_and(|last| last != segment.window);
        self.last_window_raw = Some(segment.window);
        let control = segment.has(flags::SYN) || segment.has(flags::FIN) || segment.has(flags::RST);
        if ack > self.snd_una {
            outcome.kind = AckKind::Advance;
            outcome.rtt_ns = self.advance(segment, ack, sack_rtt_ns);
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
        } else if segment.length == 0 && window_changed && !control {
            outcome.kind = AckKind::WindowUpdate;
            self.totals.window_updates += 1;
        } else {
            outcome.kind = AckKind::Repeat;
        }
        if let (Some(rtt_ns), false) = (sack_rtt_ns, outcome.kind == AckKind::Advance) {
            self.sample_by_sack(t_ns, rtt_ns);
        }
        self.last_in_news = fresh_sack || matches!(outcome.kind, AckKind::Advance | AckKind::Duplicate);
        self.arrived(segment);
        self.judge(segment, ack, outcome.kind, dsack);
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

    fn advance(&mut self, segment: &Segment, ack: i64, sack_rtt_ns: Option<i64>) -> Option<i64> {
        let t_ns = segment.t_ns;
        if let Some(byte) = self.probe_byte.take_if(|byte| ack > *byte) {
            self.take_probe(byte);
        }
        if ack > self.snd_max {
            self.snd_max = ack;
        }
        let (mut first, mut last, mut retransmitted) = (None::<i64>, None::<i64>, false);
        let mut rack_ns = self.rack_ns;
        self.outstanding.acknowledge(ack, |run| {
            if run.transmissions > 1 {
                retransmitted = true;
            } else if !run.sacked() {
                first.get_or_insert(run.last_ns);
                last = Some(run.last_ns);
            }
            rack_ns = rack_ns.max(delivered(run));
        });
        self.rack_ns = rack_ns;
        let mut sample_ns = None;
        if let (Some(first), Some(last), false) = (first, last, retransmitted) {
            sample_ns = Some(t_ns - last);
            self.rtt.add(t_ns - last);
            self.rto.sample((t_ns - first) / 1000, ack, self.snd_max);
        } else if let Some(rtt_ns) = sack_rtt_ns.or_else(|| self.rtt_by_timestamp(segment)) {
            self.rto.sample(rtt_ns / 1000, ack, self.snd_max);
        }
        self.sacked.remove_below(ack);
        self.snd_una = ack;
        if self.fin_seq.is_some() && self.outstanding.is_empty() {
            // Nothing is to come: what a finished connection keeps should be little.
            self.outstanding.release();
        }
        self.dupacks = 0;
        self.expiries = 0;
        self.probe_out = false;
        self.timer_start_ns = t_ns;
        self.totals.last_advance_ns = Some(t_ns);
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

    /// The receiver took the byte of a window probe: it was data.
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
        (rtt_ns > 0 && back >= 0).then_some(rtt_ns)
    }

    /// SACK blocks (RFC 2018) and duplicate SACK (RFC 2883): whether anything was news, and when the first of
    /// what is newly known to have arrived was sent, if it was sent once.
    fn on_sack(&mut self, segment: &Segment, ack: i64) -> (bool, Option<i64>) {
        let Some(space) = self.space else { return (false, None) };
        let blocks = segment.options.sack_blocks();
        if blocks.is_empty() {
            return (false, None);
        }
        self.totals.sack_segments += 1;
        let (mut fresh, mut first_sent_ns) = (false, None::<i64>);
        let mut outer = None::<(i64, i64)>;
        for (index, &(left, right)) in blocks.iter().enumerate().rev() {
            let left = space.unwrap(left, ack.max(self.snd_una));
            let right = space.unwrap(right, left);
            if right <= left || right > self.snd_max {
                continue;
            }
            let duplicate =
                index == 0 && (right <= ack || outer.is_some_and(|(l, r)| l <= left && right <= r));
            if duplicate {
                self.on_dsack(left, right);
                continue;
            }
            outer = Some((left, right));
            let (outstanding, rack_ns) = (&mut self.outstanding, &mut self.rack_ns);
            self.sacked.insert_with(left.max(ack), right, |_, _| fresh = true);
            if fresh {
                outstanding.sack(left, right, |run| {
                    *rack_ns = (*rack_ns).max(delivered(run));
                    if run.transmissions == 1 {
                        first_sent_ns =
                            Some(first_sent_ns.map_or(run.last_ns, |first| first.min(run.last_ns)));
                    }
                });
            }
        }
        (fresh, first_sent_ns)
    }

    fn on_dsack(&mut self, left: i64, right: i64) {
        self.totals.dsacks += 1;
        for timeout in self.timeouts.iter_mut().rev().take(RECENT) {
            if left <= timeout.seq && timeout.seq < right {
                timeout.dsack = Vote::Spurious;
                break;
            }
        }
    }
}

/// When a run that has now arrived was sent: unclear if it was sent more than once (RFC 8985 section 6.2).
fn delivered(run: &Sent) -> i64 {
    if run.transmissions > 1 { run.first_ns } else { run.last_ns }
}

/// What a finished connection is asked for.
impl Sender {
    /// Counts.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// RTT samples after Karn.
    pub fn rtt(&self) -> &RttStatistics {
        &self.rtt
    }

    /// The estimator at the end.
    pub fn rto(&self) -> &RtoEstimator {
        &self.rto
    }

    /// Every segment that carried bytes sent before.
    pub fn retransmissions(&self) -> &[Retransmission] {
        &self.retransmissions
    }

    /// Every expiry of the retransmission timer.
    pub fn timeouts(&self) -> &[Timeout] {
        &self.timeouts
    }

    /// Raw ISN, if the SYN was seen.
    pub fn isn(&self) -> Option<u32> {
        self.isn
    }

    /// Raw sequence number that is relative 0, if any was seen.
    pub fn base(&self) -> Option<u32> {
        self.space.map(|space| space.base)
    }

    /// Options of the SYN: MSS, window scale, SACK permitted; and whether timestamps were used.
    pub fn options(&self) -> (Option<u16>, Option<u8>, bool, bool) {
        (self.mss, self.window_scale, self.sack_permitted, self.timestamps)
    }

    /// Largest payload in one captured segment.
    pub fn largest_segment(&self) -> u32 {
        self.largest_segment
    }

    /// Highest number acknowledged, and one past the highest sent.
    pub fn edges(&self) -> (i64, i64) {
        (self.snd_una, self.snd_max)
    }
}
