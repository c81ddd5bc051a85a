use std::io::{self, Read};
use std::sync::atomic::Ordering;

use super::build::{File, Tcp, gzip, one, tcp_v4};
use super::{Keep, read, try_read};
use crate::capture::{Progress, ReadError, packet, read_from, sniff};
use crate::issue::Issues;

const MAGICS: [(u32, bool); 3] = [(0xa1b2_c3d4, false), (0xa1b2_3c4d, true), (0xa1b2_cd34, false)];

fn small() -> Vec<u8> {
    tcp_v4(&Tcp::default())
}

/// Nokia's libpcap, Red Hat's and SuSE's wrote record headers with more bytes than their magic numbers say.
#[test]
fn patched_record_headers_are_recognised() {
    for (magic, added) in [(0xa1b2_c3d4, 4), (0xa1b2_c3d4, 8), (0xa1b2_c3d4, 12), (0xa1b2_cd34, 12)] {
        for (big, count) in [(false, 2u32), (false, 3), (false, 40), (true, 5)] {
            let data = small();
            let mut file = File::with(magic, big, (2, 4), 65535, 101);
            for at in 0..count {
                for field in [1_000_000_000 + at, 700_000 + at, data.len() as u32, data.len() as u32] {
                    file.u32(field);
                }
                file = file.raw(&[0; 12][..added]).raw(&data);
            }
            let outcome = read(&file.done());
            assert!(outcome.issues.is_empty(), "{magic:x} {added} {count} {:?}", outcome.issues);
            assert_eq!(
                (outcome.info.records, outcome.info.kinds.get("tcp")),
                (u64::from(count), Some(&u64::from(count)))
            );
        }
    }
}

/// A record that is damaged makes no variant of a file, whatever there is behind it.
#[test]
fn damage_is_no_patched_header() {
    for at in 0..64 {
        let data = small();
        let mut bytes = File::with(0xa1b2_c3d4, false, (2, 4), 65535, 101);
        for second in 0..6 {
            bytes = bytes.record((second, 5), &data, data.len() as u32);
        }
        let mut bytes = bytes.done();
        let second = 24 + 16 + data.len();
        bytes[second + at / 4] ^= 0xc1 << (at % 4);
        let outcome = read(&bytes);
        let (first, last) = (outcome.info.first_ns, outcome.info.records);
        assert_eq!(first, Some(5000), "{at}");
        assert!(last == 6 || !outcome.issues.is_empty(), "{at}");
    }
}

#[test]
fn byte_orders_and_resolutions() {
    for (magic, nanosecond) in MAGICS {
        for big in [false, true] {
            let data = small();
            let file = File::with(magic, big, (2, 4), 65535, 101)
                .record((5, 999_999), &data, data.len() as u32)
                .record((4_294_967_295, 0), &data, data.len() as u32)
                .done();
            assert!(sniff(&file) && sniff(&gzip(&file)));
            let outcome = read(&file);
            assert_eq!((outcome.info.nanosecond, outcome.info.swapped), (nanosecond, big));
            let (unit, t_ns) = if nanosecond { (1, 5_000_999_999) } else { (1000, 5_999_999_000) };
            assert_eq!(outcome.info.resolution_ns, unit);
            assert_eq!(outcome.info.first_ns, Some(t_ns));
            assert_eq!(outcome.info.last_ns, Some(4_294_967_295_000_000_000));
            assert_eq!((outcome.info.records, outcome.info.snaplen), (2, 65535));
            assert_eq!(outcome.info.bytes, 2 * data.len() as u64);
            assert!(outcome.issues.is_empty());
        }
    }
}

#[test]
fn old_versions_swap_the_lengths() {
    let data = small();
    let (captured, original) = (data.len() as u32 - 2, data.len() as u32);
    let build = |minor, first, second| {
        let mut file = File::with(0xa1b2_c3d4, false, (2, minor), 65535, 101);
        file.header((1, 0), first, second);
        file.raw(&data[..captured as usize]).done()
    };
    for file in [
        build(4, captured, original),
        build(3, captured, original),
        build(3, original, captured),
        build(2, original, captured),
    ] {
        let outcome = read(&file);
        assert_eq!((outcome.only().length, outcome.info.captured_bytes), (5, u64::from(captured)));
    }
}

#[test]
fn subsecond_fields_of_a_second_are_carried_over() {
    let data = small();
    let file = File::new(101).packet(&data).record((7, 1_500_000), &data, data.len() as u32).done();
    let outcome = read(&file);
    assert_eq!(outcome.info.last_ns, Some(8_500_000_000));
    assert_eq!(outcome.issue("bad-timestamp").map(|o| (o.count, o.first_record)), Some((1, 2)));
    let file = File::with(0xa1b2_3c4d, false, (2, 4), 65535, 101).record((7, u32::MAX), &data, 45).done();
    assert_eq!(read(&file).info.last_ns, Some(7_000_000_000 + 4_294_967_295));
}

#[test]
fn time_that_runs_backwards() {
    let data = small();
    let mut file = File::new(101);
    for second in [10, 9, 9, 11] {
        file = file.record((second, 0), &data, data.len() as u32);
    }
    let outcome = read(&file.done());
    assert_eq!(outcome.issue("time-backwards").map(|o| (o.count, o.first_record)), Some((1, 2)));
    assert_eq!((outcome.info.first_ns, outcome.info.last_ns), (Some(9_000_000_000), Some(11_000_000_000)));
}

#[test]
fn a_record_cut_short_keeps_what_came_before() {
    let file = File::new(101).packet(&small()).packet(&small()).done();
    let second = 24 + 16 + small().len();
    for cut in second + 1..file.len() {
        let outcome = read(&file[..cut]);
        assert_eq!(outcome.segments.len(), 1);
        assert_eq!(outcome.issue("truncated-file").map(|o| o.first_record), Some(2));
    }
    assert!(read(&file[..second]).issues.is_empty());
    let empty = read(&file[..24]);
    assert_eq!((empty.info.records, empty.info.first_ns, empty.issues.is_empty()), (0, None, true));
}

#[test]
fn an_impossible_length_stops_the_reading() {
    for (snaplen, captured, accepted) in [
        (65_535, 262_144, true),
        (65_535, 262_145, false),
        (1 << 20, 1 << 20, true),
        (u32::MAX, 16 << 20, true),
        (u32::MAX, (16 << 20) + 1, false),
        (0, u32::MAX, false),
    ] {
        let mut file = File::with(0xa1b2_c3d4, false, (2, 4), snaplen, 101).packet(&small());
        file.header((2, 0), captured, captured);
        let file = if accepted { file.raw(&vec![0x45; captured as usize]) } else { file.raw(&[0; 1000]) };
        let outcome = read(&file.done());
        assert_eq!(outcome.segments.len(), 1);
        assert_eq!(outcome.info.records, if accepted { 2 } else { 1 });
        let issue = outcome.issue("bad-record").map(|o| o.first_record);
        assert_eq!(issue, (!accepted).then_some(2), "snaplen {snaplen}, captured {captured}");
    }
}

#[test]
fn more_captured_than_sent() {
    let data = small();
    let outcome = read(&File::new(101).record((1, 0), &data, 3).done());
    assert_eq!((outcome.only().length, outcome.info.bytes), (5, data.len() as u64));
}

#[test]
fn compressed_and_concatenated() {
    let file = File::new(101).packet(&small()).packet(&small()).done();
    let outcome = read(&gzip(&file));
    assert_eq!((outcome.segments.len(), outcome.info.compressed), (2, Some("gzip")));
    let members = [gzip(&file[..50]), gzip(&file[50..])].concat();
    assert_eq!(read(&members).segments.len(), 2);
    assert_eq!(read(&file).info.compressed, None);
}

#[test]
fn damaged_compression_keeps_what_came_before() {
    let mut file = File::new(101);
    for seq in 0..2000u32 {
        let payload: Vec<u8> =
            (0..50u32).map(|i| ((seq * 50 + i).wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        file = file.packet(&tcp_v4(&Tcp { seq, payload, ..Tcp::default() }));
    }
    let whole = gzip(&file.done());
    let outcome = read(&whole[..whole.len() * 3 / 4]);
    assert!((1..2000).contains(&outcome.segments.len()));
    assert!(outcome.issue("truncated-file").is_some());
    // Only the trailer is missing: all packets are there, but the file was cut.
    let outcome = read(&whole[..whole.len() - 3]);
    assert_eq!(outcome.segments.len(), 2000);
    assert!(outcome.issue("truncated-file").is_some());
    let mut damaged = whole.clone();
    let end = damaged.len() - 8;
    damaged[end] ^= 1;
    let outcome = read(&damaged);
    assert_eq!(outcome.segments.len(), 2000);
    assert!(outcome.issue("bad-record").expect("an issue").detail.contains("compressed data"));
    let garbage = [whole, b"garbage".to_vec()].concat();
    assert_eq!(read(&garbage).segments.len(), 2000);
}

#[test]
fn what_is_no_capture() {
    let zeros = [0; 100];
    for bytes in [&b""[..], b"a", b"\x1f", b"\xd4\xc3\xb2", b"hello, world, this is text", &zeros] {
        assert!(matches!(try_read(bytes), Err(ReadError::NotPcap(_))), "{bytes:?}");
        assert!(!sniff(bytes));
        let compressed = gzip(bytes);
        assert!(matches!(try_read(&compressed), Err(ReadError::NotPcap(_))));
        assert!(!sniff(&compressed));
    }
    let cut = &one(101, &small())[..23];
    assert!(matches!(try_read(cut), Err(ReadError::Corrupt(_))));
}

#[test]
fn one_packet_by_number() {
    let file = File::new(101).record((1, 0), b"first", 5).record((2, 3), b"second", 99).done();
    let directory = std::env::temp_dir();
    for (name, bytes) in [("plain", file.clone()), ("gzip", gzip(&file))] {
        let path = directory.join(format!("multitracer-{}-{name}.pcap", std::process::id()));
        std::fs::write(&path, bytes).expect("a temporary file");
        let found = packet(&path, 2).expect("a capture").expect("a second record");
        assert_eq!((found.t_ns, found.orig_len, found.link_type), (2_000_003_000, 99, 101));
        assert_eq!(found.data, b"second");
        assert!(packet(&path, 0).expect("a capture").is_none());
        assert!(packet(&path, 3).expect("a capture").is_none());
        std::fs::remove_file(&path).expect("to remove the temporary file");
    }
    assert!(matches!(packet(&directory, 1), Err(ReadError::Io(_))));
}

#[test]
fn progress_counts_bytes_of_the_file_and_cancels() {
    let file = gzip(&one(101, &small()));
    let progress = Progress::default();
    let mut issues = Issues::default();
    read_from(&file[..], &mut Keep::default(), &mut issues, Some(&progress)).expect("a capture");
    assert_eq!(progress.bytes_read.load(Ordering::Relaxed), file.len() as u64);
    progress.cancel.store(true, Ordering::Relaxed);
    let outcome = read_from(&file[..], &mut Keep::default(), &mut issues, Some(&progress));
    assert!(matches!(outcome, Err(ReadError::Cancelled)));
}

/// Gives some bytes, then an error.
struct Failing<'a>(&'a [u8], io::ErrorKind);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() { Err(self.1.into()) } else { self.0.read(buffer) }
    }
}

#[test]
fn a_failing_disk_is_an_error_and_no_damage() {
    let file = one(101, &small());
    for bytes in [file.clone(), gzip(&file)] {
        let reader = Failing(&bytes[..bytes.len() - 1], io::ErrorKind::PermissionDenied);
        let outcome = read_from(reader, &mut Keep::default(), &mut Issues::default(), None);
        assert!(matches!(outcome, Err(ReadError::Io(_))));
    }
}
