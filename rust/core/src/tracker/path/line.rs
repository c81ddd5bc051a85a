//! ACKs on their way to the sender: they passed this point, and the sender learns of them half a round trip later.

use crate::tracker::fields::{Fields, Walk, walk_over};

/// ACKs told apart at a time; where more are under way, neighbours count as one, which is heard of as late as the last.
const PLACES: usize = 12;
/// Times that ACKs are told apart within a half round trip.
const STEPS: i64 = 8;

/// What an ACK told, and those right before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Heard {
    /// When the first of them passed.
    since_ns: i64,
    /// When the last of them passed.
    pub t_ns: i64,
    /// Highest cumulative ACK.
    pub ack: i64,
    /// Highest right edge of the window; -1 if unknown.
    pub edge: i64,
    /// TSval of the last.
    pub ts_val: u32,
}

/// The highest right edge of the window up to an ACK; behind a window of which the scale is unknown, it is unknown.
#[inline(always)]
pub(super) fn later_edge(before: i64, edge: i64) -> i64 {
    if edge < 0 { edge } else { before.max(edge) }
}

impl Fields for Heard {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Heard { since_ns, t_ns, ack, edge, ts_val } = self;
        walk.time(since_ns);
        walk.time(t_ns);
        walk_over!(walk: ack, edge, ts_val);
    }
}

/// In their order.
#[derive(Clone, Default)]
#[repr(C)]
pub(super) struct Line {
    /// ACKs within so many nanoseconds are one.
    apart_ns: i64,
    first: u8,
    count: u8,
    held: [Heard; PLACES],
}

impl std::fmt::Debug for Line {
    /// Those held, in order: where in the ring they are is nobody's business.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries((0..self.count).map(|place| self.held[self.at(place)])).finish()
    }
}

impl Line {
    #[inline(always)]
    fn at(&self, place: u8) -> usize {
        let at = usize::from(self.first) + usize::from(place);
        if at < PLACES { at } else { at - PLACES }
    }

    /// The oldest.
    #[inline(always)]
    pub fn front(&self) -> Option<&Heard> {
        (self.count > 0).then(|| &self.held[usize::from(self.first)])
    }

    /// When the first passed, of those held, whose edge is so.
    pub fn first_with(&self, is: impl Fn(i64) -> bool) -> Option<i64> {
        (0..self.count)
            .map(|place| &self.held[self.at(place)])
            .find(|heard| is(heard.edge))
            .map(|heard| heard.t_ns)
    }

    /// The oldest has arrived.
    #[inline(always)]
    pub fn pop(&mut self) {
        self.first = self.at(1) as u8;
        self.count -= 1;
    }

    /// An ACK passes; `half_ns` is what it takes to the sender.
    #[inline(always)]
    pub fn push(&mut self, t_ns: i64, ack: i64, edge: i64, ts_val: u32, half_ns: i64) {
        if self.count == 0 {
            self.apart_ns = half_ns.max(0) / STEPS;
        } else {
            let last = self.at(self.count - 1);
            let last = &mut self.held[last];
            if t_ns.wrapping_sub(last.since_ns) < self.apart_ns {
                *last = Heard {
                    since_ns: last.since_ns,
                    t_ns,
                    ack: last.ack.max(ack),
                    edge: later_edge(last.edge, edge),
                    ts_val,
                };
                return;
            }
            if usize::from(self.count) == PLACES {
                self.thin();
            }
        }
        let place = self.at(self.count);
        self.held[place] = Heard { since_ns: t_ns, t_ns, ack, edge, ts_val };
        self.count += 1;
    }

    /// Of each two neighbours make one.
    #[cold]
    fn thin(&mut self) {
        let mut kept = [Heard::default(); PLACES];
        for (place, kept) in kept.iter_mut().take(PLACES / 2).enumerate() {
            let (old, new) = (self.held[self.at(2 * place as u8)], self.held[self.at(2 * place as u8 + 1)]);
            *kept = Heard {
                since_ns: old.since_ns,
                ack: old.ack.max(new.ack),
                edge: later_edge(old.edge, new.edge),
                ..new
            };
        }
        (self.held, self.first, self.count) = (kept, 0, (PLACES / 2) as u8);
        self.apart_ns = self.apart_ns.saturating_mul(2).max(1000);
    }
}

impl Fields for Line {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let mut ordered = [Heard::default(); PLACES];
        for place in 0..self.count {
            ordered[usize::from(place)] = self.held[self.at(place)];
        }
        let Line { held, first, count, apart_ns } = self;
        walk_over!(walk: count, apart_ns);
        (*held, *first) = (ordered, 0);
        held.iter_mut().take(usize::from(*count)).for_each(|heard| heard.walk(walk));
    }
}

#[cfg(test)]
impl Line {
    /// As many as are told apart.
    pub fn fill(&mut self) {
        (0..PLACES as i64).for_each(|at| self.push(at, at, at, 0, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However many pass: those held are in order, none is told of before it passed, and the last is there.
        #[test]
        fn nothing_is_heard_too_early(steps in prop::collection::vec((0i64..50, 0i64..100, any::<bool>()), 1..400)) {
            let (mut line, mut t_ns, mut ack) = (Line::default(), 0, 0);
            let mut passed = Vec::new();
            for (later, more, hears) in steps {
                (t_ns, ack) = (t_ns + later, ack + more);
                line.push(t_ns, ack, ack + 10, 0, 100);
                passed.push((t_ns, ack));
                let mut before = (i64::MIN, i64::MIN);
                for place in 0..line.count {
                    let heard = line.held[line.at(place)];
                    prop_assert!(heard.t_ns >= before.0 && heard.ack >= before.1);
                    prop_assert!(passed.iter().any(|&(t, a)| t <= heard.t_ns && a == heard.ack));
                    before = (heard.t_ns, heard.ack);
                }
                prop_assert_eq!(before, (t_ns, ack));
                if hears {
                    line.pop();
                    while line.front().is_some_and(|heard| heard.t_ns < t_ns - 100) { line.pop(); }
                }
            }
        }
    }
}
