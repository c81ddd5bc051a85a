//! Hand-made conversations with a known right answer.

use super::*;
use crate::segment::flags;
use proptest::prelude::*;
use talk::{MS, Talk, causes_of, warm_up};

mod ack_queue;
mod arrivals;
mod away;
mod causes;
mod distance;
mod linux;
mod lost_acks;
mod marks;
mod path;
mod seen;
mod small_window;
mod spurious;
mod talk;
mod verdicts;

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

/// A SYN+ACK comes again with its ISN, then with others, as of a host that keeps nothing of it (SYN cookies): the sequence
/// numbers begin at that which is acknowledged, and another ISN is no retransmission.
#[test]
fn of_several_syn_acks_that_counts_which_is_acknowledged() {
    // The ISNs, the place of the one that is acknowledged, and how many are retransmissions.
    for (isns, accepted, again) in [
        (vec![9000, 9000, 3_000_000_000, 2_900_000_000], 3, 1),
        (vec![9000, 3_000_000_000], 1, 0),
        (vec![9000, 3_000_000_000], 0, 0),
        (vec![3_000_000_000, 9000, 9000], 0, 1),
        (vec![9000, 3_000_000_000, 9000, 3_000_000_000], 3, 2),
        (vec![9000, 9000], 0, 1),
    ] {
        let mut talk = Talk::new(1);
        let mut syn = talk.blank(0, true);
        (syn.seq, syn.flags) = (1, flags::SYN);
        talk.tracker.segment(&syn);
        for (place, &isn) in isns.iter().enumerate() {
            let mut answer = talk.blank(100 + 1000 * place as i64, false);
            (answer.seq, answer.ack, answer.flags) = (isn, 2, flags::SYN | flags::ACK);
            talk.tracker.segment(&answer);
        }
        let isn = isns[accepted];
        for t_ms in [8000, 8001] {
            let mut s = talk.blank(t_ms, true);
            (s.seq, s.ack, s.length) = (2, isn + 1, if t_ms == 8001 { 100 } else { 0 });
            talk.tracker.segment(&s);
        }
        for place in 0..3 {
            let mut s = talk.blank(8100, false);
            (s.seq, s.ack, s.length) = (isn + 1 + 500 * place, 102, 500);
            talk.tracker.segment(&s);
        }
        let mut s = talk.blank(8200, true);
        (s.seq, s.ack) = (102, isn + 1501);
        talk.tracker.segment(&s);
        // Another comes late.
        let mut late = talk.blank(8300, false);
        (late.seq, late.ack, late.flags) = (5, 2, flags::SYN | flags::ACK);
        talk.tracker.segment(&late);
        let (connections, columns) = talk.done();
        assert_eq!(connections.len(), 1);
        let sender = &connections[0].senders[1];
        let found = (sender.isn, sender.retransmission_counts().iter().sum::<u64>(), sender.arrivals().len());
        assert_eq!(found, (Some(isn), again + 1, 0), "{isns:?}");
        assert_eq!(columns.seq.last(), Some(&0), "{isns:?}");
        assert_eq!((sender.unique_bytes(), sender.acked_bytes(), sender.unseen_bytes()), (1500, 1500, 0));
        let rows = isns.len() + 3;
        assert_eq!(columns.seq[rows..rows + 3], [1, 501, 1001], "{isns:?}");
    }
}

/// A full segment is the MSS less the options that come with the data, whatever was offered (RFC 6691 section 2).
#[test]
fn a_full_segment_leaves_room_for_its_options() {
    for (offered, options, full) in [(false, 0, 1000), (true, 0, 1000), (true, 12, 988), (false, 20, 980)] {
        let mut talk = Talk::new(1);
        talk.timestamps = offered;
        talk.handshake(true);
        let mut s = talk.blank(200, true);
        (s.seq, s.ack, s.length, s.ip_length) = (2, 9001, full, full + 40 + options);
        talk.tracker.segment(&s);
        let (connections, _) = talk.done();
        assert_eq!(connections[0].senders[0].segment_size(), full, "{offered} {options}");
    }
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
        // What the network delivered twice was sent once.
        let twice = sender.arrivals().iter().filter(|row| row.verdict == ArrivalVerdict::NetworkDuplicate);
        let twice: u64 = twice.map(|row| u64::from(row.length)).sum();
        prop_assert_eq!(sender.totals().duplicate_bytes, duplicate - twice);
        prop_assert_eq!(sender.totals().data_bytes, total - twice);
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
    let (_, beside) =
        track_beside(Tracking::Table, |relay| segments.iter().for_each(|s| relay.segment(s))).unwrap();
    let (mut first, mut second) = (Issues::default(), Issues::default());
    let (one, other) = (alone.finish(&mut first), beside.finish(&mut second));
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
    assert_eq!(first, second);
}
