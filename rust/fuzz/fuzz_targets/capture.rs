//! Any bytes as a capture file: compression, file format, decoder, tracker.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multitracer_core::capture::{format, read_from, sniff};
use multitracer_core::issue::Issues;
use multitracer_core::tracker::Tracker;

fuzz_target!(|data: &[u8]| {
    let (mut tracker, mut issues) = (Tracker::new(true), Issues::default());
    let outcome = read_from(data, &mut tracker, &mut issues, None);
    if let Ok(info) = outcome {
        assert!(sniff(data));
        assert_eq!(info.kinds.values().sum::<u64>(), info.records);
        assert!(format(data).is_some() || info.compressed.is_some());
        let errors = tracker.take_icmp_errors();
        assert!(errors.len() as u64 <= info.records);
        let (connections, columns) = tracker.finish(&mut issues);
        let rows = columns.map_or(0, |columns| columns.t_ns.len());
        assert_eq!(rows as u64, info.tcp_segments);
        assert!(connections.len() <= rows);
    }
});
