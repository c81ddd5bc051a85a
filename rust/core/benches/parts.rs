//! What each part of the core costs, alone and in memory: `make bench-rust`.
//!
//! Decoding by kind of capture, tracking of segments that are decoded already, text scanners by format, and
//! what undoes a serial line. Criterion says how much each has changed since it was run before.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use multitracer_core::capture::{Sink, read_from};
use multitracer_core::issue::Issues;
use multitracer_core::segment::Segment;
use multitracer_core::text::SCANNERS;
use multitracer_core::tracker::Tracker;
use multitracer_core::{ppp, text};

const PACKETS: u32 = 30_000;
const LINES: u32 = 20_000;

/// Keeps every segment.
#[derive(Default)]
struct All(Vec<Segment>);

impl Sink for All {
    fn segment(&mut self, segment: &Segment) {
        self.0.push(*segment);
    }
}

/// Uses every segment, and keeps none.
struct Nothing;

impl Sink for Nothing {
    fn segment(&mut self, segment: &Segment) {
        black_box(segment);
    }
}

/// Ethernet, IPv4, TCP with timestamps: two segments of 1448 bytes and their ACK, in turn. Of `lossy` ones every
/// hundredth segment comes a round later, and the ACKs until then have a SACK block.
fn frame(number: u32, connections: u32, lossy: bool) -> Vec<u8> {
    let (round, place) = (number / 3 / connections, number % 3);
    let (connection, is_ack) = (number / 3 % connections, place == 2);
    let missing = lossy && round % 50 == 1;
    let sack = if is_ack && missing { 12 } else { 0 };
    let payload = if is_ack { 0 } else { 1448u32 };
    let seq = match (missing, lossy && round % 50 == 2 && place == 0) {
        (true, _) => (2 * round + 1) * 1448,
        (_, true) => 2 * (round - 1) * 1448,
        _ => (2 * round + place) * 1448,
    };
    let acked = if missing { 2 * round } else { 2 * round + 2 } * 1448;
    let tcp_header = 32 + sack;
    let (mut source, mut target) = ([10, 0, 0, 1], [10, 1, 0, 1]);
    let (mut ports, mut numbers) = ([connection as u16 + 1024, 80], [seq, 1]);
    if is_ack {
        (source, target) = (target, source);
        ports.reverse();
        numbers = [1, acked];
    }
    let mut out = vec![2; 12];
    out.extend([0x08, 0x00, 0x45, 0]);
    out.extend((20 + tcp_header as u16 + payload as u16).to_be_bytes());
    out.extend([number as u8, 0, 0x40, 0, 64, 6, 0, 0]);
    out.extend(source);
    out.extend(target);
    out.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    out.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    out.extend([(tcp_header as u8 / 4) << 4, 0x10, 0xff, 0xff, 0x5a, 0xa5, 0, 0, 1, 1, 8, 10]);
    out.extend(number.to_be_bytes());
    out.extend(number.wrapping_sub(9).to_be_bytes());
    if sack > 0 {
        out.extend([1, 1, 5, 10]);
        out.extend(((2 * round + 1) * 1448).to_be_bytes());
        out.extend(((2 * round + 2) * 1448).to_be_bytes());
    }
    out.resize(out.len() + payload as usize, number as u8);
    out
}

fn capture(connections: u32, snaplen: usize, lossy: bool) -> Vec<u8> {
    let mut out: Vec<u8> =
        [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 262_144, 1].iter().flat_map(|f| f.to_le_bytes()).collect();
    for number in 0..PACKETS {
        let frame = frame(number, connections, lossy);
        let kept = &frame[..frame.len().min(snaplen)];
        for field in [number / 100_000, number % 100_000 * 10, kept.len() as u32, frame.len() as u32] {
            out.extend(field.to_le_bytes());
        }
        out.extend(kept);
    }
    out
}

fn segments(capture: &[u8]) -> Vec<Segment> {
    let mut all = All::default();
    read_from(capture, &mut all, &mut Issues::default(), None).expect("a capture");
    assert_eq!(all.0.len(), PACKETS as usize);
    all.0
}

fn decode(c: &mut Criterion) {
    let mut group = c.benchmark_group("decode");
    group.throughput(Throughput::Elements(u64::from(PACKETS)));
    for (name, connections, snaplen) in [
        ("headers, 50 connections", 50, 96),
        ("headers, 5000 connections", 5000, 96),
        ("whole payload", 50, 65_535),
    ] {
        let bytes = capture(connections, snaplen, false);
        group.bench_function(name, |b| {
            b.iter(|| read_from(bytes.as_slice(), &mut Nothing, &mut Issues::default(), None));
        });
    }
    group.finish();
}

fn track(c: &mut Criterion) {
    let mut group = c.benchmark_group("track");
    group.throughput(Throughput::Elements(u64::from(PACKETS)));
    for (name, connections, lossy, keep) in [
        ("clean, 50 connections", 50, false, false),
        ("clean, 5000 connections", 5000, false, false),
        ("with losses", 50, true, false),
        ("into the segments table", 50, false, true),
    ] {
        let segments = segments(&capture(connections, 96, lossy));
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut tracker = Tracker::new(keep);
                segments.iter().for_each(|segment| tracker.segment(segment));
                tracker.finish(&mut Issues::default())
            });
        });
    }
    group.finish();
}

fn scan(c: &mut Criterion) {
    let mut group = c.benchmark_group("text");
    group.throughput(Throughput::Elements(u64::from(LINES)));
    for scanner in SCANNERS {
        let log: String = (0..LINES).map(|number| (scanner.line)(number) + "\n").collect();
        let found = (scanner.scan)(&mut log.as_bytes()).expect("memory");
        assert!(found.issues.iter().all(|(code, _)| code == "missing-handshake"), "{}", scanner.name);
        group.bench_function(scanner.name, |b| b.iter(|| (scanner.scan)(&mut log.as_bytes())));
    }
    let kernel = text::scanner("ftrace").expect("a scanner");
    let kernel: String = (0..LINES).map(|number| (kernel.line)(number) + "\n").collect();
    group.bench_function("lines alone", |b| {
        b.iter(|| {
            let (mut lines, mut issues) = (text::lines::Lines::new(kernel.as_bytes()), Issues::default());
            while let Ok(Some(line)) = lines.next_line(&mut issues) {
                black_box(line);
            }
        });
    });
    group.finish();
}

/// What pppd records of a line: HDLC frames of 60 bytes in pieces as they came.
fn line(c: &mut Criterion) {
    let mut octets: Vec<u8> = vec![7, 0x65, 0x53, 0xf1, 0];
    let frame: Vec<u8> = std::iter::once(0x7e).chain(0x20..0x5a).collect();
    for _ in 0..LINES {
        octets.extend([6, 1, 1]);
        octets.extend((frame.len() as u16).to_be_bytes());
        octets.extend(&frame);
    }
    assert!(ppp::record::read(octets.as_slice()).is_ok_and(|log| log.octets[0] > 0));
    let mut group = c.benchmark_group("line");
    group.throughput(Throughput::Bytes(octets.len() as u64));
    group.bench_function("pppd record", |b| b.iter(|| ppp::record::read(octets.as_slice())));
    group.finish();
}

criterion_group!(parts, decode, track, scan, line);
criterion_main!(parts);
