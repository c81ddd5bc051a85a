//! What each sender had in the network, in short: FlightSize and pipe, bursts, limited transmit, and marks.

use std::ops::Range;

use super::in_flight::{Level, Received, Recoveries, Sent, Walker};
use super::sender::{ACK_CLOCK_NS, Before, Segments, Sender};
use crate::segment::flags;
use crate::tracker::{AckKind, Cause};

/// Duplicate ACKs that may each release a new segment (RFC 3042).
const EARLY: usize = 2;

/// Columns of all segments besides those of [`Segments`].
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// TCP flags of each.
    pub flags: &'a [u16],
    /// The cause of a retransmission.
    pub cause: &'a [i8],
    /// What its ACK says.
    pub ack_kind: &'a [i8],
    /// The highest byte that it acknowledges selectively, plus one; -1 without.
    pub sack_high: &'a [i64],
    /// How many blocks it has for that.
    pub sack_count: &'a [i8],
}

/// What one ACK released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    /// Segments; 0 if no ACK released any.
    pub segments: i64,
    /// Their bytes.
    pub bytes: i64,
    /// The ACK: when it came.
    pub t_ns: i64,
    /// Its number in the capture.
    pub record: i64,
}

/// What one sender had in the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flight {
    /// Data segments and ACKs.
    pub rows: i64,
    /// From the first of them to the last.
    pub span_ns: i64,
    /// FlightSize.
    pub flight: Level,
    /// The pipe.
    pub pipe: Level,
    /// The most that one ACK released: of all, and while loss recovery was under way.
    pub bursts: [Burst; 2],
    /// New segments that the first or second duplicate ACK released, before anything was sent again.
    pub limited_transmit: i64,
    /// ACKs that echo a mark of congestion.
    pub echoes: i64,
    /// Segments that tell of a smaller congestion window, and of these those outside of loss recovery.
    pub reductions: [i64; 2],
    /// Flags of the last SYN of either end without an ACK, and of the last with one; -1 without.
    pub opened: [i64; 2],
}

/// The rows of the data of a connection, and of what came from the other end.
pub type Connection = (Range<usize>, Range<usize>);

/// What the sender of each connection had in the network; None for one without data or without ACKs.
///
/// # Panics
/// Rows that there are not.
#[must_use]
pub fn flights(segments: &Segments<'_>, said: &Said<'_>, connections: &[Connection]) -> Vec<Option<Flight>> {
    let mut walk = Walk::default();
    let each = connections.iter().map(|(data, acks)| walk.flight(segments, said, data, acks));
    each.collect()
}

/// A walk over one connection, with the memory for the next.
#[derive(Default)]
struct Walk {
    sender: Sender,
    walker: Walker,
    /// For each data segment, the ACK that released it.
    released: Vec<Option<usize>>,
    /// For each data segment, whether it was sent in loss recovery.
    recovering: Vec<bool>,
}

impl Walk {
    fn flight(
        &mut self,
        segments: &Segments<'_>,
        said: &Said<'_>,
        data: &Range<usize>,
        acks: &Range<usize>,
    ) -> Option<Flight> {
        self.sender.take(segments, data.clone(), acks);
        if self.sender.data.is_empty() || self.sender.acks.is_empty() {
            return None;
        }
        self.release(segments);
        let (span_ns, [flight, pipe]) = self.levels(segments, said);
        let Sender { data: sent, acks: received, .. } = &self.sender;
        let has = |row: usize, flag: u16| said.flags[row] & flag != 0;
        let without_syn = |row: usize, flag: u16| has(row, flag) && !has(row, flags::SYN);
        let reduces = |&at: &usize| without_syn(sent[at], flags::CWR);
        let mut opened = [-1; 2];
        for row in data.clone().chain(acks.clone()).filter(|&row| has(row, flags::SYN)) {
            opened[usize::from(has(row, flags::ACK))] = said.flags[row].into();
        }
        let outside = (0..sent.len()).filter(|&at| !self.recovering[at]);
        Some(Flight {
            rows: (sent.len() + received.len()) as i64,
            span_ns,
            flight,
            pipe,
            bursts: [self.burst(segments, |_| true), self.burst(segments, |at| self.recovering[at])],
            limited_transmit: self.limited_transmit(segments, said),
            echoes: received.iter().filter(|&&row| without_syn(row, flags::ECE)).count() as i64,
            reductions: [
                (0..sent.len()).filter(reduces).count() as i64,
                outside.filter(reduces).count() as i64,
            ],
            opened,
        })
    }

    fn release(&mut self, segments: &Segments<'_>) {
        let Sender { data, acks, recoveries, .. } = &self.sender;
        let (mut before, mut begun) = (Before::default(), Before::default());
        self.released.clear();
        self.recovering.clear();
        for &row in data {
            let t_ns = segments.t_ns[row];
            let last = before.count(acks.len(), |ack| segments.t_ns[acks[ack]], t_ns).checked_sub(1);
            self.released.push(last.filter(|&ack| t_ns - segments.t_ns[acks[ack]] <= ACK_CLOCK_NS));
            let count = begun.count(recoveries.len(), |at| recoveries[at].begin_ns, t_ns);
            self.recovering.push(count > 0 && t_ns < recoveries[count - 1].end_ns);
        }
    }

    fn levels(&mut self, segments: &Segments<'_>, said: &Said<'_>) -> (i64, [Level; 2]) {
        let Sender { data, acks, highest, recoveries, .. } = &self.sender;
        fn of<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().map(|&row| values[row]).collect()
        }
        let timed_out: Vec<bool> = data.iter().map(|&row| said.cause[row] == Cause::Timeout as i8).collect();
        let repeated: Vec<bool> =
            acks.iter().map(|&row| said.ack_kind[row] == AckKind::Duplicate as i8).collect();
        let begin_ns: Vec<i64> = recoveries.iter().map(|one| one.begin_ns).collect();
        let end_ns: Vec<i64> = recoveries.iter().map(|one| one.end_ns).collect();
        self.walker.walk(
            &Sent {
                of: &[],
                t_ns: &of(segments.t_ns, data),
                record: &of(segments.record, data),
                seq: &of(segments.seq, data),
                length: &of(segments.length, data),
                duplicate: &of(segments.duplicate, data),
                timed_out: &timed_out,
                highest,
            },
            &Received {
                of: &[],
                t_ns: &of(segments.t_ns, acks),
                record: &of(segments.record, acks),
                ack: &of(segments.ack, acks),
                sack_high: &of(said.sack_high, acks),
                sack_count: &of(said.sack_count, acks),
                duplicate: &repeated,
            },
            &Recoveries { of: &[], begin_ns: &begin_ns, end_ns: &end_ns },
        );
        let steps = self.walker.steps();
        let span_ns = match steps {
            [first, .., last] => last.t_ns - first.t_ns,
            _ => 0,
        };
        (span_ns, [Level::of(steps, |step| step.flight), Level::of(steps, |step| step.pipe)])
    }

    /// The most segments that one ACK released at once, of those that count; of several ACKs the first.
    fn burst(&self, segments: &Segments<'_>, counts: impl Fn(usize) -> bool) -> Burst {
        let (mut most, mut now, mut of) = (Burst::default(), Burst::default(), None);
        for (at, &row) in self.sender.data.iter().enumerate() {
            let Some(ack) = self.released[at].filter(|_| counts(at)) else { continue };
            if of != Some(ack) {
                let row = self.sender.acks[ack];
                now = Burst { segments: 0, bytes: 0, t_ns: segments.t_ns[row], record: segments.record[row] };
                of = Some(ack);
            }
            now.segments += 1;
            now.bytes += i64::from(segments.length[row]);
            // What one ACK releases comes in a row.
            if now.segments > most.segments {
                most = now;
            }
        }
        most
    }

    fn limited_transmit(&self, segments: &Segments<'_>, said: &Said<'_>) -> i64 {
        let Sender { data, acks, .. } = &self.sender;
        // Duplicates count from the last ACK that advanced, or from the first of the connection.
        let mut since = 0;
        let early: Vec<bool> = acks
            .iter()
            .map(|&row| {
                let kind = said.ack_kind[row];
                let early = kind == AckKind::Duplicate as i8 && since < EARLY;
                since = if kind == AckKind::Advance as i8 { 0 } else { since };
                since += usize::from(kind == AckKind::Duplicate as i8);
                early
            })
            .collect();
        let new = |at: usize| segments.duplicate[data[at]] == 0 && !self.recovering[at];
        let released = self.released.iter().enumerate();
        released.filter(|&(at, ack)| ack.is_some_and(|ack| early[ack]) && new(at)).count() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const NONE: i8 = AckKind::None as i8;
    const ADVANCE: i8 = AckKind::Advance as i8;
    const DUPLICATE: i8 = AckKind::Duplicate as i8;

    /// A row: ms, flags, first byte, bytes, bytes sent before; or ms, flags, number and what the ACK says.
    type Sent = (i64, u16, i64, i32, i32);
    type Received = (i64, u16, i64, i8);

    fn found(data: &[Sent], acks: &[Received]) -> Option<Flight> {
        let rows = data.len() + acks.len();
        let both = |sent: fn(&Sent) -> i64, received: fn(&Received) -> i64| {
            data.iter().map(sent).chain(acks.iter().map(received)).collect::<Vec<_>>()
        };
        let sent = |value: fn(&Sent) -> i32| {
            data.iter().map(value).chain(acks.iter().map(|_| 0)).collect::<Vec<_>>()
        };
        let flags: Vec<u16> = data.iter().map(|one| one.1).chain(acks.iter().map(|one| one.1)).collect();
        let kinds: Vec<i8> = data.iter().map(|_| NONE).chain(acks.iter().map(|one| one.3)).collect();
        let segments = Segments {
            t_ns: &both(|one| one.0 * MS, |one| one.0 * MS),
            record: &(1..=rows as i64).collect::<Vec<_>>(),
            seq: &both(|one| one.2, |_| 1),
            ack: &both(|_| 1, |one| one.2),
            length: &sent(|one| one.3),
            duplicate: &sent(|one| one.4),
            window: &vec![-1; rows],
            checksum: &vec![0; rows],
        };
        let said = Said {
            flags: &flags,
            cause: &vec![0; rows],
            ack_kind: &kinds,
            sack_high: &vec![-1; rows],
            sack_count: &vec![0; rows],
        };
        flights(&segments, &said, &[(0..data.len(), data.len()..rows)])[0]
    }

    #[test]
    fn a_burst_is_what_one_ack_released() {
        let data = [(0, 0, 1, 10, 0), (41, 0, 11, 10, 0), (42, 0, 21, 20, 0), (90, 0, 41, 10, 0)];
        let flight = found(&data, &[(40, 0, 11, ADVANCE), (89, 0, 31, ADVANCE)]).unwrap();
        let burst = Burst { segments: 2, bytes: 30, t_ns: 40 * MS, record: 5 };
        assert_eq!(flight.bursts, [burst, Burst::default()]);
        assert_eq!((flight.rows, flight.span_ns, flight.flight.most), (6, 90 * MS, 30));
    }

    #[test]
    fn the_first_two_duplicate_acks_may_release_new_segments() {
        let data = [(0, 0, 1, 10, 0), (41, 0, 11, 10, 0), (51, 0, 21, 10, 0), (61, 0, 31, 10, 0)];
        let acks = [(40, 0, 1, DUPLICATE), (50, 0, 1, DUPLICATE), (60, 0, 1, DUPLICATE)];
        assert_eq!(found(&data, &acks).unwrap().limited_transmit, 2);
        let acks = [(40, 0, 1, DUPLICATE), (50, 0, 11, ADVANCE), (60, 0, 11, DUPLICATE)];
        assert_eq!(found(&data, &acks).unwrap().limited_transmit, 2);
    }

    #[test]
    fn marks_and_handshakes_are_told() {
        let (syn, cwr, ece) = (flags::SYN, flags::CWR, flags::ECE);
        let data =
            [(0, syn | ece | cwr, 0, 0, 0), (50, 0, 1, 10, 0), (60, cwr, 11, 10, 0), (70, cwr, 1, 10, 10)];
        let acks = [(40, syn | ece | flags::ACK, 1, ADVANCE), (55, ece, 1, DUPLICATE), (99, 0, 21, ADVANCE)];
        let flight = found(&data, &acks).unwrap();
        assert_eq!((flight.echoes, flight.reductions), (1, [2, 1]));
        assert_eq!(flight.opened, [syn | ece | cwr, syn | ece | flags::ACK].map(i64::from));
        assert_eq!(found(&data[..1], &acks), None);
        assert_eq!(found(&data, &[]), None);
    }
}
