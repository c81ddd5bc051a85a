//! Captures of 802.11 frames, as a monitor receives them: transmissions, acknowledgements, what was not seen.
//!
//! One file per layer: `radio` (what capture headers say: `radiotap` with `he`, and older `cards`), `header`
//! (addresses and numbers), `payload` (what is carried), `airtime`, `sequence_counter`, `link` (a
//! station and its access point), `monitor` (frames in their order) with `management`, `answers` (block ACKs of
//! all kinds, by `blockack`) and `air` (who had it), `rows` (columns).

mod air;
mod airtime;
mod answers;
mod blockack;
mod bytes;
mod cards;
mod he;
mod header;
mod link;
mod management;
mod monitor;
mod payload;
mod radio;
mod radiotap;
mod rows;
mod sequence_counter;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::Path;

use crate::capture::ReadError;
use crate::capture::records::{RawRecord, first_record, records, records_from};
use crate::issue::Issues;
use crate::linktable::{Events, Frames};

pub use air::{AirRows, STEP_NS};
pub use header::{Mac, NAMES};
pub use link::{LinkCounts, Return};
pub use monitor::Counts;
pub use radio::{Modulation, Radio, decode as decode_radio};
pub use rows::RadioRows;

use monitor::Monitor;
use rows::Output;

/// Links that are listed, busiest first.
const LISTED: usize = 20;

pub(crate) use header::{Header, control, decode as decode_header};
pub(crate) use payload::subframes;

/// What is asked of a capture.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// The station whose link becomes the tables; without it, the link that carried most bytes.
    pub station: Option<Mac>,
    /// Retransmissions before a sender gives a frame up.
    pub retry_limit: Option<i16>,
}

/// A link of the capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkFacts {
    /// Roles ("sta", "ap") and addresses of both sides.
    pub sides: [(&'static str, Mac); 2],
    /// Frames, counted.
    pub counts: LinkCounts,
    /// How often its data moved to another access point.
    pub roams: u64,
}

/// What a capture says.
#[derive(Debug, Default)]
pub struct WifiCapture {
    /// Transmissions and acknowledgements of data frames of the chosen link.
    pub frames: Frames,
    /// Losses, resets, power save, gaps.
    pub events: Events,
    /// A row for each transmission.
    pub radio: RadioRows,
    /// Who had the air; the chosen link is the own.
    pub air: AirRows,
    /// How the station of the chosen link came to its access point.
    pub arrivals: Vec<Return>,
    /// All frames of the capture.
    pub counts: Counts,
    /// The busiest links; the chosen one first.
    pub links: Vec<LinkFacts>,
    /// How many there are.
    pub link_count: u64,
    /// The retry limit that was used, and whether it was given.
    pub retry_limit: Option<i16>,
    /// Records of data frames that had been seen before: the same packet again, not another one.
    pub repeats: Vec<u64>,
    /// Step of the time stamps.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

/// Whether a file begins like a capture of 802.11 frames.
pub fn sniff(head: &[u8]) -> bool {
    match first_record(head) {
        Some((192, data)) => data.get(4..8) == Some(&[105, 0, 0, 0]),
        Some((link_type, _)) => radio::LINK_TYPES.contains(&link_type),
        None => false,
    }
}

/// Read the files of one capture, in their order.
///
/// # Errors
/// See [`ReadError`], with the number of the file that it is about.
pub fn read<P: AsRef<Path>>(paths: &[P], wanted: Wanted) -> Result<WifiCapture, (usize, ReadError)> {
    let mut monitor = Monitor::default();
    let mut issues = Issues::default();
    let mut resolution_ns = 1;
    let mut before = 0;
    for (index, path) in paths.iter().enumerate() {
        let each = |record: RawRecord<'_>| {
            monitor.record(&RawRecord { record: before + record.record, ..record });
        };
        let counts = records(path.as_ref(), &mut issues, each).map_err(|error| (index, error))?;
        before += counts.records;
        resolution_ns = resolution_ns.max(counts.resolution_ns);
    }
    Ok(finish(monitor, issues, resolution_ns, wanted))
}

/// As [`read`], from any bytes.
///
/// # Errors
/// See [`ReadError`].
pub fn read_from(reader: impl Read + Send, wanted: Wanted) -> Result<WifiCapture, ReadError> {
    let mut monitor = Monitor::default();
    let mut issues = Issues::default();
    let counts = records_from(reader, &mut issues, |record| monitor.record(&record))?;
    Ok(finish(monitor, issues, counts.resolution_ns, wanted))
}

fn finish(monitor: Monitor, issues: Issues, resolution_ns: i64, wanted: Wanted) -> WifiCapture {
    let mut links: Vec<(u32, link::Link)> = (0u32..).zip(monitor.links).collect();
    let size = |link: &link::Link| link.counts.bytes.iter().sum::<u64>();
    let asked = |link: &link::Link| wanted.station.is_some_and(|station| link.sides.contains(&station));
    links.sort_by_key(|(_, link)| (!asked(link), std::cmp::Reverse(size(link)), link.sides));
    let own = links.first().map_or(u32::MAX, |(number, _)| *number);
    let air = monitor.air.rows(own);
    let mut found = WifiCapture {
        counts: monitor.counts,
        link_count: links.len() as u64,
        repeats: monitor.repeats,
        resolution_ns,
        issues: monitor.issues,
        air,
        ..WifiCapture::default()
    };
    found.issues.take_in(&issues);
    let mut out = Output::default();
    for (place, (_, link)) in links.iter_mut().take(LISTED).enumerate() {
        let limit = link.judge(wanted.retry_limit);
        if place == 0 {
            found.retry_limit = limit;
            link.rows(&mut out);
            report(link, &mut found.issues);
            found.arrivals = std::mem::take(&mut link.arrivals);
        }
        found.links.push(LinkFacts {
            sides: [(link.role(0), link.sides[0]), (link.role(1), link.sides[1])],
            counts: link.counts,
            roams: link.roams,
        });
    }
    (found.frames, found.events, found.radio) = (out.frames, out.events, out.radio);
    found
}

/// What the monitor did not see of the chosen link.
fn report(link: &link::Link, issues: &mut Issues) {
    let sum = |pair: [u64; 2]| pair[0] + pair[1];
    let counts = &link.counts;
    let missed = sum(counts.not_seen)
        + sum(counts.attempts_not_seen)
        + sum(counts.acks_not_seen)
        + sum(counts.undecided);
    if missed > 0 {
        let detail = || {
            format!(
                "{} frames, {} first attempts and {} acknowledgements of the link are not in the capture",
                sum(counts.not_seen),
                sum(counts.attempts_not_seen),
                sum(counts.acks_not_seen) + sum(counts.undecided)
            )
        };
        issues.add_many("not-seen", missed, 0, detail);
    }
}
