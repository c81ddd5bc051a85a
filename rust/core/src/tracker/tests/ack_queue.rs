//! What ACKs wait in a queue in their own direction is no queue of the data's link.

use super::*;
use crate::segment::flags::{ACK, SYN};
use crate::tracker::PathReport;

/// Beside the sender: a burst of ten segments each 40 ms, of which each two are acknowledged. The path takes 20 ms; `data_ms`
/// is what the data of a burst then waits for each two before it, and `acks_ms` the same of their ACKs.
fn bursts(data_ms: i64, acks_ms: i64) -> Option<f64> {
    let mut talk = Talk::new(7);
    let (isn_a, isn_b) = (talk.isn_a, talk.isn_b);
    let stamp = |t_ns: i64| Some(((t_ns / MS) as u32, 0));
    talk.pass(0, true, &|s| (s.seq, s.flags, s.options.timestamps) = (isn_a, SYN, stamp(0)));
    talk.pass(20 * MS, false, &|s| {
        (s.seq, s.ack, s.flags) = (isn_b, isn_a.wrapping_add(1), SYN | ACK);
        s.options.timestamps = stamp(10 * MS);
    });
    talk.pass(20 * MS + 9000, true, &|s| {
        (s.seq, s.ack, s.options.timestamps) = (isn_a.wrapping_add(1), isn_b.wrapping_add(1), stamp(20 * MS));
    });
    let mut acks = Vec::new();
    let mut sent = 0u32;
    for burst in 0..60i64 {
        let begin_ns = (40 + 40 * burst) * MS;
        for pair in 0..5 {
            let arrived_ns = begin_ns + (10 + data_ms * pair) * MS;
            acks.push((arrived_ns + (10 + acks_ms * pair) * MS, arrived_ns, sent + 2000 * (pair as u32 + 1)));
        }
        sent += 10_000;
    }
    let mut acks = acks.into_iter().peekable();
    for burst in 0..60i64 {
        let begin_ns = (40 + 40 * burst) * MS;
        while let Some((t_ns, val_ns, ack)) = acks.next_if(|ack| ack.0 <= begin_ns) {
            talk.pass(t_ns, false, &|s| {
                (s.seq, s.ack) = (isn_b.wrapping_add(1), isn_a.wrapping_add(1 + ack));
                s.options.timestamps = stamp(val_ns);
            });
        }
        for number in 0..10u32 {
            let t_ns = begin_ns + i64::from(number) * 10_000;
            talk.pass(t_ns, true, &|s| {
                s.seq = isn_a.wrapping_add(1 + 10_000 * burst as u32 + 1000 * number);
                (s.ack, s.length, s.ip_length) = (isn_b.wrapping_add(1), 1000, 1052);
                s.options.timestamps = stamp(t_ns);
            });
        }
    }
    let (connections, _) = talk.done();
    PathReport::of(&connections[0], 0).bottleneck.and_then(|link| link.acks_share)
}

#[test]
fn a_queue_of_acks_is_told_from_one_of_data() {
    assert!(bursts(0, 4).is_some_and(|share| share > 0.8));
    assert!(bursts(4, 0).is_some_and(|share| share < 0.1));
}
