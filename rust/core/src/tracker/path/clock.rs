//! What data waited before this point by the clock of its sender: TSval says when a segment left it (RFC 7323).

use crate::tracker::fields::{Fields, Walk, walk_over};

/// The clock of one end, as its TSval shows it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Ticks {
    /// How late its packets come by the clock, at their best, and when that was noted.
    punctual: (i64, i64),
    /// How late the one that passed last is (`i64::MAX`: nothing tells), and a tick (0: unknown).
    pub late_ns: i64,
    pub tick_ns: i64,
}

impl Default for Ticks {
    fn default() -> Self {
        Ticks { punctual: (0, 0), late_ns: i64::MAX, tick_ns: 0 }
    }
}

impl Ticks {
    /// How much sooner packets came at their best than what the clock counts from (negative: later, by more than a tick).
    #[inline(always)]
    pub fn early_ns(&self) -> i64 {
        let least_ns = self.punctual.0;
        -least_ns.min((least_ns - self.tick_ns).max(0))
    }

    /// What the packet that passed last waited before this point: less than a tick is taken as nothing.
    #[inline(always)]
    pub fn waited_ns(&self) -> Option<i64> {
        if self.late_ns == i64::MAX {
            return None;
        }
        let late_ns = self.late_ns - self.tick_ns;
        Some(if late_ns <= self.tick_ns { 0 } else { late_ns - self.tick_ns / 2 })
    }

    /// How much later than at its best a packet of this TSval passes at a time; `None` while nothing tells. `first` as for
    /// [`Ticks::see`].
    pub fn late_by(&self, t_ns: i64, val: u32, first: Option<(u32, i64)>) -> Option<i64> {
        let (first_val, first_ns) = first.filter(|_| self.late_ns < i64::MAX)?;
        let ticks = i64::from(val.wrapping_sub(first_val) as i32);
        Some((t_ns - first_ns - ticks * self.tick_ns - self.punctual.0).max(0))
    }

    /// What a packet can have waited before this point: how much later than at its best it comes by the clock that its
    /// TSval was read from, and a tick. `first` is the first TSval, and when it passed. Returned is by how much sooner than any
    /// before it this one passes, if that shows (0: it does not); `None` if it tells nothing.
    #[inline(always)]
    pub fn see(&mut self, t_ns: i64, val: u32, first: Option<(u32, i64)>) -> Option<i64> {
        let (ticks, span_ns) = Self::since(t_ns, val, first)?;
        let known = self.fits(ticks, span_ns) || self.finds_tick(ticks, span_ns);
        known.then(|| self.note(t_ns, span_ns - ticks * self.tick_ns))
    }

    /// Ticks and time since the first TSval, if they are enough to tell of the clock.
    #[inline(always)]
    fn since(t_ns: i64, val: u32, first: Option<(u32, i64)>) -> Option<(i64, i64)> {
        let (first_val, first_ns) = first?;
        let (ticks, span_ns) = (i64::from(val.wrapping_sub(first_val) as i32), t_ns - first_ns);
        (ticks >= KNOWN.0 && span_ns >= KNOWN.1).then_some((ticks, span_ns))
    }

    /// Whether so many ticks are in so much time by the tick that is known. Nearly all are no later than that, and no sooner than
    /// its rounding makes them.
    #[inline(always)]
    fn fits(&self, ticks: i64, span_ns: i64) -> bool {
        let clock_ns = ticks * self.tick_ns;
        (-ROUNDED * self.tick_ns..=clock_ns.min(OUTAGE_NS)).contains(&(span_ns - clock_ns))
    }

    /// One passes so late by the clock; by how much sooner than any before it, if that shows (0: it does not).
    #[inline(always)]
    fn note(&mut self, t_ns: i64, late_ns: i64) -> i64 {
        let (was_ns, noted_ns) = self.punctual;
        let drift_ns = if noted_ns > 0 { (t_ns - noted_ns).max(0) / DRIFT } else { 0 };
        let least_ns = (was_ns + drift_ns).min(late_ns);
        self.punctual = (least_ns, t_ns);
        self.late_ns = late_ns - least_ns + self.tick_ns;
        let sooner_ns = was_ns - late_ns;
        if sooner_ns > self.tick_ns { sooner_ns } else { 0 }
    }

    /// Whether the tick is known by which so many are in so much time, or is found.
    #[inline(never)]
    fn finds_tick(&mut self, ticks: i64, span_ns: i64) -> bool {
        // Packets may come late, in a queue that has grown since the first, but never early. So the largest that fits is the
        // tick, until it is seen to be too large; what was late by another is not comparable.
        let fits = |tick_ns: i64| {
            let clock_ns = ticks * tick_ns;
            span_ns >= clock_ns - clock_ns / 5 && span_ns - clock_ns <= (2 * clock_ns).min(LATE_NS)
        };
        // An outage holds up data for longer; by the next larger tick the clock would be twice as slow.
        let held_up =
            |tick_ns: i64| (0..=(ticks * tick_ns).min(OUTAGE_NS)).contains(&(span_ns - ticks * tick_ns));
        if self.tick_ns > 0 && (held_up(self.tick_ns) || fits(self.tick_ns)) {
            return true;
        }
        let found = TICKS_NS.into_iter().rev().find(|tick_ns| fits(*tick_ns));
        let Some(tick_ns) = found.filter(|tick_ns| self.tick_ns == 0 || *tick_ns < self.tick_ns) else {
            self.late_ns = i64::MAX;
            return false;
        };
        (self.tick_ns, self.punctual) = (tick_ns, (0, 0));
        true
    }
}

impl Fields for Ticks {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Ticks { punctual, late_ns, tick_ns } = self;
        // Most connections have no timestamps, or end before these tell.
        let mut known = *tick_ns > 0;
        known.walk(walk);
        if known {
            let (least_ns, noted_ns) = punctual;
            walk.time(noted_ns);
            walk_over!(walk: least_ns, late_ns, tick_ns);
        } else if W::READS {
            *self = Ticks::default();
        }
    }
}

/// The clock of a sender of data, and what its data waited.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub(super) struct Clock {
    pub ticks: Ticks,
    /// What data waited before this point, when it passed.
    passed: Passed,
}

impl Fields for Clock {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Clock { ticks, passed } = self;
        ticks.walk(walk);
        if ticks.tick_ns > 0 {
            passed.walk(walk);
        } else if W::READS {
            *passed = Passed::default();
        }
    }
}

impl Clock {
    /// What data waited that passed at a time.
    #[inline(always)]
    pub fn waited_at(&self, t_ns: i64) -> i64 {
        self.passed.at(t_ns)
    }

    /// As [`Ticks::see`], with 0 for what tells nothing; `round_ns` is the last round trip toward the receiver.
    #[inline(never)]
    pub fn see(&mut self, t_ns: i64, val: u32, first: Option<(u32, i64)>, round_ns: i64) -> i64 {
        let Some((ticks, span_ns)) = Ticks::since(t_ns, val, first) else { return 0 };
        if !self.ticks.fits(ticks, span_ns) {
            return self.see_unusual(t_ns, (ticks, span_ns), round_ns);
        }
        let sooner_ns = self.ticks.note(t_ns, span_ns - ticks * self.ticks.tick_ns);
        self.noted(t_ns, sooner_ns, round_ns)
    }

    /// The same of what does not fit what is known of the clock.
    #[inline(never)]
    fn see_unusual(&mut self, t_ns: i64, (ticks, span_ns): (i64, i64), round_ns: i64) -> i64 {
        if !self.ticks.finds_tick(ticks, span_ns) {
            return 0;
        }
        let sooner_ns = self.ticks.note(t_ns, span_ns - ticks * self.ticks.tick_ns);
        self.noted(t_ns, sooner_ns, round_ns)
    }

    #[inline(always)]
    fn noted(&mut self, t_ns: i64, sooner_ns: i64, round_ns: i64) -> i64 {
        if sooner_ns > 0 {
            self.passed.sooner(sooner_ns);
        }
        if let Some(waited_ns) = self.ticks.waited_ns() {
            self.passed.note(t_ns, waited_ns, round_ns);
        }
        sooner_ns
    }
}

/// Ticks of the clocks of TSval in use (RFC 7323 section 5.4), from how many of them and what time on a clock's is known.
const TICKS_NS: [i64; 4] = [1_000, 1_000_000, 4_000_000, 10_000_000];
const KNOWN: (i64, i64) = (50, 50_000_000);
/// A packet sooner than the clock by so many ticks is within what fits, a fifth of [`KNOWN`].
const ROUNDED: i64 = KNOWN.0 / 5;
/// Data that is later than this by a clock that is not known yet has a clock of another tick; an outage is no longer than that.
const LATE_NS: i64 = 1_000_000_000;
const OUTAGE_NS: i64 = 60_000_000_000;
/// Clocks differ by less than one part of so many.
const DRIFT: i64 = 5_000;

/// What data waited before this point that passed lately, at so many times in a round trip toward the receiver.
#[derive(Debug, Clone, Default)]
#[repr(C)]
struct Passed {
    next: u32,
    /// How many of them had waited.
    waited: u32,
    /// When it passed, and how long it had waited; the oldest is the next to be replaced.
    noted: [(i64, i64); PASSED],
}

const PASSED: usize = 32;

impl Passed {
    #[inline(always)]
    fn note(&mut self, t_ns: i64, waited_ns: i64, round_ns: i64) {
        let last = (self.next as usize + PASSED - 1) % PASSED;
        // A shift, as no round trip is negative.
        if t_ns - self.noted[last].0 >= round_ns >> (PASSED / 2).ilog2() {
            let place = &mut self.noted[self.next as usize];
            self.waited = self.waited + u32::from(waited_ns > 0) - u32::from(place.1 > 0);
            *place = (t_ns, waited_ns);
            self.next = (self.next + 1) % PASSED as u32;
        }
    }

    /// All had waited so much longer than it seemed.
    #[cold]
    #[inline(never)]
    fn sooner(&mut self, by_ns: i64) {
        let used = self.noted.iter_mut().filter(|(passed_ns, _)| *passed_ns > 0);
        self.waited = used.map(|(_, waited_ns)| *waited_ns = waited_ns.saturating_add(by_ns)).count() as u32;
    }

    /// Of data that passed at a time: as noted last before it.
    #[inline(always)]
    fn at(&self, t_ns: i64) -> i64 {
        if self.waited == 0 {
            return 0;
        }
        // Both parts are in the order of their times; nothing is in the older one until all places were used.
        let (newer, older) = self.noted.split_at((self.next as usize).min(PASSED - 1));
        let older = if older.last().is_some_and(|last| last.0 > 0) { older } else { &[] };
        // Most ask for one of the last.
        let by_then = |noted: &&(i64, i64)| noted.0 <= t_ns;
        let last = newer.iter().rev().find(by_then).or_else(|| older.iter().rev().find(by_then));
        // Else it passed before all of them.
        last.or(older.first()).or(newer.first()).map_or(0, |noted| noted.1)
    }
}

impl Fields for Passed {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Passed { noted, next, waited } = self;
        let mut used = noted.iter().filter(|(t_ns, _)| *t_ns > 0).count() as u32;
        walk_over!(walk: next, waited, &mut used);
        // They are filled from the first on.
        if W::READS {
            *noted = [(0, 0); PASSED];
        }
        for (t_ns, waited_ns) in noted.iter_mut().take(used as usize) {
            walk.time(t_ns);
            waited_ns.walk(walk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A segment each 10 ms for three seconds, and the next held up: by a known clock it waited, unless that clock may be another.
    #[test]
    fn what_an_outage_held_up_is_late_by_a_known_clock() {
        for (outage_ms, waited_ms) in [(500, Some(500)), (1500, Some(1500)), (4000, None)] {
            let mut clock = Clock::default();
            for at in 0..=300 {
                clock.see(10 * at * MS, 10 * at as u32, Some((0, 0)), 20 * MS);
            }
            clock.see((3000 + outage_ms) * MS, 3000, Some((0, 0)), 20 * MS);
            let near = |ns: i64| (ns + 2 * MS) / (10 * MS) * 10;
            assert_eq!(clock.ticks.waited_ns().map(near), waited_ms, "{outage_ms}");
        }
    }
}
