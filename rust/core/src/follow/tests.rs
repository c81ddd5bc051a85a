//! Followed captures against the same captures read at once.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::capture::read;
use crate::tracker::Connection;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sample_traces");
const MANY: Limits = Limits { keep_segments: false, connections: 1000 };

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(SAMPLES).join(name).join("snd.pcap")).unwrap()
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("multitracer-follow-{name}-{}", std::process::id()))
}

fn words(connections: &[Connection]) -> Vec<String> {
    connections.iter().map(|connection| format!("{:?}", connection.senders[0].totals())).collect()
}

/// What is said of bytes that are in a file from the start.
fn at_once(path: &Path, keep_segments: bool) -> (CaptureInfo, Vec<String>, Issues) {
    let (mut tracker, mut issues) = (Tracker::new(keep_segments), Issues::default());
    let info = read(path, &mut tracker, &mut issues).unwrap();
    let (connections, _) = tracker.finish(&mut issues);
    (info, words(&connections), issues)
}

/// What is said of the same bytes when they come in pieces.
fn in_pieces(path: &Path, bytes: &[u8], limits: Limits) -> (CaptureInfo, Vec<String>, Issues) {
    let mut file = std::fs::File::create(path).unwrap();
    let follow = Follow::begin(path.to_owned(), limits).unwrap();
    for piece in bytes.chunks(bytes.len() / 3 + 1) {
        file.write_all(piece).unwrap();
        while follow.snapshot(3).bytes_read < file.metadata().unwrap().len() {
            assert!(!follow.wait(Duration::from_millis(5)), "ended before it was told to");
        }
    }
    follow.stop();
    let Followed { info, tracker, mut issues } = follow.finish().unwrap();
    let (connections, _) = tracker.finish(&mut issues);
    (info, words(&connections), issues)
}

#[test]
fn the_same_is_said_in_the_end() {
    let bytes = sample("link-resets-vj");
    for (name, end, keep_segments) in
        [("whole", bytes.len(), false), ("kept", bytes.len(), true), ("cut", bytes.len() - 7, false)]
    {
        let path = scratch(name);
        let limits = Limits { keep_segments, ..MANY };
        let followed = in_pieces(&path, &bytes[..end], limits);
        assert_eq!(followed, at_once(&path, keep_segments), "{name}");
        std::fs::remove_file(&path).unwrap();
        let cut = followed.2.iter().any(|(code, _)| code == "truncated-file");
        assert_eq!(cut, name == "cut");
    }
}

/// A pcap of connections from as many ports, each a SYN and 100 bytes.
fn many(ports: u16) -> Vec<u8> {
    let mut out: Vec<u8> =
        [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65535, 101].iter().flat_map(|f| f.to_le_bytes()).collect();
    for port in 0..ports {
        for (seq, flags, payload) in [(0u32, 2, 0), (1, 16, 100)] {
            let mut packet =
                vec![0x45, 0, 0, 40 + payload, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            packet.extend((1000 + port).to_be_bytes());
            packet.extend(80u16.to_be_bytes());
            packet.extend(seq.to_be_bytes());
            packet.extend([0, 0, 0, 0, 0x50, flags, 255, 255, 0, 0, 0, 0]);
            packet.resize(packet.len() + usize::from(payload), 0);
            for field in [u32::from(port), seq, packet.len() as u32, packet.len() as u32] {
                out.extend(field.to_le_bytes());
            }
            out.extend(packet);
        }
    }
    out
}

#[test]
fn what_is_silent_for_longest_is_forgotten() {
    let path = scratch("many");
    std::fs::write(&path, many(50)).unwrap();
    let follow = Follow::begin(path.clone(), Limits { keep_segments: false, connections: 8 }).unwrap();
    follow.stop();
    assert!(follow.wait(Duration::from_secs(60)));
    let snapshot = follow.snapshot(3);
    assert_eq!((snapshot.records, snapshot.tcp_segments), (100, 100));
    assert_eq!((snapshot.sums.connections, snapshot.sums.data_bytes), (50, 5000));
    assert!(snapshot.forgotten >= 42 && snapshot.active <= 8, "{snapshot:?}");
    assert_eq!(snapshot.busiest.len(), 3);
    assert_eq!(follow.snapshot(3).busiest, []);
    let Followed { tracker, issues, .. } = follow.finish().unwrap();
    let mut ports = Vec::new();
    tracker.connections().each(0..tracker.connections().len(), |_, c| ports.push(c.endpoints[0].1 - 1000));
    assert_eq!(ports, (50 - ports.len() as u16..50).collect::<Vec<_>>());
    let found: Vec<_> = issues.iter().map(|(code, seen)| (code, seen.count)).collect();
    assert_eq!(
        found,
        [("forgotten-connections", snapshot.forgotten), ("missing-handshake", snapshot.forgotten)]
    );
    std::fs::remove_file(&path).unwrap();
}

/// Thousands, most of them packed: whenever it is asked, the counts are those of all; and after some were given up,
/// those are left out as ever, and the one with most data is told from those that are kept.
#[test]
fn of_many_that_are_packed_all_are_counted() {
    const PORTS: u16 = 6000;
    let bytes = many(PORTS);
    let path = scratch("packed");
    let mut file = std::fs::File::create(&path).unwrap();
    let (header, records) = bytes.split_at(24);
    let pair = records.len() / usize::from(PORTS);
    file.write_all(header).unwrap();
    let limits = Limits { keep_segments: false, connections: 5000 };
    let follow = Follow::begin(path.clone(), limits).unwrap();
    let (mut segments, mut active) = (0, 0);
    // The first thousand once more after some were given up: of those that were not kept, new connections.
    for part in [0..2500, 2500..4900, 1000..2000, 4900..6000, 5000..6000, 0..1000] {
        file.write_all(&records[part.start * pair..part.end * pair]).unwrap();
        segments += 2 * part.len() as u64;
        let snapshot = loop {
            let snapshot = follow.snapshot(1);
            active += snapshot.active;
            assert_eq!(snapshot.busiest.len() as u64, snapshot.active.min(1));
            if snapshot.tcp_segments == segments {
                break snapshot;
            }
            assert!(!follow.wait(Duration::from_millis(5)));
        };
        assert_eq!(snapshot.sums.data_bytes, segments / 2 * 100);
        assert_eq!(follow.snapshot(3).sums, snapshot.sums);
    }
    assert!(active >= 8000);
    let snapshot = follow.snapshot(0);
    // One was given up between its two segments.
    assert_eq!(snapshot.sums.connections, 7001);
    follow.stop();
    let Followed { tracker, .. } = follow.finish().unwrap();
    let connections = tracker.connections();
    assert_eq!(connections.len() as u64 + snapshot.forgotten, 7001);
    assert!((0..connections.len()).filter(|&number| connections.is_packed(number)).count() > 1000);
    let overview = connections.overview();
    let (most, largest) = overview.largest.unwrap();
    assert_eq!(most, 200);
    connections.with(largest, |c| assert!((6000..7000).contains(&c.endpoints[0].1), "{:?}", c.endpoints));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_connection_goes_on_after_others_were_forgotten() {
    let bytes = many(20);
    let path = scratch("goes-on");
    // The last connection once more: its segments must find it.
    let last = bytes[bytes.len() - 156..].to_vec();
    std::fs::write(&path, [bytes, last].concat()).unwrap();
    let follow = Follow::begin(path.clone(), Limits { keep_segments: false, connections: 19 }).unwrap();
    follow.stop();
    let Followed { tracker, .. } = follow.finish().unwrap();
    tracker.connections().with(tracker.connections().len() - 1, |connection| {
        assert_eq!(connection.endpoints[0].1, 1019);
        assert_eq!(connection.senders[0].totals().duplicate_bytes, 100);
    });
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_file_that_is_replaced_is_said() {
    let path = scratch("replaced");
    std::fs::write(&path, many(3)).unwrap();
    let follow = Follow::begin(path.clone(), MANY).unwrap();
    while follow.snapshot(0).records < 6 {
        assert!(!follow.wait(Duration::from_millis(5)));
    }
    std::fs::write(&path, b"").unwrap();
    assert!(follow.wait(Duration::from_secs(60)));
    let followed = follow.finish().unwrap();
    assert_eq!(followed.issues.iter().map(|(code, _)| code).collect::<Vec<_>>(), ["file-replaced"]);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn what_is_dropped_ends() {
    let path = scratch("dropped");
    std::fs::write(&path, many(1)).unwrap();
    let follow = Follow::begin(path.clone(), MANY).unwrap();
    let gauge = Arc::clone(&follow.gauge);
    drop(follow);
    assert_eq!(Arc::strong_count(&gauge), 1);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn what_is_no_capture_is_an_error() {
    let path = scratch("nonsense");
    std::fs::write(&path, "no capture at all, but long enough to be one").unwrap();
    let follow = Follow::begin(path.clone(), MANY).unwrap();
    assert!(follow.wait(Duration::from_secs(60)));
    assert!(matches!(follow.finish(), Err(ReadError::NotPcap(_))));
    std::fs::remove_file(&path).unwrap();
}
