//! What the sender waited for between two data segments, from its own view half a round trip away.
//!
//! An ACK that passes here reaches the sender, and what it releases passes here, one half round trip later
//! ([`Halves::near_ns`]); with timestamps (RFC 7323) the data says itself which ACK its sender had seen.

use super::Link;
use super::half::{HOST_NS, Halves};
use super::known::Known;
use super::limits::{INITIAL, Wait};
use super::parts::Parts;
use super::refused::{self, Refused};
use super::schedule::{Kept, Schedule};
use super::spacing::Spacing;
use super::trains::{Delivered, Held, Trains};
use super::writes::Writes;
use crate::segment::{Segment, flags};
use crate::tracker::RTO_MIN_US;
use crate::tracker::fields::{Fields, Walk, walk_answers, walk_over};
use crate::tracker::sender::Sender;

/// A sender silent for so long with more to send waits for its retransmission timer (Linux: `TCP_RTO_MIN`).
pub(super) const SILENCE_NS: i64 = 180_000_000;

/// A link of 600 kbit/s spreads the three packets before the first that is looked at over so long.
const SPREAD_NS: i64 = 60_000_000;

/// From so many segments on, almost all with PSH, each is a write; and no more than one of so many may have none: what is
/// written while the congestion window is full may share a segment.
const WRITES: u32 = 32;
const SHARED: u32 = 16;

/// Segments that an ACK of a small window releases at most.
const RELEASED: u32 = 16;

/// What a segment is judged by besides itself: all below `una` was acknowledged when it passed, `unit` is the payload
/// of a full segment, and it is number `sent`.
pub(super) struct Circumstances {
    pub una: i64,
    pub unit: i64,
    pub recovering: bool,
    pub sent: u32,
    /// Packets that the data segment before it took, and so many identifications.
    pub packets: i64,
    /// Data segments before it.
    pub before: u64,
    /// Whether any segment was longer than a full one: the sender's interface divides them (TSO).
    pub divided: bool,
}

/// Pauses of one direction.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub(super) struct Gaps {
    /// When the last data segment passed, and one past the highest byte.
    pub last_ns: i64,
    high: i64,
    /// TSecr of the last data segment.
    last_ecr: u32,
    stamped: bool,
    /// Of the segment that holds the highest byte: the buffer was empty behind it, as its PSH says; its payload.
    pushed: bool,
    length: u32,
    /// Of the last data segment, which may be a retransmission below that.
    last_length: u32,
    id: u16,
    /// Whether any segment had PSH, and how many had none.
    pushes: bool,
    unpushed: u32,
    /// Whether the edge of the window was ever known, and whether an ACK was heard at all.
    window_known: bool,
    heard: bool,
    /// Usual distance of segments, and how much was in flight lately at most.
    usual_ns: i64,
    peak: i64,
    /// Loss recovery lasts until this is acknowledged.
    recover: i64,
    /// Nanoseconds by [`Wait`].
    pub spent_ns: [i64; Wait::COUNT],
    /// What the sender knew when it sent the last.
    known: Known,
    writes: Writes,
    refused: Refused,
    schedule: Schedule,
    /// What of the application's time no end of a write shows, only that nothing was in flight.
    unmarked_ns: i64,
    /// What of it had identifications left out at its end: those of segments that were sent in it and never came.
    left_out_ns: i64,
    /// Of that, pauses as long as a timer.
    left_out_timed_ns: i64,
    /// How many segments had been sent, and what the network had taken, when the window last held the sender.
    held_at: u32,
    network_before_ns: i64,
    parts: Parts,
    spacing: Spacing,
}

impl Fields for Gaps {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Gaps {
            spent_ns,
            last_ns,
            high,
            last_ecr,
            stamped,
            pushed,
            length,
            last_length,
            id,
            pushes,
            unpushed,
            known,
            usual_ns,
            peak,
            recover,
            writes,
            refused,
            schedule,
            unmarked_ns,
            left_out_ns,
            left_out_timed_ns,
            held_at,
            network_before_ns,
            window_known,
            heard,
            parts,
            spacing,
        } = self;
        walk.time(last_ns);
        walk_over!(walk: spent_ns, high, last_ecr, stamped, pushed, length, id, pushes, unpushed);
        walk_over!(walk: known, usual_ns, peak, recover, writes, refused, schedule, unmarked_ns, left_out_ns, left_out_timed_ns, held_at, network_before_ns);
        let [mut loss, mut rest] = parts.any();
        let mut below = last_length != length;
        let mut spaced = spacing.any();
        walk_answers(walk, [window_known, heard, &mut loss, &mut rest, &mut below, &mut spaced]);
        if spaced {
            walk_over!(walk: spacing);
        } else {
            *spacing = Spacing::default();
        }
        if below {
            walk_over!(walk: last_length);
        } else {
            *last_length = *length;
        }
        parts.walk(walk, [loss, rest]);
    }
}

impl Gaps {
    /// The first segment that is looked at. What went before fitted into the initial window: only the application
    /// can have spread it, or, away from the sender, a slow link.
    pub fn begin(&mut self, segment: &Segment, end: i64, own: &Sender, halves: &Halves) {
        let first_ns = own.totals.first_data_ns.unwrap_or(segment.t_ns);
        let took_ns = (segment.t_ns - first_ns).max(0);
        let by_link = !halves.beside_sender() && took_ns <= SPREAD_NS;
        self.spent_ns[if by_link { Wait::Network } else { Wait::Application } as usize] = took_ns;
        if !by_link && own.left_out() {
            self.left_out_ns = took_ns;
        }
        self.schedule.begin(first_ns, own.sent.lowest().unwrap_or(self.high));
        self.known.begin(own.snd_una);
        self.high = end;
        self.keep(segment, end.wrapping_sub(i64::from(segment.length)));
    }

    /// What the next is judged by.
    #[inline(always)]
    pub fn keep(&mut self, segment: &Segment, seq: i64) {
        let (end, pushed) = (seq.wrapping_add(i64::from(segment.length)), segment.has(flags::PSH));
        if end >= self.high {
            (self.high, self.pushed, self.length) = (end, pushed, segment.length);
        }
        self.last_ns = segment.t_ns;
        if let Some((_, ecr)) = segment.options.timestamps {
            (self.last_ecr, self.stamped) = (ecr, true);
        }
        self.pushes |= pushed;
        self.unpushed += u32::from(!pushed);
        (self.last_length, self.id) = (segment.length, segment.ip_id);
    }

    /// An ACK passes.
    #[inline(always)]
    pub fn hear(&mut self, segment: &Segment, ack: i64, edge: i64, half_ns: i64) {
        let ts_val = segment.options.timestamps.map_or(0, |(val, _)| val);
        self.known.line.push(segment.t_ns, ack, edge, ts_val, half_ns);
        self.heard = true;
        self.window_known |= edge >= 0;
    }

    /// Duplicates of an ACK tell of a loss among what was sent up to `high`.
    pub fn suspect(&mut self, ack: i64, high: i64) {
        if ack >= self.recover {
            self.recover = high;
        }
    }

    /// Whether a loss showed.
    pub fn lost(&self) -> bool {
        self.parts.lost()
    }

    /// The link that the time behind long segments shows.
    pub fn link_behind(&self) -> Option<Link> {
        self.spacing.link()
    }

    /// Payload of the last data segment.
    pub fn last_length(&self) -> u32 {
        self.last_length
    }

    /// Whether all that was sent is acknowledged.
    pub fn drained(&self, una: i64) -> bool {
        una >= self.high
    }

    /// Time that the receiver's window and the retransmission timer took so far.
    pub fn held_ns(&self) -> Held {
        let [window_ns, timer_ns] = [Wait::Window, Wait::Silence].map(|wait| self.spent_ns[wait as usize]);
        Held { window_ns, timer_ns }
    }

    /// Whether a data segment follows the one before closely; its pause counts then.
    #[inline(always)]
    pub fn follows(&mut self, segment: &Segment, recovering: bool, quick_ns: i64) -> bool {
        let gap_ns = (segment.t_ns - self.last_ns).max(0);
        if gap_ns > quick_ns {
            return false;
        }
        let wait = if recovering { Wait::Recovery } else { Wait::Network };
        self.spent_ns[wait as usize] = self.spent_ns[wait as usize].saturating_add(gap_ns);
        self.usual_ns += (gap_ns - self.usual_ns) >> 3;
        true
    }

    /// A data segment passes after a pause; whether the application made it wait.
    #[inline(always)]
    pub fn judge(
        &mut self,
        segment: &Segment,
        seq: i64,
        now: &Circumstances,
        (halves, trains): (&Halves, &Trains),
    ) -> bool {
        let gap_ns = (segment.t_ns - self.last_ns).max(0);
        if i64::from(self.last_length) > now.unit && now.unit > 0 {
            self.spacing.behind((self.last_length, self.high), gap_ns);
        }
        let waited = self.blame(segment, seq, gap_ns, now, (halves, trains));
        // A pause counts, or what is slow from the first would never be usual; but not as what it is.
        let most_ns = self.usual_ns.saturating_mul(8).saturating_add(halves.slack_ns);
        self.usual_ns += (gap_ns.min(most_ns) - self.usual_ns) >> 3;
        waited
    }

    #[inline(always)]
    fn blame(
        &mut self,
        segment: &Segment,
        seq: i64,
        gap_ns: i64,
        now: &Circumstances,
        (halves, trains): (&Halves, &Trains),
    ) -> bool {
        let Circumstances { una, unit, recovering, sent, packets, before, divided } = *now;
        let (t_ns, before_ns, high) = (segment.t_ns, self.last_ns, self.high);
        let echoed = segment.options.timestamps.map(|(_, ecr)| ecr);
        // What it knew when it sent the segment before; it cannot have sent beyond the edge it knew.
        let now_ns = halves.near_now_ns();
        self.known.advance(before_ns, now_ns, self.stamped.then_some(self.last_ecr), |_, _| {});
        while self.known.edge >= 0 && high > self.known.edge && self.known.line.front().is_some() {
            self.known.hear_next();
        }
        let before_una = self.known.una;
        let in_flight = (high - before_una).max(0);
        self.peak = in_flight.max(self.peak - (self.peak >> 4));
        let orderly = self.heard && seq >= high && !recovering && una >= self.recover;
        let length = i64::from(self.length);
        // Most are full segments, and need no division.
        let partial = unit > 0 && length != unit && length % unit != 0;
        // What fills the window to its edge ended there, and not where the application's data did. Where it is not known which
        // edge the sender knew, what full segments leave of a window shows it. Where all that is in flight passed here, and what
        // the sender knew is known well, the edge was lower by no more than that.
        let (left, exact) = (self.known.edge - high, self.stamped || halves.beside_sender());
        let filled = self.known.edge >= 0
            && (left < unit
                || partial
                    && (left <= in_flight || !exact)
                    && (self.known.edge - self.known.una) % unit == length);
        let short = partial && !filled || self.writes_each(sent, in_flight, unit, halves);
        let written = orderly && self.written(short);
        // More than a sender ever waits for was open: what came soon enough to be released waited for the network.
        let open = self.known.edge < 0 || self.known.edge - high >= 3 * unit.max(1);
        if orderly && open && gap_ns <= halves.slack_ns {
            let mut prompted_ns = i64::MIN;
            self.known.advance(t_ns, now_ns, echoed, |_, (at_ns, _)| prompted_ns = at_ns);
            self.network(gap_ns, (t_ns, prompted_ns, halves.near_ns(), echoed), halves, false);
            return written;
        }
        let near_ns = halves.near_ns();
        // A sender may wait until a third of the window is open, or three segments (Linux: `tcp_tso_should_defer`).
        // Next to a sender that never sends longer ones it does not.
        let waits = divided || !halves.beside_sender();
        let third = if waits { ((self.known.edge - self.known.una) / 3).min(3 * unit) } else { 0 };
        let need = if orderly { i64::from(segment.length).min(unit).max(third).max(1) } else { unit.max(1) };
        let room = |edge: i64| edge < 0 || edge - high >= need;
        let mut opened_ns = room(self.known.edge).then_some(before_ns);
        let mut drained_ns = (self.known.una >= high).then_some(before_ns);
        let mut prompted_ns = i64::MIN;
        self.known.advance(t_ns, now_ns, echoed, |una, (at_ns, edge)| {
            let at_ns = at_ns.saturating_add(near_ns).clamp(before_ns, t_ns);
            if opened_ns.is_none() && room(edge) {
                opened_ns = Some(at_ns);
            }
            if drained_ns.is_none() && una >= high {
                drained_ns = Some(at_ns);
            }
            prompted_ns = at_ns;
        });
        // The persist timer fills what is left of a window that no full segment fits into (RFC 9293 section 3.8.6.1).
        if orderly && gap_ns >= SILENCE_NS && self.known.ends_with(segment, seq, unit) {
            opened_ns = None;
        }
        if gap_ns >= SILENCE_NS && drained_ns.is_some() {
            let timeout_ns = RTO_MIN_US * 1000 + halves.base_ns();
            self.writes.idle(gap_ns, timeout_ns, INITIAL * unit);
        }
        // What no ACK released after the end of a write is a write. A host itself takes no longer to react than this.
        let at = (t_ns, prompted_ns, near_ns, echoed);
        if short && self.pushed && seq >= high {
            let reaction_ns =
                if halves.beside_sender() { halves.slack_ns.min(HOST_NS) } else { halves.slack_ns };
            if gap_ns > reaction_ns && !self.known.prompted(at, reaction_ns) {
                self.schedule.write(t_ns, high, &self.spent_ns);
            }
        }
        let again = seq < high || recovering;
        if !self.heard && !again {
            self.spend(Wait::Unknown, gap_ns);
            return false;
        }
        if !orderly {
            self.writes.lost(high);
            let window_ns = opened_ns.unwrap_or(t_ns) - before_ns;
            self.parts.recovers(window_ns, high, self.spent_ns[Wait::Network as usize], trains.delivered());
            // While ACKs come, no timer is what it waits for.
            let silent_ns = gap_ns.min(t_ns.saturating_sub(prompted_ns));
            let timed_ns = if silent_ns < SILENCE_NS { 0 } else { silent_ns };
            self.spend(Wait::Silence, timed_ns);
            self.spend(Wait::Recovery, gap_ns - timed_ns);
            return false;
        }
        let full = |length: i64, pushed: bool| length == unit && pushed;
        let alone = in_flight == unit
            && full(length, self.pushed)
            && full(i64::from(segment.length), segment.has(flags::PSH));
        if alone && let Some(at_ns) = drained_ns {
            let silent_ns = t_ns - at_ns.max(before_ns);
            if self.refused.pause(segment.ip_id, silent_ns, halves.base_ns()) {
                self.spend(Wait::Refused, gap_ns);
                return true;
            }
        } else {
            self.refused.other();
        }
        let window_ns = opened_ns.unwrap_or(t_ns) - before_ns;
        if window_ns > 0 {
            self.held(window_ns, sent);
        }
        let rest_ns = gap_ns - window_ns;
        if rest_ns <= 0 {
            return written;
        }
        let slack_ns = halves.slack_ns;
        let idle = drained_ns.is_some_and(|at_ns| t_ns - at_ns.max(before_ns) > slack_ns);
        let prompted = self.known.prompted(at, slack_ns);
        // A full segment without PSH: more was to be sent already (RFC 9293 section 3.9.1.2).
        let more = !self.pushed && !short && self.pushes;
        // What is sent at once, before any ACK, comes at the distance that a slow link gives it.
        let first_flight = self.known.edge < 0 && rest_ns <= 4 * self.usual_ns;
        let late = rest_ns > slack_ns && !first_flight;
        // However short its segments, ten of them fill the first congestion window (RFC 6928), until an ACK comes.
        let first_window = before == INITIAL as u64 && before_una <= self.schedule.first_byte();
        let application = if !late || more {
            false
        } else if self.pushed && short {
            // Nothing was left to send. Full windows that end so are of stacks that send records, not bytes.
            idle || !prompted || (in_flight < 3 * unit && !first_window) || 2 * in_flight < self.peak
        } else {
            idle && rest_ns / 4 > self.usual_ns
        };
        if application {
            let under_way_ns = drained_ns.map_or(rest_ns, |at_ns| rest_ns - (t_ns - at_ns).min(rest_ns));
            self.spend(Wait::Drain, under_way_ns);
            self.spend(Wait::Application, rest_ns - under_way_ns);
            let left_out = segment.ip_id.wrapping_sub(self.id).wrapping_sub(packets as u16);
            if seq == high && (1..refused::FAR).contains(&left_out) {
                let paused_ns = rest_ns - under_way_ns;
                self.left_out_ns = self.left_out_ns.saturating_add(paused_ns);
                if paused_ns >= SILENCE_NS {
                    self.left_out_timed_ns = self.left_out_timed_ns.saturating_add(paused_ns);
                }
            }
            if !(self.pushed && short) {
                self.unmarked_ns = self.unmarked_ns.saturating_add(rest_ns - under_way_ns);
            }
        } else if more && idle && rest_ns >= SILENCE_NS {
            self.spend(Wait::Silence, rest_ns);
        } else {
            // Several segments at once, and all of them acknowledged long before the next: no window was full, no queue of the
            // host brings them so, and no timer is as short.
            let bursts = idle && !short && in_flight >= 2 * unit && rest_ns < SILENCE_NS;
            self.network(rest_ns, at, halves, bursts);
        }
        application || written
    }

    /// Whether each segment is a write of its own, as PSH on all of them shows: of a larger write only the last has it. Where
    /// they queue, more of them may wait to be sent.
    fn writes_each(&self, sent: u32, in_flight: i64, unit: i64, halves: &Halves) -> bool {
        // Several segments that a network interface divides may all have it.
        i64::from(self.length) <= unit
            && self.unpushed <= sent / SHARED
            && (sent >= WRITES || halves.beside_sender() && self.never_full(in_flight, unit))
            && halves.queued_ns() <= 2 * self.usual_ns + halves.base_ns() / 4
    }

    /// Whether no congestion window was ever full: it holds ten segments from the first (RFC 6928), until something is lost.
    fn never_full(&self, in_flight: i64, unit: i64) -> bool {
        !self.parts.lost() && self.writes.most().max(in_flight) < INITIAL * unit
    }

    /// A pause begins behind a segment that is `short` or not; whether the application wrote no faster before it. What
    /// the network seemed to take is its time then.
    #[inline(always)]
    fn written(&mut self, short: bool) -> bool {
        self.writes.pause(self.known.una, self.high);
        if !(short && self.pushed) {
            return false;
        }
        let [network, drain] = [Wait::Network, Wait::Drain].map(|wait| self.spent_ns[wait as usize]);
        let took_ns = self.writes.emptied(network.saturating_add(drain));
        self.parts.emptied(took_ns > 0);
        let of_network_ns = took_ns.min(network);
        self.spent_ns[Wait::Network as usize] -= of_network_ns;
        self.spent_ns[Wait::Drain as usize] -= took_ns - of_network_ns;
        self.spend(Wait::Application, took_ns);
        took_ns > 0
    }

    /// The network took this time until what passes `at` a time. Next to the sender no link is between: where no ACK released
    /// it, the sender paced itself. By its clock it shows that no queue of its own did, or by `bursts` of several segments.
    #[inline(always)]
    fn network(&mut self, ns: i64, at: (i64, i64, i64, Option<u32>), halves: &Halves, bursts: bool) {
        self.spend(Wait::Network, ns);
        if !halves.beside_sender() {
            return;
        }
        let (held, own) = (self.held_at > 0, bursts || halves.clock.waited_ns() == Some(0));
        if (held || own) && !self.known.prompted(at, halves.quick_ns) {
            if held {
                self.parts.paces(ns);
            }
            if own {
                self.parts.unprompted(ns);
            }
        }
    }

    /// The window held the sender. What it released then came spread, if a slow link is on the way: as long as only
    /// little was sent since it held it before, that time is of the window too.
    fn held(&mut self, window_ns: i64, sent: u32) {
        let network = &mut self.spent_ns[Wait::Network as usize];
        let spread_ns = (*network - self.network_before_ns).max(0);
        let mut of_window_ns = 0;
        if self.held_at > 0 && sent.wrapping_sub(self.held_at) <= RELEASED {
            *network -= spread_ns;
            of_window_ns = spread_ns;
        }
        (self.held_at, self.network_before_ns) = (sent.max(1), *network);
        self.parts.held(of_window_ns);
        self.spend(Wait::Window, window_ns + of_window_ns);
    }

    /// Time of loss recovery in which the receiver's window had no room for what was sent later.
    pub fn filled_ns(&self) -> i64 {
        self.parts.filled_ns(self.high)
    }

    /// What the network took before the first loss showed; all of it if none did.
    pub fn before_loss_ns(&self) -> i64 {
        self.parts.before_loss_ns(self.spent_ns[Wait::Network as usize])
    }

    /// What trains had shown of the link by then.
    pub fn delivered_before_loss(&self) -> Delivered {
        self.parts.delivered()
    }

    /// What of the receiver window's time it had room, and the sender paced itself.
    pub fn paced_ns(&self) -> i64 {
        self.parts.paced_ns()
    }

    /// What of the network's time no ACK released what was sent: the sender's window had room.
    pub fn unprompted_ns(&self) -> i64 {
        self.parts.unprompted_ns()
    }

    #[cfg(test)]
    pub fn fill(&mut self) {
        self.known.line.fill();
    }

    fn spend(&mut self, wait: Wait, ns: i64) {
        self.spent_ns[wait as usize] = self.spent_ns[wait as usize].saturating_add(ns);
    }

    /// The last data has passed: how long it was under way until its ACK.
    pub fn rest_ns(&self, last_advance_ns: Option<i64>) -> i64 {
        last_advance_ns.map_or(0, |at_ns| at_ns.saturating_sub(self.last_ns).max(0))
    }

    /// What of the application's time may be that of a queue before this point, if there is one: no write ended there.
    pub fn unmarked_ns(&self) -> i64 {
        self.unmarked_ns
    }

    /// What of the application's time ended with identifications left out, though everything came in order.
    pub fn left_out_ns(&self) -> (i64, i64) {
        (self.left_out_ns, self.left_out_timed_ns)
    }

    /// Segments that the sender's own queue refused, at least; `None` where nothing shows it.
    pub fn refused(&self) -> Option<u64> {
        self.refused.segments()
    }

    /// Whether the application wrote by its own clock, and what follows.
    pub fn kept(&self) -> Option<Kept> {
        self.schedule.kept((self.last_ns, self.high), &self.spent_ns)
    }

    /// Part of the time that something else than the network took. Loss recovery that no silence interrupts is its time too.
    pub fn otherwise_share(&self) -> f64 {
        let all_ns = self.spent_ns.iter().map(|&ns| ns as f64).sum::<f64>();
        let [network, recovery] =
            [Wait::Network, Wait::Recovery].map(|wait| self.spent_ns[wait as usize] as f64);
        1.0 - (network + recovery) / all_ns.max(1.0)
    }

    /// TSecr of the last data segment.
    pub fn last_echo(&self) -> Option<u32> {
        self.stamped.then_some(self.last_ecr)
    }

    /// Whether the data has timestamps, so that a queue before this point adds to the RTT here.
    pub fn stamped(&self) -> bool {
        self.stamped
    }

    /// Whether window limits could be told.
    pub fn window_known(&self) -> bool {
        self.window_known
    }
}
