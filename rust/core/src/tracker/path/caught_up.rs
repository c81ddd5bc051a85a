//! An application that writes by its own clock, as what arrived in all shows: whatever held it back, a small window at the
//! beginning or a loss, it came back to the straight line that it would have kept without, from the first data to the last.
//!
//! No link does that, whose time is lost once it was idle, and no congestion window. A shaper that has saved tokens comes
//! to a line that begins above.

use super::limits::Wait;
use super::schedule::Kept;
use super::series::Series;
use super::steady::{FEW, tolerance};

/// What arrived was on the line for this part of the time at least...
const NEAR: f64 = 0.4;
/// ...and had been behind it by so many times what it may be off.
const BEHIND: f64 = 4.0;

/// The pace of such an application, with packets of so many bytes; all that the sender `spent_ns` is its time.
pub(super) fn caught_up(series: &Series, packet: f64, spent_ns: &[i64; Wait::COUNT]) -> Option<Kept> {
    if series.bins.len() < FEW + 2 {
        return None;
    }
    let whole = series.whole(|bin| bin.bytes);
    let slack = tolerance(&whole, packet);
    // What had come before each bin.
    let came: Vec<f64> = whole
        .iter()
        .scan(series.bins[0].bytes as f64, |came, &bytes| Some(std::mem::replace(came, *came + bytes as f64)))
        .collect();
    // The later half shows the line.
    let half = came.len() / 2;
    let rate = slope(&came[half..])?;
    let off = |at: usize| came[at] - rate * (at as f64 + 1.0);
    let line = median((half..came.len()).map(off).collect())?;
    // Where in its bin the first data came is not known.
    if line.abs() > rate + slack {
        return None;
    }
    let below: Vec<f64> = (0..came.len()).map(|at| line - off(at)).collect();
    let near = below.iter().filter(|&&by| by <= slack).count();
    let most = below.iter().copied().fold(0.0, f64::max);
    let kept = below.iter().all(|&by| by >= -slack)
        && below.last().is_some_and(|&by| by <= slack)
        && near as f64 >= NEAR * whole.len() as f64
        && most >= BEHIND * slack;
    kept.then(|| Kept {
        bytes_per_s: rate * 1e9 / series.width_ns(),
        made_up_ns: *spent_ns,
        behind_ns: (behind(&below, packet, slack) as f64 * series.width_ns()) as i64,
    })
}

/// How much more comes with each bin: the usual difference of those half of all apart (after Theil and Sen), which what was
/// late and made up for does not change.
fn slope(came: &[f64]) -> Option<f64> {
    let apart = came.len() / 2;
    median(came.windows(apart + 1).map(|part| (part[apart] - part[0]) / apart.max(1) as f64).collect())
        .filter(|&rate| rate > 0.0)
}

/// The one in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// How many bins it was behind for: of each time on end below the line by a packet, all of it, if it was below by more than it
/// may be off.
fn behind(below: &[f64], packet: f64, slack: f64) -> usize {
    let times = below.split(|&by| by <= packet);
    times.filter(|time| time.iter().any(|&by| by > slack)).map(<[f64]>::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPENT_NS: [i64; Wait::COUNT] = [0; Wait::COUNT];

    fn found(bytes: &[i64]) -> Option<Kept> {
        let mut series = Series::default();
        for (at, &bytes) in bytes.iter().enumerate() {
            series.add((at as i64) << 20, bytes, 0, bytes as u64);
        }
        caught_up(&series, 1500.0, &SPENT_NS)
    }

    /// Slow start for a tenth of the time, what had waited at once, and then as it is written.
    fn written(bytes: i64, late: usize, bins: usize) -> Vec<i64> {
        let mut all = vec![bytes; bins];
        all[..late].fill(bytes / 10);
        all[late] += bytes * 9 / 10 * late as i64;
        all
    }

    #[test]
    fn who_catches_up_writes_by_a_clock() {
        let kept = found(&written(60_000, 6, 60)).expect("it came back to the line");
        assert!((kept.bytes_per_s / 60_000.0 * (1i64 << 20) as f64 / 1e9 - 1.0).abs() < 0.02);
        assert_eq!(kept.behind_ns, 6 << 20);
        assert_eq!(
            found(&written(60_000, 33, 60)).map(|kept| kept.behind_ns),
            Some(33 << 20),
            "for most of it"
        );
        assert!(found(&written(60_000, 40, 60)).is_none(), "what is left shows no clock");
    }

    #[test]
    fn a_link_makes_up_for_nothing() {
        let mut slow = written(60_000, 6, 60);
        slow[6] = 60_000;
        assert!(found(&slow).is_none(), "what slow start took is gone");
        assert!(found(&[60_000; 60]).is_none(), "nothing held it back");
        let mut saved = [60_000; 60];
        saved[0] = 500_000;
        assert!(found(&saved).is_none(), "a shaper with saved tokens is ahead");
        let mut more = written(60_000, 6, 60);
        more[6] += 300_000;
        assert!(found(&more).is_none(), "more than it lacked is no clock");
    }

    proptest! {
        /// Any series: no panic, and no longer behind than it lasted.
        #[test]
        fn any_series(steps in prop::collection::vec((any::<i64>(), 0i64..1 << 50), 0..80)) {
            let mut all = Series::default();
            steps.into_iter().for_each(|(t_ns, bytes)| all.add(t_ns, bytes, 0, bytes as u64));
            let kept = caught_up(&all, 1500.0, &SPENT_NS);
            prop_assert!(kept.is_none_or(|kept| kept.behind_ns <= all.span_ns()));
        }
    }
}
