//! pcapng files by hand.

use super::build::{Tcp, ethernet, tcp_v4};
use super::{read, try_read};
use crate::capture::{ReadError, format, sniff};

/// A pcapng file under construction.
struct Ng {
    bytes: Vec<u8>,
    big: bool,
}

type Option = (u16, Vec<u8>);

impl Ng {
    fn new(big: bool) -> Self {
        Ng { bytes: Vec::new(), big }.section(big, &[])
    }

    fn u16(&self, value: u16) -> Vec<u8> {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }.to_vec()
    }

    fn u32(&self, value: u32) -> Vec<u8> {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }.to_vec()
    }

    fn options(&self, options: &[Option]) -> Vec<u8> {
        let mut out = Vec::new();
        for (code, value) in options {
            out.extend(self.u16(*code));
            out.extend(self.u16(value.len() as u16));
            out.extend(value);
            out.resize(out.len().next_multiple_of(4), 0);
        }
        if !options.is_empty() {
            out.extend([0; 4]);
        }
        out
    }

    fn block(mut self, block_type: u32, body: &[u8]) -> Self {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = self.u32(body.len() as u32 + 12);
        self.bytes.extend(self.u32(block_type));
        self.bytes.extend(&length);
        self.bytes.extend(body);
        self.bytes.extend(length);
        self
    }

    fn section(mut self, big: bool, options: &[Option]) -> Self {
        self.big = big;
        let fixed = [self.u32(0x1a2b_3c4d), self.u16(1), self.u16(0), vec![0xff; 8]].concat();
        let body = [fixed, self.options(options)].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    fn interface(self, link_type: u16, snaplen: u32, options: &[Option]) -> Self {
        let body = [self.u16(link_type), self.u16(0), self.u32(snaplen), self.options(options)].concat();
        self.block(1, &body)
    }

    fn packet(self, interface: u32, ticks: u64, data: &[u8], options: &[Option]) -> Self {
        let length = data.len() as u32;
        let words = [interface, (ticks >> 32) as u32, ticks as u32, length, length];
        let mut body: Vec<u8> = words.iter().flat_map(|&word| self.u32(word)).collect();
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(self.options(options));
        self.block(6, &body)
    }
}

fn frame() -> Vec<u8> {
    ethernet(0x0800, &tcp_v4(&Tcp::default()))
}

#[test]
fn sections_of_either_byte_order() {
    let file = Ng::new(false)
        .interface(1, 0, &[])
        .packet(0, 1_500_000, &frame(), &[])
        .section(true, &[])
        .interface(101, 96, &[(9, vec![9])])
        .packet(0, 2_000_000_007, &tcp_v4(&Tcp { seq: 2000, ..Tcp::default() }), &[])
        .section(false, &[])
        .interface(1, 0, &[])
        .packet(0, 3_000_000, &frame(), &[]);
    assert!(sniff(&file.bytes));
    assert_eq!(format(&file.bytes), Some("pcapng"));
    let outcome = read(&file.bytes);
    let times: Vec<i64> = outcome.segments.iter().map(|s| s.t_ns).collect();
    assert_eq!(times, [1_500_000_000, 2_000_000_007, 3_000_000_000]);
    assert_eq!(outcome.segments.iter().map(|s| s.record).collect::<Vec<_>>(), [1, 2, 3]);
    let info = &outcome.info;
    assert_eq!((info.format, info.interface_count, info.resolution_ns), ("pcapng", 3, 1000));
    assert_eq!(info.interfaces.iter().map(|i| i.packets).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!((info.blocks["section"], info.blocks["interface"], info.blocks["enhanced-packet"]), (3, 3, 3));
    assert!(outcome.issues.is_empty(), "{:?}", outcome.issues);
}

#[test]
fn time_resolution_and_offset() {
    for (options, ticks, expected) in [
        (vec![], 7, 7_000),
        (vec![(9, vec![3])], 7, 7_000_000),
        (vec![(9, vec![12])], 7_999, 7),
        (vec![(9, vec![0x80 | 10])], 512, 500_000_000),
        (vec![(14, 100i64.to_le_bytes().to_vec())], 7, 100_000_007_000),
        (vec![(14, (-1i64).to_le_bytes().to_vec()), (9, vec![9])], 7, -999_999_993),
    ] {
        let file = Ng::new(false).interface(1, 0, &options).packet(0, ticks, &frame(), &[]);
        let outcome = read(&file.bytes);
        assert_eq!(outcome.only().t_ns, expected, "{options:?}");
        assert!(outcome.issues.is_empty());
    }
}

#[test]
fn times_of_billions_of_years() {
    let far = vec![(9, vec![0]), (14, i64::MAX.to_le_bytes().to_vec())];
    let before = vec![(9, vec![0]), (14, i64::MIN.to_le_bytes().to_vec())];
    let file = Ng::new(false)
        .interface(1, 0, &far)
        .interface(1, 0, &before)
        .packet(0, u64::MAX, &frame(), &[])
        .packet(1, 0, &frame(), &[])
        .packet(0, u64::MAX, &frame(), &[]);
    let outcome = read(&file.bytes);
    let (first, last) = (outcome.info.first_ns.unwrap(), outcome.info.last_ns.unwrap());
    assert_eq!((first, last), (-(1 << 62) + 1, (1 << 62) - 1));
    assert!(last.checked_sub(first).is_some());
    assert_eq!(outcome.issue("bad-timestamp").map(|o| (o.count, o.first_record)), Some((3, 1)));
    let mut tracker = crate::tracker::Tracker::new(true);
    crate::capture::read_from(&file.bytes[..], &mut tracker, &mut Default::default(), None).unwrap();
    assert_eq!(tracker.finish(&mut Default::default()).0.len(), 1);
}

#[test]
fn simple_and_old_packets() {
    let data = frame();
    let length = data.len() as u32;
    let ng = Ng::new(false).interface(1, 0, &[]);
    let simple = [ng.u32(length + 40), data.clone()].concat();
    let old: Vec<u8> =
        [vec![0, 0, 0, 0], ng.u32(0), ng.u32(9_000_000), ng.u32(length), ng.u32(length), data.clone()]
            .concat();
    let outcome = read(&ng.block(2, &old).block(3, &simple).bytes);
    assert_eq!(outcome.segments.iter().map(|s| s.t_ns).collect::<Vec<_>>(), [9_000_000_000; 2]);
    assert_eq!(outcome.issue("no-packet-time").map(|o| (o.count, o.first_record)), Some((1, 2)));
    assert_eq!((outcome.info.blocks["simple-packet"], outcome.info.blocks["packet"]), (1, 1));
    // With a snap length, that is how much of a simple packet there is.
    let ng = Ng::new(true).interface(1, 58, &[]);
    let simple = [ng.u32(length + 40), data[..58].to_vec()].concat();
    let outcome = read(&ng.block(3, &simple).bytes);
    assert_eq!((outcome.only().length, outcome.info.captured_bytes), (5, 58));
}

#[test]
fn other_blocks_are_counted_and_passed_over() {
    let ng = Ng::new(false).interface(1, 0, &[(2, b"eth0".to_vec()), (3, b"uplink".to_vec())]);
    let statistics = [vec![0; 12], ng.options(&[(4, vec![0; 8]), (5, 3u64.to_le_bytes().to_vec())])].concat();
    let file = ng
        .block(4, &[0; 4])
        .block(10, &[7; 100])
        .block(0x8000_0001, &vec![0x55; 1 << 20])
        .packet(0, 1, &frame(), &[])
        .block(5, &statistics)
        .block(5, &statistics);
    let outcome = read(&file.bytes);
    assert_eq!(outcome.only().record, 1);
    let blocks = &outcome.info.blocks;
    assert_eq!((blocks["name-resolution"], blocks["decryption-secrets"], blocks["0x80000001"]), (1, 1, 1));
    assert_eq!(blocks["interface-statistics"], 2);
    // The newest statistics count all drops so far.
    assert_eq!(outcome.issue("capture-drops").map(|o| o.count), Some(3));
    let interface = &outcome.info.interfaces[0];
    assert_eq!((interface.name.as_str(), interface.description.as_str()), ("eth0", "uplink"));
}

#[test]
fn comments_are_kept_and_bounded() {
    let comment = |text: &str| (1, text.as_bytes().to_vec());
    let mut file = Ng::new(false)
        .section(false, &[comment("of the file"), (4, b"dumpcap".to_vec())])
        .interface(1, 0, &[])
        .packet(0, 1, &frame(), &[])
        .packet(0, 2, &frame(), &[comment("strange"), (2, vec![1, 0, 0, 0]), comment("very")]);
    for tick in 3..300 {
        file = file.packet(0, tick, &frame(), &[comment(&"x".repeat(60_000))]);
    }
    let info = read(&file.bytes).info;
    let first: Vec<(u64, &str)> = info.comments.iter().take(3).map(|c| (c.record, c.text.as_str())).collect();
    assert_eq!(first, [(0, "of the file"), (2, "strange"), (2, "very")]);
    assert_eq!((info.comments.len(), info.comment_count), (100, 300));
    assert!(info.comments.iter().all(|c| c.text.len() <= 500));
    assert_eq!(info.application, "dumpcap");
}

#[test]
fn frame_check_sequences() {
    let frame = ethernet(0x0800, &super::build::ipv4_with(6, &Tcp::default().bytes(), 0, 0));
    let with_fcs = [frame, vec![0xfc; 4]].concat();
    // By the interface, and by the packet. The IP length is left out, so that only this says where it ends.
    for (interface, packet) in [(vec![(13, vec![4])], vec![]), (vec![], vec![(2, vec![0x80, 0, 0, 0])])] {
        let file = Ng::new(false).interface(1, 0, &interface).packet(0, 1, &with_fcs, &packet);
        assert_eq!(read(&file.bytes).only().length, 5);
    }
}

#[test]
fn contradictions_cost_a_block_and_broken_framing_the_rest() {
    let good = Ng::new(false).interface(1, 0, &[]).packet(0, 1, &frame(), &[]);
    // More captured than the block holds; an interface that is not there.
    let long: Vec<u8> = [0u32, 0, 0, u32::MAX, u32::MAX].iter().flat_map(|w| w.to_le_bytes()).collect();
    let file = Ng { bytes: good.bytes.clone(), big: false }
        .block(6, &long)
        .block(6, &[0; 4])
        .packet(7, 1, &frame(), &[])
        .packet(0, 2, &frame(), &[]);
    let outcome = read(&file.bytes);
    assert_eq!(outcome.segments.len(), 2);
    assert_eq!(outcome.issue("bad-block").map(|o| (o.count, o.first_record)), Some((3, 2)));
    for total in [0u32, 8, 0x7fff_fffc, u32::MAX] {
        let mut bytes = good.bytes.clone();
        bytes.extend(6u32.to_le_bytes());
        bytes.extend(total.to_le_bytes());
        bytes.extend([0; 100]);
        let outcome = read(&bytes);
        assert_eq!(outcome.segments.len(), 1);
        assert_eq!(outcome.issue("bad-record").map(|o| o.first_record), Some(2), "{total:#x}");
    }
    let mut bytes = good.bytes.clone();
    let last = bytes.len() - 4;
    bytes[last] ^= 4;
    assert_eq!(read(&bytes).issue("bad-record").map(|o| o.first_record), Some(1));
    // A block of 4 GiB that nobody wants is passed over until the file ends.
    let mut bytes = good.bytes.clone();
    bytes.extend([0x77, 0, 0, 0, 0xfc, 0xff, 0xff, 0xff]);
    bytes.extend([0; 100]);
    let outcome = read(&bytes);
    assert_eq!((outcome.segments.len(), outcome.issue("truncated-file").is_some()), (1, true));
}

#[test]
fn truncation_anywhere() {
    let file = Ng::new(true).interface(1, 0, &[]).packet(0, 1, &frame(), &[]).packet(0, 2, &frame(), &[]);
    let packet = 12 + 20 + frame().len().next_multiple_of(4);
    let size = file.bytes.len();
    let ends = [28, 48, size - packet, size];
    for cut in 28..size {
        let outcome = read(&file.bytes[..cut]);
        assert_eq!(outcome.issues.is_empty(), ends.contains(&cut), "{cut}: {:?}", outcome.issues);
        assert_eq!(outcome.segments.len(), usize::from(cut >= size - packet));
    }
    for cut in 4..28 {
        assert!(matches!(try_read(&file.bytes[..cut]), Err(ReadError::Corrupt(_))), "{cut}");
    }
    assert!(matches!(try_read(&file.bytes[..3]), Err(ReadError::NotPcap(_))));
    assert!(matches!(try_read(b"\n\r\r\n\x1c\0\0\0abcdefgh"), Err(ReadError::NotPcap(_))));
}

#[test]
fn a_million_interfaces() {
    let mut file = Ng::new(false);
    let body = [file.u16(1), file.u16(0), file.u32(0)].concat();
    for _ in 0..1 << 20 {
        file = file.block(1, &body);
    }
    let last = (1 << 20) - 1;
    let outcome = read(&Ng { bytes: file.bytes.clone(), big: false }.packet(last, 1, &frame(), &[]).bytes);
    assert_eq!((outcome.segments.len(), outcome.info.interface_count), (1, 1 << 20));
    assert_eq!(outcome.info.interfaces.len(), 32);
    let outcome = read(&file.block(1, &body).packet(0, 1, &frame(), &[]).bytes);
    assert!(outcome.issue("bad-record").expect("an issue").detail.contains("interfaces"));
}

proptest::proptest! {
    /// Blocks in a row are read the same as those that come one by one, as in the other byte order.
    #[test]
    fn blocks_in_a_row_are_the_same(
        packets in proptest::collection::vec(
            (0u32..4, proptest::num::u64::ANY, 0usize..70, proptest::bool::weighted(0.1)), 0..30),
    ) {
        let [little, big] = [false, true].map(|big| {
            let fcs = vec![(13, vec![4])];
            let mut file = Ng::new(big).interface(1, 0, &[]).interface(1, 0, &fcs).interface(101, 96, &[]);
            for &(interface, ticks, kept, optional) in &packets {
                let options = if optional { vec![(1, b"here".to_vec())] } else { Vec::new() };
                let frame = frame();
                file = file.packet(interface, ticks, &frame[..kept.min(frame.len())], &options);
            }
            let mut outcome = read(&file.bytes);
            outcome.info.swapped = false;
            format!("{outcome:?}")
        });
        proptest::prop_assert_eq!(little, big);
    }

    #[test]
    fn any_bytes_behind_a_section_header(
        big in proptest::bool::ANY,
        blocks in proptest::collection::vec(
            (0u32..12, proptest::collection::vec(proptest::num::u8::ANY, 0..90)), 0..12),
        changes in proptest::collection::vec((proptest::num::usize::ANY, proptest::num::u8::ANY), 0..6),
    ) {
        let mut file = Ng::new(big).interface(1, 0, &[]).packet(0, 1, &frame(), &[]);
        for (block_type, body) in blocks {
            file = file.block(block_type, &body);
        }
        let mut bytes = file.bytes;
        for (at, value) in changes {
            let length = bytes.len();
            bytes[at % length] = value;
        }
        let _ = try_read(&bytes);
    }
}
