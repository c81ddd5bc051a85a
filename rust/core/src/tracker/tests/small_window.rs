//! A receiver's window of two segments, from the first on.

use super::*;
use crate::segment::flags::{ACK, SYN};
use crate::tracker::{Limit, PathReport};

/// Shares of the limits where a window of `window` bytes lets two segments pass in each RTT of 100 ms.
fn shares(window: u16) -> [f64; Limit::COUNT] {
    let mut talk = Talk::new(7);
    let (isn_a, isn_b) = (talk.isn_a, talk.isn_b);
    talk.pass(0, true, &|s| (s.seq, s.flags, s.options.mss) = (isn_a, SYN, Some(1000)));
    talk.pass(100 * MS, false, &|s| {
        (s.seq, s.ack, s.flags) = (isn_b, isn_a.wrapping_add(1), SYN | ACK);
        (s.window, s.options.mss) = (window, Some(1000));
    });
    for round in 0..20u32 {
        let begin_ns = (100 + 100 * i64::from(round)) * MS + 20_000;
        for place in 0..2 {
            talk.pass(begin_ns + i64::from(place) * 5000, true, &|s| {
                s.seq = isn_a.wrapping_add(1 + 2000 * round + 1000 * place);
                (s.ack, s.length, s.ip_length) = (isn_b.wrapping_add(1), 1000, 1040);
            });
        }
        talk.pass(begin_ns + 100 * MS - 20_000, false, &|s| {
            (s.seq, s.ack) = (isn_b.wrapping_add(1), isn_a.wrapping_add(2001 + 2000 * round));
            s.window = window;
        });
    }
    let (connections, _) = talk.done();
    PathReport::of(&connections[0], 0).limits.expect("there is data").shares()
}

#[test]
fn a_window_that_is_full_from_the_first_on_is_no_application() {
    let small = shares(2000);
    assert!(small[Limit::ReceiverWindow as usize] > 0.85, "{small:?}");
    assert!(small[Limit::Application as usize] < 0.01, "{small:?}");
    let large = shares(60_000);
    assert!(large[Limit::ReceiverWindow as usize] < 0.01, "{large:?}");
}
