//! Ascii traces of ns-3: a line per packet at a device (`+` queued, `-` or `t` sent, `r` received, `d` dropped).
//!
//! Every host is an observation point with a tracker of its own: of the packets from and to its addresses, `-`, `t`
//! and `r` are the records that ns-3 writes into the pcap of the host's device, in the same order. What routers and
//! bystanders do with them is left out, but for their drops.
//!
//! Reference: ns-3 manual, "Tracing"; `trace-helper.cc`, the `Print` of `Ipv4Header`, `Ipv6Header`, `TcpHeader`.

mod hosts;
mod line;
mod packet;
pub mod series;
mod time;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};

use super::fault::{Fault, Order};
use super::lines::Lines;
use crate::issue::Issues;
use crate::text::found::{End, Found, Value, columns};
use hosts::Hosts;
pub use hosts::{Host, Seen};
use line::Line;
use packet::{Content, content};
use time::Precision;

/// Places of drops beyond this many are told as one.
const MAX_PLACES: usize = 1 << 14;
const OTHER_PLACES: &str = "other places";

/// TCP segments that were dropped.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Drops {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    /// Index in `Ns3Log::places`.
    pub place: Vec<i16>,
    /// Of the IP packet.
    pub length: Vec<i32>,
}

/// What an ascii trace says.
#[derive(Debug, Default)]
pub struct Ns3Log {
    /// By host, in order of appearance.
    pub seen: Vec<Seen>,
    /// Drops.
    pub drops: Drops,
    /// Where packets were dropped: device and trace source.
    pub places: Vec<String>,
    /// How many, whatever they carried.
    pub dropped_at: Vec<u64>,
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

impl From<Ns3Log> for Found {
    fn from(log: Ns3Log) -> Self {
        let (drops, counts) = (log.drops, log.counts);
        let counts = BTreeMap::from([
            ("queued", counts.queued),
            ("sent", counts.sent),
            ("received", counts.received),
            ("dropped", counts.dropped),
            ("segments", counts.segments),
            ("mac_retries", counts.mac_retries),
            ("fragments", counts.fragments),
        ]);
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table("drops", columns!(drops; t_ns, record, place, length))
            .fact("places", log.places)
            .fact("dropped_at", log.dropped_at)
            .fact("digits", log.digits)
            .fact("span", log.span)
            .fact("counts", counts)
            .ends(log.seen.into_iter().map(|seen| {
                let addresses = seen.addresses.iter().map(|address| Value::Text(address.to_ip().to_string()));
                End::new(seen.connections, seen.columns)
                    .about("node", seen.host)
                    .about("addresses", Value::List(addresses.collect()))
            }))
    }
}

/// Lines by what they are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Counts {
    pub queued: u64,
    pub sent: u64,
    pub received: u64,
    pub dropped: u64,
    /// Segments sent or received, at whatever device.
    pub segments: u64,
    /// Frames that a MAC layer sent again.
    pub mac_retries: u64,
    /// IP fragments, which are not put together.
    pub fragments: u64,
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
    hosts: Hosts,
    by_place: HashMap<String, i16>,
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
        let log = &mut self.log;
        let count = self.by_place.len();
        let name = if count < MAX_PLACES { line.place() } else { OTHER_PLACES.to_owned() };
        let place = *self.by_place.entry(name).or_insert_with_key(|name| {
            log.places.push(name.clone());
            log.dropped_at.push(0);
            count as i16
        });
        log.dropped_at[place as usize] += 1;
        let Content::Tcp(segment, _) = content else { return };
        log.drops.t_ns.push(line.t_ns);
        log.drops.record.push(number as i64);
        log.drops.place.push(place);
        log.drops.length.push(i32::try_from(segment.ip_length).unwrap_or(-1));
    }

    fn passed(&mut self, line: &Line<'_>, number: u64, sent: bool, content: Content, issues: &mut Issues) {
        let counts = &mut self.log.counts;
        match content {
            Content::Tcp(segment, frame) => {
                counts.segments += 1;
                if frame.again && sent {
                    counts.mac_retries += 1;
                } else {
                    self.hosts.take(line.device, sent, frame, &segment, number, issues);
                }
            }
            Content::Retry => counts.mac_retries += u64::from(sent),
            Content::Fragment => counts.fragments += 1,
            Content::Other => {}
        }
    }

    fn finish(self, lines: u64, mut issues: Issues) -> Ns3Log {
        let State { mut log, hosts, precision, .. } = self;
        log.seen = hosts.finish(&mut issues);
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
