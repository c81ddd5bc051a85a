//! What a segment that the sender puts on the wire does: new data, data again, probes.

use super::outcome::{Cause, Retransmission, SendOutcome, State};
use super::sender::Sender;
use super::timeout::{Timeout, Vote};
use crate::segment::{Segment, flags};

impl Sender {
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
}
