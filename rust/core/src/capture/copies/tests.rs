use super::{Copies, Key};
use crate::capture::icmp::blank;
use crate::segment::{Address, Segment, flags};

const MS: i64 = 1_000_000;

/// A data segment of one direction.
fn data(t_ns: i64, id: u16, seq: u32) -> Segment {
    Segment {
        t_ns,
        source: (Address::v4([10, 0, 0, 1]), 5001),
        destination: (Address::v4([10, 0, 0, 2]), 80),
        seq,
        ack: 77,
        flags: flags::ACK,
        length: 1000,
        ip_id: id,
        ..blank()
    }
}

fn v6(segment: Segment) -> Segment {
    let mut segment = Segment { ip_id: 0, ..segment };
    segment.source.0.0[0] = 0x20;
    segment.destination.0.0[0] = 0x20;
    segment
}

/// Whether a segment that a point saw is a copy.
fn is_copy(copies: &mut Copies, segment: Segment, point: u32) -> bool {
    copies.is_copy(&segment, &Key::of(&segment, point))
}

/// Which of some segments, each with the point that saw it, are copies.
fn judge(seen: &[(Segment, u32)]) -> Vec<bool> {
    let mut copies = Copies::default();
    seen.iter().map(|(segment, point)| is_copy(&mut copies, *segment, *point)).collect()
}

#[test]
fn two_points_of_a_host() {
    let (a, b) = (data(0, 5, 1), data(MS, 6, 1001));
    let late = Segment { t_ns: 300 * MS, ..b };
    assert_eq!(judge(&[(a, 1), (a, 2), (b, 1), (late, 2)]), [false, true, false, true]);
    // Without identification as well, but only soon.
    let (a, b, late) = (v6(a), v6(b), v6(late));
    assert_eq!(judge(&[(a, 1), (a, 2), (b, 1), (late, 2)]), [false, true, false, false]);
}

#[test]
fn a_retransmission_at_two_points() {
    // Sent at 0, again at 30 ms: every point sees both.
    for (first, again) in [
        (data(0, 5, 1), data(30 * MS, 6, 1)),
        (v6(data(0, 0, 1)), v6(data(30 * MS, 0, 1))),
        // A sender that numbers all its packets alike.
        (data(0, 9, 1), data(30 * MS, 9, 1)),
    ] {
        let seen = [(first, 1), (first, 2), (again, 1), (again, 2)];
        assert_eq!(judge(&seen), [false, true, false, true]);
        // The first was lost between the points.
        assert_eq!(judge(&[(first, 1), (again, 1), (again, 2)]), [false, false, true]);
    }
}

#[test]
fn duplicate_acks_at_two_points() {
    let ack = v6(Segment { length: 0, ..data(0, 0, 1) });
    let seen = [(ack, 1), (ack, 2), (ack, 1), (ack, 2), (ack, 1), (ack, 2)];
    assert_eq!(judge(&seen), [false, true, false, true, false, true]);
}

#[test]
fn a_mirror_port() {
    let (a, b, c) = (data(0, 5, 1), data(MS, 6, 1001), data(2 * MS, 7, 2001));
    let at_once = |segment: Segment| Segment { t_ns: segment.t_ns + 1000, ..segment };
    // Before identifications are known to vary, a packet counts.
    let seen = [(a, 0), (at_once(a), 0), (b, 0), (at_once(b), 0), (c, 0), (at_once(c), 0)];
    assert_eq!(judge(&seen), [false, false, false, true, false, true]);
    let syn = Segment { flags: flags::SYN, length: 0, ..a };
    assert_eq!(judge(&[(syn, 0), (at_once(syn), 0)]), [false, true]);
}

#[test]
fn both_sides_of_a_router_on_one_segment() {
    let behind = |segment: Segment| Segment { t_ns: segment.t_ns + 8 * MS, ttl: 63, ..segment };
    let (a, again) = (data(0, 5, 1), data(300 * MS, 6, 1));
    let seen = [(a, 0), (behind(a), 0), (again, 0), (behind(again), 0)];
    assert_eq!(judge(&seen), [false, true, false, true]);
    // The first was lost in the router.
    assert_eq!(judge(&[(a, 0), (again, 0), (behind(again), 0)]), [false, false, true]);
    // Nothing tells it from one that was sent again and took another path.
    assert_eq!(judge(&[(v6(a), 0), (v6(behind(a)), 0)]), [false, false]);
}

#[test]
fn behind_a_router_without_an_identification() {
    let behind = |segment: Segment, ms| Segment { t_ns: segment.t_ns + ms * MS, ttl: 63, ..segment };
    let stamped = |mut segment: Segment, value| {
        segment.options.timestamps = Some((value, 2));
        segment
    };
    // Linux has none in a SYN+ACK; it is sent again after a second.
    let syn = Segment { flags: flags::SYN | flags::ACK, length: 0, ..data(0, 0, 1) };
    let again = Segment { t_ns: 1000 * MS, ..syn };
    let seen = [(syn, 0), (behind(syn, 900), 0), (again, 0), (behind(again, 900), 0)];
    assert_eq!(judge(&seen), [false, true, false, true]);
    // Sent again, it has another time stamp; by the same path, the same TTL.
    let a = stamped(v6(data(0, 0, 1)), 7);
    let again = stamped(v6(data(300 * MS, 0, 1)), 307);
    let seen = [(a, 0), (behind(a, 200), 0), (again, 0), (behind(again, 5000), 0)];
    assert_eq!(judge(&seen), [false, true, false, true]);
    assert_eq!(judge(&[(a, 0), (Segment { t_ns: 300 * MS, ..a }, 0)]), [false, false]);
}

#[test]
fn a_queue_of_many_seconds_in_the_router() {
    let behind = |segment: Segment, ms| Segment { t_ns: segment.t_ns + ms * MS, ttl: 63, ..segment };
    let (a, b, again) = (data(0, 5, 1), data(MS, 6, 1001), data(9000 * MS, 7, 1));
    let seen =
        [(a, 0), (b, 0), (behind(a, 8000), 0), (behind(b, 8000), 0), (again, 0), (behind(again, 30_000), 0)];
    assert_eq!(judge(&seen), [false, false, true, true, false, true]);
    // Identifications that say nothing.
    let other = data(0, 5, 1001);
    let seen = [(a, 0), (other, 0), (Segment { ttl: 63, t_ns: 8000 * MS, ..a }, 0)];
    assert_eq!(judge(&seen), [false; 3]);
}

#[test]
fn one_point_and_no_evidence() {
    let a = data(0, 5, 1);
    // Identifications that say nothing: all alike, or none, or later than any copy comes.
    let other = data(0, 5, 1001);
    assert_eq!(judge(&[(a, 0), (other, 0), (a, 0), (a, 0)]), [false; 4]);
    assert_eq!(judge(&[(v6(a), 0), (v6(a), 0), (v6(a), 0)]), [false; 3]);
    let (b, again) = (data(0, 6, 1001), data(10 * MS, 6, 1001));
    assert_eq!(judge(&[(a, 0), (b, 0), (again, 0)]), [false; 3]);
}

#[test]
fn whatever_differs_is_another_packet() {
    let a = data(0, 5, 1);
    let mut stamped = a;
    stamped.options.timestamps = Some((1, 2));
    let mut sack = a;
    (sack.options.sack[0], sack.options.sack_count) = ((5, 6), 1);
    for other in [
        data(0, 6, 1),
        data(0, 5, 2),
        Segment { ack: 78, ..a },
        Segment { flags: flags::ACK | flags::FIN, ..a },
        Segment { length: 999, ..a },
        Segment { window: 1, ..a },
        Segment { source: (a.source.0, 5002), ..a },
        Segment { source: a.destination, destination: a.source, ..a },
        stamped,
        sack,
    ] {
        assert_eq!(judge(&[(a, 1), (other, 2)]), [false, false], "{other:?}");
    }
    // A router between the points lowers the TTL: still the same packet.
    assert_eq!(judge(&[(a, 1), (Segment { ttl: 9, ..a }, 2)]), [false, true]);
}

proptest::proptest! {
    /// A sender counts its packets, sends some of them again, and is captured at one point: nothing is a copy.
    #[test]
    fn no_retransmission_is_dropped(
        steps in proptest::collection::vec((0u32..20, 0i64..3), 1..300),
        numbering in 0u8..3,
    ) {
        let (mut t_ns, mut seen) = (0, Vec::new());
        for (index, (seq, wait)) in steps.into_iter().enumerate() {
            t_ns += wait * MS / 2;
            let id = [index as u16 + 1, 0, 4711][usize::from(numbering)];
            // With one number for all, what follows the same segment at once cannot be told; no sender does that.
            t_ns += if numbering == 2 { 3 * MS } else { 0 };
            seen.push((data(t_ns, id, seq), 0));
        }
        proptest::prop_assert!(judge(&seen).iter().all(|copy| !copy));
    }
}

#[test]
fn a_copy_thousands_of_packets_later() {
    // A router's two ports into one mirror, whose buffers put others between a packet and its copy.
    for (apart, known) in [(50, 0.9999), (1000, 0.9999), (5000, 0.999), (20_000, 0.95)] {
        let mut copies = Copies::default();
        let packet = |at: i64| {
            let flow = (at % 37) as u16;
            let mut one = data(at * 10_000, (at / 37 + 1) as u16, (at * 1000) as u32);
            one.source.1 += flow;
            one
        };
        let (count, mut first, mut again) = (40_000, 0, 0);
        for at in 0..count {
            first += i64::from(is_copy(&mut copies, packet(at), 0));
            if at >= apart {
                let copy =
                    Segment { ttl: blank().ttl.wrapping_sub(1), t_ns: at * 10_000 + 5, ..packet(at - apart) };
                again += i64::from(is_copy(&mut copies, copy, 0));
            }
        }
        assert_eq!(first, 0);
        assert!(again as f64 >= known * (count - apart) as f64, "{again} of {}", count - apart);
    }
}

#[test]
fn what_the_network_delivers_twice_arrived_twice() {
    // A packet in ten comes again at once, of one TTL: it counts.
    let mut copies = Copies::default();
    for at in 0..500i64 {
        let one = data(at * MS, at as u16 + 1, (at * 1000) as u32);
        assert!(!is_copy(&mut copies, one, 0));
        if at % 10 == 9 {
            assert!(!is_copy(&mut copies, Segment { t_ns: one.t_ns + 5000, ..one }, 0));
        }
    }
    // Of a mirror that loses a packet in four, each copy is known but the very first.
    let (mut copies, mut counted) = (Copies::default(), 0);
    for at in 0..500i64 {
        let one = data(at * MS, at as u16 + 1, (at * 1000) as u32);
        assert!(!is_copy(&mut copies, one, 0));
        if at % 4 != 3 {
            counted += i32::from(!is_copy(&mut copies, Segment { t_ns: one.t_ns + 5000, ..one }, 0));
        }
    }
    assert_eq!(counted, 1);
}
