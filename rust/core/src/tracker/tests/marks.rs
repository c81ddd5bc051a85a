//! Congestion marks, and what the sender did for them (RFC 3168); who counts them instead (RFC 9768).

use super::*;
use crate::segment::flags::{ACK, AE, CWR, ECE, SYN};

/// Marked data, ACKs that report it, and reductions of the window, after a handshake with these flags.
fn marks(syn: u16, answer: u16) -> [u32; 3] {
    let mut talk = Talk::new(7);
    let (isn_a, isn_b) = (talk.isn_a, talk.isn_b);
    talk.pass(0, true, &|s| (s.seq, s.flags) = (isn_a, SYN | syn));
    talk.pass(MS, false, &|s| {
        (s.seq, s.ack, s.flags) = (isn_b, isn_a.wrapping_add(1), SYN | ACK | answer);
    });
    for i in 0..9u32 {
        talk.pass(i64::from(10 * i + 10) * MS, true, &|s| {
            (s.seq, s.ack, s.length) = (isn_a.wrapping_add(1 + 1000 * i), isn_b.wrapping_add(1), 1000);
            s.ecn = if i % 3 == 0 { 3 } else { 2 };
            s.flags |= if i == 5 { CWR } else { 0 };
        });
        talk.pass(i64::from(10 * i + 15) * MS, false, &|s| {
            (s.seq, s.ack) = (isn_b.wrapping_add(1), isn_a.wrapping_add(1001 + 1000 * i));
            s.flags |= if i < 5 { ECE } else { 0 };
        });
    }
    let (connections, _) = talk.done();
    let (sent, back) = (connections[0].senders[0].totals(), connections[0].senders[1].totals());
    [sent.ce, back.ece, sent.cwr]
}

#[test]
fn marks_and_what_follows_them_are_counted() {
    assert_eq!(marks(ECE | CWR, ECE), [3, 5, 1]);
    // Who asks for exact counts gets one bit from an end that has no more.
    assert_eq!(marks(AE | ECE | CWR, ECE), [3, 5, 1]);
    assert_eq!(marks(AE | ECE | CWR, AE | ECE), [3, 5, 1], "with the bit of a nonce");
}

/// The flags are digits of a number then.
#[test]
fn who_counts_marks_reduces_nothing_by_flags() {
    assert_eq!(marks(AE | ECE | CWR, CWR), [3, 0, 0]);
}
