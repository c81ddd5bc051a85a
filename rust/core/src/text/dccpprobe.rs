//! `/proc/net/dccpprobe`, as kernels before 4.16 had it: one line per message that an application hands over.

use std::io::{self, Read};

use super::fault::{Fault, each_line};
use super::flows::{FlowTable, endpoint};
use super::number::{fit, integer, seconds};
use super::words::Words;
use crate::issue::Issues;
use crate::text::found::{Found, columns};

/// Without and with the variables of CCID 3.
const COLUMNS: [usize; 2] = [4, 11];

/// Rows; -1 where a value is absent. As written: times in microseconds, rates in bytes per second, `p` in millionths.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Rows {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub flow: Vec<i32>,
    pub length: Vec<i32>,
    pub s: Vec<i32>,
    pub rtt_us: Vec<i64>,
    pub p: Vec<i64>,
    pub x_calc: Vec<i64>,
    pub x_recv: Vec<i64>,
    pub x: Vec<i64>,
    pub t_ipi_us: Vec<i64>,
}

/// What a dccp_probe log says.
#[derive(Debug, Default)]
pub struct ProbeLog {
    /// One row per line.
    pub rows: Rows,
    /// Sockets.
    pub flows: FlowTable,
    /// Lines in the file.
    pub lines: u64,
    /// Step of the clock as written.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<ProbeLog> for Found {
    fn from(log: ProbeLog) -> Self {
        let rows = log.rows;
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table(
                "dccp_states",
                columns!(rows; t_ns, record, flow, length, s, rtt_us, p, x_calc, x_recv, x, t_ipi_us),
            )
            .fact("flows", &log.flows)
    }
}

/// Read a dccp_probe log.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<ProbeLog> {
    let mut log = ProbeLog::default();
    let scanned = each_line(reader, |number, line, _| row(&mut log, number, line).map(Some))?;
    log.lines = scanned.lines;
    log.resolution_ns = scanned.resolution_ns;
    log.issues = scanned.issues;
    Ok(log)
}

fn row(log: &mut ProbeLog, number: u64, line: &[u8]) -> Result<(i64, u8), Fault> {
    let mut words = [&b""[..]; COLUMNS[1]];
    let mut count = 0;
    for word in Words(line) {
        *words.get_mut(count).ok_or(Fault::NotOurs)? = word;
        count += 1;
    }
    if !COLUMNS.contains(&count) {
        return Err(Fault::NotOurs);
    }
    let (t_ns, decimals) = seconds(words[0]).ok_or(Fault::NotOurs)?;
    let local = endpoint(words[1], fit).ok_or(Fault::NotOurs)?;
    let remote = endpoint(words[2], fit).ok_or(Fault::NotOurs)?;
    let mut value = [-1i64; 8];
    for (value, word) in value.iter_mut().zip(&words[3..count]) {
        *value = integer(word).and_then(|raw| i64::try_from(raw).ok()).ok_or(Fault::BadNumber)?;
    }
    let small = |value: i64| i32::try_from(value).map_err(|_| Fault::BadNumber);
    let (length, s) = (small(value[0])?, small(value[1])?);
    let flow = log.flows.intern(local, remote);
    let rows = &mut log.rows;
    rows.t_ns.push(t_ns);
    rows.record.push(number as i64);
    rows.flow.push(flow);
    rows.length.push(length);
    rows.s.push(s);
    rows.rtt_us.push(value[2]);
    rows.p.push(value[3]);
    rows.x_calc.push(value[4]);
    rows.x_recv.push(value[5]);
    rows.x.push(value[6]);
    rows.t_ipi_us.push(value[7]);
    Ok((t_ns, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_numbers_of_columns() {
        let text = "0.000100 10.0.0.1:5001 10.0.0.2:33 1400\n\
                    0.250000 10.0.0.1:5001 10.0.0.2:33 1400 1400 400000 2000 94125 90000 94125 14873\n";
        let log = scan(text.as_bytes()).unwrap();
        assert_eq!((log.rows.t_ns[1], log.resolution_ns, log.flows.flows().len()), (250_000_000, 1000, 1));
        assert_eq!((log.rows.s[0], log.rows.x[0], log.rows.length[0]), (-1, -1, 1400));
        assert_eq!((log.rows.rtt_us[1], log.rows.p[1], log.rows.x_calc[1]), (400_000, 2000, 94125));
        assert_eq!((log.rows.x_recv[1], log.rows.x[1], log.rows.t_ipi_us[1]), (90000, 94125, 14873));
        assert!(log.issues.is_empty());
    }

    #[test]
    fn faults() {
        for (line, code) in [
            ("cat: /proc/net/dccpprobe: Resource busy", "unparsed-line"),
            ("0.1 10.0.0.1:1 10.0.0.2:2 32 5", "unparsed-line"),
            ("0.1 10.0.0.1:1 10.0.0.2:2 x", "bad-number"),
            ("0.1 10.0.0.1:1 10.0.0.2:2 99999999999", "bad-number"),
            ("0.1 10.0.0.1:1 10.0.0.2:2 1 1 1 1 1 1 1 1 1", "unparsed-line"),
        ] {
            let log = scan(format!("{line}\n").as_bytes()).unwrap();
            assert_eq!(log.issues.iter().next().map(|(code, _)| code), Some(code), "{line}");
            assert!(log.rows.t_ns.is_empty());
        }
    }
}
