//! Hand-made conversations with a known right answer.

use super::*;
use crate::segment::{Address, Checksum, Options, flags};
use proptest::prelude::*;

mod verdicts;

const MS: i64 = 1_000_000;

/// Writes a conversation between a client that sends (A) and a server (B).
struct Talk {
    tracker: Tracker,
    record: u64,
    isn_a: u32,
    isn_b: u32,
    timestamps: bool,
}

impl Talk {
    fn new(isn_a: u32) -> Self {
        Talk { tracker: Tracker::new(true), record: 0, isn_a, isn_b: 9000, timestamps: false }
    }

    fn blank(&mut self, t_ms: i64, from_a: bool) -> Segment {
        self.record += 1;
        let a = (Address::v4([10, 0, 0, 1]), 40000);
        let b = (Address::v4([10, 0, 0, 2]), 80);
        Segment {
            t_ns: t_ms * MS,
            record: self.record,
            source: if from_a { a } else { b },
            destination: if from_a { b } else { a },
            seq: 0,
            ack: 0,
            flags: flags::ACK,
            window: 60000,
            length: 0,
            ip_length: 40,
            ip_id: self.record as u16,
            ttl: 64,
            ecn: 0,
            checksum: Checksum::Good,
            options: Options { complete: true, ..Options::default() },
        }
    }

    fn handshake(&mut self, sack: bool) {
        let mut syn = self.blank(0, true);
        (syn.seq, syn.flags) = (self.isn_a, flags::SYN);
        syn.options.mss = Some(1000);
        syn.options.sack_permitted = sack;
        let mut answer = self.blank(100, false);
        (answer.seq, answer.ack, answer.flags) =
            (self.isn_b, self.isn_a.wrapping_add(1), flags::SYN | flags::ACK);
        answer.options.mss = Some(1000);
        answer.options.sack_permitted = sack;
        if self.timestamps {
            syn.options.timestamps = Some((0, 0));
            answer.options.timestamps = Some((100, 0));
        }
        self.tracker.segment(&syn);
        self.tracker.segment(&answer);
        let mut third = self.blank(100, true);
        (third.seq, third.ack) = (self.isn_a.wrapping_add(1), self.isn_b.wrapping_add(1));
        self.tracker.segment(&third);
    }

    /// A sends payload from relative `seq`.
    fn data(&mut self, t_ms: i64, seq: i64, length: u32) {
        let mut s = self.blank(t_ms, true);
        s.seq = self.isn_a.wrapping_add(seq as u32);
        s.ack = self.isn_b.wrapping_add(1);
        s.length = length;
        if self.timestamps {
            s.options.timestamps = Some((t_ms as u32, 0));
        }
        self.tracker.segment(&s);
    }

    /// B acknowledges up to relative `ack`.
    fn ack(&mut self, t_ms: i64, ack: i64, sack: &[(i64, i64)]) {
        self.ack_echo(t_ms, ack, sack, t_ms - 100);
    }

    fn ack_echo(&mut self, t_ms: i64, ack: i64, sack: &[(i64, i64)], echo_ms: i64) {
        let mut s = self.blank(t_ms, false);
        s.seq = self.isn_b.wrapping_add(1);
        s.ack = self.isn_a.wrapping_add(ack as u32);
        for (slot, &(l, r)) in s.options.sack.iter_mut().zip(sack) {
            *slot = (self.isn_a.wrapping_add(l as u32), self.isn_a.wrapping_add(r as u32));
        }
        s.options.sack_count = sack.len() as u8;
        if self.timestamps {
            s.options.timestamps = Some((t_ms as u32, echo_ms as u32));
        }
        self.tracker.segment(&s);
    }

    fn done(self) -> (Vec<Connection>, Columns) {
        let (connections, columns) = self.tracker.finish(&mut Issues::default());
        (connections, columns.expect("segments were asked for"))
    }
}

fn causes(connection: &Connection) -> Vec<Cause> {
    connection.senders[0].retransmissions().iter().map(|r| r.cause).collect()
}

/// Ten segments, acknowledged one by one 100 ms later: the estimator settles.
fn warm_up(talk: &mut Talk) -> i64 {
    for i in 0..10 {
        talk.data(200 + 200 * i, 1 + 1000 * i, 1000);
        talk.ack(300 + 200 * i, 1001 + 1000 * i, &[]);
    }
    10_001
}

#[test]
fn counts_bytes_over_the_wrap() {
    let mut talk = Talk::new(u32::MAX - 1500);
    talk.handshake(true);
    talk.data(200, 1, 1000);
    talk.data(200, 1001, 1000);
    talk.data(201, 501, 1000); // both halves sent before
    talk.ack(300, 2001, &[]);
    let (connections, columns) = talk.done();
    let sender = &connections[0].senders[0];
    assert_eq!(sender.totals().data_bytes, 3000);
    assert_eq!(sender.totals().duplicate_bytes, 1000);
    assert_eq!(sender.unique_bytes(), 2000);
    assert_eq!(sender.acked_bytes(), 2000);
    assert_eq!(columns.seq[3..6], [1, 1001, 501]);
    assert_eq!(columns.flight[6], 0);
}

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
    assert_eq!(causes(&connections[0]), [Cause::Fast]);
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
    assert_eq!(causes(&connections[0]), [Cause::Fast]);
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
    assert_eq!(causes(&connections[0]), [Cause::Timeout, Cause::Timeout, Cause::SlowStart, Cause::SlowStart]);
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
    assert_eq!(causes(&connections[0]), [Cause::Timeout; 3]);
    let timeouts = connections[0].senders[0].timeouts();
    assert!(timeouts.iter().all(|t| t.silence_ns < t.rto_ns), "sooner than estimated");
}

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

#[test]
fn an_answer_before_the_smallest_rtt_makes_it_spurious() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    let seq = warm_up(&mut talk);
    talk.data(3000, seq, 1000);
    talk.data(3400, seq, 1000);
    talk.ack(3420, seq + 1000, &[]);
    let (connections, _) = talk.done();
    let timeout = connections[0].senders[0].timeouts()[0];
    assert_eq!(timeout.too_early(connections[0].min_rtt_ns(0)), Vote::Spurious);
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
    assert_eq!(causes(&connections[0]), [Cause::TailLossProbe]);
    assert!(connections[0].senders[0].timeouts().is_empty());
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
    assert_eq!(causes(&connections[0]), [Cause::Timeout; 3]);
    assert_eq!(connections[0].senders[0].totals().duplicate_bytes, 0);
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
    assert!(causes(&connections[0]).is_empty());
}

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

proptest! {
    /// Any order of any ranges: the byte counts equal those of one bit per byte.
    #[test]
    fn duplicate_bytes_are_exact(isn: u32, sends in prop::collection::vec((0i64..3000, 1u32..600), 1..80)) {
        let mut talk = Talk::new(isn);
        talk.handshake(true);
        let mut bits = vec![false; 4000];
        let (mut duplicate, mut total) = (0u64, 0u64);
        for (i, (seq, length)) in sends.into_iter().enumerate() {
            talk.data(200 + i as i64, 1 + seq, length);
            let range = &mut bits[seq as usize..seq as usize + length as usize];
            duplicate += range.iter().filter(|b| **b).count() as u64;
            total += u64::from(length);
            range.fill(true);
        }
        let (connections, _) = talk.done();
        let sender = &connections[0].senders[0];
        prop_assert_eq!(sender.totals().duplicate_bytes, duplicate);
        prop_assert_eq!(sender.totals().data_bytes, total);
        prop_assert_eq!(sender.unique_bytes(), bits.iter().filter(|b| **b).count() as i64);
    }

    /// No segment, however absurd, breaks the tracker; every segment gets a row.
    #[test]
    fn survives_anything(segments in prop::collection::vec(
        (any::<bool>(), 0..i64::from(u32::MAX) * 1_000_000_000, any::<u32>(), any::<u32>(), any::<u16>(), any::<u16>(), any::<u16>(), any::<[(u32, u32); 4]>(), 0u8..5), 0..200,
    )) {
        let mut talk = Talk::new(0);
        let count = segments.len();
        for (from_a, t, seq, ack, flag_bits, window, length, sack, sack_count) in segments {
            let mut s = talk.blank(0, from_a);
            s.t_ns = t;
            (s.seq, s.ack, s.flags, s.window, s.length) = (seq, ack, flag_bits & 0x1ff, window, u32::from(length));
            s.options.sack = sack;
            s.options.sack_count = sack_count.min(4);
            s.options.timestamps = Some((seq, ack));
            s.options.window_scale = Some((window & 0xff) as u8);
            talk.tracker.segment(&s);
        }
        let (connections, columns) = talk.done();
        prop_assert_eq!(columns.t_ns.len(), count);
        for connection in &connections {
            for sender in &connection.senders {
                prop_assert!(sender.totals().duplicate_bytes <= sender.totals().data_bytes);
            }
        }
    }
}

#[test]
fn tracking_beside_is_tracking() {
    let mut talk = Talk::new(7);
    let segments: Vec<Segment> = (0..5000)
        .map(|i: i64| {
            let mut s = talk.blank(i, i % 3 != 2);
            (s.seq, s.ack, s.length) = ((i % 700) as u32 * 100, (i % 900) as u32 * 100, 100);
            s
        })
        .collect();
    let mut alone = Tracker::new(true);
    segments.iter().for_each(|s| alone.segment(s));
    let (_, beside) = track_beside(true, |relay| segments.iter().for_each(|s| relay.segment(s)));
    let (mut first, mut second) = (Issues::default(), Issues::default());
    let (one, other) = (alone.finish(&mut first), beside.finish(&mut second));
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
    assert_eq!(first, second);
}
