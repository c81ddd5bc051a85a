//! Print the arrivals of a capture: `cargo run --release --example arrivals FILE`.

use multitracer_core::capture;
use multitracer_core::issue::Issues;
use multitracer_core::tracker::Tracker;
use std::path::Path;

fn main() {
    let path = std::env::args().nth(1).expect("a capture file");
    let mut issues = Issues::default();
    let mut tracker = Tracker::new(false);
    capture::read(Path::new(&path), &mut tracker, &mut issues).expect("a readable capture");
    let (connections, _) = tracker.finish(&mut issues);
    for (index, connection) in connections.iter().enumerate() {
        for direction in 0..2 {
            let sender = connection.senders_at(direction);
            for row in sender.arrivals() {
                println!(
                    "A {index} {direction} {} {} {} {:?} {:?} {:?} {} {}",
                    row.record,
                    row.seq,
                    row.length,
                    row.verdict,
                    row.evidence,
                    row.cause,
                    row.in_order,
                    row.fresh
                );
            }
            println!(
                "C {index} {direction} {:?} {:?}",
                sender.arrival_counts(),
                sender.totals().retransmissions
            );
        }
    }
}
