//! What arrives at a point behind a path of known faults: each verdict against what was done to the packet.

use super::*;
use crate::segment::Segment;
use proptest::sample::Index;

const PAYLOAD: u32 = 1000;
const RTT_MS: i64 = 50;

/// What may be done to a packet on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Lost,
    /// Overtaken by what is sent within so many milliseconds.
    Late(i64),
    Twice(i64),
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        12 => Just(Fault::None),
        1 => Just(Fault::Lost),
        1 => (3i64..40).prop_map(Fault::Late),
        1 => (1i64..20).prop_map(Fault::Twice),
    ]
}

/// A packet on its way: when it passes, its record of truth.
#[derive(Debug, Clone, Copy)]
struct Passing {
    t_ms: i64,
    seq: i64,
    id: u16,
    ts_val: u32,
    again: bool,
    copy: bool,
}

/// A sender that sends a packet each 5 ms, and again, RTT and three packets later, what was lost.
fn transfer(faults: &[Fault]) -> Vec<Passing> {
    let (mut passing, mut t_ms, mut id) = (Vec::new(), 1000, 500u16);
    let mut due: Vec<(i64, i64)> = Vec::new();
    for (place, &fault) in faults.iter().enumerate() {
        let new = (place as i64 * i64::from(PAYLOAD) + 1, fault, false);
        let again: Vec<_> =
            due.extract_if(.., |(at, _)| *at <= t_ms).map(|(_, seq)| (seq, Fault::None, true)).collect();
        for (seq, fault, again) in again.into_iter().chain([new]) {
            let one = Passing { t_ms, seq, id, ts_val: t_ms as u32, again, copy: false };
            id = id.wrapping_add(1);
            match fault {
                Fault::None => passing.push(one),
                Fault::Lost => due.push((t_ms + RTT_MS + 15, seq)),
                Fault::Late(by) => passing.push(Passing { t_ms: t_ms + by, ..one }),
                Fault::Twice(by) => passing.extend([one, Passing { t_ms: t_ms + by, copy: true, ..one }]),
            }
            t_ms += 5;
        }
    }
    passing.sort_by_key(|one| one.t_ms);
    passing
}

/// What the tracker says of each record, and the truth, of those below the highest byte.
fn both(passing: &[Passing], ids: bool, timestamps: bool) -> Vec<(ArrivalVerdict, ArrivalVerdict)> {
    let mut talk = Talk::new(77);
    talk.handshake(true);
    let (mut high, mut truth) = (0, std::collections::HashMap::new());
    for one in passing {
        let mut segment: Segment = talk.blank(one.t_ms, true);
        segment.seq = talk.isn_a.wrapping_add(one.seq as u32);
        segment.ack = talk.isn_b.wrapping_add(1);
        segment.length = PAYLOAD;
        segment.ip_id = if ids { one.id } else { 0 };
        segment.options.timestamps = timestamps.then_some((one.ts_val, 0));
        if one.seq < high {
            let verdict = match (one.copy, one.again) {
                (true, _) => ArrivalVerdict::NetworkDuplicate,
                (false, true) => ArrivalVerdict::Retransmission,
                _ => ArrivalVerdict::Reordered,
            };
            truth.insert(segment.record, verdict);
        }
        high = high.max(one.seq + i64::from(PAYLOAD));
        talk.tracker.segment(&segment);
    }
    let (connections, _) = talk.done();
    let rows = connections[0].senders[0].arrivals();
    let rows: Vec<_> = rows.iter().filter(|row| !row.in_order).collect();
    assert_eq!(rows.len(), truth.len());
    rows.iter().map(|row| (row.verdict, truth[&row.record])).collect()
}

proptest! {
    /// With identifications that count, every verdict is right, with timestamps and without.
    #[test]
    fn identifications_decide(faults in prop::collection::vec(fault(), 20..200), timestamps: bool) {
        // Enough of them in order to show that they count.
        let faults: Vec<_> = [Fault::None; 8].into_iter().chain(faults).collect();
        for (found, right) in both(&transfer(&faults), true, timestamps) {
            prop_assert_eq!(found, right);
        }
    }

    /// Timestamps alone tell what was sent again from what was overtaken or there twice.
    #[test]
    fn timestamps_decide(faults in prop::collection::vec(fault(), 20..200)) {
        let faults: Vec<_> = [Fault::None; 8].into_iter().chain(faults).collect();
        for (found, right) in both(&transfer(&faults), false, true) {
            prop_assert_eq!(found == ArrivalVerdict::Retransmission, right == ArrivalVerdict::Retransmission);
        }
    }

    /// Whatever numbers a direction carries, nothing is lost or counted twice.
    #[test]
    fn any_numbers_are_counted_once(
        faults in prop::collection::vec(fault(), 1..100),
        ids in prop::collection::vec(any::<u16>(), 1..20),
        pick in prop::collection::vec(any::<Index>(), 100),
    ) {
        let mut passing = transfer(&faults);
        for (one, index) in passing.iter_mut().zip(&pick) {
            one.id = *index.get(&ids);
        }
        both(&passing, true, true);
    }
}

/// The network duplicates a retransmission, and the original comes behind both: nothing was lost, whatever is in between.
#[test]
fn an_original_behind_its_retransmission_was_not_lost() {
    for copies in [1, 2] {
        let one = |place: i64, t_ms: i64, id: u16| Passing {
            t_ms,
            seq: place * i64::from(PAYLOAD) + 1,
            id,
            ts_val: id.into(),
            again: false,
            copy: false,
        };
        let in_order = (0..30)
            .filter(|place| *place != 20)
            .map(|place| one(place, 1000 + 5 * place, 500 + place as u16));
        let again = (0..copies).map(|at| Passing { again: at == 0, copy: at > 0, ..one(20, 1160 + at, 530) });
        let passing: Vec<_> = in_order.chain(again).chain([one(20, 1170, 520), one(30, 1180, 531)]).collect();
        for (found, right) in both(&passing, true, true) {
            assert_eq!(found, right);
        }
        let mut talk = Talk::new(77);
        talk.handshake(true);
        for one in &passing {
            let mut segment = talk.blank(one.t_ms, true);
            (segment.seq, segment.ack) =
                (talk.isn_a.wrapping_add(one.seq as u32), talk.isn_b.wrapping_add(1));
            (segment.length, segment.ip_id) = (PAYLOAD, one.id);
            segment.options.timestamps = Some((one.ts_val, 0));
            talk.tracker.segment(&segment);
        }
        let (connections, _) = talk.done();
        let counts = connections[0].senders[0].arrival_counts();
        assert_eq!((counts.upstream, counts.downstream), (0, 0), "{copies}");
        let again = crate::summary::retransmissions(&connections[0].senders[0].retransmission_counts());
        assert_eq!(crate::summary::needless(&connections[0], 0), again, "{copies}");
        assert!(again > 0);
    }
}

/// The first segment is lost, of which only numbers tell. That of an ACK of the handshake that never came by is no lost data.
#[test]
fn a_lost_ack_of_the_handshake_is_no_data() {
    for (came, second_id, lost) in [(true, 503, 1), (false, 503, 1), (true, 504, 2), (false, 504, 2)] {
        let mut talk = Talk::new(77);
        let (isn_a, isn_b) = (talk.isn_a, talk.isn_b);
        talk.pass(0, true, &|syn| {
            (syn.seq, syn.flags, syn.ip_id, syn.options.mss) = (isn_a, flags::SYN, 500, Some(1000));
        });
        talk.pass(MS, false, &|answer| {
            (answer.seq, answer.ack, answer.flags) = (isn_b, isn_a + 1, flags::SYN | flags::ACK);
            answer.options.mss = Some(1000);
        });
        if came {
            talk.pass(2 * MS, true, &|ack| (ack.seq, ack.ack, ack.ip_id) = (isn_a + 1, isn_b + 1, 501));
        }
        for place in 1..20 {
            talk.pass(i64::from(place + 3) * MS, true, &|data| {
                (data.seq, data.ack, data.length) = (isn_a + 1 + 1000 * place, isn_b + 1, 1000);
                data.ip_id = second_id + place as u16 - 1;
            });
        }
        let (connections, _) = talk.done();
        let unseen = connections[0].senders[0].unseen().map_or(0, |[packets, _]| packets);
        assert_eq!(unseen, lost, "{came} {second_id}");
    }
}
