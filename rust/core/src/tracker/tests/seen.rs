//! What a capture shows of a connection, and what it misses.

use super::*;
use crate::segment::{Checksum, flags};

#[test]
fn ports_used_again_are_another_connection() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    warm_up(&mut talk);
    talk.isn_a = 777_777;
    talk.handshake(false);
    let (connections, columns) = talk.done();
    assert_eq!(connections.len(), 2);
    assert_eq!(columns.conn.last(), Some(&1));
}

#[test]
fn a_damaged_segment_moves_nothing() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    let seq = warm_up(&mut talk);
    let mut damaged = talk.blank(3000, true);
    (damaged.seq, damaged.length, damaged.checksum) = (7u32.wrapping_add(1), 1000, Checksum::Bad);
    talk.tracker.segment(&damaged);
    let (connections, _) = talk.done();
    let sender = &connections[0].senders[0];
    assert_eq!((sender.totals().corrupted, sender.totals().duplicate_bytes), (1, 0));
    assert_eq!(sender.edges(), (seq, seq));
}

#[test]
fn acknowledged_but_never_seen_is_capture_loss() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    talk.data(200, 1, 1000);
    talk.ack(300, 3001, &[]);
    let mut issues = Issues::default();
    let (connections, _) = talk.tracker.finish(&mut issues);
    assert_eq!(connections[0].senders[0].unseen_bytes(), 2000);
    assert!(issues.iter().any(|(code, _)| code == "capture-loss"));
}

#[test]
fn a_hole_that_was_acknowledged_is_capture_loss_too() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    talk.data(200, 1, 1000);
    talk.data(201, 2001, 1000);
    talk.ack(300, 3001, &[]);
    let (connections, _) = talk.done();
    assert_eq!(connections[0].senders[0].unseen_bytes(), 1000);
}

#[test]
fn without_a_handshake_the_first_byte_seen_is_number_one() {
    let mut talk = Talk::new(7);
    talk.data(200, 5_000_000, 1000);
    talk.data(201, 5_001_000, 1000);
    talk.ack(300, 5_002_000, &[]);
    let mut issues = Issues::default();
    let (connections, columns) = talk.tracker.finish(&mut issues);
    assert!(!connections[0].handshake());
    assert_eq!(columns.expect("columns").seq[..2], [1, 1001]);
    assert_eq!(connections[0].senders[0].acked_bytes(), 2000);
    assert!(issues.iter().any(|(code, _)| code == "missing-handshake"));
}

#[test]
fn a_wrong_checksum_that_is_acknowledged_was_right_on_the_wire() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    let seq = warm_up(&mut talk);
    for (t_ms, at) in [(3000, seq), (3001, seq + 1000)] {
        let mut wrong = talk.blank(t_ms, true);
        (wrong.seq, wrong.length) = (7u32.wrapping_add(at as u32), 1000);
        wrong.checksum = Checksum::Bad;
        talk.tracker.segment(&wrong);
        talk.ack(t_ms + 100, at + 1000, &[]);
    }
    let mut issues = Issues::default();
    let (connections, _) = talk.tracker.finish(&mut issues);
    let sender = &connections[0].senders[0];
    assert_eq!((sender.totals().corrupted, sender.totals().bad_checksums), (0, 2));
    assert_eq!((sender.unseen_bytes(), sender.unique_bytes()), (0, seq + 2000 - 1));
    assert_eq!(sender.totals().retransmissions, [0; 8]);
}

/// A client that was refused tries again with the same SYN (Windows, three times): its timer has nothing to do with that.
#[test]
fn a_syn_after_a_reset_is_another_attempt() {
    for refused in [true, false] {
        let mut talk = Talk::new(7);
        for t_ms in [0, 500, 1000] {
            let mut syn = talk.blank(t_ms, true);
            (syn.seq, syn.flags) = (talk.isn_a, flags::SYN);
            talk.tracker.segment(&syn);
            if refused {
                let mut reset = talk.blank(t_ms + 50, false);
                (reset.ack, reset.flags) = (talk.isn_a.wrapping_add(1), flags::RST | flags::ACK);
                talk.tracker.segment(&reset);
            }
        }
        let mut answer = talk.blank(1080, false);
        (answer.seq, answer.flags) = (talk.isn_b, flags::SYN | flags::ACK);
        answer.ack = talk.isn_a.wrapping_add(1);
        talk.tracker.segment(&answer);
        let (connections, _) = talk.done();
        assert_eq!(connections.len(), 1);
        // Only of a new attempt it is known which SYN was answered (Karn's rule).
        assert_eq!(connections[0].senders[0].rtt().min(), refused.then_some(80 * MS), "refused: {refused}");
        let timeouts = if refused { 0 } else { 2 };
        assert_eq!(connections[0].senders[0].timeouts().len(), timeouts, "refused: {refused}");
    }
}
