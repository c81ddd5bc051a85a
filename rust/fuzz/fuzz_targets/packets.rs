//! Packets of any link type in a file that is sound, so that everything reaches the decoder and the tracker.
//!
//! The first byte chooses the link type; then records: length, time step, bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multitracer_core::capture::read_from;
use multitracer_core::issue::Issues;
use multitracer_core::tracker::Tracker;

const LINK_TYPES: [u32; 32] = [
    0, 1, 6, 8, 9, 10, 12, 50, 51, 100, 101, 104, 105, 107, 108, 109, 113, 117, 119, 127, 138, 163, 166, 192, 204,
    205, 206, 226, 239, 242, 258, 276,
];

fuzz_target!(|data: &[u8]| {
    let Some((choice, mut rest)) = data.split_first() else { return };
    let mut file = Vec::with_capacity(data.len() * 2 + 64);
    let link_type = LINK_TYPES[usize::from(*choice) % LINK_TYPES.len()];
    for field in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, link_type] {
        file.extend(field.to_le_bytes());
    }
    let mut micros = 0u32;
    while let Some(([length, step], more)) = rest.split_first_chunk::<2>() {
        let (packet, after) = more.split_at(more.len().min(usize::from(*length)));
        rest = after;
        micros = micros.wrapping_add(1 << (step & 31));
        // The upper bits cut what was captured of it.
        let original = packet.len() as u32 + u32::from(step >> 5) * 100;
        for field in [micros / 1_000_000, micros % 1_000_000, packet.len() as u32, original] {
            file.extend(field.to_le_bytes());
        }
        file.extend(packet);
    }
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
