//! What a timeout led to, seen from a point that is not at the sender: slow start, fast retransmit, needless copies, nothing.

use super::distance::{BEFORE_MS, BEHIND_MS, between, ten_answered};
use super::*;
use crate::summary::possible;

fn causes(talk: Talk) -> Vec<Cause> {
    let (connections, _) = talk.done();
    connections[0].senders[0].arrivals().iter().map(|row| row.cause).collect()
}

/// Ten segments pass at 2000 ms, and a timer repeats the first 400 ms later; before, SACK may show that the last arrived.
fn timed_out(sacked: bool) -> Talk {
    let mut talk = between(true, true);
    ten_answered(&mut talk);
    for place in 10..20 {
        talk.data_echo(2000, 1 + 1000 * place, 1000, 1900);
    }
    if sacked {
        talk.ack_echo(2010, 10_001, &[(19_001, 20_001)], 1900);
    }
    talk.data_echo(2400, 10_001, 1000, 1900);
    talk
}

/// What a timer sent again is lost behind this point: SACK shows that, and the sender leaves slow start for fast recovery.
#[test]
fn slow_start_ends_where_a_copy_is_lost_again() {
    for (lost_again, last) in [(true, Cause::Fast), (false, Cause::SlowStart)] {
        let mut talk = timed_out(true);
        talk.ack_echo(2410, 10_001, &[(19_001, 20_001)], 1900);
        for (t_ms, seq) in [(2520, 11_001), (2521, 12_001), (2522, 13_001)] {
            talk.data_echo(t_ms, seq, 1000, 2410);
        }
        let answered_ms = 2522 + BEHIND_MS;
        talk.ack_echo(answered_ms, 10_001, &[(19_001, 20_001), (11_001, 14_001)], 1900);
        let t_ms = answered_ms + BEFORE_MS + 5;
        if lost_again {
            talk.data_echo(t_ms, 10_001, 1000, answered_ms);
        }
        talk.data_echo(t_ms, 14_001, 1000, answered_ms);
        talk.data_echo(t_ms, 15_001, 1000, answered_ms);
        let found = causes(talk);
        assert_eq!(found[..4], [Cause::Timeout, Cause::SlowStart, Cause::SlowStart, Cause::SlowStart]);
        assert!(found[4..].iter().all(|cause| *cause == last), "{found:?}");
    }
}

/// The ACK of the first copy takes the timeout back (RFC 3522); what SACK shows lost since is sent by fast retransmit, but not
/// what the sender sends before it hears of that.
#[test]
fn slow_start_ends_where_the_timeout_is_taken_back() {
    for (heard, last) in [(true, Cause::Fast), (false, Cause::SlowStart)] {
        let mut talk = timed_out(false);
        talk.ack_echo(2410, 11_001, &[], 2000);
        for end in [13_001, 14_001, 15_001] {
            talk.ack_echo(2412, 11_001, &[(12_001, end)], 2000);
        }
        let (t_ms, echoed_ms) = if heard { (2412 + BEFORE_MS + 5, 2412) } else { (2440, 1900) };
        talk.data_echo(t_ms, 11_001, 1000, echoed_ms);
        assert_eq!(causes(talk), [Cause::Timeout, last], "{heard}");
    }
}

/// The path held a segment and its copy for long. They pass one behind the other, so the ACK between them was too late for
/// the sender, whatever was lost later; a copy that comes a round trip behind its ACK may mean that this was lost.
#[test]
fn a_copy_right_behind_its_late_original_was_needless() {
    for (after_ms, verdict) in [(10, Verdict::Spurious), (300, Verdict::Inconclusive)] {
        let mut talk = between(false, true);
        ten_answered(&mut talk);
        let held = |talk: &mut Talk, t_ms: i64, sent_ms: u32| {
            let mut data = talk.blank(t_ms, true);
            (data.seq, data.ack, data.length) = (talk.isn_a + 10_001, talk.isn_b + 1, 1000);
            data.options.timestamps = Some((sent_ms, 1900));
            talk.tracker.segment(&data);
        };
        held(&mut talk, 3000, 2000);
        talk.ack_echo(3001, 11_001, &[], 2000);
        held(&mut talk, 3000 + after_ms, 2400);
        talk.ack_echo(3001 + after_ms, 11_001, &[], 2000);
        let (connections, _) = talk.done();
        let timeouts = connections[0].senders[0].timeouts();
        assert_eq!(timeouts.len(), 1);
        assert_eq!(timeouts[0].verdict(connections[0].min_rtt_ns(0)), verdict, "{after_ms}");
    }
}

/// Every ACK of the last segment was lost before it came to the sender: with SACK, a tail loss probe comes first (RFC 8985
/// section 7), then the timeout; the FIN goes with both.
#[test]
fn a_lone_segment_is_probed_before_its_timeout() {
    for (sack, expected) in
        [(true, [Cause::TailLossProbe, Cause::Timeout]), (false, [Cause::Timeout, Cause::Timeout])]
    {
        let mut talk = between(sack, true);
        ten_answered(&mut talk);
        for (t_ms, sent_ms) in [(2000, 2000), (2430, 2430), (3300, 3300)] {
            let mut data = talk.blank(t_ms, true);
            (data.seq, data.ack, data.length) = (talk.isn_a + 10_001, talk.isn_b + 1, 1000);
            data.flags |= flags::FIN;
            data.options.timestamps = Some((sent_ms, 1900));
            talk.tracker.segment(&data);
            talk.ack_echo(t_ms + 20, 11_002, &[], 2000);
        }
        assert_eq!(causes(talk), expected, "{sack}");
    }
}

/// Segments in order from 1000 ms on, one each 5 ms; before place `at` a pause, and so many numbers are left out. Holes that are
/// filled later show that the network loses packets.
fn numbered(
    ttl: u8,
    (at, pause_ms, left_out): (i64, i64, u16),
    refused_at: Option<i64>,
    holes: bool,
) -> Talk {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    let (mut id, mut t_ms) = (3, 200);
    let mut send = |talk: &mut Talk, t_ms: i64, place: i64, skipped: u16| {
        id += 1 + skipped;
        let mut data = talk.blank(t_ms, true);
        (data.seq, data.ack) = (talk.isn_a + 1 + 1000 * place as u32, talk.isn_b + 1);
        (data.length, data.ip_id, data.ttl) = (1000, id, ttl);
        talk.tracker.segment(&data);
    };
    for place in 0..80 {
        let skipped = match place {
            _ if place == at => left_out,
            _ if refused_at == Some(place) => 1,
            _ if holes && place % 20 == 5 => 4,
            _ => 0,
        };
        t_ms += match place {
            _ if place == at => pause_ms,
            _ if refused_at == Some(place) => 0,
            _ => 5,
        };
        if holes && (1..5).contains(&(place % 20)) {
            continue;
        }
        send(&mut talk, t_ms, place, skipped);
        if holes && place % 20 == 8 {
            for again in place - 7..place - 3 {
                t_ms += 150;
                send(&mut talk, t_ms, again, 0);
            }
            talk.ack(t_ms + 1, 1 + 1000 * (place + 1), &[]);
        }
        if !holes || place % 20 == 0 || place % 20 > 8 {
            talk.ack(t_ms + 1, 1 + 1000 * (place + 1), &[]);
        }
    }
    talk
}

/// Behind numbers that were left out and a pause, data in order may be retransmissions, the first data as well: as many segments
/// as numbers. Not where the pause is shorter than any timer, or the numbers are those of all connections of a host.
#[test]
fn what_comes_in_order_behind_numbers_left_out_may_be_sent_again() {
    for (ttl, (at, pause_ms, left_out), expected) in [
        (64, (0, 230, 10), 10),
        (64, (40, 230, 3), 3),
        (64, (40, 30, 3), 0),
        (64, (40, 230, 0), 0),
        (128, (40, 230, 3), 0),
    ] {
        let (connections, _) = numbered(ttl, (at, pause_ms, left_out), None, false).done();
        let counts = connections[0].senders[0].arrival_counts();
        assert_eq!(counts.inferred.iter().sum::<u64>(), 0);
        assert_eq!(possible(&connections[0], 0), expected, "{ttl} {at} {pause_ms} {left_out}");
    }
}

/// Holes show that the network loses packets, so a number left out before a pause was lost, and the timer sent it again. Where
/// the sender's own queue has refused others, that may have been refused, too.
#[test]
fn behind_refusals_nothing_in_order_counts_as_sent_again() {
    for (refused_at, again, possibly) in [(None, 2, 0), (Some(30), 0, 2)] {
        let (connections, _) = numbered(64, (55, 300, 2), refused_at, true).done();
        let rows = connections[0].senders[0].arrivals();
        assert_eq!(rows.iter().filter(|row| row.in_order).count(), again, "{refused_at:?}");
        assert_eq!(possible(&connections[0], 0), possibly, "{refused_at:?}");
    }
}

/// A segment comes after its copy, and the ACK of the copy right behind it: that is no round trip.
#[test]
fn an_original_after_its_copy_measures_no_round_trip() {
    let mut talk = between(false, true);
    ten_answered(&mut talk);
    for place in [10, 12, 13, 14] {
        talk.data_echo(2000 + place, 1 + 1000 * place, 1000, 1900);
        talk.ack_echo(2000 + place + BEHIND_MS, 11_001, &[], 2010);
    }
    talk.data_echo(2160, 11_001, 1000, 2034);
    let mut original = talk.blank(2178, true);
    (original.seq, original.ack, original.length) = (talk.isn_a + 11_001, talk.isn_b + 1, 1000);
    original.options.timestamps = Some((2011, 1900));
    talk.tracker.segment(&original);
    talk.ack_echo(2160 + BEHIND_MS, 15_001, &[], 2160);
    let (connections, _) = talk.done();
    assert_eq!(connections[0].senders[0].rtt().min(), Some(BEHIND_MS * MS));
}

/// The next copy passes 300 ms after the sender can have heard the ACK: it waited for a timer, or on its way, as its timestamp says.
#[test]
fn a_copy_that_waited_on_its_way_waited_for_no_timer() {
    for (on_its_way_ms, cause) in [(0, Cause::Timeout), (280, Cause::SlowStart)] {
        let mut talk = timed_out(false);
        talk.ack_echo(2400 + BEHIND_MS, 11_001, &[], 2400);
        let t_ms = 2400 + BEHIND_MS + BEFORE_MS + 300;
        let mut copy = talk.blank(t_ms, true);
        (copy.seq, copy.ack, copy.length) = (talk.isn_a + 11_001, talk.isn_b + 1, 1000);
        copy.options.timestamps = Some(((t_ms - on_its_way_ms) as u32, 2400 + BEHIND_MS as u32));
        talk.tracker.segment(&copy);
        assert_eq!(causes(talk), [Cause::Timeout, cause], "{on_its_way_ms}");
    }
}

/// The number left out was that of a short segment: what follows when a timer has sent it again is new.
#[test]
fn a_short_segment_sent_again_uses_up_its_number() {
    for length in [100, 1000] {
        let mut talk = numbered(64, (80, 0, 0), None, true);
        let (mut seq, mut t_ms) = (80_001, 4000);
        for (place, length) in [length, 1000, 1000, 1000].into_iter().enumerate() {
            let mut data = talk.blank(t_ms, true);
            (data.seq, data.ack) = (talk.isn_a + seq, talk.isn_b + 1);
            (data.length, data.ip_id) = (length, 101 + place as u16);
            talk.tracker.segment(&data);
            (seq, t_ms) = (seq + length, t_ms + 5);
        }
        let (connections, _) = talk.done();
        let rows = connections[0].senders[0].arrivals();
        let found = rows.iter().filter(|row| row.in_order).count();
        assert_eq!(found, 1, "{length}");
    }
}

/// What was sent in a pause and never came waited for a timer, if the pause is as long as one: that is no time of the link.
#[test]
fn a_pause_with_numbers_left_out_is_the_wait_for_a_timer() {
    for (pause_ms, timed) in [(300, true), (150, false)] {
        let (connections, _) = numbered(64, (55, pause_ms, 2), Some(30), true).done();
        let limits = Limits::of(&connections[0], 0).expect("it sent data");
        assert_eq!(limits.silent_ns >= 0.9 * (pause_ms * MS) as f64, timed, "{pause_ms} {limits:?}");
    }
}

/// A fast retransmission that waits behind all that was sent before it, in a queue of longer than any timer: it echoes the third
/// duplicate ACK, so that its sender was asked for it right before it sent it.
#[test]
fn a_fast_retransmission_behind_a_long_queue_was_asked_for_just_before() {
    let mut talk = Talk::new(7);
    talk.timestamps = true;
    talk.handshake_from(false, 0);
    let stamped = |talk: &mut Talk, t_ms: i64, place: i64, sent_ms: i64, echo_ms: i64| {
        let mut data = talk.blank(t_ms, true);
        (data.seq, data.ack) = (talk.isn_a + 1 + 1000 * place as u32, talk.isn_b + 1);
        (data.length, data.options.timestamps) = (1000, Some((sent_ms as u32, echo_ms as u32)));
        talk.tracker.segment(&data);
    };
    // One each millisecond leaves the queue; two are sent for each that was acknowledged, until all is.
    let (count, lost) = (900, 450);
    let (mut asked, mut again_ms) = (0, 0);
    let (mut acked_ms, mut t_ms) = (vec![200, 200], 200);
    for place in 0..count {
        let sent_ms = acked_ms[place as usize / 2];
        t_ms = t_ms.max(sent_ms);
        if place == lost {
            acked_ms.push(t_ms);
            continue;
        }
        t_ms += 1;
        stamped(&mut talk, t_ms, place, sent_ms, sent_ms);
        let ack = if place > lost { lost } else { place + 1 };
        talk.ack_echo(t_ms, 1 + 1000 * ack, &[], sent_ms);
        asked += i64::from(place > lost);
        again_ms = if asked == 3 { t_ms } else { again_ms };
        acked_ms.push(t_ms);
    }
    assert!(t_ms - again_ms > 300);
    stamped(&mut talk, t_ms + 1, lost, again_ms, again_ms);
    assert_eq!(causes(talk), [Cause::Fast]);
}
