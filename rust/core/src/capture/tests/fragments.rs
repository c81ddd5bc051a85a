use super::build::{File, Tcp, ipv4_addresses, ipv4_with, ipv6, ipv6_addresses};
use super::read;
use crate::segment::Checksum;

fn v4(payload: &[u8], offset: usize, more: bool) -> Vec<u8> {
    let field = (offset / 8) as u16 | if more { 0x2000 } else { 0 };
    ipv4_with(6, payload, (20 + payload.len()) as u16, field)
}

fn v6(payload: &[u8], offset: usize, more: bool) -> Vec<u8> {
    let field = offset as u16 | u16::from(more);
    let header = [&[6, 0][..], &field.to_be_bytes(), &[0, 0, 0, 77]].concat();
    ipv6(44, &[header, payload.to_vec()].concat())
}

/// A segment of 1000 bytes in pieces, in any order; the second of each record is its number.
fn file(order: &[usize], fragment: impl Fn(&[u8], usize, bool) -> Vec<u8>, addresses: &[u8]) -> Vec<u8> {
    let segment = Tcp { payload: vec![5; 1000], ..Tcp::default() }.summed(addresses);
    let mut file = File::new(101);
    for (i, &piece) in order.iter().enumerate() {
        let (start, end) = (piece * 400, segment.len().min(piece * 400 + 400));
        let packet = fragment(&segment[start..end], start, end < segment.len());
        file = file.record((i as u32 + 1, 0), &packet, packet.len() as u32);
    }
    file.done()
}

#[test]
fn a_fragmented_segment_arrives_with_its_last_fragment() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let outcome = read(&file(&order, v4, &ipv4_addresses()));
        let segment = outcome.only();
        assert_eq!((segment.length, segment.ip_length, segment.seq), (1000, 1040, 1000), "{order:?}");
        assert_eq!(segment.t_ns, 3_000_000_000);
        let header = order.iter().position(|&p| p == 0).expect("a first fragment") as u64 + 1;
        assert_eq!((segment.record, segment.checksum), (header, Checksum::Unverified));
        assert_eq!(outcome.kind("ipv4-fragment"), 3);
        let outcome = read(&file(&order, v6, &ipv6_addresses()));
        assert_eq!((outcome.only().length, outcome.only().ip_length), (1000, 1068));
        assert_eq!(outcome.kind("ipv6-fragment"), 3);
    }
}

#[test]
fn repeated_and_missing_fragments() {
    let outcome = read(&file(&[0, 0, 1, 1, 2], v4, &ipv4_addresses()));
    assert_eq!(outcome.only().length, 1000);
    for order in [&[0, 1][..], &[1, 2], &[0, 2], &[0, 0, 2]] {
        let outcome = read(&file(order, v4, &ipv4_addresses()));
        assert!(outcome.segments.is_empty(), "{order:?}");
        assert_eq!(outcome.kind("ipv4-fragment"), order.len() as u64);
    }
}

#[test]
fn an_identification_comes_again_after_the_timeout() {
    let segment = Tcp { payload: vec![5; 1000], ..Tcp::default() }.summed(&ipv4_addresses());
    let (first, last) = (v4(&segment[..400], 0, true), v4(&segment[400..], 400, false));
    let pair = |gap: u32| File::new(101).record((1, 0), &first, 420).record((1 + gap, 0), &last, 640).done();
    assert_eq!(read(&pair(60)).segments.len(), 1);
    assert_eq!(read(&pair(61)).segments.len(), 0);
}

#[test]
fn fragments_of_other_protocols_are_only_counted() {
    let packet = ipv4_with(17, &[0; 64], 84, 0x2000);
    let outcome = read(&File::new(101).packet(&packet).done());
    assert_eq!((outcome.kind("ipv4-fragment"), outcome.segments.len()), (1, 0));
}

#[test]
fn a_flood_of_fragments_stays_bounded() {
    let mut file = File::new(101);
    for i in 0..3000u16 {
        let mut packet = ipv4_with(6, &[0; 8], 28, 0x2000 | (i * 2 + 2) & 0x1fff);
        if i % 2 == 0 {
            packet[4..6].copy_from_slice(&i.to_be_bytes());
        }
        file = file.packet(&packet);
    }
    let outcome = read(&file.done());
    assert_eq!(outcome.kind("ipv4-fragment"), 3000);
}
