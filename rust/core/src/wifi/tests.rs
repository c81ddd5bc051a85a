//! Single parts: rates, lengths, counters, headers that are cut anywhere.

use super::airtime::{airtime_ns, mcs, rate_bps};
use super::header::{Short, decode as decode_header};
use super::payload::{payload, tag_of};
use super::radio::{Modulation, Radio, decode as decode_radio};
use super::space::{Place, Space};

const CHANNEL_5: Radio = Radio {
    tsft_us: None,
    modulation: Modulation::Unknown,
    short_preamble: false,
    channel_mhz: Some(5180),
    signal_dbm: None,
    aggregate: None,
    fcs: false,
    bad_fcs: false,
    padded: false,
    sent_status: None,
    unknown_field: false,
};

#[test]
fn rates_as_the_standard_tabulates_them() {
    let ht = |mcs, width_mhz, short_guard| Modulation::Ht { mcs, width_mhz, short_guard, greenfield: false };
    let vht = |mcs, streams, width_mhz| Modulation::Vht { mcs, streams, width_mhz, short_guard: false };
    let he = |mcs, carriers, guard_ns| Modulation::He { mcs, streams: 1, carriers, guard_ns };
    for (modulation, kbps) in [
        (ht(7, 20, false), 65_000),
        (ht(7, 20, true), 72_222),
        (ht(15, 40, false), 270_000),
        (vht(9, 1, 80), 390_000),
        (vht(0, 1, 20), 6_500),
        (he(11, 980, 800), 600_441),
        (he(0, 234, 3200), 7_312),
    ] {
        assert_eq!(rate_bps(modulation).map(|rate| rate / 1000), Some(kbps), "{modulation:?}");
    }
    assert_eq!(rate_bps(ht(40, 20, false)), None);
    assert_eq!(mcs(he(11, 980, 800)), Some(11));
}

#[test]
fn airtime_of_an_ofdm_and_a_dsss_frame() {
    let radio = Radio { modulation: Modulation::Legacy { rate_bps: 54_000_000 }, ..CHANNEL_5 };
    // 20 us and 57 symbols: 22 bits and 1528 bytes at 216 bits each.
    assert_eq!(airtime_ns(&radio, 1528, true), Some(248_000));
    let slow = Radio { modulation: Modulation::Legacy { rate_bps: 1_000_000 }, ..CHANNEL_5 };
    assert_eq!(airtime_ns(&slow, 14, true), Some(304_000));
}

#[test]
fn headers_cut_anywhere() {
    let mut frame = vec![0x88, 0x41];
    frame.extend([0; 40]);
    for end in 0..frame.len() {
        let found = decode_header(&frame[..end], frame.len());
        assert_eq!(found.is_err(), end < 26, "{end}");
        assert_eq!(decode_header(&frame[..end], end).err(), (end < 26).then_some(Short::Frame));
    }
    for link_type in super::radio::LINK_TYPES {
        for end in 0..frame.len() {
            let _ = decode_radio(link_type, &frame[..end]);
        }
    }
}

#[test]
fn length_of_a_packet_without_what_carries_it() {
    let mut bytes = vec![0x88, 0x41];
    bytes.extend([0; 24]);
    let header = decode_header(&bytes, bytes.len()).unwrap();
    let tkip = [0x21, 0x21, 0x01, 0x20, 0, 0, 0, 0];
    let ccmp = [0x01, 0x00, 0x00, 0x20, 0, 0, 0, 0];
    assert_eq!(payload(&header, &tkip, 1028, 8).length, 1000);
    assert_eq!(payload(&header, &ccmp, 1024, 8).length, 1000);
    assert_eq!(payload(&header, &ccmp, 1032, 16).length, 1000);
    assert_eq!(payload(&header, &[], 4, 8).length, 0);
}

#[test]
fn the_tag_that_a_network_announces() {
    let suites = |pairwise: u8| {
        let mut elements = vec![0, 2, b'a', b'b', 48, 18, 1, 0, 0, 0x0f, 0xac, 4, 1, 0];
        elements.extend([0, 0x0f, 0xac, pairwise, 1, 0, 0, 0x0f, 0xac, 2]);
        elements
    };
    assert_eq!(tag_of(&suites(4)), Some(8));
    assert_eq!(tag_of(&suites(9)), Some(16));
    assert_eq!(tag_of(&[48, 200, 1]), None);
}

#[test]
fn a_counter_over_its_end_and_anew() {
    let mut space = Space::default();
    let at = |n: u64| (n as i64 * 1_000_000, n);
    for (n, sequence) in [4094, 4095, 0, 3].into_iter().enumerate() {
        let Place::New(number) = space.place(at(n as u64), sequence, 0, false, true) else { panic!() };
        space.remember(number, 0, n, at(n as u64).0);
    }
    assert_eq!(space.place(at(9), 4095, 0, true, true), Place::Again(1));
    // What a block ACK tells of, and of what was never seen.
    assert_eq!(space.acknowledged(4094, &[0b0001_0101]), vec![0, 2]);
    space.restart();
    let counts: Vec<_> = space.unseen.iter().map(|gap| (gap.sequence, gap.count, gap.acknowledged)).collect();
    assert_eq!(counts, [(1, 1, false), (2, 1, true)]);
    assert_eq!(space.place(at(10), 3, 0, true, true), Place::Again(3));
    assert!(matches!(space.place(at(11), 700, 0, false, true), Place::New(_)));
}
