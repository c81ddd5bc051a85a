//! ACKs that were lost before this point, and behind it.

use super::*;
use crate::segment::flags;
use crate::summary::{acks_lost, unacked_timeouts};
use crate::tracker::timeout::{Verdict, Vote};

/// A number just below where they start anew: a SYN that is answered with number 0 says nothing of it.
const FIRST: u16 = 0xf000;

fn conversation() -> Talk {
    let mut talk = Talk::new(7);
    (talk.ids, talk.timestamps) = (false, true);
    talk.handshake(true);
    talk
}

/// B acknowledges up to relative `ack` in a packet with this number, echoing `echo_ms`.
fn ack(talk: &mut Talk, t_ms: i64, ack: i64, id: u16, echo_ms: i64) {
    let mut s = talk.blank(t_ms, false);
    (s.seq, s.ack, s.ip_id) = (talk.isn_b.wrapping_add(1), talk.isn_a.wrapping_add(ack as u32), id);
    s.options.timestamps = Some((t_ms as u32, echo_ms as u32));
    talk.tracker.segment(&s);
}

/// Forty segments; of their ACKs only those come by that `comes`, with the numbers that `id` gives.
fn lost(comes: impl Fn(u16) -> bool, id: impl Fn(u16) -> u16) -> Option<u64> {
    lost_from(64, comes, id)
}

/// The same, with this TTL in the ACKs.
fn lost_from(ttl: u8, comes: impl Fn(u16) -> bool, id: impl Fn(u16) -> u16) -> Option<u64> {
    let mut talk = conversation();
    talk.ttl_b = ttl;
    for i in 0..40u16 {
        let (t_ms, seq) = (200 + 20 * i64::from(i), 1 + 1000 * i64::from(i));
        talk.data(t_ms, seq, 1000);
        if comes(i) {
            ack(&mut talk, t_ms + 15, seq + 1000, FIRST.wrapping_add(id(i)), t_ms);
        }
    }
    let (connections, _) = talk.done();
    acks_lost(&connections[0], 0)
}

#[test]
fn acks_whose_numbers_are_left_out_were_lost() {
    assert_eq!(lost(|_| true, |i| i), Some(0));
    // Of the last, nothing that follows tells.
    assert_eq!(lost(|i| i % 4 != 3, |i| i), Some(9));
    assert_eq!(lost(|i| i != 20, |i| i), Some(1));
}

/// A receiver acknowledges many segments at once, and two at once where bursts are: there a short queue drops ACKs.
#[test]
fn acks_are_lost_where_they_are_many() {
    let mut talk = conversation();
    let (mut seq, mut id) = (1, FIRST);
    for i in 0..20i64 {
        let (t_ms, (segments, acks)) = (200 + 60 * i, if i % 2 == 0 { (8, 4) } else { (27, 1) });
        for number in 0..segments {
            talk.data(t_ms + number / 4, seq + 1000 * number, 1000);
        }
        seq += 1000 * segments;
        ack(&mut talk, t_ms + 15, seq, id, t_ms);
        id = id.wrapping_add(acks);
    }
    let (connections, _) = talk.done();
    // Of four ACKs of two segments each, one comes by, in turn with one of 27 segments; the first two times its count is not trusted.
    assert_eq!(acks_lost(&connections[0], 0), Some(24));
}

/// Others take numbers of the same counter: what is left out acknowledged nothing.
#[test]
fn numbers_that_others_take_are_no_lost_acks() {
    assert_eq!(lost(|_| true, |i| i + i / 3), None);
    assert_eq!(lost(|_| true, |i| i.wrapping_mul(7919)), None);
}

/// A host that numbers the packets of all its connections, as Windows does: what is left out may have gone to another
/// server, whose answers come at the same pace.
#[test]
fn numbers_of_a_host_tell_no_lost_acks() {
    for (ttl, told) in [(64, Some(9)), (60, Some(9)), (128, None)] {
        assert_eq!(lost_from(ttl, |i| i % 4 != 3, |i| i), told, "TTL {ttl}");
    }
}

#[test]
fn acks_that_were_overtaken_are_not_lost() {
    assert_eq!(
        lost(
            |_| true,
            |i| if i % 8 == 2 {
                i + 1
            } else if i % 8 == 3 {
                i - 1
            } else {
                i
            }
        ),
        Some(0)
    );
}

/// The timer expired, and the answer echoes the copy before. Numbers left out before it are those of the lost ACKs;
/// none left out, it was late. Where ACKs are overtaken, they may be on their way.
#[test]
fn an_old_echo_behind_lost_acks_takes_no_timeout_back() {
    let cases = [(2, false, Verdict::Genuine), (0, false, Verdict::Spurious), (2, true, Verdict::Spurious)];
    for (left_out, overtaken, verdict) in cases {
        let mut talk = conversation();
        for i in 0..10 {
            talk.data(200 + 200 * i, 1 + 1000 * i, 1000);
            let number = if overtaken && i > 7 { 17 - i } else { i };
            ack(&mut talk, 300 + 200 * i, 1001 + 1000 * i, FIRST + number as u16, 200 + 200 * i);
        }
        talk.data(3000, 10_001, 1000);
        talk.data(3001, 11_001, 1000);
        talk.data(3400, 10_001, 1000);
        ack(&mut talk, 3520, 12_001, FIRST + 10 + left_out, 3000);
        let (connections, _) = talk.done();
        let timeout = connections[0].senders[0].timeouts()[0];
        assert_eq!((timeout.eifel, timeout.verdict(connections[0].min_rtt_ns(0))), (Vote::Spurious, verdict));
    }
}

/// A FIN that acknowledges what a copy before had brought, behind ACKs that were lost: it is an ACK, too.
#[test]
fn a_fin_behind_lost_acks_takes_no_timeout_back() {
    for (left_out, verdict) in [(2, Verdict::Genuine), (0, Verdict::Spurious)] {
        let mut talk = conversation();
        for i in 0..10 {
            talk.data(200 + 200 * i, 1 + 1000 * i, 1000);
            ack(&mut talk, 300 + 200 * i, 1001 + 1000 * i, FIRST + i as u16, 200 + 200 * i);
        }
        talk.data(3000, 10_001, 1000);
        talk.data(3001, 11_001, 1000);
        talk.data(3400, 10_001, 1000);
        let mut fin = talk.blank(9000, false);
        (fin.seq, fin.ack) = (talk.isn_b.wrapping_add(1), talk.isn_a.wrapping_add(12_001));
        (fin.ip_id, fin.flags) = (FIRST + 10 + left_out, flags::ACK | flags::FIN);
        fin.options.timestamps = Some((9000, 3000));
        talk.tracker.segment(&fin);
        let (connections, _) = talk.done();
        let timeout = connections[0].senders[0].timeouts()[0];
        let told = (timeout.eifel, timeout.verdict(connections[0].min_rtt_ns(0)));
        assert_eq!(told, (Vote::Spurious, verdict), "{left_out} left out");
    }
}

/// The path stalled: of what it held, an ACK was lost, and the others come one after the other, each behind the data that it
/// acknowledges. The first copy was as late as these.
#[test]
fn what_still_arrives_behind_lost_acks_was_late() {
    for (next, verdict) in [(13_001, Verdict::Spurious), (12_001, Verdict::Genuine)] {
        let mut talk = conversation();
        for i in 0..10 {
            talk.data(200 + 200 * i, 1 + 1000 * i, 1000);
            ack(&mut talk, 300 + 200 * i, 1001 + 1000 * i, FIRST + i as u16, 200 + 200 * i);
        }
        (0..4).for_each(|i| talk.data(3000 + i, 10_001 + 1000 * i, 1000));
        [3400, 3900].into_iter().for_each(|t_ms| talk.data(t_ms, 10_001, 1000));
        ack(&mut talk, 4000, 12_001, FIRST + 12, 3001);
        ack(&mut talk, 4002, next, FIRST + 13, 3002);
        let (connections, _) = talk.done();
        let verdicts =
            connections[0].senders[0].timeouts().iter().map(|one| one.verdict(connections[0].min_rtt_ns(0)));
        assert_eq!(verdicts.collect::<Vec<_>>(), [verdict; 2]);
    }
}

/// At the receiver: the ACK has passed when the segment comes again, and it is reported as a duplicate. What the sender
/// echoes next tells whether that ACK came late, or never.
#[test]
fn the_senders_echo_tells_late_acks_from_lost_ones() {
    for (echoed_ms, verdict) in [(4402, Verdict::Genuine), (3002, Verdict::Spurious)] {
        let mut talk = conversation();
        for i in 0..10 {
            data(&mut talk, 200 + 200 * i, 1 + 1000 * i, (200 * i).max(100));
            ack(&mut talk, 202 + 200 * i, 1001 + 1000 * i, 0, 200 + 200 * i);
        }
        data(&mut talk, 3000, 10_001, 2002);
        ack(&mut talk, 3002, 11_001, 0, 3000);
        data(&mut talk, 4400, 10_001, 2002);
        talk.ack_echo(4402, 11_001, &[(10_001, 11_001)], 4400);
        data(&mut talk, 4500, 11_001, echoed_ms);
        let (connections, _) = talk.done();
        let timeout = connections[0].senders[0].timeouts()[0];
        assert_eq!((timeout.dsack, timeout.verdict(connections[0].min_rtt_ns(0))), (Vote::Spurious, verdict));
    }
}

/// A sends a segment that echoes `echo_ms`.
fn data(talk: &mut Talk, t_ms: i64, seq: i64, echo_ms: i64) {
    let mut s = talk.blank(t_ms, true);
    (s.seq, s.ack) = (talk.isn_a.wrapping_add(seq as u32), talk.isn_b.wrapping_add(1));
    s.length = 1000;
    s.options.timestamps = Some((t_ms as u32, echo_ms as u32));
    talk.tracker.segment(&s);
}

/// Without SACK: the ACK of the segment passed, and then the timer's copy of it. With timestamps the next echo tells whether the
/// sender has heard that ACK, or the answer to the copy; without, how long after the answer it goes on.
#[test]
fn what_the_sender_sends_next_tells_lost_acks_without_sack() {
    let cases = [
        (true, 3502, 3520, Verdict::Genuine),
        (true, 3102, 3450, Verdict::Spurious),
        (false, 0, 3520, Verdict::Genuine),
        (false, 0, 3503, Verdict::Inconclusive),
        (false, 0, 3700, Verdict::Inconclusive),
    ];
    for (timestamps, echo_ms, next_ms, verdict) in cases {
        let (connections, _) = acked_before(timestamps, &[3400], (next_ms, echo_ms)).done();
        let timeout = connections[0].senders[0].timeouts()[0];
        let found = (timeout.verdict(connections[0].min_rtt_ns(0)), unacked_timeouts(&connections[0]));
        let unacked = u64::from(verdict == Verdict::Genuine);
        assert_eq!(found, (verdict, unacked), "{timestamps}, next at {next_ms}");
    }
}

/// The timer expires twice: by the second time the sender had not heard the ACKs before the first.
#[test]
fn a_second_expiry_tells_that_the_acks_before_the_first_were_lost() {
    for (timestamps, next_ms, unacked) in [(true, 4020, 2), (false, 4020, 2), (false, 4200, 0)] {
        let (connections, _) = acked_before(timestamps, &[3400, 3900], (next_ms, 4002)).done();
        assert_eq!(unacked_timeouts(&connections[0]), unacked, "{timestamps}, {next_ms}");
    }
}

/// Without SACK, 20 ms from the sender and next to the receiver: an ACK passes, its segment again at each of `again_ms` and another
/// ACK 102 ms later each time; then new data that echoes `echo_ms`.
fn acked_before(timestamps: bool, again_ms: &[i64], (next_ms, echo_ms): (i64, i64)) -> Talk {
    let mut talk = Talk::new(7);
    (talk.ids, talk.timestamps) = (false, timestamps);
    talk.handshake_from(false, 20);
    for i in 0..10 {
        talk.data_echo(200 + 200 * i, 1 + 1000 * i, 1000, (102 + 200 * (i - 1)).max(100));
        talk.ack_echo(302 + 200 * i, 1001 + 1000 * i, &[], 200 + 200 * i);
    }
    talk.data_echo(3000, 10_001, 1000, 2102);
    talk.ack_echo(3102, 11_001, &[], 3000);
    for &t_ms in again_ms {
        talk.data_echo(t_ms, 10_001, 1000, 2102);
        talk.ack_echo(t_ms + 102, 11_001, &[], 3000);
    }
    talk.data_echo(next_ms, 11_001, 1000, echo_ms);
    talk
}
