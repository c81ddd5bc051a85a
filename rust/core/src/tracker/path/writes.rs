//! An application whose writes come closer together than a round trip: data is always in flight, and still neither window
//! is full (RFC 7661: application-limited).
//!
//! A segment that is not full and has PSH leaves nothing behind it to send (RFC 9293, section 3.9.1). Between two of them
//! the congestion window limited nothing if no more was in flight than a whole round trip before, without a loss since:
//! a sender that fills its congestion window sends more each round trip (RFC 5681), so that its flight grows.

use crate::tracker::fields::{Fields, Walk, walk_over};

/// So many round trips after such a segment it tells of nothing.
const ROUNDS: u32 = 4;

/// What is known of the writes of one direction since the last loss.
#[derive(Debug, Clone, Default)]
pub(super) struct Writes {
    /// The round trip ends when this is acknowledged; most in flight in it, and in all before it.
    round_end: i64,
    round_most: i64,
    proven: i64,
    /// Round trips since nothing was left to send, and what the network had taken by then (-1: it is not known), and data that
    /// was under way while nothing was left.
    rounds: u32,
    spent_ns: i64,
    drained_ns: i64,
    /// More was in flight since than ever before.
    grew: bool,
}

impl Fields for Writes {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Writes { round_end, round_most, proven, rounds, spent_ns, drained_ns, grew } = self;
        walk_over!(walk: round_end, round_most, proven, rounds, spent_ns, drained_ns, grew);
    }
}

impl Writes {
    /// A loss: what the congestion window is from now on is to be seen.
    pub fn lost(&mut self, high: i64) {
        *self = Writes { round_end: high, spent_ns: -1, ..Writes::default() };
    }

    /// A pause begins: all up to `high` was sent, all below `una` known to be acknowledged; so much is in flight.
    #[inline(always)]
    pub fn pause(&mut self, una: i64, high: i64, in_flight: i64) {
        if una >= self.round_end {
            self.proven = self.proven.max(self.round_most);
            (self.round_end, self.round_most) = (high, 0);
            self.rounds = self.rounds.saturating_add(1);
        }
        self.round_most = self.round_most.max(in_flight);
        self.grew |= in_flight > self.proven;
    }

    /// Most in flight since the last loss; after an idle time, what of it is sure to fit into the window.
    pub fn most(&self) -> i64 {
        self.proven.max(self.round_most)
    }

    /// Nothing was in flight for so long: with each timeout that passes a congestion window may halve, down to that of a
    /// restart (RFC 7661 section 4.4.1 and RFC 2861; RFC 5681 section 4.1).
    pub fn idle(&mut self, idle_ns: i64, timeout_ns: i64, restart: i64) {
        let halvings = (idle_ns / timeout_ns.max(1)).clamp(0, 62);
        let before = self.proven.max(std::mem::take(&mut self.round_most));
        self.proven = before.min((before >> halvings).max(restart));
    }

    /// So much of what the network took was not the application's: it stays.
    pub fn keep(&mut self, ns: i64) {
        self.spent_ns = self.spent_ns.saturating_add(ns);
    }

    /// Nothing was left to send at the last pause; `spent_ns` is what the network took so far, and `drained_ns` data under way
    /// in pauses. What of each the application took since the same was so before.
    pub fn emptied(&mut self, spent_ns: i64, drained_ns: i64) -> (i64, i64) {
        let tells = self.spent_ns >= 0 && !self.grew && self.rounds <= ROUNDS;
        let took = |ns: i64, before_ns: i64| if tells { ns.saturating_sub(before_ns).max(0) } else { 0 };
        let (network_ns, drain_ns) = (took(spent_ns, self.spent_ns), took(drained_ns, self.drained_ns));
        (self.spent_ns, self.drained_ns) = (spent_ns - network_ns, drained_ns - drain_ns);
        (self.rounds, self.grew) = (0, false);
        (network_ns, drain_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pauses with so much in flight, a round trip each; behind the last nothing was left to send.
    fn rounds(writes: &mut Writes, high: &mut i64, flights: &[i64]) {
        for &in_flight in flights {
            *high += in_flight;
            writes.pause(*high - in_flight, *high, in_flight);
        }
    }

    fn after(flights: &[i64]) -> i64 {
        let (mut writes, mut high) = (Writes::default(), 0);
        writes.lost(high);
        rounds(&mut writes, &mut high, &[9000, 9000, 9000]);
        assert_eq!(writes.emptied(1000, 0), (0, 0), "nothing is known of what was before");
        rounds(&mut writes, &mut high, flights);
        writes.emptied(1500, 0).0
    }

    #[test]
    fn between_two_ends_of_writes_the_application_limits() {
        assert_eq!(after(&[9000]), 500);
        assert_eq!(after(&[3000, 8000, 9000]), 500);
    }

    #[test]
    fn a_flight_that_grows_is_a_window_that_grows() {
        assert_eq!(after(&[9000, 10_000]), 0);
    }

    #[test]
    fn after_an_idle_time_a_flight_as_before_may_fill_the_window() {
        let idle = |idle_ns: i64, flight: i64| {
            let (mut writes, mut high) = (Writes::default(), 0);
            rounds(&mut writes, &mut high, &[9000, 9000]);
            writes.emptied(1000, 0);
            writes.idle(idle_ns, 200, 3000);
            rounds(&mut writes, &mut high, &[flight]);
            writes.emptied(1500, 0).0
        };
        assert_eq!((idle(100, 9000), idle(300, 9000)), (500, 0));
        assert_eq!((idle(300, 4500), idle(900, 3000), idle(900, 3001)), (500, 500, 0));
    }

    #[test]
    fn ends_far_apart_tell_nothing() {
        assert_eq!(after(&[9000; 6]), 0);
    }

    /// What the network took while the window grew stays its time, whatever was under way in later pauses.
    #[test]
    fn what_was_under_way_in_pauses_is_no_time_of_the_network() {
        let (mut writes, mut high) = (Writes::default(), 0);
        rounds(&mut writes, &mut high, &[3000, 6000, 9000]);
        assert_eq!(writes.emptied(2000, 0), (0, 0), "it grew");
        for number in 1..=3 {
            rounds(&mut writes, &mut high, &[9000]);
            assert_eq!(writes.emptied(2100, 500), (100, 500), "{number}");
        }
    }

    #[test]
    fn a_loss_forgets_what_fitted_into_the_window() {
        let (mut writes, mut high) = (Writes::default(), 0);
        writes.lost(high);
        rounds(&mut writes, &mut high, &[9000, 9000]);
        writes.emptied(1000, 0);
        writes.lost(high);
        assert_eq!(writes.emptied(1500, 0), (0, 0));
        rounds(&mut writes, &mut high, &[4000]);
        assert_eq!(writes.emptied(2000, 0), (0, 0), "no round trip has shown yet what the window holds");
    }
}
