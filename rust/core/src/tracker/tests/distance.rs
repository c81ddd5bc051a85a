//! Why something was sent again, and where it had been lost, from a point that is not at the sender.

use super::*;
use crate::summary::{losses, needless, refused, retransmissions};

pub(super) const BEFORE_MS: i64 = 100;
pub(super) const BEHIND_MS: i64 = 20;

/// A connection whose sender is far before this point, and the receiver a little behind it.
pub(super) fn between(sack: bool, timestamps: bool) -> Talk {
    let mut talk = Talk::new(500);
    (talk.timestamps, talk.ids) = (timestamps, false);
    let numbers = [(talk.isn_a, 0), (talk.isn_b, talk.isn_a + 1), (talk.isn_a + 1, talk.isn_b + 1)];
    for (place, (t_ms, from_a, bits)) in [
        (0, true, flags::SYN),
        (BEHIND_MS, false, flags::SYN | flags::ACK),
        (BEHIND_MS + BEFORE_MS, true, flags::ACK),
    ]
    .into_iter()
    .enumerate()
    {
        let mut segment = talk.blank(t_ms, from_a);
        (segment.seq, segment.ack) = numbers[place];
        segment.flags = bits;
        if bits & flags::SYN != 0 {
            segment.options.mss = Some(1012);
            segment.options.sack_permitted = sack;
        }
        segment.options.timestamps = timestamps.then_some((t_ms as u32, 0));
        talk.tracker.segment(&segment);
    }
    talk
}

/// Ten segments, 100 ms apart from 1 s on, each answered with its echo.
pub(super) fn ten_answered(talk: &mut Talk) {
    for place in 0..10 {
        let t_ms = 1000 + 100 * place;
        talk.data(t_ms, 1 + 1000 * place, 1000);
        talk.ack_echo(t_ms + BEHIND_MS, 1001 + 1000 * place, &[], t_ms);
    }
}

/// Segments 0 to `count` but one, 10 ms apart from 1 s on, each answered.
fn all_but(talk: &mut Talk, count: i64, missing: i64, sack: bool) {
    for place in (0..count).filter(|place| *place != missing) {
        let t_ms = 1000 + 10 * place;
        talk.data(t_ms, 1 + 1000 * place, 1000);
        let (ack, end) = (1 + 1000 * missing, 1 + 1000 * (place + 1));
        match (place < missing, sack) {
            (true, _) => talk.ack(t_ms + 1, end, &[]),
            (false, true) => talk.ack(t_ms + 1, ack, &[(ack + 1000, end)]),
            (false, false) => talk.ack(t_ms + 1, ack, &[]),
        }
    }
}

/// Of 20 segments one is overtaken by those after it. Its needless copy comes a round trip after SACK called for it,
/// between new data.
fn late_and_called_for(timestamps: bool) -> Talk {
    let mut talk = between(true, timestamps);
    all_but(&mut talk, 20, 12, true);
    let mut late = talk.blank(1195, true);
    (late.seq, late.ack, late.length) = (talk.isn_a + 12_001, talk.isn_b + 1, 1000);
    late.options.timestamps = timestamps.then_some((1120, 0));
    talk.tracker.segment(&late);
    talk.ack(1196, 20_001, &[]);
    talk.data(1200, 20_001, 1000);
    talk.data(1131 + BEFORE_MS, 12_001, 1000);
    talk
}

fn last_cause(talk: Talk) -> (Cause, ArrivalCounts) {
    let (connections, _) = talk.done();
    let sender = &connections[0].senders[0];
    (sender.arrivals().last().expect("an arrival").cause, sender.arrival_counts())
}

#[test]
fn a_call_is_remembered_until_its_answer_comes() {
    for timestamps in [false, true] {
        let (cause, counts) = last_cause(late_and_called_for(timestamps));
        assert_eq!(cause, Cause::Fast);
        assert_eq!((counts.upstream, counts.downstream), (0, 0));
    }
}

#[test]
fn counts_and_rows_tell_the_same_cause() {
    let (connections, _) = late_and_called_for(false).done();
    let counts = connections[0].senders[0].retransmission_counts();
    assert_eq!(counts[Cause::Fast as usize], 1);
    assert_eq!(counts.iter().sum::<u64>(), 1);
}

#[test]
fn without_sack_what_was_lost_again_waits_for_the_timer() {
    let mut talk = between(false, false);
    // New data goes on, and duplicate ACKs for it: nothing is ever silent.
    all_but(&mut talk, 31, 12, false);
    talk.data(1305, 12_001, 1000);
    for place in 31..50 {
        talk.data(1000 + 10 * place, 1 + 1000 * place, 1000);
        talk.ack(1001 + 10 * place, 12_001, &[]);
    }
    talk.data(1500, 12_001, 1000);
    let (connections, _) = talk.done();
    let rows = connections[0].senders[0].arrivals();
    assert_eq!(rows.last().map(|row| row.cause), Some(Cause::Timeout));
}

#[test]
fn without_sack_fast_recovery_repeats_only_the_first() {
    let mut talk = between(false, false);
    all_but(&mut talk, 30, 12, false);
    talk.data(1300, 12_001, 1000);
    talk.data(1302, 20_001, 1000);
    let (connections, _) = talk.done();
    let causes: Vec<_> = connections[0].senders[0].arrivals().iter().map(|row| row.cause).collect();
    assert_eq!(causes, [Cause::Fast, Cause::SlowStart]);
}

/// A segment comes by twice, and this ACK comes so long after the second: lost behind this point, sent again needlessly.
fn twice(sack: bool, answer_ms: i64, blocks: &[(i64, i64)]) -> [u64; 2] {
    let mut talk = between(sack, false);
    ten_answered(&mut talk);
    talk.data(2000, 10_001, 1000);
    talk.data(2600, 10_001, 1000);
    talk.ack(2600 + answer_ms, 11_001, blocks);
    behind(talk)
}

fn behind(talk: Talk) -> [u64; 2] {
    let (connections, _) = talk.done();
    [connections[0].senders[0].arrival_counts().downstream, needless(&connections[0], 0)]
}

#[test]
fn what_came_by_twice_was_lost_behind_unless_it_shows_that_it_was_not() {
    assert_eq!(twice(true, BEHIND_MS, &[]), [1, 0]);
    assert_eq!(twice(false, BEHIND_MS, &[]), [1, 0]);
    assert_eq!(twice(false, BEHIND_MS / 2, &[]), [1, 0], "its queue may have been as short");
    assert_eq!(twice(false, BEHIND_MS / 2 - 1, &[]), [0, 1]);
    assert_eq!(twice(true, BEHIND_MS, &[(10_001, 11_001)]), [0, 1]);
}

/// The smallest round trip was that of a queue. An ACK that comes sooner and echoes the second copy answers that one.
#[test]
fn what_echoes_the_second_copy_answers_it_however_soon() {
    for (echo_ms, found) in [(2600, [1, 0]), (2000, [0, 1])] {
        let mut talk = between(true, true);
        ten_answered(&mut talk);
        talk.data(2000, 10_001, 1000);
        talk.data(2600, 10_001, 1000);
        talk.ack_echo(2600 + BEHIND_MS / 2, 11_001, &[], echo_ms);
        assert_eq!(behind(talk), found, "{echo_ms}");
    }
}

/// The network delivers a packet twice with its identification, even where these do not count.
#[test]
fn another_identification_is_another_packet() {
    for (second, verdict) in [
        (777, ArrivalVerdict::NetworkDuplicate),
        (0, ArrivalVerdict::NetworkDuplicate),
        (31_000, ArrivalVerdict::Retransmission),
    ] {
        let mut talk = between(true, false);
        ten_answered(&mut talk);
        for (t_ms, ip_id) in [(2000, 777), (2002, second)] {
            let mut s = talk.blank(t_ms, true);
            (s.seq, s.ack, s.length, s.ip_id) = (talk.isn_a + 10_001, talk.isn_b + 1, 1000, ip_id);
            talk.tracker.segment(&s);
        }
        let (connections, _) = talk.done();
        let found: Vec<_> = connections[0].senders[0].arrivals().iter().map(|row| row.verdict).collect();
        assert_eq!(found, [verdict], "{second}");
    }
}

/// A segment of 80 bytes comes by and one behind it, then others, too soon for an answer: what each of these is.
fn again_at_once(stamped: bool, others: &[(u32, u32)]) -> Vec<(ArrivalVerdict, Evidence)> {
    let mut talk = between(true, stamped);
    ten_answered(&mut talk);
    let first = [(0, 80, 1), (80, 990, 1)];
    let others = others.iter().map(|&(length, ack)| (0, length, ack));
    for (place, (from, length, ack)) in first.into_iter().chain(others).enumerate() {
        let mut s = talk.blank(2000 + place as i64, true);
        (s.seq, s.ack, s.length) = (talk.isn_a + 10_001 + from, talk.isn_b + ack, length);
        s.options.timestamps = stamped.then_some((2000, 1920));
        talk.tracker.segment(&s);
    }
    let (connections, _) = talk.done();
    connections[0].senders[0].arrivals().iter().map(|row| (row.verdict, row.evidence)).collect()
}

/// No network makes another packet of one: neither one that goes on behind its end nor one with another ACK. Where only a
/// part of it comes again, a receiver's offload may have joined the first copy with the next packet.
#[test]
fn another_header_is_another_packet() {
    let copy = (ArrivalVerdict::NetworkDuplicate, Evidence::TooSoon);
    let header = (ArrivalVerdict::Retransmission, Evidence::Header);
    for stamped in [false, true] {
        for length in [40, 80] {
            assert_eq!(again_at_once(stamped, &[(length, 1)]), [copy], "{stamped} {length}");
        }
        assert_eq!(again_at_once(stamped, &[(1000, 1)]), [header], "{stamped}");
        assert_eq!(again_at_once(stamped, &[(80, 1), (80, 2)]), [copy, header], "{stamped}");
        // Two packets that offload joined: more than an MSS.
        assert_eq!(again_at_once(stamped, &[(1070, 1)]), [copy], "{stamped}");
    }
}

/// Small segments, all acknowledged. Some come again after more than a timer's wait, and soon after an ACK of that side:
/// how long ago their first copies were is not how long ago the ACK was.
#[test]
fn time_passed_since_the_data_not_since_an_ack() {
    for seq in [51, 181] {
        let mut talk = between(true, false);
        for (seq, length) in [(1, 50), (51, 60), (111, 70), (181, 40)] {
            talk.data(1000, seq, length);
        }
        talk.ack(1000 + BEHIND_MS, 221, &[]);
        talk.data(1200, 221, 0);
        talk.data(1250, seq, if seq == 51 { 60 } else { 40 });
        let (connections, _) = talk.done();
        let found: Vec<_> = connections[0].senders[0].arrivals().iter().map(|row| row.verdict).collect();
        assert_eq!(found, [ArrivalVerdict::Retransmission], "{seq}");
    }
}

#[test]
fn what_the_receiver_had_reported_was_not_lost() {
    let mut talk = between(true, false);
    all_but(&mut talk, 20, 12, true);
    talk.data(1300, 15_001, 1000);
    assert_eq!(behind(talk), [0, 1]);
}

/// Without SACK nothing reports what arrived twice. The ACKs of what was sent again in vain repeat the last.
#[test]
fn duplicate_acks_answer_what_was_sent_again_in_vain() {
    for repeated in 0..4 {
        let mut talk = between(false, false);
        ten_answered(&mut talk);
        for place in 10..14 {
            talk.data(2000, 1 + 1000 * place, 1000);
        }
        for place in 10..14 {
            talk.data(2600, 1 + 1000 * place, 1000);
        }
        talk.ack(2600 + BEHIND_MS, 14_001, &[]);
        for _ in 0..repeated {
            talk.ack(2600 + BEHIND_MS + 1, 14_001, &[]);
        }
        // The receiver had waited for one of them.
        let needless = repeated.min(3);
        assert_eq!(behind(talk), [4 - needless, needless]);
    }
}

/// What a timeout sends again arrives in its order: what the receiver had of it is answered by duplicate ACKs before the copy
/// of what it waits for next, however long they were queued.
#[test]
fn copies_behind_a_timeout_arrive_before_what_is_waited_for() {
    let mut talk = between(false, false);
    ten_answered(&mut talk);
    (10..16).for_each(|place| talk.data(2000, 1 + 1000 * place, 1000));
    (10..16).for_each(|place| talk.data(2600, 1 + 1000 * place, 1000));
    // It had all but the segments 10 and 14.
    talk.ack(2700, 14_001, &[]);
    (0..3).for_each(|number| talk.ack(2750 + number, 14_001, &[]));
    talk.ack(2760, 16_001, &[]);
    talk.ack(2761, 16_001, &[]);
    assert_eq!(behind(talk), [2, 4]);
}

/// The same while the receiver waits for new data: that this arrives without being sent again shows whose answers they were.
#[test]
fn new_data_that_arrives_shows_that_duplicate_acks_answered_copies() {
    for (again, found) in [(false, [1, 3]), (true, [5, 0])] {
        let mut talk = between(false, false);
        ten_answered(&mut talk);
        (10..14).for_each(|place| talk.data(2000, 1 + 1000 * place, 1000));
        (10..14).for_each(|place| talk.data(2600, 1 + 1000 * place, 1000));
        talk.data(2601, 14_001, 1000);
        talk.ack(2700, 14_001, &[]);
        (0..3).for_each(|number| talk.ack(2750 + number, 14_001, &[]));
        if again {
            talk.data(2800, 14_001, 1000);
        }
        talk.ack(2900, 15_001, &[]);
        assert_eq!(behind(talk), found, "{again}");
    }
}

/// Of three copies, one before the last had arrived: the second or the first.
#[test]
fn an_early_answer_clears_only_the_last_copy() {
    let mut talk = between(true, false);
    ten_answered(&mut talk);
    for t_ms in [2000, 2300, 2600] {
        talk.data(t_ms, 10_001, 1000);
    }
    talk.ack(2600 + BEHIND_MS / 2 - 1, 11_001, &[]);
    assert_eq!(behind(talk), [1, 1]);
}

/// Without SACK, an ACK of more than was sent again shows that the receiver had waited for the first of that alone. Of three copies
/// of each of the others the first may have been lost, and so it is with what duplicate ACKs answer.
#[test]
fn of_several_copies_only_the_last_is_known_to_be_needless() {
    for (ack, repeated, found) in [(15_001, 0, [5, 3]), (14_001, 9, [5, 3])] {
        let mut talk = between(false, false);
        ten_answered(&mut talk);
        (10..15).for_each(|place| talk.data(2000, 1 + 1000 * place, 1000));
        for t_ms in [2300, 2600] {
            (10..14).for_each(|place| talk.data(t_ms, 1 + 1000 * place, 1000));
        }
        talk.ack(2700, ack, &[]);
        (0..repeated).for_each(|number| talk.ack(2701 + number, ack, &[]));
        if ack < 15_001 {
            talk.ack(2750, 15_001, &[]);
        }
        assert_eq!(behind(talk), found, "{ack}");
    }
}

/// Two segments are sent again as one, of which the second had come by: one retransmission, and one that was lost before this point.
#[test]
fn a_retransmission_of_which_a_part_had_come_by_is_one() {
    for timestamps in [false, true] {
        let mut talk = between(true, timestamps);
        ten_answered(&mut talk);
        talk.data(2000, 10_501, 500);
        talk.data(2300, 10_001, 1000);
        let (connections, _) = talk.done();
        let sender = &connections[0].senders[0];
        assert_eq!(retransmissions(&sender.retransmission_counts()), 1, "{timestamps}");
        assert_eq!((sender.arrival_counts().upstream, needless(&connections[0], 0)), (1, 0), "{timestamps}");
        assert!(sender.arrivals().iter().all(|row| row.partial && row.fresh));
    }
}

/// What is acknowledged already when it comes by again had arrived, too.
#[test]
fn what_was_acknowledged_was_sent_again_needlessly() {
    let mut talk = between(true, false);
    talk.data(1000, 1, 1000);
    talk.ack(1000 + BEHIND_MS, 1001, &[]);
    talk.data(1600, 1, 1000);
    assert_eq!(behind(talk), [0, 1]);
}

/// At the receiver both copies came by. The network duplicates packets, so that its DSACK says nothing.
#[test]
fn at_the_receiver_two_copies_are_one_too_many() {
    // Routers before this point, and none behind it: it is the receiver's. With none before it, it is not known.
    for (ttl, found) in [(60, 1), (64, 0)] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        for (place, t_ms) in (1000..).step_by(200).enumerate().take(20).chain([(20, 13_000), (20, 13_400)]) {
            let mut data = talk.blank(t_ms, true);
            (data.seq, data.ack) = (talk.isn_a + 1 + 1000 * place as u32, talk.isn_b + 1);
            (data.length, data.ttl) = (1000, ttl);
            talk.tracker.segment(&data);
            if place < 20 {
                talk.ack(t_ms, 1001 + 1000 * place as i64, &[]);
            }
            if place == 19 {
                // The network made two of a packet.
                talk.ack(t_ms + 10, 20_001, &[(1, 1001)]);
            }
        }
        talk.ack(13_409, 21_001, &[]);
        let (connections, _) = talk.done();
        assert_eq!(needless(&connections[0], 0), found, "TTL {ttl}");
    }
}

#[test]
fn an_old_echo_answers_the_first_copy() {
    for (echo_ms, lost) in [(2000, 0), (2600, 1)] {
        let mut talk = between(false, true);
        ten_answered(&mut talk);
        talk.data(2000, 10_001, 1000);
        talk.data(2600, 10_001, 1000);
        talk.ack_echo(2600 + BEHIND_MS, 11_001, &[], echo_ms);
        assert_eq!(behind(talk), [lost, 1 - lost], "echo of {echo_ms}");
    }
}

/// Without SACK, fast recovery repeats what ACKs name. What none ever named is sent again after a timeout.
#[test]
fn without_sack_what_no_ack_named_is_sent_again_after_a_timeout() {
    let mut talk = between(false, false);
    for place in (0..40).filter(|place| ![12, 15].contains(place)) {
        talk.data(1000 + 10 * place, 1 + 1000 * place, 1000);
        talk.ack(1001 + 10 * place, if place < 12 { 1 + 1000 * (place + 1) } else { 12_001 }, &[]);
    }
    // Named by three duplicates; by an ACK of a part of the data; by none: 16,001 came by in order, behind a gap.
    talk.data(1410, 12_001, 1000);
    talk.ack(1411, 15_001, &[]);
    talk.data(1530, 15_001, 1000);
    talk.ack(1531, 40_001, &[]);
    talk.data(1540, 16_001, 1000);
    let (connections, _) = talk.done();
    let causes: Vec<_> = connections[0].senders[0].arrivals().iter().map(|row| row.cause).collect();
    assert_eq!(causes, [Cause::Fast, Cause::Fast, Cause::SlowStart]);
}

/// A receiver acknowledges at once, so that nothing is on its way when its duplicate ACKs pass.
#[test]
fn duplicate_acks_call_for_a_retransmission_when_all_had_arrived() {
    let mut talk = between(false, false);
    all_but(&mut talk, 30, 12, false);
    talk.data(1320, 12_001, 1000);
    for t_ms in 1321..1325 {
        talk.ack(t_ms, 30_001, &[]);
    }
    talk.data(1330, 30_001, 1000);
    talk.ack(1331, 31_001, &[]);
    talk.data(1450, 30_001, 1000);
    assert_eq!(last_cause(talk).0, Cause::Fast);
}

/// Late by up to 60 ms, most by less; a retransmission takes 108 ms or more.
#[test]
fn where_packets_are_overtaken_for_long_a_round_trip_is_not_enough() {
    let verdict_after = |late_ms: [i64; 8]| {
        let mut talk = between(true, false);
        let mut at_ms = 1000;
        for late in late_ms {
            let seq = 1 + 2000 * ((at_ms - 1000) / 200);
            talk.data(at_ms, seq + 1000, 1000);
            talk.ack(at_ms + 1, seq, &[(seq + 1000, seq + 2000)]);
            talk.data(at_ms + late, seq, 1000);
            talk.ack(at_ms + late + 1, seq + 2000, &[]);
            at_ms += 200;
        }
        let (connections, _) = talk.done();
        connections[0].senders[0].arrivals().last().expect("an arrival").verdict
    };
    assert_eq!(verdict_after([4; 8]), ArrivalVerdict::Reordered);
    assert_eq!(verdict_after([4, 4, 4, 4, 4, 4, 4, 140]), ArrivalVerdict::Retransmission);
    assert_eq!(verdict_after([4, 70, 4, 4, 80, 4, 4, 140]), ArrivalVerdict::Reordered);
    // All so late: it may be the round trip that is shorter than it was at first.
    assert_eq!(verdict_after([80, 70, 90, 80, 80, 70, 80, 140]), ArrivalVerdict::Retransmission);
}

/// Segments of the first window arrive out of order, later than they were reported missing, and no second copy comes: their
/// numbers say that they were sent first. Without numbers the round trip would seem to be shorter than it was measured.
#[test]
fn numbers_that_count_say_what_was_overtaken() {
    let verdicts_of = |numbered: bool| {
        let mut talk = between(true, false);
        let mut arrive = |t_ms: i64, place: i64| {
            let mut segment = talk.blank(t_ms, true);
            (segment.seq, segment.ack, segment.length) =
                (talk.isn_a + 1 + 1000 * place as u32, talk.isn_b + 1, 1000);
            segment.ip_id = if numbered { 100 + place as u16 } else { 0 };
            talk.tracker.segment(&segment);
            match place {
                0 => talk.ack(t_ms + 1, 5001, &[]),
                1 => talk.ack(t_ms + 1, 1, &[(1001, 5001)]),
                2..5 => talk.ack(t_ms + 1, 1, &[(2001, 1001 + 1000 * place)]),
                _ => talk.ack(t_ms + 1, 1001 + 1000 * place, &[]),
            }
        };
        for (t_ms, place) in [(1000, 2), (1002, 3), (1004, 4), (1030, 1), (1034, 0)] {
            arrive(t_ms, place);
        }
        (5..80).for_each(|place| arrive(1040 + 10 * place, place));
        arrive(1900, 81);
        arrive(1920, 80);
        let (connections, _) = talk.done();
        connections[0].senders[0].arrivals().iter().map(|row| row.verdict).collect::<Vec<_>>()
    };
    let [late, again] = [ArrivalVerdict::Reordered, ArrivalVerdict::Retransmission];
    assert_eq!(verdicts_of(true), [late; 3]);
    assert_eq!(verdicts_of(false), [again, again, late]);
}

/// The first of all data comes behind its own retransmission: its number, behind those of the handshake, shows that it was sent before.
#[test]
fn the_first_segment_may_be_overtaken_by_its_retransmission() {
    let mut talk = Talk::new(500);
    let numbers = [(talk.isn_a, 0), (talk.isn_b, talk.isn_a + 1), (talk.isn_a + 1, talk.isn_b + 1)];
    for (place, bits) in [flags::SYN, flags::SYN | flags::ACK, flags::ACK].into_iter().enumerate() {
        talk.pass(100 * (place as i64 / 2) * MS, place != 1, &|segment| {
            (segment.seq, segment.ack) = numbers[place];
            (segment.flags, segment.ip_id) = (bits, [2, 0, 3][place]);
            segment.options.mss = (place < 2).then_some(1000);
        });
    }
    let mut arrive = |t_ms: i64, place: u32, id: u16, ack: i64| {
        let (seq, ack_b) = (talk.isn_a + 1 + 1000 * place, talk.isn_b + 1);
        talk.pass(t_ms * MS, true, &|segment| {
            (segment.seq, segment.ack, segment.length, segment.ip_id) = (seq, ack_b, 1000, id);
        });
        talk.ack(t_ms + 1, ack, &[]);
    };
    (1..9).for_each(|place| arrive(1000 + i64::from(place), place, 4 + place as u16, 1));
    arrive(1120, 0, 13, 9001);
    arrive(1400, 0, 4, 9001);
    (9..40).for_each(|place| {
        arrive(1500 + i64::from(place), place, 5 + place as u16, 1001 + 1000 * i64::from(place))
    });
    let (connections, _) = talk.done();
    let rows = connections[0].senders[0].arrivals();
    let found: Vec<_> = rows.iter().map(|row| (row.verdict, row.cause)).collect();
    assert_eq!(found[0].0, ArrivalVerdict::Retransmission);
    assert_eq!(found[1], (ArrivalVerdict::Reordered, Cause::None));
}

/// What lies above a gap waits for what fills it, and its ACK measures the way of that alone.
#[test]
fn the_ack_of_a_filled_gap_measures_what_filled_it() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    talk.data(1000, 1, 1000);
    talk.ack(1100, 1001, &[]);
    talk.data(1200, 2001, 1000);
    talk.data(1800, 1001, 1000);
    talk.ack(1900, 3001, &[]);
    let (connections, _) = talk.done();
    assert_eq!(connections[0].senders[0].rtt().max_ns, 100 * MS);
}

/// A report of a duplicate before anything was sent again is of a packet that the network made two of.
#[test]
fn what_was_sent_once_and_arrived_twice_was_duplicated_by_the_network() {
    for reported in [false, true] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        talk.data(1000, 1, 1000);
        talk.ack(1100, 1001, &[]);
        if reported {
            talk.ack(1101, 1001, &[(1, 1001)]);
        }
        talk.data(1200, 1001, 1000);
        talk.data(1800, 1001, 1000);
        talk.ack(1900, 2001, &[]);
        talk.ack(1901, 2001, &[(1001, 2001)]);
        let (connections, _) = talk.done();
        assert_eq!(connections[0].senders[0].needless(), u64::from(!reported));
    }
}

/// The first copy of a segment was lost, the second arrived, and the third was sent too late to be what was answered: one was
/// needless, and the report of it is no second one.
#[test]
fn a_needless_copy_that_is_reported_is_one() {
    for reported in [false, true] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        let next = warm_up(&mut talk);
        talk.data(5000, next, 1000);
        talk.data(5200, next, 1000);
        talk.data(5290, next, 1000);
        talk.ack(5300, next + 1000, &[]);
        if reported {
            talk.ack(5390, next + 1000, &[(next, next + 1000)]);
        }
        let (connections, _) = talk.done();
        assert_eq!(needless(&connections[0], 0), 1);
    }
}

/// All RTTs so far were those of a queue: that an answer came as soon as one did later, without it, proves nothing.
#[test]
fn an_answer_is_too_early_only_if_no_rtt_was_ever_as_short() {
    for (later_ms, found) in [(100, [1, 0]), (9, [0, 1])] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        let next = warm_up(&mut talk);
        talk.data(5000, next, 1000);
        talk.data(5300, next, 1000);
        talk.ack(5310, next + 1000, &[]);
        talk.data(5500, next + 1000, 1000);
        talk.ack(5500 + later_ms, next + 2000, &[]);
        let (connections, _) = talk.done();
        let counts = connections[0].senders[0].arrival_counts();
        assert_eq!([needless(&connections[0], 0), counts.downstream], found, "{later_ms}");
    }
}

/// An ACK of which the network made two reports one duplicate; with another identification it is another report.
#[test]
fn a_report_that_came_twice_is_one() {
    for (second, reports) in [(77, 1), (78, 2)] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        let next = warm_up(&mut talk);
        for place in 0..2 {
            talk.data(5000 + 500 * place, next, 1000);
            talk.data(5010 + 500 * place, next + 1000, 1000);
        }
        talk.ack(5600, next + 2000, &[]);
        for (t_ms, ip_id) in [(5610, 77), (5611, second)] {
            let mut s = talk.blank(t_ms, false);
            let [left, right, ack] = [next, next + 1000, next + 2000].map(|at| talk.isn_a + at as u32);
            (s.seq, s.ack, s.ip_id) = (talk.isn_b + 1, ack, ip_id);
            (s.options.sack[0], s.options.sack_count) = ((left, right), 1);
            s.options.timestamps = Some((t_ms as u32, 5000));
            talk.tracker.segment(&s);
        }
        let (connections, _) = talk.done();
        assert_eq!(needless(&connections[0], 0), reports, "{second}");
        assert_eq!(connections[0].senders[0].totals().dsacks, 2);
    }
}

/// Reports of two copies that were sent again, and then of a segment that was sent once: the network makes two of packets,
/// so that neither of the reports before proves anything.
#[test]
fn reports_before_it_shows_that_the_network_duplicates_are_taken_back() {
    for duplicating in [false, true] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        let next = warm_up(&mut talk);
        for place in 0..2 {
            let (t_ms, seq) = (5000 + 1000 * place, next + 1000 * place);
            talk.data(t_ms, seq, 1000);
            talk.data(t_ms + 500, seq, 1000);
            talk.ack(t_ms + 600, seq + 1000, &[]);
            talk.ack(t_ms + 610, seq + 1000, &[(seq, seq + 1000)]);
        }
        talk.data(8000, next + 2000, 1000);
        talk.ack(8100, next + 3000, &[]);
        if duplicating {
            talk.ack(8110, next + 3000, &[(next + 2000, next + 3000)]);
        }
        let (connections, _) = talk.done();
        assert_eq!(needless(&connections[0], 0), if duplicating { 0 } else { 2 });
    }
}

/// Identifications that Linux left out were packets that never came by.
#[test]
fn identifications_left_out_count_what_was_not_seen() {
    for (ttl, unseen) in [(64, Some([3, 1])), (60, Some([3, 1])), (128, None)] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        let mut id = 500;
        for place in 0..60 {
            id += if place == 40 { 4 } else { 1 };
            let mut data = talk.blank(1000 + 100 * place, true);
            (data.seq, data.ack) = (talk.isn_a + 1 + 1000 * place as u32, talk.isn_b + 1);
            (data.length, data.ip_id, data.ttl) = (1000, id, ttl);
            talk.tracker.segment(&data);
            talk.ack(1050 + 100 * place, 1001 + 1000 * place, &[]);
        }
        let (connections, _) = talk.done();
        assert_eq!(connections[0].senders[0].unseen(), unseen, "TTL {ttl}");
    }
}

/// An ACK of the sender has the number of its next new byte: all below it had been sent, and what comes there later was sent again.
#[test]
fn an_ack_above_all_that_passed_shows_what_was_lost() {
    for (left_out, again, lost) in [(3, 1, 3), (0, 0, 0)] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        let send = |talk: &mut Talk, t_ms: i64, place: u32, length: u32, ip_id: u16| {
            let mut data = talk.blank(t_ms, true);
            (data.seq, data.ack) = (talk.isn_a + 1 + 1000 * place, talk.isn_b + 1);
            (data.length, data.ip_id, data.ttl) = (length, ip_id, 64);
            talk.tracker.segment(&data);
        };
        for place in 0..40 {
            let t_ms = 1000 + 100 * i64::from(place);
            send(&mut talk, t_ms, place, 1000, 501 + place as u16);
            talk.ack(t_ms + 50, 1001 + 1000 * i64::from(place), &[]);
        }
        send(&mut talk, 6000, 40 + u32::from(left_out), 0, 541 + left_out);
        send(&mut talk, 8000, 40, 1000, 542 + left_out);
        let (connections, _) = talk.done();
        assert_eq!(retransmissions(&connections[0].senders[0].retransmission_counts()), again);
        assert_eq!(losses(&connections[0], 0)[0], lost, "{left_out} left out");
    }
}

/// Data that goes on in order behind numbers that were left out was refused by the sender's own queue, and never sent for TCP.
/// What the network lost leaves a gap, or comes again.
#[test]
fn numbers_left_out_without_a_loss_are_of_what_the_own_queue_refused() {
    let of = |ttl: u8, runs: &[i64]| {
        let mut talk = Talk::new(7);
        talk.handshake(false);
        let (mut id, mut t_ms) = (500, 1000);
        for place in 0..60 {
            id += if runs.contains(&place) { 6 } else { 1 };
            let mut data = talk.blank(t_ms, true);
            (data.seq, data.ack) = (talk.isn_a + 1 + 1000 * place as u32, talk.isn_b + 1);
            (data.length, data.ip_id, data.ttl) = (1000, id, ttl);
            talk.tracker.segment(&data);
            t_ms += 50;
            talk.ack(t_ms, 1001 + 1000 * place, &[]);
            t_ms += 50;
        }
        let (connections, _) = talk.done();
        refused(&connections[0], 0)
    };
    assert_eq!(of(64, &[20, 40]), 2);
    assert_eq!(of(128, &[20, 40]), 0);
    assert_eq!(of(64, &[20]), 1);
    assert_eq!(of(64, &[]), 0);
}

/// Bursts of the network's losses: each of the five segments leaves a gap, and comes again once.
#[test]
fn what_the_network_lost_was_not_refused() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    let (mut id, mut t_ms) = (500, 1000);
    let mut send = |talk: &mut Talk, t_ms: i64, place: i64| {
        id += 1;
        let mut data = talk.blank(t_ms, true);
        (data.seq, data.ack) = (talk.isn_a + 1 + 1000 * place as u32, talk.isn_b + 1);
        (data.length, data.ip_id) = (1000, id);
        data
    };
    let mut place = 0;
    for burst in 0..6 {
        for _ in 0..10 {
            let data = send(&mut talk, t_ms, place);
            talk.tracker.segment(&data);
            talk.ack(t_ms + 50, 1001 + 1000 * place, &[]);
            (place, t_ms) = (place + 1, t_ms + 100);
        }
        let from = place;
        for _ in 0..5 {
            send(&mut talk, t_ms, place);
            place += 1;
        }
        for at in 0..3 {
            let data = send(&mut talk, t_ms + 1 + at, place);
            talk.tracker.segment(&data);
            talk.ack(t_ms + 51 + at, 1 + 1000 * from, &[]);
            place += 1;
        }
        t_ms += 100 + burst;
        for again in from..from + 5 {
            let data = send(&mut talk, t_ms, again);
            talk.tracker.segment(&data);
            talk.ack(t_ms + 50, 1001 + 1000 * again, &[]);
            t_ms += 60;
        }
        talk.ack(t_ms, 1 + 1000 * place, &[]);
        t_ms += 100;
    }
    let (connections, _) = talk.done();
    assert!(connections[0].senders[0].unseen().is_some_and(|[packets, _]| packets >= 25));
    assert_eq!(refused(&connections[0], 0), 0);
}

/// The last segments are lost, and their copies in turn: a timer that doubles brings each in order, with identifications left out.
/// That is no queue that refuses; many such pauses are no losses that nothing else shows.
#[test]
fn a_tail_that_a_timer_repairs_was_not_refused() {
    let tail = |waits_ms: &[i64]| {
        let mut talk = Talk::new(7);
        talk.handshake(false);
        let (mut id, mut t_ms) = (500, 1000);
        for place in 0..40 + waits_ms.len() as i64 {
            let late = usize::try_from(place - 40).ok().and_then(|at| waits_ms.get(at));
            (id, t_ms) = (id + if late.is_some() { 3 } else { 1 }, t_ms + late.unwrap_or(&50));
            let mut data = talk.blank(t_ms, true);
            (data.seq, data.ack) = (talk.isn_a + 1 + 1000 * place as u32, talk.isn_b + 1);
            (data.length, data.ip_id) = (1000, id);
            talk.tracker.segment(&data);
            talk.ack(t_ms + 40, 1001 + 1000 * place, &[]);
        }
        let (connections, _) = talk.done();
        let (data, acks) = (&connections[0].senders[0], &connections[0].senders[1]);
        (refused(&connections[0], 0) > 0, data.backs_off(acks))
    };
    assert_eq!(tail(&[500, 1000, 6000]), (false, true));
    assert_eq!(tail(&[500, 500, 500]), (false, false));
    assert_eq!(tail(&[500; 8]), (true, false));
}

/// After an expiry without SACK five segments are sent again, one a millisecond. The first alone had been lost: its ACK
/// covers them all, and echoes its timestamp.
#[test]
fn of_what_one_ack_covers_only_the_first_was_waited_for() {
    let mut talk = between(false, true);
    ten_answered(&mut talk);
    for place in 10..15 {
        talk.data(2000 + place, 1 + 1000 * place, 1000);
    }
    for place in 10..15 {
        talk.data(2600 + place, 1 + 1000 * place, 1000);
    }
    talk.ack_echo(2610 + BEHIND_MS, 15_001, &[], 2610);
    assert_eq!(last_cause(talk).1.downstream, 1);
}

/// Of a retransmission only the echoed timestamp measures; one that is older than any that was sent measures nothing.
#[test]
fn an_echo_of_nothing_that_was_sent_is_no_sample() {
    let mut talk = Talk::new(7);
    talk.timestamps = true;
    for place in 0..20 {
        talk.data(100_000 + 100 * place, 1 + 1000 * place, 1000);
        talk.ack_echo(100_040 + 100 * place, 1001 + 1000 * place, &[], 100_000 + 100 * place);
    }
    talk.data(102_000, 20_001, 1000);
    talk.data(102_400, 20_001, 1000);
    talk.ack_echo(102_440, 21_001, &[], 17);
    let (connections, _) = talk.done();
    assert!(connections[0].senders[0].rto.srtt_us() < 60_000);
}

/// Causes of what was sent again, seen before or not.
fn causes_here(talk: Talk) -> Vec<Cause> {
    let (connections, _) = talk.done();
    let again = |row: &&Arrival| row.verdict == ArrivalVerdict::Retransmission;
    connections[0].senders[0].arrivals().iter().filter(again).map(|row| row.cause).collect()
}

/// Data that says what its sender had heard.
fn data_that_heard(talk: &mut Talk, t_ms: i64, ts_val: i64, ts_ecr: i64, seq: i64) {
    let mut segment = talk.blank(t_ms, true);
    segment.seq = talk.isn_a.wrapping_add(seq as u32);
    segment.ack = talk.isn_b.wrapping_add(1);
    segment.length = 1000;
    segment.options.timestamps = talk.timestamps.then_some((ts_val as u32, ts_ecr as u32));
    talk.tracker.segment(&segment);
}

/// Segments 10 ms apart, each answered at once, but 0 and what is missing besides; new data goes on, until the first is sent
/// again 460 ms after enough duplicate ACKs had passed: what fast recovery had sent was lost before this point.
fn first_again_late(talk: &mut Talk, missing: &[i64]) {
    for place in 1..50 {
        let t_ms = 1000 + 10 * place;
        if !missing.contains(&place) {
            data_that_heard(talk, t_ms, t_ms, t_ms - 100, 1 + 1000 * place);
            talk.ack(t_ms + 1, 1, &[]);
        }
    }
    data_that_heard(talk, 1500, 1500, 1400, 1);
}

/// Without SACK, slow start repeats in one round trip what no ACK had named by then: the timer had expired before, although new
/// data went on.
#[test]
fn slow_start_shows_the_timeout_before_it() {
    let mut talk = between(false, false);
    first_again_late(&mut talk, &[20, 21]);
    talk.ack(1501, 20_001, &[]);
    talk.data(1601, 20_001, 1000);
    talk.ack(1602, 21_001, &[]);
    talk.data(1603, 21_001, 1000);
    assert_eq!(causes_here(talk), [Cause::Timeout, Cause::SlowStart, Cause::SlowStart]);
}

/// One round trip apart, each named by an ACK that its sender had heard: fast recovery.
#[test]
fn what_each_ack_asks_for_is_fast_recovery() {
    let mut talk = between(false, false);
    for place in (1..30).filter(|place| ![20, 21].contains(place)) {
        talk.data(1000 + 10 * place, 1 + 1000 * place, 1000);
        talk.ack(1001 + 10 * place, 1, &[]);
    }
    for (t_ms, seq, ack) in [(1300, 1, 20_001), (1401, 20_001, 21_001), (1502, 21_001, 30_001)] {
        talk.data(t_ms, seq, 1000);
        talk.ack(t_ms + 1, ack, &[]);
    }
    assert_eq!(causes_here(talk), [Cause::Fast; 3]);
}

/// With timestamps the sender's clock shows how long it had known: longer than a timer, and no queue held the segment.
#[test]
fn what_was_asked_for_long_before_is_a_timeout() {
    for (timestamps, cause) in [(true, Cause::Timeout), (false, Cause::Fast)] {
        let mut talk = between(false, timestamps);
        first_again_late(&mut talk, &[]);
        assert_eq!(causes_here(talk), [cause]);
    }
}

/// After a timeout, what is sent when an ACK of new data comes is slow start, however long ago it was sent before.
#[test]
fn behind_a_new_ack_there_is_no_timeout() {
    let mut talk = between(false, false);
    (0..6).for_each(|place| talk.data(1000 + place, 1 + 1000 * place, 1000));
    talk.data(2000, 1, 1000);
    talk.ack(2020, 1001, &[]);
    talk.data(2121, 1001, 1000);
    talk.data(2122, 2001, 1000); // both are lost
    talk.data(2700, 1001, 1000);
    talk.ack(2720, 2001, &[]);
    talk.data(2821, 2001, 1000);
    let (connections, _) = talk.done();
    let expected = [Cause::Timeout, Cause::SlowStart, Cause::SlowStart, Cause::Timeout, Cause::SlowStart];
    assert_eq!(causes_of(&connections[0]), expected);
    assert_eq!(connections[0].senders[0].timeouts().len(), 2);
}

/// Twenty segments 10 ms apart, each answered so much later.
fn twenty_answered(talk: &mut Talk, answer_ms: i64) {
    for place in 0..20 {
        let t_ms = 1000 + 10 * place;
        data_that_heard(talk, t_ms, t_ms, t_ms - 100, 1 + 1000 * place);
        talk.ack(t_ms + answer_ms, 1001 + 1000 * place, &[]);
    }
}

/// A path that stands still brings a retransmission together with the data before. Both echo the same, and by their clock
/// there is a timer between them.
#[test]
fn a_timer_shows_by_the_clock_behind_a_pause() {
    for (apart_ms, cause) in [(230, Cause::Timeout), (20, Cause::Unknown)] {
        let mut talk = between(false, true);
        twenty_answered(&mut talk, 20);
        // Sent at 1200, on their way until 2500.
        data_that_heard(&mut talk, 2500, 1200, 1100, 20_001);
        data_that_heard(&mut talk, 2500, 1200, 1100, 21_001);
        talk.ack(2500, 21_001, &[]);
        data_that_heard(&mut talk, 2500, 1200 + apart_ms, 1100, 20_001);
        assert_eq!(causes_here(talk), [cause]);
    }
}

/// Both clocks show that the sender had heard nothing for longer than a timer, although duplicate ACKs passed here until the last
/// moment, and a queue held the data before: without the echo, or with a late one, it was asked for.
#[test]
fn a_timer_shows_by_both_clocks_in_spite_of_acks() {
    for (heard_ms, cause) in [(1290, Cause::Timeout), (1590, Cause::Fast)] {
        let mut talk = between(true, true);
        twenty_answered(&mut talk, 1);
        // Sent from 1300 on, on their way until 1600 and later, and the first of them lost.
        for place in 21..30 {
            let t_ms = 1600 + place;
            data_that_heard(&mut talk, t_ms, 1290 + place, 1190 + place, 1 + 1000 * place);
            talk.ack(t_ms, 20_001, &[(21_001, 1001 + 1000 * place)]);
        }
        data_that_heard(&mut talk, 1700, 1650, heard_ms, 20_001);
        assert_eq!(causes_here(talk), [cause], "heard at {heard_ms}");
    }
}

/// Close to the sender, without SACK: what the timer sent is seen for the first time, and so the sender's state here knows of
/// no timeout. What is sent again behind it, and was seen, is slow start all the same.
#[test]
fn behind_a_timer_that_was_seen_once_there_is_slow_start() {
    for missed in [true, false] {
        let mut talk = Talk::new(7);
        talk.handshake(false);
        for place in (0..30).filter(|place| !missed || ![3, 8].contains(place)) {
            talk.data(1000 + place, 1 + 1000 * place, 1000);
            talk.ack(1000 + place, if missed { (1001 + 1000 * place).min(3001) } else { 3001 }, &[]);
        }
        talk.data(1400, 3001, 1000);
        talk.ack(1400, 8001, &[]);
        (9..12).for_each(|place| {
            talk.data(1401 + place, 1 + 1000 * place, 1000);
            talk.ack(1401 + place, 8001, &[]);
        });
        let causes = causes_here(talk);
        assert_eq!(causes[causes.len() - 3..], [Cause::SlowStart; 3], "the first was missed: {missed}");
    }
}

/// A timer that expires while fast recovery repairs what was lost before this point: Linux does no F-RTO then, whatever the next
/// ACK reports.
#[test]
fn a_timer_in_fast_recovery_is_not_taken_back() {
    let mut talk = between(true, true);
    for place in (0..20).filter(|place| ![2, 5].contains(place)) {
        let t_ms = 1000 + 10 * place;
        data_that_heard(&mut talk, t_ms, t_ms, t_ms - 100, 1 + 1000 * place);
        // What the last bring is reported after the timeout.
        if place < 18 {
            let reported = (if place < 5 { 3001 } else { 6001 }, 1001 + 1000 * place);
            talk.ack(
                t_ms + 1,
                (1001 + 1000 * place).min(2001),
                &[reported, (3001, 5001)][..usize::from(place > 2)],
            );
        }
    }
    // Fast recovery sends the first again, which is lost behind this point; then its timer does.
    data_that_heard(&mut talk, 1300, 1300, 1200, 2001);
    data_that_heard(&mut talk, 1700, 1700, 1200, 2001);
    talk.ack_echo(1801, 2001, &[(6001, 20_001), (3001, 5001)], 1190);
    talk.ack_echo(1802, 5001, &[(6001, 20_001)], 1700);
    data_that_heard(&mut talk, 1902, 1902, 1802, 5001);
    assert_eq!(causes_here(talk), [Cause::Fast, Cause::Timeout, Cause::SlowStart]);
}

/// A path without timestamps stalls before this point; what waited passes at once, some of it in another order, and so does
/// the copy of the first segment that its timer sent meanwhile. `later_ms` is how long after the gap that passes.
fn behind_a_stall(later_ms: i64) -> Talk {
    let mut talk = between(true, false);
    talk.ids = true;
    all_but(&mut talk, 12, 12, true);
    // Until then all is well; then nothing passes for 800 ms, and 13 to 17 do before 12.
    for place in 13..18 {
        talk.data(2000, 1 + 1000 * place, 1000);
        talk.ack(2000, 12_001, &[(13_001, 1 + 1000 * (place + 1))]);
    }
    talk.data(2000 + later_ms, 12_001, 1000);
    talk
}

#[test]
fn what_passed_together_with_a_copy_did_not_call_for_it() {
    assert_eq!(last_cause(behind_a_stall(1)).0, Cause::Timeout);
    assert_eq!(last_cause(behind_a_stall(BEFORE_MS / 2 - 1)).0, Cause::Timeout);
    assert_eq!(last_cause(behind_a_stall(BEFORE_MS + 1)).0, Cause::Fast);
}
