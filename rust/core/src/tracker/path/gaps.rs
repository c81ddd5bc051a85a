//! What the sender waited for between two data segments, from its own view half a round trip away.
//!
//! An ACK that passes here reaches the sender, and what it releases passes here, one half round trip later
//! ([`Halves::near_ns`]); with timestamps (RFC 7323) the data says itself which ACK its sender had seen.

use super::half::Halves;
use super::limits::Wait;
use super::line::Line;
use crate::segment::{Segment, flags};
use crate::tracker::fields::{Fields, Walk, walk_over};
use crate::tracker::sender::Sender;

/// A sender silent for so long with more to send waits for its retransmission timer (Linux: `TCP_RTO_MIN`).
const SILENCE_NS: i64 = 180_000_000;

/// Segments that an ACK of a small window releases at most.
const RELEASED: u32 = 16;

/// Pauses of one direction.
#[derive(Debug, Clone, Default)]
pub(super) struct Gaps {
    /// Nanoseconds by [`Wait`].
    pub spent_ns: [i64; Wait::COUNT],
    /// How many pauses of the receiver's window and of the application there were.
    pub counts: [u32; Wait::COUNT],
    /// When the last data segment passed, and one past the highest byte.
    pub last_ns: i64,
    high: i64,
    /// TSecr of the last data segment.
    last_ecr: u32,
    stamped: bool,
    /// Of the last data segment: the buffer was empty behind it, as its PSH says; it was no full one.
    pushed: bool,
    short: bool,
    /// Segments with PSH.
    pushes: u32,
    /// What the sender knew when it sent the last: cumulative ACK and right edge (-1: unknown).
    una: i64,
    edge: i64,
    line: Line,
    /// Usual distance of segments, and how much was in flight lately at most.
    usual_ns: i64,
    peak: i64,
    /// Loss recovery lasts until this is acknowledged.
    recover: i64,
    /// Segments sent, and how many had been, and what the network had taken, when the window last held the sender.
    sent: u32,
    held_at: u32,
    network_before_ns: i64,
    /// Whether the edge of the window was ever known, and whether an ACK was heard at all.
    window_known: bool,
    heard: bool,
}

impl Fields for Gaps {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Gaps {
            spent_ns,
            counts,
            last_ns,
            high,
            last_ecr,
            stamped,
            pushed,
            short,
            pushes,
            una,
            edge,
            line,
            usual_ns,
            peak,
            recover,
            sent,
            held_at,
            network_before_ns,
            window_known,
            heard,
        } = self;
        walk.time(last_ns);
        walk_over!(walk: spent_ns, counts, high, last_ecr, stamped, pushed, short, pushes, una, edge, line);
        walk_over!(walk: usual_ns, peak, recover, sent, held_at, network_before_ns, window_known, heard);
    }
}

impl Gaps {
    /// The first segment that is looked at. What went before fitted into the initial window: only the application
    /// can have spread it.
    pub fn begin(&mut self, segment: &Segment, end: i64, own: &Sender) {
        let first_ns = own.totals.first_data_ns.unwrap_or(segment.t_ns);
        self.spent_ns[Wait::Application as usize] = segment.t_ns.saturating_sub(first_ns).max(0);
        (self.una, self.edge) = (own.snd_una, -1);
        self.high = end;
        self.keep(segment, own.unit());
    }

    fn keep(&mut self, segment: &Segment, unit: i64) {
        self.sent = self.sent.wrapping_add(1);
        self.last_ns = segment.t_ns;
        if let Some((_, ecr)) = segment.options.timestamps {
            (self.last_ecr, self.stamped) = (ecr, true);
        }
        self.pushed = segment.has(flags::PSH);
        self.pushes += u32::from(self.pushed);
        self.short = unit > 0 && i64::from(segment.length) % unit != 0;
    }

    /// An ACK passes. `suspects`: what had been sent when duplicates told of a loss.
    #[inline]
    pub fn hear(&mut self, segment: &Segment, ack: i64, edge: i64, half_ns: i64, suspects: Option<i64>) {
        let ts_val = segment.options.timestamps.map_or(0, |(val, _)| val);
        self.line.push(segment.t_ns, ack, edge, ts_val, half_ns);
        if let Some(high) = suspects
            && ack >= self.recover
        {
            self.recover = high;
        }
        self.heard = true;
        self.window_known |= edge >= 0;
    }

    /// Time that the receiver's window took so far.
    pub fn window_ns(&self) -> i64 {
        self.spent_ns[Wait::Window as usize]
    }

    /// A data segment passes; whether the application made it wait. `una` is what was acknowledged here.
    #[inline]
    pub fn send(
        &mut self,
        segment: &Segment,
        seq: i64,
        una: i64,
        unit: i64,
        halves: &Halves,
        recovering: bool,
    ) -> bool {
        let (length, t_ns) = (i64::from(segment.length), segment.t_ns);
        let gap_ns = t_ns.saturating_sub(self.last_ns).max(0);
        let mut waited = false;
        if gap_ns <= halves.quick_ns {
            let wait = if recovering { Wait::Recovery } else { Wait::Network };
            self.spent_ns[wait as usize] = self.spent_ns[wait as usize].saturating_add(gap_ns);
        } else {
            waited = self.judge(segment, seq, una, gap_ns, unit, halves, recovering);
        }
        // A pause counts, or what is slow from the first would never be usual; but not as what it is.
        self.usual_ns += (gap_ns.min(self.usual_ns.saturating_mul(8).saturating_add(halves.slack_ns))
            - self.usual_ns)
            >> 3;
        self.high = self.high.max(seq.saturating_add(length));
        self.keep(segment, unit);
        waited
    }

    #[inline(never)]
    #[expect(clippy::too_many_arguments)]
    fn judge(
        &mut self,
        segment: &Segment,
        seq: i64,
        una: i64,
        gap_ns: i64,
        unit: i64,
        halves: &Halves,
        recovering: bool,
    ) -> bool {
        let (t_ns, near_ns) = (segment.t_ns, halves.near_ns());
        let before_ns = self.last_ns;
        // What it knew when it sent the segment before; it cannot have sent beyond the edge it knew.
        let now_ns = halves.near_now_ns();
        self.advance(before_ns, now_ns, self.stamped.then_some(self.last_ecr), |_, _| {});
        while self.edge >= 0 && self.high > self.edge && self.line.front().is_some() {
            self.hear_next();
        }
        let high = self.high;
        // A sender may wait until a third of the window is open, or three segments (Linux: `tcp_tso_should_defer`).
        let third = ((self.edge - self.una) / 3).min(3 * unit);
        let need = i64::from(segment.length).min(unit).max(third).max(1);
        let room = |edge: i64| edge < 0 || edge - high >= need;
        let in_flight = (high - self.una).max(0);
        self.peak = in_flight.max(self.peak - (self.peak >> 4));
        let mut opened_ns = room(self.edge).then_some(before_ns);
        let mut drained_ns = (self.una >= high).then_some(before_ns);
        let mut prompted_ns = i64::MIN;
        let echoed = segment.options.timestamps.map(|(_, ecr)| ecr);
        self.advance(t_ns, now_ns, echoed, |una, (at_ns, edge)| {
            let at_ns = at_ns.saturating_add(near_ns).clamp(before_ns, t_ns);
            if opened_ns.is_none() && room(edge) {
                opened_ns = Some(at_ns);
            }
            if drained_ns.is_none() && una >= high {
                drained_ns = Some(at_ns);
            }
            prompted_ns = at_ns;
        });
        if !self.heard {
            self.spend(Wait::Unknown, gap_ns);
            return false;
        }
        if seq < high || recovering || una < self.recover {
            self.spend(if gap_ns < SILENCE_NS { Wait::Recovery } else { Wait::Silence }, gap_ns);
            return false;
        }
        let window_ns = opened_ns.unwrap_or(t_ns).saturating_sub(before_ns);
        if window_ns > 0 {
            self.held(window_ns);
        }
        let rest_ns = gap_ns - window_ns;
        if rest_ns <= 0 {
            return false;
        }
        let slack_ns = halves.slack_ns;
        let idle = drained_ns.is_some_and(|at_ns| t_ns.saturating_sub(at_ns.max(before_ns)) > slack_ns);
        let prompted = prompted_ns > i64::MIN && t_ns.saturating_sub(prompted_ns) <= slack_ns;
        // A full segment without PSH: more was to be sent already (RFC 9293 section 3.9.1.2).
        let more = !self.pushed && !self.short && self.pushes > 0;
        let late = rest_ns > slack_ns;
        let application = if !late || more {
            false
        } else if self.pushed && self.short {
            // Nothing was left to send. Full windows that end so are of stacks that send records, not bytes.
            idle || !prompted || in_flight < 3 * unit || 2 * in_flight < self.peak
        } else {
            idle && rest_ns / 4 > self.usual_ns
        };
        if application {
            let under_way_ns =
                drained_ns.map_or(rest_ns, |at_ns| rest_ns - t_ns.saturating_sub(at_ns).min(rest_ns));
            self.spend(Wait::Drain, under_way_ns);
            self.spend(Wait::Application, rest_ns - under_way_ns);
        } else if more && idle && rest_ns >= SILENCE_NS {
            self.spend(Wait::Silence, rest_ns);
        } else {
            self.spend(Wait::Network, rest_ns);
        }
        application
    }

    /// The window held the sender. What it released then came spread, if a slow link is on the way: as long as only
    /// little was sent since it held it before, that time is of the window too.
    fn held(&mut self, window_ns: i64) {
        let network = &mut self.spent_ns[Wait::Network as usize];
        let spread_ns = (*network - self.network_before_ns).max(0);
        let mut all_ns = window_ns;
        if self.held_at > 0 && self.sent.wrapping_sub(self.held_at) <= RELEASED {
            *network -= spread_ns;
            all_ns += spread_ns;
        }
        (self.held_at, self.network_before_ns) = (self.sent.max(1), *network);
        self.spend(Wait::Window, all_ns);
    }

    #[cfg(test)]
    pub fn fill(&mut self) {
        self.line.fill();
    }

    fn spend(&mut self, wait: Wait, ns: i64) {
        self.spent_ns[wait as usize] = self.spent_ns[wait as usize].saturating_add(ns);
        self.counts[wait as usize] = self.counts[wait as usize].saturating_add(1);
    }

    fn hear_next(&mut self) {
        if let Some(heard) = self.line.front() {
            (self.una, self.edge) = (self.una.max(heard.ack), self.edge.max(heard.edge));
            self.line.pop();
        }
    }

    /// What the sender had heard when it sent what passes at a time. The timestamp that it echoes tells: all before
    /// that one; of those with the same one (they have ticks of a millisecond, mostly), and without timestamps of
    /// all, those that passed a half round trip before.
    fn advance(
        &mut self,
        t_ns: i64,
        half_ns: i64,
        echoed: Option<u32>,
        mut each: impl FnMut(i64, (i64, i64)),
    ) {
        let until_ns = t_ns.saturating_sub(half_ns);
        while let Some(heard) = self.line.front() {
            let known = match echoed.map(|ecr| heard.ts_val.wrapping_sub(ecr) as i32) {
                Some(..0) => heard.t_ns <= t_ns,
                Some(1..) => false,
                Some(0) | None => heard.t_ns <= until_ns,
            };
            if !known {
                break;
            }
            let at_ns = heard.t_ns;
            self.hear_next();
            each(self.una, (at_ns, self.edge));
        }
    }

    /// The last data has passed: what is left until its ACK, by what was known at its end.
    pub fn rest(&self, last_advance_ns: Option<i64>) -> (Wait, i64) {
        let ns = last_advance_ns.map_or(0, |at_ns| at_ns.saturating_sub(self.last_ns).max(0));
        (Wait::Drain, ns)
    }

    /// Whether window limits could be told.
    pub fn window_known(&self) -> bool {
        self.window_known
    }
}
