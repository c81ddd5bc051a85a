//! A sender whose own queue refuses what it sends: a timer sends one segment, which fits, and the rest is refused again.
//!
//! Linux stops sending at a refusal. If nothing is in flight then, the timer of window probes (RFC 9293, section
//! 3.8.6.1) tries again one RTO later, with one full segment; its ACK releases more, and that is refused again. So full
//! segments come alone and in order, one for each timeout, and the IP identifications between them are left out: those of
//! the segments that were refused. An application that writes so much so rarely leaves none out.

use crate::tracker::fields::{Fields, Walk, walk_over};

/// The smallest timeout of Linux (`TCP_RTO_MIN`) begins here, and with the ticks of its clock ends there.
const TIMEOUT_NS: (i64, i64) = (198_000_000, 230_000_000);

/// So many such segments are no chance, if identifications were left out before this part of them.
const RUNS: u32 = 8;
const PART: f64 = 0.75;

/// More identifications than a sender's largest write becomes packets, many times over: another counter.
pub(super) const FAR: u16 = 4096;

/// Segments of one direction that a timer sent alone.
#[derive(Debug, Clone, Default)]
pub(super) struct Refused {
    /// The segment before this was alone, too; its identification.
    alone: bool,
    id: u16,
    /// How many came so, before how many of them identifications were left out, and how many of these in all.
    runs: u32,
    gaps: u32,
    left_out: u64,
}

impl Fields for Refused {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Refused { alone, id, runs, gaps, left_out } = self;
        // Most have none.
        let mut any = *alone || *runs > 0;
        any.walk(walk);
        if any {
            walk_over!(walk: alone, id, runs, gaps, left_out);
        } else if W::READS {
            *self = Refused::default();
        }
    }
}

impl Refused {
    /// A full segment with PSH comes after a pause, in order and alone, with the identification `id`, and so did the one
    /// before, which is acknowledged. `silent_ns` is how long the sender knew that, at least and at most, and `rtt_ns` what the
    /// timeout has besides its least. Whether a timer may have sent it.
    pub fn pause(&mut self, id: u16, silent_ns: (i64, i64), rtt_ns: i64) -> bool {
        let (least_ns, most_ns) = TIMEOUT_NS;
        let timed = silent_ns.1 >= least_ns && silent_ns.0 < most_ns.saturating_add(rtt_ns);
        if timed && self.alone {
            self.runs += 1;
            let left_out = id.wrapping_sub(self.id).wrapping_sub(1);
            if (1..FAR).contains(&left_out) {
                self.gaps += 1;
                self.left_out += u64::from(left_out);
            }
        }
        (self.alone, self.id) = (timed, id);
        timed
    }

    /// Any other comes after a pause.
    #[inline(always)]
    pub fn other(&mut self) {
        (self.alone, self.id) = (false, 0);
    }

    /// Segments that were refused, at least; `None` if the pauses may be those of the application.
    pub fn segments(&self) -> Option<u64> {
        (self.runs >= RUNS && f64::from(self.gaps) >= PART * f64::from(self.runs)).then_some(self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(times: u16, step: u16, silent_ns: i64) -> Option<u64> {
        let mut refused = Refused::default();
        for at in 0..times {
            refused.pause(at.wrapping_mul(step), (silent_ns - 20_000_000, silent_ns), 1_000_000);
        }
        refused.segments()
    }

    #[test]
    fn one_segment_for_each_timeout_with_identifications_left_out_is_a_queue_that_refuses() {
        assert_eq!(after(11, 7, 208_000_000), Some(60));
    }

    #[test]
    fn the_identifications_of_an_application_go_on() {
        assert_eq!(after(11, 1, 208_000_000), None);
    }

    #[test]
    fn other_pauses_are_no_timeout() {
        assert_eq!((after(11, 7, 150_000_000), after(11, 7, 300_000_000)), (None, None));
    }

    #[test]
    fn a_few_tell_nothing() {
        assert_eq!(after(5, 7, 208_000_000), None);
    }
}
