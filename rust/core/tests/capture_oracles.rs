//! Real captures against capinfos and tshark: record counts, and every TCP segment field by field.
//!
//! Reads the folders `traces` and `samples/pcap` of `$MULTITRACER_SHARED`; skipped without it or without the tools.

#![expect(clippy::disallowed_methods, reason = "no Python is here")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use multitracer_core::capture::{CaptureInfo, Sink, packet, read, sniff};
use multitracer_core::issue::Issues;
use multitracer_core::segment::{Checksum, Segment};

struct Keep(Vec<Segment>);

impl Sink for Keep {
    fn segment(&mut self, segment: &Segment) {
        self.0.push(*segment);
    }
}

fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            captures(&path, found);
        } else if std::fs::read(&path).is_ok_and(|bytes| sniff(&bytes)) {
            found.push(path);
        }
    }
}

fn run(tool: &str, arguments: &[&str], path: &Path) -> Option<String> {
    let output = Command::new(tool).args(arguments).arg(path).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn capinfos_records(path: &Path) -> Option<u64> {
    let table = run("capinfos", &["-c", "-M", "-T", "-r"], path)?;
    table.trim().rsplit('\t').next()?.parse().ok()
}

/// Frame number, then: sequence, acknowledgment, flags, window, payload bytes, ports, TTL.
type Fields = [u64; 8];

/// Frames that are TCP, the innermost of each, without what ICMP quotes.
fn tshark_tcp(path: &Path) -> Option<BTreeMap<u64, Fields>> {
    let fields = [
        "frame.number",
        "frame.protocols",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.flags",
        "tcp.window_size_value",
        "tcp.len",
        "tcp.srcport",
        "tcp.dstport",
        "ip.ttl",
        "ipv6.hlim",
    ];
    let mut arguments = vec!["-n", "-Y", "tcp", "-T", "fields", "-E", "occurrence=l"];
    arguments.extend(["-o", "tcp.desegment_tcp_streams:FALSE"]);
    for field in &fields {
        arguments.extend(["-e", field]);
    }
    arguments.push("-r");
    let mut found = BTreeMap::new();
    for line in run("tshark", &arguments, path)?.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let below: Vec<&str> = columns[1].split(':').take_while(|p| *p != "tcp").collect();
        if below.iter().any(|p| ["icmp", "icmpv6"].contains(p)) {
            continue;
        }
        let innermost = below.iter().rfind(|p| ["ip", "ipv6"].contains(*p));
        let number = |at: usize| {
            let text = columns[at];
            match text.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).unwrap_or(0),
                None => text.parse().unwrap_or(0),
            }
        };
        let ttl = number(if innermost == Some(&"ipv6") { 10 } else { 9 });
        found.insert(
            number(0),
            // tshark keeps the three reserved bits among the flags.
            [number(2), number(3), number(4) & 0x1ff, number(5), number(6), number(7), number(8), ttl],
        );
    }
    Some(found)
}

fn fields(segment: &Segment) -> Fields {
    [
        segment.seq.into(),
        segment.ack.into(),
        segment.flags.into(),
        segment.window.into(),
        segment.length.into(),
        segment.source.1.into(),
        segment.destination.1.into(),
        segment.ttl.into(),
    ]
}

fn decode(path: &Path) -> (CaptureInfo, Vec<Segment>, Issues) {
    let (mut sink, mut issues) = (Keep(Vec::new()), Issues::default());
    let info = read(path, &mut sink, &mut issues).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    (info, sink.0, issues)
}

#[test]
fn real_captures_agree_with_wireshark() {
    let Some(shared) = std::env::var_os("MULTITRACER_SHARED").map(PathBuf::from) else {
        eprintln!("skipped: MULTITRACER_SHARED is not set");
        return;
    };
    let mut paths = Vec::new();
    captures(&shared.join("traces"), &mut paths);
    captures(&shared.join("samples/pcap"), &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "no captures below {}", shared.display());
    if capinfos_records(&paths[0]).is_none() || tshark_tcp(&paths[0]).is_none() {
        eprintln!("skipped: capinfos or tshark is not installed");
        return;
    }
    let mut differences = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (info, segments, issues) = decode(&path);
        let bad = segments.iter().filter(|s| s.checksum == Checksum::Bad).count();
        let offloaded = info.offloaded_checksums;
        eprintln!("{name}: {} {:?} bad {bad} offloaded {offloaded}", info.link_type_name, info.kinds);
        eprintln!("    {:?}", issues.iter().collect::<Vec<_>>());
        let records = capinfos_records(&path).unwrap_or(0);
        if info.records != records {
            differences.push(format!("{name}: {} records, capinfos {records}", info.records));
        }
        if let Some(last) = segments.last() {
            let raw = packet(&path, last.record).ok().flatten();
            assert_eq!(raw.map(|r| r.t_ns), Some(last.t_ns), "{name}");
        }
        if info.kinds.contains_key("unsupported-link-type") {
            continue;
        }
        let mut theirs = tshark_tcp(&path).unwrap_or_default();
        for big in segments.iter().filter(|s| s.ip_length > 40 + 0xffff) {
            // IPv6 BIG TCP without a jumbo option: tshark stops at the empty length field, the record is right.
            theirs.entry(big.record).or_insert_with(|| fields(big));
        }
        let ours: BTreeMap<u64, Fields> = segments.iter().map(|s| (s.record, fields(s))).collect();
        // A packet captured twice is counted once here, and as often as it was captured by tshark.
        let copies = issues.iter().find(|(code, _)| *code == "duplicate-record").map_or(0, |(_, o)| o.count);
        let missing: Vec<u64> = theirs.keys().filter(|frame| !ours.contains_key(frame)).copied().collect();
        if missing.len() as u64 == copies {
            theirs.retain(|frame, _| !missing.contains(frame));
        }
        for frame in ours.keys().chain(theirs.keys()) {
            let (a, b) = (ours.get(frame), theirs.get(frame));
            if a != b {
                differences.push(format!("{name} frame {frame}: {a:?}, tshark {b:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
