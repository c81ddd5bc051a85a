use super::build::{Tcp, ethernet, ipv4, one, tcp_v4, tcp_v6};
use super::read;

/// The segment must come out the same, whatever is in front of it.
fn check(link_type: u32, prefix: &[u8], v6: bool) {
    let tcp = Tcp::default();
    let ip = if v6 { tcp_v6(&tcp) } else { tcp_v4(&tcp) };
    let outcome = read(&one(link_type, &[prefix, &ip].concat()));
    let segment = outcome.only();
    assert_eq!((segment.seq, segment.ack, segment.length), (1000, 7, 5), "link type {link_type}");
    assert_eq!(segment.checksum, crate::segment::Checksum::Good);
    assert_eq!(segment.source.0.to_ip().is_ipv6(), v6);
    assert!(outcome.issues.is_empty(), "{:?}", outcome.issues);
}

fn frame(tags: &[u16]) -> Vec<u8> {
    let mut out = vec![0xee; 12];
    for tag in tags {
        out.extend(tag.to_be_bytes());
    }
    out
}

#[test]
fn ethernet_plain_and_tagged() {
    check(1, &frame(&[0x0800]), false);
    check(1, &frame(&[0x86dd]), true);
    check(1, &frame(&[0x8100, 5, 0x0800]), false);
    check(1, &frame(&[0x88a8, 5, 0x8100, 6, 0x86dd]), true);
    check(1, &frame(&[0x9100, 5, 0x8100, 6, 0x0800]), false);
    check(1, &frame(&[0x9200, 5, 0x88a8, 1, 0x8100, 6, 0x8100, 7, 0x0800]), false);
    check(1, &frame(&[53, 0xaaaa, 0x0300, 0x0000, 0x0800]), false);
}

#[test]
fn upper_bits_of_the_network_field() {
    // Two words of frame check sequence are announced.
    let packet = [frame(&[0x0800]), tcp_v4(&Tcp::default()), vec![0xfc; 4]].concat();
    let outcome = read(&one(0x2400_0001, &packet));
    assert_eq!((outcome.info.link_type, outcome.only().length), (1, 5));
    assert!(outcome.issues.is_empty());
}

#[test]
fn bare_ip() {
    for link_type in [12, 14, 101] {
        check(link_type, &[], false);
        check(link_type, &[], true);
    }
    check(228, &[], false);
    check(229, &[], true);
}

#[test]
fn loopback_in_either_byte_order() {
    for link_type in [0, 108] {
        check(link_type, &[2, 0, 0, 0], false);
        check(link_type, &[0, 0, 0, 2], false);
        for family in [10, 23, 24, 28, 30] {
            check(link_type, &[family, 0, 0, 0], true);
            check(link_type, &[0, 0, 0, family], true);
        }
    }
    let outcome = read(&one(0, &[7, 0, 0, 0, 1, 2, 3]));
    assert_eq!(outcome.kind("other-address-family"), 1);
}

#[test]
fn linux_cooked() {
    let sll = |protocol: &[u8]| [&[0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0][..], protocol].concat();
    check(113, &sll(&[0x08, 0x00]), false);
    check(113, &sll(&[0x86, 0xdd]), true);
    check(113, &sll(&[0x81, 0x00, 0, 9, 0x08, 0x00]), false);
    let sll2 =
        |protocol: &[u8]| [protocol, &[0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0][..]].concat();
    check(276, &sll2(&[0x08, 0x00]), false);
    check(276, &sll2(&[0x86, 0xdd]), true);
    let tagged = [sll2(&[0x81, 0x00]), vec![0, 9, 0x86, 0xdd]].concat();
    check(276, &tagged, true);
}

#[test]
fn other_ethertypes_are_counted_by_kind() {
    for (ethertype, kind) in [
        (0x0806, "arp"),
        (0x8035, "arp"),
        (0x8863, "pppoe"),
        (0x8864, "pppoe"),
        (0x88cc, "lldp"),
        (0x888e, "eapol"),
        (0x22f0, "other-ethertype"),
        (38, "llc"),
        (1500, "llc"),
        (1501, "other-ethertype"),
    ] {
        let outcome = read(&one(1, &ethernet(ethertype, &[0x42; 38])));
        assert_eq!(outcome.kind(kind), 1, "{ethertype:#x}");
        assert!(outcome.issues.is_empty());
    }
}

#[test]
fn link_headers_too_short() {
    for (link_type, header) in [(1, 14), (0, 4), (108, 4), (113, 16), (276, 20), (101, 1)] {
        for length in 0..header {
            let data = vec![0; length];
            let outcome = read(&one(link_type, &data));
            assert_eq!(outcome.kind("malformed"), 1, "link type {link_type}, {length} bytes");
            assert_eq!(outcome.issue("malformed-packet").map(|o| o.first_record), Some(1));
            let cut = super::build::File::new(link_type).record((1, 0), &data, 100).done();
            let outcome = read(&cut);
            assert_eq!(outcome.kind("header-cut"), 1, "link type {link_type}, {length} bytes of 100");
            assert!(outcome.issue("snaplen-cut").is_some());
        }
    }
}

#[test]
fn endless_tags_end() {
    let tags: Vec<u8> = std::iter::repeat_n([0, 1, 0x81, 0x00], 10_000).flatten().collect();
    let outcome = read(&one(1, &ethernet(0x8100, &tags)));
    assert_eq!(outcome.kind("malformed"), 1);
}

#[test]
fn unsupported_link_type() {
    let packet = ipv4(6, &Tcp::default().bytes());
    let file = super::build::File::new(147).packet(&packet).packet(&packet).done();
    let outcome = read(&file);
    assert!(outcome.segments.is_empty());
    assert_eq!(outcome.kind("unsupported-link-type"), 2);
    let issue = outcome.issue("unsupported-link-type").expect("an issue");
    assert_eq!((issue.count, issue.first_record), (2, 1));
    assert_eq!(issue.detail, "link type 147 (USER)");
}
