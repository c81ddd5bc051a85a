//! Packets of any link type in a file that is sound, so that everything reaches the decoder and the tracker.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multitracer_core::capture::read_from;
use multitracer_core::issue::Issues;
use multitracer_core::tracker::Tracker;
use multitracer_fuzz::file_of;

const LINK_TYPES: [u32; 32] = [
    0, 1, 6, 8, 9, 10, 12, 50, 51, 100, 101, 104, 105, 107, 108, 109, 113, 117, 119, 127, 138, 163, 166, 192, 204,
    205, 206, 226, 239, 242, 258, 276,
];

fuzz_target!(|data: &[u8]| {
    let Some(file) = file_of(data, &LINK_TYPES) else { return };
    let (mut tracker, mut issues) = (Tracker::new(true), Issues::default());
    let info = read_from(&file[..], &mut tracker, &mut issues, None).expect("a sound file");
    assert_eq!(info.kinds.values().sum::<u64>(), info.records);
    let (connections, columns) = tracker.finish(&mut issues);
    assert_eq!(columns.map_or(0, |columns| columns.t_ns.len()) as u64, info.tcp_segments);
    for connection in &connections {
        let sent: u64 = (0..2).map(|d| connection.senders_at(d).totals().segments).sum();
        assert!(sent <= info.tcp_segments);
    }
});
