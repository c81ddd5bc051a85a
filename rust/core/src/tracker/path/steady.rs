//! A connection alone whose data always comes at one rate: a link or a shaper takes no more, whatever the congestion
//! window is. It is seen of a queue that adds to no round trip here too: of a sender's own, without timestamps.

use super::series::{Series, carried, sum};
use super::{Link, trains};
use std::borrow::Cow;
use std::ops::Range;

/// Bins that are looked at, at least.
pub(super) const FEW: usize = 10;
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
/// The same of what came at about a rate, where recovery makes the beginning of bins slower.
const FASTER: f64 = 0.08;
/// No link carries more than its rate: of few bins, wide enough that jitter and a queue behind a pause are no matter, none
/// (one in so many) holds more than that much beyond it.
const BEYOND: f64 = 0.12;
const RARE: usize = 20;
/// So many are enough for that.
const WIDE: usize = 8;
/// A bin that lacks more than this part holds a pause.
const PAUSED: f64 = 1.0 / 3.0;
/// Segments by which a congestion window grows in each round trip at the least (RFC 9438 section 4.3, delayed ACKs).
const LEAST_GROWTH: f64 = 0.5;
/// What came at one rate is within this part of all, or three packets, of a straight line for that part of the time; a window that
/// grew would have bent it by so many times more.
const STRAIGHT: f64 = 0.02;
const NEARLY: f64 = 0.85;
const BENT: f64 = 2.5;
/// A path of which this part of the bins, one in so many, is empty stalled.
const STALLED: usize = 5;
/// Of the bins of a link that is empty at times, one in so many is of its rate.
const FASTEST: usize = 3;
/// A sender that paces its slow start keeps a rate for one round trip, and a congestion window that has just left it for little more.
const ROUNDS: f64 = 3.0;
/// Part of its rate that a link brings at least while it is full.
const FULL: f64 = 0.85;

/// The link that this one fills alone with packets of so many bytes, by its rate; `None` if that changes.
pub(super) fn steady_rate(series: &Series, packet: f64) -> Option<Link> {
    let mut series = Cow::Borrowed(series);
    while series.bins.len() >= FEW + 2 {
        for (bytes, part) in brought(&series) {
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

/// The link whose queue refuses what this one sends beyond its rate, though it is empty at times: most bins hold nearly as much as the
/// fastest of them.
pub(super) fn refusing_rate(series: &Series, packet: f64) -> Option<Link> {
    let mut series = Cow::Borrowed(series);
    while series.bins.len() >= FEW + 2 {
        let bytes = series.whole(|bin| bin.bytes);
        let mut sorted = bytes.clone();
        sorted.sort_unstable();
        if sorted[sorted.len() / 2] as f64 >= PACKETS * packet {
            let fastest = &sorted[sorted.len() - sorted.len() / FASTEST..];
            let rate = sum(fastest) / fastest.len() as f64;
            let spread = (fastest[fastest.len() - 1] - fastest[0]) as f64;
            let full = sum(&bytes) / (rate * bytes.len() as f64);
            let even = spread <= (2.0 * SPREAD * rate).max(2.0 * packet);
            return (even && full >= FULL && !grows(&bytes, FASTER)).then_some(Link {
                bytes_per_s: (rate * 1e9 / series.width_ns()) as u64,
                full_permille: (full * 1000.0).min(1000.0) as u32,
                fair: false,
            });
        }
        series.to_mut().widen();
    }
    None
}

/// What passed in each bin, of which a link behind carried that part, and what arrived.
fn brought(series: &Series) -> [(Vec<u64>, f64); 2] {
    let (passed, arrived) = (series.whole(|bin| bin.passed), series.whole(|bin| bin.bytes));
    let carried = carried(sum(&arrived), sum(&passed));
    [(passed, carried), (arrived, 1.0)]
}

/// The link that this one filled for a part of the time, at a rate that it never exceeded and kept for so long that any congestion
/// window would have outgrown it; `in_flight` is how many segments that rate keeps in a round trip of `base_ns`, if that is known.
pub(super) fn kept_rate(
    series: &Series,
    packet: f64,
    base_ns: f64,
    in_flight: impl Fn(f64) -> Option<f64>,
) -> Option<Link> {
    if series.bins.len() < FEW + 2 {
        return None;
    }
    let width_ns = series.width_ns();
    for (bytes, part) in brought(series).into_iter().rev() {
        // However much it grows, the line is bent by a quarter of all at the most.
        if sum(&bytes) / 4.0 < BENT * tolerance(&bytes, packet) {
            continue;
        }
        let empty = bytes.iter().filter(|&&bytes| bytes as f64 <= packet).count();
        let stalled = STALLED * empty >= bytes.len();
        let place = straight_run(&bytes, packet, stalled);
        let (before, run, behind) = (&bytes[..place.start], &bytes[place.clone()], &bytes[place.end..]);
        let each = sum(run) / run.len().max(1) as f64;
        let rate = each * 1e9 / width_ns;
        let rounds = run.len() as f64 * width_ns / base_ns.max(1.0);
        let growth = LEAST_GROWTH * rounds / in_flight(rate * part)?.max(1.0);
        // What a rate that grows by so much evenly brings by half of the time lacks so much of half of all.
        let bend = growth / (8.0 + 4.0 * growth) * sum(run);
        if bend >= BENT * tolerance(run, packet) && !exceeded(series, (rate * part) as u64, packet) {
            // Where it stalled, it may have been as full before that, and behind it.
            let (beside, empty) = match stalled {
                true => (as_full(before, each, packet) + as_full(behind, each, packet), empty),
                false => (0, 0),
            };
            let (full, came) = (run.len() + beside, bytes.len() - empty);
            let link = Link {
                bytes_per_s: rate as u64,
                full_permille: (full * 1000 / came.max(full)) as u32,
                fair: false,
            };
            return Some(link.of(part));
        }
    }
    None
}

/// Bytes that what came until a time may be away from a straight line.
pub(super) fn tolerance(run: &[u64], packet: f64) -> f64 {
    (STRAIGHT * sum(run)).max(3.0 * packet)
}

/// The most bins on end in which bytes came along a straight line, or, of a path that stalled, those that hold the most bytes; empty
/// if they are few.
fn straight_run(bytes: &[u64], packet: f64, stalled: bool) -> Range<usize> {
    let weight = |bytes: u64| if stalled { bytes } else { 1 };
    let (mut best, mut most) = (0..0, 0);
    for from in 0..bytes.len() {
        let mut held: u64 = bytes[from..].iter().map(|&bytes| weight(bytes)).sum();
        for until in (from + FEW..=bytes.len()).rev() {
            if held <= most {
                break;
            }
            if is_straight(&bytes[from..until], packet) {
                (best, most) = (from..until, held);
                break;
            }
            held -= weight(bytes[until - 1]);
        }
    }
    best
}

/// How many bins hold about as much as a link brings in each, but for a packet.
fn as_full(bytes: &[u64], carried: f64, packet: f64) -> usize {
    let within = (1.0 - FULL) * carried + packet;
    bytes.iter().filter(|&&bytes| (bytes as f64 - carried).abs() <= within).count()
}

/// Whether nearly always as much had come as at one rate; a host that stands still, and goes on, is no other rate.
fn is_straight(run: &[u64], packet: f64) -> bool {
    let (rate, tolerance) = (sum(run) / run.len() as f64, tolerance(run, packet));
    let (mut came, mut near) = (0.0, 0);
    for (at, &bytes) in run.iter().enumerate() {
        came += bytes as f64;
        near += usize::from((came - rate * (at + 1) as f64).abs() <= tolerance);
    }
    near as f64 >= NEARLY * run.len() as f64 && !grows(run, FASTER)
}

/// Whether a rate at which data came looks like a link's over time: it lasted for more round trips of `base_ns` than any sender that
/// paces its slow start keeps one, what came at about that rate did not come ever faster, and, where no loss nor pause gathered
/// data (`smooth`), nothing came much faster.
pub(super) fn is_kept(series: &Series, bytes_per_s: f64, packet: f64, base_ns: i64, smooth: bool) -> bool {
    if lasted_ns(series, bytes_per_s, packet) < ROUNDS * base_ns as f64 {
        return false;
    }
    if series.bins.len() < FEW + 2 {
        return true;
    }
    if smooth && exceeded(series, bytes_per_s as u64, packet) {
        return false;
    }
    let near = near(series, bytes_per_s);
    near.len() < FEW || !grows(&near, FASTER)
}

/// Bytes of the bins throughout which data arrived at about that rate.
fn near(series: &Series, bytes_per_s: f64) -> Vec<u64> {
    let rate = bytes_per_s * series.width_ns() / 1e9;
    let mut near = series.whole(|bin| bin.bytes);
    near.retain(|&bytes| (bytes as f64 / rate - 1.0).abs() <= trains::ALIKE);
    near
}

/// How long data arrived at about that rate, by bins in which a packet more or less is no change; all of the time if that is too
/// short for such.
fn lasted_ns(series: &Series, bytes_per_s: f64, packet: f64) -> f64 {
    let mut wide = Cow::Borrowed(series);
    while bytes_per_s * wide.width_ns() / 1e9 < PACKETS * packet && wide.bins.len() > 2 {
        wide.to_mut().widen();
    }
    if wide.bins.len() <= 4 {
        return series.span_ns() as f64;
    }
    near(&wide, bytes_per_s).len() as f64 * wide.width_ns()
}

/// Whether the last third is more than the first, by more than that.
fn grows(alike: &[u64], by: f64) -> bool {
    let third = alike.len() / 3;
    sum(&alike[alike.len() - third..]) > sum(&alike[..third]) * (1.0 + by)
}

/// Whether more arrived, for longer than jitter lasts, than a link of that rate carries, and three packets (one at each end, and a
/// part of one): it is the pace of something else. What a pause of no more than such a bin gathered makes up for it.
fn exceeded(series: &Series, bytes_per_s: u64, packet: f64) -> bool {
    let mut wide = series.clone();
    while wide.bins.len() >= 2 * (WIDE + 2) {
        wide.widen();
    }
    let carried = bytes_per_s as f64 * wide.width_ns() / 1e9;
    let more = (BEYOND * carried).max(3.0 * packet);
    let arrived = wide.whole(|bin| bin.bytes);
    let mut lacks = 0.0;
    let beyond = arrived.iter().filter(|&&bytes| {
        let beyond = bytes as f64 - carried - lacks;
        lacks = if -beyond > PAUSED * carried { (-beyond).min(carried) } else { 0.0 };
        beyond > more
    });
    beyond.count() * RARE > arrived.len()
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

    /// A queue of a few packets is empty at times: most bins hold nearly as much as the fastest, and no share of them is lost by that. One
    /// that a window fills by halves has slower and faster bins.
    #[test]
    fn a_link_behind_a_short_queue_is_empty_at_times() {
        let short: Vec<i64> = (0..40).map(|at| 1500 * [30, 32, 27, 33, 32, 31, 28, 32][at % 8]).collect();
        let link = refusing_rate(&series(&short), 1500.0).expect("most of them are as fast");
        assert!((0.9..0.99).contains(&(f64::from(link.full_permille) / 1000.0)), "{}", link.full_permille);
        let all: i64 = short.iter().sum();
        let carried =
            link.bytes_per_s as f64 * f64::from(link.full_permille) / 1000.0 * 40.0 * (1u64 << 20) as f64
                / 1e9;
        assert!((carried / all as f64 - 1.0).abs() < 0.02, "{carried}");
        let halved: Vec<i64> = (0..40).map(|at| 1500 * (16 + 2 * (at % 8))).collect();
        assert!(refusing_rate(&series(&halved), 1500.0).is_none());
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
        let bytes: Vec<i64> = (0..60).map(|at| (20_000 + 1250 * at).min(60_000)).collect();
        assert_eq!(steady_rate(&series(&bytes), 1500.0), None);
        let kept = |bytes: &[i64], base_ms: f64| {
            let in_flight = move |rate: f64| Some(rate * base_ms / 1e3 / 1500.0);
            kept_rate(&series(bytes), 1500.0, base_ms * 1e6, in_flight)
        };
        let link = kept(&bytes, 0.5).expect("forty round trips at one rate");
        assert!((60_000.0 / (1u64 << 20) as f64 * 1e9 / link.bytes_per_s as f64 - 1.0).abs() < 0.03);
        assert!((400..=620).contains(&link.full_permille), "{}", link.full_permille);
        assert_eq!(kept(&bytes, 20.0), None, "a window of 760 segments that grows by one is the same");
        let growing: Vec<i64> = (0..60).map(|at| 30_000 + 3000 * at).collect();
        assert_eq!(kept(&growing, 0.5), None);
        // What was faster before was no link of that rate.
        let mut faster = bytes;
        faster[..12].fill(90_000);
        assert_eq!(kept(&faster, 0.5), None);
    }

    /// A path that stalls for longer than the link was full before, and after that: the rate is the link's, and what came came at it.
    #[test]
    fn a_stall_is_no_rate() {
        let mut bytes = vec![11_680; 60];
        bytes[20..46].fill(0);
        let link =
            kept_rate(&series(&bytes), 1460.0, 1e5, |rate| Some(rate * 1e-4 / 1460.0)).expect("one rate");
        assert!((11_680.0 / (1u64 << 20) as f64 * 1e9 / link.bytes_per_s as f64 - 1.0).abs() < 0.01);
        assert_eq!(link.full_permille, 1000);
    }

    /// A host that stands still for two bins, and then takes what waited, changes no rate.
    #[test]
    fn a_rate_is_kept_through_a_pause_that_is_made_up_for() {
        let mut bytes = vec![12_000; 50];
        for at in [10, 30] {
            (bytes[at], bytes[at + 1], bytes[at + 2]) = (0, 0, 36_000);
        }
        let link =
            kept_rate(&series(&bytes), 1500.0, 5e5, |rate| Some(rate * 0.5e-3 / 1500.0)).expect("one rate");
        assert_eq!(link.full_permille, 1000);
        assert!(straight_run(&[12_000; 9], 1500.0, false).is_empty());
    }

    proptest! {
        /// What is found of any bins is straight, and of the whole of straight ones nothing is left out.
        #[test]
        fn runs(bytes in prop::collection::vec(0u64..40_000, 0..40), even in 12_000u64..40_000) {
            let run = straight_run(&bytes, 1500.0, false);
            prop_assert!(run.is_empty() || run.len() >= FEW && is_straight(&bytes[run], 1500.0));
            let straight: Vec<u64> = bytes.iter().map(|&bytes| even + bytes % 1500).collect();
            let whole = if straight.len() < FEW { 0 } else { straight.len() };
            prop_assert_eq!(straight_run(&straight, 1500.0, false).len(), whole);
        }
    }
}
