//! An application that writes by its own clock: what the network does between two writes does not shift the later ones.
//!
//! Where the sender waits for a write, its time and the byte that it begins with are known. If so many bytes more come so
//! much later, however long the sender took for those in between, the application set the pace, and whatever TCP took (slow
//! start, a small window, loss recovery) was made up for by then. An application that waits for the network, as one that asks
//! and is answered does, is late by what the network took.

use super::limits::Wait;
use crate::tracker::fields::{Fields, Walk, walk_over};

/// So many writes are remembered; of more, every other.
const WRITES: usize = 64;

/// So many steps from write to write tell.
const STEPS: usize = 5;

/// The usual step may miss the pace by this part of what the network's time varies between steps.
const USUAL: f64 = 0.1;
/// A step may be late by this part of what the network took longer than usual: who waits for the network is late by all.
const LATE: f64 = 0.15;
/// Who never waits for a write for so many times what the network usually takes between two is behind.
const BEHIND: i64 = 3;
/// The first data and the last may be off by this part of what the network's time varies.
const ENDS: f64 = 0.35;

/// A pause of the application, as its end shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Write {
    t_ns: i64,
    /// First byte.
    from: i64,
    /// What the sender waited for something else than its application by then.
    busy_ns: i64,
}

impl Fields for Write {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Write { t_ns, from, busy_ns } = self;
        walk.time(t_ns);
        walk_over!(walk: from, busy_ns);
    }
}

/// The writes of one direction that the sender waited for.
#[derive(Debug, Clone, Default)]
pub(super) struct Schedule {
    writes: Vec<Write>,
    /// One of so many is kept; how many came since the last.
    every: u32,
    since: u32,
    /// What the sender had waited for at the first of them, and at the last.
    first_ns: [i64; Wait::COUNT],
    last_ns: [i64; Wait::COUNT],
    last: Option<Write>,
    /// The first data: it may have been written then, too.
    first: Option<Write>,
}

impl Fields for Schedule {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Schedule { writes, every, since, first_ns, last_ns, last, first } = self;
        let mut count = writes.len() as u32;
        walk_over!(walk: first, &mut count);
        if W::READS {
            *writes = vec![Write::default(); (count as usize).min(WRITES)];
        }
        // Most have none.
        if count > 0 {
            walk_over!(walk: every, since, first_ns, last_ns, last);
        } else if W::READS {
            (*every, *since, *first_ns, *last_ns, *last) = (0, 0, [0; Wait::COUNT], [0; Wait::COUNT], None);
        }
        writes.iter_mut().for_each(|write| write.walk(walk));
    }
}

/// An application that wrote by its own clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Kept {
    pub bytes_per_s: f64,
    /// By [`Wait`].
    pub made_up_ns: [i64; Wait::COUNT],
    /// What of that is longer than from write to write usually: written data had to wait, and was sent later.
    pub behind_ns: i64,
}

/// Of an application that writes by its own clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pace {
    /// Nanoseconds a byte, and how far a step from write to write may be from that.
    ns: f64,
    within_ns: f64,
    /// What the sender usually waits for something else between two.
    usual_ns: i64,
}

impl Schedule {
    /// The first data passed, and began with `from`.
    pub fn begin(&mut self, t_ns: i64, from: i64) {
        self.first = Some(Write { t_ns, from, busy_ns: 0 });
    }

    /// When that was.
    pub fn began_ns(&self) -> Option<i64> {
        self.first.map(|first| first.t_ns)
    }

    /// The first byte of all data; the least number where none is known.
    pub fn first_byte(&self) -> i64 {
        self.first.map_or(i64::MIN, |first| first.from)
    }

    /// The application wrote what begins with `from`, and the sender had waited for it; for what else it waited until then.
    pub fn write(&mut self, t_ns: i64, from: i64, spent_ns: &[i64; Wait::COUNT]) {
        let all_ns = spent_ns.iter().fold(0, |sum: i64, ns| sum.saturating_add(*ns));
        let write =
            Write { t_ns, from, busy_ns: all_ns.saturating_sub(spent_ns[Wait::Application as usize]) };
        if self.writes.is_empty() {
            (self.first_ns, self.every) = (*spent_ns, 1);
        }
        (self.last_ns, self.last) = (*spent_ns, Some(write));
        self.since += 1;
        if !self.writes.is_empty() && self.since < self.every {
            return;
        }
        if self.writes.len() == WRITES {
            let mut odd = false;
            self.writes.retain(|_| {
                odd = !odd;
                odd
            });
            self.every *= 2;
        }
        self.writes.push(write);
        self.since = 0;
    }

    /// If the application wrote by its own clock: its pace, and what of the time until the last write was its own, though
    /// the sender waited for something else. All of `spent_ns`, if the last data, which `end` has the time and the end of,
    /// came no later than its pace wants; and from the first data on, if that began it.
    pub fn kept(&self, end: (i64, i64), spent_ns: &[i64; Wait::COUNT]) -> Option<Kept> {
        let Pace { ns: pace_ns, within_ns, usual_ns } = self.pace()?;
        let (write, last) = self.writes.first().zip(self.last)?;
        let begun = self.first.is_some_and(|first| {
            let wanted_ns = pace_ns * write.from.saturating_sub(first.from) as f64;
            (write.t_ns.saturating_sub(first.t_ns) as f64 - wanted_ns).abs() <= within_ns
        });
        let ended = end.0.saturating_sub(last.t_ns) as f64
            <= pace_ns * end.1.saturating_sub(last.from) as f64 + within_ns;
        let before_ns = if begun { [0; Wait::COUNT] } else { self.first_ns };
        let until_ns = if ended { spent_ns } else { &self.last_ns };
        let mut made_up_ns = [0; Wait::COUNT];
        for (wait, ns) in
            made_up_ns.iter_mut().enumerate().filter(|(wait, _)| *wait != Wait::Application as usize)
        {
            *ns = until_ns[wait].saturating_sub(before_ns[wait]).max(0);
        }
        let opened_ns = if begun { write.busy_ns } else { 0 };
        let steps_ns = self.writes.windows(2).map(|step| step[1].busy_ns.saturating_sub(step[0].busy_ns));
        let behind_ns = steps_ns
            .chain([opened_ns])
            .filter(|&busy_ns| busy_ns > usual_ns.saturating_mul(BEHIND))
            .fold(0, |sum: i64, busy_ns| sum.saturating_add(busy_ns - usual_ns));
        let made_ns = made_up_ns.iter().fold(0, |sum: i64, ns| sum.saturating_add(*ns));
        Some(Kept { bytes_per_s: 1e9 / pace_ns, made_up_ns, behind_ns: behind_ns.min(made_ns) })
    }

    /// If the steps keep to it however much the network's part of them varies.
    fn pace(&self) -> Option<Pace> {
        let (first, last) = self.writes.first().zip(self.last)?;
        let (bytes, took_ns) =
            (last.from.saturating_sub(first.from) as f64, last.t_ns.saturating_sub(first.t_ns) as f64);
        if self.writes.len() <= STEPS || bytes <= 0.0 || took_ns <= 0.0 {
            return None;
        }
        let pace_ns = took_ns / bytes;
        let steps = self.writes.windows(2).map(|step| {
            let step_ns = step[1].t_ns.saturating_sub(step[0].t_ns) as f64;
            let late_ns = step_ns - pace_ns * step[1].from.saturating_sub(step[0].from) as f64;
            (late_ns, step[1].busy_ns.saturating_sub(step[0].busy_ns) as f64)
        });
        let mut steps: Vec<(f64, f64)> = steps.collect();
        // One step that differs proves nothing.
        steps.sort_unstable_by(|one, other| one.1.total_cmp(&other.1));
        let middle_ns = steps[steps.len() / 2].1;
        let far = |step: Option<&(f64, f64)>| step.map_or(0.0, |step| (step.1 - middle_ns).abs());
        if far(steps.first()) > far(steps.last()) {
            steps.remove(0);
        } else {
            steps.pop();
        }
        let (late_ns, busy_ns): (Vec<f64>, Vec<f64>) = steps.into_iter().unzip();
        let count = busy_ns.len() as f64;
        let mean_ns = busy_ns.iter().sum::<f64>() / count;
        let variance = busy_ns.iter().map(|ns| (ns - mean_ns).powi(2)).sum::<f64>() / count;
        let together =
            late_ns.iter().zip(&busy_ns).map(|(late, busy)| late * (busy - mean_ns)).sum::<f64>() / count;
        let mut missed_ns: Vec<f64> = late_ns.iter().map(|ns| ns.abs()).collect();
        missed_ns.sort_unstable_by(f64::total_cmp);
        let varied_ns = variance.sqrt();
        let keeps = missed_ns[missed_ns.len() / 2] < USUAL * varied_ns && together.abs() <= LATE * variance;
        keeps.then_some(Pace { ns: pace_ns, within_ns: ENDS * varied_ns, usual_ns: middle_ns as i64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Writes of so many bytes, each a hundred milliseconds after the one before and later by `late` of what the network took,
    /// which is told in milliseconds.
    fn made_up(late: impl Fn(i64) -> i64, network: &[i64]) -> Option<i64> {
        kept(late, network).map(|kept| kept.made_up_ns[Wait::Recovery as usize] / MS)
    }

    fn kept(late: impl Fn(i64) -> i64, network: &[i64]) -> Option<Kept> {
        let mut schedule = Schedule::default();
        let (mut t_ns, mut spent_ns) = (0, [0; Wait::COUNT]);
        for (at, took) in network.iter().enumerate() {
            schedule.write(t_ns, at as i64 * 8000, &spent_ns);
            let step_ns = (100 + late(*took)) * MS;
            spent_ns[Wait::Recovery as usize] += took * MS;
            spent_ns[Wait::Application as usize] += step_ns - took * MS;
            t_ns += step_ns;
        }
        schedule.kept((t_ns, i64::MAX >> 1), &spent_ns)
    }

    #[test]
    fn a_clock_is_kept_whatever_the_network_takes() {
        assert_eq!(made_up(|_| 0, &[10, 20, 80, 10, 30, 10, 10]), Some(170));
    }

    #[test]
    fn far_more_than_usual_from_write_to_write_is_to_be_behind() {
        let behind_ms = |network: &[i64]| kept(|_| 0, network).map(|kept| kept.behind_ns / MS);
        assert_eq!(behind_ms(&[10, 20, 80, 10, 30, 10, 10]), Some(60));
        assert_eq!(behind_ms(&[10, 20, 28, 10, 30, 10, 10]), Some(0));
    }

    #[test]
    fn who_waits_for_the_network_is_late_by_what_it_took() {
        assert_eq!(made_up(|took| took, &[10, 20, 80, 10, 30, 10, 10]), None);
    }

    #[test]
    fn a_network_that_takes_always_the_same_tells_nothing() {
        assert_eq!(made_up(|took| took + took % 2, &[11, 10, 11, 10, 10, 11, 10]), None);
    }

    /// Slow start makes the first answers late, and all others come after the same time.
    #[test]
    fn who_was_late_once_tells_by_that() {
        let network: Vec<i64> = [90, 50].into_iter().chain([10; 30]).collect();
        assert_eq!(made_up(|took| took, &network), None);
        assert!(made_up(|_| 0, &network).is_some());
    }

    #[test]
    fn one_step_that_differs_proves_nothing() {
        let network: Vec<i64> = [10; 20].into_iter().chain([90, 10, 10]).collect();
        assert_eq!(made_up(|_| 0, &network), None);
    }

    #[test]
    fn of_many_writes_every_other_is_kept() {
        let network: Vec<i64> = (0..1000).map(|at| 10 + at % 7 * 9).collect();
        assert!(made_up(|_| 0, &network).is_some_and(|ms| ms > 36_000));
        assert_eq!(made_up(|took| took, &network), None);
    }

    /// A full link keeps to its rate as exactly as a clock: where a queue stood and hardly any write was waited for, it is that.
    #[test]
    fn a_full_link_is_no_clock_of_an_application() {
        use crate::tracker::path::{Path, gaps::Gaps};
        for (queued, application, clock) in [(0, 10, true), (900, 10, false), (900, 200, true)] {
            let mut schedule = Schedule::default();
            let (mut t_ns, mut spent_ns) = (0, [0; Wait::COUNT]);
            for (at, took) in [10, 20, 80, 10, 30, 10, 10].into_iter().enumerate() {
                schedule.write(t_ns, at as i64 * 8000, &spent_ns);
                spent_ns[Wait::Network as usize] += took * MS;
                t_ns += 100 * MS;
            }
            spent_ns = [0; Wait::COUNT];
            spent_ns[Wait::Network as usize] = (1000 - application) * MS;
            spent_ns[Wait::Application as usize] = application * MS;
            let mut path = Path { gaps: Gaps::of_writes(schedule, spent_ns), ..Path::default() };
            (path.trains.all_ns, path.trains.queued_ns) = (1000 * MS, queued * MS);
            assert_eq!(path.kept().is_some(), clock, "{queued} {application}");
        }
    }
}
