//! Copies among segments that are checked many at a time.

use super::build::{File, Tcp, ethernet, tcp_v4};
use super::{read, read_closely};
use proptest::prelude::*;

/// A new segment, in an Ethernet frame.
fn segment(number: u16) -> Vec<u8> {
    let mut packet = tcp_v4(&Tcp { seq: u32::from(number) * 10, ..Tcp::default() });
    packet[4..6].copy_from_slice(&number.to_be_bytes());
    ethernet(0x0800, &packet)
}

/// The same behind a router.
fn behind(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[14 + 8] -= 1;
    frame
}

proptest! {
    /// Whatever lies between them and however many come together: what is left out is what is if each is checked at once.
    #[test]
    fn together_as_one_by_one(kinds in prop::collection::vec(0u8..5, 1..300)) {
        let (mut file, mut last) = (File::new(1), segment(1));
        file = file.record((1, 0), &last, last.len() as u32);
        for (number, kind) in (2u16..).zip(kinds) {
            let frame = match kind {
                0 => ethernet(0x0806, &[0; 28]),
                // Behind a VLAN tag, which is not the usual way.
                1 => [&segment(number)[..12], &[0x81, 0, 0, 7], &segment(number)[12..]].concat(),
                2 => behind(&last),
                _ => segment(number),
            };
            if kind > 2 {
                last = frame.clone();
            }
            file = file.record((1, u32::from(number)), &frame, frame.len() as u32);
        }
        let bytes = file.done();
        let (outcome, closely) = (read(&bytes), read_closely(&bytes).unwrap());
        prop_assert_eq!(&outcome.segments, &closely.segments);
        prop_assert_eq!(&outcome.info, &closely.info);
        prop_assert_eq!(format!("{:?}", outcome.issues), format!("{:?}", closely.issues));
    }
}

#[test]
fn each_second_is_a_copy() {
    let mut file = File::new(1);
    for number in 1..=1000 {
        let frame = segment(number);
        file = file.record((1, u32::from(number)), &frame, frame.len() as u32);
        let copy = behind(&frame);
        file = file.record((1, u32::from(number)), &copy, copy.len() as u32);
    }
    let outcome = read(&file.done());
    let records: Vec<u64> = outcome.segments.iter().map(|segment| segment.record).collect();
    assert_eq!(records, (0..1000).map(|number| 2 * number + 1).collect::<Vec<u64>>());
    assert_eq!(
        (outcome.kind("tcp"), outcome.kind("tcp-copy"), outcome.info.tcp_segments),
        (1000, 1000, 1000)
    );
    assert_eq!(outcome.issue("duplicate-record").map(|o| (o.count, o.first_record)), Some((1000, 2)));
}
