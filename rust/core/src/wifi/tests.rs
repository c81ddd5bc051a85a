//! Single parts: rates, lengths, counters, headers that are cut anywhere.

use super::airtime::{Transmission, airtime_ns, mcs, rate_bps};
use super::blockack::{Acknowledged, Unread, Whom, parts};
use super::he::He;
use super::header::{Short, decode as decode_header};
use super::payload::{payload, tag_of};
use super::radio::{Modulation, Radio, decode as decode_radio};
use super::sequence_counter::{Place, SequenceCounter};

const CHANNEL_5: Radio = Radio {
    tsft_us: None,
    modulation: Modulation::Unknown,
    short_preamble: false,
    channel_mhz: Some(5180),
    signal_dbm: None,
    aggregate: None,
    signalled_ns: None,
    no_frame: None,
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
    let of = |mcs, streams, carriers, guard_ns, dual| {
        Modulation::He(He { mcs, streams, carriers, guard_ns, dual, ldpc: true, preamble_ns: 44_000 })
    };
    let he = |mcs, carriers, guard_ns| of(mcs, 1, carriers, guard_ns, false);
    for (modulation, kbps) in [
        (ht(7, 20, false), 65_000),
        (ht(7, 20, true), 72_222),
        (ht(15, 40, false), 270_000),
        (vht(9, 1, 80), 390_000),
        (vht(0, 1, 20), 6_500),
        (he(11, 980, 800), 600_441),
        (he(0, 234, 3200), 7_312),
        (he(0, 234, 800), 8_602),
        (he(11, 234, 800), 143_382),
        (he(9, 468, 1600), 216_666),
        (of(11, 2, 980, 800, false), 1_200_955),
        (of(11, 2, 1960, 800, false), 2_401_911),
        (of(11, 8, 1960, 800, false), 9_607_794),
        (he(11, 24, 800), 14_705),
        (he(0, 102, 800), 3_750),
        (of(0, 1, 234, 800, true), 4_264),
        (he(13, 3920, 800), 2_882_352),
        (he(12, 980, 1600), 612_500),
        (he(15, 980, 800), 18_014),
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
    assert_eq!(airtime_ns(&radio, 1528), Some(248_000));
    let slow = Radio { modulation: Modulation::Legacy { rate_bps: 1_000_000 }, ..CHANNEL_5 };
    assert_eq!(airtime_ns(&slow, 14), Some(304_000));
    assert_eq!(airtime_ns(&slow, u64::from(u32::MAX)), None);
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
    let mut space = SequenceCounter::default();
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

/// Data 1 to 6 of the HE field of a frame to one station: 80 MHz, 2 streams, MCS 11, 0.8 us, 2x training.
const HE: [u8; 12] = [0x20, 0x42, 0x06, 0x00, 0x00, 0x2b, 0, 0, 0x82, 0x01, 0x02, 0];

fn radiotap(present: u32, fields: &[u8]) -> Vec<u8> {
    let mut header = vec![0, 0, 8 + fields.len() as u8, 0];
    header.extend(present.to_le_bytes());
    header.extend(fields);
    header
}

#[test]
fn a_frame_of_802_11ax_by_its_header() {
    let (radio, at) = decode_radio(127, &radiotap(1 << 23, &HE)).unwrap();
    assert_eq!(at, 20);
    assert_eq!(rate_bps(radio.modulation), Some(1_200_955_882));
    assert_eq!(mcs(radio.modulation), Some(11));
    // 36 us and two training symbols of 7.2 us; 12 072 bits with a delimiter in one symbol of 16 333.
    assert_eq!(airtime_ns(&radio, 1504), Some(36_000 + 14_400 + 13_600));
    let Modulation::He(he) = radio.modulation else { panic!() };
    for (change, kept) in [(0x0000u16, true), (0x4000, false), (0x0020, false)] {
        let mut field = HE;
        field[0] &= !(change as u8);
        field[1] &= !((change >> 8) as u8);
        let found = decode_radio(127, &radiotap(1 << 23, &field)).unwrap().0.modulation;
        assert_eq!(found == Modulation::He(he), kept, "{change:#x}");
    }
    // Extended range: 8 us more. In answer to a trigger: 4 us more.
    for (format, preamble_ns) in [(1, 58_400), (3, 54_400)] {
        let mut field = HE;
        field[0] |= format;
        let Modulation::He(he) = decode_radio(127, &radiotap(1 << 23, &field)).unwrap().0.modulation else {
            panic!()
        };
        assert_eq!(he.preamble_ns, preamble_ns);
    }
    // Three symbols of the second signal field.
    let mut field = HE.to_vec();
    field[0] |= 2;
    field.extend([0x00, 0xc0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let Modulation::He(he) = decode_radio(127, &radiotap(3 << 23, &field)).unwrap().0.modulation else {
        panic!()
    };
    assert_eq!(he.preamble_ns, 50_400 + 12_000);
}

#[test]
fn a_legacy_signal_field_tells_how_long_the_whole_lasts() {
    let mut fields = HE.to_vec();
    // Length 100: 35 symbols behind 20 us.
    fields.extend([0x03, 0x00, 0x4b, 0x06]);
    let (radio, _) = decode_radio(127, &radiotap(1 << 23 | 1 << 27, &fields)).unwrap();
    assert_eq!(radio.signalled_ns, Some(160_000));
    assert_eq!(Transmission::default().frame(&radio, 1504), (Some(160_000), true));
    let (sounding, _) = decode_radio(127, &radiotap(1 << 26, &[0])).unwrap();
    assert_eq!(sounding.no_frame, Some(super::radio::NoFrame::Sounding));
}

#[test]
fn a_frame_of_802_11be_by_its_typed_fields() {
    let word = |word: u32| word.to_le_bytes();
    let mut fields = Vec::new();
    fields.extend([33, 0, 12, 0]);
    // 320 MHz; two symbols of EHT-SIG.
    fields.extend([word(0x2 | 4 << 15), word(1 << 17), word(0x003e_0000)].concat());
    fields.extend([34, 0, 44, 0]);
    // Guard interval 0.8 us; training of double length, two symbols.
    fields.extend([word(0x14), word(2 << 9 | 1 << 11)].concat());
    fields.extend([0; 32]);
    // MCS 13, two streams.
    fields.extend(word(0x92 | 13 << 20 | 1 << 24));
    let header = radiotap(1 << 28, &fields);
    let (radio, at) = decode_radio(127, &header).unwrap();
    assert_eq!(at, header.len());
    assert_eq!(rate_bps(radio.modulation).map(|rate| rate / 1000), Some(5_764_705));
    let Modulation::He(he) = radio.modulation else { panic!() };
    assert_eq!(he.preamble_ns, 24_000 + 8_000 + 8_000 + 4_000 + 14_400);
    for end in 8..header.len() {
        let mut cut = header[..end].to_vec();
        cut[2] = end as u8;
        let _ = decode_radio(127, &cut);
    }
}

#[test]
fn frames_of_an_aggregate_share_symbols_and_a_preamble() {
    let (radio, _) = decode_radio(127, &radiotap(1 << 23, &HE)).unwrap();
    let radio = Radio { aggregate: Some(7), ..radio };
    let mut transmission = Transmission::default();
    let each: Vec<_> = (0..10).map(|_| transmission.frame(&radio, 1500).0.unwrap()).collect();
    // Ten times 1504 bytes: 120 336 bits with the service field, in eight symbols.
    assert_eq!(each.iter().sum::<i64>(), 50_400 + 8 * 13_600);
    assert!(each[1..].iter().all(|&ns| ns == 0 || ns == 13_600), "{each:?}");
    let other = Radio { aggregate: Some(8), ..radio };
    assert_eq!(transmission.frame(&other, 1500), (Some(50_400 + 13_600), true));
}

#[test]
fn block_acks_of_all_kinds() {
    let bits = |count: usize| vec![0xff; count];
    let body = |control: u16, rest: &[u8]| [&control.to_le_bytes()[..], rest].concat();
    let start = [0x50, 0x00];
    let basic = body(3 << 12, &[&start[..], &bits(128)].concat());
    let Ok(acknowledged) = parts(&basic) else { panic!() };
    assert!(
        matches!(
            acknowledged[..],
            [(Whom::Receiver, Acknowledged::Bitmap { tid: 3, start: 5, fragments: true, .. })]
        ),
        "{acknowledged:?}"
    );
    for (fragment, size) in [(0u8, 8), (2, 16), (4, 32), (6, 4), (8, 64), (10, 128)] {
        let body = body(2 << 1, &[&[0x50 | fragment, 0][..], &bits(size)].concat());
        let Ok(acknowledged) = parts(&body) else { panic!() };
        assert!(
            matches!(acknowledged[..], [(_, Acknowledged::Bitmap { start: 5, bits, .. })] if bits.len() == size)
        );
        assert!(parts(&body[..body.len() - 1]).is_err());
    }
    // Two counters.
    let one = |tid: u8| [&[0, tid << 4][..], &start, &bits(8)].concat();
    let several = body(1 << 12 | 3 << 1, &[one(1), one(6)].concat());
    let tids: Vec<_> = parts(&several)
        .unwrap()
        .into_iter()
        .map(|(_, acknowledged)| if let Acknowledged::Bitmap { tid, .. } = acknowledged { tid } else { 99 })
        .collect();
    assert_eq!(tids, [1, 6]);
    // Three stations: a bitmap, all of a transmission, one that is not associated.
    let mut rest = vec![0x07, 0x00];
    rest.extend(start);
    rest.extend(bits(8));
    rest.extend([0x09, 0xe8]);
    rest.extend([0xfd, 0xff, 0, 0, 0, 0, 2, 0, 0, 0, 0, 9]);
    let stations = body(11 << 1, &rest);
    let Ok(acknowledged) = parts(&stations) else { panic!() };
    assert!(matches!(acknowledged[0], (Whom::Associated(7), Acknowledged::Bitmap { tid: 0, start: 5, .. })));
    assert_eq!(acknowledged[1], (Whom::Associated(9), Acknowledged::All { tid: 14 }));
    assert_eq!(acknowledged[2], (Whom::Station([2, 0, 0, 0, 0, 9]), Acknowledged::All { tid: 15 }));
    assert_eq!(parts(&body(6 << 1, &[0; 16])).unwrap(), [(Whom::Receiver, Acknowledged::Group)]);
    assert_eq!(parts(&body(7 << 1, &[0; 16])), Err(Unread("a block ACK of a reserved kind")));
    for whole in [&basic, &several, &stations] {
        for end in 0..whole.len() {
            let _ = parts(&whole[..end]);
        }
    }
}
