//! What the sender waited for between two data segments, from its own view half a round trip away.
//!
//! An ACK that passes here reaches the sender, and what it releases passes here, one half round trip later
//! ([`Halves::near_ns`]); with timestamps (RFC 7323) the data says itself which ACK its sender had seen.

mod pause;
mod recovery;
mod write_end;

pub(super) use pause::Circumstances;

use pause::again;

use super::Link;
use super::divided::Divided;
use super::half::Halves;
use super::known::Known;
use super::limits::Wait;
use super::parts::Parts;
use super::refused::Refused;
use super::schedule::{Kept, Schedule};
use super::spacing::Spacing;
use super::trains::{Delivered, Held};
use super::unscaled::Unscaled;
use super::writes::Writes;
use crate::segment::{Segment, flags};
use crate::tracker::arrivals::Books;
use crate::tracker::fields::{Fields, Walk, walk_answers, walk_over};
use crate::tracker::sender::Sender;

/// A sender silent for so long with more to send waits for its retransmission timer (Linux: `TCP_RTO_MIN`).
pub(super) const SILENCE_NS: i64 = 180_000_000;

/// What a part of all is counted in, and over how many of the last segments.
const ALL: u32 = 1 << 12;
const LATELY: u32 = 32;

/// A link of 600 kbit/s spreads the three packets before the first that is looked at over so long.
const SPREAD_NS: i64 = 60_000_000;

/// Of a loss recovery that duplicate ACKs tell of: the network may only have reordered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Suspected {
    /// When it began (0: none is suspected), and retransmissions that had come by then.
    since_ns: i64,
    again: u64,
    /// What it took, and how long the receiver's window had no room then.
    recovery_ns: i64,
    window_ns: i64,
}

impl Suspected {
    /// So much of loss recovery is of this one, if any is suspected; the receiver's window had no room for so long of it.
    fn took(&mut self, recovery_ns: i64, window_ns: i64) {
        if self.since_ns > 0 {
            self.recovery_ns += recovery_ns;
            self.window_ns += window_ns.min(recovery_ns);
        }
    }

    /// What is kept: what is short takes few bytes, the time before `last_ns` and what of all recovery none may be.
    fn walk<W: Walk>(&mut self, walk: &mut W, last_ns: i64, recovered_ns: i64) {
        let Suspected { since_ns, again, recovery_ns, window_ns } = self;
        let mut ago_ns = last_ns.wrapping_sub(*since_ns);
        let mut certain_ns = recovered_ns.wrapping_sub(*recovery_ns);
        walk_over!(walk: &mut ago_ns, &mut certain_ns, again, window_ns);
        (*since_ns, *recovery_ns) = (last_ns.wrapping_sub(ago_ns), recovered_ns.wrapping_sub(certain_ns));
    }
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
    /// What it acknowledged, the low bits.
    acked: u16,
    /// Whether any segment had PSH, and what part of the last ones had none (of [`ALL`]).
    pushes: bool,
    unpushed: u32,
    /// Whether the edge of the window was ever known, and whether an ACK was heard at all.
    window_known: bool,
    heard: bool,
    /// Usual distance of segments, and how much was in flight lately at most.
    usual_ns: i64,
    peak: i64,
    /// Loss recovery that duplicate ACKs tell of lasts until this is acknowledged.
    recover: i64,
    suspected: Suspected,
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
    /// What no SYN told: the payload of a full segment, and the windows of the receiver.
    pub divided: Divided,
    pub unscaled: Unscaled,
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
            acked,
            pushes,
            unpushed,
            known,
            usual_ns,
            peak,
            recover,
            suspected,
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
            divided,
            unscaled,
        } = self;
        walk.time(last_ns);
        walk_over!(walk: spent_ns, high, last_ecr, stamped, pushed, length, id, acked, pushes, unpushed);
        walk_over!(walk: known, usual_ns, peak, recover, writes, refused, schedule, unmarked_ns, left_out_ns, left_out_timed_ns, held_at, network_before_ns);
        let [mut loss, mut rest] = parts.any();
        let mut below = last_length != length;
        let mut spaced = spacing.any();
        let mut suspects = *suspected != Suspected::default();
        let mut untold = (&*divided, &*unscaled) != (&Divided::default(), &Unscaled::default());
        let mut since = high.wrapping_sub(spacing.from);
        since.walk(walk);
        walk_answers(
            walk,
            [window_known, heard, &mut loss, &mut rest, &mut suspects, &mut below, &mut spaced, &mut untold],
        );
        if untold {
            walk_over!(walk: divided, unscaled);
        } else {
            (*divided, *unscaled) = (Divided::default(), Unscaled::default());
        }
        if spaced {
            walk_over!(walk: spacing);
        } else {
            *spacing = Spacing::default();
        }
        spacing.from = high.wrapping_sub(since);
        if suspects {
            suspected.walk(walk, *last_ns, spent_ns[Wait::Recovery as usize]);
        } else {
            *suspected = Suspected::default();
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
    /// can have spread it, or, away from the sender, a slow link; or the largest `window` of the receiver so far had no room for more.
    pub fn begin(&mut self, segment: &Segment, end: i64, own: &Sender, halves: &Halves, window: i64) {
        let first_ns = own.totals.first_data_ns.unwrap_or(segment.t_ns);
        let took_ns = (segment.t_ns - first_ns).max(0);
        let by_link = !halves.beside_sender() && took_ns <= SPREAD_NS;
        // What was lost of so few segments, nothing but a timer repairs.
        let lost = own.totals.duplicate_bytes > 0 || own.arrival_counts().upstream > 0;
        let by_timer = took_ns >= SILENCE_NS && lost;
        let by_window = window > 0 && own.totals.max_flight + i64::from(segment.length) > window;
        let wait = if by_link {
            Wait::Network
        } else if by_timer {
            Wait::Silence
        } else if by_window {
            Wait::Window
        } else {
            Wait::Application
        };
        // Once all is acknowledged, there is nothing left that a timer could send.
        let seq = end.wrapping_sub(i64::from(segment.length));
        let idle_since_ns = own.totals.last_advance_ns.filter(|_| by_timer && own.snd_una >= seq);
        let idle_ns = idle_since_ns.map_or(0, |at_ns| (segment.t_ns - at_ns).clamp(0, took_ns));
        self.spent_ns[Wait::Application as usize] = idle_ns;
        self.spent_ns[wait as usize] = took_ns - idle_ns;
        if wait == Wait::Application && own.left_out() {
            self.add_left_out(took_ns);
        }
        self.schedule.begin(first_ns, own.sent.lowest().unwrap_or(self.high));
        self.known.begin(own.snd_una);
        (self.high, self.spacing.from) = (end, end);
        self.keep(segment, seq);
    }

    /// Identifications were left out at the end of a pause.
    fn add_left_out(&mut self, paused_ns: i64) {
        self.left_out_ns = self.left_out_ns.saturating_add(paused_ns);
        if paused_ns >= SILENCE_NS {
            self.left_out_timed_ns = self.left_out_timed_ns.saturating_add(paused_ns);
        }
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
        self.unpushed = self.unpushed - self.unpushed / LATELY + if pushed { 0 } else { ALL / LATELY };
        (self.last_length, self.id, self.acked) = (segment.length, segment.ip_id, segment.ack as u16);
    }

    /// The scale of the window shows only now: what the network seems to have taken so far, it may have taken.
    #[cold]
    pub fn window_shows(&mut self) {
        let ns = std::mem::take(&mut self.spent_ns[Wait::Network as usize]);
        self.spend(Wait::Unknown, ns);
    }

    /// An ACK passes.
    #[inline(always)]
    pub fn hear(&mut self, segment: &Segment, ack: i64, edge: i64, half_ns: i64) {
        let ts_val = segment.options.timestamps.map_or(0, |(val, _)| val);
        self.known.line.push(segment.t_ns, ack, edge, ts_val, half_ns);
        self.heard = true;
        // A window of nothing is one by any scale, and says nothing of others.
        self.window_known |= edge > ack;
    }

    /// Duplicates of an ACK tell of a loss among what was sent up to `high`. `away` from the sender it may have been reordered: what
    /// tells is whether any retransmission comes by from now on.
    pub fn suspect(&mut self, t_ns: i64, ack: i64, high: i64, away: bool, books: Option<&Books>) {
        if ack < self.recover {
            return;
        }
        self.recover = high;
        if away && self.suspected.recovery_ns == 0 {
            (self.suspected.since_ns, self.suspected.again) = (t_ns, again(books));
        }
    }

    /// A suspected recovery is over, and so many retransmissions came by until now. If none did in it, it was none: what it took is
    /// the network's time and the receiver window's.
    fn settle(&mut self, again: u64) {
        let Suspected { again: before, recovery_ns, window_ns, .. } = self.suspected;
        self.suspected = Suspected::default();
        if again == before {
            self.spent_ns[Wait::Recovery as usize] -= recovery_ns;
            self.spend(Wait::Window, window_ns);
            self.spend(Wait::Network, recovery_ns - window_ns);
            self.parts.was_none(window_ns);
        }
    }

    /// So much payload arrived at a time by an ACK of all up to `ack`; in loss recovery, if it is `recovering` or duplicate ACKs told of one.
    #[inline(always)]
    pub fn arrived(&mut self, t_ns: i64, bytes: i64, ack: i64, recovering: bool) {
        if recovering || ack < self.recover {
            self.parts.recover(bytes);
        }
        if !recovering {
            self.parts.recovered_by(ack, t_ns);
        }
    }

    /// Payload that arrived in loss recovery.
    pub fn recovered(&self) -> i64 {
        self.parts.recovered()
    }

    /// Whether a loss showed.
    pub fn lost(&self) -> bool {
        self.parts.lost()
    }

    /// The link that the time behind long segments shows.
    pub fn link_behind(&self) -> Option<Link> {
        self.spacing.link()
    }

    /// Most in flight at once as the sender saw it, up to what a congestion window holds from the first on.
    pub fn most_in_flight(&self) -> i64 {
        self.writes.most()
    }

    /// One past the highest byte that was looked at.
    pub fn high(&self) -> i64 {
        self.high
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

    /// What of that was within writes.
    pub fn spread_ns(&self) -> i64 {
        self.parts.spread_ns()
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
        1.0 - self.share_of(&[Wait::Network, Wait::Recovery])
    }

    /// Part of the time that the application took, or the receiver's window: not the network, nor a timer.
    pub fn held_share(&self) -> f64 {
        self.share_of(&[Wait::Application, Wait::Drain, Wait::Window])
    }

    /// Part of the time in which nothing was left to send.
    pub fn written_share(&self) -> f64 {
        self.share_of(&[Wait::Application, Wait::Drain])
    }

    fn share_of(&self, waits: &[Wait]) -> f64 {
        let all_ns = self.spent_ns.iter().map(|&ns| ns as f64).sum::<f64>();
        waits.iter().map(|&wait| self.spent_ns[wait as usize] as f64).sum::<f64>() / all_ns.max(1.0)
    }

    /// Of an application whose writes are known, and for what the sender waited.
    #[cfg(test)]
    pub fn of_writes(schedule: Schedule, spent_ns: [i64; Wait::COUNT]) -> Self {
        Gaps { schedule, spent_ns, last_ns: i64::MAX >> 1, ..Gaps::default() }
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
