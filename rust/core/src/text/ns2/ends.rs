//! Packets of ns-2's TCP as segments, seen at the ends of their connections.
//!
//! A one-way agent (`Agent/TCP` and its flavours, with `Agent/TCPSink`) numbers packets and not bytes. Number times
//! segment size is the place in the byte stream, so that everything that is known of segments holds for them: packet
//! 0 of 40 bytes is the SYN, packet k carries the bytes from 1 + (k - 1) * size, and an acknowledgment of packet k
//! expects byte 1 + k * size. The trace has no window and no SACK blocks; both stay unknown.

use std::collections::HashMap;

use super::event::{End, Event, Layer, Tcp};
use crate::capture::Sink;
use crate::issue::Issues;
use crate::segment::{Address, Options, Segment, flags};
use crate::tracker::{Columns, Connection, Tracker};

/// `tcpip_base_hdr_size_`: what a packet of TCP has besides its payload.
pub const HEADER_BYTES: u32 = 40;

/// One direction of data, by its ends.
#[derive(Debug, Default, Clone, Copy)]
struct Flow {
    /// Payload of a full packet; 0 until one was seen.
    size: u32,
    /// Whether packet 0 carries no payload.
    syn: bool,
    /// Highest number sent.
    highest: Option<u32>,
    /// Sequence numbers are bytes, by what the trace shows of the header.
    in_bytes: bool,
    /// The last packet taken, for data and acknowledgments, at the data's sender and receiver: lower layers repeat.
    last: [[Option<u32>; 2]; 2],
}

/// Which layer the segments come from: agents' lines if there are any, else those below.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// No packet of TCP yet.
    #[default]
    None,
    /// Router or MAC: sizes include their headers.
    Below,
    /// Agents, or the ends of wired links.
    Agent,
}

/// What was seen at one end of every connection.
#[derive(Default)]
pub struct View {
    /// Summaries.
    pub connections: Vec<Connection>,
    /// Rows of the segments table.
    pub columns: Columns,
}

/// Both ends of all connections.
pub(super) struct Ends {
    keep: bool,
    header_bytes: u32,
    flows: HashMap<(End, End), Flow>,
    trackers: [Tracker; 2],
    pub level: Level,
    /// Acknowledgments before the first full packet: how many bytes they mean is not known.
    pub unplaced: u64,
}

impl Ends {
    pub(super) fn new(keep: bool, header_bytes: u32) -> Self {
        Ends {
            keep,
            header_bytes,
            flows: HashMap::new(),
            trackers: [Tracker::new(keep), Tracker::new(keep)],
            level: Level::None,
            unplaced: 0,
        }
    }

    /// Segment sizes that were found.
    pub(super) fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> =
            self.flows.values().map(|flow| flow.size).filter(|size| *size > 0).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Flows without a packet that plays the SYN.
    pub(super) fn without_syn(&self) -> usize {
        self.flows.values().filter(|flow| !flow.syn && !flow.in_bytes && flow.size > 0).count()
    }

    /// What was seen at the data's senders, and at its receivers.
    pub(super) fn finish(self) -> [View; 2] {
        // Its issues are about captures: here no handshake is seen by design.
        self.trackers.map(|tracker| {
            let (connections, columns) = tracker.finish(&mut Issues::default());
            let mut columns = columns.unwrap_or_default();
            // No trace shows a window, not even that of a SYN.
            columns.window.fill(-1);
            View { connections, columns }
        })
    }

    /// Take an event, if it happened at an end of a connection.
    pub(super) fn take(&mut self, event: &Event<'_>, record: u64, issues: &mut Issues) {
        let Some(tcp) = event.tcp else { return };
        let (level, leaves, arrives) = match (event.layer, event.kind) {
            (Layer::Link, b'+') => (Level::Agent, event.node == tcp.source.0, false),
            (Layer::Link, b'r') => (Level::Agent, false, event.to == tcp.destination.0),
            (Layer::Agent, b's') => (Level::Agent, true, false),
            (Layer::Agent, b'r') => (Level::Agent, false, event.node == tcp.destination.0),
            (Layer::Router | Layer::Mac, b's' | b'r' | b'f') => {
                let at_source = event.node == tcp.source.0;
                (Level::Below, at_source, !at_source && event.kind == b'r' && event.node == tcp.destination.0)
            }
            _ => return,
        };
        if !leaves && !arrives || level < self.level {
            return;
        }
        if level > self.level {
            *self = Ends { level, ..Ends::new(self.keep, self.header_bytes) };
        }
        self.segment(event, tcp, record, arrives, level == Level::Below, issues);
    }

    fn segment(
        &mut self,
        event: &Event<'_>,
        tcp: Tcp,
        record: u64,
        arrives: bool,
        repeats: bool,
        issues: &mut Issues,
    ) {
        let (source, destination) = (tcp.source, tcp.destination);
        let header_bytes = self.header_bytes;
        let mut data = event.is_data();
        let flow = if tcp.header.is_some() {
            // Both ways carry data: the flow is named by the end that spoke first.
            data = !self.flows.contains_key(&(destination, source));
            self.flow(data, source, destination)
        } else {
            self.flow(data, source, destination)
        };
        // Data leaves at the sender's end, and acknowledgments arrive there.
        let view = usize::from(data == arrives);
        let last = &mut flow.last[usize::from(data)][view];
        if repeats && *last == Some(event.uid) {
            return;
        }
        *last = Some(event.uid);
        let Some(placed) = place(flow, event, tcp, data, header_bytes, record, issues) else {
            self.unplaced += 1;
            return;
        };
        let segment = Segment {
            t_ns: event.t_ns,
            record,
            source: address(source),
            destination: address(destination),
            seq: placed.seq,
            ack: placed.ack,
            flags: placed.flags,
            // No window is recorded: one of 0 would be a closed one.
            window: if placed.flags & flags::SYN != 0 { 0 } else { u16::MAX },
            length: placed.length,
            ip_length: event.size.max(0) as u32,
            // Packets keep their identity from end to end, as with the identification of IPv4.
            ip_id: event.uid as u16,
            ttl: 0,
            ecn: 0,
            checksum: Default::default(),
            options: Options {
                // With a scale of its own and none of the peer, the tracker takes the window for unknown.
                window_scale: (placed.flags & flags::SYN != 0).then_some(0),
                complete: true,
                ..Options::default()
            },
        };
        self.trackers[view].segment(&segment);
    }

    fn flow(&mut self, data: bool, source: End, destination: End) -> &mut Flow {
        self.flows.entry(if data { (source, destination) } else { (destination, source) }).or_default()
    }
}

/// The fields of a segment that a packet number stands for.
struct Placed {
    seq: u32,
    ack: u32,
    flags: u16,
    length: u32,
}

fn place(
    flow: &mut Flow,
    event: &Event<'_>,
    tcp: Tcp,
    data: bool,
    header_bytes: u32,
    record: u64,
    issues: &mut Issues,
) -> Option<Placed> {
    let size = u32::try_from(event.size).ok()?;
    if let Some(header) = tcp.header {
        flow.in_bytes = true;
        let length = size.saturating_sub(header.bytes);
        flow.size = flow.size.max(length);
        return Some(Placed { seq: tcp.number, ack: header.ack, flags: header.flags, length });
    }
    if !data {
        if flow.size == 0 && !(flow.syn && tcp.number == 0) {
            return None;
        }
        let ack = tcp.number.wrapping_mul(flow.size).wrapping_add(if flow.syn { 1 } else { flow.size });
        return Some(Placed { seq: 1, ack, flags: flags::ACK, length: 0 });
    }
    let payload = size.saturating_sub(header_bytes);
    if tcp.number == 0 && size <= HEADER_BYTES {
        flow.syn = true;
        flow.highest = flow.highest.or(Some(0));
        return Some(Placed { seq: 0, ack: 0, flags: flags::SYN, length: 0 });
    }
    if flow.size == 0 {
        // Behind a cut beginning there is no SYN, but the agent began with one all the same.
        flow.syn |= flow.highest.is_none() && tcp.number > 0;
        flow.size = payload;
    }
    if let Some(highest) = flow.highest
        && payload > 1
        && tcp.number.checked_sub(highest) == Some(payload)
    {
        issues.add("unclear-sequence", record, || format!("number {} follows {highest}", tcp.number));
    }
    flow.highest = flow.highest.max(Some(tcp.number));
    let from = tcp.number.wrapping_sub(u32::from(flow.syn));
    let seq = from.wrapping_mul(flow.size).wrapping_add(u32::from(flow.syn));
    Some(Placed { seq, ack: 0, flags: 0, length: flow.size })
}

/// A node's address as the tracker has addresses: its number in the last four octets.
pub fn address((node, port): End) -> (Address, u16) {
    (Address::v4(node.to_be_bytes()), port)
}
