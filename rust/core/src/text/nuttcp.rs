//! What nuttcp prints of a test: a line for each interval (`-i`), and one for the whole.
//!
//! In its usual form, `11.1875 MB / 1.00 sec = 93.8456 Mbps 0 retrans 120 KB-cwnd`, and in that of `-fparse`,
//! `megabytes=11.1875 real_sec=1.00 rate_Mbps=93.8456 retrans=0 cwnd=120`. Lines of `-v` begin with `nuttcp`.
//!
//! Reference: nuttcp(8), "OUTPUT" and `-f`; nuttcp 6.1.2 to 8.2.

use std::io::{self, Read};

use super::fault::{Fault, take_lines};
use super::number::{fit, scaled};
use super::words::{Words, excerpt, split_once};
use crate::issue::Issues;
use crate::text::found::{Found, columns};

/// A MB is 2^20 bytes; megabits are of a million.
const MEGABYTE: f64 = 1_048_576.0;
/// Half of the last digit of seconds, and a little for the digits of the rest.
const HALF_STEP_NS: i64 = 5_100_000;
/// Seconds have two decimals.
const STEP_NS: i64 = 10_000_000;
const MAX_SETTINGS: usize = 64;

/// An interval a row; -1 where it is not told.
#[derive(Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Rows {
    /// End of the interval since the test began.
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub length_ns: Vec<i64>,
    pub bytes: Vec<i64>,
    pub rate_bps: Vec<f64>,
    pub retrans: Vec<i64>,
    pub cwnd_bytes: Vec<i64>,
}

/// The line about the whole of a test.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Total {
    /// Its line.
    pub record: u64,
    /// How long the test took.
    pub length_ns: i64,
    /// Payload.
    pub bytes: i64,
    /// Throughput.
    pub rate_bps: f64,
    /// Segments sent again; -1 if not told.
    pub retrans: i64,
    /// Round-trip time when the connection was made; -1 if not told.
    pub rtt_ns: i64,
}

/// What nuttcp said.
#[derive(Debug, Default)]
pub struct NuttcpLog {
    /// Intervals of the first test.
    pub rows: Rows,
    /// The whole of it.
    pub total: Option<Total>,
    /// Tests that ended.
    pub tests: u64,
    /// `key=value` and `key = value` of the lines of `-v`.
    pub settings: Vec<(String, String)>,
    /// Lines in the file.
    pub lines: u64,
    /// Damage.
    pub issues: Issues,
}

impl From<NuttcpLog> for Found {
    fn from(log: NuttcpLog) -> Self {
        let rows = log.rows;
        let total = log
            .total
            .map(|one| (one.record, one.length_ns, one.bytes, one.rate_bps, one.retrans, one.rtt_ns));
        Found::new(log.lines, STEP_NS, log.issues)
            .table("intervals", columns!(rows; t_ns, record, length_ns, bytes, rate_bps, retrans, cwnd_bytes))
            .fact("total", total)
            .fact("tests", log.tests)
            .fact("settings", log.settings)
    }
}

/// Read the output of nuttcp. Of several tests the first is read: when the others began is not told.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<NuttcpLog> {
    let mut log = NuttcpLog::default();
    let (lines, issues) = take_lines(reader, |number, line, _| take(&mut log, number, line))?;
    log.lines = lines;
    log.issues = issues;
    Ok(log)
}

/// What a line says of an interval or a test.
#[derive(Default)]
struct Said {
    length_ns: i64,
    bytes: i64,
    rate_bps: f64,
    retrans: i64,
    rtt_ns: i64,
    cwnd_bytes: i64,
    is_total: bool,
}

fn take(log: &mut NuttcpLog, number: u64, line: &[u8]) -> Result<(), Fault> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(());
    }
    if line.starts_with(b"nuttcp") {
        settings(line, &mut log.settings);
        return Ok(());
    }
    let said = if line.starts_with(b"megabytes=") { parsed(line)? } else { printed(line)? };
    let record = number as i64;
    if said.is_total {
        log.tests += 1;
        if log.tests == 1 {
            let Said { length_ns, bytes, rate_bps, retrans, rtt_ns, .. } = said;
            log.total = Some(Total { record: number, length_ns, bytes, rate_bps, retrans, rtt_ns });
        }
    } else if log.tests == 0 {
        let rows = &mut log.rows;
        let before = rows.t_ns.last().copied().unwrap_or(0);
        let t_ns = before.checked_add(length_ns(&said)).ok_or(Fault::BadNumber)?;
        rows.t_ns.push(t_ns);
        rows.record.push(record);
        rows.length_ns.push(t_ns - before);
        rows.bytes.push(said.bytes);
        rows.rate_bps.push(said.rate_bps);
        rows.retrans.push(said.retrans);
        rows.cwnd_bytes.push(said.cwnd_bytes);
    }
    Ok(())
}

/// How long an interval was: from bytes and rate, which have more digits than the seconds, where those agree.
fn length_ns(said: &Said) -> i64 {
    let exact_ns = said.bytes as f64 * 8e9 / said.rate_bps;
    let apart_ns = exact_ns - said.length_ns as f64;
    if apart_ns.abs() <= HALF_STEP_NS as f64 { exact_ns.round() as i64 } else { said.length_ns }
}

/// `11.1875 MB / 1.00 sec = 93.8456 Mbps`, then numbers each with its name behind it.
fn printed(line: &[u8]) -> Result<Said, Fault> {
    let mut words = Words(line);
    let mut next = || words.next().ok_or(Fault::NotOurs);
    let (amount, unit, over, length, seconds) = (next()?, next()?, next()?, next()?, next()?);
    let (equals, rate, mbps) = (next()?, next()?, next()?);
    if (unit, over, seconds, equals, mbps) != (b"MB", b"/", b"sec", b"=", b"Mbps") {
        return Err(Fault::NotOurs);
    }
    let mut said = measured(amount, length, rate)?;
    let mut before: &[u8] = b"";
    let mut of_streams = false;
    for word in words {
        match word {
            // Of parallel streams: "12 = 5+7 retrans".
            b"=" => {
                said.retrans = fit(before).ok_or(Fault::BadNumber)?;
                of_streams = true;
            }
            b"retrans" | b"host-retrans" if !of_streams => {
                said.retrans = fit(before).ok_or(Fault::BadNumber)?;
            }
            b"msRTT" => said.rtt_ns = scaled(before, 6).ok_or(Fault::BadNumber)?.0,
            b"KB-cwnd" => said.cwnd_bytes = kilobytes(before)?,
            // The share of a processor stands in the line about the whole only.
            b"%TX" => said.is_total = true,
            // Sums of `-fruntotals` follow.
            b"Tot:" => break,
            _ => {}
        }
        before = word;
    }
    Ok(said)
}

/// `megabytes=11.1875 real_sec=1.00 rate_Mbps=93.8456 retrans=0`; of the whole test `real_seconds`.
fn parsed(line: &[u8]) -> Result<Said, Fault> {
    let (mut amount, mut length, mut rate, mut is_total) = (None, None, None, false);
    let mut said = Said::default();
    (said.retrans, said.rtt_ns, said.cwnd_bytes) = (-1, -1, -1);
    for word in Words(line) {
        let Some((key, value)) = split_once(word, b'=') else { continue };
        match key {
            b"megabytes" => amount = Some(value),
            b"real_sec" => length = Some(value),
            b"real_seconds" => (length, is_total) = (Some(value), true),
            b"rate_Mbps" => rate = Some(value),
            b"retrans" | b"host-retrans" => said.retrans = fit(value).ok_or(Fault::BadNumber)?,
            b"rtt_ms" => said.rtt_ns = scaled(value, 6).ok_or(Fault::BadNumber)?.0,
            b"cwnd" => said.cwnd_bytes = kilobytes(value)?,
            _ => {}
        }
    }
    let (Some(amount), Some(length), Some(rate)) = (amount, length, rate) else { return Err(Fault::NotOurs) };
    let measured = measured(amount, length, rate)?;
    Ok(Said { retrans: said.retrans, rtt_ns: said.rtt_ns, cwnd_bytes: said.cwnd_bytes, is_total, ..measured })
}

fn measured(amount: &[u8], length: &[u8], rate: &[u8]) -> Result<Said, Fault> {
    let number = |word| scaled(word, 4).map(|(value, _)| value as f64 / 1e4).ok_or(Fault::BadNumber);
    Ok(Said {
        length_ns: scaled(length, 9).ok_or(Fault::BadNumber)?.0,
        bytes: (number(amount)? * MEGABYTE).round() as i64,
        rate_bps: number(rate)? * 1e6,
        retrans: -1,
        rtt_ns: -1,
        cwnd_bytes: -1,
        is_total: false,
    })
}

fn kilobytes(word: &[u8]) -> Result<i64, Fault> {
    fit::<i64>(word).and_then(|number| number.checked_mul(1024)).ok_or(Fault::BadNumber)
}

/// `nuttcp-t: buflen=65536, nstream=1, port=5101 tcp -> 10.0.0.2`.
fn settings(line: &[u8], found: &mut Vec<(String, String)>) {
    let clean = |word: &[u8]| excerpt(word.strip_suffix(b",").unwrap_or(word));
    let mut before: [&[u8]; 2] = [b"", b""];
    for word in Words(line) {
        if found.len() >= MAX_SETTINGS {
            return;
        }
        match split_once(word, b'=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                found.push((excerpt(key), clean(value)))
            }
            _ if before[1] == b"=" && !before[0].is_empty() => found.push((excerpt(before[0]), clean(word))),
            _ if before[1] == b"->" => found.push(("to".into(), clean(word))),
            _ => {}
        }
        before = [before[1], word];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "   11.1875 MB /   1.00 sec =   93.8456 Mbps     0 retrans\n   11.2500 MB /   1.01 sec =   \
                           93.9524 Mbps     3 retrans    120 KB-cwnd\n   22.4375 MB /   2.01 sec =   93.8990 Mbps 1 \
                           %TX 3 %RX 3 retrans 0.31 msRTT\n";
    const PARSED: &str = "megabytes=11.1875 real_sec=1.00 rate_Mbps=93.8456 retrans=0\nmegabytes=11.2500 real_sec=1.01 \
                          rate_Mbps=93.9524 retrans=3 cwnd=120\nmegabytes=22.4375 real_seconds=2.01 rate_Mbps=93.8990 \
                          tx_cpu=1 rx_cpu=3 retrans=3 rtt_ms=0.31\n";

    #[test]
    fn both_forms_say_the_same() {
        let (printed, parsed) = (scan(PRINTED.as_bytes()).unwrap(), scan(PARSED.as_bytes()).unwrap());
        assert!(printed.issues.is_empty() && parsed.issues.is_empty());
        assert_eq!((&printed.rows, printed.total), (&parsed.rows, parsed.total));
        assert_eq!(printed.rows.retrans, [0, 3]);
        assert_eq!(printed.rows.cwnd_bytes, [-1, 122_880]);
        assert_eq!(printed.rows.bytes, [11_730_944, 11_796_480]);
        let total = printed.total.unwrap();
        assert_eq!((total.length_ns, total.retrans, total.rtt_ns), (2_010_000_000, 3, 310_000));
        assert_eq!((printed.tests, total.record), (1, 3));
    }

    #[test]
    fn times_are_finer_than_they_are_printed() {
        let rows = scan(PRINTED.as_bytes()).unwrap().rows;
        // 11.1875 * 2^20 * 8 / 93.8456e6 = 1.000023...
        assert!((rows.t_ns[0] - 1_000_023_000).abs() < 10_000, "{}", rows.t_ns[0]);
        let odd = "   11.1875 MB /   1.00 sec =   80.0000 Mbps\n   0.0000 MB /   1.00 sec =    0.0000 Mbps\n";
        assert_eq!(scan(odd.as_bytes()).unwrap().rows.t_ns, [1_000_000_000, 2_000_000_000]);
    }

    #[test]
    fn streams_udp_and_further_tests() {
        let streams = "   90.0000 MB /   1.00 sec =  754.9747 Mbps 12 = 5+7 retrans\n";
        assert_eq!(scan(streams.as_bytes()).unwrap().rows.retrans, [12]);
        let udp = "    0.1199 MB /   1.00 sec =    1.0057 Mbps     0 /   123 ~drop/pkt  0.00 ~%loss\n";
        let log = scan(udp.as_bytes()).unwrap();
        assert!(log.issues.is_empty());
        assert_eq!((log.rows.retrans[0], log.rows.bytes[0]), (-1, 125_724));
        let twice = scan(PRINTED.repeat(2).as_bytes()).unwrap();
        assert_eq!((twice.tests, twice.rows.t_ns.len()), (2, 2));
    }

    #[test]
    fn settings_of_long_output() {
        let text = "nuttcp-t: v6.1.2: socket\nnuttcp-t: buflen=65536, nstream=1, port=5101 tcp -> 10.0.0.2\nnuttcp-t: \
                    time limit = 10.00 seconds\nnuttcp-t: connect to 10.0.0.2 with mss=1448, RTT=0.131 ms\n";
        let found = scan(text.as_bytes()).unwrap().settings;
        let one = |name: &str| found.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!((one("buflen"), one("port"), one("to")), (Some("65536"), Some("5101"), Some("10.0.0.2")));
        assert_eq!((one("limit"), one("mss"), one("RTT")), (Some("10.00"), Some("1448"), Some("0.131")));
    }

    #[test]
    fn faults() {
        let code = |line: &str| {
            scan(format!("{line}\n").as_bytes()).unwrap().issues.iter().next().map(|(code, _)| code)
        };
        for line in ["hello", "1.0 MB / 1.00 sec", "megabytes=1.0 real_sec=1.0"] {
            assert_eq!(code(line), Some("unparsed-line"), "{line}");
        }
        for line in [
            "x MB / 1.00 sec = 1.0 Mbps",
            "1.0 MB / 1.00 sec = 1.0 Mbps many retrans",
            "megabytes=-1 real_sec=1 rate_Mbps=1",
        ] {
            assert_eq!(code(line), Some("bad-number"), "{line}");
        }
    }
}
