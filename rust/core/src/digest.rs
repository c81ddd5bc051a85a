//! What many connections come to together, and which of them to look at first.

use crate::summary::{self, Closed, retransmissions};
use crate::threads;
use crate::tracker::{CAUSES, Connection, ConnectionStore, Limit, Limits};
use std::num::NonZero;
use std::ops::Range;
use std::thread;

/// Connections from which on each thread is worth its start.
const MANY: usize = 4096;
/// Threads at most.
const THREADS: usize = 4;

/// Over all connections, each by the direction that carries the bulk of its data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Digest {
    /// Payload on the wire, sent at least once, sent before, acknowledged.
    pub bytes: [u64; 4],
    /// Segments sent again, by [`Cause`].
    pub retransmissions: [u64; CAUSES],
    /// Timeouts: spurious, genuine, inconclusive.
    pub timeouts: [u64; 3],
    /// By how they ended, in the order of [`Closed`].
    pub closed: [u64; Closed::NAMES.len()],
    /// Those that were open, and of which not both SYNs were seen.
    pub without_handshake: u64,
    /// Those that sent anything again.
    pub repeating: u64,
    /// Segments in order that may be retransmissions.
    pub possible: u64,
    /// Retransmissions that identifications count and that did not pass as such.
    pub unseen: u64,
    /// Of those that were seen, segments of which two causes are possible ([`Sender::undecided`](crate::tracker::Sender::undecided)).
    pub undecided: (u64, u64),
    /// Those that carried data, by the limit that held their sender for longest: how many, and bytes sent at least once.
    pub limits: [[u64; 2]; Limit::COUNT],
    /// The worst of them: most timeouts, then most segments sent again.
    pub worst: Vec<usize>,
    /// Those that sent most.
    pub largest: Vec<usize>,
}

impl Digest {
    /// Of all; the worst and the largest so many.
    pub fn of(connections: &ConnectionStore, most: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
        Digest::divided(connections, most, processors.min(connections.len() / MANY).max(1))
    }

    /// Each of so many threads takes a part of the connections, which lie one after the other.
    fn divided(connections: &ConnectionStore, most: usize, threads: usize) -> Self {
        let bound = |part: usize| connections.len() * part / threads;
        let of = |part: usize| Part::of(connections, most, bound(part)..bound(part + 1));
        let parts: Vec<Part> = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|part| threads::beside(scope, move || of(part))).collect();
            let first = of(0);
            let others =
                others.into_iter().enumerate().map(|(at, thread)| match thread.map(|it| it.join()) {
                    Ok(Ok(part)) => part,
                    Ok(Err(panic)) => std::panic::resume_unwind(panic),
                    // Where there are no threads, all is done on this one.
                    Err(_) => of(at + 1),
                });
            std::iter::once(first).chain(others).collect()
        });
        let (mut digest, mut worst, mut largest) = (Digest::default(), Top::new(most), Top::new(most));
        for part in parts {
            digest.add_all(&part.sums);
            part.worst.held.into_iter().for_each(|(rank, number)| worst.offer(rank, number));
            part.largest.held.into_iter().for_each(|(rank, number)| largest.offer(rank, number));
        }
        (digest.worst, digest.largest) = (worst.numbers(), largest.numbers());
        digest
    }

    /// What another part of the connections comes to.
    fn add_all(&mut self, other: &Digest) {
        let Digest {
            bytes,
            retransmissions,
            timeouts,
            closed,
            without_handshake,
            repeating,
            possible,
            unseen,
            undecided,
            limits,
            worst: _,
            largest: _,
        } = other;
        let add = |sums: &mut [u64], counts: &[u64]| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        };
        add(&mut self.bytes, bytes);
        add(&mut self.retransmissions, retransmissions);
        add(&mut self.timeouts, timeouts);
        add(&mut self.closed, closed);
        add(self.limits.as_flattened_mut(), limits.as_flattened());
        self.without_handshake += without_handshake;
        self.repeating += repeating;
        self.possible += possible;
        self.unseen += unseen;
        self.undecided = (self.undecided.0 + undecided.0, self.undecided.1 + undecided.1);
    }

    /// Its timeouts, segments sent again, and bytes sent at least once.
    fn add(&mut self, connection: &Connection) -> [u64; 3] {
        let direction = connection.data_direction();
        let data = connection.senders_at(direction);
        let sent = data.totals();
        let unique = data.unique_bytes().unsigned_abs();
        let bytes = [sent.data_bytes, unique, sent.duplicate_bytes, data.acked_bytes().unsigned_abs()];
        self.bytes.iter_mut().zip(bytes).for_each(|(sum, count)| *sum += count);
        let again_by_cause = data.retransmission_counts();
        self.retransmissions.iter_mut().zip(again_by_cause).for_each(|(sum, count)| *sum += count);
        let verdicts = connection.timeout_verdicts(direction);
        self.timeouts.iter_mut().zip(verdicts).for_each(|(sum, count)| *sum += count);
        self.closed[Closed::of(connection) as usize] += 1;
        self.without_handshake += u64::from(connection.misses_handshake());
        self.possible += summary::possible(connection, direction);
        self.unseen += summary::never_passed(connection, direction);
        let undecided = data.undecided();
        self.undecided = (self.undecided.0 + undecided.0, self.undecided.1 + undecided.1);
        let again = retransmissions(&again_by_cause);
        if sent.data_bytes > 0 {
            let limit =
                Limits::of(connection, direction).map_or(Limit::Unknown, |limits| limits.dominating());
            let [connections, bytes] = &mut self.limits[limit as usize];
            *connections += 1;
            *bytes += unique;
        }
        [data.timeouts().len() as u64, again, unique]
    }
}

/// Some of the connections: what they come to, and their first few.
struct Part {
    sums: Digest,
    worst: Top,
    largest: Top,
}

impl Part {
    fn of(connections: &ConnectionStore, most: usize, numbers: Range<usize>) -> Self {
        let mut part = Part { sums: Digest::default(), worst: Top::new(most), largest: Top::new(most) };
        connections.each(numbers, |number, connection| {
            let [timeouts, again, unique] = part.sums.add(connection);
            if timeouts + again > 0 {
                part.sums.repeating += 1;
                part.worst.offer([timeouts, again], number);
            }
            if unique > 0 {
                part.largest.offer([unique, 0], number);
            }
        });
        part
    }
}

/// The first few by rank; of equal ones, those with the smaller numbers.
struct Top {
    most: usize,
    held: Vec<([u64; 2], usize)>,
}

impl Top {
    fn new(most: usize) -> Self {
        Top { most, held: Vec::with_capacity(most + 1) }
    }

    /// Numbers are offered in their order.
    fn offer(&mut self, rank: [u64; 2], number: usize) {
        if self.held.len() == self.most && self.held.last().is_none_or(|&(least, _)| rank <= least) {
            return;
        }
        let place = self.held.partition_point(|&(other, _)| other >= rank);
        self.held.insert(place, (rank, number));
        self.held.truncate(self.most);
    }

    fn numbers(self) -> Vec<usize> {
        self.held.into_iter().map(|(_, number)| number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Digest, Top};
    use crate::capture::Sink;
    use crate::issue::Issues;
    use crate::segment::{Address, Checksum, Options, Segment, flags};
    use crate::tracker::{ConnectionStore, Tracker};
    use proptest::prelude::*;

    /// Connections of one data segment each, of which every third is sent again.
    fn many(count: u16) -> ConnectionStore {
        let mut tracker = Tracker::compacting();
        for number in 0..count {
            let [high, low] = number.to_be_bytes();
            for again in 0..=u8::from(number % 3 == 0) {
                tracker.segment(&Segment {
                    t_ns: i64::from(number) + i64::from(again) * 1_000_000_000,
                    record: u64::from(number),
                    source: (Address::v4([10, 0, high, low]), 1000),
                    destination: (Address::v4([10, 1, 0, 1]), 80),
                    seq: 7,
                    ack: 9,
                    flags: flags::ACK,
                    window: 100,
                    length: 1 + u32::from(number % 97),
                    ip_length: 40,
                    ip_id: number.wrapping_mul(2) + u16::from(again),
                    ttl: 64,
                    ecn: 0,
                    checksum: Checksum::Good,
                    options: Options::default(),
                });
            }
        }
        tracker.conclude(&mut Issues::default()).0
    }

    #[test]
    fn however_many_threads_share_them() {
        for count in [0, 1, 2, 5, 700, 3001] {
            let connections = many(count);
            let whole = Digest::divided(&connections, 20, 1);
            assert_eq!(whole.repeating, u64::from(count.div_ceil(3)));
            for threads in 2..6 {
                assert_eq!(Digest::divided(&connections, 20, threads), whole);
            }
        }
    }

    proptest! {
        #[test]
        fn the_first_few_are_those_of_a_stable_sort(ranks in prop::collection::vec(0u64..9, 0..50), most in 0usize..8) {
            let mut top = Top::new(most);
            ranks.iter().enumerate().for_each(|(number, &rank)| top.offer([rank, 0], number));
            let mut sorted: Vec<usize> = (0..ranks.len()).collect();
            sorted.sort_by_key(|&number| std::cmp::Reverse(ranks[number]));
            sorted.truncate(most);
            prop_assert_eq!(top.numbers(), sorted);
        }
    }
}
