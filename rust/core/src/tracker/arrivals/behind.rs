//! What was lost behind this point: segments that came by twice, less those of which it shows that the first copy had
//! arrived.
//!
//! It had if the receiver had selectively acknowledged it, reports it as a duplicate (RFC 2883), acknowledges it sooner
//! than the second copy can have been answered, or echoes a timestamp older than that of the second copy (RFC 3522); and,
//! without SACK, if its ACKs never stopped before it although they stopped before another, or if duplicate ACKs answer it.

use super::books::Books;
use crate::segment::Segment;
use crate::tracker::chunked_deque::{ChunkedDeque, Place};
use crate::tracker::sender::Sender;
use crate::tracker::timeout::soonest_ns;

/// Segments that are waited for, and as many that a duplicate may yet be reported of.
const DOUBTS: usize = 1024;

/// In this part of the shortest RTT no second copy is answered. That a queue was shorter than ever before makes the answer
/// sooner, too, but not by so much.
const SOON: i64 = 2;

/// RTTs of which the shortest is taken for that of the path.
pub(super) const SAMPLES: u64 = 10;

/// Segments that a delayed ACK acknowledges at most (RFC 5681 section 4.2).
const DELAYED: usize = 2;

/// A segment that came by again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Doubt {
    seq: i64,
    end: i64,
    t_ns: i64,
    ts_val: Option<u32>,
    /// Taken for lost: of every copy but the first.
    segments: u64,
    /// Of the last copy.
    last: u64,
    /// Known to have been sent again needlessly, and not reported as duplicates yet: a report of these is no news.
    known: u64,
}

/// What came by again, in the order of its first byte, while it can still turn out that the copy before had arrived.
#[derive(Debug, Clone, Default)]
pub(super) struct Behind {
    unanswered: Doubts,
    answered: Doubts,
    /// Without SACK: of what the last ACK covered, so many segments may yet be answered by duplicate ACKs.
    covered: u64,
    /// When the last of these came by.
    covered_ns: i64,
    /// Duplicate ACKs that answer these if what the receiver waits for arrives without being sent again.
    supposed: u64,
}

/// At most [`DOUBTS`], no two of which begin with the same byte.
#[derive(Debug, Clone, Default)]
struct Doubts(ChunkedDeque<Doubt>);

impl Doubts {
    /// Where what begins with a byte is.
    fn place(&self, seq: i64) -> Option<Place> {
        if self.0.back().is_none_or(|last| last.seq < seq) {
            return None;
        }
        let at = self.0.find(|doubt| doubt.seq < seq);
        self.0.get(at).filter(|doubt| doubt.seq == seq).map(|_| at)
    }

    /// Removes what begins with a byte.
    fn remove(&mut self, seq: i64) -> Option<Doubt> {
        let at = self.place(seq)?;
        let found = self.0.get(at).copied();
        self.0.remove(at);
        found
    }

    /// Adds one that begins with a byte that no other begins with; where there are too many, the first leaves.
    fn add(&mut self, doubt: Doubt) {
        if self.0.len() >= DOUBTS {
            self.0.pop_front();
        }
        if self.0.back().is_none_or(|last| last.seq < doubt.seq) {
            self.0.push_back(doubt);
        } else {
            let at = self.0.find(|other| other.seq < doubt.seq);
            self.0.insert(at, doubt);
        }
    }

    /// So many segments of these bytes had arrived twice; how many of them were known to have, and how many had been taken for
    /// lost.
    fn reported(&mut self, left: i64, right: i64, segments: u64) -> (u64, u64) {
        let mut at = self.0.find(|doubt| doubt.seq < left);
        let before = self.0.preceding(at);
        let reaches = |place| self.0.get(place).is_some_and(|doubt| doubt.end > left);
        // One that begins with the very byte is the last that may reach into them.
        let begins = self.0.get(at).is_some_and(|doubt| doubt.seq == left);
        if let Some(before) = before.filter(|&place| !begins && reaches(place)) {
            at = before;
        }
        let (mut known, mut taken) = (0, 0);
        while let Some(doubt) = self.0.get_mut(at)
            && doubt.seq < right
        {
            let no_news = doubt.known.min(segments - known - taken);
            doubt.known -= no_news;
            known += no_news;
            let part = doubt.segments.min(segments - known - taken);
            doubt.segments -= part;
            taken += part;
            at = self.0.following(at);
        }
        (known, taken)
    }
}

impl Behind {
    fn add(&mut self, mut doubt: Doubt) {
        for before in
            [&mut self.unanswered, &mut self.answered].into_iter().filter_map(|d| d.remove(doubt.seq))
        {
            doubt.segments = doubt.segments.saturating_add(before.segments);
            doubt.known = doubt.known.saturating_add(before.known);
        }
        self.unanswered.add(doubt);
    }

    /// So many of what was taken for lost had arrived twice.
    fn reported(&mut self, left: i64, right: i64, segments: u64) -> u64 {
        let (known, taken) = self.answered.reported(left, right, segments);
        taken + self.unanswered.reported(left, right, segments - known - taken).1
    }

    /// So many of what begins with a byte had arrived before they were sent again, by other evidence than a report.
    fn expect_report(&mut self, seq: i64, segments: u64) {
        for doubts in [&mut self.unanswered, &mut self.answered] {
            if let Some(doubt) = doubts.place(seq).and_then(|at| doubts.0.get_mut(at)) {
                doubt.known = doubt.known.saturating_add(segments);
                return;
            }
        }
    }
}

impl Books {
    /// Whether an ACK may yet settle what was lost behind this point.
    pub(in crate::tracker) fn doubts(&self) -> bool {
        !self.behind.unanswered.0.is_empty()
    }

    /// The copy before had arrived: so many segments were sent again needlessly.
    fn not_lost_behind(&mut self, segments: u64) {
        self.counts.downstream = self.counts.downstream.saturating_sub(segments);
        self.counts.needless += segments;
    }
}

impl Sender {
    /// Data passes that came by before: unless it is acknowledged by now, the copy before was lost, as far as it shows
    /// yet.
    pub(super) fn suspect_behind(&mut self, segment: &Segment, seq: i64, segments: u64) {
        let end = seq + i64::from(segment.length);
        let arrived = end <= self.snd_una || self.sacked.overlap(seq, end) == end - seq;
        let ts_val = segment.options.timestamps.map(|(val, _)| val);
        let passed_over = !arrived && self.is_passed_over(seq);
        let books = self.books.get_or_insert_default();
        books.counts.doubled += segments;
        if arrived {
            books.counts.needless += segments;
            books.behind.expect_report(seq, segments);
            return;
        }
        books.counts.downstream += segments;
        books.counts.passed_over += if passed_over { segments } else { 0 };
        books.behind.supposed = 0;
        let last = segments;
        books.behind.add(Doubt { seq, end, t_ns: segment.t_ns, ts_val, segments, last, known: 0 });
    }

    /// Whether the receiver still waits for these bytes, and has acknowledged what came by later than their first copy: selectively, or
    /// a retransmission of what is below them.
    fn is_passed_over(&self, seq: i64) -> bool {
        seq == self.snd_una && self.outstanding.at(seq).is_some_and(|sent| sent.first_ns < self.rack_ns)
    }

    /// An ACK advances from `snd_una`, with a report of duplicates or without.
    pub(in crate::tracker) fn settle_behind(
        &mut self,
        segment: &Segment,
        snd_una: i64,
        ack: i64,
        reports: bool,
    ) {
        // One that was opened while a queue stood has seen no short RTT yet.
        let far_ns = self.rtt.min().filter(|_| self.rtt.count >= SAMPLES).unwrap_or(0);
        let soon_ns = soonest_ns(far_ns / SOON, far_ns);
        let sack = self.sack_permitted;
        let Some(books) = &mut self.books else { return };
        let supposed = std::mem::take(&mut books.behind.supposed);
        books.not_lost_behind(supposed);
        let Behind { unanswered, answered, covered: left, covered_ns, .. } = &mut books.behind;
        (*left, *covered_ns) = (0, i64::MIN);
        if unanswered.0.front().is_none_or(|doubt| doubt.seq >= ack) {
            return;
        }
        let covered = || unanswered.0.from(Place::FIRST).take_while(|doubt| doubt.seq < ack);
        // With SACK nobody asks.
        let top = if sack { ack } else { covered().map(|doubt| doubt.end).max().unwrap_or(ack) };
        // A receiver that holds what lies above acknowledges each segment that it was waiting for at once: of many that one
        // ACK covers, it was waiting for the first alone.
        let many = !sack && covered().nth(DELAYED).is_some();
        let (mut arrived, mut lost, mut first) = (0, 0u64, true);
        let (mut early, mut early_ns) = (0, i64::MAX);
        // What was sent again before the last copy of what it was waiting for may have filled a gap above that.
        let head_ns = covered().next().filter(|head| head.seq <= snd_una).map_or(i64::MIN, |head| head.t_ns);
        while unanswered.0.front().is_some_and(|doubt| doubt.seq < ack)
            && let Some(doubt) = unanswered.0.pop_front()
        {
            let Doubt { seq, .. } = doubt;
            let stamps = segment.options.timestamps.zip(doubt.ts_val);
            let behind_ns = stamps.map(|((_, ecr), val)| ecr.wrapping_sub(val) as i32);
            let older =
                behind_ns.is_some_and(|ticks| !reports && (seq <= snd_una || many && !first) && ticks < 0);
            // One that echoes the second copy answers it, however soon: no round trip before met so short a queue.
            let answers = behind_ns.is_some_and(|ticks| ticks == 0);
            let too_soon = !answers && segment.t_ns.saturating_sub(doubt.t_ns) < soon_ns;
            // More than was sent again: it had waited for the first of it.
            let behind_head = doubt.t_ns >= head_ns;
            let waiting = !sack && seq > snd_una && ack > top && behind_head;
            // That some copy before the last had arrived does not tell which.
            let last = doubt.last.min(doubt.segments);
            let known = if waiting || too_soon || older { last } else { 0 };
            arrived += known;
            if sack && too_soon && !older {
                early += known;
                early_ns = early_ns.min(segment.t_ns.saturating_sub(doubt.t_ns));
            }
            if !sack {
                lost = lost.saturating_add(if behind_head { last - known } else { 0 });
                *covered_ns = (*covered_ns).max(doubt.t_ns);
            } else if known < doubt.segments {
                let left = doubt.segments - known;
                answered.add(Doubt { segments: left, known: doubt.known.saturating_add(known), ..doubt });
            }
            first = false;
        }
        // It had waited for one of them.
        *left = lost.saturating_sub(1);
        books.not_lost_behind(arrived);
        if early > 0 {
            let before_ns = if books.counts.early > 0 { books.counts.early_ns } else { i64::MAX };
            (books.counts.early, books.counts.early_ns) =
                (books.counts.early + early, before_ns.min(early_ns));
        }
    }

    /// Others between the same hosts measured an RTT of so long: all of its own may have waited in a queue.
    pub(in crate::tracker) fn others_measured(&mut self, least_ns: i64) {
        if let Some(books) = &mut self.books {
            books.counts = books.counts.measured(least_ns);
        }
    }

    /// An ACK repeats the one before. Each segment that had arrived before is answered by one at once (RFC 9293 section
    /// 3.10.7.4). Nothing else is while no new data can have been answered; and where the receiver waits for what was sent
    /// before the copies of what it has, or behind them once more, they arrive before all else.
    pub(in crate::tracker) fn repeats_ack(&mut self, t_ns: i64) {
        let Some(books) = self.books.as_mut().filter(|books| books.behind.covered > 0) else { return };
        let far_ns = self.rtt.min().unwrap_or(0);
        let first = match self.outstanding.at(self.snd_una) {
            Some(head) => {
                head.transmissions > 1
                    || head.first_ns < books.behind.covered_ns
                    || t_ns.saturating_sub(head.first_ns) < far_ns / 10 * 9
            }
            None => self.outstanding.is_empty(),
        };
        books.behind.covered -= 1;
        if first {
            books.not_lost_behind(1);
        } else {
            books.behind.supposed += 1;
        }
    }

    /// The receiver reports that these bytes arrived twice (RFC 2883).
    pub(in crate::tracker) fn arrived_twice(&mut self, left: i64, right: i64, segments: u64) {
        if let Some(books) = &mut self.books {
            let taken = books.behind.reported(left, right, segments);
            books.not_lost_behind(taken);
            books.reported += taken;
        }
    }

    /// Packets that the network duplicates are reported as well (RFC 3708 section 3): what was taken of reports is taken back.
    #[cold]
    pub(in crate::tracker) fn reports_prove_nothing(&mut self) {
        if let Some(books) = &mut self.books {
            let taken = std::mem::take(&mut books.reported);
            books.counts.needless = books.counts.needless.saturating_sub(taken);
            books.counts.downstream += taken;
        }
    }
}
