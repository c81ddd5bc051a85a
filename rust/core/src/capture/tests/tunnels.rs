use super::build::{Tcp, ethernet, ipv4, ipv4_with, ipv6, one, tcp_v4, tcp_v6};
use super::{Outcome, read};

fn inner() -> Vec<u8> {
    tcp_v4(&Tcp::default())
}

/// The innermost TCP must come out, and the tunnels around it be counted.
fn check(link_type: u32, packet: &[u8], tunnels: &[&str]) -> Outcome {
    let outcome = read(&one(link_type, packet));
    let segment = outcome.only();
    assert_eq!((segment.seq, segment.length), (1000, 5), "{tunnels:?}");
    assert_eq!(segment.checksum, crate::segment::Checksum::Good, "{tunnels:?}");
    let names: Vec<&str> = outcome.info.tunnels.keys().copied().collect();
    assert_eq!(names, tunnels);
    assert!(outcome.issues.is_empty(), "{:?}", outcome.issues);
    outcome
}

fn udp(destination: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0xc0, 0];
    out.extend(destination.to_be_bytes());
    out.extend((8 + payload.len() as u16).to_be_bytes());
    out.extend([0, 0]);
    out.extend(payload);
    ipv4(17, &out)
}

fn with(prefix: &[u8], rest: Vec<u8>) -> Vec<u8> {
    [prefix, &rest].concat()
}

#[test]
fn between_the_link_and_ip() {
    check(1, &ethernet(0x8100, &with(&[0, 5, 8, 0], inner())), &["vlan"]);
    check(1, &ethernet(0x88a8, &with(&[0, 5, 0x81, 0, 0, 6, 8, 0], inner())), &["qinq"]);
    check(1, &ethernet(0x8847, &with(&[0, 1, 0, 64, 0, 2, 1, 64], inner())), &["mpls"]);
    // A pseudowire: label, control word, Ethernet.
    let frame = ethernet(0x86dd, &tcp_v6(&Tcp::default()));
    check(1, &ethernet(0x8847, &with(&[0, 1, 1, 64, 0, 0, 0, 0], frame)), &["mpls"]);
    let session = with(&[0x11, 0, 0, 1, 0, 47, 0x00, 0x21], inner());
    check(1, &ethernet(0x8864, &session), &["pppoe"]);
    check(51, &session, &["pppoe"]);
    check(1, &ethernet(0x8100, &with(&[0, 5, 0x88, 0x64], session)), &["pppoe", "vlan"]);
}

#[test]
fn in_ip() {
    check(101, &ipv4(4, &inner()), &["ip-in-ip"]);
    check(101, &ipv4(41, &tcp_v6(&Tcp::default())), &["6in4"]);
    check(101, &ipv6(41, &tcp_v6(&Tcp::default())), &["ip-in-ip"]);
    check(101, &ipv6(4, &inner()), &["ip-in-ip"]);
    check(101, &ipv4(137, &with(&[0, 1, 1, 64], inner())), &["mpls"]);
    check(101, &ipv4(97, &with(&[0x30, 0], ethernet(0x0800, &inner()))), &["etherip"]);
    check(101, &ipv4(4, &ipv4(4, &inner())), &["ip-in-ip"]);
}

#[test]
fn in_gre() {
    check(101, &ipv4(47, &with(&[0, 0, 8, 0], inner())), &["gre"]);
    // Checksum, key and sequence number.
    let all = with(&[0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9], inner());
    check(101, &ipv4(47, &all), &["gre"]);
    check(101, &ipv4(47, &with(&[0, 0, 0x65, 0x58], ethernet(0x0800, &inner()))), &["gre"]);
    check(
        101,
        &ipv4(47, &with(&[0x30, 0x81, 0x88, 0x0b, 0, 49, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0x00, 0x21], inner())),
        &["pptp"],
    );
    let erspan =
        with(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 0, 0, 0, 0, 0], ethernet(0x0800, &inner()));
    check(101, &ipv4(47, &erspan), &["erspan"]);
    check(101, &ipv4(47, &with(&[0, 0, 0x88, 0x3e, 0, 1, 2, 3], inner())), &["gre"]);
    check(101, &ipv4(47, &with(&[0, 0, 0x88, 0x3e], inner())), &["gre"]);
    let other = read(&one(101, &ipv4(47, &[0, 0, 0x12, 0x34, 0, 0])));
    assert_eq!((other.kind("gre"), other.info.tunnels["gre"]), (1, 1));
}

#[test]
fn in_udp() {
    let frame = ethernet(0x0800, &inner());
    for port in [4789, 8472] {
        check(101, &udp(port, &with(&[8, 0, 0, 0, 0, 0, 1, 0], frame.clone())), &["vxlan"]);
    }
    check(101, &udp(4790, &with(&[0x0c, 0, 0, 1, 0, 0, 1, 0], inner())), &["vxlan"]);
    let geneve = with(&[1, 0, 0x65, 0x58, 0, 0, 1, 0, 0, 0, 0, 0], frame);
    check(101, &udp(6081, &geneve), &["geneve"]);
    check(101, &udp(6635, &with(&[0, 1, 1, 64], inner())), &["mpls", "mpls-in-udp"]);
    check(101, &udp(4754, &with(&[0, 0, 8, 0], inner())), &["gre"]);
    check(101, &udp(2152, &with(&[0x30, 0xff, 0, 45, 0, 0, 0, 1], inner())), &["gtp-u"]);
    // A sequence number, and one extension header of four bytes.
    let extended = with(&[0x36, 0xff, 0, 53, 0, 0, 0, 1, 0, 1, 0, 0x85, 1, 0, 0, 0], inner());
    check(101, &udp(2152, &extended), &["gtp-u"]);
    check(101, &udp(1701, &with(&[0x40, 2, 0, 55, 0, 1, 0, 2, 0xff, 3, 0, 0x21], inner())), &["l2tp"]);
    check(101, &udp(3544, &tcp_v6(&Tcp::default())), &["teredo"]);
}

#[test]
fn what_only_looks_like_a_tunnel_is_udp() {
    for (port, payload) in [
        (4789u16, vec![8, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3]),
        (4789, vec![0; 60]),
        (6081, vec![0x3f; 9]),
        (2152, vec![0x30, 0xff, 0, 45, 0, 0, 0, 1, 0xff]),
        (2152, vec![0x32, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]),
        (2152, vec![0x34, 0xff, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x85, 0, 0, 0, 0]),
        (6635, vec![0; 3]),
        (53, vec![0x45; 40]),
        (1701, vec![0xc8, 2, 0, 12, 0, 0, 0, 0]),
        (3544, vec![0; 20]),
    ] {
        let outcome = read(&one(101, &udp(port, &payload)));
        assert_eq!(outcome.kind("udp"), 1, "{port} {:?}", outcome.info.kinds);
        assert!(outcome.issues.is_empty());
    }
}

#[test]
fn a_tunnel_without_tcp_counts_as_what_is_in_it() {
    let arp = read(&one(101, &udp(4789, &with(&[8, 0, 0, 0, 0, 0, 1, 0], ethernet(0x0806, &[0; 28])))));
    assert_eq!((arp.kind("arp"), arp.info.tunnels["vxlan"]), (1, 1));
    let icmp = read(&one(101, &ipv4(4, &ipv4(1, &[8; 8]))));
    assert_eq!(icmp.kind("icmp"), 1);
}

#[test]
fn an_inner_packet_without_length() {
    // Segmentation offload inside a tunnel: the record says how long it is.
    let big = ipv4_with(6, &Tcp::default().bytes(), 0, 0);
    let outcome = read(&one(101, &udp(4789, &with(&[8, 0, 0, 0, 0, 0, 1, 0], ethernet(0x0800, &big)))));
    assert_eq!(outcome.only().length, 5);
}

#[test]
fn nesting_is_bounded() {
    let nest = |levels: usize| (0..levels).fold(inner(), |packet, _| ipv4(4, &packet));
    assert_eq!(read(&one(101, &nest(16))).segments.len(), 1);
    let outcome = read(&one(101, &nest(17)));
    assert_eq!((outcome.segments.len(), outcome.kind("malformed")), (0, 1));
    // 4000 headers in one packet.
    assert_eq!(read(&one(101, &nest(3000))).kind("malformed"), 1);
}

/// An ICMP error of a router about the segment that the test packets carry.
fn about(v6: bool, header: [u8; 8], quoted: &[u8]) -> Vec<u8> {
    let message = [&header[..], quoted].concat();
    if v6 { ipv6(58, &message) } else { ipv4(1, &message) }
}

#[derive(Default)]
struct Errors(Vec<crate::capture::IcmpError>);

impl crate::capture::Sink for Errors {
    fn segment(&mut self, _: &crate::segment::Segment) {}

    fn icmp_error(&mut self, error: &crate::capture::IcmpError) {
        self.0.push(*error);
    }
}

fn errors(packet: &[u8]) -> Vec<crate::capture::IcmpError> {
    let mut sink = Errors::default();
    crate::capture::read_from(&one(101, packet)[..], &mut sink, &mut Default::default(), None).unwrap();
    sink.0
}

#[test]
fn icmp_errors_quote_segments() {
    let quoted = inner();
    // Of a long segment, a router quotes the IP header and eight bytes.
    for kept in [28, 40, quoted.len()] {
        let found = errors(&about(false, [3, 4, 0, 0, 0, 0, 5, 100], &quoted[..kept]));
        let error = found[0];
        assert_eq!((error.v6, error.icmp_type, error.code, error.mtu), (false, 3, 4, 1380));
        assert_eq!((error.seq, error.source.1, error.destination.1), (1000, 40000, 80));
        assert_eq!((error.record, error.t_ns), (1, 1_000_000_000));
    }
    let found = errors(&about(true, [2, 0, 0, 0, 0, 0, 5, 0], &tcp_v6(&Tcp::default())));
    assert_eq!((found[0].v6, found[0].mtu, found[0].seq), (true, 1280, 1000));
    assert_eq!(errors(&about(false, [11, 0, 0, 0, 0, 0, 0, 0], &quoted))[0].icmp_type, 11);
    for packet in [
        about(false, [8, 0, 0, 0, 0, 1, 0, 1], &quoted),
        about(false, [3, 1, 0, 0, 0, 0, 0, 0], &quoted[..27]),
        about(false, [3, 1, 0, 0, 0, 0, 0, 0], &ipv4(17, &[0; 8])),
        about(true, [128, 0, 0, 0, 0, 0, 0, 0], &tcp_v6(&Tcp::default())),
        about(false, [3, 1, 0, 0, 0, 0, 0, 0], &[]),
    ] {
        assert!(errors(&packet).is_empty());
    }
}

#[test]
fn icmp_errors_find_their_connection() {
    use super::build::File;
    let segment = inner();
    let error = about(false, [3, 1, 0, 0, 0, 0, 0, 0], &segment);
    let stranger = about(false, [3, 1, 0, 0, 0, 0, 0, 0], &ipv4(6, &[0; 8]));
    let file = File::new(101).packet(&segment).packet(&error).packet(&stranger).done();
    let mut tracker = crate::tracker::Tracker::new(true);
    crate::capture::read_from(&file[..], &mut tracker, &mut Default::default(), None).unwrap();
    let found = tracker.take_icmp_errors();
    // Without its SYN, the first byte seen is relative 1.
    assert_eq!((found[0].connection, found[0].seq), (Some((0, 0)), 1));
    assert_eq!((found[1].connection, found[1].seq), (None, -1));
}

#[test]
fn tags_of_fabrics() {
    check(1, &ethernet(0x893f, &with(&[0, 1, 0, 2, 0, 3, 8, 0], inner())), &["e-tag"]);
    check(1, &ethernet(0x8926, &with(&[0x40, 1, 0, 2, 8, 0], inner())), &["vn-tag"]);
    check(1, &ethernet(0x88e7, &with(&[0, 0, 1, 2], ethernet(0x0800, &inner()))), &["pbb"]);
    check(1, &ethernet(0x8903, &with(&[0, 0x60], ethernet(0x0800, &inner()))), &["fabricpath"]);
    let tagged = with(&[0, 5, 8, 0], inner());
    check(1, &ethernet(0x8926, &with(&[0x40, 1, 0, 2, 0x81, 0], tagged)), &["vlan", "vn-tag"]);
}

/// A data frame to an access point.
fn wireless() -> Vec<u8> {
    let mut frame = vec![0x08, 0x01, 0, 0];
    frame.extend([0; 20]);
    frame.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    with(&frame, inner())
}

fn swapped(mut frame: Vec<u8>) -> Vec<u8> {
    frame.swap(0, 1);
    frame
}

/// A CAPWAP header of two words, with these flags behind the radio's binding (1: 802.11).
fn capwap(flags: u16, rest: Vec<u8>) -> Vec<u8> {
    let words = 2_u32 << 19 | 1 << 14 | 1 << 9 | u32::from(flags);
    let [_, head @ ..] = words.to_be_bytes();
    with(&[0, head[0], head[1], head[2], 0, 0, 0, 0], rest)
}

#[test]
fn of_access_points() {
    for protocol in [0x8200_u16, 0x8210, 0x8370] {
        let [high, low] = protocol.to_be_bytes();
        check(101, &ipv4(47, &with(&[0, 0, high, low], wireless())), &["gre"]);
    }
    assert_eq!(read(&one(101, &ipv4(47, &with(&[0, 0, 0x83, 0x80], wireless())))).kind("gre"), 1);
    check(101, &udp(5247, &capwap(0, ethernet(0x0800, &inner()))), &["capwap"]);
    check(101, &udp(5247, &capwap(0x100, wireless())), &["capwap"]);
    check(101, &udp(5247, &capwap(0x100, swapped(wireless()))), &["capwap"]);
    assert_eq!(read(&one(101, &udp(5247, &capwap(0x108, wireless())))).kind("udp"), 1);
}

#[test]
fn ipv6_of_a_broker() {
    let header = [&[0x41, 0x52, 0x11, 41, 0, 0, 0, 0][..], &[7; 16], &[9; 20]].concat();
    check(101, &udp(5072, &with(&header, tcp_v6(&Tcp::default()))), &["ayiya"]);
    let question = [&[0x41, 0x52, 0x13, 59, 0, 0, 0, 0][..], &[7; 36]].concat();
    assert_eq!(read(&one(101, &udp(5072, &question))).kind("udp"), 1);
}

#[test]
fn what_is_not_opened_is_an_issue() {
    let (mut part, mut sealed) = (wireless(), wireless());
    part[22] = 1;
    sealed[1] |= 0x40;
    for packet in [
        ethernet(0x22f3, &[0; 60]),
        ethernet(0x88e5, &[0; 60]),
        ethernet(0x894f, &[0; 60]),
        ethernet(0x0800, &udp(5247, &[1; 60])),
        ethernet(0x0800, &udp(5247, &capwap(0x180, wireless()))),
        ethernet(0x0800, &udp(5247, &capwap(0x100, part))),
        ethernet(0x0800, &udp(5247, &capwap(0x100, sealed.clone()))),
        ethernet(0x0800, &ipv4(47, &with(&[0, 0, 0x82, 0x10], sealed))),
    ] {
        let outcome = read(&one(1, &packet));
        assert_eq!(outcome.kind("encapsulation-not-opened"), 1, "{:?}", outcome.info.kinds);
        let issue = outcome.issue("unopened-encapsulation").expect("an issue");
        assert_eq!((issue.count, issue.first_record), (1, 1));
    }
}
