//! What of a pause loss recovery took.

use super::pause::Circumstances;
use super::{Gaps, SILENCE_NS};
use crate::tracker::arrivals::Books;
use crate::tracker::path::half::Halves;
use crate::tracker::path::limits::Wait;
use crate::tracker::path::trains::Trains;

impl Gaps {
    /// The receiver's window held the sender for so long, in a pause that ends at a time and began with so much in flight. Until
    /// the sender heard of the end of a loss recovery that was a part of the recovery.
    #[cold]
    #[inline(never)]
    pub(super) fn held_until(
        &mut self,
        t_ns: i64,
        window_ns: i64,
        in_flight: i64,
        now: &Circumstances<'_>,
        (halves, trains): (&Halves, &Trains),
    ) {
        let mut within_ns = 0;
        if self.parts.recovering(self.high - in_flight) {
            let heard_ns = self.parts.recovered_ns().map(|at_ns| at_ns.saturating_add(halves.near_now_ns()));
            let heard_ns = heard_ns.filter(|_| !self.parts.recovering(self.known.una)).unwrap_or(t_ns);
            within_ns = heard_ns.saturating_sub(self.last_ns).clamp(0, window_ns);
        }
        if within_ns > 0 {
            // No lower bound: away from the sender it is known to half a round trip, and who divides segments waits for more room.
            let exact = halves.beside_sender() && !now.divided;
            let (until_ns, filled_ns) = (self.last_ns + within_ns, if exact { within_ns } else { 0 });
            self.took_recovery((until_ns, false), within_ns, (filled_ns, until_ns), trains);
        }
        if window_ns > within_ns {
            self.held(window_ns - within_ns, now, halves);
        }
    }

    /// Its sender is in loss recovery, as a segment shows that is not in order.
    #[cold]
    #[inline(never)]
    pub(super) fn begins_recovery(&mut self, recovering: bool, books: Option<&Books>) {
        // What was lost before this point is new here, and changes nothing in what is known of its sender's state.
        let again = || books.map_or(0, Books::recovers_until);
        self.parts.recovers_until(if recovering { i64::MAX } else { again() });
    }

    /// Loss recovery took a pause, in which the receiver's window had no room for so long; what of it no timer took.
    #[inline(always)]
    pub(super) fn took_recovery(
        &mut self,
        (t_ns, timed): (i64, bool),
        gap_ns: i64,
        (window_ns, prompted_ns): (i64, i64),
        trains: &Trains,
    ) -> i64 {
        self.writes.lost(self.high);
        // A congestion window that is smaller may hold what is sent from now on.
        self.held_at = 0;
        let network_ns = self.spent_ns[Wait::Network as usize];
        self.parts.recovers(window_ns, self.high, network_ns, trains.delivered());
        // While ACKs come, no timer is what it waits for.
        let silent_ns = gap_ns.min(t_ns.saturating_sub(prompted_ns));
        let timed_ns = if timed || silent_ns >= SILENCE_NS { silent_ns } else { 0 };
        self.spend(Wait::Silence, timed_ns);
        self.spend(Wait::Recovery, gap_ns - timed_ns);
        gap_ns - timed_ns
    }
}
