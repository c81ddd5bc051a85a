//! Why a segment was sent again.

use super::*;

#[test]
fn three_duplicate_acks_make_a_fast_retransmit() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    let seq = warm_up(&mut talk);
    for i in 0..5 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    for _ in 0..4 {
        talk.ack(3100, seq, &[]);
    }
    talk.data(3100, seq, 1000);
    talk.ack(3200, seq + 5000, &[]);
    let (connections, columns) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Fast]);
    assert_eq!(connections[0].senders[0].totals().duplicate_acks, 4);
    let row = columns.cause.iter().position(|&c| c == Cause::Fast as i8).expect("a row");
    assert_eq!((columns.duplicate[row], columns.transmission[row]), (1000, 2));
}

#[test]
fn sacked_data_above_makes_it_fast_with_one_duplicate_ack() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    let seq = warm_up(&mut talk);
    for i in 0..5 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.ack(3100, seq, &[(seq + 1000, seq + 5000)]);
    talk.data(3100, seq, 1000);
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Fast]);
}

/// After the timer, SACK shows that what was sent again since is lost again: Linux enters Recovery.
#[test]
fn a_retransmission_lost_after_a_timeout_leads_to_fast_retransmit() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    let seq = warm_up(&mut talk);
    for i in 0..6 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.data(3400, seq, 1000); // RTO near 300 ms
    talk.ack(3500, seq + 1000, &[]);
    talk.data(3500, seq + 1000, 1000);
    talk.data(3501, seq + 2000, 1000);
    talk.ack(3601, seq + 1000, &[(seq + 2000, seq + 3000)]);
    talk.data(3601, seq + 1000, 1000); // lost again
    talk.ack(3701, seq + 3000, &[]);
    talk.data(3701, seq + 3000, 1000);
    let (connections, _) = talk.done();
    assert_eq!(
        causes_of(&connections[0]),
        [Cause::Timeout, Cause::SlowStart, Cause::SlowStart, Cause::Fast, Cause::Fast]
    );
}

#[test]
fn timeout_then_go_back_n_then_backoff() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    let seq = warm_up(&mut talk);
    for i in 0..4 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.data(3400, seq, 1000); // RTO near 300 ms
    talk.data(4100, seq, 1000); // backed off
    talk.ack(4200, seq + 1000, &[]);
    talk.data(4200, seq + 1000, 1000);
    talk.data(4200, seq + 2000, 1000);
    talk.ack(4300, seq + 4000, &[]);
    talk.data(4300, seq + 4000, 1000);
    let (connections, _) = talk.done();
    let sender = &connections[0].senders[0];
    assert_eq!(
        causes_of(&connections[0]),
        [Cause::Timeout, Cause::Timeout, Cause::SlowStart, Cause::SlowStart]
    );
    let steps: Vec<_> = sender.timeouts().iter().map(|t| t.backoff).collect();
    assert_eq!(steps, [0, 1]);
    assert_eq!(sender.state, State::Open);
}

/// The largest timeout set to 3 s, an RTT of 4 s: each expiry waits the same, far less than estimated or doubled.
#[test]
fn a_capped_timer_is_a_timer() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    for i in 0..4 {
        talk.data(5000 * i + 200, 1 + 1000 * i, 1000);
        talk.ack(5000 * i + 4200, 1001 + 1000 * i, &[]);
    }
    for i in 0..3 {
        talk.data(20_000, 4001 + 1000 * i, 1000);
    }
    for t_ms in [23_072, 26_144, 29_216] {
        talk.data(t_ms, 4001, 1000);
    }
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Timeout; 3]);
    let timeouts = connections[0].senders[0].timeouts();
    assert!(timeouts.iter().all(|t| t.silence_ns < t.rto_ns), "sooner than estimated");
}

#[test]
fn the_last_segment_again_after_two_rtts_is_a_tail_loss_probe() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    let seq = warm_up(&mut talk);
    for i in 0..4 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.data(3210, seq + 3000, 1000);
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::TailLossProbe]);
    assert!(connections[0].senders[0].timeouts().is_empty());
}

/// Its probe is out and a second may not be sent: the timer counts from the sending of the head, though an ACK came since.
#[test]
fn behind_a_probe_the_timer_counts_from_the_head() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    for i in 0..40 {
        talk.data(200 + 100 * i, 1 + 1000 * i, 1000);
        talk.ack(220 + 100 * i, 1001 + 1000 * i, &[]);
    }
    talk.data(5000, 40_001, 1000);
    talk.data(5000, 41_001, 1000);
    talk.data(5045, 42_001, 1000); // new data as a probe
    talk.ack(5065, 41_001, &[]);
    talk.data(5225, 41_001, 1000);
    let (connections, _) = talk.done();
    let sender = &connections[0].senders[0];
    assert_eq!(sender.totals().new_data_probes, 1);
    assert_eq!(causes_of(&connections[0]), [Cause::Timeout]);
    assert_eq!(sender.timeouts()[0].rto_ns / (10 * MS), 22);
}

#[test]
fn a_lost_syn_is_a_timeout() {
    let mut talk = Talk::new(7);
    for t_ms in [0, 1000, 3000, 4000] {
        let mut syn = talk.blank(t_ms, true);
        (syn.seq, syn.flags) = (7, flags::SYN);
        talk.tracker.segment(&syn);
    }
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Timeout; 3]);
    assert_eq!(connections[0].senders[0].totals().duplicate_bytes, 0);
}

/// The network doubles a SYN: it has the same identification, or the same timestamp.
#[test]
fn a_syn_that_came_twice_was_sent_once() {
    for (t_ms, second_id, second_val, again) in [
        (1, 77, None, 0),
        (1000, 77, None, 1),
        (1, 78, None, 1),
        (1, 77, Some(500), 0),
        (1, 78, Some(500), 0),
        (1, 78, Some(501), 1),
    ] {
        let mut talk = Talk::new(7);
        for (t_ms, ip_id, val) in [(0, 77, second_val.map(|_| 500)), (t_ms, second_id, second_val)] {
            let mut syn = talk.blank(t_ms, true);
            (syn.seq, syn.flags, syn.ip_id) = (7, flags::SYN, ip_id);
            syn.options.timestamps = val.map(|val| (val, 0));
            talk.tracker.segment(&syn);
        }
        let (connections, _) = talk.done();
        assert_eq!(causes_of(&connections[0]).len(), again, "{t_ms} {second_id} {second_val:?}");
    }
}

#[test]
fn a_keep_alive_is_no_retransmission() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    let seq = warm_up(&mut talk);
    talk.data(60_000, seq - 1, 0);
    talk.ack(60_100, seq, &[]);
    talk.data(120_000, seq - 1, 1);
    talk.ack(120_100, seq, &[]);
    let (connections, _) = talk.done();
    let totals = *connections[0].senders[0].totals();
    assert_eq!((totals.probe_segments, totals.duplicate_bytes, totals.data_bytes), (2, 0, 10_000));
    assert!(causes_of(&connections[0]).is_empty());
}

#[test]
fn a_byte_into_a_closed_window_is_a_probe_until_it_is_taken() {
    for taken in [false, true] {
        let mut talk = Talk::new(7);
        talk.handshake(false);
        let seq = warm_up(&mut talk);
        let mut closed = talk.blank(3000, false);
        (closed.seq, closed.ack, closed.window) = (talk.isn_b + 1, 7u32.wrapping_add(seq as u32), 0);
        talk.tracker.segment(&closed);
        talk.data(5000, seq, 1);
        talk.data(9000, seq, 1);
        talk.ack(9100, seq + i64::from(taken), &[]);
        talk.data(9200, seq + i64::from(taken), 1000);
        talk.ack(9300, seq + i64::from(taken) + 1000, &[]);
        let (connections, _) = talk.done();
        let sender = &connections[0].senders[0];
        assert_eq!(sender.totals().probe_segments, 2, "taken: {taken}");
        assert_eq!(sender.totals().duplicate_bytes, 0);
        assert_eq!(sender.unique_bytes(), 11_000 + i64::from(taken));
        assert_eq!(sender.unseen_bytes(), 0);
    }
}

#[test]
fn a_super_segment_sent_again_counts_as_the_kernel_counts() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    let seq = warm_up(&mut talk);
    talk.data(3000, seq, 4500);
    talk.ack(3100, seq, &[(seq + 4000, seq + 4500)]);
    talk.data(3100, seq, 4000);
    let (connections, _) = talk.done();
    assert_eq!(connections[0].senders[0].totals().retransmissions[Cause::Fast as usize], 4);
}
