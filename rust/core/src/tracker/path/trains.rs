//! The bottleneck, by the rate at which short trains of data are delivered: a link that is full delivers at its own
//! rate, whatever the window; where it is not, trains of one window come faster and pauses follow.

mod full;
mod rate;
mod run;

pub(super) use full::{CARRIED, Delivered, LinkRates};

use super::half::{Added, Halves};
use super::histogram::Histogram;
use super::paces::Paces;
use crate::tracker::fields::{Fields, Walk, walk_over};
use run::Run;

/// Rates in bytes a second.
type Rates = Histogram<6>;

/// A train has so many full segments, and ACKs, at least.
const SEGMENTS: i64 = 8;
const ACKS: u32 = 5;
const FIVE_MS: i64 = 5_000_000;
/// A distance so many times that of the other ACKs is a pause.
const LONG: i64 = 4;
/// A pause that no host makes between two ACKs: the shortest timer is as long (Linux: `TCP_RTO_MIN`).
const SILENCE_NS: i64 = 200_000_000;
/// Rates within this part of each other are the same.
pub(super) const ALIKE: f64 = 0.15;

/// Trains of one direction.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub(super) struct Trains {
    /// When the train began (`None`: with the next ACK), what it brought, of how many ACKs, their longest distance, and the
    /// queue behind that.
    since_ns: Option<i64>,
    bytes: i64,
    acks: u32,
    last_ns: i64,
    longest_ns: i64,
    behind_ns: i64,
    /// Without SACK: when the last ACK came, also one that brought nothing new, and the longest time in which none did.
    heard_ns: i64,
    silence_ns: i64,
    /// Time of the receiver's window and of the retransmission timer when it began, and how many round trips had been measured.
    held: Held,
    samples: u32,
    /// What queues had added to round trips by then.
    added: Added,
    /// The smaller of the windows that the receiver advertised at both of its ends (-1: unknown), and the largest of a train.
    window: i64,
    widest: i64,
    /// Whether SACK was agreed on.
    pub sack: bool,
    /// All that had arrived; without SACK, what was acknowledged of it, and duplicate ACKs since then.
    arrived: i64,
    acked: i64,
    duplicates: u32,
    /// What was missing below that when the train began, and whether more is by now: what was lost behind the link took its time.
    missing: i64,
    torn: bool,
    /// Time in trains; of these while a queue stood; and time that is neither queue nor even spacing.
    pub all_ns: i64,
    pub queued_ns: i64,
    pub even_ns: i64,
    /// What of these went on for so long that it filled a link.
    pub run: Run,
    /// What of the last came as it had left its sender, by the clock of that: no link before this point gave it its rate.
    unwaited_ns: i64,
    /// What of all the receiver's window took.
    pub window_all_ns: i64,
    pub window_queued_ns: i64,
    pub bytes_all: i64,
    pub bytes_queued: i64,
    /// Rates of trains of even spacing, and of those of them without a queue.
    rates: Paces,
    unqueued: Rates,
}

impl Fields for Trains {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Trains {
            since_ns,
            bytes,
            acks,
            last_ns,
            longest_ns,
            behind_ns,
            heard_ns,
            silence_ns,
            held,
            samples,
            added,
            window,
            widest,
            sack,
            arrived,
            acked,
            duplicates,
            missing,
            torn,
            all_ns,
            queued_ns,
            even_ns,
            run,
            unwaited_ns,
            window_all_ns,
            window_queued_ns,
            bytes_all,
            bytes_queued,
            rates,
            unqueued,
        } = self;
        walk.time(last_ns);
        walk_over!(walk: since_ns, bytes, acks, longest_ns, behind_ns, held, samples, added, window, widest, sack, arrived);
        // Without a duplicate ACK, they follow from what advanced, and nothing is missing.
        let follow = (*last_ns, *longest_ns, *arrived, 0);
        let mut alike = (*missing, *torn) == (0, false)
            && (*sack || (*heard_ns, *silence_ns, *acked, *duplicates) == follow);
        alike.walk(walk);
        if !alike {
            walk.time(heard_ns);
            walk_over!(walk: silence_ns, acked, duplicates, missing, torn);
        } else if W::READS {
            (*heard_ns, *silence_ns, *acked, *duplicates) = if *sack { (0, 0, 0, 0) } else { follow };
            (*missing, *torn) = (0, false);
        }
        walk_over!(walk: all_ns, queued_ns, even_ns, run, unwaited_ns, window_all_ns, window_queued_ns, bytes_all, bytes_queued, rates, unqueued);
    }
}

/// Time in which the sender was held, by the receiver's window and by its retransmission timer in silence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub window_ns: i64,
    pub timer_ns: i64,
}

impl Fields for Held {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Held { window_ns, timer_ns } = self;
        walk_over!(walk: window_ns, timer_ns);
    }
}

impl Trains {
    #[cfg(test)]
    pub fn fill(&mut self) {
        self.since_ns = Some(0);
        self.rates.fill();
        self.unqueued.fill();
    }

    /// All that had arrived by the last ACK.
    pub fn arrived(&self) -> i64 {
        self.arrived
    }

    /// All that had arrived by an ACK. Without SACK, a segment more for each duplicate ACK (RFC 5681 section 3.2, step 4), and
    /// for each ACK that fills a hole below those: the link brought it, even if it had been there before.
    #[inline(always)]
    pub fn arrived_by(&mut self, known: i64, duplicates: u32, unit: i64, sent: i64) -> i64 {
        if self.sack {
            return known;
        }
        let one_more = duplicates > self.duplicates || known > self.acked;
        self.torn |= duplicates > 0 && self.duplicates == 0;
        (self.acked, self.duplicates) = (known, duplicates);
        let behind = duplicates > 0 || known < self.arrived;
        if behind && one_more { known.max((self.arrived + unit).min(sent)) } else { known }
    }

    /// The application paused: what comes next is a new train.
    pub fn cut(&mut self) {
        self.since_ns = None;
        self.run.end();
    }

    /// An ACK passes, and all that has arrived by it, with how much is missing below, and the window; how much of that is new. `unit` is
    /// the payload of a full segment.
    #[inline(always)]
    pub fn acknowledge(
        &mut self,
        t_ns: i64,
        (arrived, missing, window): (i64, i64, i64),
        unit: i64,
        halves: &Halves,
        held: Held,
    ) -> i64 {
        if !self.sack {
            self.silence_ns = self.silence_ns.max(t_ns - self.heard_ns);
            self.heard_ns = t_ns;
        }
        let fresh = arrived - self.arrived;
        if fresh <= 0 {
            return 0;
        }
        self.arrived = arrived;
        self.torn |= missing > self.missing;
        let Some(since_ns) = self.since_ns else {
            self.start(t_ns, (missing, window), halves, held);
            // Before the first byte is the SYN.
            return if arrived == fresh { fresh - 1 } else { fresh };
        };
        self.bytes += fresh;
        self.acks += 1;
        let distance_ns = t_ns - self.last_ns;
        if distance_ns > self.longest_ns {
            (self.longest_ns, self.behind_ns) = (distance_ns, halves.queued_data_ns());
        }
        self.last_ns = t_ns;
        if self.acks >= ACKS && self.bytes >= SEGMENTS * unit {
            self.window = self.window.min(window);
            self.close(t_ns - since_ns, unit, halves, held);
            self.start(t_ns, (missing, window), halves, held);
        }
        fresh
    }

    fn start(&mut self, t_ns: i64, (missing, window): (i64, i64), halves: &Halves, held: Held) {
        self.samples = halves.samples();
        self.added = halves.added;
        (self.since_ns, self.last_ns, self.held) = (Some(t_ns), t_ns, held);
        (self.bytes, self.acks, self.longest_ns, self.silence_ns) = (0, 0, 0, 0);
        (self.window, self.missing, self.torn) = (window, missing, false);
    }

    #[inline(never)]
    fn close(&mut self, took_ns: i64, unit: i64, halves: &Halves, held: Held) {
        if took_ns <= 0 {
            return;
        }
        let rate = share(self.bytes, 1_000_000_000, took_ns);
        let base_ns = halves.base_ns();
        // A queue of three packets, and more than delays differ anyway. Where many flows share it, those of one are far
        // apart: what it takes to send three of the slowest link that matters is enough then.
        let each_ns = took_ns / i64::from(self.acks.max(1));
        let packets_ns = (each_ns * 3).min(FIVE_MS + base_ns / 4);
        // Without SACK, no round trip is measured in recovery (Karn): the last one tells nothing of it.
        let stale = !self.sack && halves.samples() == self.samples;
        let queued_ns = if stale { halves.queued_before_ns() } else { halves.queued_data_ns() };
        let least_ns = packets_ns.max(base_ns / 8).max(200_000);
        let window_ns = (held.window_ns - self.held.window_ns).clamp(0, took_ns);
        self.widest = self.widest.max(self.window);
        let uneven = self.longest_ns / 2 > took_ns / 5;
        let queued =
            queued_ns >= least_ns || !uneven && self.fills_queue((window_ns, took_ns), each_ns, base_ns);
        // Without a queue, a train that takes a round trip or more tells of a window of few segments, which is sent once
        // in each, and not of a rate; unless its segments are farther apart than that. Where a queue before this point
        // would not be seen, only a window of one or two segments is told from a slow link.
        let round = if halves.shows_queues() { took_ns >= base_ns } else { 2 * each_ns >= base_ns };
        let small_window = !queued && round && 2 * each_ns <= 3 * base_ns;
        // Nothing crosses a link in less time than the link needs to transmit it: if the whole round trip is shorter, the
        // rate is the sender's own.
        let segment_ns = share(took_ns, unit, self.bytes.max(1));
        let paced = halves.crossing_ns().is_some_and(|crossing_ns| segment_ns / 2 > crossing_ns);
        // What ACKs that waited longer than their data are apart is the pace of their own link.
        let of_acks = halves.added.by_acks_since(&self.added, self.acks, each_ns);
        let even = !uneven && !small_window && !paced && !of_acks;
        // What the timer took is no time of the network.
        let timer_ns = (held.timer_ns - self.held.timer_ns).clamp(0, took_ns - window_ns);
        self.all_ns = self.all_ns.saturating_add(took_ns - timer_ns);
        self.window_all_ns = self.window_all_ns.saturating_add(window_ns);
        self.bytes_all = self.bytes_all.saturating_add(self.bytes);
        match (even, self.torn) {
            (true, false) => self.rates.add(rate, self.bytes, took_ns),
            (true, true) => self.rates.add_torn(rate),
            (false, _) => {}
        }
        self.run.go_on(queued, even || stale, took_ns, base_ns);
        if queued {
            let busy_ns = took_ns - self.silent_ns(took_ns, least_ns);
            self.queued_ns = self.queued_ns.saturating_add(busy_ns);
            self.bytes_queued = self.bytes_queued.saturating_add(self.bytes);
            self.window_queued_ns = self.window_queued_ns.saturating_add(window_ns.min(busy_ns));
        } else if even || stale {
            // Whether a queue stood in recovery without SACK, only the rate shows.
            self.even_ns = self.even_ns.saturating_add(took_ns);
            self.unqueued.add(rate);
            if halves.clock.ticks.waited_ns() == Some(0) {
                self.unwaited_ns = self.unwaited_ns.saturating_add(took_ns);
            }
        }
    }

    /// Whether the receiver's window, all of which is in flight while it holds the sender, is more than the path holds at the rate
    /// of a train (Little's law): the rest waits in a queue. What lies unread makes the window smaller.
    #[inline(always)]
    fn fills_queue(&self, (window_ns, took_ns): (i64, i64), each_ns: i64, base_ns: i64) -> bool {
        if (window_ns as f64) < HELD * took_ns as f64 || base_ns <= 0 {
            return false;
        }
        let whole = self.window as f64 >= OPEN * self.widest as f64;
        let round_ns = share(self.window, took_ns, self.bytes.max(1));
        // Of a longer train than a window is, jitter may hide the pauses between windows.
        let within = self.bytes <= self.window;
        whole && within && round_ns - base_ns >= each_ns.max(base_ns / 8).max(200_000)
    }

    /// Time of a train in which nothing was delivered. A link that bursts fill is empty between them: who comes first
    /// behind the pause meets no queue. One that stands still for long is not full either, whatever waits there.
    fn silent_ns(&self, took_ns: i64, least_ns: i64) -> i64 {
        let usual_ns = (took_ns - self.longest_ns) / i64::from(self.acks.max(2) - 1);
        let pause = self.longest_ns > LONG * usual_ns;
        if !self.sack {
            // Segments behind a loss arrive, and only duplicate ACKs show it.
            let silent = pause && self.silence_ns >= SILENCE_NS;
            return if silent { (self.silence_ns - usual_ns).clamp(0, took_ns) } else { 0 };
        }
        let empty = self.behind_ns < least_ns || self.longest_ns >= SILENCE_NS;
        if pause && empty { (self.longest_ns - usual_ns).clamp(0, took_ns) } else { 0 }
    }

    /// Whether a queue stood for most of the time.
    pub fn mostly_queued(&self) -> bool {
        self.all_ns > 0 && 2 * self.queued_ns > self.all_ns
    }

    /// Whether a queue stood for some of it at least.
    pub fn often_queued(&self) -> bool {
        self.queued_ns as f64 > OFTEN * self.all_ns as f64
    }

    /// Whether most even trains without a queue came as they had left their sender.
    pub fn mostly_unwaited(&self) -> bool {
        2 * self.unwaited_ns > self.even_ns
    }

    /// Whether the receiver's window took much of the time.
    pub fn window_bound(&self) -> bool {
        self.window_all_ns as f64 > BOUND * self.all_ns as f64
    }
}

/// `part * of / whole`; most products fit, and then it needs no division of twice the width.
fn share(part: i64, of: i64, whole: i64) -> i64 {
    match part.checked_mul(of) {
        Some(product) => product / whole,
        None => (i128::from(part) * i128::from(of) / i128::from(whole)) as i64,
    }
}

/// Part of the time with trains in which bursts of an application queue at a link that they fill.
const OFTEN: f64 = 0.2;
/// Part of the largest window that is advertised while nothing lies unread, and of the time of a train that it held the sender.
const OPEN: f64 = 0.85;
const HELD: f64 = 0.8;
/// Part of the time that the receiver's window may take where the rate alone shows a link: a slow reader has one, too.
const BOUND: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: i64 = 1000;
    const MS: i64 = 1_000_000;

    /// Halves with a round trip of 20 ms, half of it queued.
    fn queued() -> Halves {
        let mut halves = Halves::default();
        halves.near_least(100_000);
        halves.acknowledged(0, 10 * MS, false, true);
        halves.acknowledged(0, 20 * MS, false, true);
        halves
    }

    /// ACKs of so many milliseconds distance: what is acknowledged, and duplicates so far; all that was sent is a million bytes.
    fn heard(trains: &mut Trains, acks: &[(i64, i64, u32)]) -> i64 {
        heard_with(&queued(), trains, acks)
    }

    pub(super) fn heard_with(halves: &Halves, trains: &mut Trains, acks: &[(i64, i64, u32)]) -> i64 {
        let mut t_ns = 0;
        acks.iter()
            .map(|&(after_ms, acked, duplicates)| {
                t_ns += after_ms * MS;
                let arrived = trains.arrived_by(acked, duplicates, UNIT, 1_000_000);
                trains.acknowledge(t_ns, (arrived, 0, -1), UNIT, halves, Held::default())
            })
            .sum()
    }

    #[test]
    fn without_sack_each_duplicate_ack_brings_a_segment() {
        let mut trains = Trains::default();
        let duplicates = (1..=20).map(|number| (1, 5000, number));
        let acks: Vec<_> = [(1, 4000, 0), (1, 5000, 0)].into_iter().chain(duplicates).collect();
        heard(&mut trains, &acks);
        assert_eq!(trains.arrived(), 25_000);
        // The ACK of the hole covers what the duplicates had shown, and the segment that filled it is one more.
        heard(&mut trains, &[(1, 15_000, 0)]);
        assert_eq!(trains.arrived(), 26_000);
        heard(&mut trains, &[(1, 40_000, 0)]);
        assert_eq!(trains.arrived(), 40_000);
    }

    #[test]
    fn with_sack_blocks_tell_what_arrived() {
        let mut trains = Trains { sack: true, ..Trains::default() };
        heard(&mut trains, &[(1, 5000, 0), (1, 6000, 1), (1, 7000, 2)]);
        assert_eq!(trains.arrived(), 7000);
    }

    #[test]
    fn no_more_arrives_than_was_sent() {
        let mut trains = Trains::default();
        let acks: Vec<_> = (0..=9).map(|number| (1, 5000, number)).collect();
        heard(&mut trains, &acks);
        assert_eq!(trains.arrived(), 14_000);
        assert_eq!(trains.arrived_by(5000, 10, UNIT, 14_500), 14_500);
    }

    #[test]
    fn a_link_is_not_full_while_the_timer_runs() {
        let even = (0..40).map(|number| (2, 2000 * number, 0));
        let late = (0..20).map(|number| (if number == 0 { 900 } else { 2 }, 80_000 + 2000 * number, 0));
        let acks: Vec<_> = even.chain(late).collect();
        let mut trains = Trains::default();
        heard(&mut trains, &acks);
        assert!(trains.all_ns > 1000 * MS, "{}", trains.all_ns);
        assert!(trains.queued_ns < 150 * MS, "{}", trains.queued_ns);
    }

    /// A window of ten segments every 40 ms, of which the path holds half: what is not in flight there waits in a queue. Of a path
    /// that holds all of it, or where the window was larger before, as nothing lay unread, nothing waits.
    #[test]
    fn a_window_larger_than_the_path_holds_fills_a_queue() {
        for (base_ms, larger, full) in [(20, 1, true), (38, 1, false), (20, 2, false)] {
            let mut halves = Halves::default();
            halves.near_least(100_000);
            (0..2).for_each(|_| halves.acknowledged(0, base_ms * MS, false, true));
            let mut trains = Trains { sack: true, widest: larger * 10 * UNIT, ..Trains::default() };
            for number in 1..=100 {
                let held = Held { window_ns: 4 * number * MS, ..Held::default() };
                trains.acknowledge(4 * number * MS, (UNIT * number, 0, 10 * UNIT), UNIT, &halves, held);
            }
            assert!(trains.window_all_ns >= 300 * MS);
            assert_eq!(trains.window_queued_ns == trains.window_all_ns, full, "{base_ms} {larger}");
            assert_eq!(trains.window_queued_ns == 0, !full, "{base_ms} {larger}");
        }
    }

    /// ACKs that come at one rate, as they had waited for their own link, give the link of the data none.
    #[test]
    fn the_pace_of_acks_is_no_rate_of_data() {
        for (acks_ns, even) in [(0, true), (3 * MS as u64, false)] {
            let mut halves = Halves::default();
            halves.near_least(100_000);
            (0..2).for_each(|_| halves.acknowledged(0, 40 * MS, false, true));
            let mut trains = Trains { sack: true, ..Trains::default() };
            for number in 1..=60 {
                let (all_ns, acks_ns) = (4 * MS as u64 * number as u64, acks_ns * number as u64);
                halves.added = Added { all_ns, acks_ns, other_ns: 0 };
                trains.acknowledge(number * MS, (UNIT * number, 0, -1), UNIT, &halves, Held::default());
            }
            assert_eq!(trains.even_ns > 0, even);
        }
    }

    /// A silence of the timer within a train is none of its time, and no less of the rest is full for it.
    #[test]
    fn what_the_timer_took_is_no_time_of_trains() {
        let [without_ns, with_ns] = [0, 900].map(|timer_ms| {
            let mut trains = Trains { sack: true, ..Trains::default() };
            let halves = queued();
            for number in 1..=80 {
                let late = number > 42;
                let held = Held { timer_ns: if late { timer_ms * MS } else { 0 }, ..Held::default() };
                let t_ns = (2 * number + if late { timer_ms } else { 0 }) * MS;
                trains.acknowledge(t_ns, (UNIT * number, 0, -1), UNIT, &halves, held);
            }
            trains.all_ns
        });
        assert_eq!(with_ns, without_ns);
    }
}
