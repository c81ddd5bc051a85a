//! ns-2: event traces of wired and wireless networks, and the variables of TCP agents.

mod ends;
mod event;
mod formats;
mod frames;
pub mod variables;

use std::collections::BTreeMap;
use std::io::{self, Read};

pub use ends::{HEADER_BYTES, Level, View, address};
pub use frames::{Energy, Events, KINDS};

use super::fault::{Fault, Order, Resolution};
use super::lines::Lines;
use super::settings::{Settings, Unread};
use crate::issue::Issues;
use crate::linktable::Frames;
use crate::text::found::{Columns, End, Found, columns};
use ends::Ends;
use event::Event;
use frames::LinkRows;

/// Kinds of packets that are counted by name; there are about seventy in ns-2.
const MAX_KINDS: usize = 256;

/// What an event trace says.
pub struct Ns2Log {
    /// Segments at the data's senders, and at its receivers.
    pub views: [View; 2],
    /// Which layer they were taken from.
    pub level: Level,
    /// Payload of full packets, one for each that occurs.
    pub segment_bytes: Vec<u32>,
    /// Flows whose packet 0 carries data.
    pub without_syn: usize,
    /// Acknowledgments that could not be placed.
    pub unplaced: u64,
    /// MAC frames with data.
    pub frames: Frames,
    /// Control frames and drops.
    pub events: Events,
    /// Remaining energy of nodes.
    pub energy: Energy,
    /// Nodes and wired links, by the number in the columns.
    pub entities: Vec<String>,
    /// Lines by format: wired, old, new.
    pub formats: [u64; 3],
    /// Events by kind of packet.
    pub packets: BTreeMap<String, u64>,
    /// Lines of routing agents, movement and the like.
    pub remarks: u64,
    /// Time of the first and the last event.
    pub span: Option<(i64, i64)>,
    /// Lines in the file.
    pub lines: u64,
    /// Step of the clock as written.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<Ns2Log> for Found {
    fn from(log: Ns2Log) -> Self {
        let (frames, energy) = (log.frames, log.energy);
        let frames::Events { t_ns, record, entity, action, kind, length, reason, reasons } = log.events;
        let events: Columns = vec![
            ("t_ns".into(), t_ns.into()),
            ("record".into(), record.into()),
            ("entity".into(), entity.into()),
            ("action".into(), action.into()),
            ("kind".into(), kind.into()),
            ("length".into(), length.into()),
            ("reason".into(), reason.into()),
        ];
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table("frames", columns!(frames; t_ns, record, entity, action, ns, length, attempt))
            .table("events", events)
            .table("energy", columns!(energy; t_ns, record, entity, joules))
            .fact("below_agents", log.level == Level::Below)
            .fact("segment_bytes", log.segment_bytes)
            .fact("without_syn", log.without_syn)
            .fact("unplaced", log.unplaced)
            .fact("entities", log.entities)
            .fact("reasons", reasons)
            .fact("kinds", KINDS)
            .fact("formats", log.formats)
            .fact("packets", log.packets)
            .fact("remarks", log.remarks)
            .fact("span", log.span)
            .ends(log.views.map(|view| End::new(view.connections, view.columns)))
    }
}

/// Read an event trace as the setting `header_bytes` says, see [`scan`].
///
/// # Errors
/// Errors of the system while reading; settings that cannot be used.
pub fn configured(reader: &mut dyn Read, settings: &Settings) -> Result<Found, Unread> {
    settings.only(&["header_bytes"])?;
    let header_bytes = settings.whole("header_bytes", u64::from(u32::MAX))?;
    Ok(scan(reader, true, header_bytes.map_or(HEADER_BYTES, |bytes| bytes as u32))?.into())
}

/// Read an event trace.
///
/// `header_bytes` is what a packet has besides its payload: [`HEADER_BYTES`] unless agents were told not to count
/// headers.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read, keep: bool, header_bytes: u32) -> io::Result<Ns2Log> {
    let mut lines = Lines::new(reader);
    let (mut issues, mut resolution, mut order) =
        (Issues::default(), Resolution::default(), Order::default());
    let mut ends = Ends::new(keep, header_bytes);
    let mut link = LinkRows::new(keep);
    let mut formats = [0; 3];
    let mut packets: Packets = Packets::default();
    let mut remarks = 0;
    let mut span: Option<(i64, i64)> = None;
    while let Some((number, line)) = lines.next_line(&mut issues)? {
        let (t_ns, decimals) = match read(line) {
            Ok(Line::Event(format, event)) => {
                formats[format] += 1;
                packets.count(event.packet);
                ends.take(&event, number, &mut issues);
                if let Err(fault) = link.take(&event, number) {
                    fault.report(number, line, &mut issues);
                }
                (event.t_ns, event.decimals)
            }
            Ok(Line::Energy(t_ns, decimals, node, joules)) => {
                if let Err(fault) = link.energy(t_ns, node, joules, number) {
                    fault.report(number, line, &mut issues);
                }
                (t_ns, decimals)
            }
            Ok(Line::Remark) => {
                remarks += 1;
                continue;
            }
            Ok(Line::Nothing) => continue,
            Err(fault) => {
                fault.report(number, line, &mut issues);
                continue;
            }
        };
        resolution.saw(decimals);
        // Energy lines are written a microsecond ahead, rounded: only packets tell the order.
        if !line.starts_with(b"N") {
            order.check(t_ns, number, &mut issues);
        }
        span = Some(span.map_or((t_ns, t_ns), |(first, last)| (first.min(t_ns), last.max(t_ns))));
    }
    let (level, segment_bytes, without_syn, unplaced) =
        (ends.level, ends.sizes(), ends.without_syn(), ends.unplaced);
    let (frames, events, energy, entities) = link.finish();
    Ok(Ns2Log {
        views: ends.finish(),
        level,
        segment_bytes,
        without_syn,
        unplaced,
        frames,
        events,
        energy,
        entities,
        formats,
        packets: packets.finish(),
        remarks,
        span,
        lines: lines.count(),
        resolution_ns: resolution.ns(),
        issues,
    })
}

/// What a line is.
enum Line<'a> {
    Event(usize, Event<'a>),
    Energy(i64, u8, u32, Option<i64>),
    Remark,
    Nothing,
}

fn read(line: &[u8]) -> Result<Line<'_>, Fault> {
    match line {
        [] => Ok(Line::Nothing),
        [b's' | b'r' | b'd' | b'f', b' ', b'-', b't', b' ', ..] => Ok(Line::Event(2, formats::new(line)?)),
        [b'N', b' ', ..] => {
            let (t_ns, decimals, node, joules) = formats::node_energy(line)?;
            Ok(Line::Energy(t_ns, decimals, node, joules))
        }
        [b's' | b'D' | b'f', b' ', ..] => Ok(Line::Event(1, formats::old(line)?)),
        [b'+' | b'-' | b'e', b' ', ..] => Ok(Line::Event(0, formats::wired(line)?)),
        [b'r' | b'd', b' ', rest @ ..] => {
            // Wireless events name their node between underscores.
            let third = super::words::Words(rest).nth(1).unwrap_or_default();
            if third.starts_with(b"_") {
                Ok(Line::Event(1, formats::old(line)?))
            } else {
                Ok(Line::Event(0, formats::wired(line)?))
            }
        }
        // Movement, DSR's own words (Sconfig, SFs, ...), variables of links
        [b'M' | b'v', b' ', ..] => Ok(Line::Remark),
        [b'S', second, ..] if second.is_ascii_alphanumeric() || *second == b'$' => Ok(Line::Remark),
        _ => Err(Fault::NotOurs),
    }
}

/// Counts events by kind of packet, most of which are of the same few.
#[derive(Default)]
struct Packets {
    found: Vec<(Vec<u8>, u64)>,
    others: u64,
}

impl Packets {
    #[inline]
    fn count(&mut self, name: &[u8]) {
        if let Some((_, count)) = self.found.iter_mut().find(|(known, _)| known == name) {
            *count += 1;
        } else if self.found.len() < MAX_KINDS {
            self.found.push((name.to_vec(), 1));
        } else {
            self.others += 1;
        }
    }

    fn finish(self) -> BTreeMap<String, u64> {
        let words =
            |name: &[u8]| if name.is_empty() { "MAC control".into() } else { super::words::excerpt(name) };
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for (name, count) in self.found {
            *counted.entry(words(&name)).or_default() += count;
        }
        if self.others > 0 {
            *counted.entry("others".into()).or_default() += self.others;
        }
        counted
    }
}

#[cfg(test)]
mod tests;
