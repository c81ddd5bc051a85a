//! A lone last segment sent again when both timers were due: which of them it was shows afterwards.
//!
//! The tail loss probe waits two smoothed round trips and 200 ms for a lone segment, but never longer than the
//! retransmission timer would; where the two coincide, packets up to then are the same whether the host probes
//! (RFC 8985 section 7) or has probes switched off. After an expiry the congestion window is one segment and
//! grows to two with the ACK (RFC 5681 section 3.1), and the timer is doubled; after a probe neither is so.

use super::outcome::Cause;
use super::timeout::Timeout;

/// A reaction to an ACK comes within this time.
const REACTION_NS: i64 = 10_000_000;
/// Segments that go out at once after the ACK of a segment that an expiry sent again.
const SLOW_START: u64 = 2;

/// The open case.
#[derive(Debug, Clone, Copy)]
pub struct LoneTail {
    /// The expiry that it is, if it is one.
    pub timeout: Timeout,
    /// Its place in the list of the sender.
    pub place: u32,
    /// Segments that were sent again, on the wire.
    pub segments: u64,
    /// The congestion window had been so wide that a probe would leave more than two segments of it.
    wide: bool,
    /// Segments sent since it was acknowledged.
    burst: u64,
    /// The ACK that came after that burst.
    released_ns: Option<i64>,
}

impl LoneTail {
    /// A segment sent again.
    pub fn new(timeout: Timeout, place: u32, segments: u64, wide: bool) -> Self {
        LoneTail { timeout, place, segments, wide, burst: 0, released_ns: None }
    }

    /// Sent once more without any answer: a doubled timer says that the first was an expiry too.
    pub fn on_repeat(&self, t_ns: i64, rto_ns: i64) -> Cause {
        if t_ns - self.timeout.t_ns > rto_ns / 2 * 3 { Cause::Timeout } else { Cause::TailLossProbe }
    }

    /// New segments are sent: which timer it was, as soon as that shows.
    pub fn on_send(&mut self, t_ns: i64, segments: u64) -> Option<Cause> {
        self.timeout.answer_after_ns?;
        if let Some(released_ns) = self.released_ns {
            let held = self.wide && self.burst == SLOW_START && t_ns - released_ns <= REACTION_NS;
            return Some(if held { Cause::Timeout } else { Cause::Unknown });
        }
        self.burst += segments;
        (self.burst > SLOW_START).then_some(Cause::TailLossProbe)
    }

    /// An ACK that advances.
    pub fn on_advance(&mut self, t_ns: i64, record: u64, ts_ecr: Option<u32>, reports_it: bool) {
        if self.timeout.answer_after_ns.is_none() {
            self.timeout.answer(t_ns, record, ts_ecr, reports_it);
        } else if self.burst > 0 {
            self.released_ns.get_or_insert(t_ns);
        }
    }
}
