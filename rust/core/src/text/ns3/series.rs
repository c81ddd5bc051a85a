//! What scripts of ns-3 write of a variable: a time and a value a line, or a time, the old value and the new one.
//!
//! Reference: ns-3 `examples/tutorial/sixth.cc`, `examples/tcp/tcp-variants-comparison.cc`.

use std::io::{self, Read};

use super::time::{self, Precision};
use crate::issue::Issues;
use crate::text::fault::{Fault, Order};
use crate::text::found::{Found, columns};
use crate::text::lines::Lines;
use crate::text::words::Words;

/// Changes of one variable, in the order of the file.
#[derive(Debug, Default)]
pub struct SeriesLog {
    /// Times.
    pub t_ns: Vec<i64>,
    /// Lines.
    pub record: Vec<i64>,
    /// New values; durations with a unit in seconds.
    pub value: Vec<f64>,
    /// Lines with two and with three columns.
    pub columns: [u64; 2],
    /// Lines in the file.
    pub lines: u64,
    /// Significant digits of the times.
    pub digits: u32,
    /// Step of the clock as written at the last time.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<SeriesLog> for Found {
    fn from(log: SeriesLog) -> Self {
        let resolution_ns = log.resolution_ns;
        Found::new(log.lines, resolution_ns, log.issues)
            .table("series", columns!(log; t_ns, record, value))
            .fact("columns", log.columns)
            .fact("digits", log.digits)
    }
}

/// Read a file of one variable.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<SeriesLog> {
    let mut lines = Lines::new(reader);
    let mut log = SeriesLog::default();
    let (mut order, mut precision, mut last) = (Order::default(), Precision::default(), 0);
    while let Some((number, text)) = lines.next_line(&mut log.issues)? {
        if text.is_empty() || text[0] == b'#' {
            continue;
        }
        match row(text) {
            Ok((t_ns, digits, value, three)) => {
                order.check(t_ns, number, &mut log.issues);
                precision.saw(digits);
                last = last.max(t_ns);
                log.t_ns.push(t_ns);
                log.record.push(number as i64);
                log.value.push(value);
                log.columns[usize::from(three)] += 1;
            }
            Err(fault) => fault.report(number, text, &mut log.issues),
        }
    }
    log.lines = lines.count();
    log.digits = precision.digits();
    log.resolution_ns = precision.step_ns(last);
    Ok(log)
}

fn row(text: &[u8]) -> Result<(i64, u32, f64, bool), Fault> {
    let mut words = Words(text);
    let (Some(first), Some(second), third, None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Fault::NotOurs);
    };
    let (t_ns, digits) = time::parse(first).ok_or(Fault::BadNumber)?;
    if third.is_some() {
        value(second)?;
    }
    Ok((t_ns, digits, value(third.unwrap_or(second))?, third.is_some()))
}

/// A number, or a duration as `ns3::Time` prints it (`+2.68e+08ns`) in seconds.
fn value(word: &[u8]) -> Result<f64, Fault> {
    let text = std::str::from_utf8(word).map_err(|_| Fault::BadNumber)?;
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_lowercase() && letter != 'e');
    let scale = match &text[number.len()..] {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        _ => return Err(Fault::BadNumber),
    };
    if !number.bytes().next_back().is_some_and(|byte| byte.is_ascii_digit()) {
        return Err(Fault::BadNumber);
    }
    let found: f64 = number.parse().map_err(|_| Fault::BadNumber)?;
    if found.is_finite() { Ok(found * scale) } else { Err(Fault::BadNumber) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_of_scripts() {
        let log =
            scan(&b"# cwnd\n0.0 0\n3.2687 3400\n3.89783\t3400\t2380\n\n12.5 +2.68e+08ns\n"[..]).unwrap();
        assert_eq!(log.t_ns, [0, 3_268_700_000, 3_897_830_000, 12_500_000_000]);
        assert_eq!(log.value, [0.0, 3400.0, 2380.0, 2.68e8 * 1e-9]);
        assert_eq!((log.record.as_slice(), log.columns), (&[2, 3, 4, 6][..], [3, 1]));
        assert_eq!((log.digits, log.resolution_ns), (6, 100_000));
        assert!(log.issues.is_empty());
    }

    #[test]
    fn faults() {
        for (text, code) in [
            ("1\n", "unparsed-line"),
            ("1 2 3 4\n", "unparsed-line"),
            ("x 2\n", "bad-number"),
            ("1 nan\n", "bad-number"),
            ("1 inf\n", "bad-number"),
            ("1 1e999\n", "bad-number"),
            ("1 x 2\n", "bad-number"),
            ("1 2h\n", "bad-number"),
            ("1 \n", "unparsed-line"),
            ("2 1\n1 1\n", "out-of-order-lines"),
            ("1 2", "truncated-file"),
        ] {
            let log = scan(text.as_bytes()).unwrap();
            let codes: Vec<_> = log.issues.iter().map(|(code, _)| code).collect();
            assert_eq!(codes, [code], "{text}");
        }
    }
}
