//! What senders had in the network after every data segment and ACK: FlightSize, and the pipe.
//!
//! FlightSize (RFC 5681 section 2) is what was sent and not acknowledged. Of it, what the receiver holds already
//! (SACK) and what was overtaken by that is not in the network any more; the pipe (RFC 6675 section 4, in the
//! form of FACK) is the rest, and what was sent again since.

use super::median::median;

/// Duplicate ACKs that tell of a loss (RFC 5681 section 3.2).
const THRESHOLD: i64 = 3;

/// Data segments of senders, sender behind sender, each in order of time.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// The sender of each, from 0.
    pub of: &'a [i64],
    /// When each was sent.
    pub t_ns: &'a [i64],
    /// Its number in the capture.
    pub record: &'a [i64],
    /// Its first byte.
    pub seq: &'a [i64],
    /// Its bytes.
    pub length: &'a [i32],
    /// How many of them were sent before.
    pub duplicate: &'a [i32],
    /// What its sender gives up with it: all below counts as lost (RFC 6298 section 5), as its timer expired.
    pub timed_out: &'a [bool],
    /// The highest byte that its sender sent so far, plus one.
    pub highest: &'a [i64],
}

/// ACKs that senders received, sender behind sender, each in order of time.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The sender that each is for.
    pub of: &'a [i64],
    /// When it came.
    pub t_ns: &'a [i64],
    /// Its number in the capture.
    pub record: &'a [i64],
    /// What it acknowledges.
    pub ack: &'a [i64],
    /// The highest byte that it acknowledges selectively, plus one; -1 without.
    pub sack_high: &'a [i64],
    /// How many blocks it has for that.
    pub sack_count: &'a [i8],
    /// Whether it is a duplicate ACK.
    pub duplicate: &'a [bool],
}

/// Loss recoveries of senders, sender behind sender, in order of time; none overlaps another.
#[derive(Clone, Copy, Debug)]
pub struct Recoveries<'a> {
    /// The sender of each.
    pub of: &'a [i64],
    /// When it began.
    pub begin_ns: &'a [i64],
    /// When it was over.
    pub end_ns: &'a [i64],
}

/// The state behind one segment or ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which one: a row of what was sent, or, counted on from these, of what was received.
    pub row: usize,
    /// When it was.
    pub t_ns: i64,
    /// FlightSize.
    pub flight: i64,
    /// The pipe.
    pub pipe: i64,
}

/// How large a value was over some steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The largest.
    pub most: i64,
    /// Its sum over time, from each step to the next, times nanoseconds; exact below 2^53.
    pub over_time: f64,
}

impl Level {
    /// Of one sender's steps.
    #[must_use]
    pub fn of(steps: &[Step], value: impl Fn(&Step) -> i64) -> Self {
        Self {
            most: steps.iter().map(&value).max().unwrap_or(0),
            over_time: steps
                .windows(2)
                .map(|pair| value(&pair[0]) as f64 * (pair[1].t_ns - pair[0].t_ns) as f64)
                .sum(),
        }
    }
}

/// A walk over one sender's data and ACKs in the order of the capture; `each` gets every sender's steps, in turn.
pub fn walk(
    count: usize,
    sent: Sent<'_>,
    received: Received<'_>,
    recoveries: Recoveries<'_>,
    mut each: impl FnMut(&[Step]),
) {
    let mut walker = Walker::default();
    let (mut data, mut acks, mut held) = (0..0, 0..0, 0..0);
    for sender in 0..count as i64 {
        let next =
            |of: &[i64], before: usize| before..before + of[before..].partition_point(|&one| one == sender);
        data = next(sent.of, data.end);
        acks = next(received.of, acks.end);
        held = next(recoveries.of, held.end);
        walker.walk(&part_sent(sent, &data), &part_received(received, &acks), &part_held(recoveries, &held));
        for step in &mut walker.steps {
            step.row = if step.row < data.len() {
                data.start + step.row
            } else {
                sent.of.len() + acks.start + step.row - data.len()
            };
        }
        each(&walker.steps);
    }
}

fn part_sent<'a>(all: Sent<'a>, rows: &std::ops::Range<usize>) -> Sent<'a> {
    Sent {
        of: &all.of[rows.clone()],
        t_ns: &all.t_ns[rows.clone()],
        record: &all.record[rows.clone()],
        seq: &all.seq[rows.clone()],
        length: &all.length[rows.clone()],
        duplicate: &all.duplicate[rows.clone()],
        timed_out: &all.timed_out[rows.clone()],
        highest: &all.highest[rows.clone()],
    }
}

fn part_received<'a>(all: Received<'a>, rows: &std::ops::Range<usize>) -> Received<'a> {
    Received {
        of: &all.of[rows.clone()],
        t_ns: &all.t_ns[rows.clone()],
        record: &all.record[rows.clone()],
        ack: &all.ack[rows.clone()],
        sack_high: &all.sack_high[rows.clone()],
        sack_count: &all.sack_count[rows.clone()],
        duplicate: &all.duplicate[rows.clone()],
    }
}

fn part_held<'a>(all: Recoveries<'a>, rows: &std::ops::Range<usize>) -> Recoveries<'a> {
    Recoveries {
        of: &all.of[rows.clone()],
        begin_ns: &all.begin_ns[rows.clone()],
        end_ns: &all.end_ns[rows.clone()],
    }
}

/// A copy of bytes sent before: from which step on it was under way, and until which.
struct Copy {
    seq: i64,
    bytes: i64,
    begin: usize,
    end: usize,
}

/// The walk over one sender, with the memory for the next.
#[derive(Default)]
pub(super) struct Walker {
    steps: Vec<Step>,
    una: Vec<i64>,
    first_at: Vec<usize>,
    change: Vec<i64>,
}

impl Walker {
    /// Walk over one sender; whose it is, `of`, is not looked at.
    pub fn walk(&mut self, sent: &Sent<'_>, received: &Received<'_>, recoveries: &Recoveries<'_>) {
        self.put_in_order(sent, received);
        let first = sent.seq.iter().copied().min().unwrap_or(0);
        let mut unnamed = Unnamed::of(sent, received);
        self.una.clear();
        self.first_at.clear();
        self.first_at.resize(sent.seq.len(), 0);
        let (mut nxt, mut una, mut fack) = (first, first, first);
        let (mut begun, mut held) = (0, 0);
        for at in 0..self.steps.len() {
            let Step { row, t_ns, .. } = self.steps[at];
            if self.steps[begun].t_ns != t_ns {
                begun = at;
            }
            if row < sent.seq.len() {
                nxt = nxt.max(sent.seq[row] + i64::from(sent.length[row]));
                fack = if sent.timed_out[row] { fack.max(sent.highest[row]) } else { fack };
                self.first_at[row] = begun;
            } else {
                let row = row - sent.seq.len();
                una = una.max(received.ack[row]);
                fack = if received.sack_high[row] > received.ack[row] {
                    fack.max(received.sack_high[row])
                } else {
                    fack
                };
                if let Some(unnamed) = &mut unnamed {
                    unnamed.next(received);
                }
            }
            let forward = fack.max(una).min(nxt.max(una));
            let left = match &unnamed {
                Some(unnamed) if forward == una => {
                    held += recoveries.begin_ns[held..].partition_point(|&begin| begin <= t_ns);
                    unnamed.left(held > 0 && t_ns < recoveries.end_ns[held - 1])
                }
                _ => 0,
            };
            self.una.push(una);
            self.steps[at].flight = (nxt - una).max(0);
            self.steps[at].pipe = (nxt - forward - left).max(0);
        }
        self.add_copies(sent);
        for step in &mut self.steps {
            step.pipe = step.pipe.min(step.flight);
        }
    }

    /// The states behind each segment and ACK of it.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Data and ACKs by time, then by record; of two that have both in common, data first.
    fn put_in_order(&mut self, sent: &Sent<'_>, received: &Received<'_>) {
        let step = |row, t_ns| Step { row, t_ns, flight: 0, pipe: 0 };
        let data = sent.t_ns.iter().enumerate().map(|(row, &t_ns)| step(row, t_ns));
        let acks = received.t_ns.iter().enumerate().map(|(row, &t_ns)| step(sent.seq.len() + row, t_ns));
        let (mut data, mut acks) = (data.peekable(), acks.peekable());
        let record = |row: usize| match row.checked_sub(sent.seq.len()) {
            None => sent.record[row],
            Some(row) => received.record[row],
        };
        self.steps.clear();
        let mut in_order = true;
        let mut last = (i64::MIN, i64::MIN);
        while data.peek().is_some() || acks.peek().is_some() {
            let earlier = match (data.peek(), acks.peek()) {
                (Some(one), Some(other)) => (one.t_ns, record(one.row)) <= (other.t_ns, record(other.row)),
                (one, _) => one.is_some(),
            };
            if let Some(step) = if earlier { data.next() } else { acks.next() } {
                let key = (step.t_ns, record(step.row));
                in_order &= last <= key;
                last = key;
                self.steps.push(step);
            }
        }
        if !in_order {
            self.steps.sort_by_key(|step| (step.t_ns, record(step.row), step.row));
        }
    }

    /// Adds bytes sent again to the pipe, until they are acknowledged, or go once more.
    fn add_copies(&mut self, sent: &Sent<'_>) {
        let mut copies: Vec<Copy> = (0..sent.seq.len())
            .filter(|&row| sent.duplicate[row] > 0)
            .map(|row| {
                let (begin, end) = (self.first_at[row], sent.seq[row] + i64::from(sent.length[row]));
                Copy {
                    seq: sent.seq[row],
                    bytes: i64::from(sent.duplicate[row]),
                    begin,
                    // What is acknowledged never falls.
                    end: begin + self.una[begin..].partition_point(|&una| una < end),
                }
            })
            .collect();
        if copies.is_empty() {
            return;
        }
        copies.sort_by_key(|copy| copy.seq);
        for at in 1..copies.len() {
            if copies[at - 1].seq == copies[at].seq {
                copies[at - 1].end = copies[at - 1].end.min(copies[at].begin);
            }
        }
        self.change.clear();
        self.change.resize(self.steps.len() + 1, 0);
        for copy in &copies {
            self.change[copy.begin] += copy.bytes;
            self.change[copy.end.max(copy.begin)] -= copy.bytes;
        }
        let mut again = 0;
        for (step, change) in self.steps.iter_mut().zip(&self.change) {
            again += change;
            step.pipe += again;
        }
    }
}

/// Without SACK: bytes that duplicate ACKs say have left the network, and the hole that they stand for.
///
/// Each is a segment that arrived, until an ACK that advances covers it; during recovery one segment is lost
/// (RFC 6582 section 3.2; so Linux counts).
struct Unnamed {
    size: i64,
    row: usize,
    reached: i64,
    arrived: i64,
}

impl Unnamed {
    /// Of a sender that received duplicate ACKs, none of which names what arrived.
    fn of(sent: &Sent<'_>, received: &Received<'_>) -> Option<Self> {
        if received.sack_count.iter().any(|&count| count > 0) || !received.duplicate.contains(&true) {
            return None;
        }
        Some(Self {
            size: median(&mut sent.length.iter().map(|&length| length.into()).collect::<Vec<_>>()),
            row: 0,
            reached: *received.ack.first()?,
            arrived: 0,
        })
    }

    /// One ACK more.
    fn next(&mut self, received: &Received<'_>) {
        let number = received.ack[self.row];
        if received.duplicate[self.row] {
            self.arrived += 1;
        } else if number > self.reached {
            let covered = (number - self.reached - 1).div_euclid(self.size);
            self.arrived = (self.arrived - covered.max(0)).max(0);
        }
        self.reached = self.reached.max(number);
        self.row += 1;
    }

    fn left(&self, hole: bool) -> i64 {
        self.size * (self.arrived + i64::from(hole || self.arrived >= THRESHOLD))
    }
}

#[cfg(test)]
mod tests;
