//! The bottleneck of a transfer by what passed it: its rate, and when it was busy.
//!
//! Packets pass it one after the other. One that was handed over at `t` and came out at `u` kept it busy from
//! `t`, or from when the one before came out, to `u` less the delay that even an empty bottleneck adds.

use std::cmp::Ordering;

use super::median::median;

/// Packets that had to wait, and trains, that a rate needs.
const FEW: usize = 8;
/// Packets of a train.
const TRAIN: usize = 32;
/// Of the smallest delay: above that a packet waited, before the rate is known.
const SHARE: f64 = 0.5;
/// Steps in which the rate is found, and the change that ends them.
const STEPS: usize = 4;
const SETTLED: f64 = 0.01;
/// A path that stands still delivers nothing for so many of the usual distances of packets, too.
const FACTOR: i64 = 8;
/// Of the trains, how many are slower than the one whose rate counts.
const FASTEST: f64 = 0.99;

/// A packet that came out again.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// When it was handed over.
    pub in_ns: i64,
    /// When it came out.
    pub out_ns: i64,
    /// Its bytes.
    pub size: i64,
}

/// Bytes per second that come out while others wait, and of the fastest trains; 0 if too little is known.
///
/// One had to wait if it would have reached the bottleneck, had it met no other, before the one in front of it
/// had left: the smallest delay has the time of a packet in it, half of which is allowed. That time follows from
/// the rate, so that it is found in a few steps, from a first one that takes delays well above the smallest for
/// waiting. Where the path stood still, for `still_ns` at least, nothing came out, whatever its rate.
///
/// Trains are those of some packets as they come out, all but the fastest hundredth: a link that was never full
/// shows its rate in them only, and ACKs that came in a bunch show more than it.
#[must_use]
pub fn rates(mut packets: Vec<Passed>, smallest_ns: i64, still_ns: i64) -> (f64, f64) {
    packets.sort_by_key(|packet| packet.out_ns);
    (rate(&packets, smallest_ns, still_ns), peak(&packets))
}

fn rate(packets: &[Passed], smallest_ns: i64, still_ns: i64) -> f64 {
    let smallest = smallest_ns as f64;
    let waits = |pair: &[Passed], least: f64| (pair[1].in_ns as f64) < least;
    let mut lengths = Vec::with_capacity(packets.len());
    let (some, mut rate) = carried(packets, still_ns, &mut lengths, |pair| {
        waits(pair, pair[0].out_ns as f64 - SHARE * smallest)
    });
    if some < FEW {
        rate = carried(packets, still_ns, &mut lengths, |pair| pair[1].in_ns < pair[0].out_ns).1;
    }
    for _ in 0..if rate > 0.0 { STEPS } else { 0 } {
        let half = |pair: &[Passed]| (pair[1].size as f64 / rate * (1e9 / 2.0)).min(smallest);
        let (some, found) = carried(packets, still_ns, &mut lengths, |pair| {
            waits(pair, (pair[0].out_ns - smallest_ns) as f64 + half(pair))
        });
        if some < FEW || found <= 0.0 || (found - rate).abs() < SETTLED * rate {
            break;
        }
        rate = found;
    }
    rate
}

/// How many packets waited behind the one in front of them, and the bytes a second that they came out at.
///
/// Pauses in which the path stood still are apart. `lengths` is memory for the distances.
fn carried(
    packets: &[Passed],
    still_ns: i64,
    lengths: &mut Vec<i64>,
    waited: impl Fn(&[Passed]) -> bool,
) -> (usize, f64) {
    let gap = |pair: &[Passed]| pair[1].out_ns - pair[0].out_ns;
    let pairs = || packets.windows(2).filter(|pair| waited(pair));
    lengths.clear();
    lengths.extend(pairs().map(gap));
    if lengths.is_empty() {
        return (0, 0.0);
    }
    let still = still_ns.max(FACTOR.saturating_mul(median(lengths)));
    let (mut time, mut bytes) = (0, 0);
    for pair in pairs().filter(|pair| gap(pair) <= still) {
        time += gap(pair);
        bytes += pair[1].size;
    }
    (lengths.len(), if time > 0 { bytes as f64 / time as f64 * 1e9 } else { 0.0 })
}

fn peak(packets: &[Passed]) -> f64 {
    if packets.len() <= TRAIN {
        return 0.0;
    }
    let mut bytes: i64 = packets[1..TRAIN].iter().map(|packet| packet.size).sum();
    let mut rates = Vec::with_capacity(packets.len() - TRAIN);
    for at in TRAIN..packets.len() {
        bytes += packets[at].size;
        let time = packets[at].out_ns - packets[at - TRAIN].out_ns;
        if time > 0 {
            rates.push(bytes as f64 / time as f64 * 1e9);
        }
        bytes -= packets[at - TRAIN + 1].size;
    }
    if rates.is_empty() { 0.0 } else { quantile(&mut rates, FASTEST) }
}

/// A quantile of some values, between the two that are next to its place.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    let last = values.len() - 1;
    let place = last as f64 * share;
    let (below, part) = (place.floor() as usize, place - place.floor());
    let (_, &mut first, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let second = above.iter().copied().min_by(f64::total_cmp).unwrap_or(first);
    let apart = second - first;
    // From the nearer end: so the middle of two equal values is that value.
    match part.partial_cmp(&0.5) {
        Some(Ordering::Less) => first + apart * part,
        _ => second - apart * (1.0 - part),
    }
}

/// When each packet would be out of a queue that is served at a constant rate.
///
/// `sizes` are the bytes of each, and `rate` is in bytes a second.
#[must_use]
pub fn served(in_ns: &[i64], sizes: &[f64], rate: f64) -> Vec<i64> {
    let Some(&begin) = in_ns.first() else { return Vec::new() };
    // A stamp that is damaged may give a rate at which the queue is never served: the end of all times then.
    let end = 2f64.powi(62) - (begin as f64).abs();
    let (mut carried, mut before, mut latest) = (0.0, 0.0, f64::NEG_INFINITY);
    in_ns
        .iter()
        .zip(sizes)
        .map(|(&in_ns, &size)| {
            latest = f64::max(latest, (in_ns - begin) as f64 - before);
            carried += size;
            before = carried * (1e9 / rate);
            (latest + before).round_ties_even().min(end) as i64 + begin
        })
        .collect()
}

/// Intervals in which a bottleneck was busy, begins and ends in turn; those that touch are one.
///
/// Packets are in the order in which they were handed over. `rest_ns` of the time of each was spent elsewhere.
#[must_use]
pub fn busy(in_ns: &[i64], out_ns: &[i64], rest_ns: i64) -> Vec<i64> {
    let mut found: Vec<i64> = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for (at, (&in_ns, &out_ns)) in in_ns.iter().zip(out_ns).enumerate() {
        let out_ns = in_ns.max(out_ns - rest_ns);
        if at > 0 && in_ns <= end {
            end = end.max(out_ns);
            continue;
        }
        if end > begin {
            found.extend([begin, end]);
        }
        (begin, end) = (in_ns, out_ns);
    }
    if end > begin {
        found.extend([begin, end]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const STILL_NS: i64 = 200_000_000;

    /// Packets of 1,000 bytes each millisecond, handed over in pairs, which come out a millisecond apart.
    fn pairs(count: i64) -> Vec<Passed> {
        (0..count)
            .map(|at| Passed { in_ns: at / 2 * 2_000_000, out_ns: at * 1_000_000 + 5_000_000, size: 1_000 })
            .collect()
    }

    #[test]
    fn the_rate_is_that_of_packets_that_waited() {
        let (rate, peak) = rates(pairs(100), 5_000_000, STILL_NS);
        assert!((rate - 1e6).abs() < 1e-3 && (peak - 1e6).abs() < 1e-3, "{rate} {peak}");
    }

    #[test]
    fn a_path_that_stood_still_has_the_same_rate() {
        let mut packets = pairs(100);
        for packet in &mut packets[50..] {
            packet.out_ns += 1_000_000_000;
        }
        assert!((rates(packets, 5_000_000, STILL_NS).0 - 1e6).abs() < 1e-3);
    }

    #[test]
    fn too_few_have_no_rate() {
        assert_eq!(rates(Vec::new(), 0, STILL_NS), (0.0, 0.0));
        assert_eq!(rates(pairs(1), 0, STILL_NS), (0.0, 0.0));
    }

    #[test]
    fn a_queue_is_served_in_order() {
        assert_eq!(served(&[10, 10, 5_000], &[1.0, 2.0, 1.0], 1e6), [1_010, 3_010, 6_000]);
        assert_eq!(served(&[], &[], 1e6), [0; 0]);
    }

    #[test]
    fn busy_times_that_touch_are_one() {
        assert_eq!(busy(&[0, 5, 20, 30], &[12, 9, 22, 31], 2), [0, 10]);
        assert_eq!(busy(&[0, 10, 20], &[10, 15, 30], 0), [0, 15, 20, 30]);
        assert_eq!(busy(&[], &[], 0), [0; 0]);
    }

    #[test]
    fn quantiles_are_between_values() {
        assert!((quantile(&mut [4.0, 1.0, 3.0, 2.0], 0.9) - 3.7).abs() < 1e-12);
        assert!((quantile(&mut [7.0], 0.99) - 7.0).abs() < 1e-12);
    }
}
