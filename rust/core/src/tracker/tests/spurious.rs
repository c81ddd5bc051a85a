//! Timeouts that were not needed, by what came back.

use super::*;

#[test]
fn an_old_echo_makes_a_timeout_spurious() {
    for (echo_ms, verdict) in [(3000, Verdict::Spurious), (3400, Verdict::Genuine)] {
        let mut talk = Talk::new(7);
        talk.timestamps = true;
        talk.handshake(true);
        let seq = warm_up(&mut talk);
        talk.data(3000, seq, 1000);
        talk.data(3000, seq + 1000, 1000);
        talk.data(3400, seq, 1000);
        talk.ack_echo(3600, seq + 1000, &[], echo_ms);
        let (connections, _) = talk.done();
        let timeouts = connections[0].senders[0].timeouts();
        assert_eq!(timeouts.len(), 1);
        assert_eq!(timeouts[0].verdict(connections[0].min_rtt_ns(0)), verdict);
    }
}

/// The first SYN arrived, its SYN+ACK was lost, and the other end repeats that just as the SYN comes again: the answer
/// is early and echoes the first SYN, and yet the SYN had to be sent again (RFC 6298 section 5, RFC 9293 section 3.8.1).
#[test]
fn an_early_answer_does_not_make_a_repeated_syn_spurious() {
    for (echo_ms, verdict) in [(0, Verdict::Inconclusive), (1000, Verdict::Genuine)] {
        let mut talk = Talk::new(7);
        talk.timestamps = true;
        for t_ms in [0u32, 1000] {
            let mut syn = talk.blank(i64::from(t_ms), true);
            (syn.seq, syn.flags) = (7, flags::SYN);
            syn.options.timestamps = Some((t_ms, 0));
            talk.tracker.segment(&syn);
        }
        let mut answer = talk.blank(1010, false);
        (answer.seq, answer.ack, answer.flags) = (talk.isn_b, 8, flags::SYN | flags::ACK);
        answer.options.timestamps = Some((1010, echo_ms));
        talk.tracker.segment(&answer);
        talk.data(1200, 1, 1000);
        talk.ack(1300, 1001, &[]);
        let (connections, _) = talk.done();
        let timeouts = connections[0].senders[0].timeouts();
        assert_eq!(timeouts.len(), 1);
        assert_eq!(timeouts[0].verdict(Some(100 * MS)), verdict);
        assert_eq!(timeouts[0].too_early(Some(100 * MS)), Vote::Abstains);
    }
}

/// The copy is answered as a needless one, which takes an RTT: an ACK before that is not its answer.
#[test]
fn an_answer_before_the_smallest_rtt_makes_it_spurious() {
    for (answered_ms, vote) in [(3500, Vote::Spurious), (3421, Vote::Abstains)] {
        let mut talk = Talk::new(7);
        talk.handshake(false);
        let seq = warm_up(&mut talk);
        talk.data(3000, seq, 1000);
        talk.data(3400, seq, 1000);
        talk.ack(3420, seq + 1000, &[]);
        talk.ack(answered_ms, seq + 1000, &[]);
        let (connections, _) = talk.done();
        let timeout = connections[0].senders[0].timeouts()[0];
        assert_eq!(timeout.too_early(connections[0].min_rtt_ns(0)), vote, "{answered_ms}");
    }
}

/// A flight is lost behind a queue that stood since the connection was opened, and drains until the timer expires: the answers
/// are earlier than any RTT before. No copy is answered as a needless one.
#[test]
fn early_answers_behind_a_drained_queue_do_not_make_it_spurious() {
    for (needless, vote) in [(0, Vote::Abstains), (2, Vote::Abstains), (3, Vote::Spurious)] {
        let mut talk = Talk::new(7);
        talk.handshake(false);
        let seq = warm_up(&mut talk);
        for number in 0..3 {
            talk.data(3000, seq + 1000 * number, 1000);
        }
        for number in 0..3 {
            talk.data(3400 + 10 * number, seq + 1000 * number, 1000);
            talk.ack(3405 + 10 * number, seq + 1000 * (number + 1), &[]);
        }
        for number in 0..needless {
            talk.ack(3500 + number, seq + 3000, &[]);
        }
        let (connections, _) = talk.done();
        let sender = &connections[0].senders[0];
        let timeout = sender.timeouts()[0];
        assert_eq!(timeout.too_early(connections[0].min_rtt_ns(0)), vote, "{needless}");
        let rows = sender.retransmissions();
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(|row| row.too_early(connections[0].min_rtt_ns(0)) == vote));
    }
}

#[test]
fn duplicate_sack_makes_it_spurious() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    let seq = warm_up(&mut talk);
    talk.data(3000, seq, 1000);
    talk.data(3000, seq + 1000, 1000);
    talk.data(3400, seq, 1000);
    talk.ack(3500, seq + 2000, &[]);
    talk.ack(3520, seq + 2000, &[(seq, seq + 1000)]);
    let (connections, _) = talk.done();
    let timeout = connections[0].senders[0].timeouts()[0];
    assert_eq!(timeout.dsack, Vote::Spurious);
    assert_eq!(connections[0].senders[0].totals().dsacks, 1);
}

/// Linux sends small segments again as one: each of them may have been lost. One that arrived is no part of that.
#[test]
fn segments_that_are_sent_again_as_one_are_counted() {
    for (blocks, merged) in [(vec![], 3), (vec![(1201, 1401)], 2)] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        (0..4).for_each(|i| talk.data(200 + i, 1001 + 200 * i, 200));
        if !blocks.is_empty() {
            talk.ack(300, 1001, &blocks);
        }
        talk.data(1500, 1001, 800);
        let (connections, _) = talk.done();
        assert_eq!(connections[0].senders[0].merged(), merged);
    }
}
