//! rlpdump 1: the log of a reliable link's entities.

use std::io::{self, Read};

use super::fault::{Fault, Order, Resolution, take_lines};
use super::number::{fit, seconds};
use super::words::{Words, excerpt, split_once};
use crate::issue::Issues;
use crate::linktable::{EVT, EventRow, Events, FrameRow, Frames, RCV, SND, cause_code, kind_code};
use crate::text::found::Found;

/// Entities beyond this many mean that the file is not an rlpdump.
const MAX_ENTITIES: usize = 1024;
const MAX_SETTINGS: usize = 64;

const RESET: i8 = 14;
const DROP: i8 = 15;
const CALL_DROPPED: i8 = 16;
const DISCARD: i8 = 17;

/// What an rlpdump says.
#[derive(Debug, Default)]
pub struct RlpLog {
    /// Information frames.
    pub frames: Frames,
    /// Everything else.
    pub events: Events,
    /// Names that the `entity` columns index.
    pub entities: Vec<String>,
    /// Version in the first line; None without such a line.
    pub version: Option<u32>,
    /// Settings of the first line, in its order.
    pub settings: Vec<(String, String)>,
    /// Lines in the file.
    pub lines: u64,
    /// Step of the clock as written.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<RlpLog> for Found {
    fn from(log: RlpLog) -> Self {
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table("link_frames", log.frames.into_columns())
            .table("link_events", log.events.into_columns())
            .fact("entities", log.entities)
            .fact("version", log.version)
            .fact("settings", log.settings)
    }
}

/// Read an rlpdump.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<RlpLog> {
    let mut scanner = Scanner::default();
    let (lines, issues) = take_lines(reader, |number, line, issues| match line.first() {
        None => Ok(()),
        Some(b'#') => {
            scanner.comment(line);
            Ok(())
        }
        Some(_) => scanner.line(number, line, issues),
    })?;
    let mut log = scanner.log;
    log.lines = lines;
    log.resolution_ns = scanner.resolution.ns();
    log.issues = issues;
    Ok(log)
}

#[derive(Default)]
struct Scanner {
    log: RlpLog,
    resolution: Resolution,
    /// The two entities' lines may stand one after the other: only the order within each says something.
    order: Vec<Order>,
    last_entity: usize,
}

/// The key=value words of a line; None where absent.
#[derive(Default)]
struct Fields<'a> {
    ns: Option<i32>,
    off: Option<i64>,
    len: Option<i32>,
    nr: Option<i32>,
    attempt: Option<i16>,
    poll: Option<i8>,
    command: Option<i8>,
    duplicate: Option<i8>,
    cause: Option<&'a [u8]>,
    flush_tx: Option<i64>,
    flush_rx: Option<i64>,
}

impl<'a> Fields<'a> {
    #[inline]
    fn read(words: Words<'a>) -> Result<Self, Fault> {
        fn number<T: TryFrom<u64>>(value: &[u8]) -> Result<Option<T>, Fault> {
            fit(value).map(Some).ok_or(Fault::BadNumber)
        }
        let mut fields = Fields::default();
        for word in words {
            let Some((key, value)) = split_once(word, b'=') else { continue };
            match key {
                b"ns" => fields.ns = number(value)?,
                b"off" => fields.off = number(value)?,
                b"len" => fields.len = number(value)?,
                b"nr" => fields.nr = number(value)?,
                b"try" => fields.attempt = number(value)?,
                b"pf" => fields.poll = number(value)?,
                b"cr" => fields.command = number(value)?,
                b"dup" => fields.duplicate = number(value)?,
                b"cause" => fields.cause = Some(value),
                b"flush_tx" => fields.flush_tx = number(value)?,
                b"flush_rx" => fields.flush_rx = number(value)?,
                _ => {}
            }
        }
        Ok(fields)
    }
}

impl Scanner {
    fn comment(&mut self, line: &[u8]) {
        let mut words = Words(&line[1..]);
        if self.log.version.is_some() || words.next() != Some(b"rlpdump") {
            return;
        }
        let Some(version) = words.next().and_then(fit) else { return };
        self.log.version = Some(version);
        let settings = words.filter_map(|word| split_once(word, b'=')).take(MAX_SETTINGS);
        self.log.settings = settings.map(|(key, value)| (excerpt(key), excerpt(value))).collect();
    }

    fn line(&mut self, number: u64, line: &[u8], issues: &mut Issues) -> Result<(), Fault> {
        let mut words = Words(line);
        let Some(time) = words.next() else { return Ok(()) };
        let (Some(entity), Some(action), Some(verb)) = (words.next(), words.next(), words.next()) else {
            return Err(Fault::NotOurs);
        };
        let action = match action {
            b"snd" => SND,
            b"rcv" => RCV,
            b"evt" => EVT,
            _ => return Err(Fault::NotOurs),
        };
        let (t_ns, decimals) = match seconds(time) {
            Some(read) => read,
            None if time[0].is_ascii_digit() => return Err(Fault::BadNumber),
            None => return Err(Fault::NotOurs),
        };
        let fields = Fields::read(words)?;
        let entity = self.entity(entity)?;
        self.order[entity as usize].check(t_ns, number, issues);
        if verb == b"I" && action != EVT {
            self.frame((t_ns, number), (entity, action), &fields);
        } else {
            let kind = kind(action, verb);
            if kind == 0 {
                issues.add("unknown-verb", number, || excerpt(verb));
            }
            self.event((t_ns, number), (entity, action), kind, &fields);
        }
        self.resolution.saw(decimals);
        Ok(())
    }

    fn frame(&mut self, at: (i64, u64), by: (i16, i8), fields: &Fields) {
        self.log.frames.push(FrameRow {
            ns: fields.ns.unwrap_or(-1),
            // A duplicate may come without: the receiver has thrown its bytes away.
            offset: fields.off.unwrap_or(-1),
            length: fields.len.unwrap_or(-1),
            attempt: fields.attempt.unwrap_or(0),
            duplicate: fields.duplicate.unwrap_or(0),
            nr: fields.nr.unwrap_or(-1),
            poll: fields.poll.unwrap_or(0),
            ..FrameRow::new((at.0, at.1 as i64), by.0, by.1)
        });
    }

    fn event(&mut self, at: (i64, u64), by: (i16, i8), kind: i8, fields: &Fields) {
        let ends = kind == RESET || kind == CALL_DROPPED;
        let loses = kind == DROP || kind == DISCARD;
        self.log.events.push(EventRow {
            nr: fields.nr.unwrap_or(-1),
            cause: fields.cause.filter(|_| ends).map_or(0, cause_code),
            flush_tx: fields.flush_tx.unwrap_or(-1),
            flush_rx: fields.flush_rx.unwrap_or(-1),
            length: fields.len.filter(|_| loses).unwrap_or(-1),
            poll: match (fields.poll, fields.command) {
                (None | Some(0), _) => 0,
                (_, Some(0)) => 2,
                _ => 1,
            },
            ..EventRow::new((at.0, at.1 as i64), by.0, by.1, kind)
        });
    }

    #[inline]
    fn entity(&mut self, name: &[u8]) -> Result<i16, Fault> {
        let known = &self.log.entities;
        if known.get(self.last_entity).is_none_or(|last| last.as_bytes() != name) {
            let name = std::str::from_utf8(name).map_err(|_| Fault::NotOurs)?;
            self.last_entity = match known.iter().position(|entity| entity == name) {
                Some(at) => at,
                None if known.len() < MAX_ENTITIES => {
                    self.log.entities.push(name.to_owned());
                    self.order.push(Order::default());
                    self.log.entities.len() - 1
                }
                None => return Err(Fault::NotOurs),
            };
        }
        Ok(self.last_entity as i16)
    }
}

fn kind(action: i8, verb: &[u8]) -> i8 {
    let kind = kind_code(verb);
    if (action == EVT) == (kind >= RESET) { kind } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linktable::{CAUSES, KINDS};

    const LOG: &[u8] = b"# rlpdump 1 clock=monotonic slot_ms=20\n\
        # a remark\n\
        1.000001 ms snd I ns=60 off=24 len=16 nr=3 try=2 pf=1 colour=red\n\
        1.000001 iwf rcv I ns=60 dup=1\n\
        1.1 iwf snd SREJ nr=61\n\
        1.2 ms rcv HELLO nr=2\n\
        1.3 ms evt reset cause=n2 flush_tx=824\n\
        1.4 iwf evt drop queue=if len=512\n\
        1.4 iwf evt call_dropped cause=sabm flush_tx=7 flush_rx=0\n\
        1.4 iwf evt discard queue=arq len=52\n\
        0.9 ms snd RNR pf=1 cr=0\n\
        tcpdump: listening on ppp0\n\
        1.5 ms snd I ns=1 off=x len=3\n";

    #[test]
    fn every_kind_of_line() {
        let log = scan(LOG).unwrap();
        assert_eq!(log.version, Some(1));
        assert_eq!(log.settings[1], ("slot_ms".into(), "20".into()));
        assert_eq!(log.entities, ["ms", "iwf"]);
        let frames = &log.frames;
        assert_eq!(frames.t_ns, [1_000_001_000; 2]);
        assert_eq!((&frames.record[..], &frames.ns[..]), (&[3, 4][..], &[60, 60][..]));
        assert_eq!((frames.attempt[0], frames.nr[0], frames.poll[0], frames.duplicate[0]), (2, 3, 1, 0));
        assert_eq!((&frames.offset[..], &frames.length[..]), (&[24, -1][..], &[16, -1][..]));
        assert_eq!((frames.attempt[1], frames.nr[1], frames.poll[1], frames.duplicate[1]), (0, -1, 0, 1));
        let events = &log.events;
        assert_eq!(events.poll, [0, 0, 0, 0, 0, 0, 2]);
        let kinds: Vec<_> = events.kind.iter().map(|kind| KINDS[*kind as usize]).collect();
        assert_eq!(kinds, ["SREJ", "opaque", "reset", "drop", "call_dropped", "discard", "RNR"]);
        assert_eq!((events.flush_tx[2], events.flush_rx[2], events.length[3]), (824, -1, 512));
        assert_eq!(CAUSES[events.cause[2] as usize], "n2");
        let issues: Vec<_> = log.issues.iter().map(|(code, found)| (code, found.first_record)).collect();
        let expected =
            [("bad-number", 13), ("out-of-order-lines", 11), ("unknown-verb", 6), ("unparsed-line", 12)];
        assert_eq!(issues, expected);
        assert_eq!((log.lines, log.resolution_ns), (13, 1000));
    }

    #[test]
    fn entities_one_after_the_other_are_in_order() {
        let log = scan(&b"5.0 ms snd RR\n6.0 ms snd RR\n5.1 iwf snd RR\n"[..]).unwrap();
        assert!(log.issues.is_empty());
        assert_eq!(log.version, None);
    }

    #[test]
    fn entities_are_bounded() {
        let text: String = (0..MAX_ENTITIES + 7).map(|i| format!("1.0 e{i} snd RR\n")).collect();
        let log = scan(text.as_bytes()).unwrap();
        assert_eq!(log.entities.len(), MAX_ENTITIES);
        assert_eq!(log.issues.iter().next().unwrap().1.count, 7);
    }
}
