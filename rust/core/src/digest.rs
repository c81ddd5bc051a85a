//! What many connections come to together, and which of them to look at first.

use crate::summary::{Closed, retransmissions};
use crate::tracker::{CAUSES, Connection, ConnectionStore, Limit, Limits};

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
        let mut digest = Digest::default();
        let (mut worst, mut largest) = (Top::new(most), Top::new(most));
        connections.each(0..connections.len(), |number, connection| {
            let [timeouts, again, unique] = digest.add(connection);
            if timeouts + again > 0 {
                digest.repeating += 1;
                worst.offer([timeouts, again], number);
            }
            if unique > 0 {
                largest.offer([unique, 0], number);
            }
        });
        (digest.worst, digest.largest) = (worst.numbers(), largest.numbers());
        digest
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
    use super::Top;
    use proptest::prelude::*;

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
