//! Whether a pause follows the end of what the application wrote, as a segment shorter than a full one, or PSH, shows.

use super::pause::Circumstances;
use super::{ALL, Gaps};
use crate::tracker::path::half::{HOST_NS, Halves};
use crate::tracker::path::limits::{INITIAL, Wait};

/// From so many segments on, almost all of the last with PSH, each is a write; and no more than one of so many may have none:
/// what is written while the congestion window is full may share a segment.
const WRITES: u32 = 32;
const SHARED: u32 = 8;

/// A pause of so many times the usual distance of segments is no delay of one.
const RARE: i64 = 8;

impl Gaps {
    /// Whether the segment before the pause was shorter than a full one because no more was written.
    ///
    /// What fills the window to its edge ended there, and not where the application's data did. Where it is not known which edge
    /// the sender knew, what full segments leave of a window shows it. Where all that is in flight passed here, and what the
    /// sender knew is known well, the edge was lower by no more than that.
    #[inline(always)]
    pub(super) fn ended_short(&self, now: &Circumstances<'_>, in_flight: i64, halves: &Halves) -> bool {
        let Circumstances { unit, sent, .. } = *now;
        let length = i64::from(self.length);
        // Most are full segments, and need no division.
        let partial = unit > 0 && length != unit && length % unit != 0;
        let (left, exact) = (self.known.edge - self.high, self.stamped || halves.beside_sender());
        let filled = || {
            if self.known.edge < 0 {
                return self.unscaled.at_edge;
            }
            left < unit
                || (left <= in_flight || !exact) && (self.known.edge - self.known.una) % unit == length
        };
        partial && !filled() || self.writes_each(sent, in_flight, unit, halves)
    }

    /// Whether the end of a write may be missing: something is, and the pause is rare.
    #[inline(always)]
    pub(super) fn cut_off(&self, seq: i64, gap_ns: i64, halves: &Halves) -> bool {
        seq > self.high && gap_ns > halves.base_ns().saturating_mul(2).max(self.usual_ns.saturating_mul(RARE))
    }

    /// Whether the first congestion window ended before the pause. However short its segments, ten of them fill it (RFC
    /// 6928), until an ACK comes: none does within an RTT.
    pub(super) fn is_first_window(&self, now: &Circumstances<'_>, halves: &Halves) -> bool {
        let at_once = |first_ns: i64| self.last_ns.saturating_sub(first_ns) < halves.base_ns();
        now.before == INITIAL as u64
            && (self.schedule.began_ns().is_some_and(at_once) || self.known.una <= self.schedule.first_byte())
    }

    /// A segment passes `at` a time, behind the end of a write. What no ACK released then is a write. A host itself takes no
    /// longer to react than this.
    #[inline(always)]
    pub(super) fn write_follows(
        &mut self,
        at: (i64, i64, i64, Option<u32>),
        seq: i64,
        gap_ns: i64,
        halves: &Halves,
    ) {
        let reaction_ns = if halves.beside_sender() { halves.slack_ns.min(HOST_NS) } else { halves.slack_ns };
        if gap_ns > reaction_ns && !self.known.prompted(at, reaction_ns) {
            self.schedule.write(at.0, seq, &self.spent_ns);
        }
    }

    /// A pause begins, with so much in flight, behind a segment that is `short` or not; whether the application wrote no
    /// faster before it. What the network seemed to take is its time then. And what of the time before was between full segments of
    /// the same write, if a shorter one ends it.
    #[inline(always)]
    pub(super) fn written(&mut self, short: bool, in_flight: i64, unit: i64) -> (bool, i64) {
        self.writes.pause(self.known.una, self.high, in_flight);
        if !(short && self.pushed) {
            return (false, 0);
        }
        let [network, drain] = [Wait::Network, Wait::Drain].map(|wait| self.spent_ns[wait as usize]);
        let (network_ns, drain_ns) = self.writes.emptied(network, drain);
        let took_ns = network_ns.saturating_add(drain_ns);
        let within_ns = self.parts.emptied(took_ns > 0);
        self.spent_ns[Wait::Network as usize] -= network_ns;
        self.spent_ns[Wait::Drain as usize] -= drain_ns;
        self.spend(Wait::Application, took_ns);
        // A full segment may be a write of its own, as PSH on all of them says.
        let partial = i64::from(self.length) < unit;
        let most_ns = if took_ns > 0 { network_ns } else { within_ns };
        (took_ns > 0, if partial { within_ns.min(most_ns) } else { 0 })
    }

    /// Nothing is left of a write, all of it is acknowledged, and nothing follows: what was left of it until then was no rest that
    /// Nagle's algorithm held. The sender paced itself for so long, if it `took` that for the application's time or not.
    #[cold]
    pub(super) fn paced_within(&mut self, ns: i64, took: bool) {
        if took {
            self.spent_ns[Wait::Application as usize] -= ns;
            self.spend(Wait::Network, ns);
            self.writes.keep(ns);
        }
        self.parts.spread(ns, took);
    }

    /// Whether each segment is a write of its own, as PSH on all of them shows: of a larger write only the last has it. Where
    /// they queue, more of them may wait to be sent.
    fn writes_each(&self, sent: u32, in_flight: i64, unit: i64, halves: &Halves) -> bool {
        // Several segments that a network interface divides may all have it.
        i64::from(self.length) <= unit
            && !self.divided.may_divide(self.length)
            && self.unpushed <= ALL / SHARED
            && (sent >= WRITES
                || self.unpushed == 0 && halves.beside_sender() && self.never_full(in_flight, unit))
            && halves.queued_ns() <= 2 * self.usual_ns + halves.base_ns() / 4
    }

    /// Whether no congestion window was ever full: it holds ten segments from the first (RFC 6928), until something is lost.
    fn never_full(&self, in_flight: i64, unit: i64) -> bool {
        !self.parts.lost() && self.writes.most().max(in_flight) < INITIAL * unit
    }
}
