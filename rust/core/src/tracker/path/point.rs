//! Where on the path a capture was taken, by all that tells: hops, checksums left to a network card, segments larger
//! than any on a wire, what was lost behind it, and how the round trip divides. Never by the last alone with more than a
//! guess.

use super::Path;
use super::half::HOST_NS;
use super::report::{halves_of, handshake_ns};
use crate::tracker::arrivals::ArrivalVerdict;
use crate::tracker::connection::Connection;
use crate::tracker::sender::Sender;

/// Where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Point {
    Sender,
    Receiver,
    Middle,
}

impl Point {
    /// As the contract has it.
    pub fn name(self) -> &'static str {
        match self {
            Point::Sender => "snd",
            Point::Receiver => "rcv",
            Point::Middle => "mid",
        }
    }
}

/// How sure that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// One sign that may mislead, or signs that contradict each other.
    Guess,
    /// One strong sign, or two weak ones, and none against it.
    Likely,
    /// Strong signs of different kinds.
    Certain,
}

impl Grade {
    /// As the contract has it.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Guess => "guess",
            Grade::Likely => "likely",
            Grade::Certain => "certain",
        }
    }
}

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evidence {
    /// Routers between each end and this point, by TTL: data sender, receiver.
    pub hops: [Option<u8>; 2],
    /// Whether checksums of each end are left to its network card.
    pub offloaded: [bool; 2],
    /// Whether data came in segments larger than the MSS.
    pub large_segments: bool,
    /// Smallest half round trips, nanoseconds: toward the receiver, toward the sender.
    pub halves_ns: [Option<i64>; 2],
    /// Whether the handshake was seen, which a host answers at once: not with data, nor while others between the same hosts may
    /// have filled the queue that an answer waits in.
    pub handshake: bool,
    /// Whether each half was measured so often, the handshake among it, that an answer at its best took the host no time.
    pub often: [bool; 2],
    /// Segments that came by and were retransmitted because their receiver had not got them, as SACK shows.
    pub lost_behind: u64,
    /// Segments that came by behind later ones, if these are more than those that were lost before they came by.
    pub reordered: u64,
}

/// An observation point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// `None`: nothing tells.
    pub point: Option<Point>,
    /// How sure.
    pub grade: Grade,
    /// By what.
    pub evidence: Evidence,
}

/// Below half a millisecond in all, the hosts' own delays hide which side of the path is near.
const TELLING_NS: i64 = 500_000;
/// From here on a share of a fiftieth tells more than chance.
const FAR_NS: i64 = 5_000_000;
/// A half is much of the round trip if so many of it are longer than the other.
const MUCH: i64 = 3;
/// Of so many answers, one that never comes as soon as a host's own is of one farther away.
const ANSWERS: u32 = 16;
/// From so many segments on that were lost behind it, a capture was not taken at the receiver: there, SACK reports what
/// came by before the next copy can. If answers come sooner than this, its host may have discarded them (RFC 7323 section 5,
/// PAWS; a full buffer).
const LOST_BEHIND: u64 = 3;
const OWN_NS: i64 = 200_000;
/// From so many segments on that came by out of order, a capture was not taken at the sender.
const REORDERED: u64 = 3;

impl Observation {
    /// By the direction that carries the bulk of the data, or any.
    pub fn of(connection: &Connection, direction: usize) -> Self {
        let (data, acks) = (connection.senders_at(direction), connection.senders_at(1 - direction));
        let [far, near] = halves_of(connection, direction);
        let often = if connection.handshake() { often(data) } else { [false; 2] };
        let beside = data.path.as_deref().is_some_and(Path::beside);
        let counts = data.arrival_counts();
        let reordered = counts.verdicts[ArrivalVerdict::Reordered as usize];
        let evidence = Evidence {
            hops: [hops(data), hops(acks)],
            offloaded: [offloaded(data), offloaded(acks)],
            large_segments: data.segment_size() > 0 && data.largest_segment() > 2 * data.segment_size(),
            halves_ns: [far, near],
            handshake: answered_at_once(connection, data, acks) && !beside,
            often,
            lost_behind: if data.sack_permitted { counts.downstream } else { 0 },
            reordered: if reordered > counts.upstream { reordered } else { 0 },
        };
        let (point, grade) = judge(&evidence);
        Observation { point, grade, evidence }
    }
}

/// Whether both SYNs were seen once, and the answer to the second was no data, which the application may have written later.
fn answered_at_once(connection: &Connection, data: &Sender, acks: &Sender) -> bool {
    let end_ns = handshake_ns(data, acks).map(|took_ns| connection.first_ns.saturating_add(took_ns));
    end_ns.is_some() && ![data, acks].iter().any(|sender| sender.totals().first_data_ns == end_ns)
}

/// Whether each half was measured often.
fn often(data: &Sender) -> [bool; 2] {
    data.path.as_deref().map_or([false; 2], |path| path.halves.measured().map(|count| count >= ANSWERS))
}

/// Routers that a packet passed, if it started with one of the usual values.
pub(super) fn hops(sender: &Sender) -> Option<u8> {
    let ttl = sender.ttl;
    [64, 128, 255]
        .into_iter()
        .find(|&start| ttl > 0 && ttl <= start && start - ttl < 40)
        .map(|start| start - ttl)
}

/// All checksums are wrong: the network card is to fill them in.
fn offloaded(sender: &Sender) -> bool {
    sender.totals().bad_checksums >= 3 && sender.totals().good_checksums == 0
}

/// Votes of different kinds: each for a point, with its weight.
fn judge(evidence: &Evidence) -> (Option<Point>, Grade) {
    let mut votes: Vec<(Point, u8)> = Vec::new();
    match evidence.offloaded {
        [true, false] => votes.push((Point::Sender, 2)),
        [false, true] => votes.push((Point::Receiver, 2)),
        _ => {}
    }
    // Nothing between an end and this point need count as a router: a bridge, an access point, a mirror port.
    // One answer shows it, too, if it took longer than a host ever does, and much of the round trip.
    let much =
        |half: usize, ns: i64| evidence.halves_ns[1 - half].is_some_and(|other_ns| MUCH * ns > other_ns);
    let slowly = |half: usize, ns: i64| evidence.handshake && ns > FAR_NS && much(half, ns);
    let away = |half: usize| {
        evidence.halves_ns[half].is_some_and(|ns| evidence.often[half] && ns > HOST_NS || slowly(half, ns))
    };
    let lost_behind =
        evidence.lost_behind >= LOST_BEHIND && evidence.halves_ns[0].is_some_and(|ns| ns > OWN_NS);
    // A host sends in order, and its own queue keeps that.
    let reordered = evidence.reordered >= REORDERED;
    let [beyond_receiver, beyond_sender] = [away(0) || lost_behind, away(1) || reordered];
    match evidence.hops {
        [Some(0), Some(1..)] if !beyond_sender => votes.push((Point::Sender, 2)),
        [Some(1..), Some(0)] if !beyond_receiver => votes.push((Point::Receiver, 2)),
        // Routers lie between this and the one end, and the other does not answer as soon as a host does.
        [Some(1..), Some(_)] | [Some(_), Some(1..)] => votes.push((Point::Middle, 2)),
        _ => {}
    }
    if (beyond_receiver && beyond_sender) || lost_behind && evidence.hops[0] != Some(0) {
        votes.push((Point::Middle, 2));
    }
    if let [Some(far_ns), Some(near_ns)] = evidence.halves_ns {
        let whole_ns = far_ns.saturating_add(near_ns);
        let extreme = |ns: i64| whole_ns >= FAR_NS && ns <= whole_ns / 50;
        if whole_ns >= TELLING_NS {
            let vote = if near_ns <= whole_ns / 4 && !beyond_sender {
                (Point::Sender, 1 + u8::from(extreme(near_ns)))
            } else if far_ns <= whole_ns / 4 && !beyond_receiver {
                (Point::Receiver, 1 + u8::from(extreme(far_ns)))
            } else {
                (Point::Middle, 1)
            };
            votes.push(vote);
        }
    }
    let weight =
        |point: Point| votes.iter().filter(|(p, _)| *p == point).map(|(_, weight)| *weight).sum::<u8>();
    let all = [Point::Sender, Point::Receiver, Point::Middle];
    let Some(best) = all.into_iter().max_by_key(|&point| weight(point)).filter(|&point| weight(point) > 0)
    else {
        return (None, Grade::Guess);
    };
    let against = all.into_iter().filter(|&point| point != best).map(weight).max().unwrap_or(0);
    if against == weight(best) {
        return (None, Grade::Guess);
    }
    let kinds = votes.iter().filter(|(point, _)| *point == best).count();
    // The division of the round trip alone is a guess: a queue or a slow host moves it.
    let by_halves_only =
        evidence.hops.iter().any(|hops| *hops == Some(0) || hops.is_none()) && kinds == 1 && weight(best) < 2;
    // An end that has not been seen to answer at once, however seldom it did, may be behind a bridge: a sender answers an ACK
    // sooner than a receiver data, whose ACK it may delay.
    let slow = |half: usize, most_ns: i64| evidence.halves_ns[half].is_some_and(|ns| ns > most_ns);
    // So may one whose answers were not measured, unless only its host sends such packets.
    let untimed = evidence.halves_ns[1].is_none() && kinds == 1 && !evidence.offloaded[0];
    let doubtful = match best {
        Point::Sender => slow(1, OWN_NS) || untimed,
        Point::Receiver => slow(0, HOST_NS),
        Point::Middle => false,
    };
    let grade = match (weight(best), kinds, against) {
        _ if by_halves_only || doubtful => Grade::Guess,
        (3.., 2.., 0) => Grade::Certain,
        (2.., _, 0) => Grade::Likely,
        _ => Grade::Guess,
    };
    (Some(best), grade)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(evidence: Evidence) -> (Option<Point>, Grade) {
        judge(&evidence)
    }

    #[test]
    fn signs_that_agree_are_certain() {
        let evidence = Evidence {
            hops: [Some(0), Some(7)],
            halves_ns: [Some(20_000_000), Some(40_000)],
            ..Evidence::default()
        };
        assert_eq!(judged(evidence), (Some(Point::Sender), Grade::Certain));
    }

    /// Its kernel answers a handshake at once, however far away the other end is.
    #[test]
    fn one_answer_of_a_handshake_tells_a_point_on_the_path_from_a_host() {
        for (near_ns, point) in
            [(4_000_000, Point::Sender), (6_000_000, Point::Middle), (40_000_000, Point::Middle)]
        {
            let evidence = Evidence {
                hops: [Some(0), Some(1)],
                halves_ns: [Some(16_000_000), Some(near_ns)],
                handshake: true,
                ..Evidence::default()
            };
            assert_eq!(judged(evidence).0, Some(point), "{near_ns}");
        }
    }

    #[test]
    fn a_host_does_not_reorder_what_it_sends() {
        for (reordered, point) in [(0, Point::Sender), (2, Point::Sender), (300, Point::Middle)] {
            let evidence = Evidence {
                hops: [Some(0), Some(1)],
                halves_ns: [Some(9_000_000), Some(2_000_000)],
                reordered,
                ..Evidence::default()
            };
            assert_eq!(judged(evidence).0, Some(point), "{reordered}");
        }
    }

    /// Nothing between two hosts need count as a router, and 0.4 ms are longer than a sender takes to answer at its best.
    #[test]
    fn a_sender_that_never_answers_at_once_is_a_guess() {
        for (near_ns, grade) in [(150_000, Grade::Certain), (400_000, Grade::Guess)] {
            let evidence = Evidence {
                hops: [Some(0), Some(1)],
                halves_ns: [Some(40_000_000), Some(near_ns)],
                often: [true; 2],
                ..Evidence::default()
            };
            assert_eq!(judged(evidence), (Some(Point::Sender), grade), "{near_ns}");
        }
    }

    #[test]
    fn the_round_trip_alone_is_a_guess() {
        let evidence = Evidence { halves_ns: [Some(1_000_000), Some(100_000)], ..Evidence::default() };
        assert_eq!(judged(evidence), (Some(Point::Sender), Grade::Guess));
    }

    #[test]
    fn nothing_is_said_of_what_contradicts_itself() {
        let evidence = Evidence { hops: [Some(0), Some(3)], offloaded: [false, true], ..Evidence::default() };
        assert_eq!(judged(evidence).0, None);
        assert_eq!(judged(Evidence::default()).0, None);
    }

    /// No router, and no answer within what a host takes: an access point or a bridge lies between.
    #[test]
    fn an_end_that_never_answers_at_once_is_not_here() {
        let near = Evidence {
            hops: [Some(0), Some(2)],
            halves_ns: [Some(36_000_000), Some(4_200_000)],
            often: [true, true],
            ..Evidence::default()
        };
        assert_eq!(judged(near).0, Some(Point::Middle));
        let seldom = Evidence { often: [false, false], ..near };
        assert_eq!(judged(seldom), (Some(Point::Sender), Grade::Guess));
        // No host takes 18 ms for its part of a handshake, of which the other took 2 ms.
        let slow = Evidence { halves_ns: [Some(2_000_000), Some(18_000_000)], ..seldom };
        assert_eq!(judged(slow), (Some(Point::Sender), Grade::Guess));
        assert_eq!(judged(Evidence { handshake: true, ..slow }).0, Some(Point::Middle));
    }

    /// Routers to the sender, and none to a receiver that does not answer as soon as a host does.
    #[test]
    fn an_end_behind_routers_is_not_here() {
        let behind = Evidence {
            hops: [Some(4), Some(0)],
            halves_ns: [Some(8_000_000), Some(940_000)],
            often: [true, true],
            ..Evidence::default()
        };
        assert_ne!(judged(behind).0, Some(Point::Sender));
        assert_eq!(judged(Evidence { often: [false, false], ..behind }).0, Some(Point::Receiver));
    }

    #[test]
    fn what_is_lost_behind_a_capture_was_not_lost_behind_its_receiver() {
        let lossy = Evidence {
            hops: [Some(1), Some(0)],
            halves_ns: [Some(300_000), Some(18_000_000)],
            lost_behind: 20,
            ..Evidence::default()
        };
        assert_eq!(judged(lossy).0, Some(Point::Middle));
        let clean = Evidence { lost_behind: 0, ..lossy };
        assert_eq!(judged(clean), (Some(Point::Receiver), Grade::Certain));
        let discarded = Evidence { halves_ns: [Some(20_000), Some(18_000_000)], ..lossy };
        assert_eq!(judged(discarded), (Some(Point::Receiver), Grade::Certain));
    }

    #[test]
    fn hops_at_both_sides_are_the_middle() {
        let evidence = Evidence {
            hops: [Some(2), Some(9)],
            halves_ns: [Some(9_000_000), Some(5_000_000)],
            ..Evidence::default()
        };
        assert_eq!(judged(evidence), (Some(Point::Middle), Grade::Certain));
    }
}
