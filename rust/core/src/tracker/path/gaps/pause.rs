//! What the sender waited for in one pause between two data segments: its application, the receiver's window, the network, loss
//! recovery or its timer.

use super::{Gaps, SILENCE_NS};
use crate::segment::{Segment, flags};
use crate::tracker::RTO_MIN_US;
use crate::tracker::arrivals::{ArrivalCounts, ArrivalVerdict, Books, Ids};
use crate::tracker::path::half::Halves;
use crate::tracker::path::limits::{INITIAL, Wait};
use crate::tracker::path::refused;
use crate::tracker::path::trains::Trains;

/// Segments that an ACK of a small window releases at most.
const RELEASED: u32 = 16;

/// What a segment is judged by besides itself: all below `una` was acknowledged when it passed, `unit` is the payload
/// of a full segment, and it is number `sent`.
pub(in crate::tracker::path) struct Circumstances<'a> {
    pub una: i64,
    pub unit: i64,
    pub recovering: bool,
    /// A pause as long as a timer, and a part of what was sent before it, and is not acknowledged, never came by here.
    pub missing: bool,
    /// Its timer sent it.
    pub timed: bool,
    /// What was missing before.
    pub books: Option<&'a Books>,
    pub sent: u32,
    /// What the identifications count.
    pub ids: &'a Ids,
    /// Data segments before it.
    pub before: u64,
    /// Whether any segment was longer than a full one: the sender's interface divides them (TSO).
    pub divided: bool,
}

impl Circumstances<'_> {
    /// It is known not to be in loss recovery, whatever duplicate ACKs tell: next to it, it would have retransmitted. Nor was it
    /// before the first retransmission came by: the network may only reorder.
    fn open(&self, halves: &Halves) -> bool {
        let counts = || self.books.map(Books::counts).unwrap_or_default();
        let seen = |counts: ArrivalCounts| {
            counts.upstream > 0
                || !halves.beside_sender() && counts.verdicts[ArrivalVerdict::Retransmission as usize] > 0
        };
        !self.recovering && !seen(counts())
    }
}

/// What may have been a retransmission.
pub(super) fn again(books: Option<&Books>) -> u64 {
    let verdicts = books.map(Books::counts).unwrap_or_default().verdicts;
    verdicts[ArrivalVerdict::Retransmission as usize] + verdicts[ArrivalVerdict::Undecided as usize]
}

/// What ACKs that reached the sender in a pause did.
struct Received {
    /// When the receiver's window had room for what follows, and when all was acknowledged.
    opened_ns: Option<i64>,
    drained_ns: Option<i64>,
    /// The last ACK; the least time if there was none.
    prompted_ns: i64,
}

impl Gaps {
    /// A data segment passes after a pause; whether the application made it wait.
    #[inline(always)]
    pub(in crate::tracker::path) fn judge(
        &mut self,
        segment: &Segment,
        seq: i64,
        now: &Circumstances<'_>,
        (halves, trains): (&Halves, &Trains),
    ) -> bool {
        let gap_ns = (segment.t_ns - self.last_ns).max(0);
        if i64::from(self.last_length) > now.unit && now.unit > 0 {
            self.spacing.behind((self.last_length, self.high), gap_ns);
        } else if i64::from(self.last_length) == now.unit {
            self.spacing.behind_full((now.unit, self.high), gap_ns);
        }
        let waited = self.blame(segment, seq, gap_ns, now, (halves, trains));
        // A pause counts, or what is slow from the first would never be usual; but not as what it is.
        let counts_ns = if (gap_ns - halves.slack_ns) >> 3 < self.usual_ns {
            gap_ns
        } else {
            gap_ns.min(self.usual_ns.saturating_mul(8).saturating_add(halves.slack_ns))
        };
        self.usual_ns += (counts_ns - self.usual_ns) >> 3;
        waited
    }

    /// What the pause before a segment was spent on; whether the application made it wait.
    #[inline(always)]
    fn blame(
        &mut self,
        segment: &Segment,
        seq: i64,
        gap_ns: i64,
        now: &Circumstances<'_>,
        (halves, trains): (&Halves, &Trains),
    ) -> bool {
        let Circumstances { una, unit, recovering, .. } = *now;
        let (t_ns, before_ns, high) = (segment.t_ns, self.last_ns, self.high);
        let echoed = segment.options.timestamps.map(|(_, ecr)| ecr);
        // What it knew when it sent the segment before; it cannot have sent beyond the edge it knew.
        let now_ns = halves.near_now_ns();
        self.known.advance(before_ns, now_ns, self.stamped.then_some(self.last_ecr), |_, _| {});
        while self.known.edge >= 0 && high > self.known.edge && self.known.line.front().is_some() {
            self.known.hear_next();
        }
        let in_flight = (high - self.known.una).max(0);
        // What the sender retransmits for it comes an RTT later.
        if self.suspected.recovery_ns > 0
            && una >= self.recover
            && t_ns - self.suspected.since_ns > halves.base_ns() + halves.queued_ns() + halves.slack_ns
        {
            self.settle(again(now.books));
        }
        self.peak = in_flight.max(self.peak - (self.peak >> 4));
        let orderly = self.heard
            && seq >= high
            && !recovering
            && !now.missing
            && (una >= self.recover || now.open(halves) && !self.persists(t_ns, halves));
        if !orderly {
            self.disturbed(segment, seq, gap_ns, now, (halves, trains));
            return false;
        }
        let short = self.ended_short(now, in_flight, halves);
        let (written, within_ns) = self.written(short, in_flight, unit);
        // More than a sender ever waits for was open: what came soon enough to be released waited for the network.
        let open = self.known.edge < 0 || self.known.edge - high >= 3 * unit.max(1);
        if open && gap_ns <= halves.slack_ns {
            let mut prompted_ns = i64::MIN;
            self.known.advance(t_ns, now_ns, echoed, |_, (at_ns, _)| prompted_ns = at_ns);
            let at = (t_ns, prompted_ns, halves.near_ns(), echoed);
            self.network(gap_ns, at, halves, (false, self.behind_full(unit)));
            return written;
        }
        let write_ended = short && self.pushed;
        let another = write_ended || self.cut_off(seq, gap_ns, halves);
        let first_window = another && self.is_first_window(now, halves);
        let received = self.receive_until::<true>(segment, seq, gap_ns, now, halves);
        let at = (t_ns, received.prompted_ns, halves.near_ns(), echoed);
        if another && !first_window {
            self.write_follows(at, seq, gap_ns, halves);
        }
        let window_ns = received.opened_ns.unwrap_or(t_ns) - before_ns;
        if self.is_refused(segment, unit, in_flight, &received, halves) {
            self.spend(Wait::Refused, gap_ns);
            return true;
        }
        if window_ns > 0 {
            self.held_until(t_ns, window_ns, in_flight, now, (halves, trains));
        }
        let rest_ns = gap_ns - window_ns;
        if rest_ns <= 0 {
            return written;
        }
        let slack_ns = halves.slack_ns;
        let idle = received.drained_ns.is_some_and(|at_ns| t_ns - at_ns.max(before_ns) > slack_ns);
        // A full segment without PSH: more was to be sent already (RFC 9293 section 3.9.1.2).
        let more = !self.pushed && !short && self.pushes;
        // What is sent at once, before any ACK, comes at the distance that a slow link gives it.
        let first_flight = self.known.edge < 0 && rest_ns <= 4 * self.usual_ns;
        let late = rest_ns > slack_ns && !first_flight;
        let application = if !late || more {
            false
        } else if write_ended {
            // Nothing was left to send. Full windows that end so are of stacks that send records, not bytes.
            // Of a window of unknown scale, nobody knows how small it is.
            let few = self.known.edge >= 0 && (in_flight < 3 * unit || 2 * in_flight < self.peak);
            idle || !first_window && (!self.known.prompted(at, slack_ns) || few)
        } else {
            idle && rest_ns / 4 > self.usual_ns
        };
        if application {
            let under_way_ns =
                received.drained_ns.map_or(rest_ns, |at_ns| rest_ns - (t_ns - at_ns).min(rest_ns));
            let stamped = segment.options.timestamps.is_some();
            let packets = now.ids.packets_of(i64::from(self.last_length), stamped);
            self.pauses(segment, seq, (rest_ns, under_way_ns), packets, write_ended);
            if within_ns > 0 && under_way_ns < rest_ns {
                self.paced_within(within_ns, written);
            }
        } else if more && idle && rest_ns >= SILENCE_NS {
            self.spend(Wait::Silence, rest_ns);
        } else {
            // Several segments at once, and all of them acknowledged long before the next: no window was full, no queue of the
            // host brings them so, and no timer is as short.
            let bursts = idle && !short && in_flight >= 2 * unit && rest_ns < SILENCE_NS;
            // Nor does a sender pace itself for longer than it takes until all of that is acknowledged.
            self.network(rest_ns, at, halves, (bursts, !idle && self.behind_full(unit)));
            // As long as a timer, that is no link which spreads what a window released.
            if rest_ns >= SILENCE_NS {
                self.network_before_ns = self.network_before_ns.saturating_add(rest_ns);
            }
        }
        application || written
    }

    /// Away from the sender, what duplicate ACKs told of is missing for longer than packets that others overtake: it was lost.
    #[inline(always)]
    fn persists(&self, t_ns: i64, halves: &Halves) -> bool {
        let overdue_ns = t_ns - self.suspected.since_ns;
        !halves.beside_sender() && overdue_ns > 2 * (halves.base_ns() + halves.queued_ns()) + halves.slack_ns
    }

    /// The same in loss recovery, or where segments do not come in order: the application did not make it wait.
    #[inline(always)]
    fn disturbed(
        &mut self,
        segment: &Segment,
        seq: i64,
        gap_ns: i64,
        now: &Circumstances<'_>,
        (halves, trains): (&Halves, &Trains),
    ) {
        let (t_ns, next) = (segment.t_ns, seq >= self.high);
        let in_flight = (self.high - self.known.una).max(0);
        let began = !self.parts.recovering(self.known.una);
        let write_ended = next && self.pushed && self.ended_short(now, in_flight, halves);
        let another = write_ended || self.cut_off(seq, gap_ns, halves);
        let first_window = another && self.is_first_window(now, halves);
        let received = self.receive_until::<false>(segment, seq, gap_ns, now, halves);
        if another && !first_window {
            let echoed = segment.options.timestamps.map(|(_, ecr)| ecr);
            self.write_follows((t_ns, received.prompted_ns, halves.near_ns(), echoed), seq, gap_ns, halves);
        }
        // Packets that overtake each other leave no pause as long as a timer.
        let brief = gap_ns < SILENCE_NS.max(halves.base_ns().saturating_mul(2));
        if !self.heard && next && !now.recovering {
            self.spend(Wait::Unknown, gap_ns);
        } else if !next && brief && !halves.beside_sender() && now.open(halves) {
            // What others overtook was not sent again.
            self.spend(Wait::Network, gap_ns);
        } else {
            let window_ns = received.opened_ns.unwrap_or(t_ns) - self.last_ns;
            // The recovery began in this pause, with duplicate ACKs: how much of it was before them is not known.
            let begins = began && brief && !now.timed && (now.recovering || halves.beside_sender());
            let within_ns = if begins { 0 } else { window_ns };
            let recovery_ns =
                self.took_recovery((t_ns, now.timed), gap_ns, (within_ns, received.prompted_ns), trains);
            if now.recovering || !next && !halves.beside_sender() {
                self.begins_recovery(now.recovering, now.books);
            }
            if brief && !now.recovering && !halves.beside_sender() {
                self.suspected.took(recovery_ns, window_ns);
            }
        }
    }

    /// What the sender heard in a pause, until it sent a segment, `ORDERLY` or not.
    #[inline(always)]
    fn receive_until<const ORDERLY: bool>(
        &mut self,
        segment: &Segment,
        seq: i64,
        gap_ns: i64,
        now: &Circumstances<'_>,
        halves: &Halves,
    ) -> Received {
        let Circumstances { unit, divided, .. } = *now;
        let (t_ns, before_ns, high) = (segment.t_ns, self.last_ns, self.high);
        let (near_ns, echoed) = (halves.near_ns(), segment.options.timestamps.map(|(_, ecr)| ecr));
        // A sender may wait until a third of the window is open, or three segments (Linux: `tcp_tso_should_defer`).
        // Next to a sender that never sends longer ones it does not.
        let waits = divided || !halves.beside_sender();
        let third = if waits { ((self.known.edge - self.known.una) / 3).min(3 * unit) } else { 0 };
        let need = if ORDERLY { i64::from(segment.length).min(unit).max(third).max(1) } else { unit.max(1) };
        let room = |edge: i64| edge < 0 || edge - high >= need;
        let mut received = Received {
            opened_ns: room(self.known.edge).then_some(before_ns),
            drained_ns: (self.known.una >= high).then_some(before_ns),
            prompted_ns: i64::MIN,
        };
        self.known.advance(t_ns, halves.near_now_ns(), echoed, |una, (at_ns, edge)| {
            let at_ns = at_ns.saturating_add(near_ns).clamp(before_ns, t_ns);
            if received.opened_ns.is_none() && room(edge) {
                received.opened_ns = Some(at_ns);
            }
            if received.drained_ns.is_none() && una >= high {
                received.drained_ns = Some(at_ns);
            }
            received.prompted_ns = at_ns;
        });
        if gap_ns >= SILENCE_NS {
            self.silent(segment, seq, (ORDERLY, unit), room, &mut received, halves);
        }
        received
    }

    /// What else is known of a pause that is as long as a timer.
    #[cold]
    fn silent(
        &mut self,
        segment: &Segment,
        seq: i64,
        (orderly, unit): (bool, i64),
        room: impl Fn(i64) -> bool,
        received: &mut Received,
        halves: &Halves,
    ) {
        // What it had heard by then is known by timestamps of a millisecond, of several ACKs at once. No window held it for as long
        // as a timer behind the next ACK with room: one of the ACKs reached it.
        if received.opened_ns.is_none()
            && let Some(passed_ns) = self.known.line.first_with(room)
        {
            let at_ns = passed_ns.saturating_add(halves.near_now_ns());
            received.opened_ns = (at_ns < segment.t_ns).then(|| at_ns.max(self.last_ns));
        }
        // The persist timer fills what is left of a window that no full segment fits into (RFC 9293 section 3.8.6.1).
        if orderly && self.known.ends_with(segment, seq, unit) {
            received.opened_ns = None;
        }
        if received.drained_ns.is_some() {
            let timeout_ns = RTO_MIN_US * 1000 + halves.base_ns();
            self.writes.idle(segment.t_ns - self.last_ns, timeout_ns, INITIAL * unit);
        }
    }

    /// Whether a timer sent this segment alone, as where its own queue refuses the rest.
    #[inline(always)]
    fn is_refused(
        &mut self,
        segment: &Segment,
        unit: i64,
        in_flight: i64,
        received: &Received,
        halves: &Halves,
    ) -> bool {
        let full = |length: i64, pushed: bool| length == unit && pushed;
        let alone = in_flight == unit
            && full(i64::from(self.length), self.pushed)
            && full(i64::from(segment.length), segment.has(flags::PSH));
        if alone && let Some(at_ns) = received.drained_ns {
            let silent_ns = segment.t_ns - at_ns.max(self.last_ns);
            // A queue may have stood before this point whenever the way to the sender and back was measured.
            let longest_ns = silent_ns.saturating_add(halves.near_ns()).min(segment.t_ns - self.last_ns);
            self.refused.pause(segment.ip_id, (silent_ns, longest_ns), halves.base_ns())
        } else {
            self.refused.other();
            false
        }
    }

    /// The application paused for so long, and data was under way for a part of that; the end of a write is `marked` or not. The
    /// data segment before it took so many packets, and identifications.
    #[inline(always)]
    fn pauses(
        &mut self,
        segment: &Segment,
        seq: i64,
        (rest_ns, under_way_ns): (i64, i64),
        packets: i64,
        marked: bool,
    ) {
        let paused_ns = rest_ns - under_way_ns;
        self.spend(Wait::Drain, under_way_ns);
        self.spend(Wait::Application, paused_ns);
        let left_out = segment.ip_id.wrapping_sub(self.id).wrapping_sub(packets as u16);
        // What answers a request of the other end had to wait for that.
        let asked = segment.ack as u16 != self.acked;
        if seq == self.high && !asked && (1..refused::FAR).contains(&left_out) {
            self.add_left_out(paused_ns);
        }
        if !marked {
            self.unmarked_ns = self.unmarked_ns.saturating_add(paused_ns);
        }
    }

    /// Whether the segment before was a full one.
    #[inline(always)]
    fn behind_full(&self, unit: i64) -> bool {
        i64::from(self.last_length) >= unit
    }

    /// The network took this time until what passes `at` a time. Next to the sender no link is between: where no ACK released
    /// it, the sender paced itself. By its clock it shows that no queue of its own did, or by `bursts` of several segments. What comes behind a full
    /// segment may be more of the same write.
    #[inline(always)]
    fn network(
        &mut self,
        ns: i64,
        at: (i64, i64, i64, Option<u32>),
        halves: &Halves,
        (bursts, behind_full): (bool, bool),
    ) {
        self.spend(Wait::Network, ns);
        if !halves.beside_sender() {
            return;
        }
        let (held, own) = (self.held_at > 0, bursts || halves.clock.ticks.waited_ns() == Some(0));
        if (held || own) && !self.known.prompted(at, halves.quick_ns) {
            if held {
                self.parts.paces(ns);
            }
            if own {
                self.parts.unprompted(ns, behind_full);
            }
        }
    }

    /// The window held the sender. What it released then came spread, if a slow link is on the way: as long as only
    /// little was sent since it held it before, that time is of the window too. Away from the sender it is known to ticks of
    /// timestamps when it does: what held it twice while half a window passed held it meanwhile.
    pub(super) fn held(&mut self, window_ns: i64, now: &Circumstances<'_>, halves: &Halves) {
        let sent = now.sent;
        let half = (self.known.edge - self.known.una) / (2 * now.unit.max(1));
        let released = match halves.beside_sender() {
            true => RELEASED,
            false => RELEASED.max(u32::try_from(half).unwrap_or(0)),
        };
        let network = &mut self.spent_ns[Wait::Network as usize];
        let spread_ns = (*network - self.network_before_ns).max(0);
        let mut of_window_ns = 0;
        if self.held_at > 0 && sent.wrapping_sub(self.held_at) <= released {
            *network -= spread_ns;
            of_window_ns = spread_ns;
        }
        (self.held_at, self.network_before_ns) = (sent.max(1), *network);
        self.parts.held(of_window_ns);
        self.spend(Wait::Window, window_ns + of_window_ns);
    }
}
