//! 802.11 frames with several packets, and packets in several frames.

use super::build::{File, Tcp, tcp_v4};
use super::read;

const LLC_IP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// A QoS data frame to the access point.
fn frame(more: bool, sequence: u16, fragment: u8, aggregated: bool, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x88, if more { 0x05 } else { 0x01 }, 0, 0];
    frame.extend([2; 18]);
    frame.extend((sequence << 4 | u16::from(fragment)).to_le_bytes());
    frame.extend([if aggregated { 0x80 } else { 0 }, 0]);
    frame.extend(body);
    frame
}

fn packet(seq: u32) -> Vec<u8> {
    [&LLC_IP[..], &tcp_v4(&Tcp { seq, ..Tcp::default() })].concat()
}

fn aggregate(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::new();
    for packet in packets {
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend([2; 12]);
        body.extend((packet.len() as u16).to_be_bytes());
        body.extend(packet);
    }
    body
}

fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    let add = |file: File, (n, frame): (u32, &Vec<u8>)| file.record((100, n), frame, frame.len() as u32);
    (0..).zip(frames).fold(File::new(105), add).done()
}

#[test]
fn each_packet_of_an_aggregate_is_one() {
    let outcome =
        read(&capture(&[frame(false, 1, 0, true, &aggregate(&[packet(1), packet(6), packet(11)]))]));
    let found: Vec<_> = outcome.segments.iter().map(|one| (one.seq, one.length, one.record)).collect();
    assert_eq!(found, [(1, 5, 1), (6, 5, 1), (11, 5, 1)]);
    assert_eq!(outcome.kind("tcp"), 1);
    assert!(outcome.issues.is_empty(), "{:?}", outcome.issues);
}

#[test]
fn an_aggregate_cut_anywhere() {
    let whole = frame(false, 1, 0, true, &aggregate(&[packet(1), packet(6)]));
    for end in 0..whole.len() {
        let outcome = read(&capture(&[whole[..end].to_vec()]));
        assert!(outcome.segments.len() < 2);
    }
}

#[test]
fn fragments_become_a_packet() {
    let whole = packet(1000);
    let (first, rest) = whole.split_at(20);
    let (second, third) = rest.split_at(17);
    let parts = [
        frame(true, 9, 0, false, first),
        frame(true, 9, 1, false, second),
        frame(true, 9, 1, false, second),
        frame(false, 9, 2, false, third),
    ];
    let outcome = read(&capture(&parts));
    assert_eq!((outcome.only().seq, outcome.only().length, outcome.only().record), (1000, 5, 4));
    assert_eq!(outcome.kind("wifi-fragment"), 3);
    assert!(outcome.issues.is_empty(), "{:?}", outcome.issues);
}

#[test]
fn a_packet_that_lacks_a_part_is_none() {
    let whole = packet(1000);
    let (first, rest) = whole.split_at(20);
    let (second, third) = rest.split_at(17);
    for parts in [
        vec![frame(true, 9, 0, false, first), frame(false, 9, 2, false, third)],
        vec![frame(true, 9, 1, false, second), frame(false, 9, 2, false, third)],
        vec![frame(true, 9, 0, false, first), frame(false, 10, 1, false, second)],
    ] {
        let outcome = read(&capture(&parts));
        assert!(outcome.segments.is_empty());
        assert_eq!(outcome.kind("wifi-fragment"), 2);
    }
}

#[test]
fn what_waits_for_its_parts_is_bounded() {
    let begun: Vec<_> = (0..200).map(|n| frame(true, n, 0, false, &packet(1000)[..20])).collect();
    let ends: Vec<_> = (0..200).map(|n| frame(false, n, 1, false, &packet(1000)[20..])).collect();
    let outcome = read(&capture(&[begun, ends].concat()));
    assert!((1..=64).contains(&outcome.segments.len()), "{}", outcome.segments.len());
}
