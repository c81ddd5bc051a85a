use super::super::{Tracker, Tracking, track_beside};
use super::*;
use crate::capture::Sink;
use crate::issue::Issues;
use crate::segment::{Address, Checksum, Options, flags};

/// A segment of a conversation that loses, repeats, acknowledges selectively, and ends.
fn segment(step: u32, port: u16) -> Segment {
    let (client, server) = ((Address::v4([10, 0, 0, 1]), port), (Address::v4([10, 0, 0, 2]), 80));
    let from_client = !step.is_multiple_of(3);
    let mut options = Options { complete: true, timestamps: Some((step, step / 2)), ..Options::default() };
    if step.is_multiple_of(9) && port.is_multiple_of(2) {
        options.sack[0] = (step * 40, step * 40 + 100);
        options.sack_count = 1;
    }
    let flags = match step {
        1 => flags::SYN,
        3 => flags::SYN | flags::ACK,
        38.. => flags::FIN | flags::ACK,
        _ => flags::ACK,
    };
    // Of every third connection nothing is sent again.
    let seq = if port.is_multiple_of(3) { step * 100 } else { step % 7 * 100 };
    Segment {
        t_ns: i64::from(step) * 90_000_000 + i64::from(port),
        record: u64::from(step),
        source: if from_client { client } else { server },
        destination: if from_client { server } else { client },
        seq,
        ack: if port.is_multiple_of(3) { step * 100 - 50 } else { step % 11 * 100 },
        flags,
        window: 1000,
        length: if from_client && step > 1 { 100 } else { 0 },
        ip_length: 140,
        ip_id: step as u16,
        ttl: 64,
        ecn: 0,
        checksum: Checksum::Good,
        options,
    }
}

fn told(tracker: Tracker) -> (ConnectionStore, Vec<String>, Vec<String>) {
    let mut issues = Issues::default();
    let (connections, _) = tracker.conclude(&mut issues);
    let issues = issues.iter().map(|(code, seen)| format!("{code} {seen:?}")).collect();
    let told = (0..connections.len()).map(|number| connections.with(number, |c| format!("{c:?}")));
    let told = told.collect();
    (connections, told, issues)
}

/// Each takes its turn after all the others, twice: packed and unpacked, they are what they are if they never were.
#[test]
fn compacting_changes_nothing() {
    const CONNECTIONS: u16 = 3000;
    let (mut ready, mut compacting) = (Tracker::new(false), Tracker::compacting());
    for half in 0..2 {
        for port in 0..CONNECTIONS {
            for step in 1..=20 {
                let segment = segment(half * 20 + step, 1000 + port);
                ready.segment(&segment);
                compacting.segment(&segment);
            }
        }
    }
    let (ready, expected, issues) = told(ready);
    let (packed, found, other_issues) = told(compacting);
    let packs = packed.places.iter().filter(|place| matches!(place, Place::Packed(..))).count();
    assert!(packs > usize::from(CONNECTIONS) / 4, "{packs} packed");
    assert_eq!(found, expected);
    assert_eq!(other_issues, issues);
    assert!(expected.iter().any(|told| told.contains("kept: [Retransmission")));
    assert_eq!(packed.overview(), ready.overview());
    let unpacked: Vec<String> = packed.into_vec().iter().map(|c| format!("{c:?}")).collect();
    assert_eq!(unpacked, expected);
}

/// Several trackers that share the connections, and pack them each in its own time, say what one says of all.
#[test]
fn dividing_changes_nothing() {
    for (connections, trackers) in [(0u16, 3), (1, 4), (40, 2), (3000, 3)] {
        let mut alone = Tracker::summing_up();
        let (_, divided) = track_beside(Tracking::Divided(trackers), |relay| {
            for steps in [1..=2, 3..=12, 13..=40] {
                for port in 0..connections {
                    for step in steps.clone() {
                        let segment = segment(step, 1000 + (u32::from(port) * 7919 % 9000) as u16);
                        alone.segment(&segment);
                        relay.segment(&segment);
                    }
                }
            }
        })
        .unwrap();
        let (alone, expected, issues) = told(alone);
        let (divided, found, other_issues) = told(divided);
        assert_eq!(found.len(), usize::from(connections));
        assert_eq!(found, expected);
        assert_eq!(other_issues, issues);
        assert_eq!(divided.overview(), alone.overview());
        let unpacked: Vec<String> = divided.into_vec().iter().map(|c| format!("{c:?}")).collect();
        assert_eq!(unpacked, expected);
    }
}

/// What is said of a connection besides rows.
fn sums(connection: &Connection) -> String {
    let of = |sender: &Sender| {
        let judged = (sender.arrival_counts(), sender.needless(), sender.lost_again(), sender.taken_back());
        let found = (sender.timeouts().to_vec(), sender.episodes().len(), sender.reordering());
        format!("{:?} {judged:?} {found:?} {:?}", sender.totals(), sender.retransmission_counts())
    };
    format!("{:?} {:?}", connection.senders.each_ref().map(of), connection.timeout_verdicts(0))
}

/// Without rows all that is counted and judged is the same, packed or not, and few of them are kept.
#[test]
fn a_summary_needs_no_rows() {
    let (mut all, mut summed) = (Tracker::new(false), Tracker::summing_up());
    for round in 0..20 {
        for port in 0..2000 {
            for step in 1..=37 {
                let mut segment = segment(step, 1000 + port);
                segment.t_ns += i64::from(round) * 4_000_000_000;
                if round == 0 || (step > 3 && port < 30) {
                    all.segment(&segment);
                    summed.segment(&segment);
                }
            }
        }
    }
    let (all, _) = all.conclude(&mut Issues::default());
    let (summed, _) = summed.conclude(&mut Issues::default());
    let mut most = [0; 4];
    for number in 0..all.len() {
        let rows = |connection: &Connection| {
            let sender = connection.senders_at(0);
            [sender.retransmissions().len(), sender.arrivals().len()]
        };
        let (expected, [again, arrivals]) =
            all.with(number, |connection| (sums(connection), rows(connection)));
        let (found, [few, latest]) = summed.with(number, |connection| (sums(connection), rows(connection)));
        assert_eq!(found, expected);
        most = [most[0].max(again), most[1].max(arrivals), most[2].max(few), most[3].max(latest)];
    }
    assert!(most[0] > 300 && most[1] > 300 && most[2] < 10 && most[3] < 200, "{most:?}");
}

/// A place may then hold an older connection of the same flow, whose segments they are not.
#[test]
fn no_place_is_guessed_once_places_changed() {
    let mut tracker = Tracker::compacting();
    let mut guessed = 0;
    for port in 1..=READY as u16 + 1 {
        tracker.segment(&segment(1, port));
        guessed =
            guessed.max((1..=port).filter(|&p| tracker.flows.guess(&segment(1, p)) != u32::MAX).count());
    }
    let left: Vec<u16> =
        (1..=READY as u16 + 1).filter(|&p| tracker.flows.guess(&segment(1, p)) != u32::MAX).collect();
    assert!(guessed > 100 && left.contains(&(READY as u16 + 1)) && left.len() < 20, "{guessed}, {left:?}");
}

#[test]
fn holds_more_ready_where_more_take_turns() {
    let mut tracker = Tracker::compacting();
    for step in 1..=20 {
        for port in 0..5000 {
            tracker.segment(&segment(step, 1000 + port));
        }
    }
    let (store, _) = tracker.conclude(&mut Issues::default());
    assert!(store.limit > Some(5000));
}

#[test]
fn one_that_is_not_heard_of_takes_little() {
    let mut tracker = Tracker::compacting();
    for port in 0..4 * READY as u16 {
        for step in 1..=9 {
            tracker.segment(&segment(step, 1000 + 3 * port));
        }
    }
    let (store, _) = tracker.conclude(&mut Issues::default());
    let sizes = store.places.iter().filter_map(|place| match place {
        Place::Packed(packed, _) => Some(packed.size()),
        Place::Ready(_) => None,
    });
    let sizes: Vec<usize> = sizes.collect();
    let mean = sizes.iter().sum::<usize>() / sizes.len();
    assert!(sizes.len() >= 3 * READY && mean < 472, "{} of {mean} bytes", sizes.len());
}
