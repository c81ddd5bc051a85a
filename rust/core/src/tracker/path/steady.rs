//! A connection alone whose data always comes at one rate: a link or a shaper takes no more, whatever the congestion
//! window is. It is seen of a queue that adds to no round trip here too: of a sender's own, without timestamps.

use super::series::{Series, carried, sum};
use super::{Link, trains};
use std::borrow::Cow;

/// Bins that are looked at, at least.
const FEW: usize = 10;
/// A bin should hold so many packets, or one more or less would be a change.
const PACKETS: f64 = 16.0;
/// Bins within this part of the usual one are alike...
const ALIKE: f64 = 0.1;
/// ...and so many of all have to be.
pub(super) const MOST: f64 = 0.6;
/// A link takes the same all the time: the middle half of these bins differs by no more than this part of them, or a packet.
const SPREAD: f64 = 0.06;
/// A congestion window that grows shows as a rate that grows: by no more than this from the first third to the last.
const GROWTH: f64 = 0.03;
/// Segments by which a congestion window grows in each round trip at the least (RFC 9438 section 4.3, delayed ACKs), and what part more
/// than before would have shown.
const LEAST_GROWTH: f64 = 0.5;
const OUTGROWN: f64 = 0.25;
/// The same of what came at about a rate, where recovery makes the beginning of bins slower.
const FASTER: f64 = 0.08;
/// No link carries more than its rate: of few bins, wide enough that jitter and a queue behind a pause are no matter, none
/// (one in so many) holds more than that much beyond it.
const BEYOND: f64 = 0.12;
const RARE: usize = 20;
/// So many are enough for that.
const WIDE: usize = 8;

/// The link that this one fills alone with packets of so many bytes, by its rate; `None` if that changes.
pub(super) fn steady_rate(series: &Series, packet: f64) -> Option<Link> {
    let mut series = Cow::Borrowed(series);
    while series.bins.len() >= FEW + 2 {
        let (passed, arrived) = (series.whole(|bin| bin.passed), series.whole(|bin| bin.bytes));
        let carried = carried(sum(&arrived), sum(&passed));
        for (bytes, part) in [(passed, carried), (arrived, 1.0)] {
            if let Some(link) = judge(&bytes, series.width, packet).map(|link| link.of(part))
                && !exceeded(&series, link.bytes_per_s, packet)
            {
                return Some(link);
            }
        }
        series.to_mut().widen();
    }
    None
}

/// The link that this one filled for a part of the time, at a rate that it never exceeded and kept for so long that any congestion
/// window would have outgrown it, which `in_flight` segments at that rate in a round trip of `base_ns` tell.
pub(super) fn kept_rate(
    series: &Series,
    packet: f64,
    base_ns: f64,
    in_flight: impl Fn(f64) -> f64,
) -> Option<Link> {
    let mut series = Cow::Borrowed(series);
    while series.bins.len() >= FEW + 2 {
        let arrived = series.whole(|bin| bin.bytes);
        let run = longest_run(&arrived, packet);
        if run.len() >= FEW && run[0] as f64 >= PACKETS * packet {
            let width_ns = (1u64 << series.width) as f64;
            let rate = sum(run) / run.len() as f64 * 1e9 / width_ns;
            let rounds = run.len() as f64 * width_ns / base_ns.max(1.0);
            // Of the growth over all of it, a third each shows two thirds.
            let grown = LEAST_GROWTH * rounds * 2.0 / 3.0 / in_flight(rate).max(1.0);
            if grown >= OUTGROWN && !exceeded(&series, rate as u64, packet) {
                let full = arrived
                    .iter()
                    .filter(|&&bytes| bytes as f64 * 1e9 / width_ns >= rate * (1.0 - ALIKE))
                    .count();
                return Some(Link {
                    bytes_per_s: rate as u64,
                    full_permille: (full * 1000 / arrived.len()) as u32,
                    fair: false,
                });
            }
        }
        series.to_mut().widen();
    }
    None
}

/// The most bins on end that are alike and do not grow: the largest of them is no more than that, or two packets, above the smallest.
fn longest_run(bytes: &[u64], packet: f64) -> &[u64] {
    let mut best: &[u64] = &[];
    for from in 0..bytes.len() {
        let run = alike_from(&bytes[from..], packet);
        if run.len() > best.len() && !grows(run, GROWTH) {
            best = run;
        }
    }
    best
}

/// The first bins, as long as they are alike.
fn alike_from(bytes: &[u64], packet: f64) -> &[u64] {
    let (mut least, mut most) = (u64::MAX, 0);
    let differ = |&bytes: &u64| {
        (least, most) = (least.min(bytes), most.max(bytes));
        (most - least) as f64 > (ALIKE * most as f64).max(2.0 * packet)
    };
    &bytes[..bytes.iter().position(differ).unwrap_or(bytes.len())]
}

/// Whether a rate at which data came looks like a link's over time: what came at about that rate did not come ever faster, and,
/// where no loss nor pause gathered data (`smooth`), nothing came much faster.
pub(super) fn is_kept(series: &Series, bytes_per_s: f64, packet: f64, smooth: bool) -> bool {
    if series.bins.len() < FEW + 2 {
        return true;
    }
    if smooth && exceeded(series, bytes_per_s as u64, packet) {
        return false;
    }
    let rate = bytes_per_s * (1u64 << series.width) as f64 / 1e9;
    let arrived = series.whole(|bin| bin.bytes);
    let near: Vec<u64> =
        arrived.into_iter().filter(|&bytes| (bytes as f64 / rate - 1.0).abs() <= trains::ALIKE).collect();
    near.len() < FEW || !grows(&near, FASTER)
}

/// Whether the last third is more than the first, by more than that.
fn grows(alike: &[u64], by: f64) -> bool {
    let third = alike.len() / 3;
    sum(&alike[alike.len() - third..]) > sum(&alike[..third]) * (1.0 + by)
}

/// Whether more arrived, for longer than jitter lasts, than a link of that rate carries, and three packets (one at each end, and a part of one): it is the
/// pace of something else.
fn exceeded(series: &Series, bytes_per_s: u64, packet: f64) -> bool {
    let mut wide = series.clone();
    while wide.bins.len() >= 2 * (WIDE + 2) {
        wide.widen();
    }
    let carried = bytes_per_s as f64 * (1u64 << wide.width) as f64 / 1e9;
    let most = carried + (BEYOND * carried).max(3.0 * packet);
    let arrived = wide.whole(|bin| bin.bytes);
    let beyond = arrived.iter().filter(|&&bytes| bytes as f64 > most).count();
    beyond * RARE > arrived.len()
}

/// Bytes of each bin throughout which it was there.
fn judge(bytes: &[u64], width: u32, packet: f64) -> Option<Link> {
    let mut sorted = bytes.to_vec();
    sorted.sort_unstable();
    let usual = sorted[sorted.len() / 2];
    let near = |bytes: &u64| bytes.abs_diff(usual) as f64 <= ALIKE * usual as f64;
    let alike: Vec<u64> = bytes.iter().copied().filter(near).collect();
    sorted.retain(near);
    if (usual as f64) < PACKETS * packet
        || alike.len() < FEW
        || (alike.len() as f64) < MOST * bytes.len() as f64
    {
        return None;
    }
    let spread = sorted[sorted.len() * 3 / 4] - sorted[sorted.len() / 4];
    if grows(&alike, GROWTH) || spread as f64 > (SPREAD * usual as f64).max(packet) {
        return None;
    }
    let seconds = (1u64 << width) as f64 / 1e9;
    let rate = sum(&alike) / alike.len() as f64;
    let full = bytes.iter().filter(|&&bytes| bytes as f64 >= rate * (1.0 - ALIKE)).count();
    Some(Link {
        bytes_per_s: (rate / seconds) as u64,
        full_permille: (full * 1000 / bytes.len()) as u32,
        fair: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Series of a flow that brings so many bytes in each bin.
    fn series(bytes: &[i64]) -> Series {
        let mut series = Series::default();
        for (at, &bytes) in bytes.iter().enumerate() {
            series.add((at as i64) << 20, bytes, 0, bytes as u64);
        }
        series
    }

    proptest! {
        /// What comes at one rate, however its segments fall into the bins, comes at that rate.
        #[test]
        fn one_rate(jitter in prop::collection::vec(-1500i64..1500, 40..60)) {
            let found = steady_rate(&series(&jitter.iter().map(|more| 50_000 + more).collect::<Vec<_>>()), 1500.0);
            let link = found.expect("it is steady");
            let rate = 50_000.0 / (1u64 << 20) as f64 * 1e9;
            prop_assert!((link.bytes_per_s as f64 / rate - 1.0).abs() < 0.02);
            prop_assert_eq!(link.full_permille, 1000);
        }

        /// A congestion window that grows by a twentieth while it is looked at is none.
        #[test]
        fn growing(percent in 6i64..200, start in 30_000i64..100_000) {
            let bytes: Vec<i64> = (0..50).map(|at| start + start * percent * at / 5000).collect();
            prop_assert!(steady_rate(&series(&bytes), 1500.0).is_none());
        }

        /// Any series: no panic, and a share that is one.
        #[test]
        fn any_series(steps in prop::collection::vec((any::<i64>(), 0i64..1 << 50), 0..80)) {
            let mut all = Series::default();
            steps.into_iter().for_each(|(t_ns, bytes)| all.add(t_ns, bytes, 0, bytes as u64));
            prop_assert!(steady_rate(&all, 1500.0).is_none_or(|link| link.full_permille <= 1000));
        }
    }

    /// A window that is sent in each round trip comes at one rate, and the slow start before it came faster.
    #[test]
    fn a_rate_that_was_exceeded_is_no_link_s() {
        let mut bytes = vec![60_000; 64];
        assert!(steady_rate(&series(&bytes), 1500.0).is_some());
        bytes[4..12].fill(80_000);
        assert!(steady_rate(&series(&bytes), 1500.0).is_none());
        // What a pause of the path had gathered comes at once behind it.
        bytes[4..12].fill(60_000);
        (bytes[20], bytes[21]) = (0, 120_000);
        assert!(steady_rate(&series(&bytes), 1500.0).is_some());
    }

    #[test]
    fn a_pause_is_not_full() {
        let bytes: Vec<i64> = (0..50).map(|at| if (20..30).contains(&at) { 0 } else { 60_000 }).collect();
        let link = steady_rate(&series(&bytes), 1500.0).expect("it is steady but for that");
        assert!((780..=810).contains(&link.full_permille), "{}", link.full_permille);
    }

    /// A few packets more in a bin of few are no other rate: 1.5 Mbit/s, of which bins of 67 ms hold eight or nine segments.
    #[test]
    fn a_slow_link_is_steady() {
        let bin = |at: i64| 1460 * (8 + at % 2);
        let bytes: Vec<i64> = (0..36).map(|at| if at == 3 { bin(at) + 2 * 1460 } else { bin(at) }).collect();
        assert!(steady_rate(&series(&bytes), 1460.0).is_some());
    }

    /// Losses made the rate small, and it grew until a link took no more.
    #[test]
    fn a_rate_that_no_window_keeps_is_a_link_s() {
        let bytes: Vec<i64> = (0..60).map(|at| (20_000 + 1000 * at).min(60_000)).collect();
        assert_eq!(steady_rate(&series(&bytes), 1500.0), None);
        let kept = |bytes: &[i64], base_ms: f64| {
            let in_flight = move |rate: f64| rate * base_ms / 1e3 / 1500.0;
            kept_rate(&series(bytes), 1500.0, base_ms * 1e6, in_flight)
        };
        let link = kept(&bytes, 0.5).expect("forty round trips at one rate");
        assert!((60_000.0 / (1u64 << 20) as f64 * 1e9 / link.bytes_per_s as f64 - 1.0).abs() < 0.02);
        assert!((410..=480).contains(&link.full_permille), "{}", link.full_permille);
        assert_eq!(kept(&bytes, 20.0), None, "a window of 760 segments that grows by one is the same");
        let growing: Vec<i64> = (0..60).map(|at| 30_000 + 500 * at).collect();
        assert_eq!(kept(&growing, 0.5), None);
        // What was faster before was no link of that rate.
        let mut faster = bytes;
        faster[..12].fill(90_000);
        assert_eq!(kept(&faster, 1.0), None);
    }

    proptest! {
        /// Alike, not growing, and nothing that goes on from where it begins is.
        #[test]
        fn runs(bytes in prop::collection::vec(0u64..40_000, 0..40)) {
            let run = longest_run(&bytes, 1500.0);
            let alike = |run: &[u64]| {
                let (least, most) = (run.iter().min(), run.iter().max());
                least.zip(most).is_none_or(|(least, most)| (most - least) as f64 <= (ALIKE * *most as f64).max(3000.0))
            };
            prop_assert!(alike(run) && !grows(run, GROWTH));
            let from = bytes.windows(run.len().max(1)).position(|part| part == run).unwrap_or(0);
            prop_assert!(from + run.len() == bytes.len() || !alike(&bytes[from..=from + run.len()]));
        }
    }
}
