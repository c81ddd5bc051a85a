//! What only a connection with losses or reordering has: kept apart, so that one without stays small.

use super::chunked_deque::{ChunkedDeque, Place};
use super::episode::Episode;
use super::foreseen::Foreseen;
use super::outcome::{Cause, Reordering, State};
use super::outstanding::Sent;
use super::sender::Sender;
use super::tail::LoneTail;
use super::undo::{TakenBack, Undo};
use std::ops::Range;

/// Sequence numbers sent again that later ACKs can still say something about.
const REMEMBERED: usize = 1 << 16;

/// One direction's losses and reordering.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub(super) episodes: Vec<Episode>,
    pub(super) reordering: Reordering,
    pub(super) undo: Undo,
    /// A recovery taken back, until the next segment confirms it: how, the state before, its recovery point.
    pub(super) taken: Option<(TakenBack, State, i64)>,
    /// What was sent again since, while it is open whether the host did so.
    pub(super) foreseen: Option<Foreseen>,
    /// Segments sent again by fast retransmit, or in slow start: nothing decided it.
    pub(super) fast_or_slow_start: u64,
    /// Segments sent again by a probe, or by the retransmission timer: nothing decided it.
    pub(super) probe_or_timeout: u64,
    /// A probe that may be data that the application wrote.
    pub(super) new_probe: Option<NewProbe>,
    /// The last ACK ended a recovery.
    pub(super) just_left: bool,
    /// The segment sent again last, if it is open which timer did it.
    pub(super) lone_tail: Option<LoneTail>,
    /// Causes that what followed put right, by record.
    pub(super) corrections: Vec<(u64, Cause)>,
    /// The network duplicates packets.
    pub(super) duplicating: bool,
    /// IP identification of the last ACK that reported a duplicate, and where that begins.
    pub(super) reported_by: (u16, i64),
    /// What the sender echoes next may show what became of the ACKs before a timeout.
    pub(super) awaits_echo: bool,
    /// Retransmitted segments on their way, probes apart (`retrans_out`).
    pub(super) retrans_out: u32,
    /// Segments of them that were marked lost in their turn.
    pub(super) lost_again: u64,
    /// Segments that were sent again as parts of a longer one, less one for each of these (Linux: `tcp_retrans_try_collapse`).
    pub(super) merged: u64,
    /// Expiries that what is sent again now may still say something about begin with this one.
    pub(super) counted_from: usize,
    /// When the timer expired last: what was sent again before counts as lost since.
    pub(super) expired_ns: i64,
    /// What was sent before this and overtaken had been marked lost by a recovery that was taken back since.
    pub(super) forgotten_ns: i64,
    /// When a probe was sent last.
    pub(super) probed_ns: i64,
    /// It sent data again, not new data.
    pub(super) probe_repeats: bool,
    /// Whether this host sends tail loss probes, if it has shown.
    pub(super) probes: Option<bool>,
    pub(super) cap: Cap,
    /// The ISN of a SYN+ACK before the last one, which began anew with another.
    pub(super) isn_before: Option<u32>,
    /// The latest retransmission of each sequence number, in their order.
    latest: ChunkedDeque<Latest>,
    /// The row of none is kept that begins above this sequence number: in a summary, soon of none that is not answered.
    kept_up_to: i64,
    /// Retransmissions below this sequence number have been answered.
    answered: i64,
    /// None from there up to this one is left to be.
    unanswered: i64,
    /// Plain ACKs of new data say nothing of what was lost: all that was outstanding when something last disturbed has
    /// been acknowledged, and every judgement is made.
    pub(super) calm: bool,
    /// What had been sent at the first ACK since then; `None` before that.
    disturbed_up_to: Option<i64>,
}

/// New data that was taken for a tail loss probe, and what held before.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewProbe {
    pub t_ns: i64,
    pub timer_start_ns: i64,
    pub probes: Option<bool>,
}

/// What was sent again last that begins with a sequence number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Latest {
    pub seq: i64,
    /// Its place in the list of the sender.
    place: u32,
    pub length: u32,
}

impl Latest {
    /// Its place in the list of the sender.
    pub fn place(&self) -> usize {
        self.place as usize
    }
}

/// What shows that the stack's largest timeout is set low (`tcp_rto_max_ms`, `TCP_RTO_MAX_MS`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cap {
    /// What the timer waited last when that was less than estimated; 0 if it never was.
    pub last_ns: i64,
    /// Waits that agree.
    pub waits: u32,
    /// The shortest and the longest of them.
    pub shortest_ns: i64,
    /// The longest.
    pub longest_ns: i64,
    /// The largest timeout estimated at one of them.
    pub estimated_ns: i64,
    /// Packet number of the last.
    pub record: u64,
}

impl History {
    /// A segment was sent again: it has this place in the list.
    pub(super) fn remember(&mut self, seq: i64, place: usize, length: u32) {
        let latest = Latest { seq, place: place as u32, length };
        match self.latest.back() {
            Some(last) if seq <= last.seq => {
                let at = self.latest.find(|known| known.seq < seq);
                match self.latest.get_mut(at) {
                    Some(known) if known.seq == seq => *known = latest,
                    _ => _ = self.latest.insert(at, latest),
                }
            }
            _ => self.latest.push_back(latest),
        }
        self.answered = self.answered.min(seq);
        self.unanswered = self.unanswered.min(seq);
        if self.latest.len() > REMEMBERED {
            self.latest.pop_front();
        }
    }

    /// The row of one is kept that begins with a sequence number.
    pub(super) fn keeps(&mut self, seq: i64) {
        self.kept_up_to = self.kept_up_to.max(seq);
    }

    /// Whether the row of any may be kept that begins with a sequence number or above it.
    #[inline(always)]
    pub(super) fn may_keep(&self, seq: i64) -> bool {
        self.kept_up_to >= seq
    }

    /// The latest retransmissions that begin in a range.
    fn latest(&self, left: i64, right: i64) -> impl Iterator<Item = &Latest> {
        let from = (left < right).then(|| self.latest.find(|latest| latest.seq < left));
        from.into_iter().flat_map(move |from| self.until(from, right))
    }

    /// The same from a place on.
    fn until(&self, from: Place, right: i64) -> impl Iterator<Item = &Latest> {
        self.latest.from(from).take_while(move |latest| latest.seq < right)
    }

    /// The places of those that begin in a range.
    pub(super) fn between(&self, left: i64, right: i64) -> impl Iterator<Item = usize> {
        self.latest(left, right).map(Latest::place)
    }

    /// Those that begin in a range, and the last before it.
    pub(super) fn around(&self, left: i64, right: i64) -> impl Iterator<Item = &Latest> {
        let from = self.latest.find(|latest| latest.seq < left);
        self.until(self.latest.preceding(from).unwrap_or(from), right)
    }

    /// What a cumulative ACK covers and none before did, of what was sent again.
    pub(super) fn answered_by(&mut self, ack: i64) -> Range<i64> {
        let from = self.answered;
        self.answered = from.max(ack);
        // Most ACKs answer none, and do not look for any.
        let any = self.unanswered < ack;
        if any {
            let next = self.latest.find(|latest| latest.seq < ack);
            self.unanswered = self.latest.get(next).map_or(i64::MAX, |latest| latest.seq);
        }
        from..if any { ack } else { from }
    }

    /// Something was sent again, or was judged anew.
    pub(super) fn disturb(&mut self) {
        (self.calm, self.disturbed_up_to) = (false, None);
    }

    /// Whether new data may decide something.
    #[inline(always)]
    pub(super) fn awaits_new_data(&self) -> bool {
        self.taken.is_some() || self.awaits_echo || self.lone_tail.is_some() || self.undo.awaits_frto()
    }

    /// Whether all is over that ACKs can say something about, of what was sent again and the recovery from it.
    fn is_settled(&self) -> bool {
        self.unanswered == i64::MAX
            && !self.just_left
            && self.lone_tail.is_none()
            && !self.undo.all_reported()
            && self.episodes.last().is_none_or(|episode| episode.end_ns.is_some())
    }

    /// Whether a run was sent again, not by a probe, and the timer has not expired since (`TCPCB_SACKED_RETRANS`).
    pub(super) fn is_marked(&self, run: &Sent) -> bool {
        run.transmissions > 1 && run.last_ns >= self.expired_ns && run.last_ns != self.probed_ns
    }
}

impl Sender {
    /// Whether nothing disturbed so far, or all that did is over: an ACK of new data is only that then.
    #[inline(always)]
    pub(super) fn is_calm(&self) -> bool {
        self.history.as_ref().is_none_or(|history| history.calm)
    }

    /// After an ACK: whether what disturbed is over with it. One with SACK blocks, `selective`, disturbs itself.
    pub(super) fn calm_down(&mut self, selective: bool) {
        let Some(history) = &mut self.history else { return };
        if selective {
            history.disturb();
            return;
        }
        let up_to = *history.disturbed_up_to.get_or_insert(self.snd_max);
        history.calm = self.snd_una >= up_to
            && self.state == State::Open
            && self.sacked.is_empty()
            && self.timeouts.last().is_none_or(|last| last.answer_after_ns.is_some() && last.settled)
            && self.books.as_ref().is_none_or(|books| !books.doubts())
            && history.is_settled();
    }
}
