//! MobileInsight's XML: `<dm_log_packet>` elements of pairs, lists and dictionaries.

use memchr::memmem;
use memchr::{memchr, memchr2};

use super::{Bad, Body, Group, Pdu, subframe};
use crate::rlc::pdu::Nack;
use crate::rlc::rrc::Said;
use crate::text::number;

const BEGIN: &[u8] = b"<dm_log_packet>";
const END: &[u8] = b"</dm_log_packet>";
const NAME: &[u8] = b"<pair key=\"type_id\">";
/// A message of more bytes is none.
const LARGEST: usize = 1 << 22;
const DEEPEST: usize = 32;
const BROKEN: Bad = Bad::Malformed("a message that is no well-formed XML");
const LACKING: Bad = Bad::Malformed("a message that lacks fields");

/// Puts messages together that stand on several lines.
#[derive(Default)]
pub(crate) struct Messages {
    parts: Vec<u8>,
    begun: u64,
}

impl Messages {
    /// Take a line; `each` is given the messages that end in it, with the lines in which they begin.
    pub(crate) fn line(&mut self, record: u64, line: &[u8], mut each: impl FnMut(u64, &[u8])) {
        let mut rest = line;
        if !self.parts.is_empty() {
            let Some(end) = memmem::find(rest, END) else {
                self.parts.push(b'\n');
                self.parts.extend_from_slice(rest);
                if self.parts.len() > LARGEST {
                    self.parts.clear();
                }
                return;
            };
            let end = end + END.len();
            self.parts.push(b'\n');
            self.parts.extend_from_slice(&rest[..end]);
            each(self.begun, &self.parts);
            self.parts.clear();
            rest = &rest[end..];
        }
        while let Some(begin) = memmem::find(rest, BEGIN) {
            rest = &rest[begin..];
            let Some(end) = memmem::find(rest, END) else {
                self.begun = record;
                self.parts.extend_from_slice(rest);
                return;
            };
            let end = end + END.len();
            each(record, &rest[..end]);
            rest = &rest[end..];
        }
    }
}

/// The type of a message.
pub(crate) fn name(message: &[u8]) -> Option<&str> {
    let rest = &message[memmem::find(message, NAME)? + NAME.len()..];
    let name = std::str::from_utf8(&rest[..memchr(b'<', rest)?]).ok()?.trim();
    (!name.is_empty() && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_graphic())).then_some(name)
}

/// The direction of a message of RLC in acknowledged mode.
pub(crate) fn is_uplink(name: &str) -> Option<bool> {
    match name {
        "LTE_RLC_UL_AM_All_PDU" => Some(true),
        "LTE_RLC_DL_AM_All_PDU" => Some(false),
        _ => None,
    }
}

/// The type of messages of RRC.
pub(crate) const RRC: &str = "LTE_RRC_OTA_Packet";
const TIME: &[u8] = b"<pair key=\"timestamp\">";

/// Time of a message of RRC, and what it tells of bearers: Wireshark's names of what is in it, as MobileInsight
/// writes them.
pub(crate) fn said(message: &[u8]) -> Result<(i64, Option<Said>), Bad> {
    let begin = memmem::find(message, TIME).ok_or(LACKING)? + TIME.len();
    let rest = &message[begin..];
    let text = &rest[..memchr(b'<', rest).ok_or(BROKEN)?];
    let t_ns = time_ns(text.trim_ascii()).ok_or(LACKING)?;
    let has = |element: &str| {
        let name = format!("\"lte-rrc.{element}");
        memmem::find_iter(message, name.as_bytes()).any(|at| {
            let behind = &message[at + name.len()..];
            behind.starts_with(b"_element\"") || behind.starts_with(b"\"")
        })
    };
    let found = if has("rrcConnectionReestablishmentRequest") {
        Some(Said::AsksAgain)
    } else if has("rrcConnectionRequest") {
        Some(Said::Asks)
    } else if has("rrcConnectionReestablishment") || has("rrcConnectionSetup") {
        Some(Said::Granted)
    } else if has("rrcConnectionReconfiguration") && has("mobilityControlInfo") {
        Some(Said::Moved)
    } else {
        has("rrcConnectionRelease").then_some(Said::Released)
    };
    Ok((t_ns, found))
}

/// Time and PDUs of a message of RLC.
pub(crate) fn groups(message: &[u8], uplink: bool) -> Result<(i64, Vec<Group>), Bad> {
    let mut reading = Reading::new(uplink);
    let mut rest = message;
    let mut open = 0;
    while let Some(at) = memchr(b'<', rest) {
        let (tag, after) = rest[at + 1..].split_at(memchr(b'>', &rest[at + 1..]).ok_or(BROKEN)?);
        rest = &after[1..];
        match tag {
            b"/pair" | b"/list" | b"/dict" | b"/item" | b"/dm_log_packet" => reading.close(&tag[1..])?,
            b"list" | b"dict" | b"dm_log_packet" => reading.open(tag, b"")?,
            _ if tag.starts_with(b"item ") || tag == b"item" => reading.open(b"item", b"")?,
            _ => {
                let key = tag.strip_prefix(b"pair key=\"").ok_or(BROKEN)?;
                let (key, kind) = key.split_at(memchr(b'"', key).ok_or(BROKEN)?);
                if kind != b"\"" {
                    reading.open(b"pair", key)?;
                } else {
                    let end = memchr2(b'<', b'>', rest).ok_or(BROKEN)?;
                    let (text, close) = rest.split_at(end);
                    rest = close.strip_prefix(b"</pair>").ok_or(BROKEN)?;
                    reading.leaf(key, text.trim_ascii());
                }
            }
        }
        open += 1;
    }
    if open == 0 || !reading.stack.is_empty() {
        return Err(BROKEN);
    }
    match (reading.t_ns, reading.complete) {
        (Some(t_ns), true) => Ok((t_ns, reading.groups)),
        _ => Err(LACKING),
    }
}

/// Where in a message a tag is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Message,
    Subpackets,
    Subpacket,
    Pdus,
    Pdu,
    Nacks,
    Lengths,
    Elsewhere,
}

struct Reading<'a> {
    uplink: bool,
    /// Tags that are open, and what is in them.
    stack: Vec<(&'a [u8], Place)>,
    t_ns: Option<i64>,
    complete: bool,
    groups: Vec<Group>,
    group: Draft,
    pdu: Fields<'a>,
}

/// A subpacket so far.
#[derive(Default)]
struct Draft {
    bearer: Option<u32>,
    sn_bits: u8,
    listed: bool,
    pdus: Vec<Pdu>,
}

/// A PDU so far.
#[derive(Default)]
struct Fields<'a> {
    kind: Option<&'a [u8]>,
    frame: Option<u32>,
    number: Option<u32>,
    bytes: Option<u32>,
    logged: Option<u32>,
    sn: Option<u32>,
    ack: Option<u32>,
    part: bool,
    poll: bool,
    more: bool,
    start: Option<u32>,
    last: Option<u32>,
    lengths: u32,
    nacks: Vec<Nack>,
}

impl<'a> Reading<'a> {
    fn new(uplink: bool) -> Self {
        Reading {
            uplink,
            stack: Vec::new(),
            t_ns: None,
            complete: true,
            groups: Vec::new(),
            group: Draft::default(),
            pdu: Fields::default(),
        }
    }

    fn place(&self) -> Place {
        self.stack.last().map_or(Place::Elsewhere, |(_, place)| *place)
    }

    fn open(&mut self, tag: &'a [u8], key: &[u8]) -> Result<(), Bad> {
        if self.stack.len() == DEEPEST {
            return Err(BROKEN);
        }
        let list: &[u8] = if self.uplink { b"RLCUL PDUs" } else { b"RLCDL PDUs" };
        let place = match (tag, self.place()) {
            (b"dm_log_packet", _) if self.stack.is_empty() => Place::Message,
            _ if self.stack.is_empty() => return Err(BROKEN),
            (b"pair", Place::Message) if key == b"Subpackets" => Place::Subpackets,
            (b"pair", Place::Subpacket) if key == list => {
                self.group.listed = true;
                Place::Pdus
            }
            (b"pair", Place::Pdu) if key == b"RLC CTRL NACK" => Place::Nacks,
            (b"pair", Place::Pdu) if key == b"RLC DATA LI" => Place::Lengths,
            (b"pair", _) => Place::Elsewhere,
            (b"item", Place::Subpackets) => {
                self.group = Draft { sn_bits: 10, ..Draft::default() };
                Place::Subpacket
            }
            (b"item", Place::Pdus) => {
                self.pdu = Fields::default();
                Place::Pdu
            }
            (b"item", Place::Lengths) => {
                self.pdu.lengths += 1;
                Place::Lengths
            }
            (_, place) => place,
        };
        self.stack.push((tag, place));
        Ok(())
    }

    fn close(&mut self, tag: &[u8]) -> Result<(), Bad> {
        let (opened, place) = self.stack.pop().ok_or(BROKEN)?;
        if opened != tag {
            return Err(BROKEN);
        }
        match (tag, place) {
            (b"item", Place::Pdu) => match self.pdu.finish() {
                Some(pdu) => self.group.pdus.push(pdu),
                None => self.complete = false,
            },
            (b"item", Place::Subpacket) => {
                let Draft { bearer, sn_bits, listed, pdus } = std::mem::take(&mut self.group);
                match bearer {
                    Some(bearer) if listed => self.groups.push(Group { bearer, sn_bits, pdus }),
                    _ => self.complete = false,
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn leaf(&mut self, key: &[u8], text: &'a [u8]) {
        match (self.place(), key) {
            (Place::Message, b"timestamp") => self.t_ns = time_ns(text),
            (Place::Subpacket, b"RB Cfg Idx" | b"RB Cfg Index") => self.group.bearer = last_number(text),
            (Place::Subpacket, b"SN Length") if last_number(text) == Some(16) => self.group.sn_bits = 16,
            (Place::Pdu, _) => self.pdu.leaf(key, text),
            (Place::Nacks, b"NACK_SN") => match last_number(text) {
                Some(sn) => self.pdu.nacks.push(Nack { sn, count: 1, part: None }),
                None => self.complete = false,
            },
            _ => {}
        }
    }
}

impl<'a> Fields<'a> {
    fn leaf(&mut self, key: &[u8], text: &'a [u8]) {
        match key {
            b"PDU TYPE" => self.kind = Some(text),
            b"sys_fn" => self.frame = last_number(text),
            b"sub_fn" => self.number = last_number(text),
            b"pdu_bytes" => self.bytes = last_number(text),
            b"logged_bytes" => self.logged = last_number(text),
            b"SN" => self.sn = last_number(text),
            b"ACK_SN" => self.ack = last_number(text),
            b"RF" => self.part = text == b"1",
            b"P" => self.poll = text == b"1",
            b"E" => self.more = text == b"1",
            b"SO" => self.start = last_number(text),
            b"LSF" => self.last = last_number(text),
            _ => {}
        }
    }

    fn finish(&mut self) -> Option<Pdu> {
        let place = subframe(self.frame?, self.number?);
        let kind = self.kind?;
        if memmem::find(kind, b"CTRL").is_some() {
            let ack = self.ack.or(self.sn)?;
            return Some(Pdu {
                subframe: place,
                body: Body::Status { ack, nacks: std::mem::take(&mut self.nacks) },
            });
        }
        let fixed = if self.part { 4 } else { 2 };
        let header = match self.logged {
            Some(logged) if self.more && self.lengths > 0 => logged.max(fixed),
            _ => fixed + (3 * self.lengths).div_ceil(2),
        };
        Some(Pdu {
            subframe: place,
            body: Body::Data {
                sn: self.sn?,
                poll: self.poll,
                part: self.part,
                start: if self.part { self.start.unwrap_or(0) } else { 0 },
                last: !self.part || self.last.is_some_and(|bit| bit != 0),
                length: self.bytes?.saturating_sub(header),
            },
        })
    }
}

/// A number, alone or behind words (`ACK_SN = 7`).
fn last_number(text: &[u8]) -> Option<u32> {
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=9).contains(&digits).then(|| number::fit(&text[text.len() - digits..]))?
}

/// `2017-03-15 00:17:31.938273`, without decimals at a full second.
fn time_ns(text: &[u8]) -> Option<i64> {
    let (date, clock) = text.split_at_checked(10)?;
    let field = |part: &[u8]| number::fit::<i64>(part);
    let [year, month, day] = [&date[..4], &date[5..7], &date[8..]].map(field);
    let (hms, decimals) = clock.split_at_checked(9)?;
    let [hours, minutes, seconds] = [&hms[1..3], &hms[4..6], &hms[7..]].map(field);
    let marks = [date[4], date[7], hms[0], hms[3], hms[6]];
    let (hours, minutes, seconds) = (hours?, minutes?, seconds?);
    if marks != *b"-- ::" || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let within = match decimals {
        b"" => 0,
        _ => number::scaled(&[b"0", decimals].concat(), 9)?.0,
    };
    let days = number::days(year?, month?, day?).filter(|days| (0..53_327).contains(days))?;
    Some(((days * 24 + hours) * 3600 + minutes * 60 + seconds) * 1_000_000_000 + within)
}
