//! PDUs of all bearers in a log, as rows in the order of time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Read};

use super::clock::{self, Stamp};
use super::frames::Frames;
use super::{Bad, Body, Group, message, rrc, xml};
use crate::issue::Issues;
use crate::rlc::rrc::Said;
use crate::text::lines::Lines;

/// Longest line of an XML export: whole documents are on one.
const LONGEST_LINE: usize = 1 << 22;
const DATA: i64 = 0;
const STATUS: i64 = 1;
const NACK: i64 = 2;
const REESTABLISHMENT: i64 = 3;
const ANSWER: i64 = 5;
const COMMAND: i64 = 6;
/// Of rows about all bearers of a subscription.
const ALL: i64 = -1;
const UPLINK: i64 = 1;
const LAST: i64 = 2;
const POLL: i64 = 4;
const PART: i64 = 8;

/// A row for each PDU and each negative acknowledgement, as tracking takes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Columns {
    /// Subscription, from 0.
    pub ue: Vec<i64>,
    pub bearer: Vec<i64>,
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    /// 0 data, 1 status, 2 NACK; of all bearers (-1): 3 re-establishment is asked for, 5 granted, 6 handover.
    pub kind: Vec<i64>,
    /// 1 uplink, 2 last byte of its PDU, 4 poll, 8 a segment.
    pub flags: Vec<i64>,
    pub sn: Vec<i64>,
    pub start: Vec<i64>,
    pub length: Vec<i64>,
}

/// What a log says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// PDUs of all bearers.
    pub columns: Columns,
    /// Bits of the sequence numbers, by subscription and bearer.
    pub sn_bits: BTreeMap<(u32, u32), u8>,
    /// Messages by name or code, whatever they are about.
    pub messages: BTreeMap<String, u64>,
    /// Frames, or lines.
    pub records: u64,
    /// Damage.
    pub issues: Issues,
}

/// Read a binary log.
///
/// # Errors
/// Errors of the system while reading.
pub fn read(reader: impl Read) -> io::Result<Log> {
    let mut gathered = Gathered::default();
    let mut frames = Frames::new(BufReader::with_capacity(1 << 18, reader));
    let mut codes = BTreeMap::<(bool, u16), u64>::new();
    let mut issues = Issues::default();
    while let Some((record, frame)) = frames.next_frame(&mut issues)? {
        let (ue, frame) = message::unwrapped(frame);
        let packet = match message::packet(frame) {
            None => {
                *codes.entry((false, frame.first().map_or(0, |command| u16::from(*command)))).or_default() +=
                    1;
                continue;
            }
            Some(Err(bad)) => {
                gathered.refuse(record, &bad);
                continue;
            }
            Some(Ok(packet)) => packet,
        };
        *codes.entry((true, packet.code)).or_default() += 1;
        let at = (record, packet.t_ns, ue);
        let outcome = match packet.code {
            message::UPLINK | message::DOWNLINK => message::groups(packet.code, packet.body)
                .map(|groups| gathered.take(at, packet.code == message::UPLINK, groups)),
            rrc::OTA => rrc::said(packet.body).map(|said| gathered.say(at, said)),
            _ => continue,
        };
        if let Err(bad) = outcome {
            gathered.refuse(record, &bad);
        }
    }
    gathered.log.issues.take_in(&issues);
    gathered.log.records = frames.count();
    gathered.log.messages = codes
        .into_iter()
        .map(|((log, code), count)| {
            (if log { format!("0x{code:04X}") } else { format!("command 0x{code:02X}") }, count)
        })
        .collect();
    Ok(gathered.finish())
}

/// Read MobileInsight's XML.
///
/// # Errors
/// Errors of the system while reading.
pub fn read_xml(reader: impl Read) -> io::Result<Log> {
    let mut gathered = Gathered::default();
    let mut issues = Issues::default();
    let mut lines = Lines::of_length(reader, LONGEST_LINE);
    let mut messages = xml::Messages::default();
    while let Some((record, line)) = lines.next_line(&mut issues)? {
        messages.line(record, line, |record, text| {
            let Some(name) = xml::name(text) else {
                return gathered.refuse(record, &Bad::Malformed("a message without a type"));
            };
            gathered.count(name);
            let outcome = if let Some(uplink) = xml::is_uplink(name) {
                xml::groups(text, uplink)
                    .map(|(t_ns, groups)| gathered.take((record, t_ns, 0), uplink, groups))
            } else if name == xml::RRC {
                xml::said(text).map(|(t_ns, said)| gathered.say((record, t_ns, 0), said))
            } else {
                Ok(())
            };
            if let Err(bad) = outcome {
                gathered.refuse(record, &bad);
            }
        });
    }
    gathered.log.issues.take_in(&issues);
    gathered.log.records = lines.count();
    Ok(gathered.finish())
}

#[derive(Default)]
struct Gathered {
    log: Log,
    stamps: Vec<Stamp>,
    /// For each row: its message, and its time before that message's last subframe.
    places: Vec<(u32, i64)>,
    /// Subscriptions whose connection was given up in order: the next one is no reset.
    released: BTreeSet<u32>,
}

impl Gathered {
    fn count(&mut self, name: &str) {
        /// More kinds of messages than there are come from damage.
        const MOST: usize = 4096;
        if let Some(count) = self.log.messages.get_mut(name) {
            *count += 1;
        } else if self.log.messages.len() < MOST {
            self.log.messages.insert(name.to_owned(), 1);
        }
    }

    fn refuse(&mut self, record: u64, bad: &Bad) {
        match bad {
            Bad::Malformed(why) => self.log.issues.add("bad-message", record, || (*why).to_owned()),
            Bad::Unknown(what) => self.log.issues.add("unknown-message", record, || what.clone()),
        }
    }

    fn take(&mut self, (record, t_ns, ue): (u64, i64, u32), uplink: bool, groups: Vec<Group>) {
        for group in groups {
            let last = group.pdus.iter().rev().find_map(|pdu| pdu.subframe);
            if group.pdus.is_empty() {
                continue;
            }
            let bits = self.log.sn_bits.entry((ue, group.bearer)).or_insert(group.sn_bits);
            *bits = group.sn_bits.max(*bits);
            let stamp = self.stamps.len() as u32;
            self.stamps.push(Stamp { ue, t_ns, uplink, last });
            let bearer = i64::from(group.bearer);
            let direction = if uplink { UPLINK } else { 0 };
            for pdu in group.pdus {
                let place = (stamp, clock::before_ns(last, pdu.subframe));
                let mut push = |kind, flags, sn, start, length| {
                    let rows = &mut self.log.columns;
                    rows.ue.push(i64::from(ue));
                    rows.bearer.push(bearer);
                    rows.record.push(record as i64);
                    rows.kind.push(kind);
                    rows.flags.push(flags | direction);
                    rows.sn.push(i64::from(sn));
                    rows.start.push(i64::from(start));
                    rows.length.push(i64::from(length));
                    self.places.push(place);
                };
                match pdu.body {
                    Body::Data { sn, poll, part, start, last, length } => {
                        let flag = |set: bool, value: i64| if set { value } else { 0 };
                        let flags = flag(last, LAST) | flag(poll, POLL) | flag(part, PART);
                        push(DATA, flags, sn, start, length);
                    }
                    Body::Status { ack, nacks } => {
                        push(STATUS, 0, ack, 0, 0);
                        for nack in nacks {
                            let (flags, start) = nack.part.map_or((0, 0), |(start, _)| (PART, start));
                            push(NACK, flags, nack.sn, start, nack.count);
                        }
                    }
                }
            }
        }
    }

    /// What a message of RRC tells of all bearers of a subscription.
    fn say(&mut self, (record, t_ns, ue): (u64, i64, u32), said: Option<Said>) {
        let (kind, flags) = match said {
            None => return,
            Some(Said::Released) => {
                self.released.insert(ue);
                return;
            }
            Some(Said::Moved) => (COMMAND, 0),
            Some(Said::Granted) => (ANSWER, 0),
            Some(Said::Asks) if self.released.remove(&ue) => return,
            Some(Said::AsksAgain | Said::Asks) => (REESTABLISHMENT, UPLINK),
        };
        self.places.push((self.stamps.len() as u32, 0));
        self.stamps.push(Stamp { ue, t_ns, uplink: flags == UPLINK, last: None });
        let rows = &mut self.log.columns;
        rows.ue.push(i64::from(ue));
        rows.bearer.push(ALL);
        rows.record.push(record as i64);
        rows.kind.push(kind);
        rows.flags.push(flags);
        for column in [&mut rows.sn, &mut rows.start, &mut rows.length] {
            column.push(0);
        }
    }

    fn finish(mut self) -> Log {
        let times = clock::times(&self.stamps);
        let t_ns: Vec<i64> =
            self.places.iter().map(|(stamp, before)| times[*stamp as usize] - before).collect();
        let mut order: Vec<usize> = (0..t_ns.len()).collect();
        // Messages of both directions are written in turn: their PDUs interleave. The sort is stable.
        order.sort_by_key(|row| t_ns[*row]);
        let columns = &mut self.log.columns;
        columns.t_ns = t_ns;
        for column in [
            &mut columns.ue,
            &mut columns.bearer,
            &mut columns.t_ns,
            &mut columns.record,
            &mut columns.kind,
            &mut columns.flags,
            &mut columns.sn,
            &mut columns.start,
            &mut columns.length,
        ] {
            *column = order.iter().map(|row| column[*row]).collect();
        }
        self.log
    }
}
