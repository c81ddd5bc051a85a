//! Link types beyond Ethernet, raw IP, loopback and cooked.

use super::build::{File, Tcp, one, tcp_v4, tcp_v6};
use super::read;

/// The segment must come out the same, whatever is in front of it.
fn check(link_type: u32, prefix: &[u8]) {
    for ip in [tcp_v4(&Tcp::default()), tcp_v6(&Tcp::default())] {
        let ethertype: &[u8] = if ip[0] == 0x45 { &[8, 0] } else { &[0x86, 0xdd] };
        let ppp: &[u8] = if ip[0] == 0x45 { &[0, 0x21] } else { &[0, 0x57] };
        let nlpid: &[u8] = if ip[0] == 0x45 { &[0xcc] } else { &[0x8e] };
        let mut packet = Vec::new();
        for &byte in prefix {
            // Stand-ins for what says which IP follows.
            match byte {
                E => packet.extend(ethertype),
                P => packet.extend(ppp),
                N => packet.extend(nlpid),
                other => packet.push(other),
            }
        }
        let outcome = read(&one(link_type, &[packet, ip].concat()));
        assert_eq!((outcome.only().seq, outcome.only().length), (1000, 5), "link type {link_type}");
        assert!(outcome.issues.is_empty(), "{:?}", outcome.issues);
    }
}

const E: u8 = 0xe1;
const P: u8 = 0xe2;
const N: u8 = 0xe3;
const SNAP: [u8; 7] = [0xaa, 0xaa, 3, 0, 0, 0, E];

fn kind(link_type: u32, packet: &[u8], kind: &str) {
    let outcome = read(&one(link_type, packet));
    assert_eq!(outcome.kind(kind), 1, "link type {link_type}: {:?}", outcome.info.kinds);
}

#[test]
fn ppp_and_its_relatives() {
    check(9, &[P]);
    check(9, &[0xff, 3, P]);
    check(50, &[0xff, 3, P]);
    check(50, &[0x0f, 0, E]);
    check(104, &[0x8f, 0, E]);
    check(205, &[0, 0x0f, 0, E]);
    check(166, &[1, 3, P]);
    check(204, &[0, 0xff, 3, P]);
    check(204, &[1, P]);
    // Cisco HDLC where PPP was announced.
    check(9, &[0x0f, 0, E]);
    check(9, &[0x8f, 0, E]);
    check(51, &[0x11, 0, 0, 1, 0, 47, P]);
    check(8, &[[0, 0x40].as_slice(), &[0; 14]].concat());
    // The protocol field compressed to one byte.
    let packet = [&[0x21][..], &tcp_v4(&Tcp::default())].concat();
    assert_eq!(read(&one(9, &packet)).segments.len(), 1);
    kind(9, &[0xff, 3, 0xc0, 0x21, 1, 1, 0, 4], "ppp-control");
    kind(9, &[0xff, 3, 0x80, 0x21, 1, 1, 0, 4], "ppp-control");
    kind(9, &[0x00, 0x2d, 1, 2, 3], "vj-compressed");
    kind(9, &[0x00, 0x2f, 0x45], "vj-compressed");
    kind(9, &[0x00, 0x3d, 0, 0], "other-ppp-protocol");
    kind(51, &[0x11, 0x09, 0, 0, 0, 0], "pppoe");
}

#[test]
fn llc_links() {
    check(10, &[&[0x50][..], &[2; 12], &SNAP[..]].concat());
    kind(10, &[[0x80].as_slice(), &[2; 20]].concat(), "llc");
    check(100, &SNAP);
    check(6, &[&[0x10, 0x40][..], &[2; 12], &SNAP[..]].concat());
    // Source routing: two more bytes of six.
    check(
        6,
        &[&[0x10, 0x40][..], &[2; 6], &[0x82, 2, 2, 2, 2, 2], &[6, 0x30, 0, 1, 0, 2], &SNAP[..]].concat(),
    );
    check(107, &[0x18, 0x41, 3, N]);
    check(107, &[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, E]);
    check(206, &[1, 0x18, 0x41, E]);
    check(138, &[&[7; 16][..], &[E]].concat());
    check(242, &[&[7; 40][..], &[E, 0, 0]].concat());
    // The SAP of IP.
    check(100, &[6, 6, 3]);
}

#[test]
fn hosts_and_firewalls() {
    check(109, &[0; 12]);
    check(117, &[&[61, 2][..], &[0; 62]].concat());
    check(226, &[&[1, 2][..], &[0; 22]].concat());
    let nflog = |order: fn(u16) -> [u8; 2]| {
        let mut out = vec![2, 0, 0, 5];
        for (length, kind, value) in
            [(8u16, 1u16, vec![8, 0, 1, 0]), (9, 10, vec![b'l', b'o', b'g', b':', 0, 0, 0, 0])]
        {
            out.extend(order(length));
            out.extend(order(kind));
            out.extend(value);
        }
        out.extend(order(60));
        out.extend(order(9));
        out
    };
    check(239, &nflog(u16::to_le_bytes));
    check(239, &nflog(u16::to_be_bytes));
    kind(239, &[2, 0, 0, 0, 3, 0, 1, 0], "malformed");
    kind(239, &[7, 0, 0, 0], "other-address-family");
    // PKTAP: its length, a record type, the link type inside.
    check(258, &[&[108, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0][..], &[0; 96], &[2; 12], &[E]].concat());
    kind(258, &[12, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0], "unsupported-link-type");
    kind(258, &[0xff; 12], "malformed");
}

fn wifi(control: [u8; 2], more: &[u8]) -> Vec<u8> {
    [&control[..], &[0, 0], &[2; 18], &[0x10, 0], more, &SNAP].concat()
}

#[test]
fn wifi_data_frames() {
    check(105, &wifi([0x08, 0x02], &[]));
    // Four addresses; QoS; QoS with HT control.
    check(105, &wifi([0x08, 0x03], &[2; 6]));
    check(105, &wifi([0x88, 0x01], &[0, 0]));
    check(105, &wifi([0x88, 0x81], &[0, 0, 0, 0, 0, 0]));
    // Radiotap: with a time, flags, and padding behind the header.
    check(127, &[&[0, 0, 8, 0, 0, 0, 0, 0][..], &wifi([0x08, 0x02], &[])].concat());
    let flags = |flags: u8| [&[0, 0, 17, 0, 3, 0, 0, 0][..], &[9; 8], &[flags]].concat();
    check(127, &[flags(0), wifi([0x08, 0x02], &[])].concat());
    check(127, &[flags(0x20), wifi([0x88, 0x01], &[0, 0, 0xab, 0xab])].concat());
    // Two words of presence bits.
    check(127, &[&[0, 0, 13, 0, 2, 0, 0, 0x80, 0, 0, 0, 0, 0][..], &wifi([0x08, 0x02], &[])].concat());
    check(192, &[&[0, 0, 8, 0, 105, 0, 0, 0][..], &wifi([0x08, 0x02], &[])].concat());
    check(119, &[&[0x44, 0, 0, 0, 144, 0, 0, 0][..], &[0; 136], &wifi([0x08, 0x02], &[])].concat());
    let avs = [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64][..], &[0; 56], &wifi([0x08, 0x02], &[])].concat();
    check(119, &avs);
    check(163, &avs);
}

#[test]
fn wifi_frames_without_data() {
    kind(105, &wifi([0x80, 0], &[]), "wifi-management");
    kind(105, &[0xd4, 0, 0, 0, 1, 2, 3, 4, 5, 6], "wifi-control");
    kind(105, &wifi([0x08, 0x42], &[]), "wifi-protected");
    kind(105, &wifi([0x48, 0x01], &[]), "wifi-other");
    let bad = [&[0, 0, 9, 0, 2, 0, 0, 0, 0x40][..], &wifi([0x08, 0x02], &[])].concat();
    kind(127, &bad, "wifi-bad-fcs");
    kind(127, &[0, 0, 4, 0, 0, 0, 0, 0], "malformed");
    kind(127, &[0, 0, 8, 0, 0, 0, 0, 0x80], "malformed");
    let mut fragment = wifi([0x08, 0x02], &[]);
    fragment[22] = 0x11;
    kind(105, &fragment, "wifi-fragment");
    kind(105, &wifi([0x88, 0x01], &[&[0x80, 0][..], &[2; 14]].concat()), "wifi-aggregate");
}

#[test]
fn cooked_copies_are_told_from_retransmissions() {
    // Sent on one interface of `any`, seen again on the next; then truly sent again.
    let cooked = |interface: u8, packet: &[u8]| {
        [&[8, 0, 0, 0, 0, 0, 0, interface, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0][..], packet].concat()
    };
    let again = |id: u16| {
        let mut packet = tcp_v4(&Tcp::default());
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        packet
    };
    let mut file = File::new(276);
    for (time, interface, id) in [(0, 2, 7), (10, 3, 7), (40_000, 2, 8), (40_010, 3, 8)] {
        let data = cooked(interface, &again(id));
        file = file.record((1, time), &data, data.len() as u32);
    }
    let outcome = read(&file.done());
    assert_eq!(outcome.segments.iter().map(|s| s.record).collect::<Vec<_>>(), [1, 3]);
    assert_eq!((outcome.kind("tcp"), outcome.kind("tcp-copy")), (2, 2));
    assert_eq!(outcome.issue("duplicate-record").map(|o| (o.count, o.first_record)), Some((2, 2)));
}

#[test]
fn arcnet() {
    let ip = tcp_v4(&Tcp::default());
    let headers: [(u32, &[u8]); 5] = [
        (7, &[1, 2, 240]),
        (7, &[1, 2, 212, 0, 0, 1]),
        (7, &[1, 2, 212, 255, 0, 0, 212, 0, 0, 1]),
        (129, &[1, 2, 0, 0, 240]),
        (129, &[1, 2, 0, 0, 212, 0, 0, 1]),
    ];
    for (link_type, header) in headers {
        let outcome = read(&one(link_type, &[header, &ip].concat()));
        assert_eq!((outcome.only().seq, outcome.only().length), (1000, 5), "{header:?}");
        assert!(outcome.issues.is_empty(), "{:?}", outcome.issues);
    }
    kind(7, &[1, 2, 213, 0, 0, 1, 0, 0], "arp");
    kind(7, &[1, 2, 205, 0, 0, 1, 0, 0], "other-ethertype");
    kind(7, &[&[1, 2, 212, 3, 0, 1], &ip[..]].concat(), "encapsulation-not-opened");
}
