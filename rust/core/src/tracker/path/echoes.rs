//! How long echoes took without what their data had waited before this point: what the ACKs waited on their way to the
//! sender, and the least that this half takes.

use crate::tracker::fields::{Walk, walk_over};

/// The last of them, nanoseconds each.
#[derive(Clone)]
pub(super) struct Echoes {
    /// When one was measured last (-1: never).
    pub last_ns: i64,
    /// The last ones, the newest first; -1: none.
    took: [i64; LAST],
    /// Of these, what half do not exceed (0: they are few; `None`: not found yet). Next to a sender nobody asks.
    usual_ns: Option<i64>,
    /// The least of all (-1: none).
    least_ns: i64,
    /// What the answer to the handshake took, whose timestamp is the one that the clock counts from (-1: unknown).
    pub answer_ns: i64,
}

impl std::fmt::Debug for Echoes {
    /// Without what follows from the others, found yet or not.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Echoes { last_ns, took, usual_ns: _, least_ns, answer_ns } = self;
        f.debug_struct("Echoes")
            .field("last_ns", last_ns)
            .field("took", took)
            .field("least_ns", least_ns)
            .field("answer_ns", answer_ns)
            .finish()
    }
}

impl Default for Echoes {
    fn default() -> Self {
        Echoes { last_ns: -1, took: [-1; LAST], usual_ns: Some(0), least_ns: -1, answer_ns: -1 }
    }
}

impl Echoes {
    /// What is kept of them; most connections have none. `some`: whether there are any.
    pub fn walk<W: Walk>(&mut self, walk: &mut W, some: bool) {
        if W::READS && !some {
            *self = Echoes { answer_ns: self.answer_ns, ..Echoes::default() };
        }
        if some {
            let Echoes { last_ns, took, usual_ns, least_ns, answer_ns: _ } = self;
            walk.time(last_ns);
            walk_over!(walk: took, least_ns);
            // It follows from the others.
            if W::READS {
                *usual_ns = None;
            }
        }
    }

    /// The clock is another than it seemed: nothing that was measured by it counts.
    #[cold]
    pub fn restart(&mut self) {
        *self = Echoes { last_ns: self.last_ns, answer_ns: self.answer_ns, ..Echoes::default() };
    }

    /// One took so long. With nothing under way (`idle`), the sender may have waited for anything.
    pub fn add(&mut self, took_ns: i64, idle: bool) {
        let took_ns = took_ns.max(0);
        if self.least_ns < 0 || took_ns < self.least_ns {
            self.least_ns = took_ns;
        }
        if !idle {
            self.took.copy_within(..LAST - 1, 1);
            self.took[0] = took_ns;
            self.usual_ns = None;
        }
    }

    /// Data came sooner than any before it: all that waited had waited so much longer than it seemed.
    #[cold]
    pub fn sooner(&mut self, by_ns: i64) {
        let sooner = |ns: &mut i64| {
            if *ns >= 0 {
                *ns = ns.saturating_sub(by_ns).max(0);
            }
        };
        self.took.iter_mut().for_each(sooner);
        sooner(&mut self.least_ns);
        self.usual_ns = None;
    }

    /// The least that this half takes, with as much of a queue before this point as the clock does not show, because it always
    /// stood there: `early_ns` is how much less it was at its best than when the handshake was answered. `near_ns` is the
    /// least that was measured at all, perhaps with less of it.
    #[inline(always)]
    pub fn empty_ns(&self, near_ns: i64, early_ns: i64) -> i64 {
        let answer_ns = if self.answer_ns >= 0 { (self.answer_ns - early_ns).max(0) } else { near_ns };
        if self.least_ns >= 0 { answer_ns.min(self.least_ns) } else { answer_ns }
    }

    /// What the ACKs wait beyond that, as a rule: what a sender waits for its application, and for its window, is in the longer ones.
    #[inline(always)]
    pub fn surplus_ns(&mut self, empty_ns: i64) -> i64 {
        let usual_ns = *self.usual_ns.get_or_insert_with(|| low_median(self.took));
        (usual_ns - empty_ns).max(0)
    }
}

/// How many stand for what ACKs wait, and from how many on.
const LAST: usize = 8;
const FEW: usize = 3;

/// A network that sorts eight: each of these is put in order.
const PAIRS: [(usize, usize); 19] = [
    (0, 2),
    (1, 3),
    (4, 6),
    (5, 7),
    (0, 4),
    (1, 5),
    (2, 6),
    (3, 7),
    (0, 1),
    (2, 3),
    (4, 5),
    (6, 7),
    (2, 4),
    (3, 5),
    (1, 4),
    (3, 6),
    (1, 2),
    (3, 4),
    (5, 6),
];

/// The lower median of those that are known (the others are negative); 0 if they are few. By a network: each comparison of
/// any other way to sort is a guess of the processor, half of them wrong.
#[inline(never)]
fn low_median(took: [i64; LAST]) -> i64 {
    let known = took.iter().filter(|took_ns| **took_ns >= 0).count();
    let mut sorted = took.map(|took_ns| if took_ns < 0 { i64::MAX } else { took_ns });
    for (a, b) in PAIRS {
        (sorted[a], sorted[b]) = (sorted[a].min(sorted[b]), sorted[a].max(sorted[b]));
    }
    if known < FEW { 0 } else { sorted[(known - 1) / 2] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The least and the usual one are shorter by what all data had waited; none of it was measured before the first.
    #[test]
    fn data_that_comes_sooner_shortens_all() {
        let mut echoes = Echoes::default();
        echoes.sooner(50);
        assert_eq!((echoes.empty_ns(70, 0), echoes.surplus_ns(70)), (70, 0));
        [90, 95, 100].into_iter().for_each(|took_ns| echoes.add(took_ns, false));
        assert_eq!((echoes.empty_ns(70, 0), echoes.surplus_ns(70)), (70, 25));
        echoes.sooner(50);
        assert_eq!((echoes.empty_ns(70, 0), echoes.surplus_ns(40)), (40, 5));
    }

    proptest! {
        /// As found by sorting.
        #[test]
        fn a_low_median(took in prop::array::uniform8(-1i64..9)) {
            let mut known: Vec<i64> = took.into_iter().filter(|took_ns| *took_ns >= 0).collect();
            known.sort_unstable();
            let expected = if known.len() >= FEW { known[(known.len() - 1) / 2] } else { 0 };
            prop_assert_eq!(low_median(took), expected);
        }
    }
}
