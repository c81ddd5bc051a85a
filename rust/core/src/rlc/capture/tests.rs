//! Captures as their writers frame them, and what is made of them.

use super::{Mode, RlcCapture, Wanted, read_from, sniff};

fn pcap(link_type: u32, records: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, link_type] {
        file.extend(word.to_le_bytes());
    }
    for (at, data) in records.iter().enumerate() {
        for word in [at as u32, 0, data.len() as u32, data.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(data);
    }
    file
}

fn framed(name: &[u8], body: &[u8]) -> Vec<u8> {
    let length = (8 + name.len() + body.len()) as u16;
    [&[0x10, 0x92, 0x27, 0x0f][..], &length.to_be_bytes(), &[0, 0], name, body].concat()
}

/// NR, AM, 12 bits, downlink or uplink, UEID 1, DRB 1, then the PDU.
fn rlc_nr(uplink: bool, pdu: &[u8]) -> Vec<u8> {
    let head = [4, 12, 2, u8::from(!uplink), 3, 0, 1, 4, 5, 5, 1, 1];
    framed(b"rlc-nr", &[&head[..], pdu].concat())
}

fn read_all(file: &[u8]) -> RlcCapture {
    assert!(sniff(file));
    read_from(file, &Wanted::default()).unwrap()
}

#[test]
fn rlc_framing_behind_a_udp_header() {
    let pdu = |sn: u8, text: &[u8]| [&[0xc0, sn], text].concat();
    let records = [
        rlc_nr(true, &pdu(0, b"abc")),
        rlc_nr(true, &pdu(1, b"defg")),
        rlc_nr(false, &[0, 2, 0x80, 0, 0]),
        rlc_nr(true, &pdu(0, b"abc")),
        rlc_nr(true, &[0xc0]),
    ];
    let found = read_all(&pcap(149, &records));
    let bearer = found.bearer.unwrap();
    assert_eq!((bearer.bearer.as_str(), bearer.ue, bearer.sn_bits), ("drb1", 1, 12));
    assert_eq!((bearer.data, bearer.status, bearer.nacks), (3, 1, 1));
    assert_eq!(found.tracked.frames.attempt, [0, 0, 1]);
    assert_eq!(found.tracked.frames.offset, [0, 3, 0]);
    assert_eq!(found.tracked.frames.poll, [1, 1, 1]);
    assert_eq!(found.tracked.events.nr, [2, 0]);
    assert_eq!(found.views, ["air"]);
    let issues: Vec<_> = found.issues.iter().map(|(code, seen)| (code, seen.first_record)).collect();
    assert_eq!(issues, [("malformed-packet", 5)]);
}

#[test]
fn mac_framing_and_the_lengths_of_numbers_that_it_does_not_tell() {
    // NR downlink MAC PDUs with C-RNTI 0x4601, UEID 7: LCID 4, 18 bits.
    let mac = |uplink: bool, rnti: u8, payload: &[u8]| {
        let head = [1, u8::from(!uplink), 3, 2, 0x46, rnti, 3, 0, 7, 1];
        framed(b"mac-nr", &[&head[..], payload].concat())
    };
    let pdu = |sn: u8| vec![0x04, 5, 0x80, 0, sn, b'x', sn];
    let mut records: Vec<Vec<u8>> = (0..100).map(|sn| mac(false, 1, &pdu(sn))).collect();
    records.extend((0..40).map(|sn| mac(false, 2, &[0x04, 5, 0x80, 0, sn, b'y', sn])));
    let found = read_all(&pcap(149, &records));
    let bearer = found.bearer.unwrap();
    assert_eq!((bearer.bearer.as_str(), bearer.sn_bits, bearer.data), ("drb1", 18, 140));
    assert_eq!(found.tracked.events.cause.len(), 1);
    assert_eq!(crate::linktable::CAUSES[found.tracked.events.cause[0] as usize], "handover");
    assert_eq!(found.tracked.frames.offset.last(), Some(&278));
    assert_eq!(found.blocks.attempt.len(), 140);
    // The same context without a name is what link type 157 begins with.
    let bare: Vec<Vec<u8>> = records.iter().map(|one| one[8 + 6..].to_vec()).collect();
    assert_eq!(read_all(&pcap(157, &bare)).bearer.unwrap().data, 140);
    let wanted = Wanted { ue: Some(7), bearer: Some("srb1".into()), view: None };
    assert!(read_from(&pcap(149, &records)[..], &wanted).unwrap().bearer.is_none());
}

/// MAC PDUs of a terminal, each with one SDU of a logical channel.
fn mac_pdus<'a>(nr: bool, lcid: u8, sdus: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let one = |sdu: &[u8]| {
        let (name, length) =
            if nr { (&b"mac-nr"[..], vec![sdu.len() as u8]) } else { (&b"mac-lte"[..], vec![]) };
        let head = [1, 1, 3, 2, 0x46, 1, 3, 0, 7, 1, lcid];
        framed(name, &[&head[..], &length, sdu].concat())
    };
    pcap(149, &sdus.into_iter().map(one).collect::<Vec<_>>())
}

fn bearers(file: &[u8]) -> Vec<(String, Mode, u8, u64)> {
    let found = read_all(file).bearers;
    found.into_iter().map(|one| (one.bearer, one.mode, one.sn_bits, one.data)).collect()
}

#[test]
fn unacknowledged_mode_by_how_its_numbers_run() {
    let noise =
        |seed: u8| (0..30).map(move |at: u8| seed.wrapping_mul(77).wrapping_add(at.wrapping_mul(151)) | 1);
    let with = |heads: Vec<Vec<u8>>| -> Vec<Vec<u8>> {
        let numbered = heads.into_iter().enumerate();
        numbered.map(|(at, head)| head.into_iter().chain(noise(at as u8)).collect()).collect()
    };
    let file = |nr, heads: Vec<Vec<u8>>| mac_pdus(nr, 4, with(heads).iter().map(Vec::as_slice));
    let drb = |nr| if nr { "drb1" } else { "drb2" }.to_owned();
    // LTE: numbers of 5 and of 10 bits, every fourth PDU begins or ends inside an SDU.
    let cut = |at: u16| u16::from(at.is_multiple_of(4));
    let short = (0..60_u16).map(|at| vec![((cut(at) << 6) | (at % 32)) as u8]).collect();
    assert_eq!(bearers(&file(false, short)), [(drb(false), Mode::Unacknowledged, 5, 60)]);
    let long = (1000..1060_u16).map(|at| ((cut(at) << 11) | (at % 1024)).to_be_bytes().to_vec()).collect();
    assert_eq!(bearers(&file(false, long)), [(drb(false), Mode::Unacknowledged, 10, 60)]);
    // NR: whole SDUs, which have the number of PDCP only; then each in three segments.
    let whole =
        |bits: u32| {
            (250..290_u32)
                .map(|sn| {
                    if bits == 12 {
                        vec![0, 0x80, sn as u8]
                    } else {
                        vec![0, 0x80, (sn >> 8) as u8, sn as u8]
                    }
                })
                .collect::<Vec<_>>()
        };
    for bits in [12, 18] {
        assert_eq!(bearers(&file(true, whole(bits))), [(drb(true), Mode::Unacknowledged, 0, 40)]);
    }
    let part = |kind: u8, sn: u8| {
        let start = if kind == 1 { vec![] } else { vec![0, 30] };
        [vec![kind << 6, sn], start].concat()
    };
    let segments = (0..90_u8).map(|at| part([1, 3, 2][usize::from(at % 3)], at / 3)).collect();
    assert_eq!(bearers(&file(true, segments)), [(drb(true), Mode::Unacknowledged, 12, 90)]);
    let six =
        (0..60_u8).map(|at| if at % 2 == 0 { vec![0x40 | (at / 2)] } else { vec![0x80 | (at / 2), 0, 30] });
    assert_eq!(bearers(&file(true, six.collect())), [(drb(true), Mode::Unacknowledged, 6, 60)]);
    // Nothing that runs up is no bearer, however much there is of it.
    let random = (0..600_u16).map(|at| vec![(at.wrapping_mul(40_503) >> 7) as u8]).collect();
    assert!(bearers(&file(false, random)).is_empty());
}

#[test]
fn acknowledged_mode_is_not_taken_for_the_other() {
    // Data of NR looks like segments, its reports like whole SDUs.
    for (nr, bits) in [(true, 12), (true, 18), (false, 10), (false, 16)] {
        let mut sdus: Vec<Vec<u8>> = Vec::new();
        for sn in 0..80_u8 {
            let head = match bits {
                18 => vec![0x80, 0, sn],
                16 => vec![0x80, 0, sn],
                _ => vec![0x80, sn],
            };
            sdus.push(head.into_iter().chain([0x80, sn]).chain((0..40).map(|at| at ^ sn)).collect());
            if sn % 8 == 7 {
                sdus.push(vec![0, if nr && bits == 12 { sn } else { 0 }, 0, 0]);
            }
        }
        let lcid = if nr { 4 } else { 3 };
        let file = mac_pdus(nr, lcid, sdus.iter().map(Vec::as_slice));
        assert_eq!(bearers(&file), [("drb1".to_owned(), Mode::Acknowledged, bits, 80)], "{nr} {bits}");
    }
}

#[test]
fn harq_is_not_rlc() {
    // LTE uplink: LCID 1, then the same block as a HARQ retransmission, then one with a wrong checksum.
    let mac = |retx: u8, crc: u8, sn: u8| {
        vec![1, 0, 3, 2, 0, 70, 3, 0, 1, 6, retx, 7, crc, 1, 0x01, 0x88, sn, 1, 2, 3]
    };
    let found = read_all(&pcap(147, &[mac(0, 1, 0), mac(1, 1, 0), mac(0, 0, 1)]));
    assert_eq!((found.counts.mac, found.counts.harq_again, found.counts.wrong_crc), (2, 1, 1));
    assert_eq!(found.tracked.frames.attempt, [0]);
    assert_eq!(found.blocks.attempt, [0, 1]);
    assert_eq!(found.blocks.airtime_ns, [1_000_000; 2]);
}

#[test]
fn requests_for_reestablishment() {
    // LTE RLC framing: mode TM, uplink, UEID 1, CCCH; then AM of 10 bits on DRB 1.
    let ccch = |first: u8| framed(b"rlc-lte", &[1, 3, 0, 5, 0, 1, 6, 0, 1, 1, first, 0, 0, 0, 0, 0]);
    let data = |sn: u8, text: &[u8]| {
        let head = [4, 2, 10, 3, 0, 5, 0, 1, 6, 0, 5, 7, 0, 1, 1, 0x80, sn];
        framed(b"rlc-lte", &[&head[..], text].concat())
    };
    let records = [ccch(0x40), data(0, b"ab"), data(1, b"cd"), ccch(0), data(0, b"ef"), data(1, b"gh")];
    let found = read_all(&pcap(149, &records));
    assert_eq!(found.counts.ccch, 2);
    assert_eq!(found.tracked.events.record, [4]);
    assert_eq!(found.tracked.frames.offset, [0, 2, 4, 6]);
}

#[test]
fn others_are_not_claimed() {
    assert!(!sniff(&pcap(149, &[b"12345678 nothing of the kind".to_vec()])));
    assert!(!sniff(&pcap(147, &[vec![9; 40]])));
    assert!(!sniff(b"rlc-lte"));
}
