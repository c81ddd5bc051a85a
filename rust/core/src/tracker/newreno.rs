//! Duplicate ACKs of a connection without SACK, as a Linux sender counts them (`tcp_add_reno_sack`).
//!
//! It takes each for one segment that has arrived, and begins fast recovery at three of them (RFC 5681 section 3.2). If
//! more come than segments are outstanding, it takes them for reordering, and the number outstanding becomes its
//! threshold, be that less than three or more (`tcp_check_reno_reordering`). What is a duplicate differs from RFC 5681,
//! too: an ACK whose window is smaller is one (`tcp_may_update_window`).

use super::outcome::State;
use super::outstanding::Sent;
use super::sender::Sender;
use super::sending::CONTROL;
use crate::segment::Segment;

/// Duplicate ACKs that trigger a fast retransmit (RFC 5681 section 3.2).
const THRESHOLD: u32 = 3;
/// The largest threshold (Linux, `tcp_max_reordering`).
const MOST: u32 = 300;
/// Runs that are counted one by one; beyond them by their bytes.
const COUNTED: usize = 128;

/// One direction's duplicate ACKs.
#[derive(Debug, Clone, Default)]
pub struct NewReno {
    /// Segments that they stand for (`sacked_out`).
    arrived: u32,
    /// The threshold, if it is no longer that of RFC 5681 (`reordering`).
    threshold: Option<u32>,
    /// Window field of the ACK that the sender took its window from, and sequence number of it.
    window: Option<(u16, u32)>,
    /// When the threshold was reached, outside of a recovery.
    reached_ns: Option<i64>,
}

/// What an ACK did to a connection without SACK.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    /// State of the sender before it.
    pub state: State,
    /// The cumulative point moved.
    pub advanced: bool,
    /// All that had been sent when the recovery began is acknowledged.
    pub recovered: bool,
    /// Segments that were outstanding before it.
    pub out_before: u32,
    /// Segments that are outstanding, and of them those that count as lost.
    pub out: u32,
    pub lost: u32,
    /// New data was sent in this recovery.
    pub sent_new: bool,
}

/// How many segments were outstanding before an ACK.
#[derive(Debug, Clone, Copy)]
pub(super) enum Before {
    All(u32),
    /// So many more than after it.
    More(u32),
}

impl NewReno {
    fn threshold(&self) -> u32 {
        self.threshold.unwrap_or(THRESHOLD)
    }

    /// Whether an ACK without data that moves nothing is a duplicate; the window that it offers is noted.
    fn is_duplicate(&mut self, segment: &Segment, advanced: bool) -> bool {
        let (window, seq) = (segment.window, segment.seq);
        let updates = advanced
            || self.window.is_none_or(|(held, since)| {
                (seq.wrapping_sub(since) as i32) > 0 || (seq == since && (window > held || window == 0))
            });
        if updates {
            self.window = Some((window, seq));
        }
        !updates && segment.length == 0
    }

    fn on_ack(&mut self, t_ns: i64, counted: &Counted, duplicate: bool) {
        let acked = counted.out_before.saturating_sub(counted.out);
        if counted.advanced && acked > 0 {
            self.arrived = self.arrived.saturating_sub(acked - 1);
            self.check(counted, acked);
        }
        let counts = match counted.state {
            State::Open => true,
            State::Recovery => !counted.recovered,
            State::Loss => !counted.recovered && counted.sent_new,
        };
        let forgets = match counted.state {
            State::Open => counted.advanced,
            State::Recovery => counted.recovered,
            State::Loss => counted.advanced && !(counted.sent_new && duplicate),
        };
        if forgets {
            self.forget();
        }
        if duplicate && counts {
            self.arrived += 1;
            self.check(counted, 0);
        }
        if counted.state == State::Open && self.arrived >= self.threshold() {
            self.reached_ns.get_or_insert(t_ns);
        }
    }

    /// No more can have arrived than is outstanding and not lost.
    fn check(&mut self, counted: &Counted, acked: u32) {
        let holes = counted.lost.max(1).min(counted.out);
        if self.arrived + holes > counted.out {
            self.arrived = counted.out - holes;
            self.threshold = Some((counted.out + acked).min(MOST));
        }
    }

    /// What came before stands for nothing any more.
    pub(super) fn forget(&mut self) {
        (self.arrived, self.reached_ns) = (0, None);
    }

    /// Something sent before so many others arrived behind them.
    pub(super) fn widen(&mut self, segments: u32) {
        if segments > self.threshold() {
            self.threshold = Some(segments.min(MOST));
        }
    }

    /// Whether as many duplicate ACKs have come as begin fast recovery.
    pub(super) fn calls(&self) -> bool {
        self.reached_ns.is_some()
    }

    /// Since when.
    pub(super) fn called_ns(&self) -> Option<i64> {
        self.reached_ns
    }

    /// The sender began fast recovery: it takes no more for that than have come.
    pub(super) fn began(&mut self) {
        if self.arrived > 0 && self.arrived < self.threshold() {
            self.threshold = Some(self.arrived);
        }
        self.reached_ns = None;
    }

    /// Whether anything counts as arrived.
    pub(super) fn any(&self) -> bool {
        self.arrived > 0
    }
}

impl Sender {
    /// Segments outstanding, and those of them below a sequence number.
    #[inline(never)]
    pub(super) fn segments_out(&self, below: i64) -> (u32, u32) {
        let size = i64::from(self.segment_size().max(1));
        if self.outstanding.len() > COUNTED {
            let of = |bytes: i64| u32::try_from((bytes.max(0) + size - 1) / size).unwrap_or(u32::MAX);
            return (
                of(self.snd_max - self.snd_una),
                of(below.clamp(self.snd_una, self.snd_max) - self.snd_una),
            );
        }
        let of = |run: &Sent| self.segments_in(run.end - run.seq);
        let all = self.outstanding.sum(of);
        let lower = if below > self.snd_una {
            self.outstanding.sum(|run| if run.end <= below { of(run) } else { 0 })
        } else {
            0
        };
        (all, lower)
    }

    /// Segments on the wire of so many bytes that were sent together.
    #[inline(always)]
    fn segments_in(&self, bytes: i64) -> u32 {
        self.wire_segments(bytes as u32) as u32
    }

    /// Segments outstanding before an ACK, if it matters: without SACK, from the first duplicate on.
    #[inline]
    pub(super) fn segments_before(&self, segment: &Segment, ack: i64) -> Option<Before> {
        let counts = !self.sack_permitted && segment.flags & CONTROL == 0 && ack >= self.snd_una;
        let begins = ack == self.snd_una && segment.length == 0;
        (counts && (begins || self.newreno.is_some())).then(|| self.segments_covered(ack))
    }

    /// The same: what an ACK covers is counted here, and what it leaves once, when it is noted.
    #[inline(never)]
    fn segments_covered(&self, ack: i64) -> Before {
        if ack <= self.snd_una {
            return Before::More(0);
        }
        if self.outstanding.len() > COUNTED {
            return Before::All(self.segments_out(i64::MIN).0);
        }
        let mut more = 0;
        for run in self.outstanding.iter() {
            if run.seq >= ack {
                break;
            }
            let left = if run.end > ack { self.segments_in(run.end - ack) } else { 0 };
            more += self.segments_in(run.end - run.seq) - left;
        }
        Before::More(more)
    }

    /// An ACK of a connection without SACK, once what it acknowledges is noted; so many segments were outstanding before.
    /// Whether it is a duplicate.
    #[inline(never)]
    pub(super) fn count_duplicates(
        &mut self,
        segment: &Segment,
        state: State,
        advanced: bool,
        before: Before,
    ) -> bool {
        let lost_below = if state == State::Loss { self.recover } else { i64::MIN };
        let (out, below) = self.segments_out(lost_below);
        let out_before = match before {
            Before::All(all) => all,
            Before::More(more) => out + more,
        };
        let held = self.last_window_raw.map(|window| (window, segment.seq));
        let newreno =
            self.newreno.get_or_insert_with(|| Box::new(NewReno { window: held, ..NewReno::default() }));
        let duplicate = newreno.is_duplicate(segment, advanced) && out_before > 0;
        let counted = Counted {
            state,
            advanced,
            recovered: self.snd_una >= self.recover,
            out_before,
            out,
            lost: match state {
                State::Open => 0,
                State::Recovery => 1,
                State::Loss => below,
            },
            sent_new: self.snd_max > self.recover,
        };
        newreno.on_ack(segment.t_ns, &counted, duplicate);
        duplicate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(state: State, advanced: bool, out_before: u32, out: u32) -> Counted {
        Counted { state, advanced, recovered: false, out_before, out, lost: 0, sent_new: false }
    }

    #[test]
    fn three_begin_fast_recovery() {
        let mut newreno = NewReno::default();
        for _ in 0..2 {
            newreno.on_ack(1, &counted(State::Open, false, 10, 10), true);
            assert!(!newreno.calls());
        }
        newreno.on_ack(2, &counted(State::Open, false, 10, 10), true);
        assert_eq!(newreno.called_ns(), Some(2));
    }

    #[test]
    fn more_than_are_outstanding_are_reordering() {
        let mut newreno = NewReno::default();
        // One segment is outstanding: it cannot have arrived, and the threshold is one from now on.
        newreno.on_ack(1, &counted(State::Open, false, 1, 1), true);
        assert!(!newreno.calls());
        newreno.on_ack(2, &counted(State::Open, true, 4, 3), false);
        newreno.on_ack(3, &counted(State::Open, false, 3, 3), true);
        assert!(newreno.calls());
    }

    #[test]
    fn many_behind_a_burst_of_duplicates_raise_the_threshold() {
        let mut newreno = NewReno::default();
        let lost = Counted { lost: 1, ..counted(State::Recovery, false, 40, 40) };
        for _ in 0..45 {
            newreno.on_ack(1, &lost, true);
        }
        newreno.forget();
        for _ in 0..30 {
            newreno.on_ack(2, &counted(State::Open, false, 60, 60), true);
        }
        assert!(!newreno.calls());
    }
}
