//! What a Linux sender's congestion state is where RFC 5681 and 6582 alone do not tell.

use super::*;

fn settled(sack: bool) -> (Talk, i64) {
    let mut talk = Talk::new(7);
    talk.handshake(sack);
    let seq = warm_up(&mut talk);
    (talk, seq)
}

fn ack_of_window(talk: &mut Talk, t_ms: i64, ack: i64, window: u16) {
    let mut s = talk.blank(t_ms, false);
    (s.seq, s.ack, s.window) = (talk.isn_b.wrapping_add(1), talk.isn_a.wrapping_add(ack as u32), window);
    talk.tracker.segment(&s);
}

/// As many duplicate ACKs as segments are outstanding: the threshold is their number from then on, here one.
#[test]
fn without_sack_reordering_may_lower_the_threshold() {
    let (mut talk, seq) = settled(false);
    talk.data(3000, seq, 1000);
    talk.ack(3100, seq, &[]);
    talk.ack(3101, seq + 1000, &[]);
    for i in 1..4 {
        talk.data(4000, seq + 1000 * i, 1000);
    }
    talk.ack(4100, seq + 1000, &[]);
    talk.data(4100, seq + 1000, 1000);
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Fast]);
}

/// A burst of duplicate ACKs beyond what is outstanding raises it: dozens follow, and it is the timer that sends.
#[test]
fn without_sack_reordering_may_raise_the_threshold() {
    let (mut talk, seq) = settled(false);
    for i in 0..20 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    for i in 0..3 {
        talk.ack(3100 + i, seq, &[]);
    }
    talk.data(3102, seq, 1000);
    for i in 0..20 {
        talk.ack(3110 + i, seq, &[]);
    }
    talk.ack(3202, seq + 20_000, &[]);
    for i in 20..40 {
        talk.data(4000, seq + 1000 * i, 1000);
    }
    talk.ack(4100, seq + 21_000, &[]);
    for i in 0..9 {
        talk.ack(4390 + i, seq + 21_000, &[]);
    }
    talk.data(4400, seq + 21_000, 1000);
    talk.ack(4500, seq + 22_000, &[]);
    talk.data(4500, seq + 22_000, 1000);
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Fast, Cause::Timeout, Cause::SlowStart]);
}

/// An ACK that offers less is a duplicate (`tcp_may_update_window`), and an old one says nothing of the window.
#[test]
fn without_sack_a_smaller_window_makes_a_duplicate() {
    let (mut talk, seq) = settled(false);
    for i in 0..8 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.ack(3100, seq + 1000, &[]);
    ack_of_window(&mut talk, 3101, seq, 50_000);
    for i in 0..3 {
        ack_of_window(&mut talk, 3102 + i, seq + 1000, 59_000 - 100 * i as u16);
    }
    talk.data(3105, seq + 1000, 1000);
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Fast]);
}

/// Without SACK, an ACK that covers what was sent again does not show that data sent once arrived in time: no F-RTO.
#[test]
fn without_sack_a_repetition_hides_what_was_sent_once() {
    let (mut talk, seq) = settled(false);
    for i in 0..6 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.data(3400, seq, 1000);
    talk.ack(3500, seq + 3000, &[]);
    talk.data(3500, seq + 6000, 1000);
    for i in 0..3 {
        talk.ack(3600 + i, seq + 3000, &[]);
        talk.data(3600 + i, seq + 3000 + 1000 * i, 1000);
    }
    let (connections, _) = talk.done();
    let expected = [Cause::Timeout, Cause::SlowStart, Cause::SlowStart, Cause::SlowStart];
    assert_eq!(causes_of(&connections[0]), expected);
}

/// After an expiry, data sent once arrives: fast retransmit if the host does F-RTO, else slow start.
fn after_an_original(then: impl Fn(&mut Talk, i64)) -> Vec<Connection> {
    let (mut talk, seq) = settled(true);
    for i in 0..8 {
        talk.data(3000 + i, seq + 1000 * i, 1000);
    }
    talk.data(3700, seq, 1000);
    talk.ack(3800, seq, &[(seq + 3000, seq + 5000)]);
    talk.data(3800, seq + 1000, 1000);
    then(&mut talk, seq);
    talk.done().0
}

#[test]
fn nothing_decides_whether_a_host_does_frto() {
    let connections = after_an_original(|talk, seq| talk.ack(3900, seq + 8000, &[]));
    let sender = &connections[0].senders[0];
    let row = sender.retransmissions()[1];
    assert_eq!((row.cause, row.alternative), (Cause::Fast, Cause::SlowStart));
    assert_eq!(sender.undecided(), (0, 1));
}

/// Nothing sent later has overtaken it: in slow start only is it sent again.
#[test]
fn what_was_not_overtaken_shows_a_host_without_frto() {
    let connections = after_an_original(|talk, seq| {
        talk.data(3801, seq + 5000, 1000);
        talk.ack(3900, seq + 8000, &[]);
    });
    let sender = &connections[0].senders[0];
    assert_eq!(causes_of(&connections[0]), [Cause::Timeout, Cause::SlowStart, Cause::SlowStart]);
    assert_eq!(sender.totals().retransmissions[Cause::SlowStart as usize], 2);
    assert_eq!((sender.undecided(), sender.episodes().len()), ((0, 0), 1));
}

/// New data although more was lost: the host does F-RTO, and what follows is fast retransmit.
#[test]
fn new_data_in_place_of_a_loss_shows_frto() {
    let connections = after_an_original(|talk, seq| {
        talk.data(3801, seq + 8000, 1000);
        talk.ack(3900, seq + 9000, &[]);
    });
    let row = connections[0].senders[0].retransmissions()[1];
    assert_eq!((row.cause, row.alternative), (Cause::Fast, Cause::None));
}

/// SACK shows data behind the first segment, and the sender waits for reordering before it sends that again.
#[test]
fn a_wait_for_reordering_is_no_timeout() {
    let (mut talk, seq) = settled(true);
    for i in 0..4 {
        talk.data(3000 + i, seq + 1000 * i, 1000);
    }
    talk.ack(3330, seq, &[(seq + 1000, seq + 2000)]);
    talk.data(3360, seq, 1000);
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Fast]);
}

/// A probe is one segment: more right behind it was written by the application.
#[test]
fn a_write_at_the_time_of_a_probe_is_no_probe() {
    for (segments, probes) in [(1, 1), (3, 0)] {
        let (mut talk, seq) = settled(true);
        talk.data(3000, seq, 1000);
        talk.data(3000, seq + 1000, 1000);
        for i in 0..segments {
            talk.data(3250, seq + 2000 + 1000 * i, 1000);
        }
        let (connections, _) = talk.done();
        assert_eq!(connections[0].senders[0].totals().new_data_probes, probes);
    }
}

/// A probe restarts the timer: what is sent again when it would have expired without one followed no probe.
#[test]
fn a_timer_that_new_data_did_not_restart_shows_that_it_was_no_probe() {
    for (again_ms, probes) in [(3330, 0), (3570, 1)] {
        let (mut talk, seq) = settled(true);
        talk.data(3000, seq, 1000);
        talk.data(3000, seq + 1000, 1000);
        talk.data(3250, seq + 2000, 1000);
        talk.data(again_ms, seq, 1000);
        let (connections, _) = talk.done();
        assert_eq!(causes_of(&connections[0]), [Cause::Timeout], "{again_ms}");
        assert_eq!(connections[0].senders[0].totals().new_data_probes, probes, "{again_ms}");
    }
}

/// So many segments that were each acknowledged after a millisecond, then four with one ACK among them, and what follows.
fn after_short_rtts(then: &[(i64, i64)]) -> u64 {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    for i in 0..100 {
        talk.data(200 + 10 * i, 1 + 1000 * i, 1000);
        talk.ack(201 + 10 * i, 1001 + 1000 * i, &[]);
    }
    let seq = 100_001;
    talk.data(2000, seq, 1000);
    talk.data(2000, seq + 1000, 1000);
    talk.ack(2001, seq + 1000, &[]);
    talk.data(2001, seq + 2000, 1000);
    talk.data(2001, seq + 3000, 1000);
    for &(t_ms, place) in then {
        talk.data(t_ms, seq + 1000 * place, 1000);
    }
    let (connections, _) = talk.done();
    connections[0].senders[0].totals().new_data_probes
}

/// Where the RTT is short, a probe is due a few milliseconds after an ACK that has been answered: it is no reaction to that.
#[test]
fn new_data_soon_after_an_answered_ack_may_be_a_probe() {
    assert_eq!(after_short_rtts(&[(2008, 4)]), 1);
    // Sooner than any probe: two smoothed RTTs and two milliseconds.
    assert_eq!(after_short_rtts(&[(2003, 4)]), 0);
    // More follows: it was written.
    assert_eq!(after_short_rtts(&[(2008, 4), (2008, 5)]), 0);
}

/// Segments at an even pace are paced, or come out of the host's own queue.
#[test]
fn an_even_pace_is_no_probe() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    for i in 0..100 {
        talk.data(200 + 10 * i, 1 + 1000 * i, 1000);
        talk.ack(201 + 10 * i, 1001 + 1000 * i, &[]);
    }
    for i in 0..6 {
        talk.data(2000 + 7 * i, 100_001 + 1000 * i, 1000);
    }
    let (connections, _) = talk.done();
    assert_eq!(connections[0].senders[0].totals().new_data_probes, 0);
}

/// Without timestamps a SYN sent again gives no sample: the timeout of data is three seconds, and the probe's timer one.
#[test]
fn after_a_repeated_syn_the_probe_comes_first() {
    let mut talk = Talk::new(7);
    for t_ms in [0, 1000] {
        let mut syn = talk.blank(t_ms, true);
        (syn.seq, syn.flags) = (7, flags::SYN);
        (syn.options.mss, syn.options.sack_permitted) = (Some(1000), true);
        talk.tracker.segment(&syn);
    }
    let mut answer = talk.blank(1100, false);
    (answer.seq, answer.ack, answer.flags) = (9000, 8, flags::SYN | flags::ACK);
    (answer.options.mss, answer.options.sack_permitted) = (Some(1000), true);
    talk.tracker.segment(&answer);
    let mut third = talk.blank(1100, true);
    (third.seq, third.ack) = (8, 9001);
    talk.tracker.segment(&third);
    for t_ms in [1200, 2200, 5200] {
        talk.data(t_ms, 1, 1000);
    }
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0])[1..], [Cause::TailLossProbe, Cause::Timeout]);
    assert_eq!(connections[0].senders[0].undecided(), (0, 0));
}

/// What RACK marked lost before a recovery was taken back, it does not find again: only the timer sends that, even if ACKs
/// go on showing that it is missing.
#[test]
fn what_was_marked_before_an_undo_waits_for_the_timer() {
    for (again_ms, expected) in [(3308, Cause::Timeout), (3207, Cause::Fast)] {
        let mut talk = Talk::new(7);
        talk.timestamps = true;
        talk.handshake(true);
        let seq = warm_up(&mut talk);
        for i in 0..8 {
            talk.data(3000 + i, seq + 1000 * i, 1000);
        }
        talk.ack_echo(3107, seq, &[(seq + 1000, seq + 2000), (seq + 3000, seq + 8000)], 2000);
        talk.data(3107, seq, 1000);
        // The original had only been late.
        talk.ack_echo(3110, seq + 2000, &[(seq + 3000, seq + 8000)], 3000);
        talk.data(3110, seq + 8000, 1000);
        talk.data(3203, seq + 9000, 1000);
        talk.ack_echo(3206, seq + 2000, &[(seq + 3000, seq + 9000)], 3000);
        if again_ms > 3300 {
            talk.ack_echo(3303, seq + 2000, &[(seq + 3000, seq + 10_000)], 3000);
        }
        talk.data(again_ms, seq + 2000, 1000);
        let (connections, _) = talk.done();
        assert_eq!(causes_of(&connections[0]), [Cause::Fast, expected]);
        assert_eq!(connections[0].senders[0].taken_back()[TakenBack::Partial as usize], 1);
    }
}

/// Two segments sent again at once: that the second arrives shows that the first is lost again, as one sent later would.
#[test]
fn the_end_of_a_burst_overtakes_its_beginning() {
    let connections = after_an_original(|talk, seq| {
        talk.data(3800, seq + 2000, 1000);
        talk.ack(3900, seq, &[(seq + 2000, seq + 5000)]);
        talk.data(3900, seq + 1000, 1000);
        talk.ack(4000, seq + 8000, &[]);
    });
    assert_eq!(causes_of(&connections[0]), [Cause::Timeout, Cause::Fast, Cause::Fast, Cause::Fast]);
    assert_eq!(connections[0].senders[0].totals().retransmissions[Cause::Fast as usize], 3);
}

/// New data answers the expiry, as F-RTO has it, and in slow start some is sent again all the same: an original that arrives
/// still takes the timeout back.
#[test]
fn new_data_keeps_frto_going_in_slow_start() {
    let (mut talk, seq) = settled(true);
    for i in 0..8 {
        talk.data(3000 + i, seq + 1000 * i, 1000);
    }
    talk.data(3700, seq, 1000);
    talk.ack(3800, seq + 1000, &[]);
    talk.data(3800, seq + 8000, 1000);
    talk.data(3803, seq + 1000, 1000);
    talk.ack(3901, seq + 3000, &[]);
    talk.ack(3902, seq + 3000, &[(seq + 4000, seq + 8000)]);
    talk.data(3902, seq + 3000, 1000);
    talk.ack(4010, seq + 9000, &[]);
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Timeout, Cause::SlowStart, Cause::Fast]);
    assert_eq!(connections[0].senders[0].taken_back()[TakenBack::Frto as usize], 1);
}

/// New data answers an expiry and its first segment is lost in its turn: when the wait for reordering is over, Linux changes to
/// Recovery, and sends the rest by fast retransmit.
#[test]
fn a_wait_for_reordering_in_slow_start_ends_it() {
    let (mut talk, seq) = settled(true);
    for i in 0..6 {
        talk.data(3000 + i, seq + 1000 * i, 1000);
    }
    talk.data(3700, seq, 1000);
    talk.ack(3800, seq + 1000, &[]);
    talk.data(3800, seq + 6000, 1000);
    talk.data(3801, seq + 7000, 1000);
    talk.ack(3901, seq + 1000, &[(seq + 7000, seq + 8000)]);
    talk.data(3901, seq + 1000, 1000);
    talk.data(3926, seq + 2000, 1000);
    talk.ack(4001, seq + 2000, &[(seq + 7000, seq + 8000)]);
    talk.data(4001, seq + 3000, 1000);
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Timeout, Cause::SlowStart, Cause::Fast, Cause::Fast]);
}

/// The same where the RTT is so short that the wait is over within the time in which a host may react to an ACK: it has answered
/// the last one already, and a quarter of the RTT has passed since.
#[test]
fn a_short_wait_for_reordering_in_slow_start_ends_it_too() {
    for (waited_ms, cause) in [(8, Cause::Fast), (4, Cause::SlowStart)] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        for i in 0..20 {
            talk.data(200 + 50 * i, 1 + 1000 * i, 1000);
            talk.ack(220 + 50 * i, 1001 + 1000 * i, &[]);
        }
        let seq = 20_001;
        (0..6).for_each(|i| talk.data(3000 + i, seq + 1000 * i, 1000));
        talk.data(3400, seq, 1000);
        talk.ack(3420, seq + 1000, &[]);
        talk.data(3420, seq + 6000, 1000);
        talk.data(3421, seq + 7000, 1000);
        talk.ack(3441, seq + 1000, &[(seq + 7000, seq + 8000)]);
        talk.data(3441, seq + 1000, 1000);
        talk.data(3441 + waited_ms, seq + 2000, 1000);
        let (connections, _) = talk.done();
        assert_eq!(causes_of(&connections[0]), [Cause::Timeout, Cause::SlowStart, cause], "{waited_ms} ms");
    }
}

/// Of a super-segment the first half was selectively acknowledged; its second half is sent again later, and only the answer
/// to that ends with the whole: the first half measured no RTT then (RFC 6298 section 3).
#[test]
fn a_part_of_a_super_segment_that_was_acknowledged_before_measures_nothing() {
    let (mut talk, seq) = settled(true);
    talk.data(3000, seq, 1000);
    talk.data(3000, seq + 1000, 2000);
    talk.ack(3100, seq, &[(seq + 1000, seq + 2000)]);
    talk.data(3420, seq, 1000);
    talk.ack(3520, seq + 1000, &[(seq + 1000, seq + 2000)]);
    talk.data(3521, seq + 2000, 1000);
    talk.ack(3621, seq + 1000, &[(seq + 1000, seq + 3000)]);
    let (connections, _) = talk.done();
    assert!(connections[0].senders[0].rto.srtt_us() < 110_000);
}

/// After a timeout, a sender that paces slow start (BBR) sends the next segment again long after the last ACK: no timer does.
#[test]
fn slow_start_that_is_paced_is_no_timeout() {
    let mut talk = Talk::new(7);
    talk.timestamps = true;
    talk.handshake_from(true, 0);
    // RTTs of a millisecond: the smoothed one is short.
    for place in 0..20 {
        talk.data(200 + 10 * place, 1 + 1000 * place, 1000);
        talk.ack_echo(201 + 10 * place, 1001 + 1000 * place, &[], 200 + 10 * place);
    }
    for place in 20..30 {
        talk.data(400, 1 + 1000 * place, 1000);
    }
    talk.data(640, 20_001, 1000);
    talk.ack_echo(641, 21_001, &[], 640);
    for (t_ms, seq) in [(642, 21_001), (642, 22_001)] {
        talk.data(t_ms, seq, 1000);
    }
    talk.ack_echo(643, 23_001, &[], 642);
    for (t_ms, seq) in [(700, 23_001), (700, 24_001)] {
        talk.data(t_ms, seq, 1000);
    }
    let (connections, _) = talk.done();
    let slow = Cause::SlowStart;
    assert_eq!(causes_of(&connections[0]), [Cause::Timeout, slow, slow, slow, slow]);
}
