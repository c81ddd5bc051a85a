//! What is kept of a direction in which something was missing, late or there twice.

use super::asked::Asks;
use super::behind::Behind;
use super::beyond::Beyond;
use super::cause::{Call, Undone};
use super::empty::LeftOut;
use super::judge::TIMER_NS;
use super::recent::{RECENT, Recent, Seen};
use super::response::Responses;
use super::unsettled::Unsettled;
use super::verdict::{Arrival, ArrivalVerdict, Evidence};
use crate::tracker::CAUSES;
use crate::tracker::chunked_deque::ChunkedDeque;
use crate::tracker::rows::Arrivals;
use std::collections::VecDeque;

/// Gaps remembered, filled ones too.
const GAPS: usize = 4096;
/// Calls for retransmissions remembered.
const CALLS: usize = 16;
/// Segments overtaken for long before a path is known for that.
const ENOUGH: u64 = 2;
/// Segments overtaken, and for each that was sent again, where packets overtake each other all the time.
const MANY: u64 = 8;
/// Runs of missing identifications remembered.
const MISSING: usize = 4096;
/// Identifications further back than this cannot be told from later ones.
const WINDOW: i64 = 30_000;

/// Sequence numbers that were skipped, and the first segment seen above them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    pub from: i64,
    pub end: i64,
    pub t_ns: i64,
    /// Its IP identification, not wrapped; `None` if there is none of use.
    pub id: Option<i64>,
    pub ts_val: Option<u32>,
}

/// What the arrivals of a direction come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArrivalCounts {
    /// Data segments below the highest byte seen before them, by [`ArrivalVerdict`].
    pub verdicts: [u64; ArrivalVerdict::COUNT],
    /// Retransmissions of which no earlier copy was seen, in segments on the wire, by cause.
    pub inferred: [u64; CAUSES],
    /// Segments sent again that had been lost before this point.
    pub upstream: u64,
    /// Segments sent again that had come by this point and were lost behind it, or their ACKs were.
    pub downstream: u64,
    /// Segments sent again although an earlier copy is known to have reached the receiver.
    pub needless: u64,
    /// Of these, those that only the time of their answer shows, with SACK.
    pub early: u64,
    /// The shortest time of such an answer.
    pub early_ns: i64,
    /// Segments of which two copies that the sender made came by.
    pub doubled: u64,
    /// Of these, those that the receiver still waited for after it had acknowledged what came by later than the first copy: that was
    /// lost behind this point. At the receiver, its host discarded it.
    pub passed_over: u64,
}

impl ArrivalCounts {
    /// Data segments below the highest byte seen before them.
    pub fn out_of_order(&self) -> u64 {
        self.verdicts.iter().sum()
    }

    /// A retransmission adds to what was sent again unseen, and to what was lost before this point. One of which a part had been
    /// seen is counted with those of which all had.
    #[inline(always)]
    pub(super) fn count(&mut self, row: &Arrival) {
        let [inferred, upstream] = row.counted();
        self.inferred[row.cause as usize] += inferred;
        self.upstream += upstream;
    }

    /// An RTT of so long was measured, in the end: no answer that took as long is too early.
    pub(in crate::tracker) fn measured(mut self, least_ns: i64) -> Self {
        if self.early > 0 && least_ns <= self.early_ns {
            self.needless = self.needless.saturating_sub(self.early);
            self.downstream += std::mem::take(&mut self.early);
        }
        self
    }

    /// The same, taken off.
    pub(super) fn discount(&mut self, row: &Arrival) {
        let [inferred, upstream] = row.counted();
        self.inferred[row.cause as usize] -= inferred;
        self.upstream = self.upstream.saturating_sub(upstream);
    }
}

/// The books of one direction.
#[derive(Debug, Clone, Default)]
pub struct Books {
    pub(super) counts: ArrivalCounts,
    pub(super) arrivals: Arrivals,
    /// In order, as they are opened; and runs of missing identifications, from the first to behind the last.
    gaps: ChunkedDeque<Gap>,
    missing: ChunkedDeque<(i64, i64)>,
    /// How many of all left out never came late, and in how many runs.
    missed: i64,
    missed_runs: u64,
    recent: Recent,
    /// Up to where the sender had surely sent by then, although nothing was seen of it.
    pub(super) sent_up_to: i64,
    /// Up to where an ACK of this side has shown that it had.
    pub(super) shown_up_to: i64,
    /// Packets of new data taken for lost because their numbers are missing.
    pub(super) claimed: i64,
    /// What came in order and may have been sent before.
    pub(super) unsettled: Unsettled,
    /// When the last segment that came again had come before, if a timer sent it.
    pub(super) copied_ns: Option<i64>,
    /// What was sent above all that was seen, in recovery.
    pub(super) beyond: Beyond,
    /// Recovery as it shows here: up to where, and whether a timer began it.
    pub(super) recovery: Option<(i64, bool)>,
    /// The ACK with which the sender takes a timer's recovery back, until it shows that it has heard it.
    pub(super) undone: Option<Undone>,
    /// The timer expired while fast recovery was under way: nothing takes that back.
    pub(super) expired_in_recovery: bool,
    /// Up to where data was sent again since a timer expired.
    pub(super) again_up_to: i64,
    /// What called for retransmissions lately.
    pub(super) calls: VecDeque<Call>,
    /// What ACKs asked for lately, where there is no SACK.
    pub(super) asks: Asks,
    /// Segments that were overtaken: for less than half of what a retransmission takes, and for longer.
    pub(super) overtaken: [u64; 2],
    /// A retransmission that a timer may have sent, if slow start follows; and the shortest time after which one was sent that
    /// ACKs had asked for.
    pub(super) doubted: Option<u32>,
    pub(super) quickest_ns: Option<i64>,
    /// What shows how soon a retransmission passes here.
    pub(super) responses: Responses,
    /// What may have been lost behind this point.
    pub(super) behind: Behind,
    /// Segments known to have been sent again needlessly by reports of duplicates alone.
    pub(super) reported: u64,
    /// Latest TSval.
    pub(super) ts_newest: Option<u32>,
    /// Segments without payload that were lost before this point.
    pub(super) left_out: LeftOut,
}

/// Puts one where it belongs, which is mostly behind all others, or in the place of one that begins with the same.
fn put<T: Copy>(all: &mut ChunkedDeque<T>, one: T, from: impl Fn(&T) -> i64) {
    if all.back().is_none_or(|last| from(last) < from(&one)) {
        return all.push_back(one);
    }
    let at = all.find(|other| from(other) < from(&one));
    match all.get_mut(at) {
        Some(same) if from(same) == from(&one) => *same = one,
        _ => _ = all.insert(at, one),
    }
}

impl Books {
    /// Every arrival that is not the next, or the latest of them.
    pub fn arrivals(&self) -> &[Arrival] {
        self.arrivals.kept()
    }

    /// What they come to.
    pub fn counts(&self) -> ArrivalCounts {
        self.counts
    }

    pub(super) fn open_gap(&mut self, gap: Gap) {
        if self.gaps.len() >= GAPS {
            self.gaps.pop_front();
        }
        put(&mut self.gaps, gap, |gap| gap.from);
    }

    /// The gap, filled or not, that a sequence number was in.
    pub(super) fn gap_at(&self, seq: i64) -> Option<&Gap> {
        let behind = self.gaps.find(|gap| gap.from <= seq);
        self.gaps.preceding(behind).and_then(|at| self.gaps.get(at)).filter(|gap| gap.end > seq)
    }

    /// Identifications that were left out.
    pub(super) fn miss(&mut self, from: i64, to: i64) {
        while let Some((first, _)) = self.missing.front()
            && (self.missing.len() >= MISSING || *first < to - WINDOW)
        {
            self.missing.pop_front();
        }
        put(&mut self.missing, (from, to), |run| run.0);
        self.missed += to - from;
        self.missed_runs += 1;
    }

    /// Packets of this direction that were sent and did not come by, as far as their identifications were left out: those
    /// with data, if nothing but the direction takes the numbers; and in how many runs.
    pub(super) fn unseen(&self) -> [u64; 2] {
        let packets = u64::try_from(self.missed - self.left_out.packets()).unwrap_or(0);
        [packets, self.missed_runs.min(packets)]
    }

    /// Takes an identification from those left out; whether it was one of them.
    pub(super) fn find(&mut self, id: i64, packets: i64) -> bool {
        let above = self.missing.find(|run| run.0 <= id);
        let Some(at) = self.missing.preceding(above) else { return false };
        let Some((from, to)) = self.missing.get(at).copied().filter(|run| id < run.1) else { return false };
        self.missed -= packets.min(to - id);
        let (before, behind) = (from < id, id + packets < to);
        if before {
            put(&mut self.missing, (from, id), |run| run.0);
        } else {
            self.missing.remove(at);
        }
        if behind {
            put(&mut self.missing, (id + packets, to), |run| run.0);
        }
        match (before, behind) {
            (true, true) => self.missed_runs += 1,
            (false, false) => self.missed_runs = self.missed_runs.saturating_sub(1),
            _ => {}
        }
        true
    }

    /// Something calls for a retransmission.
    pub(super) fn call(&mut self, call: Call) {
        match self.calls.back_mut() {
            Some(last) if last.una == call.una => last.high = call.high,
            _ => {
                if self.calls.len() >= CALLS {
                    self.calls.pop_front();
                }
                self.calls.push_back(call);
            }
        }
    }

    /// Whether anything that goes on with a byte where all that was seen ends may have been sent before.
    #[inline(always)]
    pub(super) fn expects(&self, seq: i64) -> bool {
        self.beyond.expects() || seq < self.sent_up_to || self.unsettled.may_hold(seq)
    }

    #[inline(always)]
    pub(super) fn remember(&mut self, seen: &Seen) {
        self.recent.push(seen);
    }

    /// The last copy of a byte that is remembered.
    pub(super) fn copy_of(&self, seq: i64) -> Option<Seen> {
        self.recent.copy_of(seq).or_else(|| self.filler_of(seq))
    }

    /// When the last copy of a byte came, if that was a retransmission, although it is the only one that was seen.
    pub(super) fn sent_again_at(&self, seq: i64) -> Option<i64> {
        let copy = self.copy_of(seq)?;
        let row = self.arrivals.get(copy.arrival?)?;
        (row.verdict == ArrivalVerdict::Retransmission).then_some(copy.t_ns)
    }

    /// What filled a gap there, longer ago.
    fn filler_of(&self, seq: i64) -> Option<Seen> {
        let (place, row) = self.arrivals.filler_of(seq, RECENT)?;
        Some(Seen {
            seq: row.seq,
            end: row.end(),
            t_ns: row.t_ns,
            id: None,
            header: None,
            ts_val: None,
            arrival: Some(place),
        })
    }

    /// Whether any of what is remembered above a byte is so.
    pub(super) fn any_above(&self, seq: i64, is: impl Fn(&Seen) -> bool) -> bool {
        self.recent.any_above(seq, is)
    }

    /// The first data segment that is remembered.
    pub(super) fn oldest(&self) -> Option<Seen> {
        self.recent.oldest()
    }

    /// When the last data came that is remembered.
    pub(super) fn last_ns(&self) -> Option<i64> {
        self.recent.last_ns()
    }

    /// Whether nothing came since.
    pub(super) fn is_last(&self, seen: &Seen) -> bool {
        self.recent.is_last(seen)
    }

    /// When the n-th segment came from a time on.
    pub(super) fn nth_since(&self, t_ns: i64, n: usize) -> Option<i64> {
        let oldest = self.recent.oldest_ns().is_some_and(|oldest_ns| oldest_ns > t_ns);
        if oldest { Some(t_ns) } else { self.recent.nth_since(t_ns, n) }
    }

    /// The recovery that retransmissions show goes on until this is acknowledged.
    pub(in crate::tracker) fn recovers_until(&self) -> i64 {
        self.recovery.map_or(0, |(up_to, _)| up_to)
    }

    /// A segment was overtaken, by so much, where a retransmission takes so long.
    pub(super) fn overtaken_by(&mut self, lag_ns: i64, loop_ns: i64) {
        self.overtaken[usize::from(lag_ns >= loop_ns / 2)] += 1;
    }

    /// Whether this path overtakes so often, and for so long, that packets are overtaken for more than the smallest
    /// round trip too. If its round trip were only told too long, none would be overtaken for a short time.
    pub(super) fn overtakes_for_long(&self) -> bool {
        let again = self.counts.verdicts[ArrivalVerdict::Retransmission as usize];
        let [short, long] = self.overtaken;
        long >= ENOUGH && short >= long.saturating_mul(2) && long > again / 3
    }

    /// Whether packets overtake each other all the time here, and hardly any is lost.
    pub(super) fn shuffles(&self) -> bool {
        let [overtaken, again] = [ArrivalVerdict::Reordered, ArrivalVerdict::Retransmission]
            .map(|verdict| self.counts.verdicts[verdict as usize]);
        overtaken >= MANY && overtaken >= again.saturating_mul(MANY)
    }

    /// The longest time without data since then, of what is remembered.
    pub(super) fn longest_pause_since(&self, t_ns: i64) -> i64 {
        self.recent.longest_pause_since(t_ns)
    }

    /// Whether nothing was sent again for so long that no recovery goes on.
    pub(super) fn is_calm(&self, t_ns: i64) -> bool {
        let again = |row: &Arrival| row.verdict == ArrivalVerdict::Retransmission;
        let last = self.arrivals.backwards().take(RECENT).find(|(_, row)| again(row));
        last.is_none_or(|(_, row)| t_ns - row.t_ns >= TIMER_NS)
    }

    /// How long ago a segment repeated the bytes right before this one; `None` if the last arrival did not. Senders
    /// repeat in turn; the network hardly delivers neighbours twice.
    pub(super) fn repeats_in_turn(&self, t_ns: i64, seq: i64) -> Option<i64> {
        let (_, last) = self.arrivals.backwards().next()?;
        let repeats = match last.verdict {
            ArrivalVerdict::Retransmission => !last.fresh || last.evidence == Evidence::InTurn,
            ArrivalVerdict::NetworkDuplicate => last.evidence.is_pace(),
            _ => false,
        };
        (repeats && last.end() == seq).then_some(t_ns - last.t_ns)
    }

    /// Notes the timestamp of a segment.
    pub(super) fn stamp(&mut self, ts_val: Option<u32>) {
        if let Some(val) = ts_val
            && self.ts_newest.is_none_or(|newest| (val.wrapping_sub(newest) as i32) > 0)
        {
            self.ts_newest = Some(val);
        }
    }
}
