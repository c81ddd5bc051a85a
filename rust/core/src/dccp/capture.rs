//! Captures: every DCCP packet a row.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::path::Path;

use super::header::{Bad, decode};
use super::options;
use super::sequence::Numbers;
use crate::capture::ReadError;
use crate::capture::transport::{Counts, Transport, transports, transports_from};
use crate::issue::Issues;
use crate::segment::Address;

const PROTOCOL: u8 = 33;
/// Packets that tell whether a capture is one of DCCP.
const SNIFFED: u64 = 400;
/// Flows beyond this many are a scan or noise: their packets are counted, not kept.
const MAX_FLOWS: usize = 1 << 20;

type End = (Address, u16);

/// One row per packet; -1 where a value is absent.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Packets {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub flow: Vec<i32>,
    pub dir: Vec<i8>,
    pub kind: Vec<i8>,
    pub seq: Vec<i64>,
    pub ack: Vec<i64>,
    pub length: Vec<i32>,
    pub ccval: Vec<i8>,
    pub reset_code: Vec<i16>,
    pub ndp: Vec<i64>,
    pub received: Vec<i32>,
    pub marked: Vec<i32>,
    pub missing: Vec<i32>,
    pub timestamp: Vec<i64>,
    pub echo: Vec<i64>,
    pub elapsed_ns: Vec<i64>,
    pub loss_interval: Vec<i64>,
    pub receive_rate_bps: Vec<i64>,
}

/// What a capture says of DCCP.
#[derive(Debug, Default)]
pub struct DccpCapture {
    /// One row per packet.
    pub packets: Packets,
    /// Ends of each flow; direction 0 is from the first, which sent the first packet seen.
    pub flows: Vec<(End, End)>,
    /// CCID of each flow's two directions, where one was confirmed.
    pub ccids: Vec<[Option<u8>; 2]>,
    /// Packets of the capture.
    pub counts: Counts,
    /// Damage.
    pub issues: Issues,
}

/// Whether a file begins like a capture of DCCP: some of it, and no TCP.
pub fn sniff(head: &[u8]) -> bool {
    let mut found = false;
    let bytes = Cursor::new(head.to_vec());
    let counts = transports_from(bytes, &mut Issues::default(), SNIFFED, |packet| {
        found |= packet.protocol == PROTOCOL;
    });
    found && counts.is_ok_and(|counts| counts.tcp == 0)
}

/// Read a capture file.
///
/// # Errors
/// See [`ReadError`].
pub fn read(path: &Path) -> Result<DccpCapture, ReadError> {
    let (mut state, mut issues) = (State::default(), Issues::default());
    let counts = transports(path, &mut issues, |packet| state.packet(&packet))?;
    Ok(state.done(counts, &issues))
}

/// As [`read`], from any bytes.
///
/// # Errors
/// See [`ReadError`].
pub fn read_from(reader: impl Read + Send) -> Result<DccpCapture, ReadError> {
    let (mut state, mut issues) = (State::default(), Issues::default());
    let counts = transports_from(reader, &mut issues, u64::MAX, |packet| state.packet(&packet))?;
    Ok(state.done(counts, &issues))
}

#[derive(Default)]
struct State {
    found: DccpCapture,
    index: HashMap<(End, End), usize>,
    numbers: Vec<[Numbers; 2]>,
}

impl State {
    fn done(self, counts: Counts, issues: &Issues) -> DccpCapture {
        let mut found = self.found;
        found.counts = counts;
        found.issues.take_in(issues);
        found
    }

    fn packet(&mut self, packet: &Transport<'_>) {
        if packet.protocol != PROTOCOL {
            return;
        }
        let issues = &mut self.found.issues;
        let header = match decode(packet.data, packet.wire_length) {
            Ok(header) => header,
            Err(Bad::Cut) => {
                return issues.add("options-cut", packet.record, || "inside a DCCP header".into());
            }
            Err(Bad::Malformed(what)) => {
                return issues.add("malformed-packet", packet.record, || what.into());
            }
        };
        let said = options::parse(header.options);
        if header.options_cut {
            issues.add("options-cut", packet.record, || "DCCP options".into());
        } else if said.malformed {
            issues.add("malformed-packet", packet.record, || "a DCCP option leaves the header".into());
        }
        let from = (packet.source, header.ports.0);
        let to = (packet.destination, header.ports.1);
        let Some((flow, dir)) = self.flow(from, to) else {
            return self.found.issues.add("malformed-packet", packet.record, || "too many flows".into());
        };
        for (side, ccid) in [(dir, said.ccid_local), (1 - dir, said.ccid_remote)] {
            if ccid.is_some() {
                self.found.ccids[flow][side] = ccid;
            }
        }
        let numbers = &mut self.numbers[flow];
        let seq = numbers[dir].saw(header.seq);
        let ack = header.ack.map_or(-1, |ack| numbers[1 - dir].whole(ack));
        let rows = &mut self.found.packets;
        rows.t_ns.push(packet.t_ns);
        rows.record.push(packet.record as i64);
        rows.flow.push(flow as i32);
        rows.dir.push(dir as i8);
        rows.kind.push(header.kind as i8);
        rows.seq.push(seq);
        rows.ack.push(ack);
        rows.length.push(i32::try_from(header.length).unwrap_or(i32::MAX));
        rows.ccval.push(header.ccval as i8);
        rows.reset_code.push(header.reset_code.map_or(-1, i16::from));
        rows.ndp.push(said.ndp);
        rows.received.push(said.received);
        rows.marked.push(said.marked);
        rows.missing.push(said.missing);
        rows.timestamp.push(said.timestamp);
        rows.echo.push(said.echo);
        rows.elapsed_ns.push(said.elapsed_ns);
        rows.loss_interval.push(said.loss_interval);
        rows.receive_rate_bps.push(said.receive_rate_bps);
    }

    /// Number of the flow, and the packet's direction in it.
    fn flow(&mut self, from: End, to: End) -> Option<(usize, usize)> {
        if let Some(flow) = self.index.get(&(from, to)) {
            return Some((*flow, 0));
        }
        if let Some(flow) = self.index.get(&(to, from)) {
            return Some((*flow, 1));
        }
        let flow = self.found.flows.len();
        if flow >= MAX_FLOWS {
            return None;
        }
        self.index.insert((from, to), flow);
        self.found.flows.push((from, to));
        self.found.ccids.push([None; 2]);
        self.numbers.push([Numbers::default(); 2]);
        Some((flow, 0))
    }
}
