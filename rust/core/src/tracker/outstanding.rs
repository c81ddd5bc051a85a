//! What was sent and is not acknowledged yet: the scoreboard (RFC 2018, 6675).

use super::chunked_deque::{ChunkedDeque, Place};
use super::fields::{Fields, Walk, walk_over};

/// Entries kept per direction. Where no ACK is seen (one direction captured) the oldest are given up.
const CAPACITY: usize = 1 << 18;

/// A run of sequence numbers that were last sent together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// First sequence number.
    pub seq: i64,
    /// One past the last.
    pub end: i64,
    /// When it was first sent.
    pub first_ns: i64,
    /// When it was last sent.
    pub last_ns: i64,
    /// How often it was sent.
    pub transmissions: u16,
    /// Fillings when `reach` was found: after the next one it holds for this run only.
    filling: u16,
    /// Selectively acknowledged if not 0: then so are all runs within so many bytes from `seq`.
    reach: u32,
}

impl Sent {
    const BLANK: Sent =
        Sent { seq: 0, end: 0, first_ns: 0, last_ns: 0, transmissions: 1, filling: 0, reach: 0 };

    fn once(seq: i64, end: i64, t_ns: i64) -> Self {
        Sent { seq, end, first_ns: t_ns, last_ns: t_ns, ..Sent::BLANK }
    }

    /// It is sent once more.
    fn again(&mut self, t_ns: i64) {
        self.last_ns = t_ns;
        self.transmissions = self.transmissions.saturating_add(1);
    }

    /// Selectively acknowledged.
    #[inline]
    pub fn sacked(&self) -> bool {
        self.reach > 0
    }

    /// Up to where all is selectively acknowledged, after so many fillings.
    fn reached(&self, fillings: u16) -> i64 {
        if self.filling == fillings { self.seq + i64::from(self.reach) } else { self.end }
    }

    /// All is selectively acknowledged up to there, after so many fillings.
    fn points_to(&mut self, reached: i64, fillings: u16) {
        self.reach = u32::try_from(reached - self.seq).unwrap_or(self.reach);
        self.filling = fillings;
    }

    /// Begin later.
    fn cut(&mut self, seq: i64) {
        self.reach = self.reach.saturating_sub((seq - self.seq) as u32).max(u32::from(self.sacked()));
        self.seq = seq;
    }
}

/// Sent runs in sequence order, disjoint.
#[derive(Debug, Clone, Default)]
pub struct Outstanding {
    queue: ChunkedDeque<Sent>,
    /// How often a hole was filled, which may have split a stretch of selectively acknowledged runs.
    fillings: u16,
}

impl Outstanding {
    /// Remove all, and keep the room for a few.
    pub(super) fn empty(&mut self) {
        self.queue.empty();
        self.fillings = 0;
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Nothing outstanding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Give back the memory of an empty queue.
    pub fn release(&mut self) {
        self.queue = ChunkedDeque::default();
    }

    /// The run that holds a sequence number.
    pub fn at(&self, seq: i64) -> Option<&Sent> {
        // It is the first that is asked for most.
        if let Some(first) = self.queue.front()
            && first.end > seq
        {
            return (first.seq <= seq).then_some(first);
        }
        let place = self.queue.find(|s| s.end <= seq);
        self.queue.get(place).filter(|s| s.seq <= seq)
    }

    /// How long before the last run the one before it was sent; `None` if there are no two.
    pub(super) fn last_pause_ns(&self) -> Option<i64> {
        let last = self.queue.preceding(self.queue.find(|_| true))?;
        let before = self.queue.preceding(last)?;
        Some(self.queue.get(last)?.last_ns - self.queue.get(before)?.last_ns)
    }

    /// Something of each run, added up.
    #[inline(always)]
    pub(super) fn sum(&self, of: impl Fn(&Sent) -> u32) -> u32 {
        self.queue.sum(of)
    }

    /// The runs that hold sequence numbers from one up to another.
    pub(super) fn between(&self, seq: i64, end: i64) -> impl Iterator<Item = &Sent> {
        self.queue.from(self.queue.find(|run| run.end <= seq)).take_while(move |run| run.seq < end)
    }

    /// Runs in order.
    pub fn iter(&self) -> impl Iterator<Item = &Sent> {
        self.queue.iter()
    }

    /// `[seq, end)` was sent, for the first time or again.
    pub fn send(&mut self, seq: i64, end: i64, t_ns: i64) {
        match self.queue.back() {
            Some(last) if seq < last.end => {
                self.send_again(seq, end, t_ns);
                self.give_up();
            }
            _ => self.send_next(seq, end, t_ns),
        }
    }

    /// The same of what lies behind all of them.
    #[inline(always)]
    pub fn send_next(&mut self, seq: i64, end: i64, t_ns: i64) {
        // Filled in its place: moved there, it would be loaded in larger pieces than it was just stored in, and
        // that waits.
        if let Some(run) = self.queue.push_blank(Sent::BLANK) {
            (run.seq, run.end, run.first_ns, run.last_ns) = (seq, end, t_ns, t_ns);
        }
        if self.queue.len() > CAPACITY {
            self.give_up();
        }
    }

    #[cold]
    fn give_up(&mut self) {
        while self.queue.len() > CAPACITY {
            self.queue.pop_front();
        }
    }

    fn send_again(&mut self, seq: i64, end: i64, t_ns: i64) {
        // Most often it is one run as it was sent before.
        let place = self.queue.find(|s| s.end <= seq);
        if let Some(run) = self.queue.get_mut(place)
            && (run.seq, run.end) == (seq, end)
        {
            return run.again(t_ns);
        }
        // Or a hole, all of which had not been seen.
        if self.queue.get(place).is_none_or(|run| end <= run.seq) {
            self.queue.insert(place, Sent::once(seq, end, t_ns));
            return self.filled();
        }
        self.split(seq);
        self.split(end);
        let mut place = self.queue.find(|s| s.end <= seq);
        let mut cursor = seq;
        while cursor < end {
            match self.queue.get_mut(place) {
                Some(run) if run.seq == cursor => {
                    run.again(t_ns);
                    cursor = run.end;
                }
                other => {
                    // A hole: the capture had not seen these bytes before.
                    let stop = other.map_or(end, |run| run.seq.min(end));
                    place = self.queue.insert(place, Sent::once(cursor, stop, t_ns));
                    self.filled();
                    cursor = stop;
                }
            }
            place = self.queue.following(place);
        }
    }

    fn filled(&mut self) {
        self.fillings = self.fillings.wrapping_add(1);
        if self.fillings == 0 {
            // What was found 65536 fillings ago must not pass for new.
            for run in self.queue.iter_mut().filter(|run| run.sacked()) {
                run.reach = (run.end - run.seq) as u32;
            }
        }
    }

    /// Make `at` a boundary between runs.
    fn split(&mut self, at: i64) {
        let place = self.queue.find(|s| s.end <= at);
        if let Some(run) = self.queue.get_mut(place)
            && run.seq < at
        {
            let mut right = *run;
            run.end = at;
            right.cut(at);
            let next = self.queue.following(place);
            self.queue.insert(next, right);
        }
    }

    /// Everything below `ack` has arrived; `acked` sees each run (or part of a run) that was outstanding.
    #[inline]
    pub fn acknowledge(&mut self, ack: i64, mut acked: impl FnMut(&Sent)) {
        while let Some(run) = self.queue.front_mut() {
            if run.end <= ack {
                acked(run);
                self.queue.pop_front();
            } else {
                if run.seq < ack {
                    acked(&Sent { end: ack, ..*run });
                    run.cut(ack);
                }
                break;
            }
        }
    }

    /// `[left, right)` was selectively acknowledged; `fresh` sees each run that was not before.
    pub fn sack(&mut self, left: i64, right: i64, mut fresh: impl FnMut(&Sent)) {
        let mut place = self.queue.find(|s| s.end <= left);
        while self.queue.get(place).is_some_and(|run| run.seq < right) {
            let begin = place;
            let (mut reached, mut steps) = (i64::MIN, 0u32);
            while let Some(run) = self.queue.get_mut(place) {
                if run.seq >= right || (!run.sacked() && (run.seq < left || run.end > right)) {
                    break;
                }
                if !run.sacked() {
                    (run.reach, run.filling) = ((run.end - run.seq) as u32, self.fillings);
                    fresh(run);
                }
                reached = run.reached(self.fillings);
                place = self.past(place, reached);
                steps += 1;
            }
            if steps == 0 {
                place = self.queue.following(place);
            } else if steps > 1 {
                self.remember(begin, reached, steps);
            }
        }
    }

    /// The run after those that end at `reached`, the one at `place` among them.
    #[inline(always)]
    fn past(&self, place: Place, reached: i64) -> Place {
        self.queue.find_behind(place, |run| run.end <= reached)
    }

    /// Let the runs that were passed from `place` on, in so many steps, point to the end of their stretch, so that the
    /// next block that covers it does not walk through it again.
    #[inline(always)]
    fn remember(&mut self, place: Place, reached: i64, steps: u32) {
        // Most blocks have grown by one run: that ends the stretch, and points there already.
        if steps == 2
            && let Some(run) = self.queue.get_mut(place)
        {
            run.points_to(reached, self.fillings);
        } else {
            self.remember_all(place, reached);
        }
    }

    #[inline(never)]
    fn remember_all(&mut self, mut place: Place, reached: i64) {
        while let Some(run) = self.queue.get_mut(place)
            && run.end <= reached
        {
            let known = run.reached(self.fillings);
            run.points_to(reached, self.fillings);
            place = self.past(place, known);
        }
    }
}

impl Default for Sent {
    fn default() -> Self {
        Sent::once(0, 0, 0)
    }
}

impl Fields for Sent {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Sent { seq, end, first_ns, last_ns, transmissions, filling, reach } = self;
        walk.time(first_ns);
        walk.time(last_ns);
        walk_over!(walk: seq, end, transmissions, filling, reach);
    }
}

impl Fields for Outstanding {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Outstanding { queue, fillings } = self;
        walk_over!(walk: queue, fillings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(o: &Outstanding) -> Vec<(i64, i64, u16)> {
        o.iter().map(|s| (s.seq, s.end, s.transmissions)).collect()
    }

    #[test]
    fn retransmissions_split_runs() {
        let mut o = Outstanding::default();
        o.send(0, 3000, 1);
        o.send(3000, 4000, 2);
        o.send(500, 3500, 9);
        assert_eq!(runs(&o), [(0, 500, 1), (500, 3000, 2), (3000, 3500, 2), (3500, 4000, 1)]);
        let mut seen = 0;
        o.acknowledge(600, |s| seen += s.end - s.seq);
        assert_eq!(seen, 600);
        assert_eq!(o.iter().next().map(|s| s.seq), Some(600));
    }

    #[test]
    fn holes_are_filled_as_first_transmissions() {
        let mut o = Outstanding::default();
        o.send(0, 100, 1);
        o.send(300, 400, 2);
        o.send(50, 350, 3);
        assert_eq!(runs(&o), [(0, 50, 1), (50, 100, 2), (100, 300, 1), (300, 350, 2), (350, 400, 1)]);
    }

    #[test]
    fn sack_marks_whole_runs_once() {
        let mut o = Outstanding::default();
        o.send(0, 100, 1);
        o.send(100, 200, 1);
        let mut count = 0;
        o.sack(100, 200, |_| count += 1);
        o.sack(50, 200, |_| count += 1);
        assert_eq!(count, 1);
    }

    proptest! {
        /// Whatever is sent, again or late, and acknowledged: a block finds the runs that a walk over all finds.
        #[test]
        fn blocks_find_what_a_walk_finds(steps in prop::collection::vec((0u8..6, 0i64..3000, 1i64..600), 0..400)) {
            let mut o = Outstanding::default();
            for (t_ns, (action, seq, length)) in steps.into_iter().enumerate() {
                let end = seq + length;
                match action {
                    0 => o.acknowledge(seq / 8, |_| {}),
                    1..=3 => o.send(seq, end, t_ns as i64),
                    _ => {
                        let expected: Vec<_> = o
                            .iter()
                            .filter(|run| run.seq >= seq && run.end <= end && !run.sacked())
                            .map(|run| run.seq)
                            .collect();
                        let mut found = Vec::new();
                        o.sack(seq, end, |run| found.push(run.seq));
                        prop_assert_eq!(&found, &expected);
                    }
                }
                prop_assert!(o.iter().zip(o.iter().skip(1)).all(|(a, b)| a.end <= b.seq));
            }
        }
    }
}
