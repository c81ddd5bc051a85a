//! Recovery episodes, their verdicts, what is taken back, reordering, timers that are capped or not told apart.

use super::*;

fn sender(connections: &[Connection]) -> &Sender {
    &connections[0].senders[0]
}

/// A conversation with timestamps whose estimator has settled, and the next byte to send.
fn settled(sack: bool, timestamps: bool) -> (Talk, i64) {
    let mut talk = Talk::new(7);
    talk.timestamps = timestamps;
    talk.mss = if timestamps { 1012 } else { 1000 };
    talk.handshake(sack);
    let seq = warm_up(&mut talk);
    (talk, seq)
}

fn findings(connections: &[Connection], index: usize) -> (Episode, Findings) {
    let sender = sender(connections);
    let episode = sender.episodes()[index];
    (episode, sender.findings(&episode, connections[0].min_rtt_ns(0)))
}

#[test]
fn a_fast_recovery_has_its_entry_exit_and_verdict() {
    let (mut talk, seq) = settled(true, true);
    for i in 0..8 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.ack_echo(3100, seq + 1000, &[], 3000);
    talk.ack_echo(3101, seq + 1000, &[(seq + 2000, seq + 6000)], 3000);
    talk.data(3102, seq + 1000, 1000);
    talk.ack_echo(3202, seq + 6000, &[], 3102);
    talk.ack_echo(3203, seq + 8000, &[], 3102);
    let (connections, _) = talk.done();
    let (episode, found) = findings(&connections, 0);
    assert_eq!((episode.cause, episode.trigger), (Cause::Fast, Trigger::Sack));
    assert_eq!((episode.entry, episode.recover), (seq + 1000, seq + 8000));
    assert_eq!(episode.end_ns, Some(3203 * MS));
    assert_eq!((found.segments, found.bytes, found.genuine), (1, 1000, 1));
    assert_eq!((found.eifel, found.verdict), (Vote::Genuine, Verdict::Genuine));
    assert_eq!(episode.taken_back, TakenBack::No);
}

/// Reordering by more than the stack tolerates: the original arrives, and its ACK echoes its timestamp.
#[test]
fn a_needless_fast_retransmit_is_spurious_and_taken_back() {
    let (mut talk, seq) = settled(true, true);
    for i in 0..8 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.ack_echo(3101, seq, &[(seq + 1000, seq + 5000)], 2000);
    talk.data(3102, seq, 1000);
    talk.ack_echo(3105, seq + 5000, &[], 3000);
    talk.ack_echo(3106, seq + 8000, &[], 3000);
    talk.ack_echo(3203, seq + 8000, &[(seq, seq + 1000)], 3000);
    let (connections, _) = talk.done();
    let (episode, found) = findings(&connections, 0);
    assert_eq!(
        (found.verdict, found.eifel, found.dsack),
        (Verdict::Spurious, Vote::Spurious, Vote::Spurious)
    );
    assert_eq!(found.too_early, Vote::Spurious);
    assert_eq!(episode.taken_back, TakenBack::Partial);
    let reordering = sender(&connections).reordering();
    assert_eq!((reordering.by_timestamp, reordering.by_sack), (1, 0));
}

#[test]
fn all_reported_as_duplicates_takes_back_after_the_recovery() {
    let (mut talk, seq) = settled(true, false);
    for i in 0..8 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.ack(3101, seq, &[(seq + 1000, seq + 5000)]);
    talk.data(3102, seq, 1000);
    talk.ack(3220, seq + 8000, &[]);
    talk.ack(3240, seq + 8000, &[(seq, seq + 1000)]);
    let (connections, _) = talk.done();
    assert_eq!(sender(&connections).taken_back()[TakenBack::Dsack as usize], 1);
    assert_eq!(findings(&connections, 0).1.verdict, Verdict::Spurious);
}

/// Duplicates of what was sent once come from the network, and so may those of what was sent again (RFC 3708).
#[test]
fn a_network_that_duplicates_makes_no_duplicate_sack_a_proof() {
    for duplicated in [false, true] {
        let (mut talk, seq) = settled(true, false);
        for i in 0..8 {
            talk.data(3000, seq + 1000 * i, 1000);
        }
        talk.ack(3101, seq, &[(seq + 1000, seq + 5000)]);
        talk.data(3102, seq, 1000);
        talk.ack(3220, seq + 5000, &[]);
        if duplicated {
            talk.ack(3221, seq + 5000, &[(seq + 3000, seq + 4000)]);
        }
        talk.ack(3240, seq + 8000, &[(seq, seq + 1000)]);
        let (connections, _) = talk.done();
        let expected = if duplicated { Verdict::Inconclusive } else { Verdict::Spurious };
        assert_eq!(findings(&connections, 0).1.verdict, expected, "duplicated: {duplicated}");
    }
}

#[test]
fn what_arrives_late_without_being_sent_again_is_reordering() {
    let (mut talk, seq) = settled(true, false);
    for i in 0..4 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.ack(3100, seq, &[(seq + 1000, seq + 3000)]);
    talk.ack(3101, seq + 3000, &[]);
    talk.ack(3102, seq + 4000, &[]);
    let (connections, _) = talk.done();
    let reordering = sender(&connections).reordering();
    assert_eq!((reordering.by_sack, reordering.extent), (1, 3000));
    assert!(sender(&connections).episodes().is_empty());
}

/// The data had arrived and all its ACKs were lost: the answer reports the copy as a duplicate (RFC 3522 step 6),
/// echoing an old timestamp, as the receiver had more than the segment (RFC 7323 section 4.3).
#[test]
fn an_answer_that_reports_the_copy_itself_means_lost_acks() {
    for reports in [true, false] {
        let (mut talk, seq) = settled(true, true);
        talk.data(3000, seq, 1000);
        talk.data(3000, seq + 1000, 1000);
        talk.data(3400, seq, 1000);
        let blocks = [(seq, seq + 1000)];
        talk.ack_echo(3520, seq + 2000, if reports { &blocks } else { &[] }, 3000);
        let (connections, _) = talk.done();
        let timeout = sender(&connections).timeouts()[0];
        let verdict = if reports { Verdict::Genuine } else { Verdict::Spurious };
        assert_eq!(timeout.verdict(connections[0].min_rtt_ns(0)), verdict);
        let votes = if reports { (Vote::Genuine, Vote::Abstains) } else { (Vote::Abstains, Vote::Spurious) };
        assert_eq!((timeout.ack_path, timeout.eifel), votes);
    }
}

/// At the receiver, after a pause of the path: the first copy was acknowledged before the second came by, and that ACK was as
/// late. That the next ACK reports the second copy does not mean that the ACK before was lost.
#[test]
fn an_acknowledged_copy_is_judged_by_what_its_sender_hears_next() {
    for (heard_ms, verdict) in [(3410, Verdict::Spurious), (3451, Verdict::Genuine)] {
        let (mut talk, seq) = settled(true, true);
        talk.data(3000, seq, 1000);
        talk.data(3001, seq + 1000, 1000);
        talk.ack_echo(3410, seq + 1000, &[], 3000);
        talk.data(3450, seq, 1000);
        talk.ack_echo(3451, seq + 2000, &[(seq, seq + 1000)], 3001);
        talk.data_echo(3500, seq + 2000, 1000, heard_ms);
        let (connections, _) = talk.done();
        let timeout = sender(&connections).timeouts()[0];
        assert_eq!(timeout.verdict(connections[0].min_rtt_ns(0)), verdict, "heard that of {heard_ms} ms");
    }
}

/// Without SACK: the echo is that of a segment behind, which came 200 ms after the first. The receiver had sent an
/// ACK of the first, and it was lost: the old echo proves nothing.
#[test]
fn the_echo_of_a_segment_behind_is_no_vote() {
    for (echo_ms, eifel) in [(3000, Vote::Spurious), (3200, Vote::Abstains), (3600, Vote::Genuine)] {
        let (mut talk, seq) = settled(false, true);
        talk.data(3000, seq, 1000);
        talk.data(3200, seq + 1000, 1000);
        talk.data(3600, seq, 1000);
        talk.ack_echo(3720, seq + 2000, &[], echo_ms);
        let (connections, _) = talk.done();
        assert_eq!(sender(&connections).timeouts()[0].eifel, eifel, "echo of {echo_ms} ms");
    }
}

#[test]
fn an_old_echo_takes_a_timeout_back_only_if_older_than_the_first_of_them() {
    for (echo_ms, taken) in [(3000, 1), (3400, 0)] {
        let (mut talk, seq) = settled(true, true);
        for i in 0..4 {
            talk.data(3000, seq + 1000 * i, 1000);
        }
        talk.data(3400, seq, 1000);
        talk.data(4100, seq, 1000);
        talk.ack_echo(4300, seq + 1000, &[], echo_ms);
        let (connections, _) = talk.done();
        assert_eq!(sender(&connections).taken_back()[TakenBack::Loss as usize], taken);
        assert_eq!(sender(&connections).episodes()[0].timeouts, 2);
    }
}

/// F-RTO: ACKs of what was sent once only. A host that goes on sending again does without it.
#[test]
fn frto_is_foreseen_until_the_host_shows_that_it_does_without() {
    for (with, taken, cause) in [(true, 1, None), (false, 0, Some(Cause::SlowStart))] {
        let (mut talk, seq) = settled(true, false);
        for i in 0..6 {
            talk.data(3000, seq + 1000 * i, 1000);
        }
        talk.data(3450, seq, 1000);
        talk.ack(3560, seq + 2000, &[]);
        talk.data(3560, seq + if with { 6000 } else { 2000 }, 1000);
        let (connections, _) = talk.done();
        assert_eq!(sender(&connections).taken_back()[TakenBack::Frto as usize], taken, "with: {with}");
        assert_eq!(causes_of(&connections[0]).get(1).copied(), cause);
    }
}

/// Largest timeout 3 s, RTT 4 s: two expiries show it, and from then on probes are expected as early as they come.
#[test]
fn equal_short_waits_show_the_largest_timeout() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    for i in 0..4 {
        talk.data(5000 * i + 200, 1 + 1000 * i, 1000);
        talk.ack(5000 * i + 4200, 1001 + 1000 * i, &[]);
    }
    talk.data(20_000, 4001, 1000);
    talk.data(20_000, 5001, 1000);
    talk.data(23_072, 5001, 1000); // the last, not the first: a probe, however early
    talk.data(26_144, 4001, 1000);
    talk.data(29_216, 4001, 1000);
    talk.ack(33_300, 6001, &[]);
    talk.data(33_400, 6001, 1000);
    talk.data(33_400, 7001, 1000);
    talk.data(36_450, 8001, 1000); // a probe with new data, known by the cap
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::TailLossProbe, Cause::Timeout, Cause::Timeout]);
    let sender = sender(&connections);
    let (max_ns, cap) = sender.rto_cap().expect("two waits of 3.072 s where more than 4 s were estimated");
    assert_eq!((max_ns, cap.waits, cap.shortest_ns), (3072 * MS, 2, 3072 * MS));
    assert!(cap.estimated_ns > 4000 * MS);
    assert_eq!(sender.totals().new_data_probes, 1);
}

/// The last segment alone, sent again when both timers are due; what follows tells: two segments and no more until
/// they are acknowledged (slow start), or as many as before.
#[test]
fn what_follows_a_lone_tail_tells_the_timer() {
    for (burst, cause) in [(2, Cause::Timeout), (8, Cause::TailLossProbe)] {
        let (mut talk, seq) = settled(true, false);
        for i in 0..10 {
            talk.data(3000, seq + 1000 * i, 1000);
        }
        talk.ack_echo(3100, seq + 9000, &[], 3000);
        talk.data(3401, seq + 9000, 1000);
        talk.ack_echo(3501, seq + 10_000, &[], 3401);
        for i in 0..burst {
            talk.data(5000, seq + 10_000 + 1000 * i, 1000);
        }
        talk.ack_echo(5100, seq + 11_000, &[], 5000);
        talk.data(5100, seq + 10_000 + 1000 * burst, 1000);
        let (connections, columns) = talk.done();
        assert_eq!(causes_of(&connections[0]), [cause]);
        let sender = sender(&connections);
        assert_eq!(sender.totals().retransmissions[cause as usize], 1);
        assert_eq!(sender.timeouts().len(), usize::from(cause == Cause::Timeout));
        assert_eq!(sender.episodes().len(), sender.timeouts().len());
        assert_eq!(columns.cause.iter().filter(|&&other| other == cause as i8).count(), 1);
        assert!(sender.retransmissions().iter().all(|row| row.alternative == Cause::None));
    }
}

#[test]
fn a_lone_tail_that_nothing_follows_stays_open() {
    let (mut talk, seq) = settled(true, true);
    talk.data(3000, seq, 1000);
    talk.data(3401, seq, 1000);
    talk.ack_echo(3501, seq + 1000, &[], 3401);
    let (connections, _) = talk.done();
    let row = sender(&connections).retransmissions()[0];
    assert_eq!((row.cause, row.alternative), (Cause::TailLossProbe, Cause::Timeout));
}

/// Half of what was sent again was lost again; at the next expiry all that is on its way counts (Linux).
#[test]
fn lost_retransmissions_are_counted_as_the_kernel_does() {
    let (mut talk, seq) = settled(true, false);
    for i in 0..6 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.ack(3101, seq, &[(seq + 2000, seq + 6000)]);
    talk.data(3102, seq, 1000);
    talk.data(3102, seq + 1000, 1000);
    talk.data(3600, seq, 1000);
    let (connections, _) = talk.done();
    assert_eq!(sender(&connections).lost_again(), 2);
}

#[test]
fn a_retransmission_delivered_last_tells_of_what_was_sent_before_it() {
    let (mut talk, seq) = settled(true, false);
    for i in 0..6 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.ack(3101, seq, &[(seq + 1000, seq + 5000)]);
    talk.data(3102, seq, 1000);
    talk.ack(3210, seq + 5000, &[]);
    talk.data(3211, seq + 5000, 1000); // nothing above it, but what was sent after it has arrived
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Fast, Cause::Fast]);
}

/// Duplicate ACKs keep coming; without SACK none of them can tell that the repetition was lost, so it is the timer.
#[test]
fn without_sack_only_the_timer_repeats_a_repetition() {
    let (mut talk, seq) = settled(false, false);
    for i in 0..8 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    for i in 0..4 {
        talk.ack(3100 + i, seq, &[]);
    }
    talk.data(3104, seq, 1000);
    talk.ack(3405, seq, &[]);
    talk.data(3406, seq, 1000);
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Fast, Cause::Timeout]);
}

/// Segments that were delayed and a loss behind them: what F-RTO takes back, the SACK block calls for again.
#[test]
fn a_recovery_that_follows_what_frto_took_back_is_fast() {
    let (mut talk, seq) = settled(true, false);
    for i in 0..6 {
        talk.data(3000, seq + 1000 * i, 1000);
    }
    talk.data(3450, seq, 1000);
    talk.ack(3560, seq + 1000, &[(seq + 5000, seq + 6000)]);
    talk.data(3560, seq + 1000, 1000);
    let (connections, _) = talk.done();
    assert_eq!(causes_of(&connections[0]), [Cause::Timeout, Cause::Fast]);
    assert_eq!(sender(&connections).taken_back()[TakenBack::Frto as usize], 1);
}

/// Between hosts a few microseconds apart the handshake may have taken three times as long as any later answer.
#[test]
fn what_hosts_differ_by_proves_no_answer_too_early() {
    let vote = |after_us: i64, least_us: i64| {
        crate::tracker::timeout::too_early(Some(after_us * 1000), Some(least_us * 1000))
    };
    assert_eq!(vote(12, 41), Vote::Abstains);
    assert_eq!(vote(100, 180), Vote::Abstains);
    assert_eq!(vote(12, 180), Vote::Spurious);
    assert_eq!(vote(85_000, 100_000), Vote::Spurious);
    assert_eq!(vote(95_000, 100_000), Vote::Abstains);
}
