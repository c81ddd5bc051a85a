//! Connections that share a full link: what they bring together is always the same, while each brings more or less.
//!
//! What one gets the others lose, so that the sum varies far less than that of as many independent ones would. Behind the
//! link that shows in the data that passes, before it in the ACKs. It is seen of a queue that adds to no round trip here
//! too: of a sender's own, without timestamps.

use super::Link;
use super::series::{BINS, Bin, Series, plateau};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bins that are looked at, at least.
const FEW: usize = 10;
/// Bins in which one was there beside others, if the link was full in all of its time.
const SOON: usize = 3;
/// A bin should hold so many segments of all, or one more or less would be a change.
const ENOUGH: f64 = 16.0;
/// The sum is judged by this part of the bins, those nearest to its median: a link is not full all of the time, and
/// what a connection sent first is not counted...
const NEAREST: f64 = 0.6;
/// ...and their mean distance from it, times this, is that of all bins of a normal distribution: for this part of them,
const AS_ALL: f64 = 2.012;
/// A link that brought this part of its rate over a time was full for as much of it.
const BROUGHT: f64 = 0.95;
/// A full link never takes more: so many of the bins may hold more than the sum varies by, twice.
const ABOVE: f64 = 0.05;
/// What the sum may vary by (mean distance from its median, as a part of that)...
const STEADY: f64 = 0.12;
/// ...and at most as a part of what as many independent ones would, squared.
const DEPENDENT: f64 = 0.25;
/// A bin with this part of the usual sum is one in which the link was full.
const FULL: f64 = 0.85;

/// Bytes by bin of one connection; nothing where it was not there.
struct Row {
    first: i64,
    bytes: Vec<u64>,
}

impl Row {
    /// Whether it was there throughout a bin.
    fn within(&self, at: i64) -> bool {
        self.throughout().contains(&at)
    }

    /// Bins throughout which it was there.
    fn throughout(&self) -> Range<i64> {
        self.first + 1..self.first + self.bytes.len() as i64 - 1
    }

    fn at(&self, at: i64) -> u64 {
        usize::try_from(at - self.first).ok().and_then(|place| self.bytes.get(place)).copied().unwrap_or(0)
    }
}

/// What one connection brought.
#[derive(Clone, Copy)]
pub(super) struct Brought<'a> {
    pub series: &'a Series,
    /// Part of what passed here that was not lost behind this point; what came twice was carried twice.
    pub carried: f64,
    /// Whether that is all of its time.
    pub whole: bool,
}

/// What each finds of the link that these share; `None` if it is not known that they share a full one, or of one that
/// was hardly there together with others. `segment_bytes` is what they send in one segment.
///
/// Only the time together tells what the link takes. But once that is known, it tells of all of the time: the link was
/// full while as much was brought, by however many, and not while less was.
pub(super) fn share_a_full_link(all: &[Brought<'_>], segment_bytes: f64) -> Vec<Option<Link>> {
    let (mut series, widest) = copies(all.iter().map(|one| one.series));
    let whole: Vec<bool> = all.iter().map(|one| one.whole).collect();
    for width in widest..62 {
        widen(&mut series, width);
        let passed = rows(&series, |bin| bin.passed);
        let times = together(&passed, 2);
        if all.len() < 2 || times.len() < FEW {
            break;
        }
        // Where each takes a constant part, the sum is the same before one comes and after it left.
        let with_one_alone = together(&passed, 1);
        let arrived = rows(&series, |bin| bin.bytes);
        let all_passed = |row: &Row| times.iter().map(|&at| row.at(at) as f64).sum::<f64>();
        let parts = passed.iter().zip(all).map(|(row, one)| all_passed(row) * one.carried);
        let carried = parts.sum::<f64>() / passed.iter().map(all_passed).sum::<f64>().max(1.0);
        for times in [&times, &with_one_alone] {
            for (rows, part) in [(&passed, carried), (&arrived, 1.0)] {
                if let Some(links) = judge(rows, &whole, times, width, segment_bytes) {
                    return links.into_iter().map(|link| link.map(|link| link.of(part))).collect();
                }
            }
        }
    }
    vec![None; all.len()]
}

/// Bytes a second that all of these brought together while each of them was there: for half of that time at least, or on
/// average. With each is what it sends in one segment.
pub(super) fn rates_beside(all: &[(&Series, f64)]) -> Vec<u64> {
    let (mut series, widest) = copies(all.iter().map(|(series, _)| *series));
    let mut found: Vec<Option<f64>> = vec![None; all.len()];
    for width in widest..62 {
        widen(&mut series, width);
        let rows = rows(&series, |bin| bin.bytes);
        let mut sums: BTreeMap<i64, u64> = BTreeMap::new();
        for row in &rows {
            for (at, bytes) in (row.first..).zip(&row.bytes) {
                *sums.entry(at).or_default() += bytes;
            }
        }
        let second = 1e9 / (1u64 << width) as f64;
        for ((row, found), (_, segment_bytes)) in rows.iter().zip(&mut found).zip(all) {
            let there: Vec<f64> =
                row.throughout().map(|at| sums.get(&at).map_or(0.0, |&sum| sum as f64)).collect();
            let (median, mean) = (spread(&there).0, there.iter().sum::<f64>() / there.len().max(1) as f64);
            let few = there.len() < FEW;
            if found.is_none() && (few || median >= ENOUGH * segment_bytes.max(1.0)) {
                *found = Some(second * if few { mean } else { mean.max(median) });
            }
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    found.into_iter().map(|rate| rate.unwrap_or(0.0) as u64).collect()
}

/// Copies that may be widened, and the width of the widest.
fn copies<'a>(all: impl Iterator<Item = &'a Series>) -> (Vec<Series>, u32) {
    let all: Vec<Series> = all.cloned().collect();
    let widest = all.iter().map(|series| series.width).max().unwrap_or(0);
    (all, widest)
}

/// Give all of them bins of one width.
fn widen(all: &mut [Series], width: u32) {
    for one in all {
        while one.width < width {
            one.widen();
        }
    }
}

fn rows(series: &[Series], of: fn(&Bin) -> u64) -> Vec<Row> {
    series.iter().map(|one| Row { first: one.first, bytes: one.bins.iter().map(of).collect() }).collect()
}

/// Bins throughout which so many or more were there.
fn together(rows: &[Row], least: usize) -> Vec<i64> {
    let begin = rows.iter().map(|row| row.first).min().unwrap_or(0);
    let end = rows.iter().map(|row| row.first + row.bytes.len() as i64).max().unwrap_or(0);
    // Series that begin far apart have nothing in common.
    let mut times = Vec::new();
    let mut starts: Vec<i64> = rows.iter().map(|row| row.first).collect();
    starts.sort_unstable();
    for start in starts {
        let from = times.last().map_or(begin, |&last: &i64| last + 1).max(start);
        times.extend(
            (from..end.min(start.saturating_add(BINS as i64)))
                .filter(|&at| rows.iter().filter(|row| row.within(at)).take(least).count() == least),
        );
    }
    times
}

/// Median, and mean distance from it.
fn spread(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    let count = values.len().max(1) as f64;
    (median, values.iter().map(|value| (value - median).abs()).sum::<f64>() / count)
}

/// What of a variance chance hardly ever leaves in a sample of so many values (the quantile of the chi-squared
/// distribution four standard deviations below, by Wilson and Hilferty 1931); no more than [`DEPENDENT`].
fn by_chance(values: f64) -> f64 {
    let part = 2.0 / (9.0 * values.max(1.0));
    (1.0 - part - 4.0 * part.sqrt()).max(0.0).powi(3).min(DEPENDENT)
}

/// What all brought in a bin.
fn sum_at(rows: &[Row], at: i64) -> f64 {
    rows.iter().map(|row| row.at(at) as f64).sum()
}

fn judge(
    rows: &[Row],
    whole: &[bool],
    times: &[i64],
    width: u32,
    segment_bytes: f64,
) -> Option<Vec<Option<Link>>> {
    let sums: Vec<f64> = times.iter().map(|&at| sum_at(rows, at)).collect();
    let usual = spread(&sums).0;
    let above = sums.iter().filter(|&&sum| sum > usual * (1.0 + 2.0 * STEADY)).count();
    let mut nearest: Vec<(f64, i64)> =
        sums.iter().zip(times).map(|(sum, &at)| ((sum - usual).abs(), at)).collect();
    nearest.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    nearest.truncate((NEAREST * times.len() as f64).ceil() as usize);
    let varies = AS_ALL * nearest.iter().map(|(apart, _)| apart).sum::<f64>() / nearest.len() as f64;
    // That the sum is the usual one binds independent ones too: two lose half of their variance. So the bound is safe.
    let apart: f64 = rows
        .iter()
        .map(|row| {
            let own: Vec<f64> = nearest.iter().map(|&(_, at)| row.at(at) as f64).collect();
            spread(&own).1.powi(2)
        })
        .sum();
    let unfit = above as f64 > ABOVE * times.len() as f64 || usual < ENOUGH * segment_bytes.max(1.0);
    if unfit || varies > STEADY * usual || varies.powi(2) >= by_chance(nearest.len() as f64) * apart {
        return None;
    }
    // A link is not full all of the time: most bins are of the time in which it is, and the median is below those.
    let mut sorted: Vec<u64> = sums.iter().map(|&sum| sum as u64).collect();
    sorted.sort_unstable();
    let usual = plateau(&sorted).unwrap_or(usual);
    let seconds = (1u64 << width) as f64 / 1e9;
    // Most were there at the same times: of each bin it is found once what all brought, and how many were there throughout.
    let mut found: BTreeMap<i64, (f64, usize)> = BTreeMap::new();
    let mut all_at = |at: i64| {
        let count = || rows.iter().filter(|row| row.within(at)).count();
        *found.entry(at).or_insert_with(|| (sum_at(rows, at), count()))
    };
    let link = |(row, &whole): (&Row, &bool)| {
        let (mut count, mut own, mut fair) = (0usize, 0.0, 0.0);
        for &at in times.iter().filter(|&&at| row.within(at)) {
            let (sum, others) = all_at(at);
            count += 1;
            own += row.at(at) as f64;
            fair += sum / others.max(1) as f64;
        }
        let came: Vec<f64> = row.throughout().map(|at| all_at(at).0).collect();
        let (full, all) = (came.iter().filter(|&&sum| sum >= FULL * usual).count(), came.len());
        // Receivers that acknowledge many segments at once make one bin lack what the next has: all that was brought counts.
        let brought = came.iter().sum::<f64>() / (usual * all.max(1) as f64);
        let share = full as f64 / all.max(1) as f64;
        let share = if brought >= BROUGHT { brought.clamp(share, 1.0) } else { share };
        // Of who was there for a short time only, no more is known than that the link was full all of it, if it got its share.
        let fair = own >= fair / 2.0;
        if count < if whole && full == all && fair { SOON } else { FEW / 2 } {
            return None;
        }
        Some(Link { bytes_per_s: (usual / seconds) as u64, full_permille: (share * 1000.0) as u32, fair })
    };
    Some(rows.iter().zip(whole).map(link).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Series of a flow that brings so many bytes in each bin, from one on.
    fn series(first: i64, bytes: &[i64]) -> Series {
        let mut series = Series::default();
        for (at, &bytes) in bytes.iter().enumerate() {
            series.add((first + at as i64) << 20, bytes, 0, bytes as u64);
        }
        series
    }

    fn all_of(series: &Series, carried: f64) -> Brought<'_> {
        Brought { series, carried, whole: true }
    }

    proptest! {
        /// Two that divide a link, however they do, share it.
        #[test]
        fn what_one_gets_the_other_loses(parts in prop::collection::vec(5i64..95, 20..60)) {
            let one = series(100, &parts.iter().map(|part| part * 1000).collect::<Vec<_>>());
            let two = series(100, &parts.iter().map(|part| (100 - part) * 1000).collect::<Vec<_>>());
            let found = share_a_full_link(&[all_of(&one, 1.0), all_of(&two, 1.0)], 1000.0);
            prop_assume!(spread(&parts.iter().map(|part| *part as f64).collect::<Vec<_>>()).1 >= 1.0);
            for link in found {
                let link = link.expect("they share it");
                prop_assert_eq!(link.full_permille, 1000);
                prop_assert!((link.bytes_per_s as f64 / (100_000.0 / (1u64 << 20) as f64 * 1e9) - 1.0).abs() < 0.01);
            }
        }

        /// Whatever came whenever: as many answers as questions, and no panic.
        #[test]
        fn any_series(all in prop::collection::vec(prop::collection::vec((any::<i64>(), 0i64..1 << 50), 0..80), 0..6)) {
            let all: Vec<Series> = all.into_iter().map(|steps| {
                let mut series = Series::default();
                steps.into_iter().for_each(|(t_ns, bytes)| series.add(t_ns, bytes, 0, bytes as u64));
                series
            }).collect();
            let with_part: Vec<_> = all.iter().map(|series| all_of(series, 1.0)).collect();
            let found = share_a_full_link(&with_part, 1000.0);
            prop_assert_eq!(found.len(), all.len());
        }
    }

    /// Two that know nothing of each other, a thousand times: chance alone makes their sum seem constant.
    #[test]
    fn independent_ones_seldom_share() {
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut shared = 0;
        for _ in 0..1000 {
            let mut one = || {
                let bins = 40 + next(20);
                (0..bins).map(|_| [5_000, 35_000, 65_000, 95_000][next(4) as usize]).collect::<Vec<i64>>()
            };
            let (one, two) = (series(7, &one()), series(7, &one()));
            shared += usize::from(
                share_a_full_link(&[all_of(&one, 1.0), all_of(&two, 1.0)], 1000.0)
                    .iter()
                    .any(Option::is_some),
            );
        }
        assert!(shared <= 5, "{shared}");
    }

    #[test]
    fn a_link_is_not_full_while_one_that_is_left_alone_brings_little() {
        let parts: Vec<i64> = (0..20).map(|at| if at % 2 == 0 { 30_000 } else { 70_000 }).collect();
        let one = series(1, &[&parts[..], &[2_000; 40]].concat());
        let two = series(1, &parts.iter().map(|part| 100_000 - part).collect::<Vec<_>>());
        let found = share_a_full_link(&[all_of(&one, 1.0), all_of(&two, 1.0)], 1000.0);
        let full = |place: usize| found[place].expect("they share it").full_permille;
        assert!((300..=350).contains(&full(0)), "{}", full(0));
        assert_eq!(full(1), 1000);
    }

    /// Every fifth bin lacks a quarter that the next one has more: a receiver acknowledged many segments at once.
    #[test]
    fn a_link_that_brought_all_it_can_was_full_all_the_time() {
        let parts: Vec<i64> = (0..40i64).map(|at| 20_000 + 15_000 * (at % 5)).collect();
        let late = |at: i64| [0, 0, 25_000, -25_000, 0][(at % 5) as usize];
        let one = series(1, &parts);
        let two = series(1, &(0..40).map(|at| 100_000 - parts[at as usize] - late(at)).collect::<Vec<_>>());
        let found = share_a_full_link(&[all_of(&one, 1.0), all_of(&two, 1.0)], 1000.0);
        let full = found[0].expect("they share it").full_permille;
        assert!(full >= 950, "{full}");
    }

    /// In front of the link a quarter more passes than it carries: its rate is what it did not drop.
    #[test]
    fn what_a_full_link_drops_is_not_its_rate() {
        let part = |at: i64| 30_000 + 20_000 * (at % 3);
        let mut both = [Series::default(), Series::default()];
        for at in 0..40i64 {
            for (series, bytes) in both.iter_mut().zip([part(at), 100_000 - part(at)]) {
                series.add(at << 20, bytes, 0, bytes as u64 * 5 / 4);
            }
        }
        for link in share_a_full_link(&[all_of(&both[0], 0.8), all_of(&both[1], 0.8)], 1000.0) {
            let link = link.expect("they share it");
            let rate = 100_000.0 / (1u64 << 20) as f64 * 1e9;
            assert!((link.bytes_per_s as f64 / rate - 1.0).abs() < 0.01, "{}", link.bytes_per_s);
        }
    }

    /// Bins hold 17 segments or 18, and a few far less: the rate is between these, and that of none of them.
    #[test]
    fn a_link_is_as_fast_as_the_bins_in_which_it_is_full_are_on_average() {
        let level = |at: i64| 1000 * if at % 9 == 0 { 9 } else { [17, 17, 18, 17, 18][(at % 5) as usize] };
        let part = |at: i64| 1000 * (2 + 3 * (at % 3));
        let one = series(1, &(0..45).map(part).collect::<Vec<_>>());
        let two = series(1, &(0..45).map(|at| level(at) - part(at)).collect::<Vec<_>>());
        for link in share_a_full_link(&[all_of(&one, 1.0), all_of(&two, 1.0)], 1000.0) {
            let link = link.expect("they share it");
            let rate = 17_400.0 / (1u64 << 20) as f64 * 1e9;
            assert!(
                (link.bytes_per_s as f64 / rate - 1.0).abs() < 0.01,
                "{}",
                link.bytes_per_s as f64 / rate
            );
        }
    }

    /// Each at a constant rate: one alone, then both, then the other alone, and always the same sum.
    #[test]
    fn who_makes_room_for_another_shares_a_link() {
        let one = series(1, &[[100_000; 12], [60_000; 12]].concat());
        let two = series(13, &[[40_000; 12], [100_000; 12]].concat());
        for link in share_a_full_link(&[all_of(&one, 1.0), all_of(&two, 1.0)], 1000.0) {
            assert_eq!(link.expect("they share it").full_permille, 1000);
        }
        let beside = series(13, &[[40_000; 12], [40_000; 12]].concat());
        let steady = series(1, &[[100_000; 12], [100_000; 12]].concat());
        assert!(
            share_a_full_link(&[all_of(&steady, 1.0), all_of(&beside, 1.0)], 1000.0)
                .iter()
                .all(Option::is_none)
        );
    }

    #[test]
    fn a_steady_one_beside_little_is_alone() {
        let one = series(1, &[90_000; 40]);
        let two = series(1, &(0..40).map(|at| 300 + 100 * (at % 5)).collect::<Vec<_>>());
        assert!(
            share_a_full_link(&[all_of(&one, 1.0), all_of(&two, 1.0)], 1000.0).iter().all(Option::is_none)
        );
    }
}
