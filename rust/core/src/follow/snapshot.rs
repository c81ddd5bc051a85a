//! How a capture goes that is being followed: sums over all connections, and the busiest of them.

use std::sync::atomic::Ordering;

use super::live::Live;
use crate::capture::Gauge;
use crate::summary::never_passed;
use crate::tracker::{CAUSES, Connection, Endpoint, Sender};

/// Counts over connections, both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Connections.
    pub connections: u64,
    /// Payload bytes sent, all transmissions.
    pub data_bytes: u64,
    /// Of them, bytes that had been sent before.
    pub duplicate_bytes: u64,
    /// Segments with bytes sent before, by [`Cause`](crate::tracker::Cause).
    pub retransmissions: [u64; CAUSES],
    /// Of them, segments of which no earlier copy was seen here.
    pub inferred: u64,
    /// Beside them, retransmissions that never passed ([`never_passed`]).
    pub unseen: u64,
    /// Of the first, those that may be timeouts instead of tail loss probes, and slow start instead of fast retransmit.
    pub undecided: (u64, u64),
    /// Timeouts: spurious, genuine, inconclusive.
    pub timeouts: [u64; 3],
}

impl Sums {
    /// Count what others come to.
    fn add_all(&mut self, other: &Sums) {
        self.connections += other.connections;
        self.data_bytes += other.data_bytes;
        self.duplicate_bytes += other.duplicate_bytes;
        self.inferred += other.inferred;
        self.unseen += other.unseen;
        self.undecided.0 += other.undecided.0;
        self.undecided.1 += other.undecided.1;
        let counts = self.retransmissions.iter_mut().chain(&mut self.timeouts);
        counts
            .zip(other.retransmissions.iter().chain(&other.timeouts))
            .for_each(|(sum, count)| *sum += count);
    }

    /// Count a connection.
    pub fn add(&mut self, connection: &Connection) {
        self.connections += 1;
        for direction in 0..2 {
            let sender = connection.senders_at(direction);
            let totals = sender.totals();
            self.data_bytes += totals.data_bytes;
            self.duplicate_bytes += totals.duplicate_bytes;
            for (sum, count) in self.retransmissions.iter_mut().zip(sender.retransmission_counts()) {
                *sum += count;
            }
            self.inferred += sender.arrival_counts().inferred.iter().sum::<u64>();
            self.unseen += never_passed(connection, direction);
            let (probe_or_timeout, fast_or_slow_start) = sender.undecided();
            self.undecided.0 += probe_or_timeout;
            self.undecided.1 += fast_or_slow_start;
            let verdicts = connection.timeout_verdicts(direction);
            self.timeouts.iter_mut().zip(verdicts).for_each(|(sum, count)| *sum += count);
        }
    }
}

/// One connection, in the direction in which it has sent more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Sender and receiver.
    pub endpoints: [Endpoint; 2],
    /// Payload bytes of both directions since the snapshot before.
    pub new_bytes: u64,
    /// Counts since its begin, both directions.
    pub sums: Sums,
    /// Smoothed round-trip time, microseconds, if it was measured.
    pub srtt_us: Option<i64>,
    /// Bytes sent and not acknowledged.
    pub flight_bytes: i64,
    /// Time of the last segment, nanoseconds since the epoch.
    pub last_ns: i64,
}

impl Line {
    fn of(connection: &Connection, new_bytes: u64) -> Self {
        let bytes = |direction| connection.senders_at(direction).totals().data_bytes;
        let from = usize::from(bytes(1) > bytes(0));
        let sender: &Sender = connection.senders_at(from);
        let mut sums = Sums::default();
        sums.add(connection);
        Line {
            endpoints: [connection.endpoints[from], connection.endpoints[1 - from]],
            new_bytes,
            sums,
            srtt_us: sender.rto().measured().then(|| sender.rto().srtt_us()),
            flight_bytes: sender.flight(),
            last_ns: connection.last_ns,
        }
    }
}

/// What is known at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Complete records.
    pub records: u64,
    /// TCP segments among them.
    pub tcp_segments: u64,
    /// Bytes of the capture; compressed ones, if it is.
    pub bytes_read: u64,
    /// Earliest and latest time stamp, nanoseconds since the epoch.
    pub span_ns: Option<(i64, i64)>,
    /// Over all connections, those given up included.
    pub sums: Sums,
    /// How many of them were given up.
    pub forgotten: u64,
    /// Connections that sent anything since the snapshot before.
    pub active: u64,
    /// Payload bytes since the snapshot before.
    pub new_bytes: u64,
    /// Those that sent most since then, the most first.
    pub busiest: Vec<Line>,
}

impl Snapshot {
    pub(super) fn of(live: &mut Live, gauge: &Gauge, busiest: usize) -> Self {
        if live.tracker.woken() {
            live.rested = Sums::default();
            live.resting.clear();
        }
        let connections = live.tracker.connections();
        let mut sums = live.forgotten;
        let (mut active, mut new_bytes) = (0, 0);
        let mut lively: Vec<(u64, usize)> = Vec::new();
        live.before.resize(connections.len(), 0);
        live.resting.resize(connections.len(), false);
        // Nothing is new of those that were packed before: of many, most are not even looked at.
        let stirring: Vec<usize> = (0..connections.len()).filter(|&index| !live.resting[index]).collect();
        connections.each(stirring, |index, connection| {
            live.resting[index] = connections.is_packed(index);
            let to = if live.resting[index] { &mut live.rested } else { &mut sums };
            to.add(connection);
            let now = (0..2).map(|direction| connection.senders_at(direction).totals().data_bytes).sum();
            let new = now - std::mem::replace(&mut live.before[index], now);
            if new > 0 {
                active += 1;
                new_bytes += new;
                lively.push((new, index));
            }
        });
        sums.add_all(&live.rested);
        let most = |&(new, index): &(u64, usize)| (std::cmp::Reverse(new), index);
        if busiest < lively.len() {
            lively.select_nth_unstable_by_key(busiest, most);
            lively.truncate(busiest);
        }
        lively.sort_unstable_by_key(most);
        let (first, last) = (gauge.first_ns.load(Ordering::Relaxed), gauge.last_ns.load(Ordering::Relaxed));
        Snapshot {
            records: gauge.records.load(Ordering::Relaxed),
            tcp_segments: live.segments,
            bytes_read: gauge.progress.bytes_read.load(Ordering::Relaxed),
            span_ns: (first <= last).then_some((first, last)),
            sums,
            forgotten: live.forgotten.connections,
            active,
            new_bytes,
            busiest: lively
                .iter()
                .map(|&(new, index)| connections.with(index, |connection| Line::of(connection, new)))
                .collect(),
        }
    }
}
