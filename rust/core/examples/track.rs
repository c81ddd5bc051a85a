//! Read and track a capture, and print how long it took: `cargo run --release --example track FILE [table] [beside | divided=N]`.

use multitracer_core::capture;
use multitracer_core::issue::Issues;
use multitracer_core::tracker::{Tracker, Tracking, track_beside};
use std::path::Path;
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("a capture file");
    let options: Vec<String> = arguments.collect();
    let keep_segments = options.iter().any(|o| o == "table");
    let mut issues = Issues::default();
    let start = Instant::now();
    let path = Path::new(&path);
    let parts = options.iter().find_map(|o| o.strip_prefix("divided=")).map(|n| n.parse().expect("a number"));
    let tracking = match parts {
        Some(parts) => Some(Tracking::Divided(parts)),
        None if options.iter().any(|o| o == "beside") => {
            Some(if keep_segments { Tracking::Table } else { Tracking::Summary })
        }
        None => None,
    };
    let (info, tracker) = if let Some(tracking) = tracking {
        track_beside(tracking, |relay| capture::read(path, relay, &mut issues)).expect("a thread")
    } else {
        let mut tracker = if keep_segments { Tracker::new(true) } else { Tracker::summing_up() };
        (capture::read(path, &mut tracker, &mut issues), tracker)
    };
    let info = info.expect("a readable capture");
    let (connections, columns) = tracker.conclude(&mut issues);
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} records, {} segments, {} connections, {} rows in {seconds:.3} s: {:.1} ns a record",
        info.records,
        info.tcp_segments,
        connections.len(),
        columns.map_or(0, |c| c.t_ns.len()),
        seconds * 1e9 / info.records as f64
    );
}
