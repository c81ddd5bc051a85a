use super::build::{File, Tcp, ethernet, ipv4, ipv4_addresses, one, ones_complement, pseudo, tcp_v4};
use super::{Outcome, read};
use crate::segment::{Checksum, Options};

fn with_options(options: &[u8]) -> Outcome {
    read(&one(101, &tcp_v4(&Tcp { options: options.to_vec(), ..Tcp::default() })))
}

fn options(bytes: &[u8]) -> Options {
    let outcome = with_options(bytes);
    assert_eq!(outcome.only().length, 5);
    outcome.only().options
}

#[test]
fn handshake_options() {
    let o = options(&[2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 1, 3, 3, 14]);
    assert_eq!((o.mss, o.window_scale, o.sack_permitted), (Some(1460), Some(14), true));
    assert_eq!((o.timestamps, o.complete, o.fast_open), (Some((1, u32::MAX)), true, false));
    assert_eq!(options(&[]), Options { complete: true, ..Options::default() });
}

#[test]
fn sack_blocks() {
    for count in 1..=4u8 {
        let mut bytes = vec![1, 1, 5, 2 + 8 * count];
        bytes.extend((0..8 * count).collect::<Vec<_>>());
        let o = options(&bytes);
        assert_eq!(o.sack_count, count);
        assert_eq!(o.sack_blocks()[0], (0x0001_0203, 0x0405_0607));
        let last = u32::from(8 * count - 4) * 0x0101_0101 + 0x0001_0203;
        assert_eq!(o.sack_blocks()[usize::from(count) - 1].1, last);
    }
    let with_timestamps = [&[1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6, 1, 1, 5, 10][..], &[3; 8]].concat();
    let o = options(&with_timestamps);
    assert_eq!((o.timestamps, o.sack_blocks()), (Some((5, 6)), &[(0x0303_0303, 0x0303_0303)][..]));
    assert_eq!(options(&[5, 9, 0, 0, 0, 0, 0, 0, 0]).sack_count, 0);
}

#[test]
fn fast_open() {
    assert!(options(&[34, 2]).fast_open);
    assert!(options(&[34, 10, 1, 2, 3, 4, 5, 6, 7, 8]).fast_open);
    assert!(options(&[254, 4, 0xf9, 0x89]).fast_open);
    assert!(!options(&[254, 4, 0xf9, 0x88]).fast_open);
    assert!(!options(&[253, 2]).fast_open);
}

#[test]
fn impossible_options_end_the_list_and_keep_what_came_before() {
    for tail in [&[8, 1, 0, 0][..], &[8, 0, 0, 0], &[8, 200, 0, 0], &[1, 1, 1, 8], &[0, 3, 3, 7]] {
        let o = options(&[&[2, 4, 0, 100][..], tail].concat());
        assert_eq!(
            (o.mss, o.window_scale, o.timestamps, o.complete),
            (Some(100), None, None, true),
            "{tail:?}"
        );
    }
    // Right kind, wrong length: skipped.
    let o = options(&[2, 3, 9, 3, 4, 0, 0, 8, 3, 0, 4, 2]);
    assert_eq!((o.mss, o.window_scale, o.timestamps, o.sack_permitted), (None, None, None, true));
}

#[test]
fn all_nine_flags() {
    let outcome = read(&one(101, &tcp_v4(&Tcp { flags: 0x1ff, ..Tcp::default() })));
    assert_eq!((outcome.only().flags, outcome.only().window), (0x1ff, 512));
}

#[test]
fn a_header_cut_by_the_snap_length() {
    let tcp = Tcp { options: vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], ..Tcp::default() };
    let frame = ethernet(0x0800, &tcp_v4(&tcp));
    let cut =
        |captured: usize| read(&File::new(1).record((1, 0), &frame[..captured], frame.len() as u32).done());
    for captured in 34..54 {
        let outcome = cut(captured);
        assert_eq!((outcome.kind("tcp-header-cut"), outcome.segments.len()), (1, 0));
        assert_eq!(outcome.issue("options-cut").map(|o| o.count), Some(1));
    }
    for captured in 54..66 {
        let outcome = cut(captured);
        assert_eq!((outcome.only().length, outcome.only().options.complete), (5, false), "{captured}");
        assert_eq!(outcome.only().options.timestamps, None);
        assert_eq!(outcome.issue("options-cut").map(|o| o.count), Some(1));
    }
    assert!(cut(66).only().options.complete);
}

#[test]
fn checksums() {
    for length in 0..40 {
        let payload: Vec<u8> = (0..length).map(|i: u8| i.wrapping_mul(37)).collect();
        let good = tcp_v4(&Tcp { payload, ..Tcp::default() });
        assert_eq!(read(&one(101, &good)).only().checksum, Checksum::Good);
        for at in 20..good.len() {
            // The data offset decides more than the checksum.
            if at == 32 {
                continue;
            }
            let mut bad = good.clone();
            bad[at] ^= 0x04;
            let outcome = read(&one(101, &bad));
            assert_eq!(outcome.only().checksum, Checksum::Bad, "byte {at} of {length}");
            assert_eq!(outcome.issue("bad-tcp-checksum").map(|o| o.first_record), Some(1));
        }
    }
}

#[test]
fn a_checksum_left_to_the_network_card_is_no_damage() {
    let bytes = Tcp::default().bytes();
    let linux = ones_complement(&[&pseudo(&ipv4_addresses(), bytes.len())]);
    let windows = ones_complement(&[&pseudo(&ipv4_addresses(), 0)]);
    for field in [0, linux, windows] {
        let mut bytes = bytes.clone();
        bytes[16..18].copy_from_slice(&field.to_be_bytes());
        let outcome = read(&one(101, &ipv4(6, &bytes)));
        assert_eq!(outcome.only().checksum, Checksum::Unverified);
        assert_eq!(outcome.info.offloaded_checksums, 1);
        assert!(outcome.issues.is_empty());
    }
}
