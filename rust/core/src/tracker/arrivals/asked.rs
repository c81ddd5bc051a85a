//! What ACKs ask for where there is no SACK: fast recovery repeats nothing but the first segment that is not
//! acknowledged, which an ACK names (RFC 6582). What none ever named is sent again after a timeout.

use super::books::Books;
use super::judge::DUPACK_THRESHOLD;
use crate::segment::Segment;
use crate::tracker::sender::Sender;
use std::collections::VecDeque;

/// Acknowledgment numbers remembered.
const ACKS: usize = 128;

/// An acknowledgment number that passed. Small, as each ACK leaves one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    ack: i64,
    /// When it first passed, with which TSval (if it is stamped).
    t_ns: i64,
    ts_val: u32,
    /// How much later it had come again often enough to ask for a retransmission, microseconds ([`NOT_YET`] before that), and
    /// with which TSval.
    called_us: u32,
    called_val: u32,
    /// How often it came again.
    repeats: u8,
    stamped: bool,
    /// No ACK before it had its TSval: what echoes that was sent after this had come.
    fresh: bool,
}

/// No call: of none that comes later than this anything is asked.
const NOT_YET: u32 = u32::MAX;

/// What the sender can have heard when it sent a segment: what passed here before a time; or, as the segment echoes the
/// last that it had received (RFC 7323 section 4.3), what is not younger than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    pub until_ns: i64,
    pub ts_ecr: Option<u32>,
}

impl Heard {
    pub(super) fn includes(&self, t_ns: i64, ts_val: u32, stamped: bool) -> bool {
        match self.ts_ecr.filter(|echoed| stamped && *echoed != ts_val) {
            Some(echoed) => (echoed.wrapping_sub(ts_val) as i32) > 0,
            None => t_ns <= self.until_ns,
        }
    }
}

impl Asked {
    /// It came again.
    fn repeat(&mut self, t_ns: i64, ts_val: u32) {
        self.repeats = self.repeats.saturating_add(1);
        if self.repeats >= DUPACK_THRESHOLD as u8 && self.called_us == NOT_YET {
            let after_us = t_ns.saturating_sub(self.t_ns).max(0) / 1000;
            (self.called_us, self.called_val) = (u32::try_from(after_us).unwrap_or(NOT_YET), ts_val);
        }
    }

    /// Whether the sender had heard it.
    fn was_heard(&self, heard: &Heard) -> bool {
        let echoed = self.stamped && self.fresh && heard.ts_ecr == Some(self.ts_val);
        echoed || heard.includes(self.t_ns, self.ts_val, self.stamped)
    }

    /// When it called for a retransmission, if its sender had heard that.
    fn called(&self, heard: &Heard) -> Option<i64> {
        let t_ns = self.t_ns.saturating_add(i64::from(self.called_us) * 1000);
        (self.called_us != NOT_YET && heard.includes(t_ns, self.called_val, self.stamped)).then_some(t_ns)
    }
}

/// Acknowledgment numbers that passed lately, in their order, and the TSval of the last ACK.
#[derive(Debug, Clone, Default)]
pub(super) struct Asks {
    acks: VecDeque<Asked>,
    last_val: u32,
}

/// What ACKs said of a sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Request {
    /// Too long ago, or no ACK was captured.
    #[default]
    Unknown,
    /// No ACK ever asked for it: it was not the first that was missing.
    Never,
    /// An ACK did, or with its duplicates called for it: when, and whether these were enough by then.
    Made { t_ns: i64, called: bool },
}

impl Asks {
    fn note(&mut self, t_ns: i64, stamp: Option<u32>, ack: i64) {
        let ts_val = stamp.unwrap_or(0);
        let fresh = self.last_val != ts_val;
        self.last_val = ts_val;
        match self.acks.back_mut() {
            Some(last) if ack < last.ack => {}
            Some(last) if ack == last.ack => last.repeat(t_ns, ts_val),
            _ => {
                if self.acks.len() >= ACKS {
                    self.acks.pop_front();
                }
                let (called_us, called_val, repeats, stamped) = (NOT_YET, 0, 0, stamp.is_some());
                let asked = Asked { ack, t_ns, ts_val, called_us, called_val, repeats, stamped, fresh };
                self.acks.push_back(asked);
            }
        }
    }

    fn request(&self, seq: i64, heard: &Heard) -> Request {
        if self.acks.front().is_none_or(|first| seq < first.ack) {
            return Request::Unknown;
        }
        let place = self.acks.partition_point(|asked| asked.ack < seq);
        match self.acks.get(place) {
            Some(asked) if asked.ack == seq && asked.was_heard(heard) => {
                let called_ns = asked.called(heard);
                Request::Made { t_ns: called_ns.unwrap_or(asked.t_ns), called: called_ns.is_some() }
            }
            _ => Request::Never,
        }
    }
}

impl Books {
    /// What ACKs had said of a sequence number by then.
    pub(super) fn request(&self, seq: i64, heard: &Heard) -> Request {
        self.asks.request(seq, heard)
    }
}

impl Sender {
    /// An ACK without data passed, after what it acknowledges was noted.
    #[inline(never)]
    pub(in crate::tracker) fn note_ask(&mut self, segment: &Segment) {
        let (una, sack) = (self.snd_una, self.sack_permitted);
        if let Some(books) = self.books.as_mut().filter(|_| !sack) {
            books.asks.note(segment.t_ns, segment.options.timestamps.map(|(val, _)| val), una);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The echo of an ACK's TSval proves that its sender had it only where no ACK before had the same.
    #[test]
    fn an_echo_shows_which_ack_was_heard() {
        for (before_val, made) in [(6, true), (7, false)] {
            let mut asks = Asks::default();
            asks.note(0, Some(before_val), 1000);
            asks.note(90_000_000, Some(7), 2000);
            let heard = Heard { until_ns: 50_000_000, ts_ecr: Some(7) };
            let request = asks.request(2000, &heard);
            assert_eq!(matches!(request, Request::Made { .. }), made, "{request:?}");
        }
    }
}
