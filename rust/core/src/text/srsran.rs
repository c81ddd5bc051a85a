//! Text logs of srsRAN Project's base station, RLC layer: PDUs by bearer, in the order of the log.
//!
//! Reference: srsRAN Project `lib/rlc`; 3GPP TS 38.322.

use std::collections::HashMap;
use std::io::{self, Read};

use memchr::{memchr, memmem};

use super::fault::{Fault, take_lines};
use super::number::{days, decimal, fit};
use super::words::split_once;
use crate::issue::Issues;
use crate::text::found::Found;

/// Columns of a PDU or NACK: time, record, kind, flags, sequence number, start, bytes.
pub const COLUMNS: usize = 7;
const DATA: i64 = 0;
const STATUS: i64 = 1;
const NACK: i64 = 2;
const UPLINK: i64 = 1;
const LAST: i64 = 2;
const POLL: i64 = 4;
const PART: i64 = 8;
const LARGEST_SN: u64 = 1 << 18;
const SHORT_SN: u64 = 1 << 12;
/// Terminals times bearers; more are damage.
const MAX_BEARERS: usize = 1 << 16;
/// `2023-03-15T18:29:25`, `.142204`
const SECOND: usize = 19;
const STAMP: usize = SECOND + 7;
/// Bytes of log that a NACK of a remembered report has to be paid with: a short line may repeat a long report, but
/// not without bound.
const NACK_BYTES: usize = 2;

/// One bearer.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Bearer {
    /// Number of the terminal.
    pub ue: u32,
    /// `drb1`
    pub name: String,
    /// Rows, by column.
    pub columns: [Vec<i64>; COLUMNS],
    /// Records of status reports that do not say up to where they acknowledge.
    pub unknown: Vec<i64>,
    /// User bytes.
    pub bytes: i64,
    /// The largest sequence number.
    pub highest: u64,
    /// What the last report that was prepared says.
    prepared: Option<Report>,
}

/// ACK_SN and NACKs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    ack: Option<u64>,
    nacks: Vec<u32>,
}

/// What a log says of the RLC layer.
#[derive(Debug, Default)]
pub struct SrsranLog {
    /// Bearers by their first PDU.
    pub bearers: Vec<Bearer>,
    /// Lines in the file.
    pub lines: u64,
    /// Damage.
    pub issues: Issues,
}

impl From<SrsranLog> for Found {
    fn from(log: SrsranLog) -> Self {
        let bearers: Vec<_> = log
            .bearers
            .into_iter()
            .map(|one| {
                let columns = one.columns.map(crate::text::found::Column::from);
                (
                    one.ue,
                    one.name,
                    columns,
                    crate::text::found::Column::from(one.unknown),
                    one.bytes,
                    one.highest,
                )
            })
            .collect();
        Found::new(log.lines, 1000, log.issues).fact("bearers", bearers)
    }
}

/// Read a log.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<SrsranLog> {
    let mut scanner = Scanner::default();
    let (lines, issues) = take_lines(reader, |number, line, _| match rlc(line) {
        Some((time, message)) => scanner.line(number, time, message),
        None => Ok(()),
    })?;
    let mut bearers = scanner.bearers;
    bearers.retain(|bearer| !bearer.columns[1].is_empty());
    bearers.sort_by_key(|bearer| bearer.columns[1][0]);
    Ok(SrsranLog { bearers, lines, issues })
}

/// Time and message of a line of the RLC layer: `<time> [RLC     ] [I] du=0 ue=1 SRB2 DL: ...`.
#[inline]
fn rlc(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (time, rest) = line.split_at_checked(STAMP)?;
    let rest = rest.strip_prefix(b" [RLC")?;
    match rest[rest.iter().position(|byte| *byte != b' ')?..] {
        [b']', b' ', b'[', b'A'..=b'Z', b']', b' ', ref message @ ..] if is_stamp(time) => {
            Some((time, message))
        }
        _ => None,
    }
}

/// Whether digits and what divides them are where a stamp has them.
fn is_stamp(time: &[u8]) -> bool {
    time.iter()
        .zip(b"0000-00-00T00:00:00.000000")
        .all(|(found, model)| if *model == b'0' { found.is_ascii_digit() } else { found == model })
}

/// Number of the terminal, name of the bearer and what happened: `[  276.14] du=0 ue=0 DRB1 UL: RX PDU. ...`.
fn bearer_of(message: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mut rest = message;
    if rest.starts_with(b"[") {
        rest = split_once(rest, b']')?.1.strip_prefix(b" ")?;
    }
    if let Some(after) = rest.strip_prefix(b"du=") {
        rest = numbered(after)?.1;
    }
    let (ue, rest) = numbered(rest.strip_prefix(b"ue=")?)?;
    let (name, what) = rest.split_at(memchr(b' ', rest)?);
    let ([b'S' | b'D', b'R', b'B', digits @ ..], [b' ', b'U' | b'D', b'L', b':', b' ', what @ ..]) =
        (name, what)
    else {
        return None;
    };
    (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then_some((ue, name, what))
}

/// Digits with a blank behind them, and the rest.
fn numbered(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).filter(|end| *end > 0)?;
    Some((&text[..end], text[end..].strip_prefix(b" ")?))
}

#[derive(Default)]
struct Scanner {
    bearers: Vec<Bearer>,
    places: HashMap<(u32, Vec<u8>), usize>,
    /// The second of the line before, as it was written, and what it is.
    second: ([u8; SECOND], i64),
    /// NACKs of remembered reports that have been paid for.
    room: usize,
}

impl Scanner {
    fn line(&mut self, number: u64, time: &[u8], message: &[u8]) -> Result<(), Fault> {
        let Some((ue, name, what)) = bearer_of(message) else { return Ok(()) };
        let at = (self.time(time).ok_or(Fault::NotOurs)?, number as i64);
        self.room += message.len() / NACK_BYTES;
        let ue = fit(ue).filter(|_| ue.len() < 10).ok_or(Fault::NotOurs)?;
        let place = self.place(ue, name).ok_or(Fault::NotOurs)?;
        let bearer = &mut self.bearers[place];
        let (uplink, what) = match what {
            [b'R', b'X', b' ', what @ ..] => (UPLINK, what),
            [b'T', b'X', b' ', what @ ..] => (0, what),
            _ => {
                if let Some(report) = what.strip_prefix(b"Refreshed status_report. ") {
                    bearer.prepared = Some(report_of(report));
                }
                return Ok(());
            }
        };
        if let Some(text) = what.strip_prefix(b"PDU. ") {
            return bearer.data(at, uplink, text);
        }
        if let Some(text) = what.strip_prefix(b"status PDU.") {
            bearer.status(at, uplink, text, &mut self.room);
        }
        Ok(())
    }

    /// Nanoseconds since the epoch; calendars are reckoned once a second.
    fn time(&mut self, text: &[u8]) -> Option<i64> {
        let (second, fraction) = text.split_first_chunk::<SECOND>()?;
        if self.second.0 != *second {
            let part = |from: usize, to: usize| fit::<i64>(&second[from..to]);
            let day = days(part(0, 4)?, part(5, 7)?, part(8, 10)?)?;
            let (hour, minute, seconds) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
            if hour > 23 || minute > 59 || seconds > 59 {
                return None;
            }
            let seconds = ((day * 24 + hour) * 60 + minute) * 60 + seconds;
            self.second = (*second, seconds.checked_mul(1_000_000_000)?);
        }
        self.second.1.checked_add(fit::<i64>(&fraction[1..])? * 1000)
    }

    fn place(&mut self, ue: u32, name: &[u8]) -> Option<usize> {
        let same = |bearer: &Bearer| bearer.ue == ue && bearer.name.as_bytes().eq_ignore_ascii_case(name);
        // Few bearers send most of the lines: the first ones are looked through before the table is asked.
        if let Some(place) = self.bearers.iter().take(4).position(same) {
            return Some(place);
        }
        let key = (ue, name.to_ascii_lowercase());
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        let place = self.bearers.len();
        if place == MAX_BEARERS {
            return None;
        }
        let name = String::from_utf8_lossy(&key.1).into_owned();
        self.bearers.push(Bearer { ue, name, ..Bearer::default() });
        self.places.insert(key, place);
        Some(place)
    }
}

impl Bearer {
    fn row(&mut self, values: [i64; COLUMNS]) {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
    }

    fn data(&mut self, at: (i64, i64), uplink: i64, text: &[u8]) -> Result<(), Fault> {
        let (mut sn, mut length, mut size, mut start) = (None, None, None, 0);
        let (mut is_data, mut poll, mut segment) = (false, false, None);
        for (key, value) in fields(text) {
            match key {
                b"dc" => is_data = value == b"data",
                b"p" => poll = value == b"1",
                b"si" => segment = Some(value),
                b"sn" => sn = number(value),
                b"so" => start = number(value).unwrap_or(0),
                b"pdu_len" => length = number(value),
                b"pdu_size" => size = number(value),
                _ => {}
            }
        }
        if !is_data {
            return Ok(());
        }
        let sn = sn.filter(|sn| *sn < LARGEST_SN);
        let (Some(sn), Some(length), Some(segment)) = (sn, length.or(size), segment) else {
            return Err(Fault::NotOurs);
        };
        // Numbers of 12 bits and of 18; a segment that is not the first says where it begins.
        let short = self.highest < SHORT_SN && sn < SHORT_SN;
        let header = if short { 2 } else { 3 } + if start > 0 { 2 } else { 0 };
        let bytes = length.saturating_sub(header) as i64;
        let mut flags = uplink;
        flags |= if matches!(segment, b"full" | b"last") { LAST } else { 0 };
        flags |= if segment == b"full" { 0 } else { PART };
        flags |= if poll { POLL } else { 0 };
        self.row([at.0, at.1, DATA, flags, sn as i64, start as i64, bytes]);
        self.bytes += bytes;
        self.highest = self.highest.max(sn);
        Ok(())
    }

    /// The line of one that is sent does not say what is in it; that of the report before it does.
    fn status(&mut self, at: (i64, i64), uplink: i64, text: &[u8], room: &mut usize) {
        let stated = memmem::find(text, b"ack_sn=").map(|_| report_of(text));
        let remembered = if stated.is_none() { self.prepared.take() } else { None };
        let affordable = remembered.as_ref().filter(|report| report.nacks.len() <= *room);
        let report = stated.as_ref().or(affordable);
        if report.and_then(|report| report.ack).is_none() {
            self.unknown.push(at.1);
        }
        let ack = report.and_then(|report| report.ack).unwrap_or(0) as i64;
        self.row([at.0, at.1, STATUS, uplink, ack, 0, 0]);
        for sn in report.map_or(&[][..], |report| &report.nacks) {
            self.row([at.0, at.1, NACK, uplink, i64::from(*sn), 0, 1]);
        }
        if let Some(report) = remembered {
            *room = room.saturating_sub(report.nacks.len());
            self.prepared = Some(report);
        }
    }
}

/// ACK_SN and the numbers of `ack_sn=1 n_nack=2 nack=[4095][0 50:89]`.
fn report_of(text: &[u8]) -> Report {
    let ack = fields(text).filter(|(key, _)| *key == b"ack_sn").last().and_then(|(_, value)| number(value));
    let (mut nacks, mut rest) = (Vec::new(), text);
    while let Some(at) = memchr(b'[', rest) {
        rest = &rest[at + 1..];
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        if !(1..=6).contains(&digits) || !matches!(rest.get(digits), Some(b']' | b' ')) {
            continue;
        }
        let Some(end) = memchr(b']', &rest[digits..]) else { break };
        nacks.extend(fit::<u32>(&rest[..digits]));
        rest = &rest[digits + end + 1..];
    }
    Report { ack, nacks }
}

/// Keys and values of `p=1 si=full {sn=0, so=0}`: words on both sides of each `=`, whatever is around them.
fn fields(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (before, after) = rest.split_at(memchr(b'=', rest)?);
            let after = &after[1..];
            let from = before.iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1);
            let (value, next) =
                after.split_at(after.iter().position(|byte| !is_word(*byte)).unwrap_or(after.len()));
            if from == before.len() || value.is_empty() {
                rest = after;
                continue;
            }
            rest = next;
            return Some((&before[from..], value));
        }
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn number(text: &[u8]) -> Option<u64> {
    decimal(text).filter(|_| text.len() < 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> (SrsranLog, Vec<(&'static str, u64)>) {
        let text: String =
            lines.iter().map(|line| format!("2023-03-15T18:29:25.100001 [RLC     ] [I] {line}\n")).collect();
        let log = scan(text.as_bytes()).unwrap();
        let codes = log.issues.iter().map(|(code, seen)| (code, seen.count)).collect();
        (log, codes)
    }

    fn rows(bearer: &Bearer) -> Vec<[i64; COLUMNS]> {
        let row = |at| std::array::from_fn(|column| bearer.columns[column][at]);
        (0..bearer.columns[0].len()).map(row).collect()
    }

    const T: i64 = 1_678_904_965_100_001_000;

    #[test]
    fn data_and_reports() {
        let (log, codes) = read(&[
            "du=0 ue=0 DRB1 DL: TX PDU. dc=data p=0 si=full sn=4095 pdu_len=102",
            "[  276.14] ue=0 DRB1 DL: TX PDU. pdu_size=44 {dc=data, p=1 si=last, sn=4096 so=50}",
            "ue=0 DRB1 UL: RX status PDU. ack_sn=1 n_nack=2 nack=[4095][0 50:89]",
            "ue=7 SRB1 DL: TX status PDU. pdu_len=3",
            "ue=7 SRB1 UL: Refreshed status_report. ack_sn=8 n_nack=0",
            "ue=7 SRB1 DL: TX status PDU. pdu_len=3",
            "ue=7 SRB1 DL: TX PDU. dc=control",
        ]);
        assert!(codes.is_empty());
        let [drb, srb] = &log.bearers[..] else { panic!("{:?}", log.bearers) };
        assert_eq!((drb.ue, drb.name.as_str(), drb.bytes, drb.highest), (0, "drb1", 139, 4096));
        assert_eq!(
            rows(drb),
            [
                [T, 1, DATA, LAST, 4095, 0, 100],
                [T, 2, DATA, LAST | PART | POLL, 4096, 50, 39],
                [T, 3, STATUS, UPLINK, 1, 0, 0],
                [T, 3, NACK, UPLINK, 4095, 0, 1],
                [T, 3, NACK, UPLINK, 0, 0, 1]
            ]
        );
        assert_eq!((srb.ue, srb.unknown.as_slice()), (7, &[4][..]));
        assert_eq!(rows(srb)[1], [T, 6, STATUS, 0, 8, 0, 0]);
    }

    #[test]
    fn faults_and_other_lines() {
        let (log, codes) = read(&[
            "ue=0 DRB1 DL: TX PDU. dc=data p=1 si=full",
            "ue=0 DRB1 DL: TX PDU. dc=data si=full sn=262144 pdu_len=9",
            "ue=9999999999 DRB1 DL: TX PDU. dc=data si=full sn=2 pdu_len=9",
            "ue=0 DRBx DL: TX PDU. dc=data si=full",
            "created",
            "[",
            "ue=0 DRB1 DL: TX SDU. pdu_len=9",
        ]);
        assert_eq!(codes, [("unparsed-line", 3)]);
        assert!(log.bearers.is_empty());
        for start in [
            "2023-03-15T18:29:25.100001 [MAC     ] [I]",
            "2023-03-15T18:29:25.100001 [RLC     ] [II]",
            "2023-0x-15T18:29:25.100001 [RLC     ] [I]",
        ] {
            let line = format!("{start} ue=0 DRB1 DL: TX PDU. dc=data si=full sn=1 pdu_len=9\n");
            let log = scan(line.as_bytes()).unwrap();
            assert!(log.bearers.is_empty() && log.issues.is_empty(), "{line}");
        }
        for time in
            ["2023-13-15T18:29:25", "2023-02-29T18:29:25", "2023-12-15T24:29:25", "2023-12-15T23:59:60"]
        {
            let line =
                format!("{time}.100001 [RLC] [I] ue=0 DRB1 DL: TX PDU. dc=data si=full sn=1 pdu_len=9\n");
            let log = scan(line.as_bytes()).unwrap();
            assert!(log.bearers.is_empty() && !log.issues.is_empty(), "{line}");
        }
    }

    #[test]
    fn a_report_is_not_repeated_without_bound() {
        let report = format!("ue=0 DRB1 UL: Refreshed status_report. ack_sn=8 nack={}", "[1]".repeat(1000));
        let again = vec!["ue=0 DRB1 DL: TX status PDU. pdu_len=3"; 1000];
        let (log, _) = read(&[vec![report.as_str()], again].concat());
        let nacks = log.bearers[0].columns[2].iter().filter(|kind| **kind == NACK).count();
        assert!((1000..30_000).contains(&nacks), "{nacks}");
        assert_eq!(log.bearers[0].columns[2].len() - nacks, 1000);
        assert_eq!(1000 - log.bearers[0].unknown.len(), nacks / 1000);
    }

    #[test]
    fn words_on_both_sides() {
        let found: Vec<_> = fields(b"a=1 =2 b= c==3 {d_4=x, e=f=g}").collect();
        assert_eq!(found, [(&b"a"[..], &b"1"[..]), (b"d_4", b"x"), (b"e", b"f")]);
        assert_eq!(report_of(b"[1][22 x[3][1234567][4 [5][]").nacks, [1, 22, 4]);
        assert_eq!(report_of("[1 ".repeat(9000).as_bytes()).nacks, [0; 0]);
    }
}
