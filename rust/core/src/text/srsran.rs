//! Text logs of srsRAN Project's base station, RLC layer: PDUs by bearer, in the order of the log.
//!
//! Reference: srsRAN Project `lib/rlc`; 3GPP TS 38.322.

use std::collections::HashMap;
use std::io::{self, Read};

use super::fault::Fault;
use super::lines::Lines;
use super::number::{decimal, fit};
use super::stamp;
use super::words::{Words, split_once};
use crate::issue::Issues;

/// Numbers of a row: time, record, kind, flags, sequence number, start, bytes.
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
/// Ranges in one report; a base station sends a few.
const MAX_NACKS: usize = 1 << 10;
/// `2023-03-15T18:29:25.142204 [`
const STAMP: usize = 26;

/// One bearer.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Bearer {
    /// Number of the terminal.
    pub ue: u32,
    /// `drb1`
    pub name: String,
    /// Rows, one after the other.
    pub rows: Vec<i64>,
    /// Records of status reports that do not say up to where they acknowledge.
    pub unknown: Vec<i64>,
    /// User bytes.
    pub bytes: i64,
    /// The largest sequence number.
    pub highest: u64,
    /// What the last report that was prepared says.
    prepared: Option<(u64, Vec<u64>)>,
}

/// What a log says of the RLC layer.
#[derive(Debug, Default)]
pub struct SrsranLog {
    /// Bearers by appearance.
    pub bearers: Vec<Bearer>,
    /// Lines in the file.
    pub lines: u64,
    /// Damage.
    pub issues: Issues,
}

/// Read a log.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<SrsranLog> {
    let mut lines = Lines::new(reader);
    let mut issues = Issues::default();
    let mut scanner = Scanner::default();
    while let Some((number, line)) = lines.next_line(&mut issues)? {
        let Some((time, message)) = rlc(line) else { continue };
        if let Err(fault) = scanner.line(number, time, message) {
            fault.report(number, line, &mut issues);
        }
    }
    let bearers = scanner.bearers.into_iter().filter(|bearer| !bearer.rows.is_empty()).collect();
    Ok(SrsranLog { bearers, lines: lines.count(), issues })
}

/// Time and message of a line of the RLC layer: `<time> [RLC     ] [I] du=0 ue=1 SRB2 DL: ...`.
fn rlc(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (time, rest) = line.split_at_checked(STAMP)?;
    let rest = rest.strip_prefix(b" [RLC")?;
    let rest = rest[rest.iter().position(|byte| *byte != b' ')?..].strip_prefix(b"] [")?;
    let (level, rest) = split_once(rest, b']')?;
    (level.len() == 1 && level[0].is_ascii_uppercase()).then_some((time, rest.strip_prefix(b" ")?))
}

#[derive(Default)]
struct Scanner {
    bearers: Vec<Bearer>,
    places: HashMap<(u32, Vec<u8>), usize>,
    /// The second of the line before, as it was written, and what it is.
    second: (Vec<u8>, i64),
}

impl Scanner {
    fn line(&mut self, number: u64, time: &[u8], message: &[u8]) -> Result<(), Fault> {
        let mut words = Words(message);
        let mut word = words.next().unwrap_or_default();
        if word.starts_with(b"[") {
            // The slot; it may have a blank inside.
            let Some((_, rest)) = split_once(words.0, b']').filter(|_| !word.ends_with(b"]")) else {
                return Ok(());
            };
            words = Words(rest);
            word = words.next().unwrap_or_default();
        }
        if word.starts_with(b"du=") {
            word = words.next().unwrap_or_default();
        }
        let Some(ue) = word.strip_prefix(b"ue=") else { return Ok(()) };
        let (name, way) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if !matches!(way, b"UL:" | b"DL:") || !is_bearer(name) {
            return Ok(());
        }
        let at = (self.time(time).ok_or(Fault::NotOurs)?, number as i64);
        let bearer = self.bearer(fit(ue).ok_or(Fault::NotOurs)?, name).ok_or(Fault::NotOurs)?;
        let rest = words.0.trim_ascii_start();
        let (received, what) = match rest {
            [b'R', b'X', b' ', what @ ..] => (true, what),
            [b'T', b'X', b' ', what @ ..] => (false, what),
            _ => {
                if let Some(report) = rest.strip_prefix(b"Refreshed status_report.") {
                    bearer.prepared = report_of(report);
                }
                return Ok(());
            }
        };
        let uplink = if received { UPLINK } else { 0 };
        if let Some(text) = what.strip_prefix(b"PDU. ") {
            return bearer.data(at, uplink, text);
        }
        if let Some(text) = what.strip_prefix(b"status PDU.") {
            bearer.status(at, uplink, text);
        }
        Ok(())
    }

    /// Nanoseconds since the epoch; calendars are reckoned once a second.
    fn time(&mut self, text: &[u8]) -> Option<i64> {
        let (second, fraction) = text.split_at_checked(19)?;
        let micros: i64 = fit(fraction.strip_prefix(b".")?)?;
        if self.second.0 != second {
            let (found, rest) = stamp::leading(second)?;
            if !rest.is_empty() || second[10] != b'T' {
                return None;
            }
            self.second = (second.to_vec(), found.t_ns);
        }
        self.second.1.checked_add(micros * 1000)
    }

    fn bearer(&mut self, ue: u32, name: &[u8]) -> Option<&mut Bearer> {
        let same = |bearer: &Bearer| bearer.ue == ue && bearer.name.as_bytes().eq_ignore_ascii_case(name);
        // Few bearers send most of the lines: the first ones are looked through before the table is asked.
        let near = self.bearers.iter().take(4).position(same);
        let place = match near.or_else(|| self.places.get(&(ue, name.to_ascii_lowercase())).copied()) {
            Some(place) => place,
            None if self.bearers.len() == MAX_BEARERS => return None,
            None => {
                let lower = name.to_ascii_lowercase();
                let text = String::from_utf8_lossy(&lower).into_owned();
                self.bearers.push(Bearer { ue, name: text, ..Bearer::default() });
                self.places.insert((ue, lower), self.bearers.len() - 1);
                self.bearers.len() - 1
            }
        };
        self.bearers.get_mut(place)
    }
}

impl Bearer {
    fn data(&mut self, at: (i64, i64), uplink: i64, text: &[u8]) -> Result<(), Fault> {
        let (mut sn, mut length, mut size, mut start) = (None, None, None, 0);
        let (mut is_data, mut poll, mut segment) = (false, false, None);
        for (key, value) in Words(text).filter_map(|word| split_once(word, b'=')) {
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
        self.rows.extend([at.0, at.1, DATA, flags, sn as i64, start as i64, bytes]);
        self.bytes += bytes;
        self.highest = self.highest.max(sn);
        Ok(())
    }

    /// The line of one that is sent does not say what is in it; that of the report before it does.
    fn status(&mut self, at: (i64, i64), uplink: i64, text: &[u8]) {
        let told = report_of(text);
        let found = told.as_ref().or(self.prepared.as_ref());
        let ack = found.map_or(0, |(ack, _)| *ack as i64);
        self.rows.extend([at.0, at.1, STATUS, uplink, ack, 0, 0]);
        if let Some((_, nacks)) = found {
            for sn in nacks {
                self.rows.extend([at.0, at.1, NACK, uplink, *sn as i64, 0, 1]);
            }
        } else {
            self.unknown.push(at.1);
        }
    }
}

/// ACK_SN and the numbers of `ack_sn=1 n_nack=2 nack=[4095][0 50:89]`.
fn report_of(text: &[u8]) -> Option<(u64, Vec<u64>)> {
    let ack = Words(text).find_map(|word| number(word.strip_prefix(b"ack_sn=")?))?;
    let nacks = text.split(|byte| *byte == b'[').skip(1).filter_map(|part| {
        let (inside, _) = split_once(part, b']')?;
        decimal(Words(inside).next()?).filter(|sn| *sn < 1_000_000)
    });
    Some((ack, nacks.take(MAX_NACKS).collect()))
}

/// `SRB1`, `DRB12`.
fn is_bearer(name: &[u8]) -> bool {
    let number = name.strip_prefix(b"SRB").or_else(|| name.strip_prefix(b"DRB"));
    number.is_some_and(|digits| matches!(digits.len(), 1..=9) && digits.iter().all(u8::is_ascii_digit))
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

    const T: i64 = 1_678_904_965_100_001_000;

    #[test]
    fn data_and_reports() {
        let (log, codes) = read(&[
            "du=0 ue=0 DRB1 DL: TX PDU. dc=data p=0 si=full sn=4095 pdu_len=102",
            "[  276.14] ue=0 DRB1 DL: TX PDU. pdu_size=44 dc=data p=1 si=last sn=4096 so=50",
            "ue=0 DRB1 UL: RX status PDU. ack_sn=1 n_nack=2 nack=[4095][0 50:89]",
            "ue=7 SRB1 DL: TX status PDU. pdu_len=3",
            "ue=7 SRB1 UL: Refreshed status_report. ack_sn=8 n_nack=0",
            "ue=7 SRB1 DL: TX status PDU. pdu_len=3",
            "ue=7 SRB1 DL: TX PDU. dc=control",
        ]);
        assert!(codes.is_empty());
        let [drb, srb] = &log.bearers[..] else { panic!("{:?}", log.bearers) };
        assert_eq!((drb.ue, drb.name.as_str(), drb.bytes, drb.highest), (0, "drb1", 139, 4096));
        let rows: Vec<_> = drb.rows.chunks(COLUMNS).collect();
        assert_eq!(rows[0], [T, 1, DATA, LAST, 4095, 0, 100]);
        assert_eq!(rows[1], [T, 2, DATA, LAST | PART | POLL, 4096, 50, 39]);
        assert_eq!(
            rows[2..],
            [
                &[T, 3, STATUS, UPLINK, 1, 0, 0],
                &[T, 3, NACK, UPLINK, 4095, 0, 1],
                &[T, 3, NACK, UPLINK, 0, 0, 1]
            ]
        );
        assert_eq!((srb.ue, srb.unknown.as_slice()), (7, &[4][..]));
        assert_eq!(srb.rows[COLUMNS..], [T, 6, STATUS, 0, 8, 0, 0]);
    }

    #[test]
    fn faults_and_other_lines() {
        let (log, codes) = read(&[
            "ue=0 DRB1 DL: TX PDU. dc=data p=1 si=full",
            "ue=0 DRB1 DL: TX PDU. dc=data si=full sn=262144 pdu_len=9",
            "ue=99999999999 DRB1 DL: TX PDU. dc=data si=full sn=2 pdu_len=9",
            "ue=0 DRBx DL: TX PDU. dc=data si=full",
            "created",
            "[",
            "ue=0 DRB1 DL: TX SDU. pdu_len=9",
        ]);
        assert_eq!(codes, [("unparsed-line", 3)]);
        assert!(log.bearers.is_empty());
        for line in [
            "2023-03-15T18:29:25.100001 [MAC     ] [I] ue=0 DRB1 DL: TX PDU. dc=data si=full sn=1 pdu_len=9\n",
            "2023-03-15T18:29:25.100001 [RLC     ] [II] ue=0 DRB1 DL: TX PDU. dc=data si=full sn=1 pdu_len=9\n",
            "short\n",
            "\n",
        ] {
            let log = scan(line.as_bytes()).unwrap();
            assert!(log.bearers.is_empty() && log.issues.is_empty(), "{line}");
        }
        let line = "2023-13-15T18:29:25.100001 [RLC     ] [I] ue=0 DRB1 DL: TX PDU. dc=data si=full sn=1 pdu_len=9\n";
        assert!(!scan(line.as_bytes()).unwrap().issues.is_empty());
    }
}
