//! Transfers over a simulated path, seen from its ends and from between: who waits for what, and how long it takes.

use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SIZE: i64 = 1000;
const HEADERS: i64 = 52;

/// A transfer, and where it is looked at.
#[derive(Clone, Copy)]
struct Transfer {
    /// Round trips between the sender and the point, and between the point and the receiver.
    near_ns: i64,
    far_ns: i64,
    /// What may be in flight, by the sender and by the receiver.
    cwnd: i64,
    rwnd: i64,
    /// Bytes that the application writes at a time, and how often; it writes that until `seconds` are over.
    piece: i64,
    every_ns: i64,
    /// Bits a second of the slowest link, and whether it is before the point.
    rate_bps: i64,
    before: bool,
    timestamps: bool,
    /// By how much the sender itself takes larger segments than its receiver.
    larger: i64,
    /// How much later than others the ACK of the end of a piece comes.
    late_ns: i64,
}

const DURATION_NS: i64 = 4_000_000_000;

impl Transfer {
    /// Bulk, and nothing that limits it but what is set.
    fn over(near_ms: i64, far_ms: i64) -> Self {
        Transfer {
            near_ns: near_ms * MS + 50_000,
            far_ns: far_ms * MS + 50_000,
            cwnd: 1 << 30,
            rwnd: 60_000,
            piece: 1 << 40,
            every_ns: 1 << 40,
            rate_bps: 1_000_000_000,
            before: false,
            timestamps: true,
            larger: 0,
            late_ns: 0,
        }
    }

    fn run(self) -> Connection {
        let mut talk = Talk::new(7);
        talk.timestamps = self.timestamps;
        let mut passed: Vec<(i64, Segment)> = Vec::new();
        let mut put = |talk: &mut Talk, t_ns: i64, from_a: bool, fill: &dyn Fn(&mut Segment)| {
            let mut segment = talk.blank(0, from_a);
            segment.t_ns = t_ns;
            fill(&mut segment);
            passed.push((t_ns, segment));
        };
        let stamp = |val_ns: i64, ecr_ns: i64| {
            self.timestamps.then_some(((val_ns / MS) as u32, (ecr_ns / MS) as u32))
        };
        let (isn_a, isn_b) = (talk.isn_a, talk.isn_b);
        let start = 10 * MS;
        for (t_ns, from_a, flag) in [
            (start, true, flags::SYN),
            (start + self.far_ns, false, flags::SYN | flags::ACK),
            (start + self.far_ns + self.near_ns, true, flags::ACK),
        ] {
            put(&mut talk, t_ns, from_a, &|s| {
                s.flags = flag;
                s.seq = if from_a { isn_a } else { isn_b };
                s.ack = if from_a { isn_b.wrapping_add(1) } else { isn_a.wrapping_add(1) };
                if flag == flags::ACK {
                    s.seq = isn_a.wrapping_add(1);
                } else {
                    let mss = SIZE + if from_a { self.larger } else { 0 };
                    s.options.mss = Some((mss + if self.timestamps { 12 } else { 0 }) as u16);
                }
                s.window = self.rwnd as u16;
                s.options.timestamps = stamp(if from_a { t_ns - self.near_ns / 2 } else { t_ns }, 0);
            });
        }
        let opened = start + self.far_ns + self.near_ns;
        // What happens at the sender: the application writes (no ACK), or an ACK arrives.
        let mut events = BinaryHeap::from([Reverse((opened, 0i64, 0i64))]);
        let (mut next, mut una, mut written, mut free_ns, mut heard_ns) = (0i64, 0i64, 0i64, 0i64, 0i64);
        while let Some(Reverse((t_ns, ack, ack_ns))) = events.pop() {
            if t_ns > DURATION_NS {
                break;
            }
            if ack == 0 {
                written += self.piece;
                events.push(Reverse((t_ns + self.every_ns, 0, 0)));
            } else {
                (una, heard_ns) = (una.max(ack), heard_ns.max(ack_ns));
            }
            while next < written && next - una + SIZE <= self.cwnd.min(self.rwnd) {
                let length = SIZE.min(written - next);
                let takes_ns = (length + HEADERS) * 8 * 1_000_000_000 / self.rate_bps;
                let on_link = |at_ns: i64, free_ns: i64| at_ns.max(free_ns) + takes_ns;
                let mut here_ns = t_ns + self.near_ns / 2;
                if self.before {
                    free_ns = on_link(here_ns, free_ns);
                    here_ns = free_ns;
                }
                let mut there_ns = here_ns + self.far_ns / 2;
                if !self.before {
                    free_ns = on_link(there_ns, free_ns);
                    there_ns = free_ns;
                }
                let (seq, last) = (next, next + length == written);
                put(&mut talk, here_ns, true, &|s| {
                    s.seq = isn_a.wrapping_add(1).wrapping_add(seq as u32);
                    s.ack = isn_b.wrapping_add(1);
                    s.flags = if last { flags::ACK | flags::PSH } else { flags::ACK };
                    (s.length, s.ip_length) = (length as u32, (length + HEADERS) as u32);
                    s.options.timestamps = stamp(t_ns, heard_ns);
                });
                next += length;
                let back_ns = there_ns + self.far_ns / 2 + if last { self.late_ns } else { 0 };
                let end = next;
                put(&mut talk, back_ns, false, &|s| {
                    s.seq = isn_b.wrapping_add(1);
                    s.ack = isn_a.wrapping_add(1).wrapping_add(end as u32);
                    s.window = self.rwnd as u16;
                    s.options.timestamps = stamp(there_ns, t_ns);
                });
                events.push(Reverse((back_ns + self.near_ns / 2, end, there_ns)));
            }
        }
        passed.sort_by_key(|(t_ns, _)| *t_ns);
        passed.iter().for_each(|(_, segment)| talk.tracker.segment(segment));
        talk.done().0.remove(0)
    }
}

fn mostly(connection: &Connection) -> (Limit, f64) {
    let shares = PathReport::of(connection, 0).limits.expect("it took time").shares();
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6);
    let all = [
        Limit::Application,
        Limit::ReceiverWindow,
        Limit::CongestionWindow,
        Limit::Bandwidth,
        Limit::LossRecovery,
        Limit::Handshake,
        Limit::Unknown,
    ];
    let (limit, share) = all.into_iter().zip(shares).max_by(|a, b| a.1.total_cmp(&b.1)).expect("some");
    (limit, share)
}

/// What a direction's round trips came to, of the only connection of a conversation.
fn round_trip_of(talk: Talk, direction: usize) -> RoundTrip {
    let (connections, _) = talk.done();
    PathReport::of(&connections[0], direction).round_trip.expect("ACKs")
}

/// What limited it.
fn limits_of(talk: Talk, direction: usize) -> Limits {
    let (connections, _) = talk.done();
    PathReport::of(&connections[0], direction).limits.expect("it took time")
}

/// At the sender, in the middle, at the receiver.
const PLACES: [(i64, i64); 3] = [(0, 40), (20, 20), (40, 0)];

fn from_everywhere(change: impl Fn(&mut Transfer), expected: Limit) {
    for (near_ms, far_ms) in PLACES {
        for timestamps in [true, false] {
            let mut transfer = Transfer { timestamps, ..Transfer::over(near_ms, far_ms) };
            change(&mut transfer);
            let (limit, share) = mostly(&transfer.run());
            assert!(limit == expected && share > 0.7, "{near_ms} {far_ms} {timestamps}: {limit:?} {share}");
        }
    }
}

#[test]
fn an_application_that_pauses() {
    from_everywhere(|t| (t.piece, t.every_ns) = (5300, 300 * MS), Limit::Application);
}

#[test]
fn an_application_that_writes_while_data_is_under_way() {
    from_everywhere(|t| (t.piece, t.every_ns) = (700, 33 * MS), Limit::Application);
}

/// All segments are full then, and each has PSH.
#[test]
fn an_application_that_writes_a_full_segment_at_a_time() {
    from_everywhere(|t| (t.piece, t.every_ns) = (SIZE, 3 * MS), Limit::Application);
}

/// Four full segments are in flight; ten fit into any congestion window before a loss.
#[test]
fn no_congestion_window_limits_what_fits_into_the_first() {
    for timestamps in [true, false] {
        let mut transfer = Transfer { timestamps, ..Transfer::over(0, 40) };
        // An ACK comes just before each write.
        (transfer.piece, transfer.every_ns) = (SIZE, 10 * MS + 40_000);
        let limits = PathReport::of(&transfer.run(), 0).limits.expect("it took time");
        let at_window_ns = limits.ns[Limit::CongestionWindow as usize] - limits.after_data_ns;
        assert!(at_window_ns < 0.02 * limits.total_ns(), "{timestamps}: {at_window_ns}");
    }
}

#[test]
fn full_segments_written_faster_than_the_link_takes_them() {
    from_everywhere(
        |t| (t.piece, t.every_ns, t.cwnd, t.rate_bps) = (SIZE, MS, 50_000, 4_000_000),
        Limit::Bandwidth,
    );
}

#[test]
fn a_small_window_of_the_receiver() {
    from_everywhere(|t| t.rwnd = 8000, Limit::ReceiverWindow);
}

#[test]
fn a_congestion_window_that_is_full() {
    from_everywhere(|t| t.cwnd = 20_000, Limit::CongestionWindow);
}

#[test]
fn a_link_that_is_full() {
    for before in [false, true] {
        from_everywhere(|t| (t.cwnd, t.rate_bps, t.before) = (50_000, 4_000_000, before), Limit::Bandwidth);
    }
    for (near_ms, far_ms) in PLACES {
        for before in [false, true] {
            let connection =
                Transfer { cwnd: 50_000, rate_bps: 4_000_000, before, ..Transfer::over(near_ms, far_ms) };
            let told = PathReport::of(&connection.run(), 0).bottleneck.expect("enough data");
            let rate = told.rate_bps.expect("a rate");
            assert!((rate / 4e6 - 1.0).abs() < 0.1, "{rate}");
            assert!(told.full_share.expect("trains") > 0.8);
            // 50 KB take 105 ms at that rate, of which the path itself is 40.
            let (median_ns, _) = told.standing_queue_ns.expect("a queue");
            assert!((40e6..80e6).contains(&median_ns), "{near_ms} {before} {median_ns}");
        }
    }
}

/// The smaller MSS of both SYNs is what neither sends more of (RFC 9293 section 3.7.1): full segments end no write.
#[test]
fn a_receiver_that_takes_smaller_segments_than_the_sender() {
    from_everywhere(|t| (t.cwnd, t.rate_bps, t.larger) = (50_000, 4_000_000, 460), Limit::Bandwidth);
    from_everywhere(|t| (t.cwnd, t.larger) = (20_000, 460), Limit::CongestionWindow);
}

/// What the first and the last round trip take is no time in which the link was full.
#[test]
fn no_link_is_full_for_longer_than_it_needs() {
    for piece in [100_000, 200_000, 400_000] {
        for (near_ms, far_ms) in [(0, 120), (60, 60)] {
            let short =
                Transfer { piece, cwnd: 90_000, rate_bps: 4_000_000, ..Transfer::over(near_ms, far_ms) };
            let report = PathReport::of(&short.run(), 0);
            let (bottleneck, limits) =
                (report.bottleneck.expect("enough data"), report.limits.expect("data"));
            let away = [Limit::Application, Limit::Handshake, Limit::Unknown];
            let shares = limits.shares();
            let busy = 1.0 - away.iter().map(|&limit| shares[limit as usize]).sum::<f64>();
            let full_s = bottleneck.full_share.expect("trains") * busy * limits.total_ns() / 1e9;
            let needed_s = (piece + piece / SIZE * HEADERS) as f64 * 8.0 / 4e6;
            assert!(full_s <= needed_s * 1.03, "{piece} {near_ms}: {full_s} {needed_s}");
        }
    }
}

/// The last ACK was lost, and a later one came: all data had crossed the link long before.
#[test]
fn no_link_is_full_while_the_last_ack_is_awaited() {
    for late_ns in [0, 400 * MS] {
        let transfer =
            Transfer { piece: 1_000_000, cwnd: 50_000, rate_bps: 4_000_000, ..Transfer::over(0, 40) };
        let report = PathReport::of(&Transfer { late_ns, ..transfer }.run(), 0);
        let limits = report.limits.expect("data");
        let full_ns = limits.ns[Limit::Bandwidth as usize];
        let needed_ns = (1_000_000 / SIZE * (SIZE + HEADERS)) as f64 * 8e9 / 4e6;
        assert!((full_ns / needed_ns - 1.0).abs() < 0.05, "{late_ns}: {full_ns} {needed_ns}");
        assert!(limits.after_data_ns >= 0.9 * late_ns as f64, "{late_ns}: {}", limits.after_data_ns);
    }
}

/// A link of a segment each 5 ms with a queue, and a loss of every other segment of forty: without SACK one is repaired in each
/// RTT of 60 ms, and the link has little to carry meanwhile.
#[test]
fn what_arrives_in_recovery_is_what_the_link_carried_then() {
    let mut talk = Talk::new(1);
    talk.handshake(false);
    let mut all = Vec::new();
    let (mut arrived, mut t_ms) = (0, 1000);
    let evenly = |all: &mut Vec<(i64, bool, i64)>, t_ms: i64, places: std::ops::Range<i64>| {
        for (after, place) in (0..).zip(places) {
            all.push((t_ms + 5 * after, true, place));
            all.push((t_ms + 5 * after + 60, false, place + 1));
        }
    };
    evenly(&mut all, t_ms, 0..400);
    t_ms += 2000;
    for place in 400..440 {
        all.push((t_ms + 5 * (place - 400), true, place));
        if place % 2 == 1 {
            all.push((t_ms + 5 * (place - 400) + 60, false, 400));
        }
    }
    t_ms += 201;
    for place in (400..440).step_by(2) {
        all.push((t_ms, true, place));
        all.push((t_ms + 60, false, place + 2));
        t_ms += 61;
    }
    evenly(&mut all, t_ms, 440..840);
    all.sort_by_key(|&(t_ms, data, _)| (t_ms, data));
    for (t_ms, data, place) in all {
        if data {
            talk.data(t_ms, 1 + 1000 * place, 1000);
        } else {
            arrived = place.max(arrived);
            talk.ack(t_ms, 1 + 1000 * place, &[]);
        }
    }
    assert_eq!(arrived, 840);
    let limits = limits_of(talk, 0);
    let recovery_ms = limits.ns[Limit::LossRecovery as usize] / 1e6;
    // Twenty rounds of 61 ms, in which the link needs 5 ms for what is repaired.
    assert!((900.0..1300.0).contains(&recovery_ms), "{recovery_ms}");
}

/// No timestamps, the queue before the point, and the link so slow that a segment takes half of the round trip seen.
#[test]
fn a_slow_link_that_is_full_before_the_receiver() {
    for rate_bps in [1_300_000, 1_500_000] {
        let slow =
            Transfer { cwnd: 50_000, rate_bps, before: true, timestamps: false, ..Transfer::over(10, 0) };
        let connection = slow.run();
        let (limit, share) = mostly(&connection);
        assert!(limit == Limit::Bandwidth && share > 0.7, "{rate_bps}: {limit:?} {share}");
        let told = PathReport::of(&connection, 0).bottleneck.expect("enough data");
        let rate = told.rate_bps.expect("a rate");
        assert!((rate / rate_bps as f64 - 1.0).abs() < 0.05, "{rate}");
    }
}

#[test]
fn halves_are_within_their_bounds() {
    for (near_ms, far_ms) in [(0, 40), (3, 37), (20, 20), (40, 0), (1, 0)] {
        for timestamps in [true, false] {
            let transfer = Transfer { timestamps, cwnd: 8000, ..Transfer::over(near_ms, far_ms) };
            let told = PathReport::of(&transfer.run(), 0).round_trip.expect("ACKs");
            for (half, exact_ns) in
                [(told.toward_receiver, transfer.far_ns), (told.toward_sender, transfer.near_ns)]
            {
                let (low_ns, high_ns) = half.bound_ns.expect("a bound");
                assert!(
                    low_ns <= exact_ns + 10_000 && exact_ns - 10_000 <= high_ns,
                    "{low_ns} {exact_ns} {high_ns}"
                );
            }
        }
    }
}

/// ACKs of 1000 and 1010 ms pass, those of 990 ms behind them; one of 1010 again is no news, whose echo would be early.
#[test]
fn an_ack_that_was_overtaken_makes_no_other_newer() {
    let mut talk = Talk::new(7);
    talk.timestamps = true;
    for place in 0..20 {
        talk.data(200 + 100 * place, 1 + 1000 * place, 1000);
        talk.ack(240 + 100 * place, 1001 + 1000 * place, &[]);
    }
    let echo = |talk: &mut Talk, t_ms: i64, place: i64, ecr: u32| {
        let mut data = talk.blank(t_ms, true);
        (data.seq, data.ack, data.length) = (talk.isn_a + 1 + 1000 * place as u32, talk.isn_b + 1, 1000);
        data.options.timestamps = Some((t_ms as u32, ecr));
        talk.tracker.segment(&data);
    };
    let ack = |talk: &mut Talk, t_ms: i64, val: u32| {
        let mut ack = talk.blank(t_ms, false);
        (ack.seq, ack.ack) = (talk.isn_b + 1, talk.isn_a + 20_001);
        ack.options.timestamps = Some((val, 0));
        talk.tracker.segment(&ack);
    };
    ack(&mut talk, 3000, 3000);
    echo(&mut talk, 3050, 20, 3000);
    ack(&mut talk, 3060, 3060);
    echo(&mut talk, 3110, 21, 3060);
    ack(&mut talk, 3120, 3120);
    ack(&mut talk, 3121, 3130);
    echo(&mut talk, 3170, 22, 3120);
    ack(&mut talk, 3172, 3119);
    ack(&mut talk, 3173, 3130);
    echo(&mut talk, 3174, 23, 3130);
    let told = round_trip_of(talk, 0);
    assert_eq!(told.toward_sender.min_ns, Some(50 * MS));
}

/// Round trips one after the other, past a point with jitter on both sides: each takes so long to the receiver and back, and
/// then to the sender and back, nanoseconds; the first is the handshake. Every data segment, of so many bytes, echoes the ACK
/// before it, and ends a write if it is short.
fn rounds(mut halves: impl Iterator<Item = (i64, i64)>, size: u32) -> RoundTrip {
    let mut talk = Talk::new(7);
    let (isn_a, isn_b) = (talk.isn_a, talk.isn_b);
    let stamp = |t_ns: i64| (t_ns / 1000) as u32;
    let (far_ns, near_ns) = halves.next().expect("a handshake");
    let mut t_ns = far_ns + near_ns;
    for (at_ns, from_a, flag) in
        [(0, true, flags::SYN), (far_ns, false, flags::SYN | flags::ACK), (t_ns, true, flags::ACK)]
    {
        let mut segment = talk.blank(0, from_a);
        (segment.t_ns, segment.flags) = (at_ns, flag);
        segment.seq = if from_a { isn_a + u32::from(flag == flags::ACK) } else { isn_b };
        segment.ack = if from_a { isn_b + 1 } else { isn_a + 1 };
        segment.options.timestamps = Some((stamp(at_ns), if from_a { stamp(far_ns) } else { 0 }));
        segment.options.mss = (flag != flags::ACK).then_some(1012);
        talk.tracker.segment(&segment);
    }
    let mut echo = stamp(far_ns);
    for (place, (far_ns, near_ns)) in halves.enumerate() {
        let seq = isn_a + 1 + size * place as u32;
        let mut data = talk.blank(0, true);
        (data.t_ns, data.seq, data.ack) = (t_ns, seq, isn_b + 1);
        (data.length, data.ip_length) = (size, size + 52);
        data.options.timestamps = Some((stamp(t_ns), echo));
        data.flags = if size < 1000 { flags::ACK | flags::PSH } else { flags::ACK };
        talk.tracker.segment(&data);
        t_ns += far_ns;
        echo = stamp(t_ns);
        let mut ack = talk.blank(0, false);
        (ack.t_ns, ack.seq, ack.ack) = (t_ns, isn_b + 1, seq + size);
        ack.options.timestamps = Some((echo, data.options.timestamps.expect("its own").0));
        talk.tracker.segment(&ack);
        t_ns += near_ns;
    }
    let (connections, _) = talk.done();
    PathReport::of(&connections[0], 0).round_trip.expect("ACKs")
}

/// The halves are at their best at different times: none of the round trips took their sum.
#[test]
fn the_smallest_round_trip_is_one_that_packets_made() {
    let late = |most: i64, place: i64| if place < 60 { (3 * MS, most) } else { (most, 3 * MS) };
    let told = rounds((0..120).map(|place| late(4 * MS, place)), 1000);
    assert_eq!([told.toward_receiver.min_ns, told.toward_sender.min_ns], [Some(3 * MS); 2]);
    assert_eq!((told.base_ns, told.base_at_most), (Some(7 * MS), false));
    // Where both halves were far shorter at some time, others may have been shorter as a whole.
    let apart = rounds((0..120).map(|place| late(9 * MS, place)), 1000);
    assert_eq!((apart.base_ns, apart.base_at_most), (Some(12 * MS), true));
    // An ACK of its last data and the data that it releases go round, too: 2 and 3 ms.
    let turned =
        rounds((0..120).map(|place| if place == 60 { (9 * MS, 2 * MS) } else { (3 * MS, 9 * MS) }), 1000);
    assert_eq!(turned.base_ns, Some(5 * MS));
    // Next to an end, its half is as good as none.
    let beside = rounds((0..120).map(|place| (20 * MS, if place == 7 { 10_000 } else { 400_000 })), 1000);
    assert_eq!((beside.base_ns, beside.base_at_most), (Some(20 * MS + 10_000), false));
    // One that is short beside the other, but not that short, has jitter of its own.
    let short = |place: i64| if place < 60 { (8 * MS, 900_000) } else { (8 * MS + 400_000, 500_000) };
    let told = rounds((0..120).map(short), 1000);
    assert_eq!((told.base_ns, told.base_at_most), (Some(8_900_000), false));
}

/// A receiver that acknowledges every second segment delays the ACK of an odd one: no queue shows in it.
#[test]
fn a_delayed_ack_is_no_queue() {
    for behind in [false, true] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        for place in 0..60 {
            let (t_ms, seq) = (200 + 100 * place, 1 + 4000 * place);
            for part in 0..3 {
                talk.data(t_ms, seq + 1000 * part, 1000);
            }
            talk.ack(t_ms + 20, seq + 2000, &[]);
            // What comes behind it was sent before its ACK, or after.
            if behind {
                talk.data(t_ms + 50, seq + 3000, 1000);
            }
            talk.ack(t_ms + 62, seq + 3000, &[]);
            if !behind {
                talk.data(t_ms + 64, seq + 3000, 1000);
            }
            talk.ack(t_ms + if behind { 70 } else { 84 }, seq + 4000, &[]);
        }
        let found = round_trip_of(talk, 0);
        let (median_ns, p95_ns) = (found.median_ns.expect("ACKs"), found.p95_ns.expect("ACKs"));
        assert!((19e6..22e6).contains(&median_ns) && p95_ns < 22e6, "{behind}: {median_ns} {p95_ns}");
    }
}

/// Every segment is acknowledged, and the round trip has become longer: it shows in all ACKs but one.
#[test]
fn a_queue_is_no_delayed_ack() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    for place in 0..200 {
        let (t_ms, took_ms) = (200 + 10 * place, if place < 60 { 20 } else { 70 });
        talk.data(t_ms, 1 + 1000 * place, 1000);
        if place >= 7 {
            talk.ack(t_ms - 70 + took_ms, 1 + 1000 * (place - 6), &[]);
        }
    }
    let found = round_trip_of(talk, 0);
    let median_ns = found.median_ns.expect("ACKs");
    assert!((65e6..75e6).contains(&median_ns), "{median_ns}");
}

/// A link that takes longer for one segment than a receiver delays an ACK: a queue grows by that with each of them, or
/// each is alone on its way.
#[test]
fn a_slow_link_delays_no_ack() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    // Segments leave in pairs, each of which an ACK released; the link needs 90 ms for one.
    for place in 0..40 {
        talk.data(200 + 180 * (place / 2) + place % 2, 1 + 2000 * place, 1000);
        talk.data(201 + 180 * (place / 2) + place % 2, 1001 + 2000 * place, 1000);
    }
    for place in 0..80 {
        talk.ack(310 + 90 * place, 1001 + 1000 * place, &[]);
    }
    let found = round_trip_of(talk, 0);
    assert!(found.delayed_acks <= 1, "{}", found.delayed_acks);

    let mut talk = Talk::new(7);
    talk.handshake(true);
    for place in 0..100 {
        talk.data(200 + 200 * place, 1 + 1000 * place, 1000);
        talk.ack(310 + 200 * place, 1001 + 1000 * place, &[]);
    }
    let found = round_trip_of(talk, 0);
    let median_ns = found.median_ns.expect("ACKs");
    assert!((105e6..115e6).contains(&median_ns), "{median_ns} {}", found.delayed_acks);
}

/// The smallest round trip is that of a SYN, and there are few others: a full segment takes 16.8 ms longer without any queue.
#[test]
fn a_queue_of_at_least_so_much_is_no_longer_than_segments_wait() {
    for (near_ms, far_ms) in [(20, 20), (40, 0)] {
        let mut transfer = Transfer { rate_bps: 500_000, before: true, ..Transfer::over(near_ms, far_ms) };
        transfer.rwnd = 20 * SIZE;
        let report = PathReport::of(&transfer.run(), 0);
        assert!(report.round_trip.expect("ACKs").base_at_most);
        let (median_ns, _) =
            report.bottleneck.expect("it is full").standing_queue_ns.expect("it is measured");
        let waited_ns = 19.0 * (SIZE + HEADERS) as f64 * 8e9 / 500_000.0 - 40e6;
        assert!((waited_ns - 15e6..waited_ns + 5e6).contains(&median_ns), "{median_ns} {waited_ns}");
    }
}

/// Next to the sender, the smallest round trip is that of the SYN: what the link needs for a segment is no wait in its queue.
#[test]
fn a_queue_is_no_longer_than_what_waits_in_it() {
    let mut transfer = Transfer { rate_bps: 1_000_000, ..Transfer::over(0, 40) };
    transfer.rwnd = 20 * SIZE;
    let report = PathReport::of(&transfer.run(), 0);
    assert!(!report.round_trip.expect("ACKs").base_at_most);
    let found = report.bottleneck.expect("it is full");
    let (median_ns, p95_ns) = found.standing_queue_ns.expect("it is measured");
    let segment_ns = (SIZE + HEADERS) as f64 * 8e9 / 1e6;
    let waited_ns = 19.0 * segment_ns - 40e6;
    // RTTs are counted in buckets of 2%.
    assert!((waited_ns - 4e6..1.02 * waited_ns).contains(&median_ns), "{median_ns} {waited_ns}");
    assert!(p95_ns < 1.04 * waited_ns, "{p95_ns} {waited_ns}");
}

/// Of a half that nothing measured but the handshake, and data that waited for its application, an upper bound is known.
#[test]
fn a_handshake_and_pauses_do_not_show_the_least() {
    let paused = |place: i64| if place == 0 { (2 * MS, 15 * MS) } else { (3 * MS, 105 * MS - place * 1000) };
    let told = rounds((0..60).map(paused), 700);
    assert_eq!((told.base_ns, told.base_at_most), (Some(17 * MS), true));
    // Nor is what the whole took known, where the handshake proves to have been late.
    assert!(told.median_ns.is_some());
    let sooner = |place: i64| if place == 40 { (3 * MS, 6 * MS) } else { paused(place) };
    let told = rounds((0..60).map(sooner), 700);
    assert_eq!((told.base_ns, told.base_at_most, told.median_ns), (Some(9 * MS), true, None));
}

/// Data that was sent and passes at these times and echoes an ACK of another, next to its sender; each is acknowledged 50 us
/// later. The clocks of both hosts tick in milliseconds.
fn stamped(data: impl Iterator<Item = (i64, i64, i64)>) -> RoundTrip {
    stamped_at(50_000, 10_000, data)
}

/// The same where ACKs of data pass so long after that, and the answer to the SYN+ACK so long after it.
fn stamped_at(far_ns: i64, near_ns: i64, data: impl Iterator<Item = (i64, i64, i64)>) -> RoundTrip {
    let mut talk = Talk::new(7);
    talk.ttl_b = 57;
    let mut passed = Vec::new();
    let mut put =
        |talk: &mut Talk, t_ns: i64, from_a: bool, stamps: (i64, i64), fill: &dyn Fn(&mut Segment)| {
            let mut segment = talk.blank(0, from_a);
            segment.t_ns = t_ns;
            segment.options.timestamps = Some(((stamps.0 / MS) as u32 + 5, (stamps.1 / MS) as u32 + 5));
            fill(&mut segment);
            passed.push(segment);
        };
    let (isn_a, isn_b) = (talk.isn_a, talk.isn_b);
    put(&mut talk, 0, true, (0, 0), &|s| (s.seq, s.flags) = (isn_a, flags::SYN));
    put(&mut talk, 10_000, false, (0, 0), &|s| {
        (s.seq, s.ack, s.flags) = (isn_b, isn_a + 1, flags::SYN | flags::ACK)
    });
    put(&mut talk, 10_000 + near_ns, true, (0, 0), &|s| (s.seq, s.ack) = (isn_a + 1, isn_b + 1));
    for (place, (sent_ns, passed_ns, echoed_ns)) in data.enumerate() {
        let seq = isn_a + 1 + 1000 * place as u32;
        put(&mut talk, passed_ns, true, (sent_ns, echoed_ns), &|s| {
            (s.seq, s.ack, s.length, s.ip_length) = (seq, isn_b + 1, 1000, 1052);
        });
        put(&mut talk, passed_ns + far_ns, false, (passed_ns, sent_ns), &|s| {
            (s.seq, s.ack) = (isn_b + 1, seq + 1000);
        });
    }
    passed.sort_by_key(|segment| segment.t_ns);
    passed.iter().for_each(|segment| talk.tracker.segment(segment));
    let (connections, _) = talk.done();
    PathReport::of(&connections[0], 0).round_trip.expect("ACKs")
}

/// What is sent in bursts echoes few ACKs, and nothing that passes later is measured by them.
#[test]
fn the_queue_of_the_sender_itself_is_measured_by_its_clock() {
    let told = stamped((0..600).map(|place| {
        let passed_ns = 10 * MS + place * MS + 3_000 * (place % 7);
        let queue_ns = (place * MS / 2).min(30 * MS);
        let burst_ns = (passed_ns - queue_ns) / (40 * MS) * (40 * MS);
        (passed_ns - queue_ns, passed_ns, burst_ns)
    }));
    let (median_ns, p95_ns) = (told.median_ns.expect("a clock"), told.p95_ns.expect("a clock"));
    assert!((28e6..33e6).contains(&median_ns) && (28e6..33e6).contains(&p95_ns), "{median_ns} {p95_ns}");
}

/// The queue before the point is full from the SYN on, 80 ms, and half empty for a moment: only then its clock shows that all
/// data had waited, and what was taken as the time of ACKs is the same time.
#[test]
fn a_queue_that_stood_from_the_first_packet_on_counts_once() {
    let queue_ns = |sent_ns: i64| if (600 * MS..660 * MS).contains(&sent_ns) { 40 * MS } else { 80 * MS };
    let passes: Vec<(i64, i64)> = (0..260)
        .map(|place| {
            let sent_ns = 5 * place * MS;
            (sent_ns, 100 * MS + 5 * MS + sent_ns + queue_ns(sent_ns))
        })
        .collect();
    // An ACK passes 12 ms later and takes 5 ms to the sender, whose clock began at the SYN, 85 ms before that passed.
    let data = passes.iter().map(|&(sent_ns, passed_ns)| {
        let heard = passes.iter().rev().find(|(_, passed)| passed + 17 * MS <= 100 * MS + sent_ns);
        (100 * MS + sent_ns + 85 * MS, passed_ns, heard.map_or(0, |(_, passed)| *passed))
    });
    let told = stamped_at(12 * MS, 90 * MS, data);
    let (median_ns, p95_ns) = (told.median_ns.expect("a clock"), told.p95_ns.expect("a clock"));
    assert!((98e6..110e6).contains(&median_ns) && p95_ns < 112e6, "{median_ns} {p95_ns}");
}

/// The SYN met no queue before the point, its answer's answer 10 ms of one, and all data 30 ms: that always stood there.
#[test]
fn a_queue_that_stands_for_all_data_shows_by_the_handshake() {
    let passed_ns = |place: i64| place * 20_370_000 + 30_010_000;
    let told = stamped_at(
        50_000,
        10 * MS,
        (2..200).map(|place| (place * 20_370_000, passed_ns(place), passed_ns(place - 2))),
    );
    let (median_ns, p95_ns) = (told.median_ns.expect("a clock"), told.p95_ns.expect("a clock"));
    assert!((28e6..32e6).contains(&median_ns) && (28e6..32e6).contains(&p95_ns), "{median_ns} {p95_ns}");
}

/// Next to the sender, less than two packets are in flight of a full link: they wait before this point.
#[test]
fn the_queue_of_the_sender_itself_is_in_no_round_trip_without_timestamps() {
    for (before, timestamps) in [(true, false), (true, true), (false, false)] {
        let transfer = Transfer { rate_bps: 300_000, before, timestamps, ..Transfer::over(0, 10) };
        let found = PathReport::of(&transfer.run(), 0).round_trip.expect("ACKs");
        assert_eq!(found.without_own_queue, before && !timestamps, "{before} {timestamps}");
    }
}

/// The ACK of the handshake never came, and the first data 400 ms later: 30 ms are of the handshake. A late ACK is all of it.
#[test]
fn the_handshake_takes_no_longer_than_its_round_trip_where_data_answers_it() {
    for late_ack in [false, true] {
        let mut talk = Talk::new(7);
        talk.ttl_b = 57;
        let (isn_a, isn_b) = (talk.isn_a, talk.isn_b);
        let mut pass = |t_ns: i64, from_a: bool, stamps: (i64, i64), fill: &dyn Fn(&mut Segment)| {
            talk.pass(t_ns, from_a, &|s| {
                s.options.timestamps = Some(((stamps.0 / MS) as u32 + 5, (stamps.1 / MS) as u32 + 5));
                fill(s);
            });
        };
        pass(0, true, (0, 0), &|s| (s.seq, s.flags) = (isn_a, flags::SYN));
        pass(10_000, false, (0, 0), &|s| {
            (s.seq, s.ack, s.flags) = (isn_b, isn_a + 1, flags::SYN | flags::ACK)
        });
        if late_ack {
            pass(400 * MS, true, (399 * MS, 0), &|s| (s.seq, s.ack) = (isn_a + 1, isn_b + 1));
        }
        for place in 0..40 {
            let t_ns = (400 + 30 * place) * MS + 10_000;
            let seq = isn_a + 1 + 1000 * place as u32;
            pass(t_ns, true, (t_ns - 15 * MS, if place > 0 { t_ns - 30 * MS } else { 0 }), &|s| {
                (s.seq, s.ack, s.length, s.ip_length) = (seq, isn_b + 1, 1000, 1052);
            });
            pass(t_ns + 50_000, false, (t_ns, t_ns - 15 * MS), &|s| {
                (s.seq, s.ack) = (isn_b + 1, seq + 1000);
            });
        }
        let limits = limits_of(talk, 0);
        let opening_ms = limits.ns[Limit::Handshake as usize] / 1e6;
        let expected = if late_ack { (400.0, 0.0) } else { (30.0, 370.0) };
        assert!((opening_ms - expected.0).abs() < 2.0, "{late_ack} {opening_ms}");
        assert!((limits.before_data_ns / 1e6 - expected.1).abs() < 2.0, "{late_ack} {limits:?}");
    }
}

/// At the receiver, without timestamps: clumps of segments that a link of 20 Mbit/s spread unevenly, each of another length and
/// as far from the next as the link needs for it. What comes as far apart however long it is may be a window, in a few round trips.
#[test]
fn a_rate_that_no_window_keeps_for_so_long_is_a_link_s() {
    for (clumps, expected) in [(240, Limit::Bandwidth), (30, Limit::CongestionWindow)] {
        let mut talk = Talk::new(7);
        talk.ttl_b = 57;
        let (isn_a, isn_b) = (talk.isn_a, talk.isn_b);
        let mut pass = |t_ns: i64, from_a: bool, fill: &dyn Fn(&mut Segment)| talk.pass(t_ns, from_a, fill);
        pass(0, true, &|s| (s.seq, s.flags) = (isn_a, flags::SYN));
        pass(10_000, false, &|s| (s.seq, s.ack, s.flags) = (isn_b, isn_a + 1, flags::SYN | flags::ACK));
        pass(8_500_000, true, &|s| (s.seq, s.ack) = (isn_a + 1, isn_b + 1));
        let (mut seq, mut t_ns) = (isn_a + 1, 9 * MS);
        for clump in 0..clumps {
            let segments = 7 + (clump * 5) % 4;
            for place in 0..segments {
                let at_ns = t_ns + place * 60_000 + (place * place * clump * 7919) % 40_000;
                let last = place + 1 == segments;
                pass(at_ns, true, &|s| {
                    s.flags = if last { flags::ACK | flags::PSH } else { flags::ACK };
                    (s.seq, s.ack, s.length, s.ip_length) = (seq, isn_b + 1, 1460, 1500);
                });
                seq += 1460;
                pass(at_ns + 8_000, false, &|s| (s.seq, s.ack) = (isn_b + 1, seq));
            }
            t_ns += if clumps > 30 { segments * 600_000 } else { 5_100_000 };
        }
        let (connections, _) = talk.done();
        let (limit, share) = mostly(&connections[0]);
        assert!(limit == expected && share > 0.7, "{clumps}: {limit:?} {share}");
    }
}

/// What an application writes long after the last ACK echoes it late, and passes at any time within a tick of its clock.
#[test]
fn neither_a_pause_nor_a_tick_is_a_round_trip() {
    let told = stamped((1..200).map(|place| {
        let t_ns = place * 20_370_000;
        (t_ns, t_ns + 10_000, t_ns - 20_360_000)
    }));
    let (median_ns, p95_ns) = (told.median_ns.expect("its ACKs"), told.p95_ns.expect("its ACKs"));
    assert!(median_ns < 100e3 && p95_ns < 100e3, "{median_ns} {p95_ns}");
}

/// While a lost segment is missing, SACK blocks measure what waits behind the others (as in Linux): nothing else does.
#[test]
fn loss_recovery_measures_the_queue() {
    let mut talk = Talk::new(7);
    talk.handshake(true);
    for place in 0..20 {
        talk.data(200 + 5 * place, 1 + 1000 * place, 1000);
    }
    for place in 0..20 {
        talk.ack(300 + 5 * place, 1001 + 1000 * place, &[]);
    }
    // The queue has grown to 80 ms; the first segment is lost, and comes again behind all others.
    for place in 20..80 {
        talk.data(400 + 2 * (place - 20), 1 + 1000 * place, 1000);
    }
    for place in 21..80 {
        talk.ack(580 + 2 * (place - 20), 20_001, &[(21_001, 1001 + 1000 * place)]);
    }
    talk.data(700, 20_001, 1000);
    talk.ack(880, 80_001, &[]);
    let found = round_trip_of(talk, 0);
    assert_eq!(found.base_ns, Some(100 * MS));
    let median_ns = found.median_ns.expect("a capture at the sender");
    assert!((160e6..190e6).contains(&median_ns), "{median_ns}");
    assert!(found.timed_share.is_some_and(|share| share > 0.9));
}

/// Without SACK, the ACK that ends a recovery does not show which copy it answers, and measures nothing of what it covers.
#[test]
fn recovery_without_sack_is_seldom_timed() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    for place in 0..20 {
        talk.data(200 + 5 * place, 1 + 1000 * place, 1000);
        talk.ack(300 + 5 * place, 1001 + 1000 * place, &[]);
    }
    for place in 20..80 {
        talk.data(400 + 2 * (place - 20), 1 + 1000 * place, 1000);
    }
    (21..80).for_each(|place| talk.ack(580 + 2 * (place - 20), 20_001, &[]));
    talk.data(700, 20_001, 1000);
    talk.ack(880, 80_001, &[]);
    let found = round_trip_of(talk, 0);
    assert!(found.timed_share.is_some_and(|share| share < 0.3), "{:?}", found.timed_share);
}

/// Away from the sender, the half toward it is not known to be what it was in the handshake.
#[test]
fn without_timestamps_only_the_sender_shows_the_whole() {
    for (near_ms, known) in [(0, true), (3, false), (20, false)] {
        let transfer = Transfer { timestamps: false, cwnd: 8000, ..Transfer::over(near_ms, 40 - near_ms) };
        let told = PathReport::of(&transfer.run(), 0).round_trip.expect("ACKs");
        assert_eq!((told.median_ns.is_some(), told.p95_ns.is_some()), (known, known), "{near_ms}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever limits it, shares come to a whole, and none is negative.
    #[test]
    fn shares_are_a_whole(
        near in 0i64..50, far in 0i64..50, cwnd in 2000i64..90_000, rwnd in 2000i64..60_000, piece in 500i64..80_000,
        every in 1i64..500, rate in 500_000i64..50_000_000, before: bool, timestamps: bool,
    ) {
        let transfer = Transfer {
            cwnd, rwnd, piece, every_ns: every * MS, rate_bps: rate, before, timestamps, ..Transfer::over(near, far)
        };
        let limits = PathReport::of(&transfer.run(), 0).limits.unwrap();
        prop_assert!(limits.ns.iter().all(|ns| *ns >= 0.0));
        prop_assert!((limits.shares().iter().sum::<f64>() - 1.0).abs() < 1e-6);
    }
}

/// What is left of the window is less than a segment: nothing is sent until the timer fills it (RFC 9293 section 3.8.6.1).
#[test]
fn what_is_left_of_a_window_waits_for_the_persist_timer() {
    let mut talk = Talk::new(7);
    talk.handshake(false);
    let window = |talk: &mut Talk, t_ms: i64, ack: i64, window: u16| {
        let mut segment = talk.blank(t_ms, false);
        (segment.seq, segment.ack) = (talk.isn_b.wrapping_add(1), talk.isn_a.wrapping_add(ack as u32));
        segment.window = window;
        talk.tracker.segment(&segment);
    };
    for place in 0..20 {
        talk.data(200 + place, 1 + 1000 * place, 1000);
    }
    window(&mut talk, 300, 20_001, 28);
    talk.data(600, 20_001, 28);
    window(&mut talk, 700, 20_029, 30_000);
    (0..20).for_each(|place| talk.data(701 + place, 20_029 + 1000 * place, 1000));
    window(&mut talk, 820, 40_029, 30_000);
    let (connections, _) = talk.done();
    let limits = Limits::of(&connections[0], 0).expect("data was sent");
    let held_ms = limits.ns[Limit::ReceiverWindow as usize] / 1e6;
    assert!((370.0..=490.0).contains(&held_ms), "{held_ms} ms");
    let other_ms = (limits.ns[Limit::Application as usize] + limits.ns[Limit::Unknown as usize]) / 1e6;
    assert!(other_ms < 25.0, "{other_ms} ms");
}

/// At the receiver, without timestamps: ten short segments with PSH, and the rest after an RTT of 100 ms. Until the first ACK comes
/// back these fill the first congestion window, and the application waits for nothing. Behind an RTT without any more, it does.
#[test]
fn ten_short_segments_fill_the_first_congestion_window() {
    for (again_ms, application) in [(100, false), (400, true)] {
        let (mut talk, mut next) = (Talk::new(7), 1i64);
        let mut syn = talk.blank(0, true);
        (syn.seq, syn.flags, syn.options.mss) = (talk.isn_a, flags::SYN, Some(1000));
        talk.tracker.segment(&syn);
        let mut answer = talk.blank(0, false);
        (answer.seq, answer.ack) = (talk.isn_b, talk.isn_a.wrapping_add(1));
        (answer.flags, answer.options.mss) = (flags::SYN | flags::ACK, Some(1000));
        talk.tracker.segment(&answer);
        let mut third = talk.blank(100, true);
        (third.seq, third.ack) = (talk.isn_a.wrapping_add(1), talk.isn_b.wrapping_add(1));
        talk.tracker.segment(&third);
        for (count, at_ms, length) in [(10, 100, 400), (30, 100 + again_ms, 1000), (60, 200 + again_ms, 1000)]
        {
            for number in 0..count {
                let mut data = talk.blank(at_ms + number, true);
                data.seq = talk.isn_a.wrapping_add(next as u32);
                let push = if length < 1000 { flags::PSH } else { 0 };
                (data.ack, data.length, data.flags) = (talk.isn_b.wrapping_add(1), length, flags::ACK | push);
                talk.tracker.segment(&data);
                next += i64::from(length);
                talk.ack(at_ms + number, next, &[]);
            }
        }
        let (connections, _) = talk.done();
        let limits = Limits::of(&connections[0], 0).expect("data took time");
        let waited_ms = limits.ns[Limit::Application as usize] / 1e6;
        assert_eq!(waited_ms > 50.0, application, "{again_ms}: {limits:?}");
    }
}

/// A response of 15 segments a second after the handshake: until the request came, and until it was answered, there was nothing to
/// send. The time of a request that was lost, or of what is more than one, is not the server's.
#[test]
fn what_waits_for_its_request_waits_for_the_application() {
    let request = |talk: &mut Talk, t_ms: i64, length: u32| {
        let mut s = talk.blank(t_ms, true);
        (s.seq, s.ack, s.length, s.ip_length) =
            (talk.isn_a.wrapping_add(1), talk.isn_b.wrapping_add(1), length, 40 + length);
        talk.tracker.segment(&s);
    };
    for (times_ms, length, expected_ms) in
        [(vec![400], 200, 900.0), (vec![400, 700], 200, 0.0), (vec![400], 11_000, 0.0)]
    {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        times_ms.iter().for_each(|&t_ms| request(&mut talk, t_ms, length));
        let asked = i64::from(length);
        for number in 0..15 {
            let mut s = talk.blank(1000 + number, false);
            (s.seq, s.ack) = (
                talk.isn_b.wrapping_add(1 + 1000 * number as u32),
                talk.isn_a.wrapping_add(1 + asked as u32),
            );
            (s.length, s.ip_length) = (1000, 1040);
            talk.tracker.segment(&s);
            let mut answer = talk.blank(1000 + number, true);
            (answer.seq, answer.ack) = (s.ack, talk.isn_b.wrapping_add(1 + 1000 * (number as u32 + 1)));
            talk.tracker.segment(&answer);
        }
        let limits = limits_of(talk, 1);
        let before_ms = (limits.total_ns() - limits.ns[Limit::Handshake as usize]) / 1e6 - 14.0;
        assert!((before_ms - expected_ms).abs() < 1.0, "{times_ms:?} {length} {limits:?}");
        let waited_ms = limits.ns[Limit::Application as usize] / 1e6;
        assert!((waited_ms - expected_ms).abs() <= 14.0, "{times_ms:?} {length} {limits:?}");
    }
}

/// The ACK of the handshake waited 10 ms in the sender's own queue, which is empty when a FIN of the other end is answered: no
/// data took longer than its ACK.
#[test]
fn what_the_handshake_waited_is_in_no_later_round_trip() {
    let mut talk = Talk::new(7);
    let (isn_a, isn_b) = (talk.isn_a, talk.isn_b);
    let mut pass = |t_ns: i64, from_a: bool, fill: &dyn Fn(&mut Segment)| talk.pass(t_ns, from_a, fill);
    pass(0, true, &|s| (s.seq, s.flags) = (isn_a, flags::SYN));
    pass(20 * MS, false, &|s| (s.seq, s.ack, s.flags) = (isn_b, isn_a + 1, flags::SYN | flags::ACK));
    pass(30 * MS, true, &|s| (s.seq, s.ack) = (isn_a + 1, isn_b + 1));
    for place in 0..100 {
        let t_ns = (100 + 30 * place) * MS;
        let seq = isn_a + 1 + 1000 * place as u32;
        pass(t_ns, true, &|s| (s.seq, s.ack, s.length, s.ip_length) = (seq, isn_b + 1, 1000, 1040));
        pass(t_ns + 20 * MS, false, &|s| (s.seq, s.ack) = (isn_b + 1, seq + 1000));
    }
    let end_ns = 4000 * MS;
    pass(end_ns, false, &|s| (s.seq, s.ack, s.flags) = (isn_b + 1, isn_a + 100_001, flags::FIN | flags::ACK));
    pass(end_ns + 20_000, true, &|s| (s.seq, s.ack) = (isn_a + 100_001, isn_b + 2));
    let found = round_trip_of(talk, 0);
    let median_ns = found.median_ns.expect("next to the sender");
    assert!((20e6..21e6).contains(&median_ns), "{median_ns}");
}

/// At the receiver, without timestamps: one of 200 segments, ten in each RTT, comes 30 ms late, or 400 ms. The first was overtaken; the
/// second was lost, and recovery began two RTTs behind it at the latest.
#[test]
fn what_is_missing_for_longer_than_others_overtake_was_lost() {
    for (late_ms, lost) in [(30, false), (400, true)] {
        let mut talk = Talk::new(7);
        talk.ttl_b = 57;
        let (isn_a, isn_b) = (talk.isn_a, talk.isn_b);
        let mut pass = |t_ns: i64, from_a: bool, fill: &dyn Fn(&mut Segment)| {
            talk.pass(t_ns, from_a, &|s| {
                s.ttl = if from_a { 57 } else { 64 };
                fill(s);
            });
        };
        pass(0, true, &|s| (s.seq, s.flags) = (isn_a, flags::SYN));
        pass(10_000, false, &|s| (s.seq, s.ack, s.flags) = (isn_b, isn_a + 1, flags::SYN | flags::ACK));
        pass(40 * MS, true, &|s| (s.seq, s.ack) = (isn_a + 1, isn_b + 1));
        let mut order: Vec<(i64, u32)> = (0..200u32)
            .map(|place| {
                let at_us = 41_000 + 40_000 * i64::from(place / 10) + 100 * i64::from(place % 10);
                (at_us + if place == 60 { 1000 * late_ms } else { 0 }, place)
            })
            .collect();
        order.sort_unstable();
        let mut come = [false; 201];
        for (t_us, place) in order {
            let seq = isn_a + 1 + 1000 * place;
            pass(t_us * 1000, true, &|s| {
                (s.seq, s.ack, s.length, s.ip_length) = (seq, isn_b + 1, 1000, 1040);
                // In the order in which they were sent: what was lost comes with a later number.
                let again = lost && t_us >= 681_000;
                s.ip_id = 3 + if again && place == 60 { 160 } else { place as u16 + u16::from(again) };
            });
            come[place as usize] = true;
            let until = come.iter().position(|&there| !there).unwrap_or(200) as u32;
            pass(t_us * 1000 + 20_000, false, &|s| (s.seq, s.ack) = (isn_b + 1, isn_a + 1 + 1000 * until));
        }
        let limits = limits_of(talk, 0);
        let recovery_ms = limits.ns[Limit::LossRecovery as usize] / 1e6;
        let expected_ms = if lost { 240.0..400.0 } else { 0.0..10.0 };
        assert!(expected_ms.contains(&recovery_ms), "{late_ms} {limits:?}");
        assert!(!lost || limits.before_loss_ns / 1e6 < 240.0 + 120.0, "{limits:?}");
    }
}

/// Of twenty segments, or of twenty and ten thousand that the capture lost: what limited most of it is not known.
#[test]
fn what_a_capture_lost_says_nothing_of_what_limited_it() {
    for lost in [0, 10_000_000] {
        let mut talk = Talk::new(7);
        talk.handshake(true);
        for place in 0..20 {
            let missing = if place >= 10 { lost } else { 0 };
            talk.data(200 + 1000 * place, 1 + missing + 1000 * place, 1000);
            talk.ack(300 + 1000 * place, 1 + missing + 1000 * (place + 1), &[]);
        }
        let limits = limits_of(talk, 0);
        let known_ns = limits.total_ns() - limits.ns[Limit::Unknown as usize];
        let handshake_ns = limits.ns[Limit::Handshake as usize];
        assert_eq!(known_ns <= handshake_ns, lost > 0, "{limits:?}");
    }
}
