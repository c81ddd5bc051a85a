//! Data segments through the bottleneck: when each was handed over, and when its ACK said that it had come out.

use std::ops::Range;

use super::flows::ValidAcks;
use super::sent_later::part_sent_later;

/// Columns of all segments, flow behind flow, each in order of time.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    /// When each was captured.
    pub t_ns: &'a [i64],
    /// Its first byte.
    pub seq: &'a [i64],
    /// What it acknowledges.
    pub ack: &'a [i64],
    /// Its payload.
    pub length: &'a [i32],
    /// How much of it was sent before.
    pub duplicate: &'a [i32],
    /// Bytes of its IP packet.
    pub ip_length: &'a [i32],
    /// What is known of its checksum.
    pub checksum: &'a [i8],
}

/// The rows of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its data.
    pub data: Range<usize>,
    /// What came from the other end.
    pub acks: Range<usize>,
    /// Payload of a full segment.
    pub full: i64,
}

/// Packets with data, in the order in which they were handed over.
#[derive(Debug)]
pub struct Passages<'a> {
    /// When each was handed over.
    pub in_ns: &'a mut [i64],
    /// When its ACK came; -1 if none says anything about it.
    pub out_ns: &'a mut [i64],
    /// Bytes of its IP packets.
    pub size: &'a mut [i64],
    /// Part of its bytes that is sent once more later.
    pub again: &'a mut [f64],
}

/// Connections whose data passed the bottleneck: those that have enough segments, and an ACK at least.
#[derive(Debug)]
pub struct Passing<'a> {
    segments: Segments<'a>,
    connections: Vec<Connection>,
    packets: usize,
}

impl<'a> Passing<'a> {
    /// Of some connections, those that have `few` segments with data at least.
    ///
    /// # Panics
    /// Rows that there are not.
    #[must_use]
    pub fn of(segments: Segments<'a>, mut connections: Vec<Connection>, few: usize) -> Self {
        let mut packets = 0;
        connections.retain(|connection| {
            let lengths = &segments.length[connection.data.clone()];
            let count = lengths.iter().filter(|&&length| length > 0).count();
            let mut acks = ValidAcks::of(segments.ack, segments.checksum, &connection.acks).rows();
            let passes = count >= few && acks.next().is_some();
            packets += if passes { count } else { 0 };
            passes
        });
        Self { segments, connections, packets }
    }

    /// How many packets there are.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// How each passed the bottleneck.
    ///
    /// The ACK of a first copy says nothing about the second, and one that had to wait for a repair little: those of
    /// segments whose ACK came only after earlier bytes had been sent again do not count.
    ///
    /// # Panics
    /// Columns of another length than there are packets.
    pub fn write(&self, mut found: Passages<'_>) {
        let mut flow = Flow::default();
        let mut begin = 0;
        for connection in &self.connections {
            flow.begin(&self.segments, connection);
            let end = begin + flow.rows.len();
            flow.pass(&self.segments, connection.full, &mut found.part(begin..end));
            begin = end;
        }
        found.put_in_order();
    }
}

impl Passages<'_> {
    fn part(&mut self, rows: Range<usize>) -> Passages<'_> {
        Passages {
            in_ns: &mut self.in_ns[rows.clone()],
            out_ns: &mut self.out_ns[rows.clone()],
            size: &mut self.size[rows.clone()],
            again: &mut self.again[rows],
        }
    }

    fn put_in_order(&mut self) {
        let mut order: Vec<(i64, u32)> = self.in_ns.iter().copied().zip(0..).collect();
        order.sort_by_key(|one| one.0);
        for (place, one) in self.in_ns.iter_mut().zip(&order) {
            *place = one.0;
        }
        let mut before = Vec::with_capacity(order.len());
        for column in [&mut self.out_ns, &mut self.size] {
            reorder(column, &order, &mut before);
        }
        reorder(self.again, &order, &mut Vec::new());
    }
}

/// Puts a column into another order; `before` is memory for what it held.
fn reorder<T: Copy>(column: &mut [T], order: &[(i64, u32)], before: &mut Vec<T>) {
    before.clear();
    before.extend_from_slice(column);
    for (place, &(_, row)) in column.iter_mut().zip(order) {
        *place = before[row as usize];
    }
}

/// What is known of one connection, with the memory for the next.
#[derive(Default)]
struct Flow {
    /// Its segments with payload.
    rows: Vec<usize>,
    /// ACKs that advance: when, and what all until then acknowledge.
    advances: Vec<(i64, i64)>,
    /// What was sent again, the latest first, as far as nothing before it begins as early: when, and its first byte.
    repairs: Vec<(i64, i64)>,
}

impl Flow {
    fn begin(&mut self, segments: &Segments<'_>, connection: &Connection) {
        self.rows.clear();
        self.rows.extend(connection.data.clone().filter(|&row| segments.length[row] > 0));
        self.advances.clear();
        let valid = ValidAcks::of(segments.ack, segments.checksum, &connection.acks);
        for row in valid.rows().map(|row| connection.acks.start + row) {
            let ack = segments.ack[row];
            if self.advances.last().is_none_or(|last| last.1 < ack) {
                self.advances.push((segments.t_ns[row], ack));
            }
        }
    }

    fn pass(&mut self, segments: &Segments<'_>, full: i64, found: &mut Passages<'_>) {
        for (at, &row) in self.rows.iter().enumerate() {
            let (length, size) = (i64::from(segments.length[row]), i64::from(segments.ip_length[row]));
            // A segment longer than a full one is several packets, each with its headers.
            let packets = ((length + full - 1) / full).max(1);
            found.in_ns[at] = segments.t_ns[row];
            found.size[at] = size + (packets - 1) * (size - length);
        }
        self.come_out(segments, found.out_ns);
        if self.rows.iter().all(|&row| segments.duplicate[row] <= 0) {
            found.again.fill(0.0);
            return;
        }
        self.leave_out_repaired(segments, found.out_ns);
        let small = |values: &[i32]| self.rows.iter().map(|&row| values[row]).collect::<Vec<_>>();
        found.again.copy_from_slice(&part_sent_later(
            &self.rows.iter().map(|&row| segments.seq[row]).collect::<Vec<_>>(),
            &small(segments.length),
            &small(segments.duplicate),
            &vec![full; self.rows.len()],
        ));
    }

    /// When the first ACK came of all of each; -1 without one, or if it came before.
    fn come_out(&self, segments: &Segments<'_>, out_ns: &mut [i64]) {
        let mut at = 0;
        for (&row, out_ns) in self.rows.iter().zip(out_ns) {
            let end = segments.seq[row] + i64::from(segments.length[row]);
            let before = |advance: &(i64, i64)| advance.1 < end;
            if at > 0 && !before(&self.advances[at - 1]) {
                at = self.advances[..at].partition_point(before);
            }
            while self.advances.get(at).is_some_and(before) {
                at += 1;
            }
            let came_ns = self.advances.get(at).map_or(-1, |advance| advance.0);
            *out_ns = if came_ns < segments.t_ns[row] { -1 } else { came_ns };
        }
    }

    /// Takes those for lost whose ACK came only after bytes up to their first had been sent again.
    fn leave_out_repaired(&mut self, segments: &Segments<'_>, out_ns: &mut [i64]) {
        self.repairs.clear();
        let (t_ns, seq) = (|row: usize| segments.t_ns[row], |row: usize| segments.seq[row]);
        // From the last to the first; of several at the same time none is behind another.
        let mut end = self.rows.len();
        while end > 0 {
            let now = t_ns(self.rows[end - 1]);
            let begin = self.rows[..end].iter().rposition(|&row| t_ns(row) != now).map_or(0, |at| at + 1);
            for (&row, out_ns) in self.rows[begin..end].iter().zip(&mut out_ns[begin..end]) {
                // The latest come first, and begin earliest.
                let next = self.repairs.partition_point(|&(_, other)| other <= seq(row));
                if next > 0 && self.repairs[next - 1].0 < *out_ns {
                    *out_ns = -1;
                }
            }
            for &row in self.rows[begin..end].iter().filter(|&&row| segments.duplicate[row] > 0) {
                while self.repairs.last().is_some_and(|&(_, other)| other >= seq(row)) {
                    self.repairs.pop();
                }
                self.repairs.push((now, seq(row)));
            }
            end = begin;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Found {
        in_ns: Vec<i64>,
        out_ns: Vec<i64>,
        size: Vec<i64>,
        again: Vec<f64>,
    }

    fn passages(segments: &Segments<'_>, connections: &[Connection], few: usize) -> Found {
        let passing = Passing::of(*segments, connections.to_vec(), few);
        let none = vec![0; passing.packets()];
        let mut found =
            Found { in_ns: none.clone(), out_ns: none.clone(), again: vec![0.0; none.len()], size: none };
        passing.write(Passages {
            in_ns: &mut found.in_ns,
            out_ns: &mut found.out_ns,
            size: &mut found.size,
            again: &mut found.again,
        });
        found
    }

    /// Of segments of 100 bytes: when, first byte, bytes sent before; and ACKs.
    fn found(data: &[(i64, i64, i32)], acks: &[(i64, i64)], few: usize) -> Found {
        let rows = data.len() + acks.len();
        let column = |sent: fn(&(i64, i64, i32)) -> i64, received: fn(&(i64, i64)) -> i64| {
            data.iter().map(sent).chain(acks.iter().map(received)).collect::<Vec<_>>()
        };
        let small = |sent: fn(&(i64, i64, i32)) -> i32, received: i32| {
            let received = std::iter::repeat_n(received, acks.len());
            data.iter().map(sent).chain(received).collect::<Vec<_>>()
        };
        let segments = Segments {
            t_ns: &column(|one| one.0, |one| one.0),
            seq: &column(|one| one.1, |_| 1),
            ack: &column(|_| 1, |one| one.1),
            length: &small(|_| 100, 0),
            duplicate: &small(|one| one.2, 0),
            ip_length: &small(|_| 140, 40),
            checksum: &vec![0; rows],
        };
        let connection = Connection { data: 0..data.len(), acks: data.len()..rows, full: 100 };
        passages(&segments, &[connection], few)
    }

    #[test]
    fn a_packet_comes_out_when_all_of_it_is_acknowledged() {
        let passed = found(&[(0, 1, 0), (1, 101, 0), (2, 201, 0)], &[(5, 101), (6, 150), (7, 301)], 1);
        assert_eq!(passed.out_ns, [5, 7, 7]);
        assert_eq!((passed.in_ns, passed.size), (vec![0, 1, 2], vec![140; 3]));
        assert_eq!(found(&[(0, 1, 0), (9, 101, 0)], &[(5, 201)], 1).out_ns, [5, -1]);
        assert_eq!(found(&[(0, 1, 0), (1, 101, 0)], &[(5, 101)], 1).out_ns, [5, -1]);
    }

    #[test]
    fn an_ack_behind_a_repair_says_nothing_of_what_came_before_it() {
        let data = [(0, 1, 0), (1, 101, 0), (2, 201, 0), (8, 101, 100), (8, 301, 0)];
        let passed = found(&data, &[(5, 101), (12, 301), (13, 401)], 1);
        assert_eq!(passed.out_ns, [5, -1, -1, 12, 13]);
        assert_eq!(passed.again, [0.0, 1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn too_few_segments_or_no_ack_are_left_out() {
        assert_eq!(found(&[(0, 1, 0)], &[(5, 101)], 2), Found::default());
        assert_eq!(found(&[(0, 1, 0)], &[(5, 0)], 1), Found::default());
    }

    #[test]
    fn a_segment_of_several_packets_has_the_headers_of_each() {
        let segments = Segments {
            t_ns: &[0, 5],
            seq: &[1, 1],
            ack: &[1, 251],
            length: &[250, 0],
            duplicate: &[0, 0],
            ip_length: &[290, 40],
            checksum: &[0, 0],
        };
        let connection = Connection { data: 0..1, acks: 1..2, full: 100 };
        assert_eq!(passages(&segments, &[connection], 1).size, [370]);
    }

    #[test]
    fn packets_of_several_connections_are_in_order_of_time() {
        let segments = Segments {
            t_ns: &[1, 3, 4, 1, 2, 5],
            seq: &[1, 101, 1, 1, 101, 1],
            ack: &[1, 1, 201, 1, 1, 201],
            length: &[100, 100, 0, 100, 100, 0],
            duplicate: &[0; 6],
            ip_length: &[140, 141, 40, 142, 143, 40],
            checksum: &[0; 6],
        };
        let connection = |at: usize| Connection { data: at..at + 2, acks: at + 2..at + 3, full: 100 };
        let passed = passages(&segments, &[connection(0), connection(3)], 1);
        assert_eq!((passed.in_ns, passed.size), (vec![1, 1, 2, 3], vec![140, 142, 143, 141]));
    }
}
