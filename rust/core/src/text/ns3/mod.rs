//! Ascii traces of ns-3: a line per packet at a device (`+` queued, `-` or `t` sent, `r` received, `d` dropped).
//!
//! Each device is an observation point with a tracker of its own: `-`, `t` and `r` at it are the records that ns-3
//! writes into the device's pcap, in the same order.
//!
//! Reference: ns-3 manual, "Tracing"; `trace-helper.cc`, the `Print` of `Ipv4Header`, `Ipv6Header`, `TcpHeader`.

mod line;
mod packet;
mod time;

use std::collections::HashMap;
use std::io::{self, Read};

use super::fault::{Fault, Order};
use super::lines::Lines;
use crate::capture::Sink;
use crate::issue::Issues;
use crate::tracker::{Columns, Connection, Tracker};
pub use line::Device;
use line::Line;
use packet::{Content, content};
use time::Precision;

/// Devices beyond this many are not followed: each has a tracker.
const MAX_DEVICES: usize = 4096;

/// What one device saw.
#[derive(Debug)]
pub struct Seen {
    /// Which.
    pub device: Device,
    /// Lines of packets sent or received.
    pub records: u64,
    /// By row of `columns`: whether the device sent the segment.
    pub sent: Vec<bool>,
    /// Segments.
    pub columns: Columns,
    /// Connections.
    pub connections: Vec<Connection>,
}

/// Packets that were given up; -1 where a value is absent.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Drops {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    /// Index in `Ns3Log::places`.
    pub place: Vec<i32>,
    pub length: Vec<i32>,
}

/// What an ascii trace says.
#[derive(Debug, Default)]
pub struct Ns3Log {
    /// By device, in order of appearance; those without a TCP segment are left out.
    pub seen: Vec<Seen>,
    /// Drops.
    pub drops: Drops,
    /// Where packets were dropped: device and trace source.
    pub places: Vec<String>,
    /// Lines by operation and content.
    pub counts: Counts,
    /// Lines in the file.
    pub lines: u64,
    /// Significant digits of the times.
    pub digits: u32,
    /// First and last time.
    pub span: Option<(i64, i64)>,
    /// Step of the clock as written at the last time.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

/// Lines by what they are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Counts {
    pub queued: u64,
    pub sent: u64,
    pub received: u64,
    pub dropped: u64,
    /// Segments sent or received.
    pub segments: u64,
    /// Frames that a MAC layer sent again.
    pub mac_retries: u64,
    /// IP fragments, which are not put together.
    pub fragments: u64,
}

struct Point {
    device: Device,
    tracker: Tracker,
    records: u64,
    sent: Vec<bool>,
}

/// Read an ascii trace.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<Ns3Log> {
    let mut state = State::default();
    let mut lines = Lines::new(reader);
    let (mut issues, mut order) = (Issues::default(), Order::default());
    while let Some((number, text)) = lines.next_line(&mut issues)? {
        if text.is_empty() {
            continue;
        }
        match state.line(number, text, &mut issues) {
            Ok(t_ns) => order.check(t_ns, number, &mut issues),
            Err(fault) => fault.report(number, text, &mut issues),
        }
    }
    Ok(state.finish(lines.count(), issues))
}

#[derive(Default)]
struct State {
    log: Ns3Log,
    points: Vec<Point>,
    by_device: HashMap<Device, usize>,
    by_place: HashMap<String, i32>,
    precision: Precision,
}

impl State {
    fn line(&mut self, number: u64, text: &[u8], issues: &mut Issues) -> Result<i64, Fault> {
        let line = Line::parse(text)?;
        let content = content(line.rest, line.t_ns, number)?;
        self.precision.saw(line.digits);
        let (first, last) = self.log.span.unwrap_or((line.t_ns, line.t_ns));
        self.log.span = Some((first.min(line.t_ns), last.max(line.t_ns)));
        let counts = &mut self.log.counts;
        match line.operation {
            b'+' => counts.queued += 1,
            b'd' => {
                counts.dropped += 1;
                self.dropped(&line, number, &content);
            }
            operation => {
                let sent = operation != b'r';
                *(if sent { &mut counts.sent } else { &mut counts.received }) += 1;
                self.passed(&line, number, sent, content, issues);
            }
        }
        Ok(line.t_ns)
    }

    fn dropped(&mut self, line: &Line<'_>, number: u64, content: &Content) {
        let count = self.by_place.len() as i32;
        let name = line.place();
        let place = *self.by_place.entry(name).or_insert_with_key(|name| {
            self.log.places.push(name.clone());
            count
        });
        let drops = &mut self.log.drops;
        drops.t_ns.push(line.t_ns);
        drops.record.push(number as i64);
        drops.place.push(place);
        drops.length.push(content.ip_length().and_then(|length| i32::try_from(length).ok()).unwrap_or(-1));
    }

    fn passed(&mut self, line: &Line<'_>, number: u64, sent: bool, content: Content, issues: &mut Issues) {
        let segment = match content {
            Content::Tcp(segment) => segment,
            Content::Retry => {
                self.log.counts.mac_retries += 1;
                return;
            }
            Content::Fragment(_) => {
                self.log.counts.fragments += 1;
                return;
            }
            Content::Other(_) => return,
        };
        let known = self.points.len();
        let index = *self.by_device.entry(line.device).or_insert(known);
        if index == known {
            if known == MAX_DEVICES {
                self.by_device.remove(&line.device);
                issues.add("unparsed-line", number, || format!("more than {MAX_DEVICES} devices"));
                return;
            }
            let tracker = Tracker::new(true);
            self.points.push(Point { device: line.device, tracker, records: 0, sent: Vec::new() });
        }
        self.log.counts.segments += 1;
        let point = &mut self.points[index];
        point.records += 1;
        point.sent.push(sent);
        point.tracker.segment(&segment);
    }

    fn finish(self, lines: u64, mut issues: Issues) -> Ns3Log {
        let State { mut log, points, precision, .. } = self;
        for point in points {
            // Damage of connections is told by the point that is chosen for them, not by routers in between.
            let Point { device, tracker, records, sent } = point;
            let (connections, columns) = tracker.finish(&mut Issues::default());
            let columns = columns.unwrap_or_default();
            log.seen.push(Seen { device, records, sent, columns, connections });
        }
        if log.counts.fragments > 0 {
            let count = log.counts.fragments;
            issues.add_many("unparsed-line", count, 0, || "IP fragments, which are not put together".into());
        }
        log.lines = lines;
        log.digits = precision.digits();
        log.resolution_ns = precision.step_ns(log.span.map_or(0, |(_, last)| last));
        log.issues = issues;
        log
    }
}

#[cfg(test)]
mod tests;
