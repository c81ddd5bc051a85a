//! Boundaries of packets in a stream: sizes added up from anchor to anchor.

/// PPP drivers open a frame with a flag of its own after this much silence.
const FLAG_NS: i64 = 1_000_000_000;

/// Packets in the order in which the link took them: sizes without opening flags, how many of their bytes may
/// be escaped, and the pause in front of each (0: too short for a flag).
#[derive(Clone, Copy, Debug)]
pub struct Packets<'a> {
    /// Bytes that are certain.
    pub known: &'a [i64],
    /// Bytes that were not captured.
    pub unseen: &'a [i64],
    /// Pauses in nanoseconds.
    pub pauses: &'a [i64],
}

/// Stream offsets that end a packet, and how many packets at least and at most had entered by then.
#[derive(Clone, Copy, Debug)]
pub struct Anchors<'a> {
    /// In ascending order.
    pub offset: &'a [i64],
    /// At least so many.
    pub low: &'a [i64],
    /// At most so many.
    pub high: &'a [i64],
}

/// The outcome: one boundary more than packets, by how much each may be off, anchors met and missed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Stream offsets.
    pub bounds: Vec<i64>,
    /// In bytes.
    pub error: Vec<i64>,
    /// Anchors that the sizes met.
    pub matched: u64,
    /// Anchors that they did not.
    pub missed: u64,
}

/// Add up the sizes from stream offset `begin`; `rate` of the bytes that were not captured are escaped.
///
/// The sums grow with the packets, so what fits an anchor is one stretch of them, found by bisection.
///
/// # Panics
/// If the columns of packets, or those of anchors, differ in length.
#[must_use]
pub fn walk(packets: Packets<'_>, anchors: Anchors<'_>, begin: i64, rate: f64) -> Walked {
    let count = packets.known.len();
    assert!(packets.unseen.len() == count && packets.pauses.len() == count, "columns of packets");
    let marks = anchors.offset.len();
    assert!(anchors.low.len() == marks && anchors.high.len() == marks, "columns of anchors");
    let sums = summed(packets.known.iter().copied());
    let blind = summed(packets.unseen.iter().copied());
    let opened = summed(packets.pauses.iter().map(|pause| i64::from(*pause > 0)));
    let ground = Ground { packets, sums, blind, opened, rate };
    let mut out = Walked { bounds: vec![-1; count + 1], error: vec![0; count + 1], matched: 0, missed: 0 };
    out.bounds[0] = begin;
    let (mut start, mut at) = (0, begin);
    for mark in 0..marks {
        let (offset, low) = (anchors.offset[mark], at_least_zero(anchors.low[mark]));
        if start >= count || low > count {
            break;
        }
        if offset <= at {
            continue;
        }
        let low = low.max(start + 1);
        let high = at_least_zero(anchors.high[mark]).min(count);
        match ground.best(start, low, high, offset - at) {
            Some(here) => {
                ground.fill(&mut out, start, here, at, offset);
                out.matched += 1;
                (start, at) = (here, offset);
            }
            None => out.missed += u64::from(low <= high),
        }
    }
    ground.tail(&mut out, start, at);
    out
}

struct Ground<'a> {
    packets: Packets<'a>,
    sums: Vec<i64>,
    blind: Vec<i64>,
    opened: Vec<i64>,
    rate: f64,
}

impl Ground<'_> {
    /// How many packets, of `low` to `high`, end `span` bytes behind packet `start`: the likeliest; None if none do.
    fn best(&self, start: usize, low: usize, high: usize, span: i64) -> Option<usize> {
        if low > high {
            return None;
        }
        let least = |packet: usize| self.sums[packet] - self.sums[start];
        let most = |packet: usize| {
            least(packet) + self.opened[packet] - self.opened[start]
                + most(self.blind[packet] - self.blind[start], self.rate)
        };
        let guess = |packet: usize| {
            least(packet) + expected(self.blind[packet], self.rate) - expected(self.blind[start], self.rate)
        };
        let end = bisect(low, high + 1, |packet| least(packet) <= span);
        let first = bisect(low, end, |packet| most(packet) < span);
        if first >= end {
            return None;
        }
        let above = bisect(first, end, |packet| guess(packet) < span);
        if above == first {
            return Some(first);
        }
        let below = guess(above - 1);
        if above < end && guess(above) - span < span - below {
            return Some(above);
        }
        Some(bisect(first, above, |packet| guess(packet) < below))
    }

    /// Boundaries between two anchors: bounded from both sides.
    fn fill(&self, out: &mut Walked, start: usize, end: usize, at: i64, offset: i64) {
        let pauses = &self.packets.pauses[start..end];
        let surplus = offset - at - (self.sums[end] - self.sums[start]);
        let hidden = self.blind[end] - self.blind[start];
        // Opening flags: behind the longest pauses. Where they are not is never quite certain.
        let mut likely: Vec<usize> =
            (0..pauses.len()).filter(|packet| hidden == 0 || pauses[*packet] >= FLAG_NS).collect();
        likely.sort_by_key(|packet| std::cmp::Reverse(pauses[*packet]));
        likely.truncate(at_least_zero(surplus));
        let escaped = surplus - i64::try_from(likely.len()).unwrap_or(i64::MAX);
        let mut extra = vec![0; pauses.len()];
        for packet in likely {
            extra[packet] = 1;
        }
        let mut bound = at;
        let mut spread_before = 0;
        let pauses_in_all = self.opened[end] - self.opened[start];
        for packet in start..end {
            let so_far = self.blind[packet + 1] - self.blind[start];
            bound += self.packets.known[packet] + extra[packet - start];
            if escaped != 0 && hidden != 0 {
                let spread = (so_far as f64 / hidden as f64 * escaped as f64).round_ties_even() as i64;
                bound += spread - spread_before;
                spread_before = spread;
            }
            out.bounds[packet + 1] = bound;
            if packet + 1 == end {
                break;
            }
            // A boundary is off by at most what may hide in front of it, or behind it.
            out.error[packet + 1] = if hidden == 0 {
                surplus.min(1)
            } else {
                let opened = self.opened[packet + 1] - self.opened[start];
                let before = most(so_far, self.rate) + opened;
                let behind = most(hidden - so_far, self.rate) + pauses_in_all - opened;
                before.min(behind).min(surplus)
            };
        }
    }

    /// Boundaries behind the last anchor: they drift.
    fn tail(&self, out: &mut Walked, start: usize, at: i64) {
        for packet in start + 1..out.bounds.len() {
            let hidden = self.blind[packet] - self.blind[start];
            out.bounds[packet] = at + self.sums[packet] - self.sums[start] + expected(hidden, self.rate);
            out.error[packet] = most(hidden, self.rate) + self.opened[packet] - self.opened[start];
        }
    }
}

/// The first of `low..high` for which `before` does not hold; it holds up to there.
fn bisect(mut low: usize, mut high: usize, before: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn summed(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut total = 0;
    let steps = values.map(|value| {
        total += value;
        total
    });
    std::iter::once(0).chain(steps).collect()
}

fn expected(unseen: i64, rate: f64) -> i64 {
    (unseen as f64 * rate).round_ties_even() as i64
}

/// Escapes that are not exceeded: five standard deviations above the mean.
fn most(unseen: i64, rate: f64) -> i64 {
    if unseen <= 0 {
        return 0;
    }
    let mean = unseen as f64 * rate;
    (mean + (5.0 * (mean * (1.0 - rate)).sqrt() + 2.0)).ceil() as i64
}

fn at_least_zero(value: i64) -> usize {
    usize::try_from(value).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_hold_sizes_that_fit_and_others_are_counted() {
        let packets = Packets { known: &[10, 20, 30, 40], unseen: &[0; 4], pauses: &[0, 5, 0, 0] };
        let anchors = Anchors { offset: &[31, 60, 101], low: &[0, 0, 0], high: &[4, 4, 4] };
        let found = walk(packets, anchors, 0, 0.0);
        // One byte more than the first two take: the flag behind the pause. 29 bytes fit no packets.
        assert_eq!(found.bounds, [0, 10, 31, 61, 101]);
        assert_eq!(found.error, [0, 1, 0, 0, 0]);
        assert_eq!((found.matched, found.missed), (2, 1));
    }

    #[test]
    fn what_is_behind_the_last_anchor_drifts() {
        let packets = Packets { known: &[10, 10], unseen: &[8, 8], pauses: &[0, 0] };
        let found = walk(packets, Anchors { offset: &[], low: &[], high: &[] }, 5, 0.25);
        assert_eq!(found.bounds, [5, 17, 29]);
        assert_eq!(found.error, [0, 11, 15]);
    }
}
