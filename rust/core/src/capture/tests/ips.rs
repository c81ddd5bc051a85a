use super::build::{
    File, Tcp, ethernet, ipv4, ipv4_addresses, ipv4_with, ipv6, ipv6_addresses, ipv6_with, one,
};
use super::build::{tcp_v4, tcp_v6};
use super::read;
use crate::segment::{Address, Checksum};

#[test]
fn ipv4_fields() {
    let outcome = read(&one(101, &tcp_v4(&Tcp::default())));
    let segment = outcome.only();
    assert_eq!(segment.source, (Address::v4([10, 0, 0, 1]), 40000));
    assert_eq!(segment.destination, (Address::v4([10, 0, 0, 2]), 80));
    assert_eq!((segment.ip_length, segment.ip_id, segment.ttl, segment.ecn), (45, 0x1234, 64, 2));
}

#[test]
fn ipv6_fields() {
    let outcome = read(&one(101, &tcp_v6(&Tcp::default())));
    let segment = outcome.only();
    assert_eq!(segment.source, (Address::v6([0x20; 16]), 40000));
    assert_eq!((segment.ip_length, segment.ip_id, segment.ttl, segment.ecn), (65, 0, 55, 3));
}

#[test]
fn padding_of_short_frames_is_not_payload() {
    let tcp = Tcp { payload: Vec::new(), ..Tcp::default() };
    for (ethertype, ip) in [(0x0800, tcp_v4(&tcp)), (0x86dd, tcp_v6(&tcp))] {
        let mut frame = ethernet(ethertype, &ip);
        frame.resize(frame.len() + 17, 0x55);
        let outcome = read(&one(1, &frame));
        assert_eq!((outcome.only().length, outcome.only().checksum), (0, Checksum::Good));
    }
}

#[test]
fn length_zero_is_taken_from_the_record() {
    let tcp = Tcp { payload: vec![1; 100], ..Tcp::default() };
    let v4 = ipv4_with(6, &tcp.summed(&ipv4_addresses()), 0, 0);
    let v6 = ipv6_with(6, &tcp.summed(&ipv6_addresses()), 0);
    for (ethertype, ip) in [(0x0800, v4), (0x86dd, v6)] {
        let outcome = read(&one(1, &ethernet(ethertype, &ip)));
        assert_eq!((outcome.only().length, outcome.only().ip_length), (100, ip.len() as u32));
        assert_eq!(outcome.only().checksum, Checksum::Good);
        // BIG TCP, cut by the snap length.
        let outcome = read(&File::new(1).record((1, 0), &ethernet(ethertype, &ip), 80_066).done());
        assert_eq!((outcome.only().ip_length, outcome.only().checksum), (80_052, Checksum::Unverified));
        // With a frame check sequence of four bytes.
        let file = File::with(0xa1b2_c3d4, false, (2, 4), 65535, 0x2400_0001);
        let outcome = read(&file.record((1, 0), &ethernet(ethertype, &ip), 80_066).done());
        assert_eq!(outcome.only().ip_length, 80_048);
        // A record that claims gigabytes.
        let outcome = read(&File::new(1).record((1, 0), &ethernet(ethertype, &ip), u32::MAX).done());
        assert_eq!(outcome.kind("malformed"), 1);
    }
}

#[test]
fn jumbo_option() {
    let tcp = Tcp { payload: vec![1; 64], ..Tcp::default() };
    let mut payload = vec![6, 0, 0xc2, 4];
    payload.extend((8 + 84u32).to_be_bytes());
    payload.extend(tcp.summed(&ipv6_addresses()));
    let outcome = read(&one(101, &ipv6_with(0, &payload, 0)));
    assert_eq!((outcome.only().length, outcome.only().checksum), (64, Checksum::Good));
}

#[test]
fn lengths_do_not_depend_on_the_snap_length() {
    let tcp =
        Tcp { payload: vec![9; 1000], options: vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], ..Tcp::default() };
    let frame = ethernet(0x0800, &tcp_v4(&tcp));
    let whole = *read(&one(1, &frame)).only();
    for captured in 14 + 20 + 32..frame.len() {
        let outcome = read(&File::new(1).record((1, 0), &frame[..captured], frame.len() as u32).done());
        let expected = crate::segment::Segment { checksum: Checksum::Unverified, ..whole };
        assert_eq!(*outcome.only(), expected);
        assert_eq!(outcome.issue("snaplen-cut").map(|o| o.count), Some(1));
        // Tools that cut packets and write the captured length twice: the IP header tells.
        let outcome = read(&one(1, &frame[..captured]));
        assert_eq!(*outcome.only(), expected);
        assert_eq!(outcome.issue("snaplen-cut").map(|o| o.count), Some(1));
    }
}

#[test]
fn extension_headers_are_walked() {
    let tcp = Tcp::default().summed(&ipv6_addresses());
    let hop = |next: u8| vec![next, 0, 5, 2, 0, 0, 1, 0];
    let long = |next: u8| [vec![next, 1], vec![0; 14]].concat();
    let routing = |next: u8, left: u8| vec![next, 0, 0, left, 0, 0, 0, 0];
    let ah = |next: u8| [vec![next, 4], vec![0; 22]].concat();
    let atomic = |next: u8| vec![next, 0, 0, 0, 0, 0, 0, 1];
    for (first, headers) in [
        (0, vec![hop(6)]),
        (60, vec![long(6)]),
        (43, vec![routing(6, 0)]),
        (51, vec![ah(6)]),
        (44, vec![atomic(6)]),
        (0, vec![hop(60), long(43), routing(44, 0), atomic(51), ah(60), long(6)]),
    ] {
        let payload = [headers.concat(), tcp.clone()].concat();
        let outcome = read(&one(101, &ipv6(first, &payload)));
        assert_eq!((outcome.only().length, outcome.only().checksum), (5, Checksum::Good), "{first}");
        assert_eq!(outcome.only().ip_length as usize, 40 + payload.len());
    }
    // The checksum is over the final destination, which a routing header still in use hides.
    let outcome = read(&one(101, &ipv6(43, &[routing(6, 1), tcp].concat())));
    assert_eq!((outcome.only().length, outcome.only().checksum), (5, Checksum::Unverified));
}

#[test]
fn authentication_header_behind_ipv4() {
    let mut payload = vec![6, 4];
    payload.extend([0; 22]);
    payload.extend(Tcp::default().summed(&ipv4_addresses()));
    let outcome = read(&one(101, &ipv4(51, &payload)));
    assert_eq!((outcome.only().length, outcome.only().checksum), (5, Checksum::Good));
    // IPv6's own headers mean nothing behind IPv4.
    let outcome = read(&one(101, &ipv4(60, &[6, 0, 0, 0, 0, 0, 0, 0])));
    assert_eq!(outcome.kind("other-ip-protocol"), 1);
}

#[test]
fn protocols_are_counted_by_kind() {
    for (protocol, kind) in [
        (1, "icmp"),
        (2, "igmp"),
        (17, "udp"),
        (33, "dccp"),
        (47, "gre"),
        (94, "other-ip-protocol"),
        (50, "esp"),
        (58, "icmpv6"),
        (59, "ipv6-no-next-header"),
        (89, "ospf"),
        (103, "pim"),
        (112, "vrrp"),
        (132, "sctp"),
        (136, "udp-lite"),
        (250, "other-ip-protocol"),
    ] {
        for packet in [ipv4(protocol, &[0; 8]), ipv6(protocol, &[0; 8])] {
            let outcome = read(&one(101, &packet));
            assert_eq!(outcome.kind(kind), 1, "{protocol}");
            assert!(outcome.issues.is_empty());
        }
    }
}

#[test]
fn contradictions_are_malformed() {
    let good = tcp_v4(&Tcp::default());
    let change = |at: usize, value: u8| {
        let mut packet = good.clone();
        packet[at] = value;
        packet
    };
    for (packet, why) in [
        (change(0, 0x55), "IP version is neither 4 nor 6"),
        (change(0, 0x44), "IPv4 header length below 20"),
        (change(3, 19), "IPv4 total length below the header length"),
        (change(3, 39), "segment shorter than a TCP header"),
        (change(32, 0x40), "TCP data offset below 5"),
        (change(32, 0xf0), "TCP data offset beyond the end of the segment"),
        (good[..19].to_vec(), "packet shorter than an IPv4 header"),
        (vec![0x60; 39], "packet shorter than an IPv6 header"),
        (ipv6(60, &[6, 1, 0, 0, 0, 0, 0, 0]), "packet ends inside an IP extension header"),
        (ipv6(60, &[6, 0, 0]), "packet ends inside an IP extension header"),
    ] {
        let outcome = read(&one(101, &packet));
        assert_eq!(outcome.kind("malformed"), 1, "{why}");
        assert_eq!(outcome.issue("malformed-packet").map(|o| o.detail.as_str()), Some(why));
    }
}

#[test]
fn ip_options_are_skipped() {
    let tcp = Tcp::default().summed(&ipv4_addresses());
    let mut packet = ipv4(6, &[vec![1; 8], tcp].concat());
    packet[0] = 0x47;
    let outcome = read(&one(101, &packet));
    assert_eq!((outcome.only().length, outcome.only().checksum), (5, Checksum::Good));
}
