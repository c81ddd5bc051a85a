//! What held a sender back in each pause between two data segments: its application, the receiver's window, the
//! congestion window, or loss recovery.

use std::cmp::Reverse;
use std::ops::Range;

use super::sender::{ACK_CLOCK_NS, Before, Segments, Sender};

/// What holds a sender back; numbered as in the package's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
#[allow(missing_docs)]
pub enum Limit {
    Application,
    ReceiverWindow,
    ZeroWindow,
    CongestionWindow,
    Recovery,
    Unknown,
}

/// Pauses in a row with the same limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// When it begins, with a segment.
    pub t_ns: i64,
    /// When it ends.
    pub end_ns: i64,
    /// What held the sender back.
    pub limit: Limit,
    /// Bytes sent and not acknowledged, as its first pause ends.
    pub outstanding: i64,
    /// Bytes that fit into the offered window besides; -1 while that is unknown.
    pub room: i64,
    /// The segment that ends its first pause; 0 without.
    pub record: i64,
}

impl Phase {
    /// How long it is.
    #[must_use]
    pub fn length_ns(&self) -> i64 {
        self.end_ns - self.t_ns
    }
}

/// Of some phases, so many of the longest, the longest first and of equal ones the earlier.
#[must_use]
pub fn longest(phases: &[Phase], most: usize) -> Vec<Phase> {
    let mut order: Vec<(Reverse<i64>, usize)> =
        phases.iter().enumerate().map(|(at, phase)| (Reverse(phase.length_ns()), at)).collect();
    if most < order.len() {
        order.select_nth_unstable(most);
        order.truncate(most);
    }
    order.sort_unstable();
    order.into_iter().map(|(_, at)| phases[at]).collect()
}

/// The rows of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its data.
    pub data: Range<usize>,
    /// What came from the other end.
    pub acks: Range<usize>,
    /// When its transfer was over.
    pub until_ns: i64,
}

/// What held one sender back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held<'a> {
    /// In order of time.
    pub phases: &'a [Phase],
    /// Whether any window is known that was offered.
    pub window_known: bool,
}

/// What held each sender back; `each` gets them in turn, None for one without data or without ACKs.
///
/// Rules, the first that fits: loss recovery is under way; the offered window is zero; less than a segment fits into
/// it; nothing is outstanding, or the segment that ends the pause follows no ACK, so that the application was late
/// (short pauses without an ACK are pacing, RFC 9002 section 7.7); an ACK ended the pause although the window had
/// room, so the congestion window was the limit.
///
/// # Panics
/// Rows that there are not.
pub fn limits(segments: &Segments<'_>, connections: &[Connection], mut each: impl FnMut(Option<Held<'_>>)) {
    let (mut sender, mut phases) = (Sender::default(), Vec::<Phase>::new());
    for connection in connections {
        sender.take(segments, connection.data.clone(), &connection.acks);
        if sender.data.is_empty() || sender.acks.is_empty() {
            each(None);
            continue;
        }
        phases.clear();
        pauses(segments, &sender, connection.until_ns, |pause| match phases.last_mut() {
            Some(last) if pause.limit == last.limit => last.end_ns = pause.end_ns,
            _ => phases.push(pause),
        });
        let window_known = sender.edges.last().is_some_and(|&edge| edge >= 0);
        each(Some(Held { phases: &phases, window_known }));
    }
}

fn pauses(segments: &Segments<'_>, sender: &Sender, until_ns: i64, mut each: impl FnMut(Phase)) {
    let Segments { t_ns, record, seq, length, duplicate, window, .. } = *segments;
    let inside = sender.data.partition_point(|&row| t_ns[row] <= until_ns);
    let largest = sender.data.iter().map(|&row| i64::from(length[row])).max().unwrap_or(0);
    let first = sender.data.first().map_or(0, |&row| seq[row]);
    let (mut acks, mut begun, mut still) = (Before::default(), Before::default(), Before::default());
    let recovering = |recoveries: &mut Before, now_ns: i64| {
        let known = &sender.recoveries;
        let count = recoveries.count(known.len(), |at| known[at].begin_ns, now_ns);
        count > 0 && now_ns < known[count - 1].end_ns
    };
    for at in 0..inside {
        let start_ns = t_ns[sender.data[at]];
        let next = sender.data.get(at + 1).copied().filter(|_| at + 1 < inside);
        let end_ns = next.map_or(until_ns.max(start_ns), |row| t_ns[row]);
        let received = acks.count(sender.acks.len(), |ack| t_ns[sender.acks[ack]], end_ns);
        let pause_ns = end_ns - start_ns;
        let gap_ns = match received {
            0 => 2 * ACK_CLOCK_NS,
            count => end_ns - t_ns[sender.acks[count - 1]],
        };
        let released = received > 0 && gap_ns <= ACK_CLOCK_NS && gap_ns < pause_ns.max(1);
        // What the sender knew just before the ACK that ended the pause.
        let known = (received - usize::from(released)).checked_sub(1);
        let una = known.map_or(first, |ack| sender.acked[ack]);
        let edge = known.map_or(-1, |ack| sender.edges[ack]);
        let offered = known.map_or(-1, |ack| window[sender.acks[ack]]);
        let nxt = sender.highest[at];
        let outstanding = (nxt - una).max(0);
        let room = if edge >= 0 { (edge - nxt).max(0) } else { -1 };
        let moment_ns = if released { end_ns - gap_ns } else { end_ns } - 1;
        let recovers = recovering(&mut begun, start_ns) && recovering(&mut still, moment_ns.max(start_ns));
        let limit = match next {
            _ if recovers => Limit::Recovery,
            // Behind the last segment there is nothing more to send: the application is done, the data on its way.
            None => Limit::Application,
            Some(row) if duplicate[row] > 0 => Limit::Recovery,
            Some(_) if offered == 0 && room == 0 => Limit::ZeroWindow,
            // Less than a segment of room, and also less than the next segment needed.
            Some(row) if edge >= 0 && outstanding > 0 && room < largest.min(length[row].into()) => {
                Limit::ReceiverWindow
            }
            Some(_) if outstanding <= 0 => Limit::Application,
            Some(_) if !released && pause_ns > ACK_CLOCK_NS => match edge {
                0.. => Limit::Application,
                _ => Limit::Unknown,
            },
            Some(_) => Limit::CongestionWindow,
        };
        let record = next.map_or(0, |row| record[row]);
        each(Phase { t_ns: start_ns, end_ns, limit, outstanding, room, record });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A row of data: ms, first byte, bytes sent before; and one of an ACK: ms, number, window.
    fn found(data: &[(i64, i64, i32)], acks: &[(i64, i64, i32)]) -> Vec<(i64, i64, Limit)> {
        let rows = data.len() + acks.len();
        let pick = |sent: fn(&(i64, i64, i32)) -> i64, received: fn(&(i64, i64, i32)) -> i64| {
            data.iter().map(sent).chain(acks.iter().map(received)).collect::<Vec<_>>()
        };
        let small = |sent: fn(&(i64, i64, i32)) -> i32, received: fn(&(i64, i64, i32)) -> i32| {
            data.iter().map(sent).chain(acks.iter().map(received)).collect::<Vec<_>>()
        };
        let segments = Segments {
            t_ns: &pick(|one| one.0 * MS, |one| one.0 * MS),
            record: &(1..=rows as i64).collect::<Vec<_>>(),
            seq: &pick(|one| one.1, |_| 1),
            ack: &pick(|_| 1, |one| one.1),
            length: &small(|_| 100, |_| 0),
            duplicate: &small(|one| one.2, |_| 0),
            window: &small(|_| -1, |one| one.2),
            checksum: &vec![0; rows],
        };
        let until_ns = acks.last().map_or(0, |one| one.0 * MS);
        let connection = Connection { data: 0..data.len(), acks: data.len()..rows, until_ns };
        let mut phases = Vec::new();
        limits(&segments, &[connection], |held| {
            let held = held.map_or(&[][..], |held| held.phases);
            phases.extend(held.iter().map(|one| (one.t_ns / MS, one.end_ns / MS, one.limit)));
        });
        phases
    }

    #[test]
    fn an_ack_that_releases_a_segment_shows_the_congestion_window() {
        let data = [(0, 1, 0), (1, 101, 0), (50, 201, 0)];
        let acks = [(49, 101, 9_000), (90, 301, 9_000)];
        assert_eq!(found(&data, &acks), [(0, 50, Limit::CongestionWindow), (50, 90, Limit::Application)]);
    }

    #[test]
    fn a_segment_that_follows_no_ack_was_late() {
        let data = [(0, 1, 0), (100, 101, 0)];
        assert_eq!(found(&data, &[(40, 101, 9_000), (140, 201, 9_000)]), [(0, 140, Limit::Application)]);
        let unknown = found(&[(0, 1, 0), (100, 101, 0)], &[(40, 50, -1), (140, 201, -1)]);
        assert_eq!(unknown, [(0, 100, Limit::Unknown), (100, 140, Limit::Application)]);
    }

    #[test]
    fn a_window_without_room_holds_the_sender() {
        let data = [(0, 1, 0), (1, 101, 0), (50, 201, 0), (100, 301, 0)];
        let acks = [(40, 101, 100), (49, 201, 100), (60, 201, 0), (99, 301, 100), (150, 401, 100)];
        let expected = [
            (0, 1, Limit::CongestionWindow),
            (1, 50, Limit::ReceiverWindow),
            (50, 100, Limit::ZeroWindow),
            (100, 150, Limit::Application),
        ];
        assert_eq!(found(&data, &acks), expected);
    }

    #[test]
    fn the_longest_come_first() {
        let phase =
            |t_ns, end_ns| Phase { t_ns, end_ns, limit: Limit::Unknown, outstanding: 0, room: 0, record: 0 };
        let phases = [phase(0, 3), phase(3, 9), phase(9, 10), phase(10, 13)];
        let begins = |most| longest(&phases, most).iter().map(|one| one.t_ns).collect::<Vec<_>>();
        assert_eq!((begins(3), begins(9)), (vec![3, 0, 10], vec![3, 0, 10, 9]));
    }

    #[test]
    fn what_is_sent_again_is_a_recovery() {
        let data = [(0, 1, 0), (1, 101, 0), (60, 1, 100)];
        let acks = [(41, 1, 9_000), (100, 201, 9_000)];
        assert_eq!(found(&data, &acks), [(0, 1, Limit::CongestionWindow), (1, 100, Limit::Recovery)]);
        assert_eq!(found(&data, &[]), []);
    }
}
